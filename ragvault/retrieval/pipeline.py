"""One search, from an analysed question to ranked hits and what the gate makes of them.

1. Which vaults, which filter. No index or an unknown vault: NoIndexError.
2. A question for recent notes and nothing else: the recent notes, newest first.
3. Side by side: the question's vector, the vector store's opening, and BM25 over everything that
   the filter lets through (with a time in the question, over that time once more).
4. Folder selection (it may compare the question's vector to the folders' centroids), then the
   nearest chunks of each scope; with ``retrieval.expand`` or ``hyde`` what the model's wordings
   find.
5. The pool: all that was proposed, one entry a chunk, each with its exact cosine and exact BM25.
6. Blend; what expansion makes of it; rerank if there is a reranker; order by (−final, chunk id).
7. Floors, duplicates, the first k or k spread by MMR. What is dropped stays listed with the
   reason.
8. For an answer: the closer look at the best, the gate's judgement, and the neighbours of what
   may be answered from.

Without the model steps 4 to 7 run on BM25 and dates, and a notice says so (auroranotes-rag.md,
"Fallback Modes"). Without the vector store the embedding cache is searched in full where that is
small enough, else the same. One vault whose store fails doesn't stop the others. The catalog is
used from the calling thread only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from ragvault.config.settings import Settings
from ragvault.errors import ModelError
from ragvault.model import (
    Closeness,
    DroppedBy,
    Evidence,
    Findings,
    FolderSelection,
    Hit,
    Intent,
    Judgement,
    Query,
    Request,
    Retrieval,
    Strategy,
    Timing,
)
from ragvault.retrieval.candidates.expansion import (
    Boost,
    Expansion,
    apply,
    search_expansion,
    write_expansion,
)
from ragvault.retrieval.candidates.gather import Meaning, by_words, gather, nearest, open_store
from ragvault.retrieval.candidates.neighbours import around
from ragvault.retrieval.candidates.recent import newest
from ragvault.retrieval.confidence.calibration import LEAST_TRUST, Calibration
from ragvault.retrieval.confidence.features import look_closer
from ragvault.retrieval.confidence.gate import judge
from ragvault.retrieval.context import Context, Deps, make_context
from ragvault.retrieval.question.scope import select_folders
from ragvault.retrieval.ranking.blend import (
    Candidate,
    TimeWindow,
    Weights,
    choose_weights,
    score_all,
    trust_of,
)
from ragvault.retrieval.ranking.pick import pick
from ragvault.retrieval.ranking.rerank import Reranked, rerank

if TYPE_CHECKING:
    from ragvault.model import Vector

__all__ = ["Deps", "ranked_hits", "retrieve"]

_T = TypeVar("_T")
_Times = dict[Timing, float]  # milliseconds


def retrieve(
    request: Request,
    *,
    query: Query,
    deps: Deps,
    settings: Settings,
    now: datetime,
    calibration: Callable[[], Calibration] | None = None,
) -> Retrieval:
    """Run the steps of the module's docstring.

    ``calibration`` is the embedding model's: with it the search is for an answer, with
    ``gate.min_final`` as a floor and step 8; without, it only lists. Greetings and thanks find
    nothing. Raises NoIndexError (nothing indexed, or no vault by that name), UsageError (an
    unknown folder or tag), StoreError (the catalog failed) and what ``calibration`` raises.
    """
    started = perf_counter()
    if query.intent in (Intent.GREETING, Intent.THANKS):
        nothing = Findings(query, (), Strategy.NONE)
        return Retrieval(nothing, 0, FolderSelection("off"), 0, {Timing.TOTAL: _ms(started)})
    context = make_context(request, query, deps, settings, now.timestamp())
    times: _Times = {}
    found = _recent(context, times) if query.recent_only else None
    if found is None:
        found = _search(context, times, for_answer=calibration is not None)
    judgement = None if calibration is None else judge(found.findings, settings.gate, calibration())
    neighbours = _neighbours(context, found.findings, judgement)
    times[Timing.TOTAL] = _ms(started)
    return Retrieval(
        findings=found.findings,
        k=context.k,
        folder_selection=found.selection,
        candidate_count=found.candidate_count,
        timings_ms={timing: times[timing] for timing in Timing if timing in times},
        notices=found.notices,
        expansions=found.expansions,
        judgement=judgement,
        neighbours=neighbours,
    )


def ranked_hits(retrieval: Retrieval, n: int) -> tuple[Hit, ...]:
    """The first ``n`` hits that no floor and no duplicate dropped, whatever k is: for ``search``,
    which may list more than an answer is made from. What was passed over for something else
    comes last. At most the candidates' number."""
    hits = retrieval.findings.hits
    listed = [h for h in hits if h.dropped_by in (None, DroppedBy.RANK)]
    listed += [h for h in hits if h.dropped_by is DroppedBy.MMR]
    return tuple(listed[:n])


@dataclass(frozen=True, slots=True)
class _Found:
    """What steps 2 to 7 come to, before anything is judged."""

    findings: Findings
    selection: FolderSelection
    candidate_count: int
    notices: tuple[str, ...]
    expansions: tuple[tuple[str, str], ...] = ()


# --------------------------------------------------------------------------- 2. recent notes


def _recent(context: Context, times: _Times) -> _Found | None:
    """The newest notes, of the question's time if it names one; None when there are none."""
    with _timed(times, Timing.RECENT):
        hits, notices = newest(context)
    if not hits:
        return None
    everywhere = replace(context, request=replace(context.request, folder_select="off"))
    return _Found(
        Findings(context.query, hits, Strategy.RECENT, context.searched),
        _select_folders(everywhere, None),
        len(hits),
        notices,
    )


# --------------------------------------------------------------------------- 3 to 7. the search


def _search(context: Context, times: _Times, *, for_answer: bool) -> _Found:
    with _timed(times, Timing.EXPAND):
        expansion = write_expansion(context)
    meaning, by_keyword = _begin(context, times)
    selection = _select_folders(context, meaning.readable)
    with _timed(times, Timing.VECTOR):
        by_vector, meaning = nearest(context, meaning, selection.scopes)
        boosts, expansion = search_expansion(context, expansion, meaning, selection.scopes)
    if expansion == Expansion():
        del times[Timing.EXPAND]
    with _timed(times, Timing.BLEND):
        proposed = (*by_vector, *(chunk_id for boost in boosts for chunk_id in boost.ids))
        candidates = gather(
            context, meaning, selection.scopes, by_vector=proposed, by_keyword=by_keyword
        )
        formula = _choose_formula(context, candidates, meaning)
        reranked = _rank(context, candidates, formula, boosts)
        hits = _pick(context, reranked, for_answer=for_answer)
    if reranked.ms is not None:
        times[Timing.RERANK] = reranked.ms
        times[Timing.BLEND] -= reranked.ms
    findings = Findings(
        context.query,
        hits,
        formula.strategy,
        context.searched,
        vocabulary_trust=meaning.trust,
    )
    return _Found(
        _with_evidence(context, findings, times) if for_answer else findings,
        selection,
        len(candidates),
        (
            *meaning.notices,
            *expansion.notices,
            *selection.notices,
            *formula.notices,
            *reranked.notices,
        ),
        expansion.texts,
    )


def _begin(context: Context, times: _Times) -> tuple[Meaning, tuple[str, ...]]:
    """Step 3. Loading a model and opening the store take most of a cold search: they run in two
    threads while the catalog is read here."""
    # Both import numpy, whose modules import each other: begun in two threads at once, that
    # fails with a half-made module.
    import numpy  # noqa: F401

    generation = context.catalog.generation
    chunks = {vault.name: vault.chunks for vault in context.vaults}
    pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="ragvault")
    wait = True
    try:
        embedding = pool.submit(_with_ms, lambda: _embed(context))
        opening = pool.submit(
            _with_ms, lambda: open_store(context.deps.vector_index, generation, chunks)
        )
        with _timed(times, Timing.LEXICAL):
            by_keyword = by_words(context, context.query.terms, context.filters)
        store, times[Timing.VECTOR] = opening.result()
        meaning, times[Timing.EMBED] = embedding.result()
        return replace(meaning, store=store), by_keyword
    except KeyboardInterrupt:
        wait = False  # the other thread may be fetching a model: Ctrl-C needn't wait for that
        raise
    finally:
        pool.shutdown(wait=wait, cancel_futures=True)


def _embed(context: Context) -> Meaning:
    """The question's vector. A model that can't be used becomes a notice."""
    question = context.query.text
    try:
        embedder = context.deps.embedder()
        vector = embedder.embed_query(question)
        trust = trust_of(embedder.vocabulary_share(question))
        return Meaning(vector, embedder.fingerprint, trust)
    except ModelError as error:
        notice = (
            f"The embedding model can't be used ({error.message.rstrip('. ')}): "
            f"keywords and dates only. {error.hint}"
        )
        return Meaning(notices=(notice,))


def _select_folders(context: Context, vector: Vector | None) -> FolderSelection:
    """Step 4, the folders; by name alone without a vector."""
    return select_folders(
        context.request,
        context.query,
        context.folders,
        vector,
        context.deps.chat,
        context.settings,
        context.where.vaults,
    )


@dataclass(frozen=True, slots=True)
class _Formula:
    """What the candidates are scored by; ``window`` is what recency is measured from."""

    strategy: Strategy
    weights: Weights
    window: TimeWindow
    notices: tuple[str, ...] = ()


def _choose_formula(
    context: Context, candidates: Sequence[Candidate], meaning: Meaning
) -> _Formula:
    """A time in the question that no candidate is dated in is about the subject, not about when
    a note was written ("who won in 2014?"): it changes no weight."""
    where, hint = context.where, context.query.time_hint
    window = TimeWindow(None, min(context.now, context.now if where.until is None else where.until))
    timed = where.since is not None or where.until is not None
    if hint is not None:
        of_question = TimeWindow(hint.since, hint.until)
        if any(of_question.holds(c.stored.note.date) for c in candidates):
            timed, window = True, of_question
    notices: tuple[str, ...] = ()
    has_vectors = meaning.vector is not None
    if has_vectors and candidates and all(c.cosine is None for c in candidates):
        has_vectors = False
        notices = (
            "The notes were indexed with another embedding model: keywords and dates only. "
            "Run `ragvault index`.",
        )
    weights = choose_weights(
        context.settings.retrieval, timed=timed, has_vectors=has_vectors, trust=meaning.trust
    )
    if not has_vectors:
        return _Formula(Strategy.KEYWORD_RECENCY, weights, window, notices)
    return _Formula(Strategy.HYBRID_RECENCY if timed else Strategy.HYBRID, weights, window)


def _rank(
    context: Context, candidates: Sequence[Candidate], formula: _Formula, boosts: Sequence[Boost]
) -> Reranked:
    """Step 6."""
    settings = context.settings
    ranked = score_all(
        candidates,
        terms=context.query.terms,
        weights=formula.weights,
        window=formula.window,
        half_life_days=formula.window.half_life_days(settings.retrieval.recency_half_life_days),
    )
    for boost in boosts:
        ranked = apply(ranked, boost)
    return rerank(context.query.text, ranked, context.deps.reranker, settings.rerank)


def _pick(context: Context, reranked: Reranked, *, for_answer: bool) -> tuple[Hit, ...]:
    """Step 7."""
    retrieval = context.settings.retrieval
    return pick(
        reranked.ranked,
        k=context.k,
        min_vector=retrieval.min_vector,
        min_final=context.settings.gate.min_final if for_answer else None,
        terms=context.query.terms,
        mmr_lambda=retrieval.mmr_lambda,
    )


# --------------------------------------------------------------------------- 8. for an answer


def _with_evidence(context: Context, found: Findings, times: _Times) -> Findings:
    """With what the gate goes by beside the scores: the terms' IDF over what was searched, and
    the closer look at the best."""
    terms, catalog = context.query.terms, context.catalog
    total = catalog.count_chunks(context.where)
    counts = catalog.document_frequencies(terms, context.where)
    return replace(
        found,
        term_weights=tuple((term, _idf(counts.get(term, 0), total)) for term in terms),
        rarest_weight=_idf(0, total),
        closeness=_closeness(context, found, times),
    )


def _idf(held: int, chunks: int) -> float:
    """BM25's, of a term that ``held`` of the chunks hold; never negative."""
    return math.log1p((max(chunks, held) - held + 0.5) / (held + 0.5))


def _closeness(context: Context, found: Findings, times: _Times) -> Closeness | None:
    """Where the search had an embedding model that can read the question: otherwise the gate goes
    by the words, and the look would be for nothing."""
    by_words_only = found.strategy is Strategy.KEYWORD_RECENCY
    if by_words_only or not found.ranked or found.vocabulary_trust < LEAST_TRUST:
        return None
    with _timed(times, Timing.CLOSENESS):
        return look_closer(found.query.sought, found.ranked, context.deps.embedder())


def _neighbours(
    context: Context, found: Findings, judgement: Judgement | None
) -> Mapping[str, tuple[Hit, ...]]:
    """There are none to speak of around the first chunks of recent notes."""
    is_open = judgement is not None and isinstance(judgement.outcome, Evidence)
    if not is_open or found.strategy is Strategy.RECENT:
        return {}
    return around(context.catalog, found.kept, found.hits, context.settings.answer.neighbours)


# --------------------------------------------------------------------------- times


def _ms(started: float) -> float:
    return (perf_counter() - started) * 1000.0


@contextmanager
def _timed(times: _Times, what: Timing) -> Iterator[None]:
    started = perf_counter()
    yield
    times[what] = times.get(what, 0.0) + _ms(started)


def _with_ms(work: Callable[[], _T]) -> tuple[_T, float]:
    started = perf_counter()
    return work(), _ms(started)
