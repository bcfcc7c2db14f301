"""From chunks to both stores, in the order that survives a crash.

The order (ARCHITECTURE.md says what each step is for):

1. the watermark of the vault says "open": from here on the vector store may differ
2. new vectors into the embedding cache (work done is never lost)
3. vectors into the vector store: orphans as yet, which no query shows
4. one catalog transaction: the new chunks become visible, the old ones invisible
5. stale vectors out of the vector store
6. the watermark says "in step"

A run that starts on an open watermark fills the vector store afresh from the embedding cache, and
compares the two stores once it is through (``sweep``); one that starts in step has nothing to
compare, and if it has nothing to write it opens neither.

Afresh, as a graph that is mended loses chunks: Chroma 1.5.9 marks deleted vectors and goes on
using them, and after many deletions and repeated upserts a few live ones can't be reached by any
query, though they are there (chroma-core/chroma#7758; a kill -9 test found it here). For the same
reason a run that deleted a large share fills it afresh at its end (``compact``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from ragvault.errors import StoreDamagedError
from ragvault.model import Chunk, NoteWrite, VectorRecord
from ragvault.ports import Catalog, Embedder, Progress, VectorIndex

if TYPE_CHECKING:
    from ragvault.model import Vector

EMBED_SLICE = 64  # texts a call: about a second of two cores, so that progress moves
STORE_SLICE = 1000  # records a call to the vector store
MOST_DELETED = 0.2  # of a vault's vectors in one run, before its graph is made anew
_OPEN = "open|"

T = TypeVar("T")


@dataclass(slots=True)
class Counts:
    """Vectors embedded, restored from the cache, and deleted."""

    embedded: int = 0
    restored: int = 0
    deleted: int = 0


class Writer:
    """Writes one vault's notes. Opens the vector store when it first has something to write."""

    def __init__(
        self,
        vault: str,
        catalog: Catalog,
        embedder: Embedder,
        open_vectors: Callable[[], VectorIndex],
        progress: Progress,
        *,
        rebuild: bool = False,
    ) -> None:
        """``rebuild`` drops what the vector store has of the vault and fills it anew."""
        self._vault = vault
        self._catalog = catalog
        self._embedder = embedder
        self._open_vectors = open_vectors
        self._progress = progress
        self._rebuild = rebuild
        self._index: VectorIndex | None = None
        self._watermark = ""
        self._is_in_step = False
        self.has_written = False
        self.counts = Counts()
        self.notices: list[str] = []

    @property
    def is_out_of_step(self) -> bool:
        """The store was opened and found to be another, or not as the last run left it."""
        return self._index is not None and not self._is_in_step

    def open(self) -> VectorIndex:
        """The vector store, marked open. Drops what belongs to another model or store."""
        if self._index is not None:
            return self._index
        index = self._open_vectors()
        try:
            index.sync_to(self._catalog.generation)
            index.count(self._vault)
        except StoreDamagedError as error:
            index.reset()
            self.notices.append(f"{error.message} It is rebuilt; nothing is embedded again.")
        self._watermark = watermark_of(index.identity, self._embedder.fingerprint)
        known = self._catalog.vector_watermark(self._vault)
        self._is_in_step = known == self._watermark and not self._rebuild
        if not self._is_in_step:
            # Ids say nothing of the model: another one's vectors must not be taken for ours. And
            # what a cut-off run left is not mended: see the module's docstring.
            self._catalog.set_vector_watermark(self._vault, None)
            index.drop(self._vault)
        self._catalog.set_vector_watermark(self._vault, _OPEN + self._watermark)
        self._index = index
        if not self._is_in_step and not self._rebuild:
            self.counts.restored += len(self._refill(index))
        return index

    def _refill(self, index: VectorIndex) -> set[str]:
        """Every visible chunk whose embedding is in the cache, into an empty vector store. Linear
        in the vault: about a millisecond a chunk, where embedding it took twenty."""
        return self._upsert(
            index, self._catalog.iter_records(self._vault, self._embedder.fingerprint)
        )

    def compact(self) -> None:
        """Make the vault's vectors anew if this run deleted many. Cut off, the next run does it."""
        index = self._index
        if index is None or self.counts.deleted <= MOST_DELETED * index.count(self._vault):
            return
        index.drop(self._vault)
        self._refill(index)

    def write(self, writes: Sequence[NoteWrite], removed: Sequence[str] = ()) -> None:
        """One batch: see the module's docstring. Memory grows with the batch, not the vault."""
        if not (writes or removed):
            return
        index = self.open()
        vectors = self._vectors([c for w in writes for c in w.chunks])
        same = self._same_records(writes)
        records = (r for w in writes for r in records_of(w, vectors) if r.chunk_id not in same)
        self._upsert(index, records)
        gone = self._catalog.commit(
            self._vault, writes, removed, fingerprint=self._embedder.fingerprint, vectors={}
        )
        self.has_written = True
        self._delete(index, gone)

    def sweep(self) -> set[str]:
        """Bring the vector store in line with the catalog: orphans out, missing vectors in from
        the embedding cache. Linear in the vault's chunk ids; nothing to do after a clean run.

        Returns the ids of chunks whose embedding isn't in the cache (their notes are to be
        written again).
        """
        index = self.open()
        if self._is_in_step:
            return set()
        have = index.ids(self._vault)
        want = self._catalog.chunk_ids(self._vault)
        self._delete(index, have - want)
        missing = want - have
        if missing:
            stored = self._catalog.iter_records(self._vault, self._embedder.fingerprint)
            found = (r for r in stored if r.chunk_id in missing)
            restored = self._upsert(index, found)
            self.counts.restored += len(restored)
            missing -= restored
        return missing

    def close_watermark(self) -> None:
        """All is written: say that the two stores agree. The last step of a run."""
        if self._index is not None:
            self._index.seal()
            self._catalog.set_vector_watermark(self._vault, self._watermark)

    def _vectors(self, chunks: Sequence[Chunk]) -> dict[str, Vector]:
        """text hash → vector as the embedding cache gives it back (float16, unit length), so
        that a vector is the same bits whether it was just made or restored."""
        texts = {c.text_hash: c.embed_text for c in chunks}
        fingerprint = self._embedder.fingerprint
        vectors: dict[str, Vector] = {}
        for hashes in batched(texts, STORE_SLICE):
            vectors.update(self._catalog.cached_vectors(fingerprint, hashes))
        missing = [h for h in texts if h not in vectors]
        self._progress.advance(chunks=len(chunks) - len(missing))
        for hashes in batched(missing, EMBED_SLICE):
            matrix = self._embedder.embed_documents([texts[h] for h in hashes])
            self._catalog.store_vectors(fingerprint, dict(zip(hashes, matrix, strict=True)))
            vectors.update(self._catalog.cached_vectors(fingerprint, hashes))
            self.counts.embedded += len(hashes)
            self._progress.advance(chunks=len(hashes))
        return vectors

    def _same_records(self, writes: Sequence[NoteWrite]) -> set[str]:
        """Chunks whose record the vector store has already: same id (so same place and text) and
        same date. An edit in one section of a long note then moves one vector, not all."""
        if not self._is_in_step:
            return set()
        dates = {c.id: w.note.date for w in writes for c in w.chunks}
        known = self._catalog.chunk_ids(self._vault, [w.file.rel_path for w in writes])
        stored = self._catalog.chunks(known.intersection(dates))
        return {i for i, s in stored.items() if s.note.date == dates[i]}

    def _upsert(self, index: VectorIndex, records: Iterable[VectorRecord]) -> set[str]:
        done: set[str] = set()
        for part in batched(records, STORE_SLICE):
            index.upsert(self._vault, part)
            done.update(r.chunk_id for r in part)
        return done

    def _delete(self, index: VectorIndex, chunk_ids: Iterable[str]) -> None:
        for part in batched(sorted(chunk_ids), STORE_SLICE):
            index.delete(self._vault, part)
            self.counts.deleted += len(part)


def watermark_of(identity: str, fingerprint: str) -> str:
    """What a vector store in step is marked with: which store, and which model's vectors."""
    return f"{identity}|{fingerprint}"


def records_of(write: NoteWrite, vectors: dict[str, Vector]) -> Iterator[VectorRecord]:
    """The records of a note's chunks, with the fields that the vector store filters by."""
    folder = write.file.rel_path.rpartition("/")[0]
    for chunk in write.chunks:
        yield VectorRecord(chunk.id, vectors[chunk.text_hash], folder, write.note.date)


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of at most ``size`` (itertools.batched is Python 3.12's)."""
    source = iter(items)
    while part := list(islice(source, size)):
        yield part
