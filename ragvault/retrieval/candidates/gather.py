"""Which chunks are candidates: what the two retrievers propose, once each, with exact scores.

The nearest of each scope are proposed (by the catalog itself in a vault that is small enough to be
compared in full, else by the vector store), and by the word search the best of all that the
filter lets through. Both only propose ids: every score that ranks is computed afterwards, from
the catalog, for every candidate, also where the other retriever proposed it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product

from ragvault.errors import StoreDamagedError, StoreError
from ragvault.model import Filter, Scope, ScoredId, Scores, StoredChunk, Vector, collection_of
from ragvault.ports import VectorIndex
from ragvault.retrieval.context import Context
from ragvault.retrieval.question.folders import weight_of
from ragvault.retrieval.ranking.blend import Candidate
from ragvault.text import tokens

# What is proposed: so many of a scope's nearest vectors, and so many chunks by BM25.
VECTOR_CANDIDATES = 50
LEXICAL_CANDIDATES = 50
QUOTED_CANDIDATES = 500  # passages with its words, of the notes that hold a quoted phrase
# How far an unfiltered answer is read on, in steps of four, while the filter refuses most of it.
_GROWTH = 4


@dataclass(frozen=True, slots=True)
class Store:
    """The vector store for the ``vaults`` that are too large to be compared in full, and what
    turns out while it is asked: ``broken`` says for a vault why it can't be (None once told). It is
    compared in full then, however large; ``lacking``: vaults with passages without a vector."""

    index: VectorIndex | None = None
    vaults: frozenset[str] = frozenset()
    broken: dict[str, StoreError | None] = field(default_factory=dict)
    lacking: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a search by meaning goes by. ``vector`` None: there is none. ``trust`` (0..1): how far
    the model can read the question, see ``blend.trust_of``; ``others``: of the question in other
    languages."""

    vector: Vector | None = None
    others: tuple[Vector, ...] = ()
    fingerprint: str = ""
    model: str = ""
    trust: float = 1.0
    store: Store = field(default_factory=Store)

    @property
    def readable(self) -> Vector | None:
        """The vector to look for; None where the model can't read the question: its nearest are
        anything."""
        return self.vector if self.trust > 0 else None


def open_store(context: Context, generation: int, fingerprint: str) -> Store:
    """Open the store if it is needed, current to ``generation``, and see that it holds all of each
    vault's vectors of the embedder in force: what it lacks would never be near. Raises no
    StoreError: that is what ``Store`` tells. A vault that isn't embedded whole yet isn't asked of
    it."""
    limit = context.deps.exact_limit
    large = [v for v in context.vaults if v.chunks > limit and v.embedded == v.notes]
    names = frozenset(vault.name for vault in large)
    if not large:
        return Store()
    broken: dict[str, StoreError | None] = {}
    try:
        index = context.deps.vector_index()
        index.sync_to(generation)
    except StoreError as error:
        return Store(None, names, dict.fromkeys(names, error))
    for vault in large:
        try:
            held = index.count(collection_of(vault.name, fingerprint))
        except StoreError as error:
            broken[vault.name] = error
            continue
        if context.catalog.vector_watermark(vault.name) is None:
            context.notices.append(
                f"`ragvault index` is writing '{vault.name}', or its last run was cut off: the "
                "passages are compared without the vector store until `ragvault index` has ended."
            )
            broken[vault.name] = None
        elif held != vault.chunks:
            why = f"it holds {held:,} vectors for {vault.chunks:,} passages"
            broken[vault.name] = StoreDamagedError(why)
    return Store(index, names, broken)


def by_words(context: Context, terms: Sequence[str], filters: Sequence[Filter]) -> tuple[str, ...]:
    """The chunks with the best BM25 under each filter, best first."""
    searched = filters if terms else ()
    found = (context.catalog.lexical(terms, LEXICAL_CANDIDATES, where) for where in searched)
    return tuple(dict.fromkeys(hit.chunk_id for hit in chain.from_iterable(found)))


def by_meaning(
    context: Context,
    meaning: Meaning,
    vector: Vector,
    scopes: Sequence[Scope],
    filters: Sequence[Filter],
) -> tuple[str, ...]:
    """The nearest chunks of each scope under each filter."""
    ids: dict[str, None] = {}
    store, fingerprint = meaning.store, meaning.fingerprint
    for scope, where in product(scopes, filters):
        inside = _narrowed(where, scope)
        found = None
        if store.index is not None and scope.vault in store.vaults.difference(store.broken):
            try:
                found = _ask_store(context, store.index, fingerprint, vector, scope, inside)
            except StoreError as error:
                store.broken[scope.vault] = error
        if found is None:
            n = VECTOR_CANDIDATES
            found, lacking = context.catalog.nearest(fingerprint, vector, n, inside)
            store.lacking.update({scope.vault} if lacking else ())
        ids.update((hit.chunk_id, None) for hit in found)
    return tuple(ids)


def nearest(context: Context, meaning: Meaning, scopes: Sequence[Scope]) -> tuple[str, ...]:
    """The question's own nearest chunks."""
    if meaning.readable is None:
        return ()
    ids = tuple(
        chunk_id
        for vector in (meaning.readable, *meaning.others)
        for chunk_id in by_meaning(context, meaning, vector, scopes, context.filters)
    )
    context.notices.extend(
        f"The vector store of {vault} can't be used ({error.message.rstrip('. ')}): searched "
        f"without. {error.hint}"
        for vault, error in meaning.store.broken.items()
        if error
    )
    return ids


def _narrowed(where: Filter, scope: Scope) -> Filter:
    """The filter within one scope. A scope's folders lie inside the filter's, if it has any."""
    vaults = (scope.vault,)
    if scope.folders is None:
        folders = tuple(pair for pair in where.folders if pair[0] == scope.vault)
        return replace(where, vaults=vaults, folders=folders)
    return replace(where, vaults=vaults, folders=tuple((scope.vault, f) for f in scope.folders))


def _ask_store(
    context: Context,
    index: VectorIndex,
    fingerprint: str,
    vector: Vector,
    scope: Scope,
    inside: Filter,
) -> list[ScoredId] | None:
    """What the vector store has for a scope under a filter, best first; None where the filter
    leaves few enough to compare them all. It is asked for more and more until enough pass or it
    has no more: few matches are never lost behind many others."""
    catalog, asked, n = context.catalog, VECTOR_CANDIDATES, VECTOR_CANDIDATES
    collection = collection_of(scope.vault, fingerprint)
    if inside.is_empty:
        return index.query(collection, vector, n)
    if catalog.count_chunks(inside) <= context.deps.filtered_limit:
        return None
    while True:
        found = index.query(collection, vector, asked)
        allowed = catalog.matching([hit.chunk_id for hit in found], inside)
        passed = [hit for hit in found if hit.chunk_id in allowed]
        if len(passed) >= n or len(found) < asked:
            return passed[:n]
        asked *= _GROWTH


def gather(
    context: Context,
    meaning: Meaning,
    scopes: Sequence[Scope],
    *,
    by_vector: Sequence[str],
    by_keyword: Sequence[str],
) -> list[Candidate]:
    """The candidates in order of chunk id: of what was proposed, the chunks that are visible and
    pass the filter (a vector may outlive its chunk until the next ``index``)."""
    catalog, query = context.catalog, meaning.vector
    asked = [(context.query.terms, 1.0)]
    asked += ((wording.terms, wording.trust) for wording in context.query.wordings)
    proposed = list(dict.fromkeys((*by_vector, *by_keyword)))
    for phrase in context.query.phrases:
        quoted = catalog.lexical(tokens(phrase), QUOTED_CANDIDATES, context.where)
        proposed += (hit.chunk_id for hit in quoted)
    allowed = sorted(catalog.matching(proposed, context.where)) if proposed else []
    stored = catalog.chunks(allowed)
    if context.query.phrases:
        stored = _holding(stored, context.query.phrases)
        allowed = sorted(stored)
    bm25: dict[str, float] = {}
    for terms, trust in asked:
        for chunk_id, score in catalog.lexical_scores(terms, allowed).items() if terms else ():
            bm25[chunk_id] = max(trust * score, bm25.get(chunk_id, 0.0))
    vectors = catalog.vectors(meaning.fingerprint, allowed) if meaning.fingerprint else {}
    keyword_ids = set(by_keyword)
    candidates = []
    for chunk_id in allowed:
        chunk = stored.get(chunk_id)
        if chunk is None:  # it went between two reads: another process is indexing
            continue
        scores = Scores(
            vector=_cosine(vectors.get(chunk_id), query, meaning.others),
            bm25=bm25.get(chunk_id, 0.0),
            folder_weight=weight_of(chunk.note.vault, chunk.note.folder, scopes),
        )
        candidates.append(Candidate(chunk, scores, chunk_id in keyword_ids))
        if meaning.fingerprint and chunk_id not in vectors:
            meaning.store.lacking.add(chunk.note.vault)
    context.notices.extend(
        f"Passages of {vault.name} have no embedding any more: they are found by their words "
        "only. Run `ragvault repair`."
        for vault in context.vaults
        if vault.name in meaning.store.lacking and vault.embedded == vault.notes
    )
    return candidates


def _holding(stored: Mapping[str, StoredChunk], phrases: Sequence[str]) -> dict[str, StoredChunk]:
    """The chunks that hold one of the phrases; of a note where none does (the phrase goes on from
    one to the next, or is in the note's names) all."""
    holding: dict[str, StoredChunk] = {}
    wanted = [f" {' '.join(tokens(phrase))} " for phrase in phrases]
    for chunk_id, found in stored.items():
        text = "\n".join((*found.chunk.heading_path, found.chunk.text))
        held = f" {' '.join(tokens(text))} "
        if any(phrase in held for phrase in wanted):
            holding[chunk_id] = found
    notes = {(found.note.vault, found.note.rel_path) for found in holding.values()}
    rest = {i: s for i, s in stored.items() if (s.note.vault, s.note.rel_path) not in notes}
    return holding | rest


def _cosine(vector: Vector | None, query: Vector | None, others: Sequence[Vector]) -> float | None:
    if vector is None or query is None:
        return None
    return max(-1.0, min(1.0, max(float(vector @ asked) for asked in (query, *others))))
