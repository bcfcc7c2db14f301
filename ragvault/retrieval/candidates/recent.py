"""A question for recent notes and nothing else ("what did I write last week?"): dates decide."""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.model import DroppedBy, Hit, Scores, StoredChunk
from ragvault.retrieval.context import Context
from ragvault.retrieval.question.wordlists import RECENCY
from ragvault.retrieval.ranking.blend import TimeWindow


def newest(context: Context) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
    """The newest notes by their first chunks, of the question's own time if it names one; and
    notices. Their one score is recency.

    Where no note is of that time the newest are listed, but dropped: they say nothing about it.
    """
    catalog, k, where, hint = context.catalog, context.k, context.where, context.query.time_hint
    half_life = context.settings.retrieval.recency_half_life_days
    # "recently" bounds nothing: the newest, however old they are
    of_time = None if hint is None or hint.phrase.lower() in RECENCY else context.of_time
    found = catalog.recent(k, of_time or where)
    if hint is None or of_time is None:
        return _hits(found, TimeWindow(None, context.now), half_life), ()
    window = TimeWindow(hint.since, hint.until)
    if found:
        return _hits(found, window, half_life), ()
    found = catalog.recent(k, where)
    notice = f"No note is dated “{hint.phrase}”; these are the newest."
    return _hits(found, window, half_life, dropped_by=DroppedBy.TIME), (notice,)


def _hits(
    found: Sequence[StoredChunk],
    window: TimeWindow,
    half_life: float,
    dropped_by: DroppedBy | None = None,
) -> tuple[Hit, ...]:
    hits = []
    for rank, stored in enumerate(found, 1):
        recency = window.recency(stored.note.date, half_life)
        scores = Scores(None, None, recency, 1.0, recency, terms=(("recency", recency),))
        hits.append(Hit(rank, stored, scores, dropped_by is None, dropped_by))
    return tuple(hits)
