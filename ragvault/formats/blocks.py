"""The block structure of Markdown: headings, and what belongs together below them.

markdown-it-py's block parser does the work (inline parsing is off: about 0.25 ms a kilobyte),
with GitHub's tables, and one rule more: Obsidian's ``%%`` comments and ``$$`` formulas, inside
which a ``#`` opens no section. Link reference definitions stay plain paragraphs: reading them is
quadratic in a long list of them, and chunks keep them verbatim anyway.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ragvault.model import Block, BlockKind

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

# Levels of lists and quotes that are looked into; text below is kept, only not split by item.
MAX_NESTING = 100
# Below this depth an item or quote has no children: each level costs one more look at the text.
_MAX_DEPTH = 8
_LEAVES: dict[str, BlockKind] = {
    "heading": "heading",
    "paragraph": "paragraph",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
    "table": "table",
    "delimited": "delimited",
}
# Of processor time, for one note: twice what 20 MB of plain prose take.
PARSE_SECONDS = 10.0
_CALLOUT = re.compile(r"\s*>\s*\[!")


@dataclass(frozen=True, slots=True)
class Heading:
    """``line`` counts from 0; ``source`` is its Markdown without the marks."""

    level: int
    line: int
    source: str


@dataclass(frozen=True, slots=True)
class Outline:
    """``headings`` are those at the top level (not in lists or quotes); ``code_lines`` the lines
    that hold code, where ``#`` makes no tag; ``blocks`` hold every line that isn't blank."""

    headings: tuple[Heading, ...]
    code_lines: frozenset[int]
    blocks: tuple[Block, ...]


class TooSlowError(Exception):
    """Quotes in quotes, lists in lists: each level costs the parser one more look at the text."""


def outline(lines: Sequence[str], start: int = 0, seconds: float = PARSE_SECONDS) -> Outline:
    """The structure of ``lines[start:]``; its line numbers are those in ``lines``. Linear in the
    lines times how deep they are nested. Raises TooSlowError after so much processor time."""
    from markdown_it.tree import SyntaxTreeNode

    tokens: list[Token] = []
    # A NUL never gets here (the note would be binary); any other character is one to the parser.
    until = {"until": time.thread_time() + seconds}
    _parser().block.parse("\n".join(lines[start:]), _parser(), until, tokens)
    code: set[int] = set()
    for token in tokens:
        if token.map is not None and token.type in ("fence", "code_block"):
            code.update(range(start + token.map[0], start + token.map[1]))
    found = SyntaxTreeNode(tokens).children
    headings = (
        Heading(int(node.tag[1:]), start + (node.map or (0, 0))[0], node.children[0].content)
        for node in found
        if node.type == "heading"
    )
    blocks = _Blocks(lines, start).of(found, start, len(lines) - 1, 0)
    return Outline(tuple(headings), frozenset(code), blocks)


class _Blocks:
    """Blocks out of the parser's tree, which counts its lines from ``start``."""

    def __init__(self, lines: Sequence[str], start: int) -> None:
        self._lines = lines
        self._start = start

    def of(
        self, nodes: Sequence[SyntaxTreeNode], first: int, last: int, depth: int
    ) -> tuple[Block, ...]:
        """Those of ``nodes``, and of the lines ``first..last`` that none of them holds."""
        covered: list[Block] = []
        at = first
        for block in (self._block(node, depth) for node in nodes):
            covered.extend(self._gap(at, block.first - 1))
            if block.last >= at:
                covered.append(block if block.first >= at else Block("text", at, block.last))
                at = block.last + 1
        covered.extend(self._gap(at, last))
        return tuple(covered)

    def _block(self, node: SyntaxTreeNode, depth: int) -> Block:
        begin, end = node.map or (0, 0)
        first = self._start + begin
        last = self._last(first, self._start + end)
        if node.type in _LEAVES:
            return Block(_LEAVES[node.type], first, last)
        if node.type in ("bullet_list", "ordered_list"):
            return Block("list", first, last, self.of(node.children, first, last, depth))
        children = self.of(node.children, first, last, depth + 1)
        kind: BlockKind = "item"
        if node.type == "blockquote":
            kind = "callout" if _CALLOUT.match(self._lines[first]) else "quote"
        return Block(kind, first, last, children if depth < _MAX_DEPTH else ())

    def _gap(self, first: int, last: int) -> Iterator[Block]:
        while first <= last and not self._lines[first].strip():
            first += 1
        if first <= last:
            yield Block("text", first, self._last(first, last + 1))

    def _last(self, first: int, end: int) -> int:
        """The last non-blank line of ``first..end-1`` (``first`` when all are blank)."""
        last = min(end, len(self._lines)) - 1
        while last > first and not self._lines[last].strip():
            last -= 1
        return last


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # 50 ms that a run without a changed note doesn't pay

    md = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    md.disable("reference")
    md.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    ends = ["paragraph", "blockquote", "list"]
    md.block.ruler.before("fence", "delimited", _delimited, {"alt": ends})
    md.block.ruler.before("table", "clock", _clock)
    return md


def _clock(state: StateBlock, *_place: object) -> bool:
    """Makes no block; looks at the clock before each one."""
    if time.thread_time() > state.env["until"]:
        raise TooSlowError
    return False


class _Nowhere(list[Any]):
    """Keeps nothing."""

    def append(self, _token: object) -> None: ...


def _table(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """The parser's own rule, without the tokens of rows and cells: 7 KB a row."""
    from markdown_it.rules_block import table

    kept, state.tokens = state.tokens, _Nowhere()
    try:
        is_table = table(state, line, end, silent)
    finally:
        state.tokens = kept
    if is_table and not silent:
        state.push("table", "", 0).map = [line, state.line]
    return is_table


def _delimited(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """``%%`` or ``$$`` at the start of a line, up to the line that closes it; an unclosed mark is
    text, and hides no heading after it."""
    if state.level or state.is_code_block(line):
        return False
    start = state.bMarks[line] + state.tShift[line]
    mark = state.src[start : start + 2]
    if mark not in ("%%", "$$"):
        return False
    close = state.src.find(mark, start + 2)
    if close < 0 or close >= state.eMarks[end - 1]:
        return False
    last = line
    while state.eMarks[last] < close:
        last += 1
    if last == line:
        return False  # closed on its own line: an ordinary paragraph
    if silent:
        return True
    token = state.push("delimited", "", 0)
    token.map = [line, last + 1]
    state.line = last + 1
    return True
