"""Gold that can't be found must not look like a fault of the search: the figures of a set with a
misspelt heading would be wrong without a word."""

from __future__ import annotations

from pathlib import Path

from ragvault.evaluation.dataset import Gold, Question
from ragvault.evaluation.places import Notes, notices
from tests.support.evaluating import passage

PASSAGES = {"a.md": [passage("a.md", ("A", "Setup")), passage("a.md")]}


def told(tmp_path: Path, *golds: Gold, answerable: bool = True) -> tuple[str, ...]:
    (tmp_path / "a.md").write_text("# A\n\n## Setup\n\nIt is easy.\n", encoding="utf-8")
    questions = [Question("Q?", str(i), answerable, (g,), line=i) for i, g in enumerate(golds, 3)]
    return notices(questions, lambda path: PASSAGES[path], Notes(tmp_path))


def test_places_that_are_there_are_not_spoken_of(tmp_path: Path) -> None:
    golds = [
        Gold("a.md"),
        Gold("a.md", "Setup"),
        Gold("a.md", "A > setup"),
        Gold("a.md", ""),
        Gold("a.md", None, 0, 3),
        Gold("a.md", None, 90, 100, "It is easy."),
    ]
    assert told(tmp_path, *golds) == ()


def test_misspelt_headings_are_counted_with_the_first_one_s_line(tmp_path: Path) -> None:
    [notice] = told(tmp_path, Gold("a.md", "Setup"), Gold("a.md", "Set-up"), Gold("a.md", "B"))
    assert "2 gold headings" in notice and "counts as a miss" in notice
    assert "line 4: 'Set-up' in a.md" in notice


def test_spans_beyond_the_note_and_texts_that_are_gone(tmp_path: Path) -> None:
    [notice] = told(tmp_path, Gold("a.md", None, 90, 100), Gold("a.md", None, 0, 5, "was hard"))
    assert "2 gold spans" in notice and "left out" in notice
    assert "line 3: 90–100 in a.md" in notice


def test_questions_without_an_answer_have_no_place(tmp_path: Path) -> None:
    assert told(tmp_path, Gold("a.md", "Nowhere"), answerable=False) == ()
