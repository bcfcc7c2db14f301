"""Keeps a reasoning model's ``<think>…</think>`` out of a stream of text, however it is cut up."""

from __future__ import annotations

import re

_OPEN = re.compile(r"(?<!`)<think(?:ing)?>", re.IGNORECASE)
_CLOSE = re.compile(r"(?<!`)</think(?:ing)?>", re.IGNORECASE)
_LONGEST_TAG = len("</thinking>")
_TAGS = ("<think>", "<thinking>", "</think>", "</thinking>")


class ThinkingFilter:
    """Feed it tokens, print what it returns; call ``finish`` at the end for what it held back.

    A block that is never closed is dropped to its end. A closing tag without an opening one is
    dropped. Tags in backticks are text. White space after a block that began the output goes too.
    """

    def __init__(self) -> None:
        self._held = ""
        self._last = ""  # the character before ``_held``: a backtick makes a tag text
        self._inside = False
        self._skip_space = False
        self._emitted = False

    def feed(self, text: str) -> str:
        self._held += text
        return self._drain(final=False)

    def finish(self) -> str:
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> str:
        out: list[str] = []
        while (self._inside and self._leave_block()) or (not self._inside and self._up_to_tag(out)):
            pass
        if not self._inside:
            keep = 0 if final else _tag_start(self._held)
            self._take(out, len(self._held) - keep)
        elif final:
            self._held = ""
        else:
            # The beginning of a tag, and the character before it, which may be a backtick.
            self._held = self._held[-(_tag_start(self._held) + 1) :]
        return "".join(out)

    def _leave_block(self) -> bool:
        close = _CLOSE.search(self._held)
        if close is None:
            return False
        self._held = self._held[close.end() :]
        self._inside = False
        self._skip_space = not self._emitted
        self._last = ""
        return True

    def _up_to_tag(self, out: list[str]) -> bool:
        """Emit what stands before the next tag and swallow the tag; False when there is none."""
        context = self._last + self._held
        shift = len(self._last)
        opening, closing = _OPEN.search(context), _CLOSE.search(context)
        tags = [tag for tag in (opening, closing) if tag is not None]
        if not tags:
            return False
        tag = min(tags, key=lambda match: match.start())
        self._take(out, tag.start() - shift)
        self._held = context[tag.end() :]
        self._last = ""
        self._inside = tag is opening
        if tag is closing:
            self._skip_space = not self._emitted
        return True

    def _take(self, out: list[str], count: int) -> None:
        """Emit the first ``count`` characters that are held."""
        text, self._held = self._held[:count], self._held[count:]
        if text:
            self._last = text[-1]
        if self._skip_space:
            text = text.lstrip()
            self._skip_space = not text
        if text:
            out.append(text)
            self._emitted = self._emitted or not text.isspace()


def _tag_start(text: str) -> int:
    """Length of the longest end of ``text`` that may be the beginning of a tag."""
    for length in range(min(len(text), _LONGEST_TAG - 1), 0, -1):
        end = text[-length:].lower()
        if any(tag.startswith(end) for tag in _TAGS):
            return length
    return 0
