"""Gold places that can't be found, whatever a search finds: stale offsets, headings misspelt.

A question with one counts as a miss, or is left out of a measure: that must not look like a fault
of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ragvault.evaluation.dataset import Gold, Question
from ragvault.evaluation.judging import in_section
from ragvault.evaluation.places import Notes, gold_span
from ragvault.model import StoredChunk

Passages = Callable[[str], Sequence[StoredChunk]]  # of a note, by its path


def notices(questions: Sequence[Question], passages: Passages, notes: Notes) -> tuple[str, ...]:
    """One for headings and one for spans, each with its first example. Linear in the gold notes'
    text, and in the questions."""
    headings = [
        (question, gold)
        for question, gold in _golds(questions)
        if gold.heading is not None
        and not any(in_section(stored, gold) for stored in passages(gold.file))
    ]
    spans = [(question, gold) for question, gold in _golds(questions) if _is_stale(gold, notes)]
    found = []
    if headings:
        what = f"{headings[0][1].heading!r} in {headings[0][1].file}"
        told = "no passage stands right under; each counts as a miss"
        found.append(_told(headings, "heading", what, told))
    if spans:
        what = "{0.start}–{0.end} in {0.file}".format(spans[0][1])
        found.append(_told(spans, "span", what, "their notes don't hold; they are left out"))
    return tuple(found)


def _golds(questions: Iterable[Question]) -> Iterable[tuple[Question, Gold]]:
    return ((q, gold) for q in questions if q.answerable for gold in q.gold)


def _is_stale(gold: Gold, notes: Notes) -> bool:
    note = notes[gold.file] if gold.span else None
    return note is not None and gold_span(note, gold) is None


def _told(wrong: Sequence[tuple[Question, Gold]], kind: str, example: str, consequence: str) -> str:
    many = f"{len(wrong):,} gold {kind}{'s' if len(wrong) > 1 else ''}"
    return f"The questions name {many} that {consequence} (line {wrong[0][0].line}: {example})."
