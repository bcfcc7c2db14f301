"""Tasks asked for, on real files with the real stack: what is due is quoted from all notes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from ragvault.model import Abstention, Answer, AskResult, Request
from ragvault.service.ask import answer_of, ask, why
from ragvault.wiring import Container
from tests.support.cli import make_vault
from tests.support.stack import stack

NOW = datetime(2026, 11, 22, 12)
NOTES = {
    "Kitchen.md": "# Kitchen\nThe tap is from 2009.\n\n## Tasks\n- [ ] paint the wall\n"
    "- [ ] new tap,\n  ask Pete first 📅 2026-11-27\n- [x] tiles ✅ 2026-11-02\n",
    "Work/Grant.md": "# Grant\n- Actions\n  - [ ] Roz: draft [due:: 2026-11-25]\n"
    "  - [ ] Bilal: newsletter\n",
    "Work/Invoices.md": "# Invoices\n| No | Due | Paid |\n|---|---|---|\n| 7 | 2026-11-24 | |\n",
    "Work/Report.md": "# Report\n- [ ] figures 📅 2026-11-26\n- [ ] send it 📅 2026-11-28\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_vault(tmp_path_factory.mktemp("tasks") / "vault", NOTES)


@pytest.fixture(scope="module")
def container(vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with stack(tmp_path_factory.mktemp("index"), vault, history={"enabled": False}) as made:
        yield made


def asked(container: Container, question: str) -> AskResult:
    return answer_of(ask(container, Request(question), now=NOW))


def test_tasks_stand_by_due_date_each_with_its_note(container: Container) -> None:
    outcome = asked(container, "what are my open tasks?").outcome
    assert isinstance(outcome, Answer) and not outcome.caveats
    assert outcome.text.split("\n") == [
        "Grant — [ ] Roz: draft due: 2026-11-25 [File: Work/Grant.md, Section: Grant]",
        "Report — [ ] figures 📅 2026-11-26 [File: Work/Report.md, Section: Report]",
        "Kitchen — [ ] new tap, ask Pete first 📅 2026-11-27"
        " [File: Kitchen.md, Section: Kitchen > Tasks]",
        "Report — [ ] send it 📅 2026-11-28 [File: Work/Report.md, Section: Report]",
        "Kitchen — [ ] paint the wall [File: Kitchen.md, Section: Kitchen > Tasks]",
        "Grant — [ ] Bilal: newsletter [File: Work/Grant.md, Section: Grant]",
    ]
    assert [reference.hit.chunk.rel_path for reference in outcome.references] == [
        "Work/Grant.md",
        "Work/Report.md",
        "Kitchen.md",
    ]


def test_a_row_is_due_too_and_has_its_columns_names(container: Container) -> None:
    outcome = asked(container, "what's due on Tuesday").outcome
    assert isinstance(outcome, Answer)
    cited = "[File: Work/Invoices.md, Section: Invoices]"
    assert outcome.text == f"Invoices — No: 7 · Due: 2026-11-24 {cited}"


def test_one_projects_tasks_are_one_list(container: Container) -> None:
    outcome = asked(container, "what do I still have to do for the report").outcome
    assert isinstance(outcome, Answer)
    assert outcome.text == (
        "Report —\n- [ ] figures 📅 2026-11-26\n- [ ] send it 📅 2026-11-28 "
        "[File: Work/Report.md, Section: Report]"
    )
    (reference,) = outcome.references
    assert (reference.hit.chunk.start_line, reference.hit.chunk.end_line) == (1, 3)


def test_nothing_due_is_said_and_nothing_else_is_quoted(container: Container) -> None:
    outcome = asked(container, "what is overdue").outcome
    assert isinstance(outcome, Abstention) and not outcome.nearest
    assert outcome.message == "None of your open items is of the time that you ask about."


def test_a_task_that_was_ticked_off_since_is_left_out(container: Container, vault: Path) -> None:
    note = vault / "Work" / "Report.md"
    before = note.read_text(encoding="utf-8")
    note.write_text(before.replace("[ ] figures", "[x] figures"), encoding="utf-8")
    try:
        result = asked(container, "which tasks are due next week")
    finally:
        note.write_text(before, encoding="utf-8")
    assert isinstance(result.outcome, Answer)
    assert "new tap" in result.outcome.text and "figures" not in result.outcome.text
    assert any("Work/Report.md" in notice for notice in result.notices)


def test_why_tells_of_a_note_without_such_a_task(container: Container) -> None:
    said = why(container, "Kitchen.md", Request("open tasks for the report"), now=NOW)
    assert "it holds no task of those that were asked for" in said
