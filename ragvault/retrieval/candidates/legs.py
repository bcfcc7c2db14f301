"""The two legs of a search: vectors per scope, and BM25 over all that the filter lets through.

The legs only propose: ids for the pool. Every score that ranks is computed afterwards, exactly,
from the catalog (see ``pool``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

from ragvault.errors import StoreError
from ragvault.model import Filter, Scope, ScoredId
from ragvault.ports import Catalog, ChatModel, Embedder, Reranker, VectorIndex

if TYPE_CHECKING:
    from ragvault.model import Vector

# What each leg proposes: so many of a scope's nearest vectors, and so many chunks by BM25.
VECTOR_CANDIDATES = 15
LEXICAL_CANDIDATES = 50
# Up to this many chunks a filtered scope is scored in full: exact, and no slower than a filtered
# vector query (reading 2,000 cached vectors of 384 takes about as long).
EXACT_LIMIT = 2000
# A vault whose vector store is lost or broken is scored in full up to this many chunks (some
# 5 µs each), so that a search doesn't have to wait for the rebuild by the next `index`.
FALLBACK_LIMIT = 20_000
# How far an unfiltered answer is read on, in steps of four, while the filter refuses most of it.
_GROWTH = 4


@dataclass(frozen=True, slots=True)
class Deps:
    """What retrieval needs from outside.

    Embedder and vector index come as factories: they are opened side by side on first use, and a
    question that needs neither opens neither. A factory may raise what the port may raise;
    calling it again gives the same object.
    """

    catalog: Catalog
    embedder: Callable[[], Embedder]
    vector_index: Callable[[], VectorIndex]
    chat: ChatModel | None = None
    reranker: Reranker | None = None


def narrowed(where: Filter, scope: Scope) -> Filter:
    """The filter within one scope. A scope's folders lie inside the filter's, if it has any."""
    vaults = (scope.vault,)
    if scope.folders is None:
        folders = tuple(pair for pair in where.folders if pair[0] == scope.vault)
        return replace(where, vaults=vaults, folders=folders)
    return replace(where, vaults=vaults, folders=tuple((scope.vault, f) for f in scope.folders))


def search_scope(
    catalog: Catalog,
    index: VectorIndex | None,
    fingerprint: str,
    vector: Vector,
    scope: Scope,
    where: Filter,
    n: int,
) -> list[ScoredId] | None:
    """The ``n`` nearest chunks of a scope that the filter lets through, best first.

    Few enough are scored one by one from the embedding cache. Otherwise the index is asked for
    more and more until ``n`` pass or it has no more: a filter never lets through what it
    excludes, and few matches are never lost behind many others. Linear in ``EXACT_LIMIT``, or in
    the share that the filter refuses. Without an ``index`` everything is scored one by one, and
    None says that there is too much of it.
    """
    inside = narrowed(where, scope)
    if index is not None and inside.is_empty:
        return index.query(scope.vault, vector, n)
    ids = catalog.filtered_ids(inside, FALLBACK_LIMIT if index is None else EXACT_LIMIT)
    if ids is not None:
        return _exact(catalog, fingerprint, vector, ids)[:n]
    if index is None:
        return None
    asked = n
    while True:
        found = index.query(scope.vault, vector, asked, folders=scope.folders)
        allowed = catalog.matching([hit.chunk_id for hit in found], inside)
        passed = [hit for hit in found if hit.chunk_id in allowed]
        if len(passed) >= n or len(found) < asked:
            return passed[:n]
        asked *= _GROWTH


def _exact(
    catalog: Catalog, fingerprint: str, vector: Vector, ids: Sequence[str]
) -> list[ScoredId]:
    vectors = catalog.vectors(fingerprint, ids)
    scored = [ScoredId(key, float(value @ vector)) for key, value in vectors.items()]
    return sorted(scored, key=lambda hit: (-hit.score, hit.chunk_id))


@dataclass(frozen=True, slots=True)
class Store:
    """The vector store as it was found. ``broken`` says for a vault why it can't be asked; an
    ``index`` of None is broken for all."""

    index: VectorIndex | None
    broken: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VectorLeg:
    """What the vector leg proposes. ``broken`` are the vaults (and why) whose store failed;
    those in ``unsearched`` were too large to do without it."""

    ids: tuple[str, ...]
    broken: dict[str, str]
    unsearched: frozenset[str]


def open_store(
    factory: Callable[[], VectorIndex], generation: int, chunks: Mapping[str, int]
) -> Store:
    """Open the store, current to ``generation``, and see that it holds each vault's vectors.

    ``chunks`` are the vaults' visible chunks. A store that was lost counts none, and would
    otherwise answer that nothing is near. Raises no StoreError: that is what ``Store`` tells.
    """
    broken: dict[str, str] = {}
    try:
        index = factory()
        index.sync_to(generation)
    except StoreError as error:
        return Store(None, dict.fromkeys(chunks, error.message))
    for vault, expected in chunks.items():
        try:
            if expected and not index.count(vault):
                broken[vault] = "it is empty"
        except StoreError as error:
            broken[vault] = error.message
    return Store(index, broken)


def vector_leg(
    catalog: Catalog,
    store: Store,
    fingerprint: str,
    vector: Vector,
    scopes: Sequence[Scope],
    filters: Sequence[Filter],
    n: int,
) -> VectorLeg:
    """``n`` chunks of each scope under each filter. A vault that fails doesn't stop the others:
    it is scored in full from the catalog if it isn't too large."""
    ids: dict[str, None] = {}
    broken = dict(store.broken)
    unsearched: set[str] = set()
    for scope, where in product(scopes, filters):
        index = None if scope.vault in broken else store.index
        try:
            found = search_scope(catalog, index, fingerprint, vector, scope, where, n)
        except StoreError as error:
            broken[scope.vault] = error.message
            found = search_scope(catalog, None, fingerprint, vector, scope, where, n)
        if found is None:
            unsearched.add(scope.vault)
        else:
            ids.update((hit.chunk_id, None) for hit in found)
    return VectorLeg(tuple(ids), broken, frozenset(unsearched))


def lexical_leg(
    catalog: Catalog, terms: Sequence[str], filters: Sequence[Filter], n: int
) -> tuple[str, ...]:
    """``n`` chunks with the best BM25 under each filter, best first."""
    ids: dict[str, None] = {}
    if terms:
        for where in filters:
            ids.update((hit.chunk_id, None) for hit in catalog.lexical(terms, n, where))
    return tuple(ids)
