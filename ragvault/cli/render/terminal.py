"""What an output stream can show: colour, symbols, width, links. Without rich: it is used by
help, errors and short results, which must not wait for it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TextIO

_CODES = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "underline": "4",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_ESC = "\x1b"


@dataclass(frozen=True)
class Terminal:
    """A stream and its abilities. ``width`` in columns (80 where there is no terminal)."""

    stream: TextIO
    is_tty: bool
    colour: bool
    unicode: bool
    width: int

    @classmethod
    def of(cls, stream: TextIO, colour: str = "auto") -> Terminal:
        """``colour`` is the setting ``output.color``: "auto" follows the terminal, NO_COLOR and
        TERM=dumb; "always" and "never" don't."""
        is_tty = _is_tty(stream)
        dumb = os.environ.get("TERM") == "dumb"
        wanted = is_tty and not dumb and not os.environ.get("NO_COLOR")
        if colour != "auto":
            wanted = colour == "always"
        return cls(
            stream=stream,
            is_tty=is_tty and not dumb,
            colour=wanted,
            unicode=_takes_unicode(stream),
            width=max(20, shutil.get_terminal_size((80, 24)).columns),
        )

    def style(self, text: str, names: str) -> str:
        """The text in a style such as "bold red", where there is colour."""
        if not text or not self.colour:
            return text
        codes = ";".join(_CODES[name] for name in names.split())
        return f"{_ESC}[{codes}m{text}{_ESC}[0m"

    def link(self, text: str, uri: str | None) -> str:
        """An OSC 8 link, on a terminal; elsewhere the text alone."""
        if uri is None or not self.is_tty:
            return text
        return f"{_ESC}]8;;{uri}{_ESC}\\{text}{_ESC}]8;;{_ESC}\\"

    def symbol(self, wanted: str, plain: str) -> str:
        """``wanted`` where the stream's encoding has it, else ``plain``."""
        return wanted if self.unicode else plain

    def print(self, text: str = "", end: str = "\n") -> None:
        self.stream.write(text + end)

    def flush(self) -> None:
        self.stream.flush()


def _is_tty(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def _takes_unicode(stream: TextIO) -> bool:
    try:
        "→✓…│█".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
