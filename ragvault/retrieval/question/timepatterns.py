"""The words and phrases for times, and the days that each one means. Tables, small readers.

A pattern's reader turns a match into the first day and the first day after, or None when the
words mean no time after all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from ragvault.text import MONTHS

# --------------------------------------------------- words: English, German, Spanish, French

_UNIT_WORDS = {
    "day": "day days tag tage tagen día días dia dias jour jours",
    "week": "week weeks woche wochen semana semanas semaine semaines",
    "weekend": "weekend weekends wochenende",
    "month": "month months monat monate monaten mes meses mois",
    "quarter": "quarter quarters quartal quartale quartalen trimestre",
    "year": "year years jahr jahre jahren año años an ans année années",
}
UNITS: dict[str, str] = {
    word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()
}

_WEEKDAY_WORDS = (
    "monday montag lunes lundi",
    "tuesday dienstag martes mardi",
    "wednesday mittwoch miércoles mercredi",
    "thursday donnerstag jueves jeudi",
    "friday freitag viernes vendredi",
    "saturday samstag sonnabend sábado samedi",
    "sunday sonntag domingo dimanche",
)
WEEKDAYS: dict[str, int] = {
    word: number for number, words in enumerate(_WEEKDAY_WORDS) for word in words.split()
}

NUMBERS: dict[str, int] = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "couple of": 2, "a couple of": 2,
    "couple": 2, "few": 3, "a few": 3, "several": 5,
    "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
    "un": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6,
    "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5,
}  # fmt: skip

# -------------------------------------------------------------------------- patterns

FIRST_YEAR = 1970
RECENT_DAYS = 30
DAY = timedelta(days=1)

UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
NUMBER = r"\d{1,4}|" + "|".join(sorted(NUMBERS, key=len, reverse=True))
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


DayRange = tuple[date, date]  # first day, first day after
_Reader = Callable[[re.Match[str], date], DayRange | None]


# ------------------------------------------------------------------------- calendar


def _month(year: int, month: int) -> DayRange:
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _months_back(day: date, months: int) -> date:
    """The same day of an earlier month, or that month's last day."""
    index = day.year * 12 + day.month - 1 - months
    year, month = max(FIRST_YEAR, index // 12), index % 12 + 1
    last = (_month(year, month)[1] - DAY).day
    return date(year, month, min(day.day, last))


def back(day: date, count: int, unit: str) -> date:
    """``count`` units before ``day``, never before 1970."""
    if unit in ("month", "quarter", "year"):
        months = {"month": 1, "quarter": 3, "year": 12}[unit]
        return _months_back(day, min(count * months, 12_000))
    days = count * {"day": 1, "weekend": 7, "week": 7}[unit]
    return max(date(FIRST_YEAR, 1, 1), day - timedelta(days=min(days, 20_000)))


def calendar(unit: str, day: date) -> DayRange:
    """The calendar unit that holds the day; weeks begin on Monday."""
    if unit == "day":
        return day, day + DAY
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


def _valid(year: int, month: int, day: int) -> DayRange | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return (found, found + DAY) if year >= FIRST_YEAR else None


def count_of(word: str) -> int:
    """A number in digits or words. Raises KeyError for another word."""
    return int(word) if word.isdigit() else NUMBERS[word.lower()]


# -------------------------------------------------------------------------- readers


def _read_day(match: re.Match[str], _today: date) -> DayRange | None:
    return _valid(int(match["y"]), int(match["m"]), int(match["d"]))


def _read_year_month(match: re.Match[str], _today: date) -> DayRange | None:
    return _month(int(match["y"]), int(match["m"]))


def _read_named_day(match: re.Match[str], today: date) -> DayRange | None:
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


def _read_month(match: re.Match[str], today: date) -> DayRange | None:
    month = MONTHS[match["mon"].lower()]
    if match["y"]:
        return _month(int(match["y"]), month)
    return _month(today.year - (month > today.month), month)


def _read_quarter(match: re.Match[str], today: date) -> DayRange | None:
    first = (int(match["q"]) - 1) * 3 + 1
    year = int(match["y"]) if match["y"] else today.year - (first > today.month)
    return date(year, first, 1), _month(year, first + 2)[1]


def read_year(match: re.Match[str], today: date) -> DayRange | None:
    """The year; None for one beyond the next."""
    year = int(match["y"])
    return (date(year, 1, 1), date(year + 1, 1, 1)) if year <= today.year + 1 else None


def _read_this(match: re.Match[str], today: date) -> DayRange | None:
    return calendar(UNITS[match["u"].lower()], today)


def _read_last(match: re.Match[str], today: date) -> DayRange | None:
    """The calendar unit before this one; but "last week" is the past 14 days, which hold it
    whatever the weekday (auroranotes-rag.md, ``analyzeQuery``)."""
    unit = UNITS[match["u"].lower()]
    if unit == "week":
        return today - timedelta(days=14), today + DAY
    if unit == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
        return saturday, min(saturday + timedelta(days=2), today + DAY)
    start = calendar(unit, today)[0]
    return back(start, 1, unit), start


def _read_past(match: re.Match[str], today: date) -> DayRange | None:
    count = count_of(match["n"]) if match["n"] else 1
    return back(today, count, UNITS[match["u"].lower()]), today + DAY


def _read_ago(match: re.Match[str], today: date) -> DayRange | None:
    """ "3 days ago" is a day; "2 weeks ago" a week around it; months and years the calendar's."""
    unit = UNITS[match["u"].lower()]
    there = back(today, count_of(match["n"]), unit)
    if unit == "week":
        return there - timedelta(days=3), there + timedelta(days=4)
    return calendar(unit, there)


def _read_weekday(match: re.Match[str], today: date) -> DayRange | None:
    behind = (today.weekday() - WEEKDAYS[match["w"].lower()]) % 7
    if not behind and "this" not in match.group().lower():
        behind = 7
    return today - timedelta(days=behind), today - timedelta(days=behind - 1)


def _days_ago(days: int) -> _Reader:
    def read(_match: re.Match[str], today: date) -> DayRange | None:
        return today - timedelta(days=days), today - timedelta(days=days - 1)

    return read


def _read_recently(_match: re.Match[str], today: date) -> DayRange | None:
    return today - timedelta(days=RECENT_DAYS), today + DAY


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
class Pattern:
    """``lead``: what has to stand before a match, when the words alone are not enough."""

    words: re.Pattern[str]
    read: _Reader
    relative: bool
    lead: re.Pattern[str] | None = None


def _absolute(words: str, read: _Reader, lead: str = "") -> Pattern:
    before = re.compile(rf"\b(?:{lead})\s+$", re.IGNORECASE) if lead else None
    return Pattern(re.compile(words, re.IGNORECASE), read, False, before)


def _relative(words: str, read: _Reader, lead: str = "") -> Pattern:
    before = re.compile(rf"\b(?:{lead})\s+$", re.IGNORECASE) if lead else None
    return Pattern(re.compile(rf"\b(?:{words})\b{_OF}", re.IGNORECASE), read, True, before)


PATTERNS = (
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
        rf"(?P<mon>(?!mars\b)(?:{_MONTH}))\b(?P<y>)(?!\s+(?:be|have|not)\b|[-']|\s+\d)",
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
    _absolute(rf"(?P<y>{_YEAR}){_NOT_AFTER}{_COUNTED}", read_year, _YEAR_LEAD),
    _relative(r"day\s+before\s+yesterday|vorgestern|anteayer|avant-hier", _days_ago(2)),
    _relative(r"yesterday|last\s+night|gestern|ayer|hier\s+soir", _days_ago(1)),
    _relative(
        r"today|tonight|this\s+(?:morning|afternoon|evening)|heute|hoy|aujourd['’]hui", _days_ago(0)
    ),
    _relative(
        rf"(?:this|current|dies(?:e|er|en|em|es)|est[ea]|cette|ce)\s+(?P<u>{UNIT})", _read_this
    ),
    _relative(
        rf"(?:last|previous|letzte[nrsm]?|vergangene[nrsm]?)\s+(?P<u>(?!days?\b|tag)(?:{UNIT}))",
        _read_last,
    ),
    _relative(rf"(?:la|el)\s+(?P<u>{UNIT})\s+pasad[oa]", _read_last),
    _relative(rf"(?:la\s+|le\s+|l['’])(?P<u>{UNIT})\s+(?:dernier|dernière|passée?)", _read_last),
    _relative(rf"past\s+(?P<n>)(?P<u>{UNIT})", _read_past),
    _relative(
        rf"(?:last|past|previous|letzten|vergangenen|últim[oa]s|derni(?:er|ère)s)\s+(?P<n>{NUMBER})\s+"
        rf"(?P<u>{UNIT})",
        _read_past,
    ),
    _relative(
        rf"l[eoa]s\s+(?P<n>{NUMBER})\s+(?:últim[oa]s|derni(?:er|ère)s)\s+(?P<u>{UNIT})", _read_past
    ),
    _relative(rf"l[oa]s\s+últim[oa]s\s+(?P<n>{NUMBER})\s+(?P<u>{UNIT})", _read_past),
    _relative(rf"(?P<n>{NUMBER})\s+(?P<u>{UNIT})\s+ago", _read_ago),
    _relative(rf"(?:vor|hace|il\s+y\s+a)\s+(?P<n>{NUMBER})\s+(?P<u>{UNIT})", _read_ago),
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
BARE_YEAR = re.compile(rf"(?:^|(?<=[\s(,]))(?P<y>{_YEAR}){_NOT_AFTER}{_COUNTED}(?=\s*[?!.)]*\s*$)")
NAME_BEFORE = re.compile(r"(?:\b[A-Z][\w.+#]*|\b(?:version|port|room|page|line|issue|rfc|no))\s+$")
