"""Times in words: "last week", "in March 2024", "2 weeks ago", "since May", "--since 3d".

Two readers of the same phrases. ``find_hint`` looks for a time inside a question, where a wrong
guess is worse than none ("it may fail", "2024 items" and "v2024.1" name no time). ``parse_when``
reads the whole of a ``--since``/``--until`` value, where what isn't understood is an error.

Days, weeks, months and years are those of the user's calendar: a naive ``now`` is the system's
local time (DST-right through the platform's zone rules), an aware one keeps its own zone.
English in full; German, Spanish and French for the common phrases. Linear in the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from ragvault.errors import UsageError
from ragvault.model import TimeHint
from ragvault.retrieval.question.timepatterns import (
    BARE_YEAR,
    DAY,
    FIRST_YEAR,
    NAME_BEFORE,
    NUMBER,
    PATTERNS,
    UNIT,
    UNITS,
    DayRange,
    back,
    calendar,
    count_of,
    read_year,
)


@dataclass(frozen=True, slots=True)
class Period:
    """Naive local wall-clock times, ``end`` exclusive. ``span`` is its place in the text.

    ``relative``: in words that count from today, which a note about it would hardly hold.
    """

    start: datetime
    end: datetime
    span: tuple[int, int]
    relative: bool


_SINCE = re.compile(r"\b(?:since|seit(?:\s+dem)?|desde(?:\s+el)?|depuis|from)\s*$", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|prior\s+to|vor|antes\s+del?|avant)\s*$", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|up\s+to|by|bis|hasta|jusqu['’]en)\s*$", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|nach|después\s+del?|après)\s*$", re.IGNORECASE)
_RANGE = re.compile(r"\s*(?:and|to|until|till|through|-|–|und|bis|y|a|et|à)\s*$", re.IGNORECASE)


def _periods(text: str, today: date) -> Iterator[tuple[int, int, date, date, bool]]:
    for pattern in PATTERNS:
        for match in pattern.words.finditer(text):
            if pattern.lead is not None and not pattern.lead.search(text[: match.start()]):
                continue
            found = pattern.read(match, today)
            if found is not None:
                yield match.start(), match.end(), *found, pattern.relative
    for match in BARE_YEAR.finditer(text):
        found = read_year(match, today)
        if found is not None and not NAME_BEFORE.search(text[: match.start()]):
            yield match.start(), match.end(), *found, False


def find_periods(text: str, now: datetime) -> list[Period]:
    """The times that the text names, in order, none overlapping; the longest reading of each."""
    found = sorted(_periods(text, now.date()), key=lambda p: (p[0], -p[1], p[2]))
    periods: list[Period] = []
    for begin, end, first, after, relative in found:
        if periods and begin < periods[-1].span[1]:
            continue
        midnight = time.min
        periods.append(
            Period(
                datetime.combine(first, midnight),
                datetime.combine(after, midnight),
                (begin, end),
                relative,
            )
        )
    return periods


def _modified(text: str, period: Period, now: datetime) -> tuple[datetime, datetime]:
    """The period as "since", "before", "until" or "after" bounds it."""
    before = text[: period.span[0]]
    tomorrow = datetime.combine(now.date() + DAY, time.min)
    epoch = datetime(FIRST_YEAR, 1, 2)
    if _SINCE.search(before):
        return period.start, max(tomorrow, period.start + DAY)
    if _AFTER.search(before):
        return period.end, max(tomorrow, period.end + DAY)
    if _BEFORE.search(before):
        return epoch, period.start
    if _UNTIL.search(before):
        return epoch, period.end
    return period.start, period.end


def _timestamp(moment: datetime, now: datetime) -> float:
    return moment.replace(tzinfo=now.tzinfo).timestamp()


def find_hint(text: str, now: datetime) -> TimeHint | None:
    """The time that a question names, or None.

    The first time named counts; "between X and Y" and "from X to Y" span both. ``days`` is how
    many calendar days back the window begins (at least 1): 14 for "last week".
    """
    periods = find_periods(text, now)
    if not periods:
        return None
    period = periods[0]
    start, end = _modified(text, period, now)
    last = period
    if len(periods) > 1 and _RANGE.match(text[period.span[1] : periods[1].span[0]]):
        last = periods[1]
        start, end = period.start, max(period.end, last.end)
    if end <= start:
        return None
    days = max(1, (now.date() - start.date()).days)
    phrase = " ".join(text[period.span[0] : last.span[1]].split())
    since, until = _timestamp(start, now), _timestamp(end, now) - 1e-3
    return TimeHint(since, until, days, phrase, period.relative)


# ------------------------------------------------------------------ --since, --until

_SHORT = re.compile(
    rf"(?P<n>{NUMBER})\s*(?P<u>h|hours?|d|w|mo|m|y|{UNIT})(?:\s+ago)?", re.IGNORECASE
)
_SHORT_UNITS = {"d": "day", "w": "week", "m": "month", "mo": "month", "y": "year"}
_LAST_WEEK = re.compile(r"(?:last|previous)\s+week", re.IGNORECASE)
_WHEN_HINT = 'Write a date or a span: 2024-03-01, "March 2024", yesterday, "2 weeks", 3d.'


def parse_when(text: str, now: datetime, end: bool) -> float:
    """The moment that a ``--since`` (``end`` False) or ``--until`` value means, in epoch seconds.

    A span counts back from today; a day, month or year means its first moment, or its last
    with ``end``. Raises UsageError for what is no time, with the forms that are.
    """
    value = " ".join(text.split())
    try:
        moment = _parse_moment(value, now)
        if moment is not None:
            return _timestamp(moment, now)
        bounds = _parse_days(value, now)
    except (OverflowError, ValueError):  # in another zone's year 0 or 10000
        bounds = None
    if bounds is None:
        raise UsageError(f"'{value[:80]}' is no date or time that I understand.", _WHEN_HINT)
    chosen = bounds[1] if end else bounds[0]
    return _timestamp(datetime.combine(chosen, time.min), now) - (1e-3 if end else 0.0)


def _parse_moment(value: str, now: datetime) -> datetime | None:
    if value.lower() in ("now", "jetzt", "ahora", "maintenant"):
        return now
    short = _SHORT.fullmatch(value)
    if short and short["u"].lower() in ("h", "hour", "hours"):
        return now - timedelta(hours=min(count_of(short["n"]), 400_000))
    if len(value) > 10:  # longer than a bare date: it says the time of day
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        return moment if moment.tzinfo is None else moment.astimezone(now.tzinfo)
    return None


def _parse_days(value: str, now: datetime) -> DayRange | None:
    today = now.date()
    short = _SHORT.fullmatch(value)
    if short:
        unit = short["u"].lower()
        day = back(today, count_of(short["n"]), _SHORT_UNITS.get(unit) or UNITS[unit])
        return day, day + DAY
    if _LAST_WEEK.fullmatch(value):  # here a bound, not a hint: the calendar's week
        return calendar("week", today - timedelta(days=7))
    for lead in ("", "on ", "in "):
        periods = find_periods(lead + value, now)
        if len(periods) == 1 and periods[0].span == (len(lead), len(lead + value)):
            return periods[0].start.date(), periods[0].end.date()
    return None
