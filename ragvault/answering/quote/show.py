"""A note's text as people read it: what it says, less the marks of its format.

Only marks go: of links their addresses, of tables the bars, of fields the brackets, of HTML its
tags. What was struck out keeps its marks, or it would be read as valid. Every word that is shown
stands in the note, in this order. Code stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from ragvault.answering.quote.units import ITEM_MARK, QUOTE_MARK, is_rows
from ragvault.formats import reader_for
from ragvault.formats.inline import CODE_SPAN, plain_links, without_html
from ragvault.model import Block, BlockKind
from ragvault.text import is_link_definition

CUT = "[…]"

_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_BLOCK_ID = re.compile(r"[ \t]+\^[A-Za-z0-9-]{1,64}[ \t]*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])|!\[\[[^\[\]\n]*\]\]")
_LINK = re.compile(r"\[((?:[^\[\]\n]|\n(?!\n))+)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\[\]\n]*\])")
_EMPHASIS = re.compile(
    r"(?<![\w*])(\*{1,3}|==)(?=\S)([^\n]*?\S)\1(?![\w*])|(?<!\w)(_{1,2})(?=\S)([^_\n]*?\S)\3(?!\w)"
)
_FIELD_MARK = re.compile(r"[\[(]([^\[\]()\n:]{1,60})::[ \t]*([^\[\]()\n]*)[\])]")
_FIELD_KEY = re.compile(r"^([^:\n]{1,60})::(?=[ \t]|$)", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE)
_QUOTED = re.compile(r"^([^:\"']*:[ \t]+)?([\"'])(.*)\2$")
_CELL = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[ \t:|-]*")
_WRAP = re.compile(r"(?<![ \\])\n[ \t]+(?![-*+>|][ \t]|\d{1,9}[.)][ \t]|[^\s:]{1,60}::|\s)")
_GAP = re.compile(r"(?<=\S) {2,}")
_HELD = re.compile("\ue000(\\d+)\ue001")  # private characters: where a code span was


def readable(text: str) -> str:
    """Running text or list items; line breaks stay."""
    text = "\n".join(QUOTE_MARK.sub("", line, count=1) for line in text.split("\n"))
    return _plain(_HEADING.sub("", text))


def _plain(text: str) -> str:
    """What begins within a line: "> 250" is no quotation there."""
    code: list[str] = []

    def hold(match: re.Match[str]) -> str:
        code.append(match[0])
        return f"\ue000{len(code) - 1}\ue001"

    text = CODE_SPAN.sub(hold, text)
    if (html := without_html(text)) != text:
        kept = (line.rstrip() for line in html.split("\n"))
        text = "\n".join(_GAP.sub(" ", line) for line in kept if line)
    text = _COMMENT.sub("", text)
    text = _IMAGE.sub(lambda m: m[1] or "", text)
    text = _BLOCK_ID.sub("", _LINK.sub(r"\1", plain_links(text)))
    text = _FIELD_KEY.sub(r"\1:", _FIELD_MARK.sub(r"\1: \2", text))
    for _ in range(2):
        text = _EMPHASIS.sub(lambda m: m[2] or m[4], text)
    return _HELD.sub(lambda m: code[int(m[1])], text).strip("\n")


def sentence(text: str) -> str:
    """A sentence in one line, however it was wrapped."""
    return " ".join(readable(text).split())


def item(text: str) -> str:
    """A list item that stands alone, without its mark, where nothing is below it; a task keeps its
    box."""
    mark = ITEM_MARK.match(text)
    if mark is None:
        return readable(text)
    if "\n" in (whole := unwrapped(text)):
        return whole
    box = f"[{mark['box']}] " if mark["box"] else ""
    return box + unwrapped(text[mark.end() :])


def unwrapped(text: str) -> str:
    """List items, each in one line."""
    return readable(text if "```" in text else _WRAP.sub(" ", text))


def field(text: str) -> str:
    """``key: value``; a list of values in one line."""
    key, _, rest = text.partition(":")
    lines = [line.strip() for line in rest.lstrip(":").split("\n")]
    values = [_unquoted(re.sub(r"^-[ \t]+", "", line)) for line in lines if line]
    joined = ", ".join(filter(None, values)) if len(values) > 1 else "".join(values)
    if joined.startswith("[") and joined.endswith("]") and not joined.startswith("[["):
        joined = ", ".join(_unquoted(part.strip()) for part in joined[1:-1].split(","))
    return f"{readable(item(key)).strip()}: {_plain(joined).strip()}"


def _unquoted(value: str) -> str:
    return _QUOTED.sub(r"\1\3", value)


def cells(row: str) -> list[str]:
    """The cells of a table's row, which may be the first line of a list's item."""
    mark = ITEM_MARK.match(row)
    parts = _CELL.split(plain_links(row[mark.end() if mark else 0 :]).strip().strip("|"))
    return [" ".join(_plain(part.replace("\\|", "|")).split()) for part in parts]


def row(header: list[str], text: str) -> str:
    """One row with what its columns are called; empty cells are left out."""
    pairs = zip(header + [""] * 99, cells(text), strict=False)
    return " · ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def line(cells: Iterable[str]) -> str:
    """One row beneath its header; which cells are empty is seen."""
    return " · ".join(cell or "–" for cell in cells)


def passage(text: str, rel_path: str) -> str:
    """A stretch of a note with its headings, paragraphs, lists and code."""
    return "".join(before + shown for _, before, shown in blocks(text, rel_path)).strip("\n")


def blocks(text: str, rel_path: str) -> Iterator[tuple[BlockKind | Literal["field"], str, str]]:
    """Its blocks that hold something to read: kind, line breaks before it, text. The frontmatter
    is one of fields. The path tells the format."""
    note = reader_for(rel_path)(rel_path, text, 0.0)
    body = note.frontmatter_lines[1] if note.frontmatter_lines else 0
    if shown := readable(note.frontmatter_text):
        yield "field", "", shown
    end = body - 2
    for block in note.blocks:
        if block.first >= body and (shown := _block(block, note.lines)).strip():
            yield block.kind, "\n" if block.first == end + 1 else "\n\n", shown
        end = block.last


def _block(block: Block, lines: tuple[str, ...]) -> str:
    text = "\n".join(lines[block.first : block.last + 1])
    if block.kind in ("fence", "code"):
        return text
    if block.kind == "table" or is_rows(text):
        rows = (row for row in text.split("\n") if not _RULE.fullmatch(row))
        return "\n".join(map(line, map(cells, rows)))
    if block.kind == "list" and _has_code(block):
        return text
    text = "\n".join(line for line in text.split("\n") if not is_link_definition(line))
    return "" if _RULE.fullmatch(text) else readable(text)


def _has_code(block: Block) -> bool:
    return block.kind in ("fence", "code") or any(map(_has_code, block.children))
