"""A question about something that the notes never mention has to be told so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ragvault.answering.check.support import evidence_text
from ragvault.model import Chunk, Hit, NoteInfo, Scores, StoredChunk
from ragvault.retrieval.confidence.gate import unmentioned


def hit(text: str, *, title: str = "Car", day: str = "2023-05-04") -> Hit:
    date = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC).timestamp()
    chunk = Chunk("c", "v", "Cars/saab.md", ("Sale",), 0, 0, 1, 2, text, "", "h")
    note = NoteInfo("v", "Cars/saab.md", title, "Cars", (), (), date, date)
    return Hit(1, StoredChunk(chunk, note), Scores(0.5, 0.5, None, 1.0, 0.5), kept=True)


@pytest.mark.parametrize("date", [253402344000.0, 1e18, -1e12, float("inf")])
def test_note_of_no_year_that_a_calendar_has(date: float) -> None:
    """A date in another time zone's year 10000, a broken clock: the question was a crash."""
    stored = hit("The boat stands in the yard.").stored
    far = replace(stored, note=replace(stored.note, date=date))
    assert far.note.day is None
    found = Hit(1, far, Scores(0.5, 0.5, None, 1.0, 0.5), kept=True)
    assert unmentioned("Where is the Zephyrine of 2024?", [found]) == ("2024", "Zephyrine")
    assert evidence_text(found).startswith("The boat stands in the yard.")


SAAB = hit("We sold the Saab to Jonas Weber for 1,500 euros.")


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("When did we sell the Volvo?", ("Volvo",)),
        ("When did we sell the Saab?", ()),
        ("What did Jonas pay for it?", ()),  # a first name is enough
        ("What did Jonas’s brother pay?", ()),
        ("Was it sold for 1500 or for 2750?", ("1500", "2750")),
        ("Was it sold for 1,500?", ()),
        ("What was sold in 2023?", ()),  # the note's own year
        ("What was sold in 2019?", ("2019",)),
        ("what did we sell to jonas?", ()),  # no capitals: nothing to go by
        ("Who wrote “a sale in spring” there?", ("a sale in spring",)),
        ("Did I call on Monday?", ()),
        ("HOW MUCH DID THE VOLVO COST?", ()),  # shouted: a capital tells nothing
        ("サーブをいつ売りましたか？", ()),
    ],
)
def test_what_is_named_and_not_held(question: str, missing: tuple[str, ...]) -> None:
    assert unmentioned(question, [SAAB]) == missing


def test_the_whole_evidence_counts() -> None:
    volvo = hit("The Volvo stays.")
    assert unmentioned("When did we sell the Volvo?", [SAAB, volvo]) == ()
    assert unmentioned("When did we sell the Volvo?", []) == ()
