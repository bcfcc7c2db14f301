"""Time in questions, on a vault with daily notes: real files, the real stack, a fixed today."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from ragvault.model import Answer, Request
from ragvault.service import search
from ragvault.service.ask import answer_of, ask
from ragvault.wiring import Container
from tests.support.cli import make_vault
from tests.support.stack import stack

NOW = datetime(2024, 5, 15, 10, 30)  # a Wednesday
EVENTS = {
    date(2024, 5, 14): "Talked to Mara about the roof. She wants zinc and a second offer.",
    date(2024, 5, 8): "The roof offer came: 14,200 euros with slate, from Lindner.",
    date(2024, 5, 6): "Planted beans and courgettes. The roof is dry after the rain.",
    date(2024, 4, 17): "First look at the roof: three broken slates, and moss.",
    date(2023, 5, 9): "Roof inspection, found nothing wrong with the roof at all.",
}


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    folder = tmp_path_factory.mktemp("daily")
    notes = {}
    day = date(2024, 3, 1)
    while day <= NOW.date():
        said = EVENTS.get(day, f"Walked {day.day % 7 + 2} km along the river. Read a little.")
        notes[f"daily/{day.isoformat()}.md"] = f"# {day:%A %d %B}\n\n{said}\n"
        day += timedelta(days=1)
    notes["daily/2023-05-09.md"] = f"# Inspection\n\n{EVENTS[date(2023, 5, 9)]}\n"
    notes["house/roof.md"] = (
        "---\ndate: 2021-02-01\n---\n# The roof\n\nThe roof is of slate, laid in 1978. The roof "
        "was mended in 2003, and the roof has two windows.\n"
    )
    vault = make_vault(folder / "vault", notes)
    for file in vault.rglob("*.md"):  # all copied today, as after a restore: the names count
        os.utime(file, (NOW.timestamp(), NOW.timestamp()))
    with stack(folder / "index", vault, history={"enabled": False}) as made:
        yield made


def found(container: Container, question: str, n: int = 3, **limits: str) -> list[str]:
    since, until = search.period(limits.get("since"), limits.get("until"), NOW)
    request = Request(question, since=since, until=until)
    hits = search.search(container, request, n, now=NOW).hits
    return [Path(hit.note.rel_path).stem for hit in hits]


def test_last_week_means_last_week(container: Container) -> None:
    """Its notes (the seed counts 14 days) come before those that say the word more often, in
    April too, and the year before."""
    days = found(container, "What did I write last week about the roof?", 4)
    written = ["2024-05-14", "2024-05-08", "2024-05-06"]
    assert set(days) - {"roof"} == set(written)
    assert days[0] in written


def test_yesterday_and_a_named_month(container: Container) -> None:
    assert found(container, "What did I say about the roof yesterday?", 1) == ["2024-05-14"]
    assert found(container, "the roof in April 2024", 1) == ["2024-04-17"]


def test_without_a_time_the_best_text_wins(container: Container) -> None:
    """Recency is for questions that ask for it: an old note stays the best source."""
    assert found(container, "What is the roof made of?", 1) == ["roof"]


def test_since_and_until_let_nothing_else_through(container: Container) -> None:
    """A filter that leaks shows an answer of the wrong year."""
    days = found(container, "roof", 50, since="2024-05-07", until="2024-05-09")
    assert days[0] == "2024-05-08"
    assert all("2024-05-07" <= day <= "2024-05-09" for day in days)
    assert "2023-05-09" in found(container, "roof inspection", 50, until="2023")
    assert found(container, "roof", 50, since="2024-05-16") == []


def test_what_did_i_write_last_week_lists_that_week(container: Container) -> None:
    days = found(container, "What did I write last week?", 5)
    assert len(days) >= 3
    assert all("2024-05-01" <= day <= "2024-05-15" for day in days)
    assert days == sorted(days, reverse=True)


def test_the_answer_quotes_the_note_of_the_week(container: Container) -> None:
    request = Request("How much was the roof offer that came last week?", use_model=False)
    result = answer_of(ask(container, request, now=NOW))
    assert isinstance(result.outcome, Answer)
    assert "14,200 euros" in result.outcome.text
    assert result.outcome.references[0].hit.note.rel_path == "daily/2024-05-08.md"


def test_older_notes_fall_behind_by_how_long_ago_they_are(container: Container) -> None:
    """Counted from now with --since, around a time that the question names in at most a quarter
    of it."""
    since, _ = search.period("2023", None, NOW)
    by_day = recencies(container, Request("roof", since=since))
    assert by_day["2024-05-14"] > by_day["2024-05-08"] > by_day["2024-04-17"] > 0.4
    of_yesterday = recencies(container, Request("the roof yesterday"))
    assert of_yesterday["2024-05-14"] == 1.0
    assert of_yesterday["2024-04-17"] < 0.001 < of_yesterday["2024-05-08"] < 0.2


def recencies(container: Container, request: Request) -> dict[str, float]:
    hits = search.search(container, request, 50, now=NOW).retrieval.hits
    return {Path(h.note.rel_path).stem: h.scores.recency or 0.0 for h in hits}
