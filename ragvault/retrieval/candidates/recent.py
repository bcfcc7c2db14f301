"""Dates in the ranking: a question for recent notes and nothing else ("what did I write last
week?"), and how fast recency falls off around a time that a question names."""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.config.settings import RetrievalSettings
from ragvault.model import Filter, Hit, Query, Scores, StoredChunk
from ragvault.ports import ChunkSearch
from ragvault.retrieval.question.wordlists import RECENCY
from ragvault.retrieval.ranking.blend import TimeWindow

_DAY_S = 86_400.0


def sharpened(retrieval: RetrievalSettings, window: TimeWindow) -> RetrievalSettings:
    """With a half-life of a quarter of the time that the question names (at least a day), if that
    is shorter: of "yesterday", what is a month old is as far off as what is a year old."""
    if window.since is None:
        return retrieval
    quarter = max(1.0, (window.until - window.since) / _DAY_S / 4)
    half_life = min(retrieval.recency_half_life_days, quarter)
    return retrieval.model_copy(update={"recency_half_life_days": half_life})


def newest(
    catalog: ChunkSearch,
    query: Query,
    *,
    k: int,
    where: Filter,
    hinted: Filter | None,
    now: float,
    half_life_days: float,
) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
    """The newest notes by their first chunks, of the question's own time (``hinted``) if it
    names one; and notices. Their one score is recency.

    Where no note is of that time the newest are listed, but dropped ("time"): they say nothing
    about it.
    """
    hint = query.time_hint
    if hint is not None and hint.phrase.lower() in RECENCY:
        hinted = None  # "recently" bounds nothing: the newest, however old they are
    found = catalog.recent(k, hinted or where)
    if hint is None or hinted is None:
        return _hits(found, TimeWindow(None, now), half_life_days), ()
    window = TimeWindow(hint.since, hint.until)
    if found:
        return _hits(found, window, half_life_days), ()
    found = catalog.recent(k, where)
    notice = f"No note is dated “{hint.phrase}”; these are the newest."
    return _hits(found, window, half_life_days, dropped_by="time"), (notice,)


def _hits(
    found: Sequence[StoredChunk],
    window: TimeWindow,
    half_life: float,
    dropped_by: str | None = None,
) -> tuple[Hit, ...]:
    hits = []
    for rank, stored in enumerate(found, 1):
        recency = window.recency(stored.note.date, half_life)
        scores = Scores(None, None, recency, 1.0, recency, terms=(("recency", recency),))
        hits.append(Hit(rank, stored, scores, dropped_by is None, dropped_by))
    return tuple(hits)
