"""One vault, brought up to date: walk → plan → read → parse → chunk → words → vectors.

ARCHITECTURE.md tells the steps ("The walk of a note"). A run may be cut off anywhere: what was
committed stays, and the next run does the rest. Another model is just another fingerprint that no
vectors exist of. The caller holds the writer's lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ragvault.config.settings import Settings
from ragvault.errors import Interrupted, ModelError, VaultPathError
from ragvault.ingest.ahead import ahead
from ragvault.ingest.paths import emptied, holds_nothing, shown
from ragvault.ingest.plan import Plan, make_plan, spared, time_of_copy
from ragvault.ingest.read import Content, Gone, NoteLoader, ReadNote, Unreadable, as_text, read_note
from ragvault.ingest.walk import WalkResult, walk
from ragvault.ingest.write import STORE_SLICE, Writer, batched, watermark_of
from ragvault.model import Chunk, FileState, IndexReport, NoteFile, NoteWrite, Skipped, VaultInfo
from ragvault.ports import Catalog, Embedder, Progress, TokenCounter, VectorIndex

BATCH_BYTES = 8_000_000  # of the notes' files
AHEAD_BYTES = 1_000_000  # of those that are read while the model works


class Silent:
    """A Progress that shows nothing."""

    def start(self, vault: str, total: int, unit: str) -> None: ...

    def advance(self, done: int) -> None: ...

    def finish(self) -> None: ...


@dataclass(slots=True)
class _Batch:
    writes: list[NoteWrite] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    chunks: int = 0
    size: int = 0

    def is_full(self, chunks: int) -> bool:
        return self.chunks >= chunks or self.size >= BATCH_BYTES


@dataclass(kw_only=True)
class Sync:
    """One vault, to be brought up to date once. ``counter`` measures passages. ``embedder`` builds
    without loading the model; of what, say ``embedder_settings`` (see ``Catalog.use_embedder``).
    ``stored`` is the vector store's identity, read without opening it; None when there is no store.

    ``full`` reads and writes every note again and rebuilds the vault's vectors (embeddings come
    from the cache where text and model are the same). ``thorough`` reads every note to see whether
    it is the one that is indexed, whatever its size and time say. A batch of notes is one
    transaction: ``batch_chunks`` bounds its memory.
    """

    vault: VaultInfo
    settings: Settings
    catalog: Catalog
    counter: TokenCounter
    embedder: Callable[[], Embedder]
    embedder_settings: str
    vectors: Callable[[], VectorIndex]
    stored: Callable[[], str | None]
    progress: Progress = field(default_factory=Silent)
    full: bool = False
    thorough: bool = False
    now: Callable[[], float] = time.time
    read_note: ReadNote = read_note
    batch_chunks: int = 512

    def __post_init__(self) -> None:
        self.started = time.monotonic()
        self.done = self.undated = 0  # notes that were written, and those of them without a date
        self.has_words = False  # all are written
        self.states: dict[str, FileState] = {}  # what was known before this run
        self.report = IndexReport(self.vault.name, str(self.vault.path))
        self.writer = Writer(self.vault.name, self.catalog, self.vectors, self.progress)
        self.window: int | None = None
        self.fingerprint: str | None = None
        self.no_model: ModelError | None = None  # words are written without it
        try:
            embedder = self.embedder()
            self.window, self.fingerprint = embedder.max_tokens, embedder.fingerprint
        except ModelError as error:
            self.no_model = error

    # -- the steps

    def run(self, *, dry_run: bool = False) -> IndexReport:
        """A vault that is new is remembered. ``dry_run`` says what would be done and writes
        nothing. Raises VaultPathError (the root is gone, empty or without notes), DiskFullError and
        other StoreErrors, EmbedderUnavailableError, Interrupted; what was committed is kept."""
        is_known = any(v.name == self.vault.name for v in self.catalog.vaults())
        self.states = self.catalog.file_states(self.vault.name)
        found = walk(self.vault.path, self.settings.index)
        self.report.skipped.extend(found.skipped)
        self._refuse_empty(found)
        self.loader = NoteLoader(
            self.vault.name,
            self.settings,
            self.counter,
            self.window,
            found.own,
            self.read_note,
            time_of_copy(found.files),
        )
        plan = make_plan(
            self.states,
            found.files,
            hash_of=self.loader.hash_of,
            fingerprint=self.loader.fingerprint,
            full=self.full,
            thorough=self.thorough,
            unreadable=found.unreadable,
        )
        if not self.full:
            plan = spared(plan, len(self.states), self.vault.path)
        self.report.spared.extend(plan.spared)
        self.report.notices.extend(plan.notices(self.vault.name))
        if dry_run:
            return self._foresee(plan)
        if not is_known:
            self.catalog.add_vault(self.vault)
        self.report.unchanged = plan.unchanged + len(plan.kept) + len(plan.spared)
        is_in_step = self._is_in_step() and not self.full
        try:
            if not plan.is_empty:
                self._write_words(plan)
            self.has_words = True
            if self.writer.has_begun or not is_in_step:
                self.writer.begin()
                self._write_vectors(found, is_in_step=is_in_step)
            else:
                self.catalog.checked_vault(self.vault.name, indexed_at=self.now())
        except KeyboardInterrupt:
            raise Interrupted(self._how_far(len(plan.writes))) from None
        finally:
            self.progress.finish()
        self.report.warnings.extend(dict.fromkeys(self.loader.warnings))  # a note is read twice
        if not is_known and self.undated * 2 > self.done:
            self.report.notices.append(
                f"{self.undated:,} notes have no date: their files' times are those of a copy, and "
                "neither they nor their names say one."
            )
        return self._finish()

    def _is_in_step(self) -> bool:
        """Whether the vector store is the one, and in the state, that the last run left."""
        stored = self.stored()
        if stored is None or self.fingerprint is None:
            return False
        expected = watermark_of(stored, self.fingerprint)
        return self.catalog.vector_watermark(self.vault.name) == expected

    # -- words

    def _write_words(self, plan: Plan) -> None:
        """Write what the plan says. Removals first: they free space and cost nothing."""
        self.progress.start(self.vault.name, len(plan.writes), "notes searchable")
        for part in batched(plan.removed, STORE_SLICE):
            self.writer.write((), part)
            self.report.removed.extend(part)
        moved = {new.rel_path: old for old, new in plan.renamed}
        batch = _Batch()
        for file in plan.writes:
            self._add(batch, file, moved.get(file.rel_path))
            # The newest notes can be searched after a second, not after a whole batch.
            if batch.is_full(self.batch_chunks // (1 if self.done else 4)):
                self._flush(batch, moved)
                batch = _Batch()
        self._flush(batch, moved)
        self._touch(plan.touched)

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
        self.progress.advance(1)
        if isinstance(write, Gone) and holds_nothing(self.vault.path):
            raise emptied(self.vault)  # the drive went, nobody deleted anything
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
        self.undated += sum(not write.note.date for write in batch.writes)
        self.progress.advance(len(batch.writes))

    def _touch(self, files: Sequence[NoteFile]) -> None:
        """Same content at another time; a date that is the file's own moves with it."""
        self.report.unchanged += len(files)
        states = [
            self.states[file.rel_path]._replace(
                mtime_ns=file.mtime_ns, seen_ns=self.loader.seen_ns.get(file.rel_path, 0)
            )
            for file in files
        ]
        self.catalog.touch_files(self.vault.name, states, self.loader.copied)

    # -- vectors

    def _write_vectors(self, found: WalkResult, *, is_in_step: bool) -> None:
        """Bring the vectors in line with the words, the newest notes first."""
        if self.no_model is not None:
            raise self.no_model
        embedder = self.embedder()
        model = embedder.fingerprint
        self.catalog.use_embedder(model, self.embedder_settings)
        report, writer = self.report, self.writer
        written = {*report.added, *report.changed, *(new for _, new in report.renamed)}
        among = written if is_in_step else None
        lacking = self.catalog.lacking(self.vault.name, model, among)
        total = sum(chunks for _, chunks in lacking)
        self.progress.start(self.vault.name, total, "passages embedded")
        self._embed(embedder, lacking, {file.rel_path: file for file in found.files})
        filled = writer.finish(model, is_in_step=is_in_step, indexed_at=self.now())
        report.notices.extend(writer.notices)
        if filled > total:
            were = "vector was" if filled - total == 1 else "vectors were"
            report.notices.append(
                f"{filled - total:,} {were} restored from the catalog; nothing was embedded again."
            )

    def _embed(
        self, embedder: Embedder, lacking: Iterable[tuple[str, int]], files: Mapping[str, NoteFile]
    ) -> None:
        """Read notes again for the texts that are embedded, which the catalog doesn't keep: the
        next ones while the model works."""
        paths = [path for path, _ in lacking]
        lost = [path for path in paths if path not in files]
        wanted = [files[path] for path in paths if path in files]
        chunks: list[Chunk] = []
        with ahead(self.loader.load, wanted, lambda file: file.size, AHEAD_BYTES) as loaded:
            for file, write in loaded:
                if not isinstance(write, NoteWrite):
                    lost.append(file.rel_path)
                    continue
                known = self.catalog.chunk_ids(self.vault.name, [file.rel_path])
                if {chunk.id for chunk in write.chunks} != known:  # it was edited just now
                    self.writer.write([write])
                chunks += write.chunks
                # The model begins early, and what comes next is read beside it.
                if len(chunks) >= self.batch_chunks // (1 if self.writer.embedded else 4):
                    self.writer.embed(embedder, chunks)
                    chunks = []
        self.writer.embed(embedder, chunks)
        if lost:
            states = self.catalog.file_states(self.vault.name)
            unread = [states[path]._replace(seen_ns=0, content_hash="") for path in lost]
            self.catalog.touch_files(self.vault.name, unread, self.loader.copied)  # tried next time
            self.report.notices.append(
                f"{len(lost):,} notes that can't be read now have no embedding; they are found "
                "by their words only."
            )

    # -- what is said

    def _how_far(self, total: int) -> str:
        name = self.vault.name
        if not self.has_words:
            return f"Stopped after {self.done:,} of {total:,} notes of '{name}'; they are kept."
        return (
            f"Stopped; all notes of '{name}' can be searched by their words, and the "
            f"{self.writer.embedded:,} passages that were embedded are kept. "
            "`ragvault index` goes on."
        )

    def _refuse_empty(self, found: WalkResult) -> None:
        """An empty folder is far more often an unmounted drive, or a wrong path, than a wish."""
        if found.files or found.unreadable:
            return
        if not self.states:
            kinds = ", ".join(self.settings.index.extensions)
            raise VaultPathError(f"There are no notes ({kinds}) in {shown(str(self.vault.path))}.")
        if found.is_empty:
            raise emptied(self.vault)

    def _foresee(self, plan: Plan) -> IndexReport:
        """What a run would do, as though it were done. New files are looked into: one that is
        no text would not be added."""
        for file in plan.added:
            seen = as_text(self.loader.content(file))
            if isinstance(seen, Content):
                self.report.added.append(file.rel_path)
            elif isinstance(seen, Unreadable):
                self.report.skipped.append(Skipped(shown(file.rel_path), seen.reason))
        self.report.skipped.sort(key=lambda s: s.path)
        self.report.changed = [file.rel_path for file in plan.changed]
        self.report.removed = list(plan.removed)
        self.report.renamed = [(old, new.rel_path) for old, new in plan.renamed]
        self.report.unchanged = (
            plan.unchanged + len(plan.touched) + len(plan.kept) + len(plan.spared)
        )
        self.report.dry_run = True
        self.report.seconds = time.monotonic() - self.started
        return self.report

    def _finish(self) -> IndexReport:
        info = next(v for v in self.catalog.vaults() if v.name == self.vault.name)
        report = self.report
        report.chunks, report.embedded = info.chunks, self.writer.embedded
        for paths in (report.added, report.changed, report.removed, report.renamed):
            paths.sort()
        report.skipped.sort(key=lambda s: s.path)
        report.seconds = time.monotonic() - self.started
        return report
