"""An answer's text as a terminal shows it: each citation, in either style, becomes a linked [1]."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ragvault.cli.render.layout import MAX_LINE, columns
from ragvault.cli.render.terminal import Terminal
from ragvault.text import one_line, strip_controls


class AnswerPrinter:
    """Prints an answer's text as it comes, on a terminal wrapped at words. ``mark`` gives what a
    person sees of a citation ("[1]") and that with its link around it."""

    def __init__(self, out: Terminal, mark: Callable[[str], tuple[str, str]]) -> None:
        self._out = out
        self._known: list[str] = []
        self._mark = mark
        self._pending = ""
        self._column = 0
        self._gap = ""
        # Two columns are left for a full stop that follows a citation.
        self._limit = min(out.width - 2, MAX_LINE) if out.is_tty else None
        self.has_printed = False
        self._erase = ""  # what takes the draft away

    def draft(self, text: str) -> None:
        """The end of what isn't settled, dimmed, on a line of its own until the next call. Only
        where it can be told from what is."""
        self._out.print(self._erase, end="")
        self._erase = ""
        if self._out.is_tty and self._out.colour and (said := one_line(text)):
            lead = "\n" if self._column else ""
            self._out.print(lead + self._out.style(_tail(said, self._out.width - 1), "dim"), end="")
            back = f"\x1b[1A\x1b[{self._column + 1}G" if lead else ""
            self._erase = f"\r\x1b[2K{back}"
        self._out.flush()

    def expect(self, citation: str) -> None:
        """This citation may come in the text that follows."""
        known = {*self._known, strip_controls(citation)}
        self._known = sorted(known, key=len, reverse=True)

    def write(self, text: str) -> None:
        """Take the next piece of the text. What may cite comes in whole sentences; of a model's
        own tokens a word is held back until it is whole."""
        self.draft("")
        self._pending += strip_controls(text)
        end = max(self._pending.rfind(" "), self._pending.rfind("\n")) + 1
        cut = len(self._pending) if self._known else end
        ready, self._pending = self._pending[:cut], self._pending[cut:]
        self._emit(ready)
        self._out.flush()

    def finish(self) -> None:
        self.draft("")
        ready, self._pending = self._pending, ""
        self._emit(ready)
        if self._column:
            self._newline()
        self._gap = ""
        self._out.flush()

    def _citations(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each known citation, the longest that fits."""
        if self._known:
            known = "|".join(_number(c) if c[1:-1].isdigit() else re.escape(c) for c in self._known)
            yield from (match.span() for match in re.finditer(known, text))

    def _emit(self, text: str) -> None:
        position = 0
        for start, end in self._citations(text):
            self._plain(text[position:start])
            self._word(*self._mark(text[start:end]))
            position = end
        self._plain(text[position:])

    def _plain(self, text: str) -> None:
        for piece in re.findall(r"\n|[^\S\n]+|\S+", text):
            if piece == "\n":
                self._gap = ""
                self._newline()
            elif piece.isspace():
                self._gap += piece.replace("\t", "    ")
            else:
                self._word(piece, piece)

    def _word(self, visible: str, printable: str) -> None:
        width = columns(visible)
        gap = self._gap
        if self._limit and gap and self._column and self._column + len(gap) + width > self._limit:
            self._newline()
            gap = ""
        self._out.print(gap + printable, end="")
        self._column += len(gap) + width
        self._gap = ""
        self.has_printed = True

    def _newline(self) -> None:
        self._out.print()
        self._column = 0


def _tail(text: str, width: int) -> str:
    """Its last words, as far as they fit."""
    while columns(text) > width:
        text = "…" + text[max(2, columns(text) - width) + 1 :]
    return text


def _number(citation: str) -> str:
    """A pattern for "[1]", which "rows[1]" and "[1](url)" aren't."""
    return rf"(?<!\w){re.escape(citation)}(?!\()"
