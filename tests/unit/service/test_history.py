"""Keeping an answer never costs it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from ragvault.config.settings import HistorySettings, IndexSettings, Settings
from ragvault.model import AbstainReason, Abstention, Answer, AskResult, ChatUsage, Reference
from ragvault.service.history import entry_object, keep
from ragvault.wiring import Container
from tests.support.answering import hit

NOW = datetime(2024, 3, 1, 12)


def result(question: str = "When?") -> AskResult:
    place = hit("a.md", "A > B", "The boiler is serviced in May.\nBy Anna.")
    answer = Answer(
        "In May. [File: a.md, Section: A > B]", "llm", 0.75, (Reference(1, place, "In May."),)
    )
    return AskResult(question, answer, None, "m", 1.0, 2.0, ChatUsage(1, 2))


def container(tmp_path: Path, **history: object) -> Container:
    return Container(
        Settings(
            index=IndexSettings(path=str(tmp_path)),
            history=HistorySettings.model_validate(history),
        )
    )


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Container]:
    with container(tmp_path) as opened:
        yield opened


def test_an_answer_is_kept_with_its_passages_whole(kept: Container) -> None:
    done = keep(kept, result(), NOW, "s")
    assert (done.id, done.notices) == (1, ())
    entry = kept.history.entry(1)
    assert entry is not None
    value = entry_object(entry)
    assert (value["session"], value["turn"], value["meta"]["id"]) == ("s", 1, 1)
    assert value["references"][0]["passage"] == "The boiler is serviced in May.\nBy Anna."
    assert (
        value["asked_at"]
        == f"{datetime.fromtimestamp(NOW.timestamp(), tz=None):%Y-%m-%d}" + (value["asked_at"][10:])
    )


def test_an_abstention_is_kept_with_what_came_near(kept: Container) -> None:
    near = hit("a.md", "A", "The boiler.")
    no = Abstention(AbstainReason.NO_RELEVANT_CONTEXT, 0.1, "Nothing.", (near,))
    keep(kept, AskResult("Why?", no, None, None, None, 2.0, ChatUsage(None, None)), NOW, None)
    (entry,) = kept.history.entries()
    assert entry.document["abstained"]
    assert entry.document["nearest"][0]["passage"] == "The boiler."


def test_nothing_is_kept_where_that_is_off(tmp_path: Path) -> None:
    with container(tmp_path, enabled=False) as off:
        assert keep(off, result(), NOW, None).id is None
        assert list(tmp_path.iterdir()) == []


def test_answers_are_forgotten_after_their_days(tmp_path: Path) -> None:
    with container(tmp_path, keep_days=7) as short:
        keep(short, result("old"), datetime(2024, 2, 22, 11), None)
        keep(short, result("young"), datetime(2024, 2, 24, 11), None)
        keep(short, result("today"), NOW, None)
        kept = [entry.document["question"] for entry in short.history.entries()]
        assert kept == ["today", "young"]


def test_a_damaged_history_is_set_aside_and_another_begun(kept: Container, tmp_path: Path) -> None:
    (tmp_path / "history.sqlite3").write_bytes(b"no database " * 1000)
    done = keep(kept, result(), NOW, None)
    assert done.id == 1
    assert "history.sqlite3.damaged-1" in done.notices[0]
    assert (tmp_path / "history.sqlite3.damaged-1").exists()
    assert len(kept.history.entries()) == 1


def test_a_history_that_can_not_be_written_costs_a_notice_only(
    kept: Container, tmp_path: Path
) -> None:
    (tmp_path / "history.sqlite3").mkdir()
    done = keep(kept, result(), NOW, None)
    assert done.id is None
    assert done.outcome == result().outcome
    assert "could not be kept in the history" in done.notices[0]


def test_a_busy_history_costs_a_notice_only(kept: Container, tmp_path: Path) -> None:
    import sqlite3

    keep(kept, result(), NOW, None)
    other = sqlite3.connect(tmp_path / "history.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    done = keep(kept, result(), NOW, None)
    other.close()
    assert done.id is None and "Another process" in done.notices[0]
