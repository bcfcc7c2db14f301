"""What a run has done so far, and how it is told."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from ragvault.ingest.plan import Plan
from ragvault.ingest.write import Counts
from ragvault.model import IndexReport, NoteFile, Skipped, VaultInfo


@dataclass(slots=True)
class Tally:
    """The lists of the report in the making; ``done`` notes were written."""

    vault: VaultInfo
    started: float = field(default_factory=time.monotonic)
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    unchanged: int = 0
    done: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[Skipped] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def notice_plan(self, plan: Plan) -> None:
        if plan.outdated:
            self.notices.append(
                "The embedding model, the chunk settings or ragvault's own format changed: "
                f"{plan.outdated:,} notes are indexed again."
            )
        if plan.kept:
            self.notices.append(
                f"{len(plan.kept):,} notes in places that can't be read now stay in the index."
            )

    def notice_sweep(self, counts: Counts) -> None:
        if counts.restored:
            self.notices.append(
                f"{counts.restored:,} vectors were restored from the catalog; "
                "nothing was embedded again for them."
            )
        if counts.swept:
            self.notices.append(f"{counts.swept:,} vectors of a cut-off run were removed.")

    def report(self, *, chunks: int, embedded: int, notices: Iterable[str]) -> IndexReport:
        """``chunks`` are all of the vault's now; ``notices`` come after the run's own."""
        return IndexReport(
            name=self.vault.name,
            path=str(self.vault.path),
            added=tuple(self.added),
            changed=tuple(self.changed),
            removed=tuple(sorted(self.removed)),
            renamed=tuple(self.renamed),
            unchanged=self.unchanged,
            skipped=tuple(sorted(self.skipped, key=lambda s: s.path)),
            warnings=tuple(self.warnings),
            chunks=chunks,
            embedded=embedded,
            seconds=time.monotonic() - self.started,
            notices=(*self.notices, *notices),
        )

    def dry_report(self, plan: Plan) -> IndexReport:
        """What a run would do."""
        return IndexReport(
            name=self.vault.name,
            path=str(self.vault.path),
            added=_paths(plan.added),
            changed=_paths(plan.changed),
            removed=plan.removed,
            renamed=tuple((old, new.rel_path) for old, new in plan.renamed),
            unchanged=plan.unchanged + len(plan.touched) + len(plan.kept),
            skipped=tuple(self.skipped),
            notices=tuple(self.notices),
            seconds=time.monotonic() - self.started,
            dry_run=True,
        )


def _paths(files: Iterable[NoteFile]) -> tuple[str, ...]:
    return tuple(f.rel_path for f in files)
