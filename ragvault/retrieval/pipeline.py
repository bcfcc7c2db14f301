"""One search, from an analysed question to ranked hits.

1. Which vaults, which filter. No index or an unknown vault: NoIndexError.
2. A question for recent notes and nothing else: the recent notes, newest first.
3. Side by side: the question's vector, the vector store's opening, and BM25 over everything that
   the filter lets through (with a time in the question, over that time once more).
4. Folder selection (it may compare the question's vector to the folders' centroids), then the
   nearest chunks of each scope; with ``retrieval.expand`` or ``hyde`` what the model's wordings
   find.
5. The pool: union of both legs, one entry a chunk, each with its exact cosine and exact BM25.
6. Blend; what expansion makes of it; rerank if there is a reranker; order by (−final, chunk id).
7. Floors, duplicates, the first k or k spread by ``diversity``. What is dropped stays listed with
   the reason.

Without the model steps 4 to 7 run on BM25 and dates, and a notice says so (auroranotes-rag.md,
"Fallback Modes"). Without the vector store the embedding cache is searched in full where that is
small enough, else the same. One vault whose store fails doesn't stop the others. The catalog is
used from the calling thread only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from ragvault.config.settings import Settings
from ragvault.errors import ModelError
from ragvault.model import (
    Filter,
    FolderInfo,
    FolderSelection,
    Hit,
    Intent,
    Query,
    Request,
    Retrieval,
    Scope,
    VaultInfo,
)
from ragvault.retrieval.candidates import expand
from ragvault.retrieval.candidates.legs import (
    LEXICAL_CANDIDATES,
    VECTOR_CANDIDATES,
    Deps,
    Store,
    lexical_leg,
    open_store,
    vector_leg,
)
from ragvault.retrieval.candidates.pool import gather, over_limit
from ragvault.retrieval.candidates.recent import newest, sharpened
from ragvault.retrieval.candidates.wordings import Finder, written
from ragvault.retrieval.question.autok import choose_k
from ragvault.retrieval.question.scope import limits_of, select_folders
from ragvault.retrieval.question.tags import known_tags
from ragvault.retrieval.question.vaults import choose_vaults, searched_phrase
from ragvault.retrieval.ranking.blend import (
    Candidate,
    TimeWindow,
    Weights,
    choose_weights,
    score_all,
    trust_of,
)
from ragvault.retrieval.ranking.diversity import FEW_NOTES, MMR, NOTE_LIMIT, Diversity, asked_for
from ragvault.retrieval.ranking.pick import pick
from ragvault.retrieval.ranking.rerank import Ranked, Reranked, rerank

if TYPE_CHECKING:
    from ragvault.model import Vector

__all__ = ["Deps", "ranked_hits", "retrieve"]

_T = TypeVar("_T")


def retrieve(
    request: Request,
    *,
    query: Query,
    deps: Deps,
    settings: Settings,
    now: datetime,
    for_answer: bool = True,
) -> Retrieval:
    """Run the steps of the module's docstring.

    ``for_answer`` applies ``gate.min_final``; a search that only lists doesn't. Greetings and
    thanks find nothing (strategy "none"). Raises NoIndexError (nothing indexed, or a vault by
    that name), UsageError (an unknown folder) and StoreError (the catalog failed).
    """
    if query.intent in (Intent.GREETING, Intent.THANKS):
        return Retrieval(query, (), 0, "none", FolderSelection("off"), 0, {})
    vaults = choose_vaults(request, deps.catalog.vaults())
    search = _Search(request, query, deps, settings, now, vaults)
    if query.recent_only:
        found = search.recent()
        if found is not None:
            return found
    return search.run(for_answer=for_answer)


def ranked_hits(retrieval: Retrieval, n: int) -> tuple[Hit, ...]:
    """The first ``n`` hits that no floor and no duplicate dropped, whatever k is: for ``search``,
    which may list more than an answer is made from. What was passed over for another note comes
    last. At most the candidates' number."""
    listed = [h for h in retrieval.hits if h.dropped_by in (None, "rank")]
    listed += [h for h in retrieval.hits if h.dropped_by in (NOTE_LIMIT, MMR)]
    return tuple(listed[:n])


@dataclass(frozen=True, slots=True)
class _Vectors:
    """What the vector side could be brought to. ``vector`` None: it can't be used."""

    vector: Vector | None
    store: Store
    fingerprint: str
    embed_ms: float
    open_ms: float
    notices: tuple[str, ...]
    trust: float = 1.0  # 0..1, see blend.trust_of


class _Search:
    """One run: its inputs, and the steps on them."""

    def __init__(
        self,
        request: Request,
        query: Query,
        deps: Deps,
        settings: Settings,
        now: datetime,
        vaults: Sequence[VaultInfo],
    ) -> None:
        self.request = request
        self.query = query
        self.deps = deps
        self.settings = settings
        self.now = now.timestamp()
        self.vaults = vaults
        self.names = tuple(vault.name for vault in vaults)
        self.folders: list[FolderInfo] = deps.catalog.folders(self.names)
        self.where = self._filter()
        self.k = choose_k(request, query, settings.retrieval)

    def _filter(self) -> Filter:
        """The user's hard limits. ``--folder`` limits only where nothing else is to follow it."""
        return Filter(
            vaults=self.names,
            folders=limits_of(self.request, self.folders, self.settings),
            tags=known_tags(self.request, self.deps.catalog, self.names),
            since=self.request.since,
            until=self.request.until,
        )

    # ------------------------------------------------------------------- 2. recent notes

    def recent(self) -> Retrieval | None:
        """The newest notes, of the question's time if it names one; None when there are none."""
        started = perf_counter()
        hits, notices = newest(
            self.deps.catalog,
            self.query,
            k=self.k,
            where=self.where,
            hinted=self._hinted(),
            now=self.now,
            half_life_days=self.settings.retrieval.recency_half_life_days,
        )
        if not hits:
            return None
        selection = select_folders(
            replace(self.request, folder_select="off"),
            self.query,
            self.folders,
            None,
            None,
            self.settings,
            self.names,
        )
        return Retrieval(
            query=self.query,
            hits=hits,
            k=self.k,
            strategy="recent",
            folder_selection=selection,
            candidate_count=len(hits),
            timings_ms={"recent": _ms(started)},
            notices=notices,
            searched=searched_phrase(self.vaults, self.request, self.where),
        )

    def _hinted(self) -> Filter | None:
        """The filter narrowed to the question's own time; None when it names none."""
        hint = self.query.time_hint
        if hint is None:
            return None
        since = max(hint.since, self.where.since if self.where.since is not None else hint.since)
        until = min(hint.until, self.where.until if self.where.until is not None else hint.until)
        return replace(self.where, since=since, until=until)

    # -------------------------------------------------------------------- 3 to 7. search

    def run(self, *, for_answer: bool) -> Retrieval:
        hinted = self._hinted()
        filters = [self.where] if hinted is None else [self.where, hinted]
        started = perf_counter()
        expansion = written(self.query.text, self.request, self.deps, self.settings)
        expand_ms = _ms(started)
        vectors, by_keyword, lexical_ms = self._prepare(filters)
        selection = self._selected(vectors)
        started = perf_counter()
        by_vector, vectors = self._nearest(vectors, selection.scopes, filters)
        boosts, expansion = self._boosts(expansion, vectors, selection.scopes)
        proposed = (chunk_id for boost in boosts for chunk_id in boost.ids)
        vector_ms = _ms(started) + vectors.open_ms
        started = perf_counter()
        candidates = self._gathered((*by_vector, *proposed), by_keyword, selection, vectors)
        weights, window, strategy, more = self._weights(candidates, vectors)
        scored = self._scored(candidates, weights, window, boosts)
        hits = self._picked(scored.ranked, candidates, vectors.fingerprint, for_answer=for_answer)
        terms, rarest = self._term_weights() if for_answer else ((), 0.0)
        return Retrieval(
            query=self.query,
            hits=hits,
            k=self.k,
            strategy=strategy,
            folder_selection=selection,
            candidate_count=len(candidates),
            timings_ms={
                "embed": vectors.embed_ms,
                "vector": vector_ms,
                "lexical": lexical_ms,
                "blend": _ms(started) - (scored.ms or 0.0),
                **({"rerank": scored.ms} if scored.ms is not None else {}),
                **({"expand": expand_ms} if expansion != expand.Expansion() else {}),
            },
            notices=(
                *vectors.notices,
                *expansion.notices,
                *selection.notices,
                *more,
                *scored.notices,
            ),
            searched=searched_phrase(self.vaults, self.request, self.where),
            term_weights=terms,
            rarest_weight=rarest,
            expansions=expansion.texts,
            vector_trust=vectors.trust,
        )

    def _prepare(self, filters: Sequence[Filter]) -> tuple[_Vectors, tuple[str, ...], float]:
        """Step 3. Loading a model and opening the store take most of a cold search: they run in
        two threads while the catalog is read here."""
        # Both import numpy, whose modules import each other: begun in two threads at once, that
        # fails with a half-made module.
        import numpy  # noqa: F401

        generation = self.deps.catalog.generation
        chunks = {vault.name: vault.chunks for vault in self.vaults}
        pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="ragvault")
        wait = True
        try:
            embedding = pool.submit(_timed, self._embed)
            opening = pool.submit(
                _timed, lambda: open_store(self.deps.vector_index, generation, chunks)
            )
            started = perf_counter()
            by_keyword = lexical_leg(
                self.deps.catalog,
                self.query.terms,
                filters,
                LEXICAL_CANDIDATES,
            )
            lexical_ms = _ms(started)
            return _collect(embedding, opening), by_keyword, lexical_ms
        except KeyboardInterrupt:
            wait = False  # the other thread may be fetching a model: Ctrl-C needn't wait for that
            raise
        finally:
            pool.shutdown(wait=wait, cancel_futures=True)

    def _embed(self) -> tuple[Vector, str, float]:
        embedder = self.deps.embedder()
        vector = embedder.embed_query(self.query.text)
        return vector, embedder.fingerprint, trust_of(embedder.vocabulary_share(self.query.text))

    def _selected(self, vectors: _Vectors) -> FolderSelection:
        """Step 4, the folders. A model that can't read the question compares it with none."""
        return select_folders(
            self.request,
            self.query,
            self.folders,
            vectors.vector if vectors.trust > 0 else None,
            self.deps.chat,
            self.settings,
            self.names,
        )

    def _nearest(
        self, vectors: _Vectors, scopes: Sequence[Scope], filters: Sequence[Filter]
    ) -> tuple[tuple[str, ...], _Vectors]:
        """Step 4. When no vault could be searched by vector, the vector side is given up. A model
        that can't read the question proposes nothing: its nearest are anything."""
        if vectors.vector is None or vectors.trust == 0:
            return (), vectors
        leg = vector_leg(
            self.deps.catalog,
            vectors.store,
            vectors.fingerprint,
            vectors.vector,
            scopes,
            filters,
            VECTOR_CANDIDATES,
        )
        notices = tuple(
            f"The vector store of {vault} can't be used ({_clause(why)}): "
            + ("only keywords searched it. " if vault in leg.unsearched else "searched without. ")
            + "Run `ragvault index` to rebuild it."
            for vault, why in leg.broken.items()
        )
        given_up = leg.unsearched >= {scope.vault for scope in scopes}
        vector = None if given_up else vectors.vector
        return leg.ids, replace(vectors, vector=vector, notices=vectors.notices + notices)

    def _gathered(
        self,
        by_vector: Sequence[str],
        by_keyword: Sequence[str],
        selection: FolderSelection,
        vectors: _Vectors,
    ) -> list[Candidate]:
        """Step 5."""
        return gather(
            self.deps.catalog,
            by_vector=by_vector,
            by_keyword=by_keyword,
            where=self.where,
            terms=self.query.terms,
            scopes=selection.scopes,
            fingerprint=vectors.fingerprint,
            query_vector=vectors.vector,
            note_chunks=self.settings.retrieval.note_chunks,
        )

    def _boosts(
        self, expansion: expand.Expansion, vectors: _Vectors, scopes: Sequence[Scope]
    ) -> tuple[tuple[expand.Boost, ...], expand.Expansion]:
        """What the model's wordings find."""
        finder = Finder(
            self.deps,
            self.where,
            scopes,
            vectors.store,
            vectors.fingerprint,
            vectors.vector if vectors.trust > 0 else None,
        )
        return finder.boosts(expansion)

    def _weights(
        self, candidates: Sequence[Candidate], vectors: _Vectors
    ) -> tuple[Weights, TimeWindow, str, tuple[str, ...]]:
        """Which formula applies, what recency is measured from, the strategy's name, notices.

        A time in the question that no candidate is dated in is about the subject, not about when
        a note was written ("who won in 2014?"): it changes no weight.
        """
        retrieval, hint = self.settings.retrieval, self.query.time_hint
        limit = min(self.now, self.where.until if self.where.until is not None else self.now)
        window = TimeWindow(None, limit)
        in_window = False
        if hint is not None:
            of_question = TimeWindow(hint.since, hint.until)
            in_window = any(of_question.holds(c.stored.note.date) for c in candidates)
            window = of_question if in_window else window
        timed = in_window or self.where.since is not None or self.where.until is not None
        notices: tuple[str, ...] = ()
        has_vectors = vectors.vector is not None
        if has_vectors and candidates and all(c.vector is None for c in candidates):
            has_vectors = False
            notices = (
                "The notes were indexed with another embedding model: keywords and dates only. "
                "Run `ragvault index`.",
            )
        weights = choose_weights(
            retrieval, timed=timed, has_vectors=has_vectors, trust=vectors.trust
        )
        if not has_vectors:
            return weights, window, "keyword_recency", notices
        return weights, window, "hybrid_recency" if timed else "hybrid", notices

    def _scored(
        self,
        candidates: Sequence[Candidate],
        weights: Weights,
        window: TimeWindow,
        boosts: Sequence[expand.Boost],
    ) -> Reranked:
        """Step 6."""
        ranked = score_all(
            candidates,
            terms=self.query.terms,
            weights=weights,
            window=window,
            settings=sharpened(self.settings.retrieval, window),
        )
        for boost in boosts:
            ranked = expand.apply(ranked, boost)
        return rerank(self.query.text, ranked, self.deps.reranker, self.settings.rerank)

    def _picked(
        self,
        ranked: Ranked,
        candidates: Sequence[Candidate],
        fingerprint: str,
        *,
        for_answer: bool,
    ) -> tuple[Hit, ...]:
        """Step 7."""
        retrieval = self.settings.retrieval
        return pick(
            ranked,
            k=self.k,
            min_vector=retrieval.min_vector,
            min_final=self.settings.gate.min_final if for_answer else None,
            trimmed=over_limit(candidates),
            terms=self.query.terms,
            diversity=self._diversity(candidates, fingerprint),
        )

    def _diversity(self, candidates: Sequence[Candidate], fingerprint: str) -> Diversity:
        """As configured. No note is limited where what is searched holds but a few."""
        retrieval = self.settings.retrieval
        vectors = {}
        if retrieval.mmr_lambda < 1.0 and fingerprint:
            vectors = self.deps.catalog.vectors(fingerprint, [c.id for c in candidates])
        limited = set(self.where.folders)
        notes = sum(f.notes for f in self.folders if not limited or (f.vault, f.folder) in limited)
        limit = retrieval.max_per_note if notes >= FEW_NOTES else 0
        named = asked_for(self.query.text, candidates) if limit else frozenset()
        return Diversity(retrieval.mmr_lambda, limit, vectors, named)

    # -------------------------------------------------------------------- what it is told by

    def _term_weights(self) -> tuple[tuple[tuple[str, float], ...], float]:
        """IDF of each term over what was searched, and that of a term that nothing holds."""
        total = self.deps.catalog.count_chunks(self.where)
        counts = self.deps.catalog.document_frequencies(self.query.terms, self.where)
        weights = tuple((term, _idf(counts.get(term, 0), total)) for term in self.query.terms)
        return weights, _idf(0, total)


# --------------------------------------------------------------------------- helpers


def _idf(held: int, chunks: int) -> float:
    """BM25's, of a term that ``held`` of the chunks hold; never negative."""
    return math.log1p((max(chunks, held) - held + 0.5) / (held + 0.5))


def _ms(started: float) -> float:
    return (perf_counter() - started) * 1000.0


def _timed(work: Callable[[], _T]) -> tuple[_T, float]:
    started = perf_counter()
    return work(), _ms(started)


def _collect(
    embedding: Future[tuple[tuple[Vector, str, float], float]], opening: Future[tuple[Store, float]]
) -> _Vectors:
    """Both threads' results; a model that can't be used becomes a notice."""
    store, open_ms = opening.result()
    try:
        (vector, fingerprint, trust), embed_ms = embedding.result()
    except ModelError as error:
        notice = (
            f"The embedding model can't be used ({_clause(error.message)}): "
            f"keywords and dates only. {error.hint}"
        )
        return _Vectors(None, store, "", 0.0, open_ms, (notice,))
    return _Vectors(vector, store, fingerprint, embed_ms, open_ms, (), trust)


def _clause(sentence: str) -> str:
    return sentence.rstrip(". ")
