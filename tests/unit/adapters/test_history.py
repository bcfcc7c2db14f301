"""What was asked is found again, has one number for ever, and is forgotten whole."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragvault.adapters.sqlite.history import SqliteHistory
from ragvault.errors import StoreDamagedError
from ragvault.model import HistoryEntry


def entry(question: str, at: float = 1.0, session: str | None = None, **more: Any) -> HistoryEntry:
    place = {"rel_path": "Garden/Tomatoes.md", "passage": "", "path": "/a.md", "times": [1.0, 2.0]}
    none: dict[str, Any] = {"citations": [], "also": [], "nearest": []}
    said = {"question": question, "answer": "On Tuesday.", "references": [place]}
    document = {**said, **none, **more}
    return HistoryEntry(at, document, session)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite3"


@pytest.fixture
def history(path: Path) -> Iterator[SqliteHistory]:
    with contextlib.closing(SqliteHistory(path)) as opened:
        yield opened


def asked(entries: list[HistoryEntry]) -> list[str]:
    return [one.document["question"] for one in entries]


def test_nothing_is_made_by_looking(history: SqliteHistory, path: Path) -> None:
    assert history.entries() == []
    assert history.entry(1) is None
    assert history.clear() == 0
    assert not path.exists()


def test_answers_come_back_as_they_were_kept(history: SqliteHistory) -> None:
    """A file's name may hold bytes that are no UTF-8."""
    kept = entry("When?", 5.5, odd="a\udcff", answer_ms=1.25)
    assert history.add(kept) == 1
    found = history.entry(1)
    assert found is not None
    assert (found.asked_at, found.document, found.id, found.turn) == (5.5, kept.document, 1, None)


def test_the_newest_come_first_and_few_may_be_wanted(history: SqliteHistory) -> None:
    for question in ("one", "two", "three"):
        history.add(entry(question))
    assert asked(history.entries()) == ["three", "two", "one"]
    assert asked(history.entries(limit=2)) == ["three", "two"]


@pytest.mark.parametrize("words", ["BÜCHER lieh", "tuesday bücher", "tomatoes büch"])
def test_all_words_are_looked_for_in_question_answer_and_paths(
    history: SqliteHistory, words: str
) -> None:
    history.add(entry("Ausgeliehene Bücher?"))
    history.add(entry("Ausgeliehene CDs?"))
    assert asked(history.entries(words=words)) == ["Ausgeliehene Bücher?"]


def test_turns_are_counted_in_their_session(history: SqliteHistory) -> None:
    for session in ("a", "b", None, "a"):
        history.add(entry("?", session=session))
    assert [one.turn for one in history.entries(session="a")] == [2, 1]
    assert [one.turn for one in history.entries()] == [2, None, 1, 1]


def test_what_is_older_than_is_kept_goes_with_the_next_answer(history: SqliteHistory) -> None:
    history.add(entry("old", 10.0))
    history.add(entry("new", 20.0), forget_before=15.0)
    assert asked(history.entries()) == ["new"]


def test_what_is_cleared_is_in_no_file_and_its_number_never_comes_back(
    history: SqliteHistory, path: Path
) -> None:
    for number in range(50):
        history.add(entry(f"a question about zebras {number}", float(number)))
    assert history.clear() == 50
    assert history.entries() == []
    assert history.add(entry("next")) == 51
    files = path.parent.iterdir()
    assert not any(b"zebras" in file.read_bytes() for file in files)


def test_a_damaged_file_is_told_as_such_with_what_helps(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 500)
    with contextlib.closing(SqliteHistory(path)) as history:
        with pytest.raises(StoreDamagedError, match="history file") as caught:
            history.entries()
        assert "Move the file away" in caught.value.hint
