"""A quotation as people read it: what the note says, less the marks of its format.

Only marks go: of links their addresses, of tables the bars, of fields the brackets; every word that
is shown stands in the note, in this order.
"""

from __future__ import annotations

import re

from ragvault.answering.quote.units import ITEM_MARK, QUOTE_MARK
from ragvault.formats.inline import plain_links

CUT = "[…]"

_COMMENT = re.compile(r"%%.*?%%|<!--.*?-->", re.DOTALL)
_BLOCK_ID = re.compile(r"[ \t]+\^[A-Za-z0-9-]{1,64}[ \t]*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])|!\[\[[^\[\]\n]*\]\]")
_LINK = re.compile(r"\[([^\[\]\n]+)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\[\]\n]*\])")
_EMPHASIS = re.compile(
    r"(?<![\w*])(\*{1,3}|==|~~)(?=\S)([^\n]*?\S)\1(?![\w*])|(?<!\w)(_{1,2})(?=\S)([^_\n]*?\S)\3(?!\w)"
)
_FIELD_MARK = re.compile(r"[\[(]([^\[\]()\n:]{1,60})::[ \t]*([^\[\]()\n]*)[\])]")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE)
_TAG = re.compile(
    r"</?(?:a|b|br|details|div|em|i|img|kbd|mark|p|span|strong|sub|summary|sup|table|tbody|td|th"
    r"|thead|tr|u)(?:\s[^<>\n]*)?/?>",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"^([^:\"']*:[ \t]+)?([\"'])(.*)\2$")
_CELL = re.compile(r"(?<!\\)\|")


def readable(text: str) -> str:
    """Running text or list items; line breaks stay."""
    text = _COMMENT.sub("", text)
    text = "\n".join(QUOTE_MARK.sub("", line, count=1) for line in text.split("\n"))
    text = _IMAGE.sub(lambda m: m[1] or "", text)
    text = _LINK.sub(r"\1", plain_links(text))
    text = _TAG.sub("", _BLOCK_ID.sub("", text))
    text = _FIELD_MARK.sub(r"\1: \2", text)
    text = _HEADING.sub("", text).replace("::", ":")
    for _ in range(2):
        text = _EMPHASIS.sub(lambda m: m[2] or m[4], text)
    return text.strip("\n")


def sentence(text: str) -> str:
    """A sentence in one line, however it was wrapped."""
    return " ".join(readable(text).split())


def item(text: str) -> str:
    """A list item that stands alone, without its mark; a task keeps its box."""
    mark = ITEM_MARK.match(text)
    if mark is None:
        return readable(text)
    box = f"[{mark['box']}] " if mark["box"] else ""
    return box + readable(text[mark.end() :])


def field(text: str) -> str:
    """``key: value``; a list of values in one line."""
    key, _, rest = text.partition(":")
    lines = [line.strip() for line in rest.lstrip(":").split("\n")]
    values = [_unquoted(re.sub(r"^-[ \t]+", "", line)) for line in lines if line]
    joined = ", ".join(filter(None, values)) if len(values) > 1 else "".join(values)
    if joined.startswith("[") and joined.endswith("]") and not joined.startswith("[["):
        joined = ", ".join(_unquoted(part.strip()) for part in joined[1:-1].split(","))
    return f"{readable(item(key)).strip()}: {readable(joined).strip()}"


def _unquoted(value: str) -> str:
    return _QUOTED.sub(r"\1\3", value)


def cells(row: str) -> list[str]:
    """The cells of a table's row."""
    parts = _CELL.split(plain_links(row).strip().strip("|"))
    return [sentence(part.replace("\\|", "|")) for part in parts]


def row(header: list[str], text: str) -> str:
    """One row with what its columns are called; empty cells are left out."""
    pairs = zip(header + [""] * 99, cells(text), strict=False)
    return " · ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
