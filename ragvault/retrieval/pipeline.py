"""One search, from an analysed question to ranked hits.

1. Which vaults, which filter. No index or an unknown vault: NoIndexError.
2. A question for recent notes and nothing else: the recent notes, newest first. For an answer to
   a question for tasks: those that fit (``candidates.tasks``).
3. Side by side: the question's vector, the vector store's opening (where a vault is too large to
   be compared in full), and BM25 over everything that the filter lets through (with a time in the
   question, over that time once more).
4. Folder selection, then the nearest chunks of each scope; with ``retrieval.expand`` or ``hyde``
   what the model's wordings find.
5. The pool: all that was proposed, one entry a chunk, each with its exact cosine and exact BM25.
6. Blend; what expansion makes of it; rerank if there is a reranker; order by (−final, chunk id).
7. Floors, duplicates, the first k. What is dropped stays listed with the reason.
8. For an answer: how rare the question's words are, and the neighbours of what may be answered
   from.

Without the model steps 4 to 7 run on BM25 and dates, and a notice says so (auroranotes-rag.md,
"Fallback Modes"). A vault whose vector store fails is compared in full like a small one. The
catalog is used from the calling thread only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from itertools import chain
from time import perf_counter

from ragvault import text
from ragvault.config.settings import Settings
from ragvault.errors import ModelError
from ragvault.formats.dates import days_written
from ragvault.model import (
    DroppedBy,
    Hit,
    Intent,
    Query,
    Request,
    Retrieval,
    Scores,
    Strategy,
    Timing,
)
from ragvault.retrieval.candidates.expansion import apply, assist, search_expansion
from ragvault.retrieval.candidates.gather import (
    Meaning,
    by_words,
    gather,
    nearest,
    open_store,
)
from ragvault.retrieval.context import Context, Deps, make_context
from ragvault.retrieval.question.folders import select_folders
from ragvault.retrieval.question.wordlists import RECENCY
from ragvault.retrieval.ranking.blend import (
    Candidate,
    measured,
    recency_of,
    score_all,
    trust_of,
    vector_weight,
)
from ragvault.retrieval.ranking.pick import pick
from ragvault.retrieval.ranking.rerank import rerank

NOISE = 0.8  # of what unrelated questions reach: what is farther is dropped

__all__ = ["Deps", "retrieve"]


def retrieve(
    request: Request,
    *,
    query: Query,
    deps: Deps,
    settings: Settings,
    now: datetime,
    for_answer: bool = False,
) -> Retrieval:
    """Run the steps of the module's docstring; ``for_answer`` with step 8. Greetings and thanks
    find nothing. Raises NoIndexError (nothing indexed, or no vault by that name), UsageError (an
    unknown folder or tag) and StoreError (the catalog failed)."""
    started = perf_counter()
    if query.intent in (Intent.GREETING, Intent.THANKS):
        total = {Timing.TOTAL: (perf_counter() - started) * 1000.0}
        return Retrieval(query, (), Strategy.NONE, timings_ms=total)
    context = make_context(request, query, deps, settings, now.timestamp())
    if query.recent_only and query.time_hint and (told := _told_elsewhere(context)):
        day, notes = told
        said = query.text.replace(query.time_hint.phrase, day)
        terms = tuple(text.tokens(day))
        query = replace(
            query, text=said, terms=terms, phrases=(day,), recent_only=False, time_hint=None
        )
        context = make_context(request, query, deps, settings, now.timestamp())
        context = replace(context, where=replace(context.where, notes=notes))
    found = None
    if query.tasks and for_answer:
        from ragvault.retrieval.candidates.tasks import find_tasks

        with context.timed(Timing.TASKS):
            found = find_tasks(context, query.tasks)
    elif query.recent_only:
        found = _recent(context)
    if found is None:
        found = _search(context, for_answer=for_answer)
    neighbours: Mapping[str, tuple[Hit, ...]] = {}
    if for_answer and found.strategy not in (Strategy.RECENT, Strategy.TASKS):
        neighbours = _neighbours(context, found)
    times = {**context.times, Timing.TOTAL: (perf_counter() - started) * 1000.0}
    return replace(
        found,
        timings_ms={timing: times[timing] for timing in Timing if timing in times},
        notices=tuple(context.notices),
        neighbours=neighbours,
    )


# --------------------------------------------------------------------------- 2. recent notes


_HALF_YEAR = 183 * 86_400.0
_DATED = 4  # times k: so many notes are looked through for those that say their day


def _told_elsewhere(context: Context) -> tuple[str, frozenset[tuple[str, str]]] | None:
    """The date that the question names, as notes of another day have it, and these; None where a
    note is of that time, or none tells of it. One without its year is of the note's own."""
    hint, of_time = context.query.time_hint, context.of_time
    if hint is None or of_time is None or context.catalog.recent(1, of_time):
        return None
    first, last = (datetime.fromtimestamp(moment).date() for moment in (hint.since, hint.until))
    whole = [first.isoformat()] * (first == last) + [hint.phrase] * (not hint.relative)
    yearless = days_written(first) if first == last else ()
    for date in (*whole, *yearless):
        if notes := context.catalog.notes_with(date, context.where.vaults):
            found = context.catalog.recent(len(notes), replace(context.where, notes=notes))
            near = (
                (one.chunk.vault, one.chunk.rel_path)
                for one in found
                if date in whole
                or not one.note.date
                or abs(one.note.date - hint.since) < _HALF_YEAR
            )
            if told := frozenset(near):
                return date, told
    return None


def _recent(context: Context) -> Retrieval | None:
    """The newest notes by their first chunks, of the question's own time if it names one, with
    recency as their one score; those that say their day come before what only a file's time puts
    there; None when there are none. Where no note is of that time the newest are listed, but
    dropped: they say nothing about it. A note that nothing dates is not among them."""
    catalog, k, hint = context.catalog, context.k, context.query.time_hint
    # "recently" bounds nothing: the newest, however old they are
    of_time = None if hint is None or hint.phrase.lower() in RECENCY else context.of_time
    with context.timed(Timing.RECENT):
        found = catalog.recent(_DATED * k, of_time or context.where)
        found = [stored for stored in found if stored.note.date]
        found = sorted(found, key=lambda s: of_time is not None and not s.note.says_its_day)[:k]
        window, dropped_by = (context.now, math.inf), None
        if hint is not None and of_time is not None:
            window = (hint.since, hint.until)
            if not found:
                found = [s for s in catalog.recent(k, context.where) if s.note.date]
                dropped_by = DroppedBy.TIME
                context.notices.append(f"No note is dated “{hint.phrase}”; these are the newest.")
    if not found:
        return None
    hits = []
    for rank, stored in enumerate(found, 1):
        recency = recency_of(stored.note.date, window)
        scores = Scores(None, None, recency, 1.0, recency, terms=(("recency", recency),))
        hits.append(Hit(rank, stored, scores, dropped_by))
    everywhere = replace(context, folder_mode="off")
    return Retrieval(
        context.query,
        tuple(hits),
        Strategy.RECENT,
        context.searched,
        k=context.k,
        folder_selection=select_folders(everywhere),
    )


# --------------------------------------------------------------------------- 3 to 7. the search


def _search(context: Context, *, for_answer: bool) -> Retrieval:
    assistance = assist(context)
    written = assistance.written
    meaning, by_keyword = _begin(context)
    selection = select_folders(context, assistance.folders)
    scopes = selection.scopes
    with context.timed(Timing.VECTOR):
        by_vector = nearest(context, meaning, scopes)
        lists = search_expansion(context, written, meaning, scopes)
    with context.timed(Timing.BLEND):
        proposed = (*by_vector, *chain(*chain(*lists.values())))
        candidates = gather(context, meaning, scopes, by_vector=proposed, by_keyword=by_keyword)
        strategy, ranked = _blend(context, candidates, meaning)
        ranked = apply(ranked, lists)
    ranked = rerank(context, ranked)
    background = _background(context, meaning.model) if meaning.vector is not None else None
    least = context.settings.retrieval.min_vector
    if least is None:
        least = -1.0 if background is None else NOISE * background
    with context.timed(Timing.BLEND):
        hits = pick(
            ranked,
            k=context.k,
            min_vector=least,
            terms=context.query.terms,
        )
    return Retrieval(
        context.query,
        hits,
        strategy,
        context.searched,
        is_scope_empty=not hits and _is_scope_empty(context),
        vocabulary_trust=meaning.trust,
        term_weights=_term_weights(context) if for_answer else (),
        background=background,
        k=context.k,
        folder_selection=selection,
        expansions=written,
    )


def _is_scope_empty(context: Context) -> bool:
    """Whatever the question's own phrases ask for."""
    return not context.catalog.recent(1, replace(context.where, notes=None, not_notes=frozenset()))


def _begin(context: Context) -> tuple[Meaning, tuple[str, ...]]:
    """Step 3. Loading a model and opening the store take most of a cold search: they run in two
    threads while the catalog is read here."""
    # Both import numpy, whose modules import each other: begun in two threads at once, that
    # fails with a half-made module.
    import numpy  # noqa: F401

    generation = context.catalog.generation
    fingerprint, _ = context.catalog.embedder_in_force() or ("", "")
    pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="ragvault")
    wait = True

    try:
        embedding = pool.submit(_embed, context)
        open_timed = context.timed(Timing.VECTOR)(open_store)
        opening = pool.submit(open_timed, context, generation, fingerprint)
        with context.timed(Timing.LEXICAL):
            query = context.query
            asked = (query.terms, *(wording.terms for wording in query.wordings))
            found = (by_words(context, terms, context.filters) for terms in asked)
            by_keyword = tuple(chain.from_iterable(found))
        return replace(embedding.result(), store=opening.result()), by_keyword
    except KeyboardInterrupt:
        wait = False  # the other thread may be fetching a model: Ctrl-C needn't wait for that
        raise
    finally:
        pool.shutdown(wait=wait, cancel_futures=True)


def _background(context: Context, model: str) -> float | None:
    """What unrelated questions reach with the model."""
    if row := measured(model):
        return row.background
    try:
        return context.deps.background()
    except ModelError:
        return None


def _embed(context: Context) -> Meaning:
    """The question's vector. A model that can't be used becomes a notice."""
    question = context.query.text
    with context.timed(Timing.EMBED):
        try:
            embedder = context.deps.embedder()
            vector = embedder.embed_query(question)
            trust = trust_of(embedder.vocabulary_share(question))
            others = tuple(
                wording.trust * embedder.embed_query(wording.text)
                for wording in context.query.wordings
            )
            return Meaning(vector, others, embedder.fingerprint, embedder.model, trust)
        except ModelError as error:
            context.notices.append(
                f"The embedding model can't be used ({error.message.rstrip('. ')}): "
                f"keywords and dates only. {error.hint}"
            )
            return Meaning()


def _blend(
    context: Context, candidates: Sequence[Candidate], meaning: Meaning
) -> tuple[Strategy, Sequence[Candidate]]:
    """Step 6. A time in the question that no candidate is dated in is about the subject, not about
    when a note was written ("who won in 2014?"): it changes no weight."""
    where, hint, settings = context.where, context.query.time_hint, context.settings.retrieval
    until = context.now if where.until is None else min(context.now, where.until)
    window = None
    if where.since is not None or where.until is not None:
        window = (until, math.inf)
    if hint is not None and any(hint.since <= c.stored.note.date <= hint.until for c in candidates):
        window = (hint.since, hint.until)
    has_vectors = meaning.vector is not None
    if has_vectors and candidates and all(c.scores.vector is None for c in candidates):
        has_vectors = False
        # Without this the passages found may only not be embedded yet.
        if (context.catalog.embedder_in_force() or ("",))[0] not in ("", meaning.fingerprint):
            context.notices.append(
                "The notes were indexed with another embedding model: keywords and dates only. "
                "Run `ragvault index`."
            )
    weight = vector_weight(settings, meaning.model) * meaning.trust if has_vectors else 0.0
    strategy = Strategy.HYBRID if window is None else Strategy.HYBRID_RECENCY
    return (
        strategy if has_vectors else Strategy.KEYWORD_RECENCY,
        score_all(candidates, weight, window),
    )


# --------------------------------------------------------------------------- 8. for an answer


def _term_weights(context: Context) -> tuple[tuple[str, float], ...]:
    query, catalog = context.query, context.catalog
    total = catalog.count_chunks(context.where)
    words = {term: (term, *query.also(term)) for term in query.terms}
    every = list(dict.fromkeys(word for said in words.values() for word in said))
    counts = catalog.document_frequencies(every, context.where)
    return tuple(
        (term, _idf(max(counts.get(word, 0) for word in said), total))
        for term, said in words.items()
    )


def _idf(held: int, chunks: int) -> float:
    """BM25's, of a term that ``held`` of the chunks hold; never negative."""
    return math.log1p((max(chunks, held) - held + 0.5) / (held + 0.5))


def _neighbours(context: Context, found: Retrieval) -> dict[str, tuple[Hit, ...]]:
    """For the chunk id of the first hit the chunks before and after it under the same heading
    path, in the order of the note; none that is a hit itself. Those of more hits would double the
    prompt; for as many tokens, more hits hold more (measured: see CHANGELOG.md). What is cited
    stays the chunk that holds it.

    One that the search found too keeps its scores; another has its hit's, as the one term
    "neighbour": that is why it is there.
    """
    reach = context.settings.answer.neighbours
    if reach <= 0 or not found.kept:
        return {}
    first = found.kept[0]
    taken = {hit.chunk.id for hit in found.kept}
    known = {hit.chunk.id: hit for hit in found.candidates}
    final = first.scores.final
    scores = Scores(final=final, terms=((str(DroppedBy.NEIGHBOUR), final),))
    beside = tuple(
        known.get(stored.chunk.id) or Hit(first.rank, stored, scores, DroppedBy.NEIGHBOUR)
        for stored in context.catalog.neighbours(first.chunk.id, reach)
        if stored.chunk.id not in taken
    )
    return {first.chunk.id: beside} if beside else {}
