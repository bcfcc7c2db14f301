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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from ragvault.errors import UsageError
from ragvault.model import TimeHint
from ragvault.retrieval.timewords import MONTHS, NUMBERS, UNITS, WEEKDAYS

FIRST_YEAR = 1970
RECENT_DAYS = 30
_DAY = timedelta(days=1)

_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
_NUM = r"\d{1,4}|" + "|".join(sorted(NUMBERS, key=len, reverse=True))
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_WEEKDAY = "|".join(sorted(WEEKDAYS, key=len, reverse=True))
_YEAR = r"(?:19[7-9]\d|20\d\d)"
# Not part of a version, identifier, amount, range or clock time.
_NOT_BEFORE = r"(?<![\w.\-/:#$€£+@'])"
_NOT_AFTER = r"(?![\w\-/:%°]|[.,]\d)"
# A year before one of these is a count: "2024 items".
_COUNTED = (
    r"(?!\s+(?:items?|people|persons|users?|customers|words?|rows?|records?|notes|files?|lines?"
    r"|tokens?|characters|pages|dollars|euros|pounds|bytes|[kmgt]?i?b|kg|km|m|ms|mm|cm|px|units?"
    r"|steps|calories|kcal|points|votes|hours|minutes|seconds|times|pieces|more|or\s+more)\b)"
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


_Range = tuple[date, date]  # first day, first day after
_Reader = Callable[[re.Match[str], date], _Range | None]


# ------------------------------------------------------------------------- calendar


def _month(year: int, month: int) -> _Range:
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _months_back(day: date, months: int) -> date:
    """The same day of an earlier month, or that month's last day."""
    index = day.year * 12 + day.month - 1 - months
    year, month = max(FIRST_YEAR, index // 12), index % 12 + 1
    last = (_month(year, month)[1] - _DAY).day
    return date(year, month, min(day.day, last))


def _back(day: date, count: int, unit: str) -> date:
    """``count`` units before ``day``, never before 1970."""
    if unit in ("month", "quarter", "year"):
        months = {"month": 1, "quarter": 3, "year": 12}[unit]
        return _months_back(day, min(count * months, 12_000))
    days = count * {"day": 1, "weekend": 7, "week": 7}[unit]
    return max(date(FIRST_YEAR, 1, 1), day - timedelta(days=min(days, 20_000)))


def _calendar(unit: str, day: date) -> _Range:
    """The calendar unit that holds the day; weeks begin on Monday."""
    if unit == "day":
        return day, day + _DAY
    monday = day - timedelta(days=day.weekday())
    if unit == "week":
        return monday, monday + timedelta(days=7)
    if unit == "weekend":
        return monday + timedelta(days=5), monday + timedelta(days=7)
    if unit == "month":
        return _month(day.year, day.month)
    if unit == "quarter":
        first = (day.month - 1) // 3 * 3 + 1
        return date(day.year, first, 1), _month(day.year, first + 2)[1]
    return date(day.year, 1, 1), date(day.year + 1, 1, 1)


def _valid(year: int, month: int, day: int) -> _Range | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return (found, found + _DAY) if year >= FIRST_YEAR else None


def _count(word: str) -> int:
    return int(word) if word.isdigit() else NUMBERS[word.lower()]


# -------------------------------------------------------------------------- readers


def _read_day(match: re.Match[str], _today: date) -> _Range | None:
    return _valid(int(match["y"]), int(match["m"]), int(match["d"]))


def _read_year_month(match: re.Match[str], _today: date) -> _Range | None:
    return _month(int(match["y"]), int(match["m"]))


def _read_named_day(match: re.Match[str], today: date) -> _Range | None:
    """ "3 March", "March 3rd, 2024". Without a year: the latest that isn't in the future."""
    month, name = MONTHS[match["mon"].lower()], match["mon"]
    certain = match["y"] or match["ord"] or name[0].isupper()
    if name.lower() in ("may", "march", "mar", "mars") and not certain:
        return None
    if match["y"]:
        return _valid(int(match["y"]), month, int(match["d"]))
    for year in range(today.year, today.year - 5, -1):  # 29 February needs up to four
        found = _valid(year, month, int(match["d"]))
        if found and found[0] <= today:
            return found
    return None


def _read_month(match: re.Match[str], today: date) -> _Range | None:
    month = MONTHS[match["mon"].lower()]
    if match["y"]:
        return _month(int(match["y"]), month)
    return _month(today.year - (month > today.month), month)


def _read_quarter(match: re.Match[str], today: date) -> _Range | None:
    first = (int(match["q"]) - 1) * 3 + 1
    year = int(match["y"]) if match["y"] else today.year - (first > today.month)
    return date(year, first, 1), _month(year, first + 2)[1]


def _read_year(match: re.Match[str], today: date) -> _Range | None:
    year = int(match["y"])
    return (date(year, 1, 1), date(year + 1, 1, 1)) if year <= today.year + 1 else None


def _read_this(match: re.Match[str], today: date) -> _Range | None:
    return _calendar(UNITS[match["u"].lower()], today)


def _read_last(match: re.Match[str], today: date) -> _Range | None:
    """The calendar unit before this one; but "last week" is the past 14 days, which hold it
    whatever the weekday (auroranotes-rag.md, ``analyzeQuery``)."""
    unit = UNITS[match["u"].lower()]
    if unit == "week":
        return today - timedelta(days=14), today + _DAY
    if unit == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
        return saturday, min(saturday + timedelta(days=2), today + _DAY)
    start = _calendar(unit, today)[0]
    return _back(start, 1, unit), start


def _read_past(match: re.Match[str], today: date) -> _Range | None:
    count = _count(match["n"]) if match["n"] else 1
    return _back(today, count, UNITS[match["u"].lower()]), today + _DAY


def _read_ago(match: re.Match[str], today: date) -> _Range | None:
    """ "3 days ago" is a day; "2 weeks ago" a week around it; months and years the calendar's."""
    unit = UNITS[match["u"].lower()]
    there = _back(today, _count(match["n"]), unit)
    if unit == "week":
        return there - timedelta(days=3), there + timedelta(days=4)
    return _calendar(unit, there)


def _read_weekday(match: re.Match[str], today: date) -> _Range | None:
    behind = (today.weekday() - WEEKDAYS[match["w"].lower()]) % 7
    if not behind and "this" not in match.group().lower():
        behind = 7
    return today - timedelta(days=behind), today - timedelta(days=behind - 1)


def _days_ago(days: int) -> _Reader:
    def read(_match: re.Match[str], today: date) -> _Range | None:
        return today - timedelta(days=days), today - timedelta(days=days - 1)

    return read


def _read_recently(_match: re.Match[str], today: date) -> _Range | None:
    return today - timedelta(days=RECENT_DAYS), today + _DAY


_YEAR_TAIL = rf"(?:,?\s+(?:del?\s+|of\s+)?(?P<y>{_YEAR})(?!\d))"
_THROUGH = r"(?:between|from)\s+\w+(?:\s+\d{4})?\s+(?:and|to|until|till)"
_MONTH_LEAD = (
    r"(?:in|during|since|before|after|until|till|by|last|of|from|for|early|late|mid|im|seit|vor"
    r"|nach|bis|en|desde|hasta|antes\s+de|después\s+de|depuis|avant|après|between|" + _THROUGH + ")"
)
_YEAR_LEAD = (
    r"(?:in|during|since|before|after|until|till|by|of|from|for|early|late|mid|year|im\s+jahr"
    r"|seit|vor|nach|bis|en|desde|hasta|antes\s+de|depuis|avant|après|between|" + _THROUGH + ")"
)
_OF = r"(?!\s+(?:of|before|in)\b)"  # "the last week of the trip"
_END = r"(?![\w\-/]|\.\d)"


@dataclass(frozen=True, slots=True)
class _Pattern:
    """``lead``: what has to stand before a match, when the words alone are not enough."""

    words: re.Pattern[str]
    read: _Reader
    relative: bool
    lead: re.Pattern[str] | None = None


def _absolute(words: str, read: _Reader, lead: str = "") -> _Pattern:
    before = re.compile(rf"\b(?:{lead})\s+$", re.IGNORECASE) if lead else None
    return _Pattern(re.compile(words, re.IGNORECASE), read, False, before)


def _relative(words: str, read: _Reader, lead: str = "") -> _Pattern:
    before = re.compile(rf"\b(?:{lead})\s+$", re.IGNORECASE) if lead else None
    return _Pattern(re.compile(rf"\b(?:{words})\b{_OF}", re.IGNORECASE), read, True, before)


_PATTERNS = (
    _absolute(
        rf"{_NOT_BEFORE}(?P<y>{_YEAR})(?P<s>[-/.])(?P<m>\d\d?)(?P=s)(?P<d>\d\d?){_END}", _read_day
    ),
    _absolute(rf"{_NOT_BEFORE}(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>{_YEAR}){_END}", _read_day),
    _absolute(rf"{_NOT_BEFORE}(?P<y>{_YEAR})-(?P<m>0[1-9]|1[0-2]){_END}", _read_year_month),
    _absolute(
        rf"{_NOT_BEFORE}(?P<d>\d\d?)(?P<ord>st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?(?P<mon>{_MONTH})\b"
        rf"{_YEAR_TAIL}?",
        _read_named_day,
    ),
    _absolute(
        rf"\b(?P<mon>{_MONTH})\.?\s+(?:the\s+)?(?P<d>\d\d?)(?P<ord>st|nd|rd|th)?{_NOT_AFTER}"
        rf"{_YEAR_TAIL}?",
        _read_named_day,
    ),
    _absolute(rf"\b(?P<mon>{_MONTH})\.?{_YEAR_TAIL}{_NOT_AFTER}", _read_month),
    _absolute(
        rf"(?P<mon>(?!mars\b){_MONTH})\b(?P<y>)(?!\s+(?:be|have|not)\b|[-']|\s+\d)",
        _read_month,
        _MONTH_LEAD,
    ),
    _absolute(r"(?P<mon>mars)\b(?P<y>)", _read_month, "en|depuis|avant|après|début|fin"),
    _absolute(
        rf"{_NOT_BEFORE}q(?P<q>[1-4])[\s/-]\s*(?:of\s+)?(?P<y>{_YEAR}){_NOT_AFTER}", _read_quarter
    ),
    _absolute(
        r"q(?P<q>[1-4])\b(?P<y>)(?!\s+(?:of|to)\b)",
        _read_quarter,
        "in|during|since|before|after|until|for|last|this",
    ),
    _absolute(rf"(?P<y>{_YEAR}){_NOT_AFTER}{_COUNTED}", _read_year, _YEAR_LEAD),
    _relative(r"day\s+before\s+yesterday|vorgestern|anteayer|avant-hier", _days_ago(2)),
    _relative(r"yesterday|last\s+night|gestern|ayer|hier\s+soir", _days_ago(1)),
    _relative(
        r"today|tonight|this\s+(?:morning|afternoon|evening)|heute|hoy|aujourd['’]hui", _days_ago(0)
    ),
    _relative(
        rf"(?:this|current|dies(?:e|er|en|em|es)|est[ea]|cette|ce)\s+(?P<u>{_UNIT})", _read_this
    ),
    _relative(
        rf"(?:last|previous|letzte[nrsm]?|vergangene[nrsm]?)\s+(?P<u>(?!days?\b|tag){_UNIT})",
        _read_last,
    ),
    _relative(rf"(?:la|el)\s+(?P<u>{_UNIT})\s+pasad[oa]", _read_last),
    _relative(rf"(?:la\s+|le\s+|l['’])(?P<u>{_UNIT})\s+(?:dernier|dernière|passée?)", _read_last),
    _relative(rf"past\s+(?P<n>)(?P<u>{_UNIT})", _read_past),
    _relative(
        rf"(?:last|past|previous|letzten|vergangenen|últim[oa]s|derni(?:er|ère)s)\s+(?P<n>{_NUM})\s+"
        rf"(?P<u>{_UNIT})",
        _read_past,
    ),
    _relative(
        rf"l[eoa]s\s+(?P<n>{_NUM})\s+(?:últim[oa]s|derni(?:er|ère)s)\s+(?P<u>{_UNIT})", _read_past
    ),
    _relative(rf"l[oa]s\s+últim[oa]s\s+(?P<n>{_NUM})\s+(?P<u>{_UNIT})", _read_past),
    _relative(rf"(?P<n>{_NUM})\s+(?P<u>{_UNIT})\s+ago", _read_ago),
    _relative(rf"(?:vor|hace|il\s+y\s+a)\s+(?P<n>{_NUM})\s+(?P<u>{_UNIT})", _read_ago),
    _relative(rf"(?:last|past|previous|this|letzte[nr])\s+(?P<w>{_WEEKDAY})", _read_weekday),
    _relative(rf"(?P<w>{_WEEKDAY})\s+(?:dernier|pasado)", _read_weekday),
    _relative(
        rf"(?P<w>{_WEEKDAY})",
        _read_weekday,
        r"on|since|before|after|until|till|by|am|seit|el|desde\s+el|depuis",
    ),
    _relative(r"recently|lately|kürzlich|neulich|recientemente|récemment", _read_recently),
)

# A year with no word before it that says it is one: at the end, and not part of a name such as
# "Visual Studio 2022".
_BARE_YEAR = re.compile(rf"(?:^|(?<=[\s(,]))(?P<y>{_YEAR}){_NOT_AFTER}{_COUNTED}(?=\s*[?!.)]*\s*$)")
_NAME_BEFORE = re.compile(r"(?:\b[A-Z][\w.+#]*|\b(?:version|port|room|page|line|issue|rfc|no))\s+$")

_SINCE = re.compile(r"\b(?:since|seit(?:\s+dem)?|desde(?:\s+el)?|depuis|from)\s*$", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|prior\s+to|vor|antes\s+del?|avant)\s*$", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|up\s+to|by|bis|hasta|jusqu['’]en)\s*$", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|nach|después\s+del?|après)\s*$", re.IGNORECASE)
_RANGE = re.compile(r"\s*(?:and|to|until|till|through|-|–|und|bis|y|a|et|à)\s*$", re.IGNORECASE)


def _periods(text: str, today: date) -> Iterator[tuple[int, int, date, date, bool]]:
    for pattern in _PATTERNS:
        for match in pattern.words.finditer(text):
            if pattern.lead is not None and not pattern.lead.search(text[: match.start()]):
                continue
            found = pattern.read(match, today)
            if found is not None:
                yield match.start(), match.end(), *found, pattern.relative
    for match in _BARE_YEAR.finditer(text):
        found = _read_year(match, today)
        if found is not None and not _NAME_BEFORE.search(text[: match.start()]):
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
    tomorrow = datetime.combine(now.date() + _DAY, time.min)
    epoch = datetime(FIRST_YEAR, 1, 2)
    if _SINCE.search(before):
        return period.start, max(tomorrow, period.start + _DAY)
    if _AFTER.search(before):
        return period.end, max(tomorrow, period.end + _DAY)
    if _BEFORE.search(before):
        return epoch, period.start
    if _UNTIL.search(before):
        return epoch, period.end
    return period.start, period.end


def _timestamp(moment: datetime, now: datetime) -> float:
    return moment.replace(tzinfo=now.tzinfo).timestamp()


def find_hint(text: str, now: datetime) -> tuple[TimeHint, bool] | None:
    """The time that a question names and whether it is in relative words, or None.

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
    hint = TimeHint(_timestamp(start, now), _timestamp(end, now) - 1e-3, days, phrase)
    return hint, period.relative


# ------------------------------------------------------------------ --since, --until

_SHORT = re.compile(
    rf"(?P<n>{_NUM})\s*(?P<u>h|hours?|d|w|mo|m|y|{_UNIT})(?:\s+ago)?", re.IGNORECASE
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
    moment = _parse_moment(value, now)
    if moment is not None:
        return _timestamp(moment, now)
    bounds = _parse_days(value, now)
    if bounds is None:
        raise UsageError(f"“{value[:80]}” is no date or time that I understand.", _WHEN_HINT)
    chosen = bounds[1] if end else bounds[0]
    return _timestamp(datetime.combine(chosen, time.min), now) - (1e-3 if end else 0.0)


def _parse_moment(value: str, now: datetime) -> datetime | None:
    if value.lower() in ("now", "jetzt", "ahora", "maintenant"):
        return now
    short = _SHORT.fullmatch(value)
    if short and short["u"].lower() in ("h", "hour", "hours"):
        return now - timedelta(hours=min(_count(short["n"]), 400_000))
    if len(value) > 10:  # longer than a bare date: it says the time of day
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        return moment if moment.tzinfo is None else moment.astimezone(now.tzinfo)
    return None


def _parse_days(value: str, now: datetime) -> _Range | None:
    today = now.date()
    short = _SHORT.fullmatch(value)
    if short:
        unit = short["u"].lower()
        day = _back(today, _count(short["n"]), _SHORT_UNITS.get(unit) or UNITS[unit])
        return day, day + _DAY
    if _LAST_WEEK.fullmatch(value):  # here a bound, not a hint: the calendar's week
        return _calendar("week", today - timedelta(days=7))
    for lead in ("", "on ", "in "):
        periods = find_periods(lead + value, now)
        if len(periods) == 1 and periods[0].span == (len(lead), len(lead + value)):
            return periods[0].start.date(), periods[0].end.date()
    return None
