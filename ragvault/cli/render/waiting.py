"""One line on stderr while something takes long, gone when there is something to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ragvault.cli.render.terminal import Terminal

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
