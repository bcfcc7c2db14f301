"""Gold that can't be found must not look like a fault of the search: the figures of a set with a
misspelt heading would be wrong without a word."""

from __future__ import annotations

from ragvault.evaluation.dataset import Gold, Question
from ragvault.evaluation.runner import misplaced
from tests.support.evaluating import passage

PASSAGES = {"a.md": [passage("a.md", ("A", "Setup")), passage("a.md")]}


def told(*golds: Gold, answerable: bool = True) -> tuple[str, ...]:
    questions = [Question("Q?", str(i), answerable, (g,), line=i) for i, g in enumerate(golds, 3)]
    return misplaced(questions, lambda path: PASSAGES[path])


def test_places_that_are_there_are_not_spoken_of() -> None:
    golds = [
        Gold("a.md"),
        Gold("a.md", "Setup"),
        Gold("a.md", "A > setup"),
        Gold("a.md", ""),
    ]
    assert told(*golds) == ()


def test_misspelt_headings_are_counted_with_the_first_one_s_line() -> None:
    [notice] = told(Gold("a.md", "Setup"), Gold("a.md", "Set-up"), Gold("a.md", "B"))
    assert "2 gold headings" in notice and "counts as a miss" in notice
    assert "line 4: 'Set-up' in a.md" in notice


def test_questions_without_an_answer_have_no_place() -> None:
    assert told(Gold("a.md", "Nowhere"), answerable=False) == ()
