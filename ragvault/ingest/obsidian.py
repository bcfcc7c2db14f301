"""What Obsidian's own settings in a vault say about its notes: which ones it leaves out of search,
which are templates, and how the names of daily notes tell their day. A vault without them, or with
settings that can't be read, has none of this.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragvault.ingest.paths import start_of

_FOLDER = ".obsidian"
_MAX_BYTES = 1_000_000
# Where a folder of templates is named: file, key.
_TEMPLATES = (
    ("templates.json", "folder"),
    ("plugins/templater-obsidian/data.json", "templates_folder"),
)
# The tokens of moment.js that a note's name is made of; what else stands there is text.
_TOKENS = {
    "YYYY": r"(?P<year>\d{4})", "YY": r"(?P<short>\d\d)",
    "gggg": r"(?P<weekyear>\d{4})", "GGGG": r"(?P<weekyear>\d{4})",
    "MMMM": r"(?P<name>[^\W\d]+)", "MMM": r"(?P<name>[^\W\d]+)\.?",
    "MM": r"(?P<month>\d\d)", "M": r"(?P<month>\d\d?)",
    "DD": r"(?P<day>\d\d)", "Do": r"(?P<day>\d\d?)[^\W\d]*\.?", "D": r"(?P<day>\d\d?)",
    "dddd": r"[^\W\d]+", "ddd": r"[^\W\d]+\.?", "dd": r"[^\W\d]+\.?",
    "ww": r"\d\d", "WW": r"\d\d", "w": r"\d\d?", "W": r"\d\d?", "Q": r"\d",
}  # fmt: skip
_FORMAT = re.compile(
    r"\[([^\]]*)\]|(" + "|".join(sorted(_TOKENS, key=len, reverse=True)) + r")|(.)"
)


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """``excluded`` are (prefix of a path, or pattern in it; what says so); ``journals`` patterns of
    whole paths without extension."""

    excluded: tuple[tuple[str | re.Pattern[str], str], ...] = ()
    journals: tuple[re.Pattern[str], ...] = ()

    def excludes(self, rel: str, is_dir: bool) -> str | None:
        """What leaves a path out, None if nothing does. A pattern is about files."""
        path = f"{rel}/" if is_dir else rel
        for rule, source in self.excluded:
            if isinstance(rule, str):
                if path.startswith(rule):
                    return source
            elif not is_dir and rule.search(path):
                return source
        return None

    @property
    def journals_digest(self) -> str:
        """Of the patterns: when they change, notes have other dates."""
        return hashlib.sha256("\0".join(p.pattern for p in self.journals).encode()).hexdigest()[:8]

    def day_of(self, rel: str) -> float | None:
        """The day of a daily note by its path: noon UTC of it."""
        stem = rel.rpartition(".")[0] or rel
        matches = (pattern.fullmatch(stem) for pattern in self.journals)
        return next((_day(match.groupdict()) for match in matches if match), None)


def read_settings(root: Path, on_bad: Callable[[str, str], None]) -> VaultSettings:
    """Those of the vault at ``root``. ``on_bad(path in the vault, reason)`` is told of what can't
    be used. A few small files are read."""
    folder = root / _FOLDER
    if not os.path.isdir(folder):  # noqa: PTH112 – Path.is_dir raises where one may not look
        return VaultSettings()
    excluded: list[tuple[str | re.Pattern[str], str]] = []
    app = f"{_FOLDER}/app.json"
    filters = _read(folder / "app.json").get("userIgnoreFilters")
    for rule in filters if isinstance(filters, list) else ():
        if not rule or not isinstance(rule, str):
            continue
        if len(rule) > 2 and rule.startswith("/") and rule.endswith("/"):
            try:
                excluded.append((re.compile(rule[1:-1]), f"{app} (excluded files)"))
            except re.error:
                on_bad(app, f"excluded files: {rule!r} is not a pattern, it was left out")
        else:
            excluded.append((rule, f"{app} (excluded files)"))
    for file, key in _TEMPLATES:
        place = _read(folder / file).get(key)
        if isinstance(place, str) and place.strip("/"):
            excluded.append((f"{place.strip('/')}/", f"{_FOLDER}/{file} (templates)"))
    return VaultSettings(tuple(excluded), tuple(_journals(folder)))


def _journals(folder: Path) -> Iterator[re.Pattern[str]]:
    """Of the core's daily notes and of the plugin's. (Weekly and monthly ones are dated by their
    names, see ``formats.dates``.)"""
    periodic = _read(folder / "plugins/periodic-notes/data.json").get("daily")
    for settings in (_read(folder / "daily-notes.json"), periodic):
        if isinstance(settings, dict) and settings:
            place, form = (str(settings.get(key) or "") for key in ("folder", "format"))
            whole = f"{place.strip('/')}/" if place.strip("/") else ""
            if (pattern := _pattern(form or "YYYY-MM-DD")) is not None:
                yield re.compile(re.escape(whole) + pattern)


def _pattern(form: str) -> str | None:
    """moment.js' format as a pattern; None for one without a year, which tells no day; the
    year of a week does beside a day."""
    seen: set[str] = set()
    parts = []
    for literal, token, other in _FORMAT.findall(form):
        part = _TOKENS[token] if token else re.escape(literal or other)
        name = part[4 : part.index(">")] if part.startswith("(?P<") else ""
        if name in seen:  # "YYYY/MM/YYYY-MM-DD": the same again
            part = f"(?P={name})"
        elif name:
            seen.add(name)
        parts.append(part)
    is_dated = seen & {"year", "short"} or seen >= {"weekyear", "day"}
    return "".join(parts) if is_dated else None


def _day(found: dict[str, str | None]) -> float | None:
    from ragvault.formats.dates import noon
    from ragvault.text import MONTHS

    short = found.get("short")
    year = found.get("year") or (f"20{short}" if short else found["weekyear"]) or ""
    name = found.get("name")
    month: str | int | None = found.get("month") or 1
    if name:
        month = MONTHS.get(name.lower(), MONTHS.get(name.lower()[:3]))
    return None if month is None else noon(year, month, found.get("day") or 1)


def _read(file: Path) -> dict[str, Any]:
    """A JSON object; empty when there is none that can be read."""
    try:
        values = json.loads(start_of(file, _MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
