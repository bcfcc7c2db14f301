"""The personal sets in evals/: a gold line that is gone, or doesn't say it, would be measured as a
fault of the program."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.bench.tune import sets_in

EVALS = Path(__file__).parents[3] / "evals"
SETS = sorted(folder for folder in EVALS.iterdir() if (folder / "questions.jsonl").is_file())
FLAGS = re.IGNORECASE | re.DOTALL


def questions(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "questions.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def around(lines: list[str], line: int) -> str:
    """The heading above a line, and the head of its table: what a reader sees beside it."""
    seen = [lines[line - 1]]
    for above in reversed(lines[: line - 1]):
        if above.startswith("#"):
            return "\n".join([above, *seen])
        if above.startswith("|") and not set(above) <= set("|-: "):
            seen.insert(0, above)
    return "\n".join(seen)


def test_settings_are_chosen_on_the_sets_that_have_their_notes_and_never_on_the_kept_one() -> None:
    tuned = [folder.name for folder in sets_in([EVALS])]
    assert tuned == [folder.name for folder in SETS if folder.name != "workbook"]


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_every_gold_line_says_what_a_right_answer_does(folder: Path) -> None:
    for asked in questions(folder):
        if not asked["answerable"]:
            assert not asked["gold"] and asked["right"] is None, asked["id"]
            continue
        assert asked["gold"], asked["id"]
        seen = []
        for gold in asked["gold"]:
            lines = (folder / "vault" / gold["file"]).read_text(encoding="utf-8").splitlines()
            assert lines[gold["line"] - 1].strip(), (asked["id"], gold)
            seen.append(f"{Path(gold['file']).stem}\n{around(lines, gold['line'])}")
        assert re.search(asked["right"], "\n".join(seen), FLAGS), asked["id"]


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_a_set_asks_enough_of_each_kind(folder: Path) -> None:
    asked = questions(folder)
    assert len({question["id"] for question in asked}) == len(asked) >= 80
    unanswerable = sum(not question["answerable"] for question in asked)
    assert 0.25 <= unanswerable / len(asked) <= 0.35
    assert min(Counter(question["type"] for question in asked).values()) >= 5
