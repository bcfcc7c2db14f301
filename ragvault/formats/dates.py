"""When a note is from: the dates in its frontmatter, in words, in its file name."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime

from ragvault.text import MONTHS

# The keys that hold a note's date, the first group that has one decides: the author's own date;
# the last change (Hugo's lastmod, Jekyll's last_modified_at, Docusaurus' last_update, Dendron's
# updated, Obsidian Linter's "date modified"); the day it was made (created; Templater's "creation
# date"); the day it is about; the day it was saved (web clippers); and last the day on which
# somebody else published what it holds (Hugo's publishDate, Obsidian Web Clipper's published).
# Case, spaces, "-" and "_" in a key don't count.
DATE_KEYS = tuple(
    tuple(names.split())
    for names in (
        "date",
        "updated updatedat dateupdated updateddate lastupdated lastupdate lastupdatedat",
        "modified modifiedat datemodified modifieddate modificationdate lastmod lastmodified"
        " lastmodifiedat lastedited lasteditedtime",
        "created createdat datecreated createddate creationdate createdtime",
        "start startdate startdatetime",
        "clipped clippedat dateclipped saved savedat datesaved added addedat dateadded",
        "published publishedat publisheddate datepublished publishdate pubdate",
    )
)
_KEY_MARKS = re.compile(r"[\s_-]+")

_ISO_TIME = re.compile(
    r"((?:19|20)\d\d-\d{2}-\d{2})[T ]+(\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d+)?\s*(Z|[+-]\d{2}:?\d{2})",
    re.IGNORECASE,
)
_YEAR = r"(?:19|20)\d\d"
_Y = rf"(?P<y>{_YEAR})"
_M = r"(?P<m>0[1-9]|1[0-2])"
_D = r"(?P<d>0[1-9]|[12]\d|3[01])"
_FULL = re.compile(rf"(?<!\d){_Y}([-_./年])\s?{_M}[-_./月]\s?{_D}(?!\d)")
_LOOSE = re.compile(rf"(?<!\d){_Y}[-_./年]\s?(?P<m>\d\d?)[-_./月]\s?(?P<d>\d\d?)(?!\d)")
_COMPACT = re.compile(rf"(?<!\d){_Y}{_M}{_D}(?:[T_-]?\d{{4}}(?:\d\d)?)?(?!\d)")
_WEEK = re.compile(rf"(?<!\d){_Y}-?[Ww](?P<w>\d\d)(?!\d)")
_MONTH = re.compile(rf"(?<!\d){_Y}-{_M}(?![\d])")
_FOLDERS = re.compile(rf"(?:^|/){_Y}/(?:(?:19|20)\d\d-)?{_M}(?:[ _-][^/]*)?/{_D}(?:\D[^/]*)?$")
_FOLDER_DATE = re.compile(rf"(?:^|/){_Y}-{_M}-{_D}(?=[^\d/][^/]*/|/)")
_EPOCH = re.compile(r"\d{9,10}(?:\.\d+)?|\d{12,13}")
_DAY_FIRST = re.compile(r"(?<!\d)(\d\d?)([/-])(\d\d?)\2((?:19|20)\d\d)(?!\d)")
_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
# A day as people write it, with or without its year: see ``parts_of_day``.
DAY = re.compile(
    rf"(?<!\w)(?:{_Y}-(?P<m>\d\d?)-(?P<d>\d\d?)(?!\d)"
    rf"|(?P<d2>\d\d?)(?:st|nd|rd|th|\.)?\s*(?:of\s+|de\s+)?(?P<n2>{_NAMES})\b\.?"
    rf"(?:,?\s+(?:de\s+)?(?P<y2>{_YEAR}))?"
    rf"|(?P<n3>{_NAMES})\.?\s+(?P<d3>\d\d?)(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(?P<y3>{_YEAR}))?"
    rf"|(?P<d4>\d\d?)\.\s?(?P<m4>\d\d?)\.(?P<y4>{_YEAR}|\d\d(?!\d))?)",
    re.IGNORECASE,
)


def date_from_fields(fields: Iterable[tuple[str, str]]) -> float | None:
    """The note's date among its frontmatter's (key, text) pairs, in the order of ``DATE_KEYS``;
    None when none of these holds one (Jekyll's ``published: false`` doesn't). Linear."""
    known: dict[str, list[str]] = {}
    for key, text in fields:
        known.setdefault(_KEY_MARKS.sub("", key.casefold()), []).append(text)
    for names in DATE_KEYS:
        for name in names:
            for text in known.get(name, ()):
                if (found := parse_date(text)) is not None:
                    return found
    return None


def parse_date(text: str) -> float | None:
    """The first date that a frontmatter value names, or None. A time with a zone is exact, anything
    else noon UTC of its day: the same day wherever the note is read. ``03/04/2024`` is month first,
    ``03.04.2024`` day first."""
    text = text.strip()[:200]
    if match := _ISO_TIME.search(text):
        with suppress(ValueError, OverflowError):  # of a time of 25:00 the day may still be good
            return datetime.fromisoformat(f"{match[1]}T{match[2]}{match[3].upper()}").timestamp()
    if (found := _first_day(text, _FULL, _LOOSE, _COMPACT)) is not None:
        return found
    for match in DAY.finditer(text):
        said_year, *rest = parts_of_day(match)
        if said_year is not None and (found := noon(said_year, *rest)) is not None:
            return found
    if match := _DAY_FIRST.search(text):
        first, mark, second, year = match.groups()
        day, month = (second, first) if mark == "/" and int(first) <= 12 else (first, second)
        return noon(year, month, day)
    return _week_or_month(text) or _epoch(text)


def date_from_path(rel_path: str, title: str = "") -> float | None:
    """The date in a note's file name, else in its daily folders (``2024/03/01.md``), or None; where
    the name says a week or a month, the day of it that the title says."""
    stem = rel_path.rpartition("/")[2].rpartition(".")[0] or rel_path
    whole = rel_path.rpartition(".")[0] or rel_path
    found = _first_day(stem, _FULL, _COMPACT) or _first_day(whole, _FOLDERS)
    if found is None and (begun := _week_or_month(stem)) is not None:
        first, said = datetime.fromtimestamp(begun, UTC), parse_date(title) or 0.0
        days = 7 if _WEEK.search(stem) else monthrange(first.year, first.month)[1]
        return said if 0 <= said - begun < days * 86_400 else begun
    if found is None:
        for match in reversed(list(_FOLDER_DATE.finditer(whole))):
            return noon(match["y"], match["m"], match["d"])
    return found


def _first_day(text: str, *patterns: re.Pattern[str]) -> float | None:
    """Noon of the day that the first of the patterns finds."""
    for pattern in patterns:
        match = pattern.search(text)
        if match and (found := noon(match["y"], match["m"], match["d"])) is not None:
            return found
    return None


def noon(year: str | int, month: str | int, day: str | int) -> float | None:
    """Noon UTC of a day, in seconds; None for one that the calendar hasn't got."""
    try:
        return datetime(int(year), int(month), int(day), 12, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def parts_of_day(said: re.Match[str]) -> tuple[int | None, int, int]:
    """Year (None: it names none; "26" is 2026, "98" 1998), month and day of a match of ``DAY``."""
    parts = {name.rstrip("234"): value for name, value in said.groupdict().items() if value}
    month = MONTHS.get(parts["n"].lower(), 0) if "n" in parts else int(parts["m"])
    year = int(parts["y"]) if "y" in parts else None
    if year is not None and year < 100:
        year += 1900 if year > 68 else 2000
    return year, month, int(parts["d"])


def days_written(day: date) -> Iterator[str]:
    """How a day is written without its year, by its words: "21/11" stands for "21.11." too."""
    yield from dict.fromkeys((f"{day.day}/{day.month}", f"{day:%d/%m}"))
    for name, month in MONTHS.items():
        if month == day.month:
            yield from (f"{day.day} {name}", f"{name} {day.day}")


def nearest_day(year: int | None, month: int, day: int, near: date) -> date | None:
    """The day, without its year the one nearest to ``near``; None where the calendar has none."""
    days: list[date] = []
    for number in range(near.year - 1, near.year + 2) if year is None else (year,):
        with suppress(ValueError):
            days.append(date(number, month, day))
    return min(days, key=lambda one: abs(one - near), default=None)


def _week_or_month(text: str) -> float | None:
    """A week counts as its Monday, a month as its first day."""
    if match := _WEEK.search(text):
        with suppress(ValueError):
            monday = date.fromisocalendar(int(match["y"]), int(match["w"]), 1)
            return noon(monday.year, monday.month, monday.day)
        return None
    match = _MONTH.search(text)
    return noon(match["y"], match["m"], 1) if match else None


def _epoch(text: str) -> float | None:
    """Seconds or milliseconds since 1970, when they fall between 1973 and 2100."""
    if not _EPOCH.fullmatch(text):
        return None
    seconds = float(text) / (1000 if len(text.partition(".")[0]) > 10 else 1)
    return seconds if 1e8 <= seconds < datetime(2100, 1, 1, tzinfo=UTC).timestamp() else None
