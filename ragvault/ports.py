"""The seams: what the stages need from outside, as Protocols.

Each has one real adapter or more under ``adapters/`` and, where tests use a fake, one contract
suite that runs on both. Adapters raise only what ``errors`` names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ragvault.model import (
        ChatOptions,
        ChatUsage,
        FileState,
        Filter,
        FolderInfo,
        Matrix,
        Message,
        ModelInfo,
        Note,
        NoteWrite,
        Prefixes,
        ScoredId,
        StoredChunk,
        VaultInfo,
        Vector,
    )


class NoteReader(Protocol):
    """A source format."""

    def __call__(self, rel_path: str, data: bytes | str, mtime: float) -> Note:
        """A file's content, or a passage's text, as a note. ``mtime`` (seconds since the epoch) is
        its date when nothing in it or its path tells another. Raises formats.decoding.NotTextError
        for bytes that are none. Pure, linear."""


class TokenCounter(Protocol):
    """Counts the embedder's tokens, specials not counted."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """One count a text. Linear in the characters."""


class Embedder(TokenCounter, Protocol):
    """Text to unit vectors. Deterministic: a text's vector does not depend on its batch."""

    @property
    def fingerprint(self) -> str:
        """Names weights, pooling, prefixes and window. Known without loading the model."""

    def keep_to(self, fingerprints: Collection[str]) -> None:
        """Of several ways to compute take one that these were made by, else the best."""

    @property
    def max_tokens(self) -> int:
        """The window, specials not counted; what is longer is cut off at its end."""

    @property
    def name(self) -> str:
        """For people: ``all-MiniLM-L6-v2 (int8 ONNX)``."""

    @property
    def model(self) -> str:
        """Hub id, name on the server, or path: what is known of the model goes by it."""

    @property
    def source(self) -> str:
        """For people: where its weights are."""

    @property
    def prefixes(self) -> Prefixes:
        """What it puts before a text. Known without loading the model."""

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dimensions), float32, unit rows; (0, 0) of no texts. Empty text gives
        a valid vector."""

    def embed_query(self, text: str) -> Vector:
        """Shape (dimensions,). Cached for the life of the process."""

    def vocabulary_share(self, text: str) -> float:
        """Share (0..1) of the text's letters and digits that the model knows in pieces of two
        characters or more; what it spells out or doesn't know at all it can't tell apart. 1 for
        a text without letters and for a model that can't say or reads many languages."""

    def close(self) -> None: ...


class VectorIndex(Protocol):
    """Chunk id → vector. A cache: rebuildable, and the catalog knows what passes a filter.

    Making one imports no library, connects to nothing and writes nothing. What it raises says in
    the hint what a person can do about this store. Vectors stand in collections, one for each vault
    and model; ``key`` names one (``model.collection_of``). An unknown one is empty, never an error.
    """

    @property
    def identity(self) -> str:
        """Names this very store: where it is, and a random id that was made with it (for a server
        its address). Makes the store when there is none; after ``reset`` it is another one."""

    def stored_identity(self) -> str | None:
        """What ``identity`` of the store that is there would say, without opening it. None when
        there is no store yet, or when it shows damage: it isn't the store that was left."""

    def size(self) -> int:
        """Bytes on this machine's disk (0 for a server's). Linear in the store's files."""

    def upsert(self, key: str, vectors: Mapping[str, Vector]) -> None:
        """Add, or replace by id. Raises StoreError for a vector of another width."""

    def delete(self, key: str, chunk_ids: Collection[str]) -> None:
        """Ids that aren't there are ignored."""

    def query(self, key: str, vector: Vector, n: int) -> list[ScoredId]:
        """At most ``n`` nearest by cosine, best first; ties by id."""

    def ids(self, key: str) -> set[str]:
        """All that is held, of chunks that are visible and of such as are no more."""

    def vectors(self, key: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        """By id; those that aren't held are absent."""

    def count(self, key: str) -> int:
        """How many vectors are held."""

    def drop(self, key: str) -> None:
        """Forget a collection."""

    def retain(self, keys: Collection[str]) -> None:
        """Forget every other one: of models and vaults that are no more."""

    def reset(self) -> None:
        """Forget everything, also what is damaged."""

    def seal(self) -> None:
        """What was written is whole: other processes may open it. So does ``close``. A process that
        dies before has left a store that is not to be trusted (``stored_identity`` is None)."""

    def sync_to(self, generation: int) -> None:
        """Make writes of other processes up to ``generation`` visible (reopens when it moved)."""

    def close(self) -> None: ...


class Catalog(Protocol):
    """All that is indexed: vaults and their notes, the truth about which file is indexed with which
    content; visible chunks, found by their words or looked up; and vectors by (embedder's
    fingerprint, text hash), kept as float16: what a rebuilt vector store is filled from without
    running the model. What is read of them is float32 of unit length.

    One embedder is in force: the one that questions are read by, because every vault's vectors are
    whole under it. While a change of models is under way that is the one before.

    Every write method is one transaction; reads never see half of one.
    """

    @property
    def generation(self) -> int:
        """Moves with each write that changes what is found."""

    # -- vaults
    def vaults(self) -> list[VaultInfo]:
        """By name, with counts of visible notes and chunks. Linear in the notes; in the chunks of
        a vault whose vectors aren't known to be whole."""

    def add_vault(self, vault: VaultInfo) -> None:
        """Remember a vault; for a name that is known, its path and kind."""

    def finish_vault(self, name: str, *, fingerprint: str, indexed_at: float) -> None:
        """Record that the vault's vectors are whole under ``fingerprint``, put that in force unless
        another vault still needs the model before it."""

    def checked_vault(self, name: str, *, indexed_at: float) -> None:
        """A run found nothing to do: remember when. Does not move ``generation``."""

    def vector_watermark(self, name: str) -> str | None:
        """Which store holds the vault's vectors, whole, of which model. None: none does. Anything
        else than today's: a run was cut off, or it is another store or model: fill it afresh."""

    def set_vector_watermark(self, name: str, watermark: str | None) -> None:
        """None before a run's first write, the watermark after its last. Durable when it returns;
        doesn't move ``generation``."""

    def file_states(self, vault: str) -> dict[str, FileState]:
        """By path, of every note in the index."""

    def touch_files(
        self, vault: str, states: Sequence[FileState], copied: range = range(0)
    ) -> None:
        """Content is the same, only mtime moved (or was racy): remember mtime and ``seen_ns``. A
        date that was mtime's is the new one's, or none where that is ``copied``, as in a clean
        run. Unknown paths are ignored. Does not move ``generation``: nothing found changes."""

    def chunk_ids(self, vault: str, rel_paths: Collection[str] | None = None) -> set[str]:
        """Visible chunk ids, of all notes or of some."""

    def commit(self, vault: str, writes: Sequence[NoteWrite], removed: Sequence[str]) -> set[str]:
        """One transaction: the notes' new chunks become visible, the old ones (and those of
        ``removed``) invisible. Returns the chunk ids that are no longer visible."""

    def folders(self, vaults: Collection[str] = ()) -> list[FolderInfo]:
        """Folders that hold notes, of some vaults or all, by vault and path."""

    def tags(self, vaults: Collection[str] = ()) -> list[str]:
        """Tags that notes have, of some vaults or all, lower-cased, the most used first."""

    # -- chunks
    def lexical(self, terms: Sequence[str], n: int, where: Filter) -> list[ScoredId]:
        """BM25 over title, heading path and body; any term matches; best first, ties by id."""

    def lexical_scores(self, terms: Sequence[str], chunk_ids: Collection[str]) -> dict[str, float]:
        """The same BM25 for given chunks; those without any term are absent."""

    def notes_with(self, phrase: str, vaults: Collection[str]) -> frozenset[tuple[str, str]]:
        """The notes, as (vault, path) pairs, that hold the phrase word for word in their names or
        text, case aside; none for a phrase without words."""

    def vocabulary(self, word: str, vaults: Collection[str]) -> dict[str, int]:
        """The words of the notes, as they are written but lower-cased, that begin with one of the
        letters of ``word``, each with the number of notes that hold it."""

    def document_frequencies(self, terms: Sequence[str], where: Filter) -> dict[str, int]:
        """How many chunks hold each term (stemmed as the index does)."""

    def chunks(self, chunk_ids: Collection[str]) -> dict[str, StoredChunk]:
        """By id; those that aren't visible are absent."""

    def matching(self, chunk_ids: Collection[str], where: Filter) -> set[str]:
        """Those of the ids that the filter lets through."""

    def count_chunks(self, where: Filter) -> int:
        """How many chunks the filter lets through."""

    def neighbours(self, chunk_id: str, reach: int) -> list[StoredChunk]:
        """Chunks of the same note and heading path within ``reach`` before and after, in order,
        the chunk itself included."""

    def note_chunks(self, vault: str, rel_path: str) -> list[StoredChunk]:
        """All chunks of one note, in order."""

    def with_tasks(self, where: Filter) -> list[StoredChunk]:
        """All chunks in which a task's box stands ("[ ] ", "[x] "), in no special order. Linear in
        these."""

    def recent(self, n: int, where: Filter) -> list[StoredChunk]:
        """First chunks of the most recently dated notes, newest first."""

    # -- vectors
    def use_embedder(self, fingerprint: str, settings: str) -> None:
        """Vectors of this embedder are about to be made; ``settings`` say how it is built (see
        ``wiring``). It is in force from now on if no vault is whole under another one."""

    def embedder_in_force(self) -> tuple[str, str] | None:
        """Its fingerprint, and how it is built ("" if that isn't known)."""

    def wanted_vectors(self) -> list[tuple[str, str]]:
        """Each vault with each of the embedders that vectors are kept of."""

    def lacking(
        self, vault: str, fingerprint: str, among: Collection[str] | None = None
    ) -> list[tuple[str, int]]:
        """The notes of which a chunk has no vector of this embedder, and how many haven't; the
        newest first, notes of a megabyte and more last. ``among``: of these notes only."""

    def store_vectors(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        """Put vectors (by text hash) into the cache."""

    def prune_vectors(self, fingerprint: str) -> int:
        """Forget embedders but this one and the one in force, and drop cached embeddings that no
        visible chunk uses, beyond a grace for renames."""

    def vectors(self, fingerprint: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        """By chunk id; those that aren't cached are absent."""

    def nearest(
        self, fingerprint: str, vector: Vector, n: int, where: Filter
    ) -> tuple[list[ScoredId], int]:
        """The ``n`` visible chunks of the highest cosine that the filter lets through, best
        first, ties by id; and how many it lets through whose vector isn't cached. Exact: every
        vector is compared. ``vector`` is of unit length. Linear in the chunks."""


class Reranker(Protocol):
    """Scores (question, text) pairs afresh."""

    @property
    def name(self) -> str:
        """For people."""

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score a text, 0..1, higher is more relevant."""

    def close(self) -> None: ...


class ChatStream(Iterable[str], AbstractContextManager["ChatStream"], Protocol):
    """Tokens as they come."""

    @property
    def usage(self) -> ChatUsage:
        """What the server counted; complete once the iteration has ended."""


class ChatModel(Protocol):
    """A model server that writes text."""

    def info(self, model: str | None) -> ModelInfo:
        """Of the model, or with None of the best that the server has. Raises ModelMissingError
        when it hasn't got it, or none that writes."""

    def chat(self, messages: Sequence[Message], options: ChatOptions) -> ChatStream:
        """Reasoning (``<think>…</think>`` or the server's thinking field) never comes through."""

    def complete(self, messages: Sequence[Message], options: ChatOptions) -> str:
        """The same, whole: for short utility calls such as ranking folders."""


class Progress(Protocol):
    """Told of how far an index run has come. Called from one thread."""

    def start(self, vault: str, total: int, unit: str) -> None:
        """So many "notes" (to read) or "passages" (to embed) of a vault are next."""

    def advance(self, done: int) -> None:
        """So many more of them are done."""

    def finish(self) -> None:
        """The vault is done."""
