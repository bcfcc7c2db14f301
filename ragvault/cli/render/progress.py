"""What stderr shows while something takes long: a line, or a bar, gone when there is something to
read. rich is imported when there is a bar to show: a run that finds nothing to do never pays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragvault.cli.render.terminal import Terminal
from ragvault.text import snippet, strip_controls

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


class BarProgress:
    """A bar on a terminal's stderr: how much is done, time left; nothing elsewhere."""

    def __init__(self, err: Terminal) -> None:
        self._err = err
        self._progress: Progress | None = None

    def start(self, vault: str, total: int, unit: str) -> None:
        self.finish()
        if total == 0 or not self._err.is_tty:
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        err = self._err
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn(unit),
            TimeRemainingColumn(compact=True),
            console=Console(
                file=err.stream, no_color=not err.colour, highlight=False, markup=False
            ),
            transient=True,
            refresh_per_second=5,
        )
        self._progress.add_task(snippet(strip_controls(vault), 20), total=total)
        self._progress.start()

    def advance(self, done: int) -> None:
        if self._progress is not None:
            self._progress.advance(self._progress.task_ids[0], done)

    def finish(self) -> None:
        if self._progress is not None:
            self._progress.stop()
        self._progress = None
