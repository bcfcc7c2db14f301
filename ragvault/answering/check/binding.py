"""Do the parts of a statement stand together in its passage, and belong together as it says?

A passage is read as facts: a row of a table with its columns' names, an item of a list, a field, a
sentence, or a few sentences on end (prose goes on with "she"). A fact has segments, parted by
commas and the like. A statement is held when one fact holds it, or when some hold each of its
clauses:

- the numbers, dates and names that the passage has stand in that fact, or in what names the
  passage (title, headings, file), and so do most of the words;
- no value stands beside a word that the fact puts beside another one ("14 kg, 23 bottles" of "23
  kg, 14 bottles"), no name before what another one does, and no two values change places;
- both say no, or neither does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, combinations

from ragvault.answering.check.values import Date, find_dates, find_numbers, without_dates
from ragvault.answering.quote.show import row
from ragvault.answering.quote.units import Unit, pages_of
from ragvault.model import Hit
from ragvault.text import language_of, stem, stopwords, tokens

_SENTENCES = 3  # of a paragraph that may be one fact
_PREFIX = 5  # letters in common make one word of two: "Ergozeit", "Ergometer"
_MOST_LOST = 0.25  # of the words that the passage has elsewhere
_BESIDE = 2  # items
_NEGATION = re.compile(
    r"\b(?:not|never|no(?!\.?\s*[\d:–|])(?!\.:)|none|nobody|nothing|neither|cannot|without|nicht|kein\w*|nie"
    r"|niemand|nichts|weder|ohne|nunca|jamais|ne|pas)\b|n['’]t\b",
    re.IGNORECASE,
)
_NO = re.compile(r"\W*(?:no|none|nein|keine?|nicht)\W*", re.IGNORECASE)
_PART = re.compile(
    r"(?:[;|()\n→·!?\"“”„«»]|(?<!\bno)(?<!\bnr)[,.](?=\s|$)|:(?=\s*(?:no|not|kein\w*|nicht)\b)"
    r"|\s[-–—/]\s|\b(?:but|aber|and|und|or|oder|while|because|weil"
    r"|so|instead of|statt)\b)+",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r";\s|,?\s(?:and|und|while|but|aber|whereas|während)\s|,\s(?=\w+\s\w)", re.IGNORECASE
)
# Scripts without spaces: there a number is no part of a word.
_UNSPACED = "\u3041-\u9fff\uac00-\ud7ff"
_WORD = re.compile(
    rf"\d+(?:[.,:'’]\d+)*|[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+(?:['’][^\W_]+)*"
)
_PARTICLES = frozenset({"de", "van", "von", "der", "den", "la", "du"})  # within a name
_YEAR = re.compile(r"(?:19|20)\d\d")
_VALUES = "#:@"
_ELSEWHERE = "stands elsewhere there"


@dataclass(frozen=True, slots=True)
class Item:
    """A number ("#"), time of day (":"), date ("@"), name ("A") or word ("a"). Two with a key in
    common are one."""

    keys: frozenset[str]
    kind: str
    text: str


Segments = Sequence[Sequence[Item]]


class Fact:
    """``segments``: the items of each, in order; ``denies``: those that say no; ``is_labelled``:
    a row or a field, where a label stands before what is said."""

    def __init__(self, text: str, *, is_labelled: bool = False) -> None:
        self.is_labelled = is_labelled
        self.segments: list[Sequence[Item]] = []
        self.denies: set[int] = set()
        for part in _PART.split(text):
            if self.segments and _NO.fullmatch(part):  # "buy a canoe? no"
                self.denies.add(len(self.segments) - 1)
            elif part.strip():
                if _NEGATION.search(part):
                    self.denies.add(len(self.segments))
                self.segments.append(items(part))
        self.keys = keys_of(chain(*self.segments))

    def where(self, item: Item) -> list[tuple[int, int]]:
        """(segment, place) of each time that it occurs."""
        if not item.keys & self.keys:
            return []
        return [
            (number, place)
            for number, segment in enumerate(self.segments)
            for place, other in enumerate(segment)
            if other.keys & item.keys
        ]


def loose_parts(statement: str, cited: Sequence[Hit], about: str) -> list[str]:
    """Why the parts of the statement don't belong together in the passages; empty when they do.
    ``about`` is what is known of their notes."""
    named = keys_of(items(about))
    facts = facts_of(tuple(cited))
    known = named.union(*(fact.keys for fact in facts))
    reason = ""
    for clauses in ([statement], _clauses(statement, known)):
        found = [_best(clause, facts, named, known) for clause in clauses]
        if not any(found):
            return []
        reason = reason or next(filter(None, found))
        if not reason.endswith(_ELSEWHERE):  # one fact has all of it, bound otherwise
            break
    return [reason]


def _clauses(statement: str, known: frozenset[str]) -> list[str]:
    """Each with the date of the one before where it has none ("and 118 of them paid"); one of
    which the passage has the values alone belongs to the one before."""
    found: list[str] = []
    when = ""
    for clause in filter(str.strip, _CLAUSE.split(statement)):
        there = [item for item in items(clause, known=False) if item.keys & known]
        if found and there and all(item.kind in _VALUES for item in there):
            found[-1] += f" {clause}"
            continue
        dates = [clause[start:end] for (start, end), _ in find_dates(clause)]
        found.append(clause if dates else f"{when} {clause}")
        when = dates[0] if dates else when
    return found


def in_common(statement: str, cited: Sequence[Hit], about: str) -> bool:
    """Whether enough of the statement stands there to compare them across languages: a value, or
    two words."""
    known = keys_of(items(about)).union(*(fact.keys for fact in facts_of(tuple(cited))))
    there = [item for item in items(statement, known=False) if item.keys & known]
    return len(there) > 1 or any(item.kind in _VALUES for item in there)


def _best(clause: str, facts: Sequence[Fact], named: frozenset[str], known: frozenset[str]) -> str:
    """What is wrong with the clause in the fact that comes nearest to it; "" for nothing."""
    names = keys_of(i for f in facts for i in chain(*f.segments) if i.kind == "A")
    said = [
        [
            # A capital may be that of the sentence's beginning.
            item if item.kind != "A" or item.keys & names else replace(item, kind="a")
            for item in items(part, known=False)
            if item.keys & known
        ]
        for part in _PART.split(clause)
    ]
    denies = bool(_NEGATION.search(clause))
    reasons = []
    for fact in facts:
        reason = _lost(said, fact, named) or _denied(said, fact, denies) or _swapped(said, fact)
        if not reason:
            return ""
        reasons.append(reason)
    return min(reasons, key=lambda reason: reason.endswith(_ELSEWHERE), default="")


def _lost(said: Segments, fact: Fact, named: frozenset[str]) -> str:
    """What the fact lacks of that which the passage has."""
    lost, words = [], 0
    for segment in said:
        for at, item in enumerate(segment):
            beside = (*segment[max(0, at - 1) : at], *segment[at + 1 : at + 2])
            # A number of the title counts only with the title's words: "plot 14", not "14 m²".
            is_named = item.keys & named and (
                item.kind not in "#:"
                or _YEAR.fullmatch(item.text)
                or any(other.keys & named for other in beside)
            )
            words += item.kind == "a" and not is_named
            if not is_named and not item.keys & fact.keys:
                lost.append(item)
    strong = [item for item in lost if item.kind != "a"]
    if strong or len(lost) > _MOST_LOST * max(1, words):
        return f"{(strong or lost)[0].text} {_ELSEWHERE}"
    return ""


def _denied(said: Segments, fact: Fact, denies: bool) -> str:
    touched = {number for item in chain(*said) for number, _ in fact.where(item)}
    return "it says the opposite of its source" if denies != bool(touched & fact.denies) else ""


def _swapped(said: Segments, fact: Fact) -> str:
    """What stands beside a word that the fact puts beside another of its kind."""
    loose: list[Item] = []
    for segment in said:
        there = [item for item in segment if item.keys & fact.keys]
        for at, item in enumerate(there):
            other = _doer(there[at + 1], item, fact) if at + 1 < len(there) else None
            if other is not None:
                return f"{other.text} is said there, not {item.text}"
            if item.kind not in _VALUES:
                continue
            evidence = [_evidence(item, other, fact) for other in _labels(there, at)]
            if 1 not in evidence:
                loose.append(item)
                if -1 in evidence:
                    return f"{item.text} is of something else there"
    for first, second in combinations(loose, 2):
        if first.kind == second.kind and min(fact.where(first)) > max(fact.where(second)):
            return f"{first.text} and {second.text} have changed places there"
    return ""


def _labels(segment: Sequence[Item], at: int) -> Iterator[Item]:
    """The words around a value, but not those that follow another value: its unit."""
    for other in segment[at + 1 : at + 1 + _BESIDE]:
        if other.kind in _VALUES:
            break
        yield other
    before = segment[max(0, at - _BESIDE) : at]
    for place in range(len(before) - 1, -1, -1):
        if before[place].kind in _VALUES or (place and before[place - 1].kind in _VALUES):
            break
        yield before[place]


def _evidence(value: Item, label: Item, fact: Fact) -> int:
    """1: the fact puts the label beside this value alone; -1: beside another one alone."""
    own = {number for number, _ in fact.where(value)}
    theirs = {number for number, _ in fact.where(label)}
    rivals = {
        number
        for number in theirs
        for other in fact.segments[number]
        if other.kind == value.kind and not other.keys & value.keys
    }
    if own & theirs:
        return int(not rivals)
    return -int(bool(rivals))


def _doer(word: Item, name: Item, fact: Fact) -> Item | None:
    """The other name that the fact has right before the word, wherever it has the word."""
    if (name.kind, word.kind) != ("A", "a") or fact.is_labelled:
        return None
    before = [fact.segments[n][place - 1] if place else None for n, place in fact.where(word)]
    others = [item for item in before if item and item.kind == "A" and not item.keys & name.keys]
    return others[0] if others and len(others) == len(before) else None


# --------------------------------------------------------------------------- reading


@lru_cache(maxsize=128)
def facts_of(hits: tuple[Hit, ...]) -> tuple[Fact, ...]:
    """The units of the passages and, of those of paragraphs, those that follow each other; the
    fields at the top of a note are one fact, too."""
    found: list[Fact] = []
    for page in pages_of(hits):
        prose: list[str] = []
        for group in page.groups:
            texts = [text for unit in group.units for text in _texts(unit)]
            is_labelled = group.kind in ("table", "field")
            found += (Fact(text, is_labelled=is_labelled) for text in texts)
            if group.kind == "paragraph" and not any(text.startswith("|") for text in texts):
                prose += texts
            elif group is page.groups[0] and page.text.startswith("---"):
                found.append(Fact("; ".join(texts), is_labelled=True))
        found += (
            Fact("; ".join(prose[start : start + length]))
            for length in range(2, _SENTENCES + 1)
            for start in range(len(prose) - length + 1)
        )
    return tuple(found)


def _texts(unit: Unit) -> list[str]:
    """What a unit says, with what makes it readable; each row of a table that lost its head."""
    if unit.kind == "row":
        header = unit.head.split("\n")[-2:][0].strip().strip("|").split("|")
        return [row([name.strip() for name in header], unit.text)]
    if unit.text.startswith("|"):
        return unit.text.split("\n")
    return [f"{unit.head}; {unit.text}" if unit.head else unit.text]


def keys_of(some: Iterable[Item]) -> frozenset[str]:
    return frozenset(chain(*(item.keys for item in some)))


@lru_cache(maxsize=4096)
def items(text: str, *, known: bool = True) -> tuple[Item, ...]:
    """The numbers, dates, names and words of a text that mean something, in order; those of a
    passage where ``known``."""
    found: list[tuple[int, Item]] = []
    rest = without_dates(text)
    for (start, end), dates in find_dates(text):
        keys = chain(*(_keys_of_date(date, known=known) for date in dates))
        found.append((start, Item(frozenset(keys), "@", text[start:end])))
    language = language_of(text)
    small = stopwords() | stopwords(language)
    end = 0
    for match in _WORD.finditer(rest):
        word = re.sub(r"['’]s$", "", match.group())
        if word in _PARTICLES:
            continue
        numbers = find_numbers(word, spelled=True)
        values = frozenset(f"#{value:g}" for number in numbers for value in number.values)
        stems = frozenset(stem(part) for part in tokens(word) if part not in small)
        longer = frozenset(f"{part[:_PREFIX]}-" for part in stems if len(part) > _PREFIX)
        if word[0].isdigit():
            kind = ":" if ":" in word else "#"
            unit = find_numbers(rest[max(0, match.start() - 1) : match.end() + 12])[0].unit
            shown = f"{word} {unit}" if unit else word
            found.append((match.start(), Item(values or frozenset({f"#{word}"}), kind, shown)))
        elif stems:
            kind = "A" if word[0].isupper() and (known or language != "de") else "a"
            item = Item(stems | longer | values, kind, word)
            between = rest[end : match.start()].split()
            start = match.start()
            if kind == "A" and found and found[-1][1].kind == "A" and {*between} <= _PARTICLES:
                start, first = found.pop()
                item = Item(first.keys | item.keys, "A", f"{first.text} {word}")
            found.append((start, item))
        end = match.end()
    return tuple(item for _, item in sorted(found, key=lambda pair: pair[0]))


def _keys_of_date(date: Date, *, known: bool) -> Iterator[str]:
    """What it may be called: all of it where it is known, else no less than was said."""
    year, month, day = date.year, date.month, date.day
    if day is None:
        yield f"@{year}-{month}"
        return
    yield f"@{year}-{month}-{day}"
    if known or year is None:
        yield f"@{month}-{day}"
    if known and year is not None:
        yield from (f"@{year}-{month}", f"#{year}")
    elif not known:
        yield f"@None-{month}-{day}"
