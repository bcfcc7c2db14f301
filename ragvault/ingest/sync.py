"""One vault, brought up to date: walk → plan → read → parse → chunk → embed → both stores.

    1  walk the vault, compare with what the catalog knows (``walk``, ``plan``)
    2  nothing to do and both stores in step: remember the time, done. No note was opened, and
       neither the model nor the vector store was loaded
    3  note by note: read, parse, chunk; batches of bounded size go to the stores (``write``)
    4  if the last run was cut off, or the vector store isn't the one of then: compare the stores
    5  refresh what is derived (centroids, cache), mark the stores as in step

A run may be cut off anywhere. What was committed stays, and the next run does the rest.
The caller holds the writer's lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragvault.config.settings import Settings
from ragvault.errors import Interrupted, VaultPathError
from ragvault.ingest.paths import shown
from ragvault.ingest.plan import Plan, index_fingerprint, make_plan
from ragvault.ingest.read import NoteLoader, ReadNote, Unreadable, read_note
from ragvault.ingest.walk import WalkResult, walk
from ragvault.ingest.write import STORE_SLICE, Writer, batched, watermark_of
from ragvault.model import FileState, IndexReport, NoteFile, NoteWrite, Skipped, VaultInfo
from ragvault.ports import Catalog, Embedder, Progress, VectorIndex

BATCH_BYTES = 8_000_000  # of the notes' files


@dataclass(frozen=True, slots=True)
class SyncParts:
    """What a run works with. Factories are called when first needed, at most once.

    ``embedder`` builds without loading the model. ``stored`` is the vector store's identity,
    read without opening it; None when there is no store. A batch of notes is one transaction:
    ``batch_chunks`` bounds its memory.
    """

    catalog: Catalog
    embedder: Callable[[], Embedder]
    vectors: Callable[[], VectorIndex]
    stored: Callable[[], str | None]
    now: Callable[[], float] = time.time
    read_note: ReadNote = read_note
    batch_chunks: int = 512


class Silent:
    """A Progress that shows nothing."""

    def start(self, vault: str, notes: int) -> None: ...

    def advance(self, *, notes: int = 0, chunks: int = 0) -> None: ...

    def finish(self) -> None: ...


def sync_vault(
    vault: VaultInfo,
    settings: Settings,
    parts: SyncParts,
    *,
    full: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> IndexReport:
    """Bring the index of one vault up to date; a vault that is new is remembered.

    ``full`` reads and writes every note again and rebuilds the vault's vectors (embeddings come
    from the cache where text and model are the same). ``dry_run`` says what would be done and
    writes nothing. Raises VaultPathError (the root is gone, empty or without notes), DiskFullError
    and other StoreErrors, EmbedderUnavailableError, Interrupted; what was committed is kept.
    """
    return _Run(vault, settings, parts, progress or Silent(), full=full).run(dry_run=dry_run)


@dataclass(slots=True)
class _Batch:
    writes: list[NoteWrite] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    chunks: int = 0
    size: int = 0

    def is_full(self, chunks: int) -> bool:
        return self.chunks >= chunks or self.size >= BATCH_BYTES


class _Run:
    """One call of ``sync_vault``."""

    def __init__(
        self,
        vault: VaultInfo,
        settings: Settings,
        parts: SyncParts,
        progress: Progress,
        *,
        full: bool,
    ) -> None:
        self.vault = vault
        self.settings = settings
        self.parts = parts
        self.catalog = parts.catalog
        self.progress = progress
        self.full = full
        self.report = IndexReport(vault.name, str(vault.path))
        self.started = time.monotonic()
        self.done = 0  # notes that were written
        self.states: dict[str, FileState] = {}  # what the catalog knew before this run
        self.was_in_step = False  # whether the two stores agreed then
        self.embedder = parts.embedder()
        self.fingerprint = index_fingerprint(self.embedder.fingerprint, settings.chunking)
        self.loader = NoteLoader(
            vault.name, settings, self.embedder, self.fingerprint, parts.read_note
        )
        self.writer = Writer(
            vault.name, self.catalog, self.embedder, parts.vectors, progress, rebuild=full
        )

    # -- the steps

    def run(self, *, dry_run: bool) -> IndexReport:
        is_known = any(v.name == self.vault.name for v in self.catalog.vaults())
        if is_known:
            self.states = self.catalog.file_states(self.vault.name)
        found = walk(self.vault.path, self.settings.index)
        self.report.skipped.extend(found.skipped)
        self._refuse_empty(found)
        plan = make_plan(
            self.states,
            found.files,
            hash_of=self.loader.hash_of,
            fingerprint=self.fingerprint,
            full=self.full,
            unreadable=found.unreadable,
        )
        if plan.outdated:
            self.report.notices.append(
                "The embedding model, the chunk settings or ragvault's own format changed: "
                f"{plan.outdated:,} notes are indexed again."
            )
        if plan.kept:
            self.report.notices.append(
                f"{len(plan.kept):,} notes in places that can't be read now stay in the index."
            )
        if dry_run:
            return self._foresee(plan)
        if not is_known:
            self.catalog.add_vault(self.vault)
        self.report.unchanged = plan.unchanged + len(plan.kept)
        self.was_in_step = self._is_in_step()
        if plan.is_empty and self.was_in_step and not self.full:
            self.catalog.checked_vault(self.vault.name, indexed_at=self.parts.now())
            return self._finish()
        total = len(plan.writes)
        self.progress.start(self.vault.name, total)
        try:
            self._apply(plan)
            self._agree(found)
            self.report.warnings.extend(self.loader.warnings)
        except KeyboardInterrupt:
            raise Interrupted(
                f"Stopped after {self.done:,} of {total:,} notes of '{self.vault.name}'; "
                "they are kept."
            ) from None
        finally:
            self.progress.finish()
        return self._finish()

    def _apply(self, plan: Plan) -> None:
        """Write what the plan says. Removals first: they free space and cost nothing."""
        if self.full:
            self.writer.open()
        for part in batched(plan.removed, STORE_SLICE):
            self.writer.write((), part)
            self.report.removed.extend(part)
        moved = {new.rel_path: old for old, new in plan.renamed}
        self._write_all(plan.writes, moved)
        self._touch(plan.touched)

    def _agree(self, found: WalkResult) -> None:
        """Compare the two stores if they may differ, refresh what is derived from the notes, and
        mark the stores as in step."""
        if not self.was_in_step or self.writer.is_out_of_step:
            lacking = self.writer.sweep()
            if lacking:
                self._write_lacking(lacking, found)
            if restored := self.writer.counts.restored:
                self.report.notices.append(
                    f"{restored:,} vectors were restored from the catalog; "
                    "nothing was embedded again for them."
                )
        self.writer.compact()
        now = self.parts.now()
        if self.writer.has_written or not self.was_in_step:
            self.catalog.finish_vault(
                self.vault.name, fingerprint=self.embedder.fingerprint, indexed_at=now
            )
            self.catalog.prune_vectors(self.embedder.fingerprint)
            self.writer.close_watermark()
        else:
            self.catalog.checked_vault(self.vault.name, indexed_at=now)

    def _is_in_step(self) -> bool:
        """Whether the vector store is the one, and in the state, that the last run left."""
        stored = self.parts.stored()
        if stored is None:
            return False
        expected = watermark_of(stored, self.embedder.fingerprint)
        return self.catalog.vector_watermark(self.vault.name) == expected

    # -- notes

    def _write_all(self, files: Iterable[NoteFile], moved: Mapping[str, str]) -> None:
        """Write files in batches. ``moved``: new path → old path, replaced in one transaction."""
        batch = _Batch()
        for file in files:
            self._add(batch, file, moved.get(file.rel_path))
            if batch.is_full(self.parts.batch_chunks):
                self._flush(batch, moved)
                batch = _Batch()
        self._flush(batch, moved)

    def _write_again(self, files: Iterable[NoteFile]) -> None:
        """Write files whose content is the same, which is no news to anyone."""
        before = len(self.report.changed)
        self._write_all(files, {})
        del self.report.changed[before:]

    def _add(self, batch: _Batch, file: NoteFile, old: str | None) -> None:
        """Read a note into the batch, or out of the index."""
        if old is not None:
            batch.removed.append(old)
        write = self.loader.load(file)
        if isinstance(write, NoteWrite):
            batch.writes.append(write)
            batch.chunks += len(write.chunks)
            batch.size += write.file.size
            return
        self.progress.advance(notes=1)
        if isinstance(write, Unreadable):
            self.report.skipped.append(Skipped(shown(file.rel_path), write.reason))
            if write.is_note:  # out of reach, not out of date: what is known of it stays
                self.report.unchanged += file.rel_path in self.states
                return
        if file.rel_path in self.states:
            batch.removed.append(file.rel_path)

    def _flush(self, batch: _Batch, moved: Mapping[str, str]) -> None:
        self.writer.write(batch.writes, batch.removed)
        replaced = {moved.get(write.file.rel_path) for write in batch.writes}
        self.report.removed.extend(p for p in batch.removed if p not in replaced)
        for write in batch.writes:
            path = write.file.rel_path
            if path in moved:
                self.report.renamed.append((moved[path], path))
            elif path in self.states:
                self.report.changed.append(path)
            else:
                self.report.added.append(path)
        self.done += len(batch.writes)
        self.progress.advance(notes=len(batch.writes))

    def _touch(self, files: Sequence[NoteFile]) -> None:
        """Same content at another time. A note without a date of its own is dated by its mtime:
        it is written again, as a new date moves in both stores (embedding nothing)."""
        again: list[NoteFile] = []
        seen: list[FileState] = []
        for file in files:
            state = self.states[file.rel_path]
            if state.mtime_ns != file.mtime_ns and (
                not self.was_in_step or self.loader.is_dated_by_mtime(file)
            ):
                again.append(file)
            else:
                seen_ns = self.loader.seen_ns.get(file.rel_path, 0)
                seen.append(replace(state, mtime_ns=file.mtime_ns, seen_ns=seen_ns))
        if seen:
            self.catalog.touch_files(self.vault.name, seen)
        self.report.unchanged += len(files)
        self._write_again(again)

    def _write_lacking(self, chunk_ids: set[str], found: WalkResult) -> None:
        """Notes whose embeddings the cache has lost are embedded again from their files."""
        paths: set[str] = set()
        for part in batched(sorted(chunk_ids), STORE_SLICE):
            paths |= {s.chunk.rel_path for s in self.catalog.chunks(part).values()}
        files = [f for f in found.files if f.rel_path in paths]
        self._write_again(files)
        out_of_reach = len(paths) - len(files)
        if out_of_reach:
            self.report.notices.append(
                f"{out_of_reach:,} notes that can't be read now have no embedding; they are found "
                "by their words only."
            )

    # -- what is said

    def _refuse_empty(self, found: WalkResult) -> None:
        """An empty folder is far more often an unmounted drive, or a wrong path, than a wish."""
        if found.files or found.unreadable:
            return
        path = shown(str(self.vault.path))
        if not self.states:
            kinds = ", ".join(self.settings.index.extensions)
            raise VaultPathError(f"There are no notes ({kinds}) in {path}.")
        if found.is_empty:
            raise VaultPathError(
                f"{path} is empty, but {len(self.states):,} notes are indexed from it; "
                "they are kept.",
                "Mount the drive that it is on. If the notes are gone for good: "
                f"`ragvault vault remove {self.vault.name}`.",
            )

    def _foresee(self, plan: Plan) -> IndexReport:
        """What a run would do, as though it were done."""
        self.report.added = [file.rel_path for file in plan.added]
        self.report.changed = [file.rel_path for file in plan.changed]
        self.report.removed = list(plan.removed)
        self.report.renamed = [(old, new.rel_path) for old, new in plan.renamed]
        self.report.unchanged = plan.unchanged + len(plan.touched) + len(plan.kept)
        self.report.dry_run = True
        self.report.seconds = time.monotonic() - self.started
        return self.report

    def _finish(self) -> IndexReport:
        info = next(v for v in self.catalog.vaults() if v.name == self.vault.name)
        report = self.report
        report.chunks, report.embedded = info.chunks, self.writer.counts.embedded
        report.removed.sort()
        report.skipped.sort(key=lambda s: s.path)
        report.notices.extend(self.writer.notices)
        report.seconds = time.monotonic() - self.started
        return report
