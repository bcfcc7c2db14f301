"""A sentence of the draft as the answer shows it: its citations resolved, each in the style that
was asked for; those that lead nowhere are taken out without a trace, and one is added where the
writer gave none.

File and section are each compared at ever looser levels of equality (``_Level``); the hits at the
strictest level that any reaches are the candidates, and among several the one that best holds the
citing sentence is taken. What is equal at no level isn't in the context: the citation is removed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import IntEnum
from itertools import groupby

from ragvault.answering.check.support import coverage, evidence_text
from ragvault.answering.citations.parse import CitedContext, parse, squeezed
from ragvault.answering.citations.styles import (
    FILE_SECTION,
    TOP,
    CitationStyle,
    Marks,
    RawCitation,
    section_label,
)
from ragvault.model import Citation, CitationStatus, Hit
from ragvault.text import one_line

_TYPO_RATIO = 0.86  # of difflib: about one wrong letter in seven
_MIN_TYPO_LENGTH = 5
_HELD = 0.5  # coverage of the sentence above which a wrong section name is forgiven
_EXTENSION = re.compile(r"\.(?:md|markdown|txt|mdx)$")
_TOP_NAMES = frozenset({"top", "introduction", "intro", "none", "n/a", "untitled", "no heading"})


class _Level(IntEnum):
    EXACT = 0
    FOLDED = 1  # case, Unicode form, quotes, heading marks, white space
    PART = 2  # folder, extension or a level of the heading path left out; the note's title
    TYPO = 3
    ABSENT = 9


@dataclass(frozen=True, slots=True)
class Resolution:
    """``hit`` is None exactly when ``status`` is REMOVED."""

    status: CitationStatus
    hit: Hit | None


def resolve(
    raw: RawCitation,
    hits: Sequence[Hit],
    sentence: str = "",
    style: CitationStyle = FILE_SECTION,
) -> Resolution:
    """The chunk that is meant. ``hits`` are those of the prompt, in its order; ``sentence`` is
    the citing one, without its citations; ``style`` the one that was asked for."""
    candidates = list(hits)
    if raw.number is not None:
        candidates = _numbered(raw.number, hits)
    if raw.file is not None:
        wanted = raw.file
        candidates = _best(candidates, lambda h: _file_level(wanted, h), _file_of)
    if raw.section is not None:
        section, named = raw.section, candidates
        candidates = _best(named, lambda h: _section_level(section, h), lambda h: h.chunk.place)
        if not candidates and raw.file is not None:
            # The section is nowhere, but the one file it names holds the sentence.
            candidates = [h for h in named if _overlap(sentence, h, of_note=False) >= _HELD]
        elif raw.file is None and len({h.chunk.place for h in candidates}) > 1 and not sentence:
            candidates = []
    if not candidates:
        return Resolution(CitationStatus.REMOVED, None)
    hit = max(candidates, key=lambda h: _overlap(sentence, h))
    is_unclear = raw.number is None and len({_file_of(h) for h in candidates}) > 1
    is_exact = raw.raw in style.forms(hits) and not is_unclear
    return Resolution(CitationStatus.EXACT if is_exact else CitationStatus.REPAIRED, hit)


def _numbered(number: int, hits: Sequence[Hit]) -> list[Hit]:
    """The n-th passage of the prompt: its hit, and the neighbours that may be in it. Neighbours
    (not ranked) follow the hits and have no number."""
    found = [hit for hit in hits if hit.is_ranked]
    if not 1 <= number <= len(found):
        return []
    own = found[number - 1]
    return [own, *(h for h in hits if not h.is_ranked and h.chunk.place == own.chunk.place)]


def _best(
    hits: Sequence[Hit], level: Callable[[Hit], _Level], place: Callable[[Hit], object]
) -> list[Hit]:
    """The hits at the strictest level that any reaches; a typo must point to one place only."""
    levels = [level(hit) for hit in hits]
    best = min(levels, default=_Level.ABSENT)
    found = [hit for hit, reached in zip(hits, levels, strict=True) if reached == best]
    is_guess = best == _Level.TYPO and len({place(hit) for hit in found}) > 1
    return [] if best == _Level.ABSENT or is_guess else found


def _file_of(hit: Hit) -> object:
    return hit.chunk.vault, hit.chunk.rel_path


def _file_level(wanted: str, hit: Hit) -> _Level:
    path, note = hit.chunk.rel_path, hit.note
    cited, full = _fold(wanted).removeprefix("./").lstrip("/"), _fold(path)
    # No path: every note of that name is meant, also one at the root.
    if wanted in (path, one_line(path)) or cited == full.rpartition("/")[2]:
        return _Level.EXACT
    if cited in (full, f"{_fold(hit.chunk.vault)}/{full}"):
        return _Level.FOLDED
    base, own = (_EXTENSION.sub("", name.rpartition("/")[2]) for name in (cited, full))
    names = {_squeeze(_fold(name)) for name in (own, note.title, *note.aliases)} - {""}
    if _squeeze(base) in names:  # weekly standup for weekly-standup, or another folder before it
        return _Level.PART
    return _Level.TYPO if _is_typo(base, own) else _Level.ABSENT


def _section_level(wanted: str, hit: Hit) -> _Level:
    path = hit.chunk.heading_path
    if wanted in (section_label(path), " > ".join(path) or TOP):
        return _Level.EXACT
    whole, have = _plain(wanted), [_plain(part) for part in path]
    if not path:
        known = _TOP_NAMES | {_plain(hit.note.title), _EXTENSION.sub("", _fold(hit.chunk.rel_path))}
        return _Level.FOLDED if whole in known else _Level.ABSENT
    cited = [part for name in re.split(r"[>›→»]", wanted) if (part := _plain(name))]
    if cited == have or whole == _plain(" > ".join(path)):
        return _Level.FOLDED
    # A heading that holds ">" itself, a level left out, or one too many, such as the note's title.
    if whole in have or (cited and (set(cited) <= set(have) or set(have) <= set(cited))):
        return _Level.PART
    return _Level.TYPO if cited and _is_typo(cited[-1], have[-1]) else _Level.ABSENT


def _fold(name: str) -> str:
    name = unicodedata.normalize("NFKC", name).casefold()
    name = name.translate(str.maketrans("“”„’‘`–—", "\"\"\"'''--")).replace("\\", "")
    return " ".join(name.split())


def _plain(heading: str) -> str:
    """A heading without its marks, emphasis, links and closing punctuation."""
    heading = re.sub(r"!?\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|[*_`~]", r"\1", _fold(heading))
    return heading.strip().lstrip("#").strip().rstrip(":.#").strip(" \"'")


def _squeeze(name: str) -> str:
    return re.sub(r"[\W_]+", "", name)


def _is_typo(cited: str, known: str) -> bool:
    """Close enough for a misspelling. Numbers differ or not: "2024-03" is never "2024-04"."""
    if min(len(cited), len(known)) < _MIN_TYPO_LENGTH:
        return False
    if re.findall(r"\d+", cited) != re.findall(r"\d+", known):
        return False
    return SequenceMatcher(None, cited, known, autojunk=False).ratio() >= _TYPO_RATIO


def _overlap(sentence: str, hit: Hit, *, of_note: bool = True) -> float:
    """How much of the sentence the chunk holds, with what is known of its note or without."""
    text = evidence_text(hit) if of_note else hit.chunk.text
    return coverage(sentence, text) if sentence.strip() else 0.0


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
        found = list(group)
        if holder is not None:
            held = Resolution(CitationStatus.MOVED, holder)
            found = [(raw, one if one.hit in (None, holder) else held) for raw, one in found]
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
