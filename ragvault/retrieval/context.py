"""What one search is about and what it may use: made once, read by every stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter

from ragvault.config.settings import Settings
from ragvault.errors import ModelServerError
from ragvault.model import Filter, FolderInfo, Query, Request, Timing, VaultInfo
from ragvault.ports import Catalog, ChatModel, Embedder, Reranker, VectorIndex
from ragvault.retrieval.question.scope import (
    choose_k,
    choose_vaults,
    folder_mode,
    known_tags,
    limits_of,
    named_folders,
    searched_phrase,
)

# Cold, to read and compare 20,000 vectors of 384 takes 0.2 s of processor, to import Chroma and
# open a store 1 s; warm, 3 ms against 5.
EXACT_LIMIT = 20_000


def _no_chat() -> ChatModel:
    raise ModelServerError("There is no chat model.")


@dataclass(frozen=True, slots=True)
class Deps:
    """What retrieval needs from outside. Models and vector index come as factories: they are opened
    side by side on first use, and a question that needs none opens none. One may raise what its
    port may raise; called again it gives the same object.

    ``background`` tells what unrelated questions reach with the model.
    ``exact_limit``: a vault of up to so many chunks is compared in full, from the catalog: nothing
    is missed, and the vector store, whose library takes a second to import, stays unopened.
    ``filtered_limit``: in a larger vault, up to so many that a filter lets through are.
    """

    catalog: Catalog
    embedder: Callable[[], Embedder]
    vector_index: Callable[[], VectorIndex]
    chat: Callable[[], ChatModel] = _no_chat
    reranker: Reranker | None = None
    background: Callable[[], float | None] = lambda: None
    exact_limit: int = EXACT_LIMIT
    filtered_limit: int = EXACT_LIMIT


@dataclass(frozen=True, slots=True)
class Context:
    """One search. ``where`` are the user's limits, outside which nothing is searched; ``of_time``
    the same within the time that the question names, None where it names none; ``now`` seconds.
    Every step adds its ``times`` (ms) and ``notices``, what the user is to be told."""

    request: Request
    query: Query
    deps: Deps
    settings: Settings
    now: float
    vaults: tuple[VaultInfo, ...]
    folders: tuple[FolderInfo, ...]  # all of these vaults
    named: tuple[list[FolderInfo], ...]  # for each ``--folder`` its folders
    folder_mode: str  # see ``scope.folder_mode``
    where: Filter
    of_time: Filter | None
    k: int
    times: dict[Timing, float] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, what: Timing) -> Iterator[None]:
        started = perf_counter()
        yield
        self.times[what] = self.times.get(what, 0.0) + (perf_counter() - started) * 1000.0

    @property
    def catalog(self) -> Catalog:
        return self.deps.catalog

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Each is searched by itself: a time in the question brings in notes of that time, also
        where many others would hide them."""
        return (self.where,) if self.of_time is None else (self.where, self.of_time)

    @property
    def searched(self) -> str:
        return searched_phrase(self.vaults, self.request, self.where)


def make_context(
    request: Request, query: Query, deps: Deps, settings: Settings, now: float
) -> Context:
    """Raises NoIndexError (nothing indexed, or no vault by that name) and UsageError (a folder or
    a tag that no note has)."""
    vaults = choose_vaults(request, deps.catalog.vaults())
    names = tuple(vault.name for vault in vaults)
    folders = deps.catalog.folders(names)
    named, mode = named_folders(request, folders), folder_mode(request, settings)
    where = Filter(
        vaults=names,
        folders=limits_of(named, mode),
        tags=known_tags(request, deps.catalog, names),
        since=request.since,
        until=request.until,
    )
    where, notices = _with_musts(where, query, deps.catalog)
    return Context(
        request=request,
        query=query,
        deps=deps,
        settings=settings,
        now=now,
        vaults=tuple(vaults),
        folders=tuple(folders),
        named=tuple(named),
        folder_mode=mode,
        where=where,
        of_time=_of_time(where, query),
        k=choose_k(request, query),
        notices=notices,
    )


def _with_musts(where: Filter, query: Query, catalog: Catalog) -> tuple[Filter, list[str]]:
    """The filter with the notes that hold all of the question's phrases and nothing that it
    excludes; and what there is to say about them, and about words that were read as others."""
    notices = [f"“{typed}” is in no note: read as “{read}”." for typed, read in query.corrected]
    if query.phrases:
        holding = [catalog.notes_with(phrase, where.vaults) for phrase in query.phrases]
        where = replace(where, notes=frozenset.intersection(*holding))
        missing = [p for p, notes in zip(query.phrases, holding, strict=True) if not notes]
        if not where.notes:
            names = " and ".join(f"“{phrase}”" for phrase in missing or query.phrases)
            together = "" if missing else " together"
            notices.append(f"No note holds {names}{together}, word for word.")
    excluded = (catalog.notes_with(phrase, where.vaults) for phrase in query.excluded)
    return replace(where, not_notes=frozenset[tuple[str, str]]().union(*excluded)), notices


def _of_time(where: Filter, query: Query) -> Filter | None:
    hint = query.time_hint
    if hint is None:
        return None
    since = hint.since if where.since is None else max(hint.since, where.since)
    until = hint.until if where.until is None else min(hint.until, where.until)
    return replace(where, since=since, until=until)
