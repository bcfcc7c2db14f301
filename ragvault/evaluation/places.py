"""Where a passage stands in its note, in characters: to compare it with gold spans.

The catalog knows lines; spans are character offsets. The note is read from the vault for that,
once, and never written to.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path

from ragvault.evaluation.dataset import Gold
from ragvault.evaluation.metrics import Span
from ragvault.model import Chunk

_LINE_END = re.compile(r"\r\n|\r|\n")
_CACHED_NOTES = 64


class NoteText:
    """A note's text with the offsets of its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(m.end() for m in _LINE_END.finditer(text))]

    def line_span(self, first: int, last: int) -> Span:
        """Offsets of the lines ``first``..``last`` (1-based), the last line end not included."""
        starts = self._starts
        first = min(max(first, 1), len(starts))
        last = min(max(last, first), len(starts))
        end = starts[last] if last < len(starts) else len(self.text)
        return starts[first - 1], len(self.text[starts[first - 1] : end].rstrip("\r\n")) + starts[
            first - 1
        ]


def chunk_span(note: NoteText, chunk: Chunk) -> Span:
    """Where a chunk's text stands. A part of one long line is looked for within it.

    Where the note has changed since it was indexed, the lines count.
    """
    start, end = note.line_span(chunk.start_line, chunk.end_line)
    inside = note.text[start:end]
    if len(inside) <= len(chunk.text):
        return start, end
    at = inside.find(chunk.text)
    return (start + at, start + at + len(chunk.text)) if at >= 0 else (start, end)


def gold_span(note: NoteText, gold: Gold) -> Span | None:
    """A gold span, moved to where its text stands if the offsets miss it (other line ends, a
    byte order mark); None when the note doesn't hold the text."""
    span = gold.span
    if span is None or gold.text is None or note.text[span[0] : span[1]] == gold.text:
        return span if span is None or span[1] <= len(note.text) else None
    at = min(
        (m.start() for m in re.finditer(re.escape(gold.text), note.text)),
        key=lambda found: abs(found - span[0]),
        default=-1,
    )
    return (at, at + len(gold.text)) if at >= 0 else None


class Notes:
    """The notes of one vault, each read once as long as few are in use."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read = lru_cache(maxsize=_CACHED_NOTES)(self._load)

    def __getitem__(self, rel_path: str) -> NoteText | None:
        """None when it can't be read any more."""
        return self._read(rel_path)

    def _load(self, rel_path: str) -> NoteText | None:
        try:
            data = self._on_disk(rel_path).read_bytes()
        except OSError:  # gone, or out of reach, since it was indexed
            return None
        return NoteText(data.decode("utf-8", "replace").removeprefix("\ufeff"))

    def _on_disk(self, rel_path: str) -> Path:
        """The real path: ``rel_path`` is NFC, the name on disk may be NFD."""
        path = self._root / rel_path
        if path.exists() or rel_path.isascii():
            return path
        path = self._root
        for part in Path(rel_path).parts:
            names = [entry.name for entry in path.iterdir()]
            path /= next((n for n in names if unicodedata.normalize("NFC", n) == part), part)
        return path
