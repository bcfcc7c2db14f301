"""What stderr shows while something takes long: a line, or a bar, gone when there is something to
read. rich is imported when there is a bar to show: a run that finds nothing to do never pays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragvault.cli.render import words
from ragvault.cli.render.terminal import Terminal
from ragvault.text import strip_controls

if TYPE_CHECKING:
    from rich.progress import Progress

_ERASE_LINE = "\r\x1b[2K"


class Waiting:
    """Shows a line on a terminal; nothing elsewhere. ``clear`` may be called more than once."""

    def __init__(self, err: Terminal) -> None:
        self._err = err
        self._is_shown = False

    def say(self, text: str) -> None:
        if not self._err.is_tty:
            return
        self.clear()
        self._err.print(self._err.style(text, "dim"), end="")
        self._err.flush()
        self._is_shown = True

    def clear(self) -> None:
        if self._is_shown:
            self._err.print(_ERASE_LINE, end="")
            self._err.flush()
            self._is_shown = False

    @contextmanager
    def shown(self, text: str) -> Iterator[None]:
        """The line for the length of a block."""
        self.say(text)
        try:
            yield
        finally:
            self.clear()


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


class BarProgress:
    """A bar on stderr: notes, then passages done, rate, time left."""

    def __init__(self, err: Terminal) -> None:
        self._err = err
        self._progress: Progress | None = None
        self._done = 0
        self._started = 0.0

    def start(self, vault: str, total: int, unit: str) -> None:
        self.finish()
        if total == 0:
            return
        self._done, self._started = 0, time.monotonic()
        self._progress = bar(self._err, unit, "rate")
        self._progress.add_task(words.cut(strip_controls(vault), 20), total=total, rate="")
        self._progress.start()

    def advance(self, done: int) -> None:
        if self._progress is None:
            return
        self._done += done
        rate = f"{self._done / max(time.monotonic() - self._started, 1e-3):.0f}/s"
        self._progress.update(self._progress.task_ids[0], advance=done, rate=rate)

    def finish(self) -> None:
        if self._progress is not None:
            self._progress.stop()
        self._progress = None
