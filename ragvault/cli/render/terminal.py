"""The output streams: any encoding, a closed pipe, what each can show (colour, symbols, width,
links), and what stderr shows while something takes long. Used by help, errors and short results,
which must not wait for rich: it is imported when there is a bar to show."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ragvault.text import snippet, strip_controls

if TYPE_CHECKING:
    from rich.progress import Progress

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
# What stands for ragvault's own signs where the stream's encoding lacks them.
_PLAIN = {
    " · ": ", ", "→": "->", "✓": "ok", "✗": "x", "⚠": "!", "•": "*", "│": "|", "–": "-", "›": ">",
    "…": "...",
}  # fmt: skip
_ESC = "\x1b"
_ERASE_LINE = "\r\x1b[2K"
SCHEMA_VERSION = 1  # of every JSON object; keys are added, never renamed


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
        is_tty = stream.isatty() and os.environ.get("TERM") != "dumb"
        wanted = is_tty and not os.environ.get("NO_COLOR")
        return cls(
            stream=stream,
            is_tty=is_tty,
            colour=wanted if colour == "auto" else colour == "always",
            unicode=_takes_unicode(stream),
            width=max(20, shutil.get_terminal_size((80, 24)).columns),
        )

    def style(self, text: str, names: str) -> str:
        """The text in a style such as "bold red", where there is colour."""
        if not text or not names or not self.colour:
            return text
        codes = ";".join(_CODES[name] for name in names.split())
        return f"{_ESC}[{codes}m{text}{_ESC}[0m"

    def link(self, text: str, uri: str | None) -> str:
        """An OSC 8 link, on a terminal; elsewhere the text alone."""
        if uri is None or not self.is_tty:
            return text
        return f"{_ESC}]8;;{uri}{_ESC}\\{text}{_ESC}]8;;{_ESC}\\"

    def print(self, text: str = "", style: str = "", end: str = "\n") -> None:
        """In a style; with plain signs where the stream's encoding lacks ragvault's."""
        for sign, plain in () if self.unicode else _PLAIN.items():
            text = text.replace(sign, plain)
        self.stream.write(self.style(text, style) + end)

    def print_raw(self, path: str) -> None:
        """A file's name, also one that isn't in the stream's encoding."""
        self.stream.flush()
        self.stream.buffer.write(os.fsencode(path))

    def flush(self) -> None:
        self.stream.flush()


def _takes_unicode(stream: TextIO) -> bool:
    try:
        "→✓…│█".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def prepare_streams() -> None:
    """Print what the stream's encoding lacks as ``?`` rather than fail on it. A stream that was
    closed before the start (``>&-``) goes nowhere, or is empty (``<&-``)."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
        if isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="replace")


def close_stdout_quietly() -> None:
    """After the reader of stdout has gone (``| head``): let the interpreter's last flush go
    nowhere instead of failing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def print_json(value: dict[str, Any], *, on_one_line: bool = False) -> None:
    """One object on stdout, ``schema_version`` first. Numbers are finite, keys are text."""
    import json

    from ragvault.service.json_objects import rounded

    value = rounded({"schema_version": SCHEMA_VERSION, **value})
    indent = None if on_one_line else 2
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeError, LookupError):  # another encoding, or a lone surrogate in a file name
        text = json.dumps(value, indent=indent, allow_nan=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


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
        from rich import progress
        from rich.console import Console

        err = self._err
        self._progress = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=24),
            progress.MofNCompleteColumn(),
            progress.TextColumn(unit),
            progress.TimeRemainingColumn(compact=True),
            console=Console(file=err.stream, no_color=not err.colour, highlight=False),
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
