"""Text in the columns of a terminal. Anywhere else a line stays whole, for whatever reads it.
Counts, sizes and ages in words."""

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
    under one another, or behind their heads in a terminal that is too narrow; nothing without
    rows."""
    if not rows:
        return
    lines = [(title, *heads), *rows]
    widths = [max(columns(line[at]) for line in lines) for at in range(len(lines[0]))]
    out.print()
    if out.is_tty and sum(widths) + 2 * len(heads) > out.width:
        for name, *values in rows:
            parts = [f"{head} {cell}".strip() for head, cell in zip(heads, values, strict=True)]
            out.print(f"{name}: {facts(out, parts, lead=columns(name) + 2)}")
        lines = []
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


LIST_LIMIT = 8  # entries of a list in a summary; --json has them all


def counted(number: int, singular: str) -> str:
    """ "1 note", "1,234 notes"."""
    return f"{number:,} {singular}{'s' * (number != 1)}"


def size_of(n_bytes: int) -> str:
    """ "12.3 MB", in powers of 1,000."""
    from rich.filesize import decimal

    return decimal(n_bytes)


def age_of(seconds: float) -> str:
    """ "just now", "5 minutes ago", "3 days ago"."""
    if seconds < 60:
        return "just now"
    for limit, length, unit in (
        (3600, 60, "minute"),
        (86_400, 3600, "hour"),
        (60 * 86_400, 86_400, "day"),
        (730 * 86_400, 30 * 86_400, "month"),
    ):
        if seconds < limit:
            return f"{counted(int(seconds // length), unit)} ago"
    return f"{counted(int(seconds // (365 * 86_400)), 'year')} ago"


def duration(seconds: float) -> str:
    """ "0.4 s", "12 s", "3 min 20 s"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def shortened(entries: Sequence[str], limit: int = LIST_LIMIT) -> list[str]:
    """The first entries, and how many more there are."""
    if len(entries) <= limit + 1:
        return list(entries)
    return [*entries[:limit], f"… and {len(entries) - limit:,} more, see --json"]
