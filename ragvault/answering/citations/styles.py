"""How citations are asked for, written and recognised: one class a style.

A style says how the model is to cite and how a citation stands in the answer. Reading is the same
for all: models write what they like, so ``parse`` knows every style's forms, whatever was asked
for. A new style is a class here and a line in ``STYLES``, and its name in
``config.settings.CitationSettings``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragvault.model import HeadingPath, Hit
from ragvault.text import one_line

# What stands behind a model's statement: it is held in other words, or (where marked) not at all.
PARTLY, UNSUPPORTED = "(partly)", "(not in your notes)"
TOP = "(top)"  # the section of a chunk that stands before its note's first heading


@dataclass(frozen=True, slots=True)
class RawCitation:
    """A citation as it was written, at ``start..end`` of the draft.

    Several in one bracket share their place. ``number`` is that of a block of the context.
    """

    raw: str = ""
    start: int = 0
    end: int = 0
    file: str | None = None
    section: str | None = None
    number: int | None = None


class CitationStyle:
    """``[File: a.md, Section: A > B]``, as notes-engine-rag.md asks for it, and what any other
    style gives instead. All methods are pure."""

    # What the model is told, after the context.
    instruction = (
        "When citing sources, use the format '[File: filename.md, Section: section name]' "
        "matching the exact filename and section name from the context above."
    )

    def label(self, number: int) -> str:
        """The line that heads the context's block of that number."""
        return f"[Chunk {number}]"

    def block(self, number: int, vault: str, file: str, path: HeadingPath, text: str) -> str:
        """A passage as the context shows it, with its place."""
        place = f"[Vault: {vault}] File: {file}\nSection: {section_label(path)}"
        return f"{self.label(number)}\n{place}\nContent: {text}"

    def render(self, hit: Hit, number: int) -> str:  # noqa: ARG002
        """The citation as the answer shows it, here the same for all passages of a section.
        ``number`` counts the answer's references from 1, or the context's blocks where an example
        is given to the model."""
        return canonical(hit)

    def forms(self, hits: Sequence[Hit]) -> dict[str, RawCitation]:
        """What a model that follows the instruction may write, letter by letter, and what it
        means: with the headings' marks, which the context shows, and without. ``hits`` are those
        of the context."""
        return {
            canonical(hit, section): RawCitation(file=hit.chunk.rel_path, section=section)
            for hit in hits
            for path in [hit.chunk.heading_path]
            for section in (" > ".join(path) or TOP, section_label(path))
        }

    def guard(self, text: str) -> str:
        """A note's text, with a "·" in what could be taken for this style's citation: here as it
        is, since ``context.neutralise`` breaks labels and names in any case."""
        return text


class Numeric(CitationStyle):
    """``[1]``: fewer tokens to write, and harder to misspell."""

    instruction = (
        "When citing sources, put the number of the chunk that holds it in square brackets, "
        "as it stands above the chunk: [1], or [1] [2] for two chunks."
    )
    _NOTES_OWN = re.compile(r"(?<!\w)\[(?=\^?\d{1,3}(?:\s*[,;]\s*\d{1,3})*\](?!\())")

    def label(self, number: int) -> str:
        return f"[{number}]"

    def render(self, hit: Hit, number: int) -> str:  # noqa: ARG002
        return f"[{number}]"

    def forms(self, hits: Sequence[Hit]) -> dict[str, RawCitation]:
        """One a block; neighbours (not ranked) are in the block of the hit beside them."""
        count = sum(hit.is_ranked for hit in hits)
        return {f"[{n}]": RawCitation(number=n) for n in range(1, count + 1)}

    def guard(self, text: str) -> str:
        """The footnotes of a note are none of the context's numbers."""
        return self._NOTES_OWN.sub("[·", text)


class Uncited(CitationStyle):
    """For a model that is only asked to answer: the passage under its place, no number, and
    nothing said of citing. Never the style of an answer."""

    instruction = ""

    def block(self, _number: int, _vault: str, file: str, path: HeadingPath, text: str) -> str:
        return f"## {' > '.join((file.rpartition('.')[0] or file, *path))}\n{text}"


FILE_SECTION = CitationStyle()
UNCITED = Uncited()
STYLES: dict[str, CitationStyle] = {"file-section": FILE_SECTION, "numeric": Numeric()}


class Marks:
    """The citations of one answer: numbered in order of first use, each as its style writes it."""

    def __init__(self, style: CitationStyle) -> None:
        self._style = style
        self._numbers: dict[str, int] = {}  # by chunk id

    def number(self, hit: Hit) -> int:
        """From 1; the same for the same chunk."""
        return self._numbers.setdefault(hit.chunk.id, len(self._numbers) + 1)

    def text(self, hit: Hit) -> str:
        return self._style.render(hit, self.number(hit))


def section_label(path: HeadingPath) -> str:
    """The section as the context shows it: ``# Meetings > ## Weekly Standup``."""
    return " > ".join(f"{'#' * min(i, 6)} {name}" for i, name in enumerate(path, 1)) or TOP


def canonical(hit: Hit, section: str | None = None) -> str:
    """``[File: rel_path, Section: A > B]``, or with the section as it may be written too."""
    section = section or " > ".join(hit.chunk.heading_path) or TOP
    return f"[File: {one_line(hit.chunk.rel_path)}, Section: {one_line(section)}]"
