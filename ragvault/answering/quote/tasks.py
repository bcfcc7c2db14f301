"""The tasks that were asked for as quotations, in the order in which they were found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from textwrap import dedent

from ragvault.answering.context import neutralise
from ragvault.answering.quote import show
from ragvault.answering.quote.units import ITEM_MARK
from ragvault.model import Hit, Quote, TaskPlace
from ragvault.text import stems, strip_controls

# A heading that says of tasks only that they are some.
_PLAIN = re.compile(
    r"\W*(?:(?:open|next|my) )?(?:tasks?|to-?do(?:s| list)?|actions?|aufgaben|offen\w*|tareas"
    r"|pendientes?|tâches|à faire)\W*$",
    re.IGNORECASE,
)


def task_quotes(tasks: Sequence[TaskPlace], hits: Sequence[Hit]) -> list[Quote]:
    """One for each run of tasks of one passage; those of passages that aren't among the hits are
    left out. A single one is a line of a list."""
    by_id = {hit.chunk.id: hit for hit in hits}
    known = [task for task in tasks if task.chunk_id in by_id]
    return [
        _quote(by_id[chunk_id], list(run)) for chunk_id, run in groupby(known, lambda t: t.chunk_id)
    ]


def _quote(hit: Hit, run: list[TaskPlace]) -> Quote:
    lines = hit.chunk.text.split("\n")
    parts = tuple("\n".join(lines[task.first : task.last + 1]) for task in run)
    is_line = len(run) == 1
    shown = [_shown(lines, task, alone=is_line) for task in run]
    body = "\n".join(shown)
    above = {() if _is_row(lines, task) else task.above for task in run}
    names = " · ".join(_names(hit, above.pop() if len(above) == 1 else (), body))
    gap = " " if is_line and "\n" not in body else "\n"
    text = f"{names} —{gap}{body}" if names else body
    return Quote(hit, parts, neutralise(strip_controls(text)), 1.0, is_line=gap == " ")


def _shown(lines: list[str], task: TaskPlace, *, alone: bool) -> str:
    """A list item; a row with its columns' names."""
    text = dedent("\n".join(lines[task.first : task.last + 1]))
    if _is_row(lines, task):
        return show.row(show.cells(task.above[0]), text)
    return show.item(text) if alone else show.unwrapped(text)


def _is_row(lines: list[str], task: TaskPlace) -> bool:
    first = lines[task.first]
    return bool(task.above) and "|" in first and not ITEM_MARK.match(first)


def _names(hit: Hit, above: Sequence[str], body: str) -> list[str]:
    """Note, headings and the items that all stand below, where the body doesn't say so."""
    said = set(stems(body))
    names: list[str] = []
    for name in (hit.note.title, *hit.chunk.heading_path, *above):
        name = show.sentence(ITEM_MARK.sub("", name, count=1))
        if not _PLAIN.match(name) and not stems(name) <= said:
            names.append(name)
            said |= stems(name)
    return names
