"""Answered, pointed at or nothing: decided by what would be printed.

The order of preference is fixed: a right answer, then the right passage whole, then silence. At
``gate.min_confidence`` and above the quotes are the answer, below SURE with a caveat; below it
the passages are pointed at; nothing is shown only where the notes hardly treat of it (LEAST).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from ragvault.answering.check.support import Embed
from ragvault.answering.check.values import weekday
from ragvault.answering.confidence import judge, unmentioned
from ragvault.answering.quote.asks import days_in
from ragvault.answering.quote.extract import Reading, read
from ragvault.answering.quote.tasks import task_quotes
from ragvault.model import (
    AbstainReason,
    Abstention,
    Detail,
    DroppedBy,
    Evidence,
    Hit,
    Intent,
    Judgement,
    Quote,
    Retrieval,
    Strategy,
    TimeHint,
)

SURE = 0.8  # from here on without a caveat
LEAST = 0.05  # of the topic: .6 % of the answerable questions are below it, a third of the foreign
NEAREST = 3
# That these are the newest notes, or the tasks that are due, is read from them, not guessed.
READ_CONFIDENCE = 0.9

_AMBIGUOUS = (
    "The question names nothing to look for. Say what it is about: a topic, a name or a date."
)
_NOTHING = "Your notes don't seem to hold anything about this."
_NO_SUCH_TIME = "None of your notes is of the time that you ask about."
_NO_SUCH_TASK = "None of your {} is of the time that you ask about."
_NO_SUCH_NOTE = (
    "None of your notes is within the limits that you set. Widen them, or leave them out."
)
_CHANGED = "What your notes said of it has changed since they were indexed."
_BY_FILE = "These notes say no day: they are of that time by when their files were last written."
_UNSURE = "It isn't certain that this answers the question; check the source."


@dataclass(frozen=True, slots=True)
class Decision:
    """``outcome``: what may be answered from, or nothing. ``quotes`` are what would be printed
    without a model, best first, out of ``reading``; ``judgement`` is None where no scores were
    judged."""

    outcome: Evidence | Abstention
    quotes: tuple[Quote, ...] = ()
    reading: Reading | None = None
    judgement: Judgement | None = None


def decide(
    found: Retrieval,
    *,
    detail: Detail = Detail.NORMAL,
    embed: Embed | None = None,
    today: date | None = None,
) -> Decision:
    """Quote what was found, and judge it. ``embed`` helps to choose the quotes, and ``today`` where
    the question counts from it."""
    if found.query.intent is Intent.AMBIGUOUS:
        return Decision(_nothing(found, AbstainReason.AMBIGUOUS_QUESTION, _AMBIGUOUS))
    is_recent = found.strategy is Strategy.RECENT
    if not found.kept:
        message = _NO_SUCH_TIME if is_recent else _NOTHING
        if found.strategy is Strategy.TASKS and (asked := found.query.tasks):
            message = _NO_SUCH_TASK.format(asked.kind)
        if found.is_scope_empty:
            message = _NO_SUCH_NOTE
        if any(hit.dropped_by is DroppedBy.CHANGED for hit in found.candidates):
            message = _CHANGED
        return Decision(_nothing(found, AbstainReason.NO_RELEVANT_CONTEXT, message))
    if found.strategy is Strategy.TASKS:
        listed = tuple(task_quotes(found.tasks, found.kept))
        return Decision(Evidence(found.kept, READ_CONFIDENCE), listed)
    beside = (hit for hits in found.neighbours.values() for hit in hits)
    hits = (*found.near, *beside)
    query = found.query
    reading = read(query.text, hits, wordings=query.wordings, embed=embed, today=today)
    quotes = tuple(reading.quotes(detail))
    if is_recent:
        by_file = not any(hit.note.says_its_day for hit in found.kept)
        told = (_BY_FILE,) if by_file and found.query.time_hint else ()
        return Decision(Evidence(found.kept, READ_CONFIDENCE, told), quotes, reading)
    judgement = judge(found.query.text, found, quotes, embed)
    confidence = judgement.confidence
    if judgement.topic < LEAST:
        none = _nothing(found, AbstainReason.NO_RELEVANT_CONTEXT, _NOTHING, confidence)
        return Decision(none, quotes, reading, judgement)
    caveats = _caveats(found, quotes, confidence)
    evidence = Evidence(found.kept, confidence, caveats, found.near)
    return Decision(evidence, quotes, reading, judgement)


def _caveats(found: Retrieval, quotes: Sequence[Quote], confidence: float) -> tuple[str, ...]:
    caveats: tuple[str, ...] = ()
    if confidence < SURE:
        missing = " or ".join(f"“{number}”" for number in unmentioned(found.query, quotes))
        caveats = (f"{_UNSURE} Nothing quoted mentions {missing}." if missing else _UNSURE,)
    hint = found.query.time_hint
    if hint is not None and hint.relative and not any(_is_of(hint, quote) for quote in quotes):
        caveats = (*caveats, f"Nothing quoted is of the time you asked about ({hint.phrase}).")
    return caveats


def _is_of(hint: TimeHint, quote: Quote) -> bool:
    """Its note is of that time, or it says so itself: by a day, the phrase or its weekday."""
    text, asked = quote.shown, {weekday(word) for word in hint.phrase.split()} - {None}
    first, last = (date.fromtimestamp(at) for at in (hint.since, hint.until))
    return (
        hint.since <= quote.hit.note.date <= hint.until
        or hint.phrase.casefold() in text.casefold()
        or any(first <= day <= last for day in days_in(text, first))
        or any(weekday(word) in asked for word in re.findall(r"\w+", text))
    )


def _nothing(
    found: Retrieval, reason: AbstainReason, message: str, confidence: float = 0.0
) -> Abstention:
    return Abstention(reason, confidence, message, nearest(found), found.searched)


def nearest(found: Retrieval) -> tuple[Hit, ...]:
    """The best three hits, of different notes, whatever floor dropped them."""
    by_note: dict[tuple[str, str], Hit] = {}
    for hit in found.candidates:
        if hit.dropped_by not in (DroppedBy.DUPLICATE, DroppedBy.CHANGED):
            by_note.setdefault((hit.note.vault, hit.note.rel_path), hit)
    return tuple(list(by_note.values())[:NEAREST])
