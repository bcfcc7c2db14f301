"""The block structure of a note: headings, and where a long text may be cut.

markdown-it-py's block parser does the work (inline parsing is off: about 0.25 ms a kilobyte),
with GitHub's tables, and one rule more: Obsidian's ``%%`` comments and ``$$`` formulas, inside
which a ``#`` opens no section. Link reference definitions stay plain paragraphs: reading them is
quadratic in a long list of them, and chunks keep them verbatim anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ragvault.text import is_link_definition

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

# Levels of lists and quotes that are looked into; text below is kept, only not split by item.
MAX_NESTING = 100
# Below this depth a block is cut by lines: each level costs one more look at the text.
_MAX_DEPTH = 8
_CODE = ("fence", "code_block")
_CONTAINERS = ("list_item", "blockquote")
_LEAVES = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
    "table_open": "table",
    "delimited": "delimited",
}

_WORD = re.compile(r"\w")
_LONGEST_EMPTY = 4_000  # characters: what says nothing is short, and so is the look at it
_TAG = re.compile(r"<!--.*?-->|</?[a-z][^<>]*>", re.DOTALL | re.IGNORECASE)
_ALT = re.compile(r"\balt\s*=\s*[\"']([^\"'<>]*)", re.IGNORECASE)
_EMBED = re.compile(r"!\[\[[^\[\]\n]*\]\]")
_IMAGE = re.compile(r"!\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_LINKED_IMAGE = re.compile(r"\[\s*\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_DESCRIBED = 3  # words: an image's text of so many says what is on it


@dataclass(frozen=True, slots=True)
class Heading:
    """``line`` and ``last`` count from 0 (two lines or more when underlined); ``source`` is its
    Markdown without the marks."""

    level: int
    line: int
    last: int
    source: str


@dataclass(frozen=True, slots=True)
class Block:
    """Lines ``first..last`` (from 0, inclusive, without blank lines at the end).

    ``children`` of a list item or quote cover all its lines; leaves have none. ``depth`` is 0
    at the top level.
    """

    kind: str
    first: int
    last: int
    depth: int
    children: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """``code_lines`` are the lines (from 0) that hold code, where ``#`` makes no tag."""

    headings: tuple[Heading, ...]
    code_lines: frozenset[int]


def outline(lines: Sequence[str]) -> Outline:
    """The headings at the top level (not in lists or quotes) and the lines of code. Linear."""
    headings: list[Heading] = []
    code: set[int] = set()
    tokens = _parse(lines)
    for i, token in enumerate(tokens):
        if token.map is None:
            continue
        if token.type == "heading_open" and token.level == 0:
            first, end = token.map
            last = _last(lines, first, end)
            headings.append(Heading(int(token.tag[1:]), first, last, tokens[i + 1].content))
        elif token.type in _CODE:
            code.update(range(*token.map))
    return Outline(tuple(headings), frozenset(code))


def says_nothing(text: str) -> bool:
    """No word but link definitions, embeds, HTML without text, and images that nobody described.

    Such a block is kept with the text beside it: alone it would be found by the words of its
    addresses, and could be quoted for nothing. Linear in at most ``_LONGEST_EMPTY`` characters.
    """
    if _WORD.search(text) is None:
        return True
    if len(text) > _LONGEST_EMPTY:
        return all(not line.strip() or is_link_definition(line) for line in text.split("\n"))
    rest = _IMAGE.sub(_image_text, _EMBED.sub("", _TAG.sub(_tag_text, text)))
    rest = _LINKED_IMAGE.sub("", rest)
    return not any(_WORD.search(line) and not is_link_definition(line) for line in rest.split("\n"))


def _image_text(match: re.Match[str]) -> str:
    return match[1] if len(match[1].split()) >= _DESCRIBED else ""


def _tag_text(match: re.Match[str]) -> str:
    alt = _ALT.search(match[0])
    return _image_text(alt) if alt and not match[0].startswith("<!--") else ""


def blocks(lines: Sequence[str]) -> tuple[Block, ...]:
    """The blocks of some lines, in order; every non-blank line is in one. Linear."""
    tree, _ = _tree(_parse(lines), 0, lines, 0)
    return _cover(tree, 0, len(lines) - 1, lines, 0)


def _tree(tokens: list[Token], i: int, lines: Sequence[str], depth: int) -> tuple[list[Block], int]:
    """Blocks from token ``i`` up to the close of the container around them, and where it is."""
    found: list[Block] = []
    while i < len(tokens):
        token = tokens[i]
        name = token.type.removesuffix("_open")
        if token.nesting == -1 and token.type.removesuffix("_close") in _CONTAINERS:
            return found, i
        if token.map is not None and token.nesting >= 0:
            first, last = token.map[0], _last(lines, *token.map)
            if name in _CONTAINERS and token.nesting == 1:
                children, i = _tree(tokens, i + 1, lines, depth + 1)
                covered = _cover(children, first, last, lines, depth + 1)
                found.append(Block(name, first, last, depth, covered if depth < _MAX_DEPTH else ()))
            elif token.type in _LEAVES:
                found.append(Block(_LEAVES[token.type], first, last, depth))
                if token.type == "table_open":
                    while tokens[i].type != "table_close":
                        i += 1
        i += 1
    return found, i


def _cover(
    found: list[Block], first: int, last: int, lines: Sequence[str], depth: int
) -> tuple[Block, ...]:
    """The blocks, with lines that none of them holds as blocks of their own."""
    covered: list[Block] = []
    at = first
    for block in found:
        covered.extend(_gap(at, block.first - 1, lines, depth))
        if block.last >= at:
            covered.append(block if block.first >= at else Block("text", at, block.last, depth))
            at = block.last + 1
    covered.extend(_gap(at, last, lines, depth))
    return tuple(covered)


def _gap(first: int, last: int, lines: Sequence[str], depth: int) -> Iterator[Block]:
    while first <= last and not lines[first].strip():
        first += 1
    if first <= last:
        last = _last(lines, first, last + 1)
        yield Block("text", first, last, depth)


def _last(lines: Sequence[str], first: int, end: int) -> int:
    """The last non-blank line of ``first..end-1`` (``first`` when all are blank)."""
    last = min(end, len(lines)) - 1
    while last > first and not lines[last].strip():
        last -= 1
    return last


def _parse(lines: Sequence[str]) -> list[Token]:
    md = _parser()
    tokens: list[Token] = []
    # A NUL never gets here (the note would be binary); any other character is one to the parser.
    md.block.parse("\n".join(lines), md, {}, tokens)
    return tokens


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # 50 ms that a run without a changed note doesn't pay

    md = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    md.disable("reference")
    md.block.ruler.before(
        "fence",
        "delimited",
        _delimited,
        {"alt": ["paragraph", "blockquote", "list"]},
    )
    return md


def _delimited(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """``%%`` or ``$$`` at the start of a line, up to the line that closes it.

    Only when something closes it: an unclosed mark is text, and hides no heading after it.
    """
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
