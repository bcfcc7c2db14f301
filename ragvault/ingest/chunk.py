"""A Note to its Chunks. Pure and deterministic: the same note gives the same chunks anywhere.

A section that fits the embedder's window is one chunk; a longer one is cut by ``split``. Then:

- A heading with nothing under it (or only embeds, bare images, link definitions) is no chunk of
  its own: its lines go with the next section (or, at the end of the note, with the one before, if
  both fit). A note of nothing but headings is one chunk. A few words before the first heading go
  with the first section, too.
- The link definitions at the end of a section stand in its last chunk's text, where the word
  search finds them; the model doesn't read them, so they take no room.
- Frontmatter goes with the first section when both fit, or when it is short (a quarter of the
  window); else it is a chunk of its own with an empty heading path. What is embedded for it is
  ``Note.frontmatter_text``, not the YAML.
- A note without any text is one chunk: its title, so that it is found by name.

``Chunk.text`` is one contiguous stretch of the file: whole lines, except where a single line is
longer than a chunk and had to be cut. When the same note comes to give other chunks or embed
texts, ``plan.CHUNK_FORMAT`` has to change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import takewhile

from ragvault.config.settings import ChunkingSettings
from ragvault.formats.inline import says_nothing
from ragvault.ingest.split import Piece, costs_of, piece_text, split_lines
from ragvault.model import Chunk, HeadingPath, Note, Section
from ragvault.ports import TokenCounter
from ragvault.text import without_definitions

_HEADER_SHARE = 3  # title and heading path take at most a third of the window
_SHORT_PREAMBLE = 12  # words
_MAX_LINKS = 4_000  # characters of link definitions that a chunk carries beside its text
_ATTEMPTS = 6


def embed_format(title: str, heading_path: HeadingPath, shown: int, text: str) -> str:
    """What the model reads: the title, the headings above, a blank line, the text.

    The last ``shown`` headings stand in the text itself and aren't repeated; nor is a title
    that is also the first heading.
    """
    path = list(heading_path[: len(heading_path) - shown])
    names = [title]
    if heading_path and heading_path[0].casefold() == title.casefold():
        names = path[:1]
        path = path[1:]
    if path:
        names.append(" > ".join(path))
    return "\n".join(filter(None, names)) + "\n\n" + text if names else text


@dataclass(frozen=True, slots=True)
class _Unit:
    """Lines ``first..last`` (1-based) under one heading path; ``shown`` of its headings stand in
    them. ``front`` when they begin with the frontmatter."""

    heading_path: HeadingPath
    first: int
    last: int
    shown: int
    front: bool = False


@dataclass(frozen=True, slots=True)
class _Draft:
    """A chunk before it has its numbers."""

    heading_path: HeadingPath
    first: int
    last: int
    text: str
    embed_text: str


def chunk_note(
    note: Note, vault: str, counter: TokenCounter, settings: ChunkingSettings, window: int
) -> tuple[Chunk, ...]:
    """The chunks of one note, in order; at least one.

    ``window`` is the embedder's, in tokens, specials not counted; ``settings.max_tokens`` can
    only lower it. Every non-blank line of the body is in at least one chunk. No ``embed_text``
    is longer than the window, unless a single grapheme is. Linear in the note; tokens are
    counted in one batch for all sections, and in a few more for frontmatter and a long section.
    """
    limit = max(1, min(window, settings.max_tokens or window))
    maker = _Maker(note, counter, limit, settings.overlap)
    ordinals: dict[HeadingPath, int] = {}
    chunks: list[Chunk] = []
    for draft in maker.drafts():
        path = draft.heading_path
        ordinal = ordinals.get(path, 0)
        ordinals[path] = ordinal + 1
        text_hash = hashlib.sha256(draft.embed_text.encode("utf-8", "replace")).hexdigest()
        key = "\0".join((vault, note.rel_path, *path, str(ordinal), text_hash))
        chunk_id = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        place = (ordinal, len(chunks), draft.first, draft.last)
        texts = (draft.text, draft.embed_text, text_hash)
        chunks.append(Chunk(chunk_id, vault, note.rel_path, path, *place, *texts))
    return tuple(chunks)


def _units(note: Note) -> list[_Unit]:
    """The sections that say something, each with the bare headings before it."""
    units: list[_Unit] = []
    carried: list[Section] = []
    for section in note.sections:
        _, last = _trim(note, section.start_line, section.end_line)
        carried.append(section)
        if _is_bare(section) or (not section.heading_path and _is_short(section, note)):
            continue
        path = section.heading_path
        above = _common(carried[0].heading_path[:-1], path)
        first, _ = _trim(note, carried[0].start_line, last)
        units.append(_Unit(path, first, last, len(path) - len(above)))
        carried = []
    if carried:
        path = reduce(_common, (section.heading_path for section in carried))
        first, last = _trim(note, carried[0].start_line, carried[-1].end_line)
        shown = max(0, len(path) - len(carried[0].heading_path[:-1]))
        units.append(_Unit(path, first, last, shown))
    return units


def _trim(note: Note, first: int, last: int) -> tuple[int, int]:
    """Without blank lines at either end."""
    while first < last and not note.lines[first - 1].strip():
        first += 1
    while last > first and not note.lines[last - 1].strip():
        last -= 1
    return first, last


def _is_bare(section: Section) -> bool:
    """Nothing but the heading, rules and marks, and what says nothing."""
    text = section.text
    if section.heading_path:
        text = text.partition("\n")[2]
    return says_nothing(text)


def _is_short(section: Section, note: Note) -> bool:
    """A few words before the first heading: tags, a link up."""
    words = section.text.split(None, _SHORT_PREAMBLE)
    return section is not note.sections[-1] and len(words) <= _SHORT_PREAMBLE


def _common(a: HeadingPath, b: HeadingPath) -> HeadingPath:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    return tuple(name for name, _ in same)


class _Maker:
    """Drafts of one note's chunks, for one window."""

    def __init__(self, note: Note, counter: TokenCounter, limit: int, overlap: float) -> None:
        self._note = note
        self._counter = counter
        self._limit = limit
        self._overlap = overlap
        self._costs: dict[_Unit, int] = {}
        self._front_last = note.frontmatter_lines[1] if note.frontmatter_lines else 0
        title_line = f"title: {note.title}"
        self._front_text = "\n".join(
            line for line in note.frontmatter_text.split("\n") if line != title_line
        )

    def drafts(self) -> Iterator[_Draft]:
        units = _units(self._note)
        if not units and not self._front_last:  # the title, over the note's (blank or no) lines
            yield _Draft((), 1, max(1, len(self._note.lines)), "", self._note.title)
            return
        self._count(units)
        for unit in self._arranged(units):
            if self._fits(unit):
                yield self._whole(unit)
            else:
                yield from self._cut(unit)

    def _arranged(self, units: list[_Unit]) -> list[_Unit]:
        """The units with a bare end joined on and the frontmatter placed."""
        note = self._note
        if len(units) > 1 and all(
            _is_bare(one) for one in note.sections if one.start_line >= units[-1].first
        ):
            joined = replace(units[-2], last=units[-1].last)
            if self._fits(joined):
                units = [*units[:-2], joined]
        if not self._front_last:
            return units
        front = _Unit((), 1, self._front_last, 0, front=True)
        if units:
            with_front = replace(units[0], first=1, front=True)
            is_short = self._count([front])[0] <= self._limit // 4 and not self._fits(units[0])
            if is_short or self._fits(with_front):
                return [with_front, *units[1:]]
            if not self._front_text:
                return units
        if not self._fits(front):  # its YAML is cut
            front = replace(front, front=False)
            self._costs[front] = self._limit + 1
        return [front, *units]

    def _said(self, unit: _Unit) -> int:
        """How many of its lines are read: link definitions at the end, and the blank lines before
        them, aren't, unless they are too many."""
        lines = self._note.lines[unit.first - 1 : unit.last]
        said = without_definitions(lines)
        return len(lines) if sum(map(len, lines[said:])) > _MAX_LINKS else said

    def _fits(self, unit: _Unit) -> bool:
        return self._count([unit])[0] <= self._limit

    def _count(self, units: Sequence[_Unit]) -> list[int]:
        """Tokens of each as a whole, counted once."""
        new = [unit for unit in units if unit not in self._costs]
        texts = [self._whole(unit).embed_text for unit in new]
        counts = costs_of(self._counter, texts, self._limit) if new else []
        self._costs.update(zip(new, counts, strict=True))
        return [self._costs[unit] for unit in units]

    def _whole(self, unit: _Unit) -> _Draft:
        lines = self._note.lines[unit.first - 1 : unit.last]
        read = lines[: self._said(unit)]
        body = "\n".join(read)
        if unit.front:
            rest = "\n".join(read[self._front_last - unit.first + 1 :]).lstrip("\n")
            body = "\n\n".join(filter(None, (self._front_text, rest)))
        embed = embed_format(self._note.title, unit.heading_path, unit.shown, body)
        return _Draft(unit.heading_path, unit.first, unit.last, "\n".join(lines), embed)

    def _cut(self, unit: _Unit) -> list[_Draft]:
        """Pieces of a unit that is too long. Token counts hardly add up to less than the
        whole's; where they do, the pieces are made again, smaller."""
        title, path = self._header(unit)
        place = (unit.first - 1, unit.first + self._said(unit) - 2)
        header = embed_format(title, path, 0, "")
        header_cost = self._counter.count_tokens([header])[0]
        budget = max(1, self._limit - header_cost - 2)
        lead = None
        if unit.front:
            front_cost = costs_of(self._counter, [self._front_text], self._limit)[0]
            lead = (self._front_last - 1, front_cost)
        drafts: list[_Draft] = []
        for _ in range(_ATTEMPTS):
            overlap = int(self._overlap * budget)
            pieces = split_lines(
                self._note, place, self._counter, budget=budget, overlap=overlap, lead=lead
            )
            drafts = [self._piece(unit, piece, title, path) for piece in pieces]
            counts = self._counter.count_tokens([draft.embed_text for draft in drafts])
            worst = max(counts)
            if worst <= self._limit or budget == 1:
                break
            budget = max(1, min(budget - (worst - self._limit), int(0.9 * budget)))
        return self._with_links(drafts, unit)

    def _with_links(self, drafts: list[_Draft], unit: _Unit) -> list[_Draft]:
        """The link definitions, which nothing was cut for, join the last piece's text."""
        *before, last = drafts
        if not (links := self._note.lines[last.last : unit.last]):
            return drafts
        line, end = self._note.lines[last.last - 1], last.text.rsplit("\n", 1)[-1]
        blank = line[line.rfind(end) + len(end) :]  # which a piece of a line was cut without
        text = "\n".join((last.text + blank, *links))
        return [*before, replace(last, last=unit.last, text=text)]

    def _piece(self, unit: _Unit, piece: Piece, title: str, path: HeadingPath) -> _Draft:
        lines = self._note.lines
        text = body = piece_text(piece, lines)
        is_start = piece.first == unit.first - 1 and piece.start == 0
        if is_start and unit.front:
            after = ""
            if piece.last >= self._front_last:
                rest = replace(piece, first=self._front_last)
                after = piece_text(rest, lines).lstrip("\n")
            body = "\n\n".join(filter(None, (self._front_text, after)))
        elif piece.repeat:
            body = f"{piece.repeat}\n{text}"
        shown = min(unit.shown, len(path)) if is_start else 0
        embed = embed_format(title, path, shown, body)
        return _Draft(unit.heading_path, piece.first + 1, piece.last + 1, text, embed)

    def _header(self, unit: _Unit) -> tuple[str, HeadingPath]:
        """Title and heading path, cut down to their share of the window when they exceed it.

        The outer headings go first, then the end of the title and of the last heading.
        """
        title, path = self._note.title, unit.heading_path
        cap = max(1, self._limit // _HEADER_SHARE)
        while self._counter.count_tokens([embed_format(title, path, 0, "")])[0] > cap:
            if len(path) > 1:
                path = path[1:]
            elif len(title) > 1 or (path and len(path[0]) > 1):
                title = title[: (len(title) + 1) // 2]
                path = tuple(name[: (len(name) + 1) // 2] for name in path)
            else:
                return "", ()
        return title, path
