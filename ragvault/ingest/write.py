"""Chunks to both stores: words at once, then vectors, in the order that survives a crash (the six
steps of ARCHITECTURE.md, "The order that survives a crash").

A run that starts without its watermark fills the vector store afresh from the embedding cache.
Afresh, as a graph that is mended loses chunks: Chroma 1.5.9 marks deleted vectors and goes on
using them, and after many deletions and repeated upserts a few live ones can't be reached by any
query, though they are there (chroma-core/chroma#7758; a kill -9 test found it here). For the same
reason a run that deleted a large share fills it afresh at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from ragvault.errors import StoreDamagedError
from ragvault.model import Chunk, Filter, NoteWrite, collection_of
from ragvault.ports import Catalog, Embedder, Progress, VectorIndex

EMBED_SLICE = 64  # texts a call: about a second of two cores, so that progress moves
STORE_SLICE = 1000  # records a call to the vector store
MOST_DELETED = 0.2  # of a vault's vectors in one run, before its graph is made anew

T = TypeVar("T")


@dataclass
class Writer:
    """Writes one vault's notes into the catalog, and its vectors into the store, which is opened
    last: it stays whole for whoever searches meanwhile. ``fresh`` and ``gone`` are ids of chunks
    that became visible or got a vector, and of such as are no more; ``embedded`` counts texts."""

    vault: str
    catalog: Catalog
    open_vectors: Callable[[], VectorIndex]
    progress: Progress
    fresh: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    notices: list[str] = field(default_factory=list)
    has_begun: bool = False
    embedded: int = 0

    def begin(self) -> None:
        """Say that the vector store isn't in step any more."""
        if not self.has_begun:
            self.catalog.set_vector_watermark(self.vault, None)
        self.has_begun = True

    def write(self, writes: Sequence[NoteWrite], removed: Sequence[str] = ()) -> None:
        """One batch, one transaction. Memory grows with the batch, and by an id a chunk."""
        if not (writes or removed):
            return
        self.begin()
        ids = {chunk.id for write in writes for chunk in write.chunks}
        known = self.catalog.chunk_ids(self.vault, [write.file.rel_path for write in writes])
        gone = self.catalog.commit(self.vault, writes, removed)
        self.fresh -= gone  # in place: a copy for each batch would be quadratic
        self.fresh |= ids - known
        self.gone |= gone
        self.gone -= ids

    def embed(self, embedder: Embedder, chunks: Sequence[Chunk]) -> None:
        """Vectors of these chunks, which are in the catalog, into the cache, slice by slice; a kill
        loses no more than the slice. The model is loaded with the first text."""
        model = embedder.fingerprint
        known = self.catalog.vectors(model, [chunk.id for chunk in chunks])
        texts = {c.text_hash: c.embed_text for c in chunks if c.id not in known}
        for hashes in batched(texts, EMBED_SLICE):
            matrix = embedder.embed_documents([texts[h] for h in hashes])
            self.catalog.store_vectors(model, dict(zip(hashes, matrix, strict=True)))
            self.embedded += len(hashes)
            new = [chunk.id for chunk in chunks if chunk.text_hash in hashes]
            self.fresh.update(new)
            self.progress.advance(len(new))

    def finish(self, model: str, *, is_in_step: bool, indexed_at: float) -> int:
        """Steps 4 to 6, for the vectors of ``model``. ``is_in_step``: the store is as the last run
        left it. Returns with how many vectors it was filled afresh (0: it wasn't)."""
        index, catalog, filled = self.open_vectors(), self.catalog, 0
        try:
            index.sync_to(catalog.generation)
            if is_in_step:
                self._settle(index, model)
            else:
                filled = self._refill(index, model)
        except StoreDamagedError as error:
            index.reset()
            self.notices.append(f"{error.message} It is rebuilt; nothing is embedded again.")
            filled = self._refill(index, model)
        catalog.finish_vault(self.vault, fingerprint=model, indexed_at=indexed_at)
        catalog.prune_vectors(model)
        drop_unused(catalog, index)
        index.seal()
        catalog.set_vector_watermark(self.vault, watermark_of(index.identity, model))
        return filled

    def _settle(self, index: VectorIndex, model: str) -> None:
        if len(self.gone) > MOST_DELETED * self.catalog.count_chunks(Filter(vaults=(self.vault,))):
            self._refill(index, model)
            return
        for part in batched(sorted(self.gone), STORE_SLICE):
            index.delete(collection_of(self.vault, model), part)
        self._fill(index, model, self.fresh)

    def _refill(self, index: VectorIndex, model: str) -> int:
        """Every visible chunk whose embedding is in the cache, into an empty collection. Linear
        in the vault: about a millisecond a chunk, where embedding it took twenty."""
        index.drop(collection_of(self.vault, model))
        return self._fill(index, model, self.catalog.chunk_ids(self.vault))

    def _fill(self, index: VectorIndex, model: str, chunk_ids: Collection[str]) -> int:
        filled = 0
        for part in batched(sorted(chunk_ids), STORE_SLICE):
            vectors = self.catalog.vectors(model, part)
            index.upsert(collection_of(self.vault, model), vectors)
            filled += len(vectors)
        return filled


def drop_unused(catalog: Catalog, index: VectorIndex) -> None:
    """Out of the vector store, all of vaults and models that are no more. Raises StoreError."""
    index.retain([collection_of(name, model) for name, model in catalog.wanted_vectors()])


def watermark_of(identity: str, fingerprint: str) -> str:
    """What a vault in step is marked with: which vector store, and which model's vectors."""
    return f"{identity}|{fingerprint}"


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of at most ``size`` (itertools.batched is Python 3.12's)."""
    source = iter(items)
    while part := list(islice(source, size)):
        yield part
