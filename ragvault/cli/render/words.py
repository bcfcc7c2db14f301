"""Small wordings: counts, sizes, ages, and long lists cut short."""

from __future__ import annotations

from collections.abc import Sequence

LIST_LIMIT = 8  # entries of a list in a summary; --json has them all


def count(number: int, singular: str, plural: str | None = None) -> str:
    """ "1 note", "1,234 notes"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def size(n_bytes: int) -> str:
    """ "12.3 MB", in powers of 1,000."""
    from rich.filesize import decimal

    return decimal(n_bytes)


def age(seconds: float) -> str:
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
            return f"{count(int(seconds // length), unit)} ago"
    return f"{count(int(seconds // (365 * 86_400)), 'year')} ago"


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
