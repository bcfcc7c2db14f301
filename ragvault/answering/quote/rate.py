"""How likely each unit is to hold the answer.

A unit's score is a sum of logits: the share of the question that its own words hold, weighted by
how rare a word is among the units; the share that only its place holds (title, headings, what leads
to it); the cosine of the unit in its place to the question, when an embedder is at hand; its
passage's score; whether it is a field of the meaning that is asked for, or of the right time
(``asks``). The weights are those of a conditional logit (the unit with
the answer among all that were found) on two personal vaults, rounded.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from ragvault.answering.check.support import Embed, stopwords_of
from ragvault.answering.context import neutralise
from ragvault.answering.quote.asks import Asks, days_in
from ragvault.answering.quote.units import Page, Unit
from ragvault.model import Wording
from ragvault.text import MONTHS, stem, stopwords, strip_controls, tokens

_OWN, _PLACE, _COSINE, _PASSAGE = 4.0, 3.0, 3.0, 4.0  # for all of each, 0..1
_KEY = _TIME = 2.0
_MONTH_NUMBER = re.compile(r"(?<!\d)(?:19|20)\d\d-(\d\d)(?:-\d\d)?(?!\d)")
_NAMES = {
    number: " ".join(word for word, n in MONTHS.items() if n == number) for number in range(1, 13)
}
_MAX_EMBEDDED = 32  # units; more would cost more than they help


@dataclass(slots=True, eq=False)
class Rated:
    """A unit with the question's stems that it and its place hold, and the shares of these (0..1);
    ``share``: the probability (0..1) that it holds the answer, if a unit does; ``away``: days to or
    from today, where it is of the side that is asked for ("next", "last")."""

    unit: Unit
    held: frozenset[str]
    placed: frozenset[str]
    own: float
    place: float
    score: float
    cosine: float | None = None
    share: float = 0.0
    away: int | None = None


def rated(
    question: str,
    wordings: Sequence[Wording],
    wanted: Asks,
    pages: Sequence[Page],
    embed: Embed | None,
    today: date | None,
) -> list[Rated]:
    """All units, the best first."""
    small = stopwords_of(question)
    stems = {w: frozenset[str]() for w in content_stems(question, small)}
    for wording in wordings:
        for word, said in wording.said.items():
            stems[stem(word)] = stems.get(stem(word), frozenset()).union(map(stem, said))
    units = [unit for page in pages for unit in page.units]
    bags = [frozenset(content_stems(unit.text, small)) for unit in units]
    counts = Counter(stem for bag in bags for stem in bag)
    held_by = {w: max(counts[other] for other in (w, *also)) for w, also in stems.items()}
    weight = {w: math.log(1 + (len(bags) + 1) / (1 + held_by[w])) for w in stems}
    total = sum(weight.values()) or 1.0
    best = max((unit.hit.scores.final for unit in units), default=1.0) or 1.0
    scored: list[Rated] = []
    for unit, bag in zip(units, bags, strict=True):
        held, placed = _held(stems, bag), _held(stems, frozenset(content_stems(_place(unit))))
        placed = {w: share for w, share in placed.items() if share > held.get(w, 0)}
        own = sum(weight[w] * share for w, share in held.items()) / total
        place = sum(weight[w] * (s - held.get(w, 0)) for w, s in placed.items()) / total
        # What a heading or a lead announces needn't say so itself.
        is_part = wanted.whole and unit.group.kind in ("list", "table", "code")
        score = _OWN * own + (_OWN if is_part else _PLACE) * place
        score += _PASSAGE * unit.hit.scores.final / best
        score += _KEY * wanted.key_held(unit.text)
        score += math.log(_factor(unit, bag.difference(stems), bool(held)))
        scored.append(Rated(unit, frozenset(held), frozenset(placed), own, place, score))
    _sort(scored)
    if embed is not None and scored:
        near = scored[:_MAX_EMBEDDED]
        told = (f"{_path(s.unit)}\n{s.unit.head}\n{s.unit.text}" for s in near)
        asked = [question, *(wording.text for wording in wordings)]
        vectors = embed([*asked, *told])
        trust = [1.0, *(wording.trust for wording in wordings)]
        cosines = (vectors[len(asked) :] @ vectors[: len(asked)].T * trust).max(axis=1)
        for n, s in enumerate(scored):
            s.cosine = float(cosines[n] if n < len(near) else cosines.min())
            s.score += _COSINE * s.cosine
        _sort(scored)
    if today and wanted.direction:
        _by_time(scored[:_MAX_EMBEDDED], wanted, today)
        _sort(scored)
    odds = [math.exp(s.score - scored[0].score) for s in scored]
    for s, odd in zip(scored, odds, strict=True):
        s.share = odd / sum(odds)
    return scored


def _sort(scored: list[Rated]) -> None:
    scored.sort(key=lambda s: (-s.score, s.unit.hit.rank, s.unit.start))


def _path(unit: Unit) -> str:
    """Title and headings, once."""
    names = dict.fromkeys((unit.hit.note.title, *unit.hit.chunk.heading_path))
    return " > ".join(filter(None, names))


def _place(unit: Unit) -> str:
    note = unit.hit.note
    folder = note.folder.rpartition("/")[2]
    file = note.rel_path.rpartition("/")[2].rpartition(".")[0]
    return "\n".join((_path(unit), file, unit.head, folder, *note.aliases, *note.tags))


def content_stems(text: str, small: frozenset[str] = stopwords()) -> list[str]:
    """The stems that say something, in order; a day in digits also with its month's names."""
    text = _MONTH_NUMBER.sub(lambda m: f"{m[0]} {_NAMES.get(int(m[1]), '')} ", text)
    return [stem(word) for word in tokens(text) if word not in small]


_MIN_PART = 4


def _held(wanted: Mapping[str, frozenset[str]], bag: frozenset[str]) -> dict[str, float]:
    """The wanted stems that the bag holds, whole or as a part of a compound, themselves or in
    another language, with the share."""
    held: dict[str, float] = {}
    for asked, also in wanted.items():
        words = [asked, *also]
        if not bag.isdisjoint(words):
            held[asked] = 1.0
        elif any(len(w) >= _MIN_PART and any(_akin(w, other) for other in bag) for w in words):
            held[asked] = 0.7
    return held


def _akin(a: str, b: str) -> bool:
    """One is a part of the other (a compound), or they begin alike (an ending not known)."""
    if len(b) < _MIN_PART or b.isdigit():
        return False
    if a in b or b in a:
        return True
    begin = max(5, math.ceil(0.6 * max(len(a), len(b))))
    return a[:begin] == b[:begin]


_WEAK_FIELD = re.compile(
    r"\s*(?:categor\w+|type|class|status|cover\w*|image|thumbnail|banner|icon|url|uri|source"
    r"|permalink|slug|u?u?id|isbn\w*|publish\w*|draft|up|created?|updated?|modified|layout)\s*:",
    re.IGNORECASE,
)


def _factor(unit: Unit, new: frozenset[str], has_own: bool) -> float:
    """What hardly answers anything counts less, however many words it shares: ``new`` are the
    stems that the question doesn't have."""
    dull = (
        unit.group.kind == "announcement" or unit.kind == "cut",
        is_weak_field(unit) and (not has_own or "://" in unit.text),
        neutralise(unit.text) != strip_controls(unit.text),
    )
    is_empty = unit.is_pointer or is_menu(unit)
    return 0.05**is_empty * 0.6 ** (not new) * 0.3 ** sum(map(bool, dull))


_GLUED = re.compile(r"[a-z)](?=[A-Z][a-z])")
_SIGN = re.compile(r"\d\d|[$€£]\d|[.,;:!?`]\s|[.!?:`]\W*$")


def is_menu(unit: Unit) -> bool:
    """What a web page had around its text: titles in a row, without a sign or sum."""
    words = unit.text.split()
    if unit.kind != "sentence" or _SIGN.search(unit.text):
        return False
    titles = sum(word[0].isupper() for word in words)
    return (len(words) > 5 and 2 * titles > len(words)) or len(_GLUED.findall(unit.text)) > 1


def is_navigation(unit: Unit) -> bool:
    """Several links in a row; a single one may be what was asked for."""
    links = unit.text.count("[[") + unit.text.count("](")
    return unit.is_pointer and unit.kind == "sentence" and links > 1


def is_idle(unit: Unit) -> bool:
    """What tells a reader nothing."""
    return unit.is_pointer or is_menu(unit) or is_weak_field(unit)


def is_weak_field(unit: Unit) -> bool:
    """A field that orders notes or belongs to a program."""
    return unit.kind == "field" and bool(_WEAK_FIELD.match(unit.text))


def _by_time(scored: Sequence[Rated], wanted: Asks, today: date) -> None:
    """What is dated on the side of today that is asked for, the nearest most."""
    dated: list[Rated] = []
    for s in scored:
        days = days_in(s.unit.text, today)
        note_day = s.unit.hit.note.day
        if not days and note_day is not None and (wanted.direction < 0 or note_day.date() >= today):
            days = [note_day.date()]
        if days:
            away = [(day - today).days * wanted.direction for day in days]
            s.away = min((n for n in away if n >= 0), default=None)
            dated.append(s)
    least = min((s.away for s in dated if s.away is not None), default=None)
    for s in dated:
        s.score += _TIME * (-0.3 if s.away is None else 0.4 if s.away == least else 0.2)
