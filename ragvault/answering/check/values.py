"""Numbers and dates in running text, in the spellings that notes and models use.

A number is a set of values, since "1.000" is a thousand in one country and one in another; two
numbers agree when their sets meet. English, German, Spanish and French month names and small
number words are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain

from ragvault.formats.dates import nearest_day
from ragvault.text import MONTHS, WEEKDAYS

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Number:
    """``values``: all it can mean. ``unit``: a canonical unit or None. ``is_plain``: digits and
    separators alone, not part of a name such as ``v2`` or ``MD5``."""

    token: str
    values: frozenset[float]
    unit: str | None
    is_plain: bool


@dataclass(frozen=True, slots=True)
class Date:
    """A day, a month or a day without its year; what isn't said is None."""

    year: int | None
    month: int
    day: int | None


# Beside the names that a question uses, the short ones that notes do.
_MONTHS = MONTHS | {
    "ene": 1, "janv": 1, "fév": 2, "abr": 4, "avr": 4, "juil": 7, "ago": 8, "dic": 12,
    "decembre": 12,
}  # fmt: skip
_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th|er|\.)?"
_DATE_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)",
        r"(?<!\d)(?P<y>(?:19|20)\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>[0-3]\d)(?!\d)",
        r"(?<!\d)(?P<d>\d{1,2})[./-](?P<m>\d{1,2})[./-](?P<y>\d{4})(?!\d)",
        r"(?<![\d.])(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?![\d.])",
        rf"\b(?P<name>{_MONTH})\s+(?P<d>{_DAY})(?!\d)(?:,?\s+(?P<y>\d{{4}}))?",
        rf"(?<!\d)(?P<d>{_DAY})\s+(?:of\s+|de\s+)?(?P<name>{_MONTH})(?!\w)"
        r"(?:,?\s+(?:de\s+)?(?P<y>\d{4}))?",
        rf"\b(?P<name>{_MONTH})(?:,?\s+|\s+de\s+)(?P<y>\d{{4}})\b",
        r"(?<![\d-])(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?![\d-])",
        r"(?<![\d.,/-])(?P<m>(?:0?[1-9]|1[0-2])(?=/)|(?:0[1-9]|1[0-2])(?=\.))[./]"
        r"(?P<y>(?:19|20)\d\d)(?![\d/]|[.,]\d)",
    )
)
_ENGLISH_DAYS = [day for day in WEEKDAYS if "day" in day]
_SHORT_DAYS = {day[:n].capitalize(): WEEKDAYS[day] for day in _ENGLISH_DAYS for n in (3, 4, 5)}
# A range says its month once: "2–7 May 2026", "May 2 to 9", "vom 2. bis 5. Juni".
_TO = r"\s*(?:-|–|—|to|until|till|through|and|bis(?: zum)?|und|al?|au|et|y)\s*"
_FROM = re.compile(rf"(?<![\w.,:/-])(\d{{1,2}})(?:st|nd|rd|th|er|\.)?{_TO}\Z", re.IGNORECASE)
_UNTIL = re.compile(rf"{_TO}(\d{{1,2}})(?:st|nd|rd|th)?(?![\w:/-]|[.,]\d| \w*m\b)", re.IGNORECASE)

_UNITS = {
    **{unit: unit for unit in ("mm", "cm", "ml")},
    "m": "m meter meters metern metre metres",
    "g": "g gram grams gramm",
    "l": "l litre litres liter liters litros",
    "%": "% percent pct prozent pourcent",
    "ms": "ms millisecond milliseconds millisekunden",
    "s": "sec secs second seconds sekunde sekunden segundos secondes",
    "min": "min mins minute minutes minuten minutos",
    "h": "hr hrs hour hours stunde stunden horas heures",
    "day": "day days tag tage tagen días jours",
    "week": "week weeks woche wochen semanas semaines",
    "month": "month months monat monate monaten meses mois",
    "year": "year years jahr jahre jahren años ans",
    **{size: f"{size} {size[0]}ib" for size in ("kb", "mb", "gb", "tb")},
    "kg": "kg kilogram kilograms",
    "km": "km kilometer kilometern kilometers kilometre kilometres",
    "mi": "mile miles",
    "$": "$ usd dollar dollars",
    "€": "€ eur euro euros",
    "£": "£ gbp pounds",
    "°": "° degree degrees celsius grad grados degrés",
    "thousand": "thousand",
    "million": "million millions millionen mio",
    "billion": "billion billions milliarden",
}
_UNIT_OF = {name: unit for unit, names in _UNITS.items() for name in names.split()}
_SCALE = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_DIGITS = re.compile(
    r"(?:[$€£]\s?)?(?<!\d)\d+(?:[.,:'’]\d+|[\u00a0\u202f ]\d{3}(?!\d))*", re.UNICODE
)
_AFTER = re.compile(r"[\s\u00a0-]?([%$€£°]|[^\W\d_]+)")
# What makes a time of day of a number: "7.30pm", "19.30 Uhr", "19h30".
_CLOCK = re.compile(
    r"\s?(?:(?P<half>[ap])\.?m\b|uhr\b|o['’]clock\b|h(?P<min>\d\d)\b)", re.IGNORECASE
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)

_NUMBER_WORDS = {
    word: float(value)
    for value, words in enumerate(
        "zero null, first erste ersten erster, two second zwei zweite zweiten zweiter dos deux,"
        " three third drei dritte dritten dritter tres trois, four fourth vier cuatro quatre,"
        " five fifth fünf cinco cinq, six sixth sechs seis, seven seventh sieben siete sept,"
        " eight eighth acht ocho huit, nine ninth neun nueve neuf, ten tenth zehn diez dix,"
        " eleven eleventh elf once onze, twelve twelfth zwölf doce douze, thirteen, fourteen,"
        " fifteen, sixteen, seventeen, eighteen, nineteen, twenty zwanzig veinte vingt".split(",")
    )
    for word in words.split()
} | {
    "one": 1.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "seventy": 70.0,
    "eighty": 80.0, "ninety": 90.0, "hundred": 100.0, "thousand": 1000.0, "dozen": 12.0,
    "once": 1.0, "twice": 2.0, "half": 0.5,
}  # fmt: skip
_COUNT = re.compile(  # not the end of a longer one: "sesenta y ocho euros", "19:11 votes"
    r"(?<![-:.,/\w])(?<!\s[ey]\s)(?<!\set\s)("
    + "|".join(_NUMBER_WORDS)
    + r"|\d{1,9})[\s-]+([^\W\d_]{3,})",
    re.IGNORECASE | re.UNICODE,
)


def find_dates(text: str) -> list[tuple[Span, tuple[Date, ...]]]:
    """Each date's place and what it can mean (03/04/2024 is two days). In no special order."""
    found: list[tuple[Span, tuple[Date, ...]]] = []
    taken: list[Span] = []
    for form in _DATE_FORMS:
        for match in form.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            dates = _meanings(match.groupdict())
            if dates:
                taken.append(match.span())
                found.append((match.span(), dates))
                found += _other_ends(text, match, dates)
    return found


def _other_ends(
    text: str, match: re.Match[str], dates: tuple[Date, ...]
) -> Iterator[tuple[Span, tuple[Date, ...]]]:
    """The days of a range that stand without their month, before a date or behind one."""
    if dates[0].day is None:
        return
    ends = [_FROM.search(text, max(0, match.start() - 20), match.start())]
    if "name" in match.re.groupindex and match.start("name") < match.start("d"):
        ends.append(_UNTIL.match(text, match.end()))
    for end in filter(None, ends):
        if 1 <= int(end[1]) <= 31:
            yield end.span(1), tuple(replace(day, day=int(end[1])) for day in dates)


def weekday(word: str) -> int | None:
    """The day that the word names, 0 for a Monday: "Tue", "Dienstag", "Fridays", "martes". A short
    one has a capital: people sat in the sun."""
    said = word.casefold()
    short = word[:1] + said[1:].rstrip("s")
    return WEEKDAYS.get(said, WEEKDAYS.get(said.rstrip("s"), _SHORT_DAYS.get(short)))


def weekdays(text: str) -> frozenset[int | None]:
    """Those that the text names, and those of its whole dates; None for its other words."""
    days = chain(*(dates for _, dates in find_dates(text)))
    whole = (nearest_day(d.year, d.month, d.day, date.max) for d in days if d.year and d.day)
    named = map(weekday, re.findall(r"[^\W\d_]{3,}", text))
    return frozenset((*named, *(day.weekday() for day in whole if day)))


def is_value(word: str) -> bool:
    """A number in digits or letters, or a unit."""
    return word.isdigit() or word in _NUMBER_WORDS or word in _UNIT_OF


def without_dates(text: str) -> str:
    """With blanks in the place of each."""
    for (start, end), _ in find_dates(text):
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _meanings(parts: dict[str, str | None]) -> tuple[Date, ...]:
    year_text = parts.get("y")
    year = int(year_text) if year_text else None
    day_text = parts.get("d")
    day = int(re.sub(r"\D", "", day_text)) if day_text else None
    name = parts.get("name")
    if name:
        options = [(_MONTHS[name.lower().rstrip(".")], day)]
    else:
        month = int(parts["m"] or 0)
        options = [(month, day)]
        if day is not None and year is not None and parts["m"] and len(parts["m"]) <= 2:
            options.append((day, month))  # the other order of day and month
    return tuple(
        Date(year, month, day)
        for month, day in dict.fromkeys(options)
        if 1 <= month <= 12 and (day is None or 1 <= day <= 31)
    )


def compatible(said: Date, known: Date) -> bool:
    """Nothing that was said differs from what is known; what is known may be more exact."""
    return (
        said.month == known.month
        and (said.year is None or said.year == known.year)
        and (said.day is None or said.day == known.day)
    )


def find_numbers(text: str, *, spelled: bool = False) -> list[Number]:
    """Numbers in digits, in order; with ``spelled`` also the number words (unit None, last)."""
    found = [_number(text, match) for match in _DIGITS.finditer(text)]
    words = _NUMBER_WORDS.keys() & re.findall(r"[^\W\d_]+", text.lower()) if spelled else set()
    found += [Number(word, frozenset({_NUMBER_WORDS[word]}), None, False) for word in sorted(words)]
    return found


def _number(text: str, match: re.Match[str]) -> Number:
    token = match.group()
    digits = token.lstrip("$€£ ")
    unit = _UNIT_OF.get(token[0]) if token[0] in "$€£" else None
    after = _AFTER.match(text, match.end())
    if unit is None and after:
        unit = _UNIT_OF.get(after.group(1).lower())
    values = _values(digits)
    if unit in _SCALE:
        values |= {value * _SCALE[unit] for value in values}
    if re.fullmatch(r"0\d:\d\d", digits):  # "06:25" is no "6:25 pm"
        unit = unit or "a"
    said = _CLOCK.match(text, match.end())
    if said and (clock := re.fullmatch(r"(\d\d?)(?:[:.](\d\d))?", digits)):
        hour, half = int(clock[1]), (said["half"] or "").lower()
        unit = half or unit
        hour = hour % 12 + 12 * (half == "p") if half else hour  # "2:30 pm" is 14:30
        values |= _values(f"{hour}:{said['min'] or clock[2] or '00'}")
    before = text[match.start() - 1] if match.start() else " "
    glued = bool(after and after.start(1) == match.end()) and unit is None
    is_ordinal = bool(_ORDINAL.match(text, match.end()))
    is_plain = not (before.isalpha() or before == "_") and (not glued or is_ordinal)
    return Number(token.strip(), frozenset(values), unit, is_plain)


def _values(digits: str) -> set[float]:
    plain = re.sub(r"[\u00a0\u202f '’]", "", digits)
    if ":" in plain:  # a time of day; ratios and addresses are compared as text
        clock = re.fullmatch(r"(\d{1,2}):(\d\d)(?::\d\d)?", plain)
        # Times of day in a range of their own.
        return {1e7 + int(clock.group(1)) * 60 + int(clock.group(2))} if clock else set()
    separators = re.findall(r"[.,]", plain)
    if not separators:
        return {float(plain)}
    bare = float(re.sub(r"[.,]", "", plain))
    if len(separators) == 1:
        decimal = float(plain.replace(",", "."))
        return {decimal, bare} if re.search(r"[.,]\d{3}$", plain) else {decimal}
    if len(set(separators)) == 2:
        whole, last = re.split(rf"\{separators[-1]}(?=\d+$)", plain)
        return {float(re.sub(r"[.,]", "", whole) + "." + last)}
    return {bare}


def spelled_counts(statement: str, text: str) -> list[str]:
    """Counts in words ("six retries") where the text counts the same thing otherwise. One that the
    text doesn't give may still be true of a list in it."""
    known: dict[str, set[float]] = {}
    for _, thing, count in _counts(text):
        known.setdefault(thing, set()).add(count)
    return [
        f"there are not {said} there"
        for said, thing, count in _counts(statement)
        if not said[0].isdecimal() and count not in known.get(thing, {count})
    ]


def _counts(text: str) -> Iterator[tuple[str, str, float]]:
    for word, thing in _COUNT.findall(text.lower()):
        count = _NUMBER_WORDS[word] if word in _NUMBER_WORDS else float(word)
        yield f"{word} {thing}", thing.rstrip("s"), count
