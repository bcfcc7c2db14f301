"""What an answer is made from says different things, and no fact is folded away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragvault.model import Chunk, Hit, NoteInfo, Scores, StoredChunk
from ragvault.retrieval.ranking.blend import Candidate
from ragvault.retrieval.ranking.pick import pick

LONG = (
    "we decided after a long talk with the whole team to keep the queue in the database because "
    "it is simple to back up and nobody has to run another service during the night or fix it "
    "when it stops and every tool that we have can look into it without any more training at all "
    "and if it ever gets "
    "too slow for what we need then the same tables can be moved to a larger machine first before "
    "we think about anything else that would cost us more time than it saves in the end"
)


def entry(
    chunk_id: str, final: float, text: str = "", note: str | None = None, title: str = ""
) -> Candidate:
    path = note or f"{chunk_id}.md"
    chunk = Chunk(chunk_id, "v", path, (), 0, 0, 1, 3, text or f"text {chunk_id}", "", chunk_id)
    info = NoteInfo("v", path, title or path.removesuffix(".md"), "", (), (), 0.0, 0.0)
    scores = Scores(final, final=final, bm25=1.0, terms=(("vector", final),))
    return Candidate(StoredChunk(chunk, info), scores, True)


def picked(*ranked: Candidate, k: int = 3) -> list[Hit]:
    return list(pick(ranked, k=k, min_vector=0.0))


# --------------------------------------------------------------------------- duplicates


def test_a_copy_shows_once_and_names_the_others() -> None:
    """Two copies of one note would take two of the five places of an answer. Case and white space
    don't tell them apart."""
    hits = picked(
        entry("a", 0.9, LONG),
        entry("b", 0.8, LONG.upper(), "b.md"),
        entry("c", 0.7, f"{LONG}\n", "c.md"),
        entry("d", 0.6, "Something else entirely."),
        k=2,
    )
    assert [h.dropped_by for h in hits] == [None, "duplicate", "duplicate", None]
    assert hits[0].duplicates == ("b.md", "c.md")


def test_a_copy_in_another_vault_is_named_with_its_vault() -> None:
    copy = entry("b", 0.8, LONG)
    elsewhere = replace(copy.stored, note=replace(copy.stored.note, vault="job"))
    hits = picked(entry("a", 0.9, LONG), replace(copy, stored=elsewhere))
    assert hits[0].duplicates == ("job: b.md",)


@pytest.mark.parametrize(
    ("before", "after"), [("another service", "another 12 services"), ("simple", "not simple")]
)
def test_what_differs_in_a_fact_is_not_folded(before: str, after: str) -> None:
    """Two filled-in templates would lose one of two numbers."""
    assert before in LONG
    other = entry("b", 0.8, LONG.replace(before, after), "b.md")
    assert all(hit.kept for hit in picked(entry("a", 0.9, LONG), other))


# --------------------------------------------------------------------------- what is no answer


@pytest.mark.parametrize("path", ["Templates/Game.md", "x/_Vorlagen/Spiel.md", "Game Template.md"])
def test_a_template_is_kept_only_for_who_asks_for_one(path: str) -> None:
    """It holds the words of all the notes that are made from it, and nothing in them."""
    ranked = (entry("a", 0.9, "categories: Games", path), entry("b", 0.8, "Zelda, 2017"))
    assert [h.dropped_by for h in picked(*ranked)] == ["template", None]
    asked = pick(ranked, k=3, min_vector=0.0, terms=("game", "template"))
    assert all(h.kept for h in asked)
    about = entry("c", 0.9, "Templates are notes with gaps.", "features/templates.md")
    assert picked(about)[0].kept


def test_drawn_html_takes_no_place_of_text() -> None:
    """A wall of contributors is a hundred passages under the note's title."""
    wall = '## Thanks\n<td align="center"><b>Omar</b></a></td>\n<td>Ann</td>'
    ranked = (entry("a", 0.9, wall), entry("b", 0.8, "In HTML, `</b>` ends bold text."))
    assert [h.dropped_by for h in picked(*ranked)] == ["unreadable", None]
