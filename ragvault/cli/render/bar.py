"""A bar on stderr while something long goes on. It disappears at the end.

rich is imported when there is something to show: a run that finds nothing to do never pays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

    from ragvault.cli.render.terminal import Terminal


def bar(err: Terminal, unit: str, *fields: str) -> Progress:
    """Not started yet. A task has a description, a total in ``unit`` and these text fields."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(file=err.stream, no_color=not err.colour, highlight=False, markup=False)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn(unit),
        *(TextColumn(f"{{task.fields[{field}]}}", markup=False) for field in fields),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        refresh_per_second=5,
    )


@contextmanager
def counting(
    err: Terminal, what: str, total: int, unit: str = "questions"
) -> Iterator[Callable[[], None]]:
    """A bar that each call moves on by one; nothing where there is no terminal."""
    if not err.is_tty:
        yield lambda: None
        return
    with bar(err, unit) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)
