"""Text in the columns of a terminal. Anywhere else a line stays whole, for whatever reads it."""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.cli.render.terminal import Terminal
from ragvault.text import strip_controls

MAX_LINE = 92  # columns: longer lines tire the eye
MIN_LINE = 20


def columns(text: str) -> int:
    """How many columns a text takes: wide characters two, combining marks none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # 3 ms, where a text has more than ASCII

    return cell_len(text)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` columns, broken at spaces; a longer word stays whole."""
    return _packed(strip_controls(text).split(), " ", width)


def hanging(out: Terminal, text: str, indent: int) -> str:
    """The text for behind a label of ``indent`` columns: what doesn't fit into the line stands
    below, indented alike. Without control characters."""
    text = strip_controls(text)
    room = min(out.width, MAX_LINE) - indent
    if not out.is_tty or columns(text) <= out.width - indent:
        return text
    return f"\n{' ' * indent}".join(_packed(text.split(), " ", room))


def marked(out: Terminal, mark: str, text: str, style: str = "", indent: int = 0) -> None:
    """Print a mark with a text hanging behind it, ``indent`` columns from the left."""
    text = hanging(out, text, indent + columns(mark) + 1)
    out.print(f"{' ' * indent}{mark} {text}", style)


def facts(out: Terminal, parts: Sequence[str], lead: int = 0) -> str:
    """Short facts with dots between them, for behind ``lead`` columns; a line ends between two."""
    if not out.is_tty:
        return " · ".join(parts)
    return "\n".join(_packed([" " * lead + parts[0], *parts[1:]], " · ", out.width))[lead:]


def print_table(
    out: Terminal, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Below a blank line, the names of the rows (``title`` heads them) and their cells, which end
    under one another; nothing without rows."""
    if not rows:
        return
    lines = [(title, *heads), *rows]
    widths = [max(columns(line[at]) for line in lines) for at in range(len(lines[0]))]
    out.print()
    for line in lines:
        blanks = [" " * (width - columns(cell)) for cell, width in zip(line, widths, strict=True)]
        cells = (blank + cell for cell, blank in zip(line[1:], blanks[1:], strict=True))
        text = "  ".join([line[0] + blanks[0], *cells]).rstrip()
        out.print(text, "bold" if line is lines[0] else "")
    out.flush()


def _packed(parts: Sequence[str], gap: str, width: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for part in parts:
        if line and columns(line) + columns(gap) + columns(part) > max(width, MIN_LINE):
            lines.append(line)
            line = part
        else:
            line = f"{line}{gap}{part}" if line else part
    return [*lines, line] if line else lines
