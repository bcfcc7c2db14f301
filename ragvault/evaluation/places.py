"""Where a passage stands, and whether that is the gold place: its section, or its span.

The catalog knows lines; spans are character offsets. The note is read from the vault for that,
once, and never written to. Gold that no search could find is named (``notices``): a question with
it counts as a miss, or is left out of a measure, and that must not look like a fault of the search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from ragvault.evaluation.dataset import Gold, Question
from ragvault.evaluation.metrics import Span
from ragvault.model import Chunk, StoredChunk
from ragvault.service.originals import on_disk
from ragvault.text import normalise

_LINE_END = re.compile(r"\r\n|\r|\n")


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
        start = starts[first - 1]
        end = starts[last] if last < len(starts) else len(self.text)
        return start, start + len(self.text[start:end].rstrip("\r\n"))


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


def in_section(stored: StoredChunk, gold: Gold) -> bool:
    """Whether a passage stands in the gold section, under that very heading, not one below; of a
    gold line: whether it holds the line."""
    if stored.chunk.rel_path != gold.file:
        return False
    if gold.line is not None:
        return stored.chunk.start_line <= gold.line <= stored.chunk.end_line
    if gold.heading is None:
        return True
    path = [folded(part) for part in stored.chunk.heading_path]
    wanted = folded(gold.heading)
    if not wanted or not path:
        return not wanted and not path
    tails = (" > ".join(path[i:]) for i in range(len(path)))
    return wanted in tails


def folded(value: str) -> str:
    return " ".join(normalise(value).split())


class Notes:
    """The notes of one vault, each read once as long as few are in use."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read = lru_cache(maxsize=64)(self._load)

    def __getitem__(self, rel_path: str) -> NoteText | None:
        """None when it can't be read any more."""
        return self._read(rel_path)

    def _load(self, rel_path: str) -> NoteText | None:
        try:
            data = on_disk(self._root, rel_path).read_bytes()
        except OSError:  # gone, or out of reach, since it was indexed
            return None
        return NoteText(data.decode("utf-8", "replace").removeprefix("\ufeff"))


# --------------------------------------------------------------------------- gold that is nowhere


def notices(
    questions: Sequence[Question], passages: Callable[[str], Sequence[StoredChunk]], notes: Notes
) -> tuple[str, ...]:
    """One for headings that no passage (of a note, by its path) stands under and one for spans
    that their note doesn't hold, each with its first example. Linear in the gold notes' text, and
    in the questions."""
    headings, spans = [], []
    for question in questions:
        for gold in question.gold if question.answerable else ():
            under = (in_section(stored, gold) for stored in passages(gold.file))
            if gold.heading is not None and not any(under):
                headings.append(f"(line {question.line}: {gold.heading!r} in {gold.file})")
            note = notes[gold.file] if gold.span else None
            if note is not None and gold_span(note, gold) is None:
                place = f"{gold.start}–{gold.end} in {gold.file}"
                spans.append(f"(line {question.line}: {place})")
    told = (
        (headings, "heading", "no passage stands right under; each counts as a miss"),
        (spans, "span", "their notes don't hold; they are left out"),
    )
    return tuple(
        f"The questions name {len(found):,} gold {kind}{'s' if len(found) > 1 else ''} that {what} "
        f"{found[0]}."
        for found, kind, what in told
        if found
    )
