"""The passages of a search as what can be quoted: each unit whole, readable alone, traceable.

Passages of one note that adjoin are read together as one page, by the reader of the note's format:
its blocks say what is a list, a table, a paragraph. A unit is a sentence, a line that stands for
itself, a list item with what is below it, a row of a table, a field, a piece of code. Units of one
block are a group, which may be quoted whole; its ``head`` is what makes a member readable: a
table's header, the line that announces the list, the question that is answered; of code the
sentence before it, whatever it ends with.

Headings, rules, link definitions, comments, HTML, empty fields and bare embeds are no units.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ragvault.formats import reader_for
from ragvault.formats.inline import (
    INLINE_FIELD,
    are_lines,
    breaks,
    only_points,
    says_nothing,
    without_html,
)
from ragvault.formats.tasks import open_at_start
from ragvault.model import Block, Hit
from ragvault.text import is_link_definition, sentence_spans

_MAX_CODE = 2_000  # characters of code that is quoted
_MAX_JOINED = 800  # and of code that is always quoted with the sentence before it
_MAX_NESTED = 240  # of an item that is one unit with what is below it
_MAX_LINE = 160  # characters of a line that is one unit, however many sentences it holds

_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
QUOTE_MARK = re.compile(r"^[ \t]*(?:>[ \t]?)+(?:\[![\w-]+\][+-]?[ \t]*)?")
ITEM_MARK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[(?P<box>[^\[\]])\][ \t]+)?")
_KEY = re.compile(r"[^\s:#\-\"'\[\]{}|][^:\n|]{0,60}?::?(?=\s|$)")
_EMPTY_FIELD = re.compile(r"[^:\n]{1,60}::?[ \t]*(?:\[[ \t]*\]|\{[ \t]*\}|[\"']{2})?[ \t]*")
_DULL_KEY = re.compile(r"[ \t]*(?:title|alias(?:es)?|tags?|css\w*)[ \t]*:", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|<%.*?%>")


@dataclass(eq=False, slots=True)
class Group:
    """What belongs together: a paragraph, list, table, fields, code. ``head``: the stretch of the
    page's text that leads to it, or None; ``before``: the sentence that stands before it and
    may lead to it."""

    kind: str
    head: tuple[int, int] | None = None
    before: Unit | None = None
    units: list[Unit] = field(default_factory=list)
    is_lines: bool = False  # its breaks are the author's


@dataclass(eq=False, slots=True)
class Unit:
    """A stretch of a page's text. ``hit``: the best-ranked passage that it lies in."""

    page: Page
    group: Group
    kind: str  # sentence, item, row, field, code, cut (code without its end)
    start: int
    end: int
    hit: Hit
    parent: Unit | None = None  # of a nested item
    is_pointer: bool = False  # a link, with nothing said about it
    leads: Group | None = None  # the list, table or code that it stands right before

    @property
    def text(self) -> str:
        return self.page.text[self.start : self.end]

    @property
    def head(self) -> str:
        """What makes it readable, besides its place."""
        text = self.page.text
        leads = [text[slice(*self.group.head)]] if self.group.head else []
        return "\n".join([*leads, *([self.parent.text] if self.parent else [])])


class Page:
    """Lines of one note that were found side by side, and the passages that they come from."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        """``hits`` adjoin or overlap, in the order of the note."""
        self.hits = sorted(hits, key=lambda hit: hit.rank)
        self.first_line = hits[0].chunk.start_line
        lines: list[str] = []
        for hit in hits:
            lines += hit.chunk.text.split("\n")[
                self.first_line + len(lines) - hit.chunk.start_line :
            ]
        self.text = "\n".join(lines)
        self.groups: list[Group] = []
        _Reader(self).read()

    @property
    def units(self) -> list[Unit]:
        """In the order of the note: a table may stand within a list."""
        units = (unit for group in self.groups for unit in group.units)
        return sorted(units, key=lambda unit: unit.start)

    def hit_at(self, line: int) -> Hit:
        """The best passage that holds the line, counted from 0 on this page."""
        number = self.first_line + line
        holds = (h for h in self.hits if h.chunk.start_line <= number <= h.chunk.end_line)
        return next(holds, self.hits[0])


def pages_of(hits: Sequence[Hit]) -> list[Page]:
    """The passages as pages, in the order of their best passage. Linear in their text."""
    runs: list[list[Hit]] = []
    unique = {hit.chunk.id: hit for hit in reversed(hits)}.values()
    for hit in sorted(unique, key=lambda h: (h.chunk.vault, h.chunk.rel_path, h.chunk.start_line)):
        if runs and _goes_on(runs[-1], hit):
            runs[-1].append(hit)
        else:
            runs.append([hit])
    return sorted(map(Page, runs), key=lambda page: page.hits[0].rank)


def _goes_on(run: Sequence[Hit], hit: Hit) -> bool:
    """The hit continues the run: the lines that both have are the same."""
    last, chunk = max(run, key=lambda h: h.chunk.end_line).chunk, hit.chunk
    if (last.vault, last.rel_path) != (chunk.vault, chunk.rel_path):
        return False
    shared = last.end_line - chunk.start_line + 1
    if shared < 0 or chunk.end_line <= last.end_line:
        return False
    ours, theirs = last.text.split("\n"), chunk.text.split("\n")
    return shared == 0 or ours[-shared:] == theirs[:shared]


class _Reader:
    """One page, block by block."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.lines = page.text.split("\n")
        self.bare = page.text  # and the lines: from the first look on without HTML
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.announcing: tuple[int, int] | None = None  # what leads to the next group
        self.before: Unit | None = None  # the last sentence of the paragraph before

    def read(self) -> None:
        opened = bool(open_at_start(self.page.text))  # in code too long for one passage
        text = "```\n" * opened + self.page.text
        rel_path = self.page.hits[0].chunk.rel_path
        note = reader_for(rel_path)(rel_path, text, 0.0)
        body = note.frontmatter_lines[1] if note.frontmatter_lines else 0
        if body:
            self._frontmatter(1, body - 1)
        blocks = [_shifted(block, -opened) for block in note.blocks if block.first >= body]
        self._drop_html(blocks)
        for block in blocks:
            self._block(block)
        self._announce()

    def _drop_html(self, blocks: Sequence[Block]) -> None:
        code = {i for block in blocks for i in _code_lines(block) if i >= 0}
        prose = (" " * len(line) if i in code else line for i, line in enumerate(self.lines))
        bare = without_html("\n".join(prose), drawn=False).split("\n")
        self.lines = [self.lines[i] if i in code else line for i, line in enumerate(bare)]
        self.bare = "\n".join(self.lines)

    # -- blocks

    def _block(self, block: Block) -> None:
        first, last = max(0, block.first), block.last
        if block.kind in ("heading", "rule", "delimited"):
            self._announce()
        elif block.kind == "list":
            self._items(self._open("list"), block, None)
        elif block.kind == "table":
            self._table(first, last)
        elif block.kind in ("fence", "code"):
            self._code(block.first, last)
        elif block.kind in ("quote", "callout") and len(self._span(first, last)) <= _MAX_NESTED:
            self._group("quote", [(first, last)])
        elif block.kind in ("quote", "callout"):
            for child in block.children:
                self._block(child)
        elif is_rows(self._span(first, last)):
            self._table(first, last, header=0)
        else:
            self._paragraph(first, last)
        if block.kind not in ("paragraph", "html", "text"):
            self.before = None

    def _group(self, kind: str, spans: Sequence[tuple[int, int]]) -> None:
        """A group of units that are whole lines each."""
        group = self._open(kind)
        for first, last in spans:
            self._add(group, kind, self.starts[first], self.starts[last + 1] - 1)

    def _open(self, kind: str) -> Group:
        group = Group(kind, self.announcing)
        if self.before and kind in ("list", "table", "code", "cut"):
            group.before, self.before.leads = self.before, group
        self.announcing = self.before = None
        self.page.groups.append(group)
        return group

    def _announce(self) -> None:
        """What announced something that doesn't follow is a unit after all, if a poor one."""
        if self.announcing:
            (start, end), self.announcing = self.announcing, None
            self._add(self._open("announcement"), "sentence", start, end)

    def _add(
        self, group: Group, kind: str, start: int, end: int, parent: Unit | None = None
    ) -> Unit:
        text = self.page.text[start:end]
        start += len(text) - len(text.lstrip("\n"))
        line = self.page.text.count("\n", 0, start)
        unit = Unit(self.page, group, kind, start, end, self.page.hit_at(line), parent)
        unit.is_pointer = kind not in ("code", "cut") and only_points(text)
        if _says_something(self.bare[start:end], kind):
            group.units.append(unit)
        return unit

    def _span(self, first: int, last: int) -> str:
        return self.page.text[self.starts[first] : self.starts[last + 1] - 1]

    # -- kinds

    def _frontmatter(self, first: int, end: int) -> None:
        """A unit for each key with all that is below it."""
        keys = [i for i in range(first, end) if _KEY.match(self.lines[i])]
        if not keys:
            return
        group = self._open("frontmatter")
        for i, after in pairwise([*keys, end]):
            if not _DULL_KEY.match(self.lines[i]):
                self._add(group, "field", self.starts[i], self.starts[after] - 1)

    def _items(self, group: Group, block: Block, parent: Unit | None) -> None:
        for item in block.children:
            start, end = self.starts[item.first], self.starts[item.last + 1] - 1
            nested = [child for child in item.children if child.kind in ("list", "table")]
            if nested and end - start > _MAX_NESTED:
                end = max(start, self.starts[nested[0].first] - 1)
                unit = self._add(group, "item", start, end, parent)
                for child in nested:
                    if child.kind == "table":
                        self._table(child.first, child.last)
                    else:
                        self._items(group, child, unit)
            else:
                self._add(group, "item", start, end, parent)

    def _table(self, first: int, last: int, header: int = 2) -> None:
        """``header``: how many lines it has; none where it stands in another passage."""
        head = (self.starts[first], self.starts[min(first + header, last + 1)] - 1)
        group = self._open("table")
        if header:
            group.head = (group.head[0], head[1]) if group.head else head
        for i in range(first + header, last + 1):
            self._add(group, "row", self.starts[i], self.starts[i + 1] - 1)

    def _code(self, first: int, last: int) -> None:
        opens = first >= 0 and bool(_FENCE.match(self.lines[first]))
        is_cut = first < 0 or (opens and (first == last or not _FENCE.match(self.lines[last])))
        if first < 0:  # its beginning is in another passage
            first, last = 0, last - 1
        elif is_cut:
            first += 1
        size = self.starts[last + 1] - self.starts[first] if first <= last else 0
        if not 0 < size <= _MAX_CODE:
            return
        self._group("cut" if is_cut else "code", [(first, last)])
        group, lead = self.page.groups[-1], self.page.groups[-1].before
        if group.head and not group.units:
            self.announcing = group.head
        elif group.units and lead and lead.kind == "sentence" and size <= _MAX_JOINED:
            lead.group.units.remove(lead)
            group.head = (lead.start, lead.end)

    def _paragraph(self, first: int, last: int) -> None:
        """Sentences; lines, where the note's author broke them; fields."""
        lines = enumerate(self.lines[first : last + 1], first)
        kept = [i for i, line in lines if line.strip() and not is_link_definition(line)]
        raw = self._span(first, last)
        if not kept or ("</a>" in raw and only_points(raw)):
            return
        broken = breaks(self.lines[first : last + 1])
        stretches: list[list[int]] = [[kept[0], kept[0]]]
        for i in kept[1:]:
            if i == stretches[-1][1] + 1 and not broken[i - 1 - first]:
                stretches[-1][1] = i
            else:
                stretches.append([i, i])
        fields = sum(bool(INLINE_FIELD.match(self.lines[a])) for a, _ in stretches)
        pieces = [
            (self.starts[a] + start, self.starts[a] + end)
            for a, b in stretches
            for start, end in self._sentences(a, b)
        ]
        if not pieces:
            return
        group = self._open("field" if 2 * fields > len(stretches) else "paragraph")
        for n, (start, end) in enumerate(pieces):
            text = self.page.text[start:end]
            if self._leads(text):
                # What it announces may be in this paragraph or be the next block.
                if n + 1 < len(pieces):
                    group = self._open("paragraph")
                    group.head = (start, end)
                else:
                    self.announcing = (start, end)
                continue
            is_field = bool(INLINE_FIELD.match(text))
            self._add(group, "field" if is_field else "sentence", start, end)
            group.is_lines = are_lines(broken)
        self.before = group.units[-1] if group.units and not self.announcing else None

    def _sentences(self, first: int, last: int) -> list[tuple[int, int]]:
        """Where the sentences of these lines are; a short line is one, whatever it holds."""
        lines = self.lines[first : last + 1]
        blanked = [QUOTE_MARK.sub(lambda m: " " * len(m[0]), line, count=1) for line in lines]
        text = "\n".join(blanked)
        if len(text) <= _MAX_LINE and not text.endswith(("?", "？")):
            return [(len(text) - len(text.lstrip()), len(text.rstrip()))] if text.strip() else []
        return sentence_spans(text)

    @staticmethod
    def _leads(text: str) -> bool:
        """It asks, or announces, and the answer is what follows."""
        return text.rstrip("*_ \"”'").endswith((":", "：", "?", "？"))


def is_rows(text: str) -> bool:
    """The rest of a table whose header is in another passage."""
    return all(line.strip().startswith("|") for line in text.split("\n"))


def _code_lines(block: Block) -> Iterator[int]:
    if block.kind in ("fence", "code"):
        yield from range(block.first, block.last + 1)
    for child in block.children:
        yield from _code_lines(child)


def _shifted(block: Block, by: int) -> Block:
    if not by:
        return block
    children = tuple(_shifted(child, by) for child in block.children)
    return Block(block.kind, block.first + by, block.last + by, children)


def _says_something(text: str, kind: str) -> bool:
    bare = _PLACEHOLDER.sub("", ITEM_MARK.sub("", text, count=1)).strip()
    if kind in ("code", "cut"):
        return any(re.search(r"\w", x) for x in bare.split("\n") if not _FENCE.match(x))
    if kind == "field" or INLINE_FIELD.match(bare):
        return not _EMPTY_FIELD.fullmatch(bare)
    return not says_nothing(bare)
