"""Which lines of a note are tasks, which are done, and when they are due."""

from __future__ import annotations

from datetime import date

import pytest

from ragvault.formats.tasks import Task, done_date, due_date, open_table, tasks_in

WRITTEN = date(2026, 11, 22)


def read(text: str) -> list[Task]:
    return list(tasks_in(text))


@pytest.mark.parametrize(
    ("line", "due"),
    [
        ("- [ ] book the van 📅 2026-11-25", "2026-11-25"),
        ("* [ ] book the van ⏫ ⏳ 2026-11-25 #move", "2026-11-25"),
        ("1. [ ] book the van due:: 2026-11-25", "2026-11-25"),
        ("- [ ] book the van [due:: 2026-11-25]", "2026-11-25"),
        ("- [ ] book the van (due 25 Nov)", "2026-11-25"),
        ("- [ ] book the van @due(2026-11-25)", "2026-11-25"),
        ("- [ ] book the van 📅 [[2026-11-25]]", "2026-11-25"),
        ("- [ ] book the van, due [[2026-11-25]]", "2026-11-25"),
        ("- [ ] book the van DEADLINE: <2026-11-25 Wed>", "2026-11-25"),
        ("- [ ] book the van SCHEDULED: <2026-11-25 Wed>", "2026-11-25"),
        ("- [ ] book the van, due (see the plan of 25 Nov)", None),
        ("- [ ] book the van by January 3rd", "2027-01-03"),
        ("> - [ ] Bericht unterschreiben, bis 26.11.", "2026-11-26"),
        ("- [ ] pagar el alquiler, vence 3 de diciembre", "2026-12-03"),
        ("- [ ] expenses — overdue since 5 Nov", "2026-11-05"),
        ("- [ ] send it before 3 Dec 📅 2026-11-25", "2026-11-25"),
        ("- [ ] send it ⏳ 2026-11-20 📅 2026-11-25", "2026-11-25"),
        ("- [ ] send it [scheduled:: 2026-11-20] [due:: 2026-11-25]", "2026-11-25"),
        ("- [ ] pay the rent due 3 APRİL", None),
        ("- [ ] book the van 📅 2026-11-31", None),
        ("- [ ] read the plan of 2026-11-25", None),
    ],
)
def test_a_due_date_is_read_as_people_write_it(line: str, due: str | None) -> None:
    (task,) = read(line)
    assert due_date(task.text, WRITTEN) == (date.fromisoformat(due) if due else None)
    assert task.has_box and not task.is_done


def test_marks_say_what_is_open_and_what_is_done() -> None:
    text = (
        "- [ ] a\n- [/] b\n- [x] c ✅ 2026-10-01\n- [X] d\n"
        "- [-] e\n- [>] f\n- g\n- [ ]\n- [ ] {{x}}\n"
    )
    assert [(task.text[0], task.is_done) for task in read(text)] == [
        ("a", False),
        ("b", False),
        ("c", True),
        ("d", True),
    ]
    assert done_date(read(text)[2].text, WRITTEN) == date(2026, 10, 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cp a b\n```\n\n- [ ] tell Ann", ["tell Ann"]),  # the end of a block that was cut
        ("print(`\n- [ ] sample\n`)\n```\n", []),
        ("- [ ] tell Ann\n```\n- [ ] sample", ["tell Ann"]),
        ("```\n~~~\n```\n\n- [ ] tell Ann", ["tell Ann"]),
        ("```md\n- [ ] sample\n```\n- [ ] tell Ann", ["tell Ann"]),
    ],
)
def test_boxes_in_code_are_no_tasks(text: str, found: list[str]) -> None:
    assert [task.text for task in read(text)] == found


def test_a_wide_empty_row_below_a_table_costs_what_its_length_does() -> None:
    """Each blank was read in every way that two patterns side by side allow: for ever."""
    table = f"| - |{'     |' * 40} x |\n| -    |{'     |' * 40}  x  |\n- [ ] stretch"
    assert [task.text for task in read(table)] == ["stretch"]


def test_an_item_has_its_own_lines_and_the_items_above_it() -> None:
    text = (
        "Actions\n- Kitchen\n  - [ ] tap drips,\n    ask Pete\n    - [ ] washers\n\n"
        "```\n- [ ] no task\n```\n- [ ] loft\n"
    )
    found = [(task.first, task.last, task.above) for task in read(text)]
    assert found == [(2, 3, ("Kitchen",)), (4, 4, ("Kitchen", "tap drips,")), (9, 9, ())]


def test_a_line_without_a_box_is_one_only_where_it_says_when_it_is_due() -> None:
    text = (
        "due: 2026-12-04\n- MOT due:: 2027-03-11\nrent, due 1 April\n"
        "He came by 3 Dec.\n- 2026-12-05 party\n"
    )
    found = [(task.text, str(due_date(task.text, WRITTEN)), task.has_box) for task in read(text)]
    assert found == [
        ("due: 2026-12-04", "2026-12-04", False),
        ("MOT due:: 2027-03-11", "2027-03-11", False),
        ("rent, due 1 April", "2027-04-01", False),
    ]


def test_rows_of_a_table_with_a_column_for_it_are_due() -> None:
    """Done where the column that says so holds something; a table may go on in another passage."""
    header = "| No | Due | Paid |"
    text = (
        f"{header}\n|---|:-:|---|\n| 1 | 2026-12-03 | |\n"
        "| 2 | 2026-12-04 | 2026-12-01 |\n| 3 | | |\n"
    )
    found = [(task.text, task.first, task.is_done, task.above) for task in tasks_in(text)]
    assert found == [
        ("No: 1 · due: 2026-12-03 · Paid: ", 2, False, (header,)),
        ("No: 2 · due: 2026-12-04 · Paid: 2026-12-01", 3, True, (header,)),
    ]
    assert list(tasks_in(text, boxes_only=True)) == []
    assert open_table(text.strip()) == header and open_table(text + "End.") == ""
    (rest,) = tasks_in("| 4 | 2026-12-05 | no |\n\n| 5 | 2026-12-06 | |", header=header)
    assert (rest.first, rest.is_done) == (0, False)
