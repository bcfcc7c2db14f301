"""Questions for tasks: read as such, and answered with all that fit, by due date."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pytest

from ragvault.model import Detail, Request, Retrieval, Strategy
from ragvault.retrieval.question.tasks import task_query
from ragvault.retrieval.question.timehints import due_period
from ragvault.text import language_of
from tests.support.search_index import SearchIndex, Source, source

SUNDAY = datetime(2026, 11, 22, 12)
LANGUAGES = ("en", "fr", "es")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("what are my open tasks", ""),
        ("todo list scilly", "scilly"),
        ("to do: house repairs", "house repairs"),
        ("What do I still have to do for Harbour Lane?", "harbour lane"),
        ("what's still open for mina", "mina"),
        ("what still needs doing at mum's house", "mums house"),
        ("what should Ewan do", "ewan"),
        ("how many open tasks do I have", ""),
        ("was sind meine offenen Aufgaben?", ""),
        ("Was ist fürs Orchester noch zu tun?", "orchester"),
        ("was muss Anna noch erledigen", "anna"),
        ("que dois-je encore faire pour Tidewater ?", "tidewater"),
        ("quelles tâches pour le jardin", "jardin"),
        ("¿qué queda pendiente en el huerto?", "huerto"),
        ("tareas de Mina", "mina"),
    ],
)
def test_what_open_tasks_are_asked_for(question: str, words: str) -> None:
    asked = task_query(question, SUNDAY, language_of(question, LANGUAGES))
    assert asked is not None and not asked.done and asked.period is None
    assert " ".join(asked.words) == words


@pytest.mark.parametrize(
    "question",
    [
        "which tasks for Maria are done",
        "completed todos Maria",
        "Welche Aufgaben für Maria sind erledigt?",
        "tareas terminadas de Maria",
    ],
)
def test_done_ones_are_asked_for(question: str) -> None:
    asked = task_query(question, SUNDAY, language_of(question, LANGUAGES))
    assert asked is not None and asked.done and asked.words == ("maria",)


@pytest.mark.parametrize(
    "question",
    [
        "when is the Grimma draft due",
        "bis wann muss ich die BahnCard kündigen",
        "how do I create a task list?",
        "what is a task?",
        "why are there so many tasks",
        "did I finish the task for Maria",
        "what's the deadline for the grant",
        "what did Bilal take on at the meeting",
        "what distress in teenagers is due to social media",
        "what is the key advantage of prompts over tuning for new models or tasks of a bank",
        "what is due diligence?",
        "what do I have to do to reset the router?",
        "wifi password",
    ],
)
def test_another_question_asks_for_no_tasks(question: str) -> None:
    assert task_query(question, SUNDAY, language_of(question, LANGUAGES)) is None


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("what's due today", "2026-11-22", "2026-11-22"),
        ("what's due tomorrow", "2026-11-23", "2026-11-23"),
        ("what's due on friday", "2026-11-27", "2026-11-27"),
        ("tasks due this week", "2026-11-16", "2026-11-22"),
        ("which tasks are due next week", "2026-11-23", "2026-11-29"),
        ("tasks due by Friday", "0001-01-01", "2026-11-27"),
        ("tasks due before Friday", "0001-01-01", "2026-11-26"),
        ("due 28 november", "2026-11-28", "2026-11-28"),
        ("what is due in March", "2027-03-01", "2027-03-31"),
        ("what is due in the next 3 days", "2026-11-22", "2026-11-25"),
        ("what do I have to do by end of november", "0001-01-01", "2026-11-30"),
        ("any deadlines coming up in the next two weeks", "2026-11-22", "2026-12-06"),
        ("unfinished tasks from last week", "2026-11-08", "2026-11-22"),
        ("what's due by the end of January", "0001-01-01", "2027-01-31"),
        ("what is due in the next 9000 years", "2026-11-22", "3026-11-22"),
        ("what's overdue", "0001-01-01", "2026-11-21"),
        ("was ist überfällig?", "0001-01-01", "2026-11-21"),
        ("was ist diese Woche fällig", "2026-11-16", "2026-11-22"),
        ("was muss ich bis Mittwoch erledigen", "0001-01-01", "2026-11-25"),
        ("qué tareas vencen mañana", "2026-11-23", "2026-11-23"),
        ("tâches de la semaine prochaine", "2026-11-23", "2026-11-29"),
    ],
)
def test_the_period_lies_ahead(question: str, first: str, last: str) -> None:
    asked = task_query(question, SUNDAY, language_of(question, LANGUAGES))
    assert asked is not None and asked.words == ()
    assert asked.period == (date.fromisoformat(first), date.fromisoformat(last))


def test_a_day_that_is_over_is_next_years() -> None:
    """Without a year; the question that names one means it."""
    assert due_period("in march", SUNDAY.date()) == (date(2027, 3, 1), date(2027, 3, 31), "march")
    assert due_period("in march 2026", SUNDAY.date()) == (
        date(2026, 3, 1),
        date(2026, 3, 31),
        "march 2026",
    )


# --------------------------------------------------------------------------- which are found

NOTES = [
    Source(
        "House/Kitchen.md",
        (
            (("Kitchen",), "The tap is from 2009 and drips."),
            (
                ("Kitchen", "Tasks"),
                "- [ ] new tap 📅 2024-05-20\n- [ ] paint\n- [x] tiles ✅ 2024-05-02\n",
            ),
        ),
    ),
    source("Küche.md", "- [ ] Hähne entkalken 📅 2024-07-01"),
    source("House/Cellar.md", "- [ ] damp\n  - [ ] ask Maria for a quote due:: 2024-05-13\n"),
    source("Work/Grant.md", "due:: 2024-05-17\nWe ask for £2,000."),
    source("2024-05-15.md", "- [ ] water the beans\n- [x] call Maria\n"),
    Source(
        "Invoices.md",
        (
            ((), "| No | Due | Paid |\n|---|---|---|\n| 1 | 2024-05-10 | 2024-05-09 |"),
            ((), "| 2 | 2024-06-10 | |\n| 3 | 2024-06-20 | 2024-05-12 |"),
        ),
    ),
    source("Templates/Meeting.md", "- [ ] who, what 📅 2024-05-16\n"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchIndex]:
    made = SearchIndex.fake(tmp_path_factory.mktemp("index"))
    made.add("notes", NOTES)
    yield made
    made.close()


def listed(found: Retrieval) -> list[str]:
    """The first lines of the tasks that were found, in order."""
    texts = {hit.chunk.id: hit.chunk.text.split("\n") for hit in found.kept}
    return [texts[task.chunk_id][task.first].strip().lstrip("-[ x]") for task in found.tasks]


@pytest.mark.parametrize(
    ("question", "tasks"),
    [
        (
            "what are my open tasks",
            [
                "ask Maria for a quote due:: 2024-05-13",
                "new tap 📅 2024-05-20",
                "Hähne entkalken 📅 2024-07-01",
                "water the beans",
                "damp",
                "paint",
            ],
        ),
        ("open tasks for the kitchen", ["new tap 📅 2024-05-20", "paint"]),
        (
            "todos in House",
            ["ask Maria for a quote due:: 2024-05-13", "new tap 📅 2024-05-20", "damp", "paint"],
        ),
        ("what do I still have to do for Maria", ["ask Maria for a quote due:: 2024-05-13"]),
        ("done tasks for Maria", ["call Maria"]),
        ("which tasks are done", ["tiles ✅ 2024-05-02", "call Maria"]),
        ("what's overdue", ["ask Maria for a quote due:: 2024-05-13"]),
        ("what's due this week", ["ask Maria for a quote due:: 2024-05-13", "due:: 2024-05-17"]),
        ("which tasks are due this week", ["ask Maria for a quote due:: 2024-05-13"]),
        ("what do I have to do today", ["water the beans"]),
        ("what's due next week", ["new tap 📅 2024-05-20"]),
        ("Aufgaben für die Küche", ["Hähne entkalken 📅 2024-07-01"]),
        ("which invoices are due in June", ["| 2 | 2024-06-10 | |"]),
    ],
)
def test_all_that_fit_stand_by_due_date(
    index: SearchIndex, question: str, tasks: list[str]
) -> None:
    found = index.search(question, for_answer=True)
    assert found.strategy is Strategy.TASKS
    assert listed(found) == tasks
    assert found.hits and not found.notices


def test_no_model_is_needed(index: SearchIndex) -> None:
    """It takes a second to load, and tells nothing of tasks."""
    found = index.search("what are my open tasks", for_answer=True)
    assert not found.by_vector and all(hit.scores.vector is None for hit in found.hits)


@pytest.mark.parametrize(
    "question", ["which tasks are due in August", "todos about Maria in August"]
)
def test_none_of_the_time_is_no_reason_to_quote_others(index: SearchIndex, question: str) -> None:
    found = index.search(question, for_answer=True)
    assert found.strategy is Strategy.TASKS and not found.hits


@pytest.mark.parametrize(
    "question", ["open tasks for the greenhouse", "todos for the kitchen in August"]
)
def test_what_no_task_is_about_is_searched_for(index: SearchIndex, question: str) -> None:
    """Nor is it known of one without a date that it isn't of that time."""
    assert index.search(question, for_answer=True).strategy is not Strategy.TASKS


def test_search_lists_passages_as_ever(index: SearchIndex) -> None:
    assert index.search("open tasks for the kitchen").strategy is not Strategy.TASKS


def test_more_than_are_shown_are_counted(index: SearchIndex, tmp_path: Path) -> None:
    brief = Request("what are my open tasks", detail=Detail.BRIEF, k=2)
    found = index.search(brief, for_answer=True)
    assert len(found.tasks) == 2
    assert found.notices[0].startswith("6 open tasks: these are the 2 due first.")
    counted = index.search("how many open tasks do I have", for_answer=True)
    assert counted.notices == ("6 open tasks.",)


def test_limits_hold_for_tasks(index: SearchIndex) -> None:
    limited = index.search(Request("open tasks", folders=("House",)), for_answer=True)
    assert {hit.note.folder for hit in limited.hits} == {"House"}
