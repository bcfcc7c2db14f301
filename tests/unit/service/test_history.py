"""An answer is kept as it was, and keeping it never costs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest

from ragvault.cli.render.ask import AskView
from ragvault.cli.session import Session
from ragvault.config.settings import HistorySettings, IndexSettings, Settings
from ragvault.errors import UsageError
from ragvault.model import (
    AbstainReason,
    Abstention,
    Answer,
    AskResult,
    ChatUsage,
    Citation,
    CitationStatus,
    HistoryEntry,
    Reference,
)
from ragvault.service.ask import turn_of
from ragvault.service.history import (
    as_markdown,
    by_month,
    entry_object,
    entry_of,
    export,
    keep,
    most_refused,
    result_of,
    source_at,
    sources,
    stats_of,
)
from ragvault.wiring import Container
from tests.support import golden
from tests.support.answering import hit
from tests.support.cited import Screen, asked

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


def test_a_later_question_goes_on_from_the_words_of_an_answer_without_its_marks() -> None:
    """A model that reads them writes them, too."""
    said = "In May [File: a.md, Section: A > B] (partly). It cost £9 [2] (not in your notes)."
    document = {"question": "When?", "answer": said, "references": [], "nearest": []}
    turn = turn_of({**document, "meta": {"retrieval": {}}})
    assert turn.answer == "In May. It cost £9."


def test_an_answer_is_kept_with_its_passages_whole(kept: Container) -> None:
    done = keep(kept, result(), NOW, "s")
    assert (done.id, done.notices) == (1, ())
    entry = kept.history.entry(1)
    assert entry is not None
    value = entry_object(entry)
    assert (value["session"], value["turn"], value["meta"]["id"]) == ("s", 1, 1)
    assert value["references"][0]["passage"] == "The boiler is serviced in May.\nBy Anna."
    assert value["references"][0]["scores"]["vector"] == 0.8


def test_an_abstention_is_kept_with_what_came_near(kept: Container) -> None:
    near = hit("a.md", "A", "The boiler.")
    no = Abstention(AbstainReason.NO_RELEVANT_CONTEXT, 0.1, "Nothing.", (near,))
    keep(kept, AskResult("Why?", no, None, None, None, 2.0, ChatUsage(None, None)), NOW, None)
    (entry,) = kept.history.entries()
    assert entry.document["abstained"]
    assert entry.document["nearest"][0]["passage"] == "The boiler."


def test_a_place_that_was_pointed_at_is_kept_as_it_was_shown(kept: Container) -> None:
    places = tuple(hit(f"{n}.md", "", f"The boiler {n}.\nBy Anna.") for n in range(3))
    shown = ("The boiler 0. All of it.", "The boiler 1.")
    pointed = Abstention(
        AbstainReason.INSUFFICIENT_INFORMATION, 0.3, "In 0.md", places, passages=shown
    )
    keep(kept, AskResult("?", pointed, None, None, None, 2.0, ChatUsage(None, None)), NOW, None)
    entry = entry_of(kept, "last")
    outcome = result_of(entry).outcome
    assert isinstance(outcome, Abstention) and outcome.passages == shown
    whole = [place["text"] for place in entry.document["nearest"]]
    assert whole == [shown[0], "The boiler 1.\nBy Anna.", "The boiler 2.\nBy Anna."]


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


def test_what_stands_in_the_place_of_the_history_is_set_aside(
    kept: Container, tmp_path: Path
) -> None:
    (tmp_path / "history.sqlite3").mkdir()
    done = keep(kept, result(), NOW, None)
    assert (done.id, done.outcome) == (1, result().outcome)
    assert (tmp_path / "history.sqlite3.damaged-1").is_dir()


def test_a_busy_history_costs_a_notice_only(kept: Container, tmp_path: Path) -> None:
    import sqlite3

    keep(kept, result(), NOW, None)
    other = sqlite3.connect(tmp_path / "history.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    done = keep(kept, result(), NOW, None)
    other.close()
    assert done.id is None and done.outcome == result().outcome
    assert "could not be kept in the history" in done.notices[0]
    assert "Another process" in done.notices[0]


RENDERED = [file for kind, file in golden.cases() if kind == "rendering"]


@pytest.mark.parametrize("file", RENDERED, ids=lambda file: file.stem)
def test_a_past_answer_is_shown_as_it_was_given(kept: Container, file: Path) -> None:
    given = file.read_text(encoding="utf-8").partition("\n---------- expected")[0]
    live, past = Screen(), Screen()
    answered = AskView(cast(Session, live)).draw(asked(given))
    number = keep(kept, answered, NOW, None).id
    entry = entry_of(kept, str(number))
    AskView(
        cast(Session, past),
    ).replay(result_of(entry))
    assert past.shown == live.shown
    assert entry_of(kept, "last") == entry


def test_quotes_that_were_kept_without_citations_are_shown() -> None:
    """An answer of 0.1 has no more than its text."""
    screen, answer = Screen(), Answer("At nine. [File: boats.md]", "extractive", 0.5)
    AskView(cast(Session, screen)).replay(replace(result(), outcome=answer))
    assert "At nine. [File: boats.md]" in screen.shown


@pytest.mark.parametrize("wanted", ["2", "0", "-1", "first", "", "9" * 30, "١"])
def test_an_answer_that_is_not_there_is_said_so(kept: Container, wanted: str) -> None:
    keep(kept, result(), NOW, None)
    with pytest.raises(UsageError, match="There is no answer") as caught:
        entry_of(kept, wanted)
    assert "ragvault history" in caught.value.hint


def test_before_the_first_question_nobody_is_sent_to_an_empty_history(kept: Container) -> None:
    with pytest.raises(UsageError, match="no answer yet") as caught:
        entry_of(kept, "last")
    assert "ragvault ask" in caught.value.hint


def test_sources_are_numbered_as_they_are_shown() -> None:
    """Two passages of one section are one [1]: what is [2] is the third reference."""
    hits = (hit("a.md", "A", "x"), hit("a.md", "A", "y", ordinal=1), hit("b.md", "B", "z"))
    text = "X. [File: a.md, Section: A] Z. [File: b.md, Section: B]"
    references = tuple(Reference(n, one, "") for n, one in enumerate(hits, 1))
    also = (Reference(4, hit("c.md", "C", "u"), ""), Reference(5, hits[0], ""))
    said = AskResult(
        "?", Answer(text, "llm", 0.7, references, also=also), None, "m", 1, 2, ChatUsage(1, 2)
    )
    assert [one.chunk.rel_path for one in sources(said)] == ["a.md", "b.md", "c.md"]
    assert source_at(said, 2).chunk.rel_path == "b.md"
    for number in (0, 4):
        with pytest.raises(UsageError, match="the answer has 3 sources"):
            source_at(said, number)


def test_markdown_has_wikilinks_for_citations() -> None:
    place = hit("Home/Boiler.md", "Boiler > Service: 2024", "x")
    mark = "[File: Home/Boiler.md, Section: Boiler > Service: 2024]"
    text = f"In May. {mark} By Anna. {mark}"
    citations = tuple(
        Citation("[1]", at, CitationStatus.REPAIRED, place.chunk.id) for at in (8, 18 + len(mark))
    )
    citations += (Citation("[9]", 3, CitationStatus.REMOVED, None),)
    references = (Reference(1, place, ""),)
    written = Answer(text, "llm", 0.7, references, citations)
    quoted = Answer(f"In May.\nYes. {mark}", "extractive", 0.7, references, (
        Citation(mark, 13, CitationStatus.EXACT, place.chunk.id),
    ))  # fmt: skip
    link = "[[Home/Boiler#Service 2024|Boiler]]"

    def shown(answer: Answer) -> str:
        return as_markdown(AskResult("?", answer, None, None, 1, 2, ChatUsage(1, 2)))

    assert shown(written) == f"In May. {link} By Anna. {link}"
    assert shown(quoted) == f"> In May.\n> Yes.\n>\n> {link}"


def document(reason: str | None, *, mode: str = "llm", ms: float = 1.0, **more: object) -> Any:
    meta = {"retrieval": {"time_ms": ms}, "llm_ms": None, "total_ms": ms * 2}
    said = {"abstained": reason is not None, "abstain_reason": reason, "mode": mode, "meta": meta}
    return {"question": "?", "references": [], "answer": "", **said, **more}


def test_stats_count_outcomes_times_and_citations() -> None:
    cited = [{"status": status} for status in ("exact", "exact", "repaired", "removed", "added")]
    entries = [
        HistoryEntry(1.0, document(None, citations=cited)),
        HistoryEntry(2.0, document("insufficient_information", mode="none", ms=3.0)),
        HistoryEntry(3.0, document("no_relevant_context", mode="none", ms=2.0)),
        HistoryEntry(4.0, document(None, mode="none", ms=90.0)),
        HistoryEntry(5.0, document(None, mode="extractive", ms=9.0, citations=cited)),
        HistoryEntry(40 * 86_400.0, document(None, mode="extractive")),
    ]
    seen = stats_of(entries)
    assert (seen.answered, seen.pointed, seen.nothing) == (3, 1, 1)
    assert seen.total_ms == 4.0
    assert (seen.exact, seen.cited) == (2, 4)
    assert [(one.month, one.answered) for one in by_month(entries)] == [
        ("1970-02", 1),
        ("1970-01", 2),
    ]


def test_the_questions_most_often_refused_are_one_whatever_their_marks() -> None:
    asked = ("Capital of Mongolia?", "Where is Ulm?", "capital of Mongolia")
    entries = [
        HistoryEntry(0.0, {**document("no_relevant_context"), "question": one}) for one in asked
    ]
    assert most_refused(entries) == [("Capital of Mongolia?", 2), ("Where is Ulm?", 1)]


@pytest.mark.parametrize("name", ["out.jsonl", "out.MD"])
def test_an_export_holds_every_answer(kept: Container, tmp_path: Path, name: str) -> None:
    for question in ("When?", "Where?"):
        keep(kept, result(question), NOW, None)
    target = tmp_path / name
    assert export(kept, target) == 2
    written = target.read_text(encoding="utf-8")
    if name.endswith("jsonl"):
        rows = [json.loads(line) for line in written.splitlines()]
        assert [row["id"] for row in rows] == [2, 1]
    else:
        assert "## When?" in written and "## Where?" in written
    with pytest.raises(UsageError, match="exists"):
        export(kept, target)
    for bad in (tmp_path / "nowhere" / name, tmp_path / f"{'n' * 300}{target.suffix}"):
        with pytest.raises(UsageError, match="can't be written"):
            export(kept, bad)
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(UsageError, match=r"\.jsonl or \.md"):
        export(kept, tmp_path / "out.csv")
