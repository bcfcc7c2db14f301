"""What a run has done so far, and how it is told."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ragvault.ingest.plan import Plan
from ragvault.ingest.write import Counts
from ragvault.model import IndexReport, Skipped, VaultInfo


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

    def take_plan(self, plan: Plan) -> None:
        """What a run would do, as though it were done."""
        self.added = [file.rel_path for file in plan.added]
        self.changed = [file.rel_path for file in plan.changed]
        self.removed = list(plan.removed)
        self.renamed = [(old, new.rel_path) for old, new in plan.renamed]
        self.unchanged = plan.unchanged + len(plan.touched) + len(plan.kept)

    def report(self, *, chunks: int = 0, embedded: int = 0, dry_run: bool = False) -> IndexReport:
        """``chunks`` are all of the vault's now."""
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
            notices=tuple(self.notices),
            dry_run=dry_run,
        )
