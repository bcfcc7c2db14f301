"""The words and phrases for times, and the days that each one means: a table of patterns.

A pattern's reader turns a match into the first day and the first day after, or None when the
words mean no time after all.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from ragvault.text import MONTHS, WEEKDAYS

# ------------------------- words: English, German, Spanish, French, Italian, Portuguese, Dutch

_UNIT_WORDS = {
    "day": "day days tag tage tagen día días dia dias jour jours giorno giorni dag dagen",
    "week": "week weeks woche wochen semana semanas semaine semaines settimana settimane weken",
    "weekend": "weekend weekends wochenende",
    "month": "month months monat monate monaten mes meses mois mese mesi mês maand maanden",
    "quarter": "quarter quarters quartal quartale quartalen trimestre trimestri kwartaal kwartalen",
    "year": "year years jahr jahre jahren año años an ans année années anno anni ano anos jaar"
    " jaren",
}
UNITS: dict[str, str] = {
    word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()
}

NUMBERS: dict[str, int] = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "couple of": 2, "a couple of": 2,
    "couple": 2, "few": 3, "a few": 3, "several": 5,
    "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
    "un": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6,
    "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5,
    "due": 2, "tre": 3, "quattro": 4, "cinque": 5, "um": 1, "uma": 1, "dois": 2, "duas": 2,
    "três": 3, "een": 1, "twee": 2, "drie": 3, "vijf": 5, "zes": 6,
}  # fmt: skip

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
_END = r"(?![\w\-/]|\.\d)"
# A year before one of these is a count: "2024 items".
_COUNTED = (
    r"(?!\s+(?:items?|people|persons|users?|customers|words?|rows?|records?|notes|files?|lines?"
    r"|tokens?|characters|pages|dollars|euros|pounds|bytes|[kmgt]?i?b|kg|km|m|ms|mm|cm|px|units?"
    r"|steps|calories|kcal|points|votes|hours|minutes|seconds|times|pieces|more|or\s+more)\b)"
)

DayRange = tuple[date, date]  # first day, first day after
_Reader = Callable[[re.Match[str], date], DayRange | None]

_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
_DAYS_IN = {"day": 1, "week": 7, "weekend": 7}


def _shifted(day: date, months: int) -> date:
    """The same day of another month, or that month's last day; never before 1970."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    year = max(FIRST_YEAR, year)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def back(day: date, count: int, unit: str) -> date:
    """``count`` units before ``day``, never before 1970."""
    if unit in _MONTHS_IN:
        return _shifted(day, -count * _MONTHS_IN[unit])
    return max(date(FIRST_YEAR, 1, 1), day - count * _DAYS_IN[unit] * DAY)


def calendar_unit(unit: str, day: date) -> DayRange:
    """The calendar's unit that holds the day; weeks begin on Monday, a weekend is its week's."""
    if unit in _MONTHS_IN:
        size = _MONTHS_IN[unit]
        first = date(day.year, (day.month - 1) // size * size + 1, 1)
        return first, _shifted(first, size)
    if unit == "day":
        return day, day + DAY
    monday = day - day.weekday() * DAY
    return (monday if unit == "week" else monday + 5 * DAY), monday + 7 * DAY


def count_of(word: str) -> int:
    """A number in digits or words. Raises KeyError for another word."""
    return int(word) if word.isdigit() else NUMBERS[word.lower()]


def _calendars(unit: str) -> _Reader:
    """Reads a day, month, quarter or year of the calendar from the groups d, m or mon, q and y.
    Without a year: the latest that has begun."""

    def read(match: re.Match[str], today: date) -> DayRange | None:
        said = match.groupdict()
        month, day, name = int(said.get("m") or 1), int(said.get("d") or 1), said.get("mon")
        if name:
            month = MONTHS[name.lower()]
            certain = said["y"] or said.get("ord") or name[0].isupper()
            if unit == "day" and name.lower() in ("may", "march", "mar", "mars") and not certain:
                return None  # "3 may fail"
        if unit == "quarter":
            month = int(said["q"]) * 3 - 2
        # 29 February needs up to four years.
        years = [int(said["y"])] if said["y"] else range(today.year, today.year - 5, -1)
        for year in years:
            try:
                first = date(year, month, day)
            except ValueError:
                continue
            if said["y"] or first <= today:
                return calendar_unit(unit, first)
        return None

    return read


def _read_year(match: re.Match[str], today: date) -> DayRange | None:
    """None for a year beyond the next."""
    year = int(match["y"])
    return calendar_unit("year", date(year, 1, 1)) if year <= today.year + 1 else None


_NAME_BEFORE = re.compile(r"(?:\b[A-Z][\w.+#]*|\b(?:version|port|room|page|line|issue|rfc|no))\s+$")


def _read_bare_year(match: re.Match[str], today: date) -> DayRange | None:
    """A year that no word says to be one, at the end; not in a name: "Visual Studio 2022"."""
    is_name = _NAME_BEFORE.search(match.string[: match.start()])
    return None if is_name else _read_year(match, today)


def _read_last(match: re.Match[str], today: date) -> DayRange | None:
    """So many units up to today, or without a number the calendar unit before this one; but "last
    week" is the past 14 days, which hold it whatever the weekday (auroranotes-rag.md,
    ``analyzeQuery``). "The last day" names no time."""
    unit, count = UNITS[match["u"].lower()], match.groupdict().get("n")
    if count or match.group().lower().startswith("past"):
        return back(today, count_of(count or "one"), unit), today + DAY
    if unit == "day":
        return None
    if unit == "week":
        return today - 14 * DAY, today + DAY
    if unit == "weekend":
        saturday = today - ((today.weekday() - 5) % 7 or 7) * DAY
        return saturday, min(saturday + 2 * DAY, today + DAY)
    start = calendar_unit(unit, today)[0]
    return back(start, 1, unit), start


def _read_ago(match: re.Match[str], today: date) -> DayRange:
    """ "3 days ago" is a day; "2 weeks ago" a week around it; months and years the calendar's."""
    unit = UNITS[match["u"].lower()]
    there = back(today, count_of(match["n"]), unit)
    return (there - 3 * DAY, there + 4 * DAY) if unit == "week" else calendar_unit(unit, there)


def _read_weekday(match: re.Match[str], today: date) -> DayRange:
    behind = (today.weekday() - WEEKDAYS[match["w"].lower()]) % 7
    if not behind and "this" not in match.group().lower():
        behind = 7
    return calendar_unit("day", today - behind * DAY)


def _read_coming_weekday(match: re.Match[str], today: date) -> DayRange:
    ahead = (WEEKDAYS[match["w"].lower()] - today.weekday()) % 7
    if not ahead and not match.group().lower().startswith(match["w"].lower()):
        ahead = 7  # "next Friday" on a Friday
    return calendar_unit("day", today + ahead * DAY)


_MOST_AHEAD = 1000  # units: beyond, the calendar ends


def _read_coming(match: re.Match[str], today: date) -> DayRange:
    """So many units from today on, or without a number the calendar unit after this one."""
    unit, count = UNITS[match["u"].lower()], match.groupdict().get("n")
    if count:
        return today, back(today, -min(count_of(count), _MOST_AHEAD), unit) + DAY
    return calendar_unit(unit, calendar_unit(unit, today)[1])


def _read_end(match: re.Match[str], today: date) -> DayRange:
    """The last week of a month, the last day of another unit."""
    if match["mon"]:
        month = MONTHS[match["mon"].lower()]
        unit, day = "month", date(today.year + (month < today.month), month, 1)
    else:
        unit, day = UNITS[match["u"].lower()], today
    after = calendar_unit(unit, day)[1]
    return after - (7 if unit == "month" else 1) * DAY, after


def _days_from_today(first: int, last: int) -> _Reader:
    return lambda _match, today: (today + first * DAY, today + last * DAY + DAY)


_YEAR_TAIL = rf"(?:,?\s+(?:del?\s+|of\s+)?(?P<y>{_YEAR})(?!\d))"
_BETWEEN = "between|zwischen|entre|tra|fra|tussen"
# What has to stand before a month or a year, when the words alone are not enough.
_LEAD = (
    r"in|during|since|before|after|until|till|by|of|from|for|early|late|mid|seit|vor|nach|bis|en"
    rf"|desde|hasta|antes\s+de|depuis|avant|après|{_BETWEEN}|von"
    rf"|(?:{_BETWEEN}|from|in|im|von|en|de)\s+(?:{_MONTH})(?:\s+\d{{4}})?"
    r"\s+(?:and|or|to|until|till|und|oder|bis|y|o|a|et|ou|à|e|en|of|tot)"
)
# The planet has the month's French name.
_MARS = rf"en|depuis|avant|après|début|fin|entre|(?:entre|de|en)\s+(?:{_MONTH})\s+(?:et|ou|à)"
# What stands before a unit or a weekday that is over, and what after it.
_LAST = (
    r"last|past|previous|letzte[nrsm]?|vergangene[nrsm]?|vorige|afgelopen|laatste|últim[oa]s"
    r"|derni(?:er|ère)s|ultim[ie]"
)
_BEFORE_THIS = r"pass?ad[oa]|scors[oa]|passat[oa]|dernier|dernière|passée?"


class Pattern(NamedTuple):
    """``relative``: the words count from today. ``lead`` has to stand right before a match."""

    words: str
    read: _Reader
    relative: bool = False
    lead: str = ""


def _absolute(words: str, read: _Reader, lead: str = "") -> Pattern:
    return Pattern(words, read, False, rf"\b(?:{lead})\s+$" if lead else "")


def _relative(words: str, read: _Reader, lead: str = "") -> Pattern:
    words = rf"\b(?:{words})\b(?!\s+(?:of|before|in)\b)"  # not "the last week of the trip"
    return _absolute(words, read, lead)._replace(relative=True)


PATTERNS = (
    _absolute(
        rf"{_NOT_BEFORE}(?P<y>{_YEAR})(?P<s>[-/.])(?P<m>\d\d?)(?P=s)(?P<d>\d\d?){_END}",
        _calendars("day"),
    ),
    _absolute(rf"{_NOT_BEFORE}(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>{_YEAR}){_END}", _calendars("day")),
    _absolute(rf"{_NOT_BEFORE}(?P<y>{_YEAR})-(?P<m>0[1-9]|1[0-2]){_END}", _calendars("month")),
    _absolute(
        rf"{_NOT_BEFORE}(?P<d>\d\d?)(?P<ord>st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?(?P<mon>{_MONTH})\b"
        rf"{_YEAR_TAIL}?",
        _calendars("day"),
    ),
    _absolute(
        rf"\b(?P<mon>{_MONTH})\.?\s+(?:the\s+)?(?P<d>\d\d?)(?P<ord>st|nd|rd|th)?{_NOT_AFTER}"
        rf"{_YEAR_TAIL}?",
        _calendars("day"),
    ),
    _absolute(rf"\b(?P<mon>{_MONTH})\.?{_YEAR_TAIL}{_NOT_AFTER}", _calendars("month")),
    _absolute(
        rf"(?P<mon>(?!mars\b)(?:{_MONTH}))\b(?P<y>)(?!\s+(?:be|have|not)\b|[-']|\s+\d)",
        _calendars("month"),
        rf"{_LEAD}|im|last|después\s+de",
    ),
    _absolute(r"(?P<mon>mars)\b(?P<y>)", _calendars("month"), _MARS),
    _absolute(
        rf"{_NOT_BEFORE}q(?P<q>[1-4])[\s/-]\s*(?:of\s+)?(?P<y>{_YEAR}){_NOT_AFTER}",
        _calendars("quarter"),
    ),
    _absolute(
        r"q(?P<q>[1-4])\b(?P<y>)(?!\s+(?:of|to)\b)",
        _calendars("quarter"),
        "in|during|since|before|after|until|for|last|this",
    ),
    _absolute(rf"(?P<y>{_YEAR}){_NOT_AFTER}{_COUNTED}", _read_year, rf"{_LEAD}|year|im\s+jahr"),
    _absolute(
        rf"(?:^|(?<=[\s(,]))(?P<y>{_YEAR}){_NOT_AFTER}{_COUNTED}(?=\s*[?!.)]*\s*$)", _read_bare_year
    ),
    _relative(
        r"day\s+before\s+yesterday|vorgestern|anteayer|avant-hier|l['’]altro\s+ieri|anteontem"
        r"|eergisteren",
        _days_from_today(-2, -2),
    ),
    _relative(
        r"yesterday|last\s+night|gestern|ayer|hier\s+soir|ieri|ontem|gisteren",
        _days_from_today(-1, -1),
    ),
    Pattern(  # in German it is "here"
        r"\bhier\b",
        _days_from_today(-1, -1),
        True,
        r"['’]|\b(?:ai|as|avons|avez|ont|est|était|fait|qui|que|quoi|quel(?:le)?s?|combien)\b",
    ),
    _relative(
        r"today|tonight|this\s+(?:morning|afternoon|evening)|heute|hoy|aujourd['’]hui|oggi|hoje"
        r"|vandaag",
        _days_from_today(0, 0),
    ),
    _relative(
        rf"(?:this|current|dies(?:e|er|en|em|es)|n?est[ea]|cette|ce|quest[oa]|deze|dit)\s+(?P<u>{UNIT})",
        lambda match, today: calendar_unit(UNITS[match["u"].lower()], today),
    ),
    _relative(rf"(?:{_LAST})\s+(?:(?P<n>{NUMBER})\s+)?(?P<u>{UNIT})", _read_last),
    _relative(
        rf"(?:(?:la|le|el|il|lo|n?[ao])\s+|l['’])?(?P<u>{UNIT})\s+(?:{_BEFORE_THIS})", _read_last
    ),
    _relative(
        rf"l[eoa]s\s+(?P<n>{NUMBER})\s+(?:últim[oa]s|derni(?:er|ère)s)\s+(?P<u>{UNIT})", _read_last
    ),
    _relative(rf"(?P<n>{NUMBER})\s+(?P<u>{UNIT})\s+(?:ago|fa|geleden)", _read_ago),
    _relative(rf"(?:vor|hace|il\s+y\s+a|há)\s+(?P<n>{NUMBER})\s+(?P<u>{UNIT})", _read_ago),
    _relative(rf"(?:{_LAST}|this)\s+(?P<w>{_WEEKDAY})", _read_weekday),
    _relative(rf"(?P<w>{_WEEKDAY})\s+(?:{_BEFORE_THIS})", _read_weekday),
    _relative(
        rf"(?P<w>{_WEEKDAY})",
        _read_weekday,
        r"on|since|before|after|am|seit|el|desde\s+el|depuis",  # "by Friday" is the next one
    ),
    _relative(
        r"recently|lately|kürzlich|neulich|recientemente|récemment|recentemente|onlangs",
        _days_from_today(-RECENT_DAYS, 0),
    ),
)

_NEXT = r"next|coming|nächste[nrsm]?|kommende[nrsm]?|próxim[oa]s?|prochaine?s?|volgende"
# What is to come: read before those of PATTERNS where something is due.
AHEAD = (
    _relative(
        r"day\s+after\s+tomorrow|übermorgen|pasado\s+mañana|après-demain", _days_from_today(2, 2)
    ),
    _relative(r"tomorrow|morgen|mañana|demain|domani|amanhã", _days_from_today(1, 1)),
    _relative(rf"(?:{_NEXT})\s+(?P<u>{UNIT})", _read_coming),
    _relative(rf"(?P<u>{UNIT})\s+(?:que\s+viene|prochaine?|próxim[oa])", _read_coming),
    _relative(
        rf"(?:in|within|en|dans|(?:(?:in|over)\s+)?(?:the\s+|den\s+|los\s+|les\s+)?(?:{_NEXT}))\s+"
        rf"(?P<n>{NUMBER})\s+(?P<u>{UNIT})",
        _read_coming,
    ),
    _relative(
        rf"(?:the\s+)?(?:end\s+of|ende|fin\s+d[eu]l?)\s+(?:the\s+|de[rs]\s+|la\s+)?(?:this\s+)?"
        rf"(?:(?P<mon>{_MONTH})|(?P<u>{UNIT}))",
        _read_end,
    ),
    _relative(rf"(?:(?:{_NEXT}|this|diesen)\s+)?(?P<w>{_WEEKDAY})", _read_coming_weekday),
    *(pattern for pattern in PATTERNS if pattern.read is not _read_weekday),
)

_LETTERS = re.compile(r"[^\W\d_]+")
# One of these is in all that a pattern without a digit finds.
_TIME_WORDS = frozenset((*UNITS, *MONTHS)).union(
    *map(_LETTERS.findall, WEEKDAYS),
    *(
        _LETTERS.findall(re.sub(r"\(\?!.*|\\[bs]", " ", pattern.words))
        for pattern in AHEAD
        if "(?P<" not in pattern.words
    ),
)


def may_name_a_time(text: str) -> bool:
    """Whether it is worth compiling the patterns, which takes as long as a search."""
    said = _LETTERS.findall(text.lower())
    return any(map(str.isdigit, text)) or not _TIME_WORDS.isdisjoint(said)
