"""Tasks in a stretch of a note: list items with a box; lines that say when a thing is due, and rows
of a table with a column for that.

A due date is Obsidian Tasks' sign (``📅 2026-11-25``, ``⏳``), a field (``due:: 2026-11-25``, in
brackets too; ``@due(2026-11-25)``) or in words ("due 25 Nov", "by 3 Dec", "bis 26.11."), as a link
too; a day without its year is the one nearest to when the note was written. ``[x]`` is done,
``[ ]`` and ``[/]`` are open, another mark is neither: given up, moved elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from ragvault.formats.dates import DAY, nearest_day, parts_of_day

DUE_WORDS = "due deadline fällig frist échéance vence scadenza prazo".split()
_DUE = "|".join(DUE_WORDS)
# What stands right before a due date, the surest first.
_SAYS_DUE = (
    re.compile(r"(?:📅|📆|🗓️?)[\s\[]*"),
    re.compile(
        rf"\b(?:over|über)?(?:{_DUE})\b"
        r"(?:\s*:{1,2}|\s+(?:on|by|since|am|bis|seit|zum|the|is|ist|date|le|el)\b)*[\s\[(<]*",
        re.IGNORECASE,
    ),
    re.compile(r"(?:⏳|⌛|\bscheduled\b(?:\s*:{1,2}|\s+(?:on|for)\b)*)[\s\[(<]*", re.IGNORECASE),
    re.compile(
        r"\b(?:by|before|until|till|bis(?:\s+zum)?|spätestens(?:\s+am)?|vor\s+dem|avant(?:\s+le)?"
        r"|antes\s+del|hasta\s+el|para\s+el)\s+",
        re.IGNORECASE,
    ),
)
_DONE_ON = re.compile(r"(?:✅|\b(?:completion|completed|done)::)\s*(?=\d{4}-)")
_ITEM = re.compile(
    r"(?P<indent>[ \t>]*)(?:[-*+]|\d{1,9}[.)])[ \t]+"
    r"(?:\[(?P<box>[^\[\]])\](?: +|$))?(?P<text>.*)"
)
_FENCE = re.compile(r"[ \t>]*(?P<mark>`{3}|~{3})[`~]*(?P<info>.*)")
_BOX = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX/]\] ", re.MULTILINE)
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-[ \t:|-]*")
_DUE_COLUMN = re.compile(rf"\b(?:{_DUE}|fällig\w*|vencimiento)\b", re.IGNORECASE)
_DONE_COLUMN = re.compile(
    r"\b(?:paid|done|finished|completed|bezahlt|erledigt|payée?|fait|pagad[oa]|hecho)\b",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(r"(?:no|not|open|nein|nicht|offen|non|pending|todo|to do)\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_EMPTY = re.compile(r"\{\{.*?\}\}|<%.*?%>")  # where a template is filled in
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Task:
    """``first..last`` are its lines, from 0 in the text that was read; ``text`` is what they say,
    less the first one's indentation, mark and box; ``above`` are the items that it stands below,
    the nearest last. ``has_box`` False: a line or row that says when something is due; of a row
    ``text`` are the cells with their columns' names, and the table's header stands ``above``."""

    first: int
    last: int
    text: str
    above: tuple[str, ...] = ()
    has_box: bool = True
    is_done: bool = False


def tasks_in(text: str, *, boxes_only: bool = False, header: str = "") -> Iterator[Task]:
    """Those of a note's text, in order; ``header`` is that of a table whose rows it begins with.
    Linear."""
    lines = text.split("\n")
    above: list[tuple[int, str]] = []
    fence = open_at_start(text)
    for n, line in enumerate(lines):
        if ("```" in line or "~~~" in line) and (mark := _FENCE.match(line)):
            if not fence:
                fence = mark["mark"]
            elif fence == mark["mark"] and not mark["info"].strip():
                fence = ""
                continue
        if fence:
            continue
        header = _header(lines, n, header) if "|" in line else ""
        if header and not boxes_only and (row := _row(_cells(header), _cells(line))):
            yield Task(n, n, row[0], (header,), False, row[1])
            continue
        item = _ITEM.match(line)
        box = item["box"] if item else None
        says = item["text"].strip() if item else line.strip()
        indent = len(item["indent"].expandtabs(4)) if item else 0
        if item:
            above = [one for one in above if one[0] < indent]
        elif line and not line[0].isspace():
            above = []
        is_task = box in tuple(" /xX") if box else not boxes_only and _is_due(says)
        if is_task and _WORD.search(_EMPTY.sub("", says) if "{" in says or "%" in says else says):
            last = _end(lines, n, indent) if item else n
            whole = "\n".join((says, *lines[n + 1 : last + 1]))
            is_done = box in ("x", "X") or bool(
                ("✅" in whole or "::" in whole) and _DONE_ON.search(whole)
            )
            yield Task(n, last, whole, tuple(said for _, said in above), bool(box), is_done)
        if item:
            above.append((indent, says))


def open_at_start(text: str) -> str:
    """The mark of the fence that a stretch begins within: what closes it is one with nothing
    behind it, one more than is opened, and that ends the stretch or has no task before it."""
    marks = [mark for line in text.split("\n") if (mark := _FENCE.match(line))]
    marks = [mark for mark in marks if mark["mark"] == marks[0]["mark"]]
    if len(marks) % 2 == 0 or marks[0]["info"].strip() or marks[-1]["info"].strip():
        return ""
    before, behind = text.partition(marks[0][0])[0], text.rpartition(marks[-1][0])[2]
    return "" if behind.strip() and _BOX.search(before) else marks[0]["mark"]


def open_table(text: str) -> str:
    """The header of a table that says when things are due, and that the text ends in; else ""."""
    header, lines = "", text.split("\n")
    for n in range(len(lines)):
        header = _header(lines, n, header)
    return header if any(map(_DUE_COLUMN.search, _cells(header))) else ""


def _header(lines: list[str], n: int, before: str) -> str:
    """That of the table that a line is in, or begins; "" outside of one."""
    if "|" not in lines[n]:
        return ""
    return lines[n] if n + 1 < len(lines) and _RULE.fullmatch(lines[n + 1]) else before


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _BAR.split(row.strip().removeprefix("|").removesuffix("|"))]


def _row(columns: list[str], cells: list[str]) -> tuple[str, bool] | None:
    """What a row says, and whether it is done with: its cell for that isn't empty."""
    pairs = list(zip(columns, cells, strict=False))
    if not any(_DUE_COLUMN.search(name) and DAY.match(cell) for name, cell in pairs):
        return None
    done = (cell for name, cell in pairs if _DONE_COLUMN.search(name))
    is_done = any(re.search(r"\w", cell) and not _NOT_DONE.match(cell) for cell in done)
    said = (
        f"due: {cell}" if _DUE_COLUMN.search(name) else f"{name}: {cell}" for name, cell in pairs
    )
    return " · ".join(said), is_done


def _is_due(line: str) -> bool:
    found = _SAYS_DUE[1].search(line) if _DIGIT.search(line) else None
    return found is not None and DAY.match(line, found.end()) is not None


def _end(lines: list[str], first: int, indent: int) -> int:
    """The last line of an item, without the items below it."""
    last = first
    for n in range(first + 1, len(lines)):
        line = lines[n].expandtabs(4)
        if len(line) - len(line.lstrip()) <= indent or _ITEM.match(line) or not line.strip():
            break
        last = n
    return last


def due_date(text: str, near: date) -> date | None:
    """The day on which the text says that it is due; ``near``: about when it was written."""
    found = (_date_behind(says, text, near) for says in _SAYS_DUE if _DIGIT.search(text))
    return next(filter(None, found), None)


def done_date(text: str, near: date) -> date | None:
    """The day on which the text says that it was done."""
    return _date_behind(_DONE_ON, text, near)


def _date_behind(mark: re.Pattern[str], text: str, near: date) -> date | None:
    for match in mark.finditer(text):
        said = DAY.match(text, match.end())
        if said and (day := nearest_day(*parts_of_day(said), near)):
            return day
    return None
