"""A question for recent notes and nothing else ("what did I write last week?"): dates decide."""

from __future__ import annotations

from ragvault.model import DroppedBy, Hit, Scores
from ragvault.retrieval.context import Context
from ragvault.retrieval.question.wordlists import RECENCY
from ragvault.retrieval.ranking.blend import TimeWindow


def newest(context: Context) -> tuple[Hit, ...]:
    """The newest notes by their first chunks, of the question's own time if it names one. Their
    one score is recency.

    Where no note is of that time the newest are listed, but dropped: they say nothing about it.
    """
    catalog, k, hint = context.catalog, context.k, context.query.time_hint
    half_life = context.settings.retrieval.recency_half_life_days
    # "recently" bounds nothing: the newest, however old they are
    of_time = None if hint is None or hint.phrase.lower() in RECENCY else context.of_time
    found = catalog.recent(k, of_time or context.where)
    window = TimeWindow(None, context.now, half_life)
    dropped_by = None
    if hint is not None and of_time is not None:
        window = TimeWindow(hint.since, hint.until, half_life)
        if not found:
            found = catalog.recent(k, context.where)
            dropped_by = DroppedBy.TIME
            context.notices.append(f"No note is dated “{hint.phrase}”; these are the newest.")
    hits = []
    for rank, stored in enumerate(found, 1):
        recency = window.recency(stored.note.date)
        scores = Scores(None, None, recency, 1.0, recency, terms=(("recency", recency),))
        hits.append(Hit(rank, stored, scores, dropped_by is None, dropped_by))
    return tuple(hits)
