"""A sentence of the draft as the answer shows it: its citations resolved, each in the style that
was asked for; those that lead nowhere are taken out without a trace, and one is added where the
writer gave none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ragvault.answering.citations.brackets import CitedContext, squeezed
from ragvault.answering.citations.parse import parse
from ragvault.answering.citations.resolve import Resolution, resolve
from ragvault.answering.citations.styles import Marks, RawCitation
from ragvault.model import Citation, CitationStatus, Hit

_BARE_NUMBERS = re.compile(r"\[\^?\d[\d\s,;]*\]")
_SAME_WORDS = 12  # letters: fewer may stand before a number by chance
_BEFORE_REMOVED = re.compile(
    r"[ \t]*(?:\(\s*(?:see\s+)?|,?\s*\b(?:according to|as (?:stated|mentioned|noted) in"
    r"|sources?\s*:|see)\s*)?[ \t]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the draft as it was read: without its citations (``statement``), and what
    each of them means."""

    source: str
    statement: str
    found: tuple[tuple[RawCitation, Resolution], ...]

    @property
    def cited(self) -> tuple[Hit, ...]:
        return tuple(dict.fromkeys(r.hit for _, r in self.found if r.hit is not None))


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence ready to be shown: its text, and its citations at offsets into that text."""

    text: str
    citations: tuple[Citation, ...]
    cited: tuple[Hit, ...]


def read(source: str, context: CitedContext) -> Sentence:
    """Find the sentence's citations and the chunk that each means."""
    raws = [raw for raw in parse(source, context) if not _is_notes_own(raw, source, context)]
    statement = _without(source, raws)
    found = [(raw, resolve(raw, context.hits, statement, context.style)) for raw in raws]
    return Sentence(source, statement, tuple(found))


def render(sentence: Sentence, marks: Marks, holder: Hit | None = None) -> Piece:
    """Put the style's citations for resolved ones, and take removed ones out. With ``holder``
    the sentence cites that chunk and no other, whatever its writer cited, if anything."""
    source, text, at = sentence.source, "", 0
    citations: list[Citation] = []
    cited: list[Hit] = []
    placed: dict[str, int] = {}  # citations at the end of the text so far → place
    for (start, end), group in groupby(sentence.found, key=lambda one: (one[0].start, one[0].end)):
        between = source[at:start]
        if between.strip():
            placed = {}
        text, at = text + between, end
        found = [(raw, _instead(resolved, holder)) for raw, resolved in group]
        hits_here = list(dict.fromkeys(r.hit for _, r in found if r.hit is not None))
        new = [mark for mark in map(marks.text, hits_here) if mark not in placed]
        if not new:
            text, skip = _closed_up(text, source[end:], is_repeated=bool(hits_here))
            at += skip
        for i, mark in enumerate(new):
            text += " " if i else ""
            placed[mark] = len(text)
            text += mark
        for raw, resolved in found:
            hit = resolved.hit
            place = len(text) if hit is None else placed[marks.text(hit)]
            chunk_id = None if hit is None else hit.chunk.id
            citations.append(Citation(raw.raw, place, resolved.status, chunk_id))
        cited += [hit for hit in hits_here if hit not in cited]
    text = _drop_empty_item(text + source[at:], source)
    if not text.strip():
        citations = [replace(citation, position=0) for citation in citations]
    elif holder is not None and not cited:
        text, added = _appended(text, marks.text(holder), holder)
        citations.append(added)
        cited.append(holder)
    return Piece(text, tuple(citations), tuple(cited))


def _instead(resolved: Resolution, holder: Hit | None) -> Resolution:
    if holder is None or resolved.hit is None or resolved.hit == holder:
        return resolved
    return Resolution(CitationStatus.REPAIRED, holder)


def _appended(text: str, mark: str, hit: Hit) -> tuple[str, Citation]:
    """The text with a citation at its end: below a fence or a table, else behind the words."""
    body = text.rstrip()
    is_block = body.rpartition("\n")[2].lstrip()[:1] in ("`", "~", "|")
    start = body + ("\n" if is_block else " ")
    citation = Citation(mark, len(start), CitationStatus.ADDED, hit.chunk.id)
    return start + mark + text[len(body) :], citation


def _is_notes_own(raw: RawCitation, source: str, context: CitedContext) -> bool:
    """A number in brackets that stands so in a note, behind the same words: copied with them."""
    if not _BARE_NUMBERS.fullmatch(raw.raw):
        return False
    before = squeezed(source[: raw.start])[-_SAME_WORDS:]
    return len(before) == _SAME_WORDS and context.holds(before + squeezed(raw.raw))


def _closed_up(before: str, after: str, *, is_repeated: bool) -> tuple[str, int]:
    """The text before a citation that goes, and how much to skip behind it, so that no bracket,
    space, lead-in or second full stop is left over."""
    text = before.rstrip(" \t") if is_repeated else _BEFORE_REMOVED.sub("", before)
    opened = before.count("(") > text.count("(") or text.endswith("(")
    text = text.removesuffix("(").rstrip(" \t") if opened else text
    skip = 1 if opened and after.startswith(")") else 0
    if opened and not skip:  # words follow inside the parenthesis: it stays
        text = before.rstrip(" \t")
    rest = after[skip:]
    if text.endswith("\n") and rest[:1] in ("", "\n"):
        text = text.rstrip()
    if text.rstrip()[-1:] in (".", "!", "?") and rest[:1] in (".", ","):
        skip += 1
    if not text.strip():
        skip += len(rest) - len(rest.lstrip(" \t,"))
    return text, skip


def _drop_empty_item(text: str, source: str) -> str:
    """A list item that was nothing but a removed citation goes altogether."""
    if text != source and not re.search(r"\w", text) and re.search(r"\w", source):
        return text[len(text.rstrip("\n")) :]
    return text


def _without(source: str, raws: Sequence[RawCitation]) -> str:
    text, at = "", 0
    for raw in raws:
        text, at = text + source[at : raw.start], raw.end
    text += source[at:]
    text = re.sub(r"\(\s*\)|\[\s*\]", "", text)
    return re.sub(r"[ \t]+([.,;:!?])", r"\1", re.sub(r"[ \t]{2,}", " ", text)).strip()
