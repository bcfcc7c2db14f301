"""Keeps a reasoning model's ``<think>…</think>`` out of a stream of text, however it is cut up."""

from __future__ import annotations

import re

_TAG = re.compile(r"(`?</?think(?:ing)?>)", re.IGNORECASE)


class ThinkingFilter:
    """Feed it tokens, print what it returns; call ``finish`` at the end for what it held back.

    A block that is never closed is dropped to its end. A closing tag without an opening one is
    dropped. Tags in backticks are text. White space after a block that began the output goes too.
    """

    def __init__(self) -> None:
        self._held = ""
        self._is_inside = False
        self._is_after = False  # a block, or a closing tag
        self._has_shown = False  # more than white space

    def feed(self, text: str) -> str:
        self._held += text
        return self._drain(_settled(self._held))

    def finish(self) -> str:
        return self._drain(len(self._held))

    def _drain(self, count: int) -> str:
        """What is visible of the first ``count`` characters that are held."""
        text, self._held = self._held[:count], self._held[count:]
        shown = []
        for part in _TAG.split(text):
            if part.lower() in ("<think>", "<thinking>"):
                self._is_inside = True
            elif part.lower() in ("</think>", "</thinking>"):
                self._is_inside, self._is_after = False, True
            elif not self._is_inside:
                shown.append(part.lstrip() if self._is_after and not self._has_shown else part)
                self._has_shown = self._has_shown or bool(part.strip())
        return "".join(shown)


def _settled(text: str) -> int:
    """How many characters can't become part of a tag, or of the backtick before one."""
    start = text.rfind("<")
    end = text[start:].lower() if start >= 0 else "no tag"
    if any(tag.startswith(end) for tag in ("<thinking>", "</thinking>")):
        return start - (text[start - 1 : start] == "`")
    return len(text) - text.endswith("`")
