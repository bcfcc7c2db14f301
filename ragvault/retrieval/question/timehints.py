"""Times in words: "last week", "in March 2024", "2 weeks ago", "since May", "--since 3d".

Two readers of the same phrases. ``find_hint`` looks for a time inside a question, where a wrong
guess is worse than none ("it may fail", "2024 items" and "v2024.1" name no time). ``parse_when``
reads the whole of a ``--since``/``--until`` value, where what isn't understood is an error.

Days, weeks, months and years are those of the user's calendar: a naive ``now`` is the system's
local time (DST-right through the platform's zone rules), an aware one keeps its own zone.
English in full; German, Spanish, French, Italian, Portuguese and Dutch for the common phrases.
Linear in the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from ragvault.errors import UsageError
from ragvault.model import TimeHint
from ragvault.retrieval.question.timepatterns import (
    AHEAD,
    DAY,
    FIRST_YEAR,
    NUMBER,
    PATTERNS,
    UNIT,
    UNITS,
    DayRange,
    Pattern,
    back,
    calendar_unit,
    count_of,
    may_name_a_time,
)

_BOUND = re.compile(
    r"\b(?:(?P<since>since|seit(?:\s+dem)?|desde(?:\s+el)?|depuis|from|sinds)"
    r"|(?P<before>before|prior\s+to|vor|antes\s+del?|avant)"
    r"|(?P<until>until|till|up\s+to|by|bis|hasta|jusqu['’]en)"
    r"|(?P<after>after|nach|después\s+del?|après))\s*$",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"\s*(?:and|or|to|until|till|through|-|–|und|oder|bis|y|o|a|et|ou|à|e|en|of|tot)\s*$",
    re.IGNORECASE,
)


# A name that is written out: code, a quotation, the word behind a slash.
_NAMED = re.compile(
    r"`[^`]{1,200}`|\"[^\"]{1,200}\"|“[^”]{1,200}”|„[^“”]{1,200}[“”]|«[^»]{1,200}»|‘[^’]{1,200}’"
    r"|(?<!\w)'[^']{1,200}'(?!\w)|/[^\W\d]\w*"
)


class _Period(NamedTuple):
    """Days that ``text[begin:end]`` names, ``after`` exclusive. ``relative``: in words that count
    from today, which a note about it would hardly hold."""

    begin: int
    end: int
    first: date
    after: date
    relative: bool


def _periods(text: str, today: date, patterns: Sequence[Pattern] = PATTERNS) -> list[_Period]:
    """The times that the text names, in order, none overlapping; the longest reading of each."""
    found = [
        _Period(*match.span(), *days, pattern.relative)
        for pattern in (patterns if may_name_a_time(text) else ())
        for match in re.finditer(pattern.words, text, re.IGNORECASE)
        if not pattern.lead or re.search(pattern.lead, text[: match.start()], re.IGNORECASE)
        if (days := pattern.read(match, today))
    ]
    periods: list[_Period] = []
    for period in sorted(found, key=lambda p: (p.begin, -p.end, p.first)):
        if not periods or period.begin >= periods[-1].end:
            periods.append(period)
    return periods


def _timestamp(moment: datetime | date, now: datetime) -> float:
    """Of a day its first moment, in the zone of ``now``."""
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time.min)
    return moment.replace(tzinfo=now.tzinfo).timestamp()


def find_hint(text: str, now: datetime) -> TimeHint | None:
    """The first time that a question names, as "since", "before", "until" or "after" bounds it;
    "between X and Y" and "from X to Y" span both. What stands in code, in quotation marks (unless
    all of it does) or behind a slash is a name."""
    today = now.date()
    if not _NAMED.fullmatch(text.strip()):
        text = _NAMED.sub(lambda match: "·" * len(match[0]), text)
    periods = _periods(text, today)
    if not periods:
        return None
    period = last = periods[0]
    first, after = period.first, period.after
    bound = _BOUND.search(text[: period.begin])
    kind = bound.lastgroup if bound else None
    if len(periods) > 1 and _RANGE.match(text[period.end : periods[1].begin]):
        last = periods[1]
        first, after = _between(period, last, text)
    elif kind in ("since", "after"):
        first = first if kind == "since" else after
        after = max(today, first) + DAY
    elif kind in ("before", "until"):
        first, after = date(FIRST_YEAR, 1, 2), first if kind == "before" else after
    if after <= first:
        return None
    phrase = " ".join(text[period.begin : last.end].split())
    since, until = _timestamp(first, now), _timestamp(after, now) - 1e-3
    return TimeHint(since, until, phrase, period.relative)


def _between(one: _Period, other: _Period, text: str) -> DayRange:
    """Both and what lies between. One that leaves its year open is the nearest to the other on its
    side: "between November and January", "between May 2024 and July"; two that don't may stand the
    wrong way round."""
    is_set = [p.relative or re.search(r"\d{4}", text[p.begin : p.end]) for p in (one, other)]
    years = other.first.year - one.first.year
    years -= (one.first.month, one.first.day) > (other.first.month, other.first.day)
    if not is_set[0]:
        return back(one.first, -years, "year"), other.after
    if not is_set[1] and one.after - one.first < 365 * DAY:  # not "from 2023 until May"
        return one.first, back(other.after, years, "year")
    return min(one.first, other.first), max(one.after, other.after)


def due_period(text: str, today: date) -> tuple[date, date, str] | None:
    """The days, the first and the last, that a question for what is due names, and its words for
    them: to come, where these leave year or week open ("on Friday", "in March")."""
    for begin, end, first, after, relative in _periods(text, today, AHEAD)[:1]:
        if not relative and after <= today and not re.search(r"\d{4}", text[begin:end]):
            first, after = back(first, -1, "year"), back(after, -1, "year")
        bound = _BOUND.search(text[:begin])
        kind = bound.lastgroup if bound else None
        if kind in ("before", "until"):
            first, after = date.min, first if kind == "before" else after
        elif kind in ("since", "after") and bound and bound[0].strip().lower() != "from":
            first, after = first if kind == "since" else after, date.max
        return first, after - DAY, text[bound.start() if bound else begin : end]
    return None


# ------------------------------------------------------------------ --since, --until

_SHORT = re.compile(
    rf"(?P<n>{NUMBER})\s*(?P<u>h|hours?|d|w|mo|m|y|{UNIT})(?:\s+ago)?", re.IGNORECASE
)
_SHORT_UNITS = {"d": "day", "w": "week", "m": "month", "mo": "month", "y": "year"}
_LAST_WEEK = re.compile(r"(?:last|previous)\s+week", re.IGNORECASE)
_WHEN_HINT = 'Write a date or a span: 2024-03-01, "March 2024", yesterday, "2 weeks", 3d.'


def parse_when(text: str, now: datetime, end: bool) -> float:
    """The moment that a ``--since`` (``end`` False) or ``--until`` value means, in epoch seconds: a
    span counts back from today; a day, month or year means its first moment, or its last with
    ``end``. Raises UsageError for what is no time."""
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
    return _timestamp(chosen, now) - (1e-3 if end else 0.0)


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
        return calendar_unit("week", today - 7 * DAY)
    for lead in ("", "on ", "in "):
        periods = _periods(lead + value, today)
        if [period[:2] for period in periods] == [(len(lead), len(lead + value))]:
            return periods[0].first, periods[0].after
    return None
