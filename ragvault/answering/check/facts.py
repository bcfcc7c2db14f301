"""A passage as facts: what belongs together, as items in segments.

A fact is a row of a table with its columns' names, an item of a list with what is below it, a
field, a sentence, or a few sentences on end (prose goes on with "she"; of lines with a label, such
as "Kate: the bread", or a day each stands for itself). Commas and the like part it into segments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from ragvault.answering.check.moods import DENIED, OPEN, UNSURE, moods
from ragvault.answering.check.values import Date, find_dates, find_numbers, without_dates
from ragvault.answering.quote.show import row
from ragvault.answering.quote.units import Unit, pages_of
from ragvault.model import Hit
from ragvault.text import language_of, sentence_spans, stem, stopwords, tokens

_SENTENCES = 4  # of a paragraph that may be one fact
PART = re.compile(
    r"(?:[;|()\n→·!?\"“”„«»]|(?<!\bno)(?<!\bnr)(?:,|(?<!\d)\.)(?=\s|$)|:(?=\s*(?:no|not|kein\w*|nicht)\b)"
    r"|\s[-–—/]\s|\b(?:but|aber|pero|mais|and|und|y|et|or|oder|o|ou|while|because|weil|so|except"
    r"|außer|instead of|statt)\b)+",
    re.IGNORECASE,
)
# Scripts without spaces: there a number is no part of a word.
_UNSPACED = "\u3041-\u9fff\uac00-\ud7ff"
_WORD = re.compile(
    rf"\d+(?:[.,:'’]\d+)*|[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+(?:['’][^\W_]+)*"
)
_TARGET = re.compile(r"\[\[[^\]|\n]*\|")  # of a link that is called otherwise
_ASIDE = re.compile(r"\([^()]*\)")  # what is doubtful or open in one is so there alone
# Lines that stand for themselves.
_LABELLED = re.compile(r"[^\W_a-zäöüß][^:.!?\n]{0,40}:\s|\d{1,4}[-/.:]\d{1,2}\b")
_ME = frozenset({"i", "we", "you", "ich", "wir", "du", "ihr"})


@dataclass(frozen=True, slots=True)
class Item:
    """A number ("#"), time of day (":"), date ("@"), name ("A"), word ("a") or who writes or asks
    ("I"). Two with a key in common are one. ``leads``: a colon follows."""

    keys: frozenset[str]
    kind: str
    text: str
    leads: bool = False

    @property
    def rivals(self) -> str:
        """The kinds of what may stand in its place."""
        return "AI" if self.kind == "A" else self.kind

    @property
    def unit(self) -> str:
        return self.text.partition(" ")[2] if self.kind == "#" else ""


class Fact:
    """``segments``: the items of each, in order; ``sentence``: the number of that each stands in;
    ``moods``: how each is said. A task and a doubt are those of the whole sentence."""

    def __init__(self, *texts: str) -> None:
        self.segments: list[Sequence[Item]] = []
        self.sentence: list[int] = []
        self.moods: list[frozenset[str]] = []
        self.asides: set[int] = set()  # segments in doubt whose sentence isn't
        shown = [_TARGET.sub("", text) for text in texts]
        sentences = (text[slice(*span)] for text in shown for span in sentence_spans(text))
        for number, sentence in enumerate(sentences):
            of_all = moods(_ASIDE.sub("", sentence)) & {UNSURE, OPEN}
            for part in PART.split(sentence):
                found, how = items(part), moods(part)
                if found:
                    if how & {UNSURE, OPEN} - of_all:
                        self.asides.add(len(self.segments))
                    self.segments.append(found)
                    self.sentence.append(number)
                    self.moods.append(how | of_all)
                elif DENIED in how:  # "buy a canoe? no", "coffee, oddly, doesn't"
                    for at in range(len(self.moods))[-2:]:
                        if self.sentence[at] == self.sentence[-1]:
                            self.moods[at] = self.moods[at] - {UNSURE} | {DENIED}
        self.keys = keys_of(chain(*self.segments))

    def home(self, some: Sequence[Item], *, whole: bool) -> set[int]:
        """The segments that hold most of the items; with ``whole``, those of the sentences."""
        of = self.sentence if whole else range(len(self.segments))
        held = Counter(n for item in some for n in {of[place] for place, _ in self.where(item)})
        most = max(held.values(), default=0)
        return {n for n, group in enumerate(of) if most and held[group] == most}

    def where(self, item: Item) -> list[tuple[int, int]]:
        """(segment, place) of each time that it occurs; the year of a date is no amount."""
        if not item.keys & self.keys:
            return []
        return [
            (number, place)
            for number, segment in enumerate(self.segments)
            for place, other in enumerate(segment)
            if other.keys & item.keys and not (item.unit and other.kind == "@")
        ]


@lru_cache(maxsize=128)
def facts_of(hits: tuple[Hit, ...]) -> tuple[Fact, ...]:
    """The units of the passages and, of those of paragraphs, those that follow each other; the
    fields at the top of a note are one fact, too."""
    found: list[Fact] = []
    for page in pages_of(hits):
        prose: list[tuple[str, bool]] = []
        for group in page.groups:
            texts = [text for unit in group.units for text in _texts(unit)]
            found += (Fact(*text) for text in texts)
            if group is page.groups[0] and page.text.startswith("---"):
                found.append(Fact("; ".join(chain(*texts))))
            for unit in group.units if group.kind == "paragraph" else ():
                begins = not unit.start or page.text[unit.start - 1] == "\n"
                prose += (
                    (line, begins and bool(_LABELLED.match(line))) for line in chain(*_texts(unit))
                )
        for length in range(2, _SENTENCES + 1):
            for start in range(len(prose) - length + 1):
                lines, are_labelled = zip(*prose[start : start + length], strict=True)
                if sum(are_labelled) < 2:
                    found.append(Fact(*lines))
    return tuple(found)


def _texts(unit: Unit) -> list[tuple[str, ...]]:
    """What a unit says, with what makes it readable; each of several lines with a label or day."""
    if unit.kind == "row":
        header = unit.head.split("\n")[-2:][0].strip().strip("|").split("|")
        return [(row([name.strip() for name in header], unit.text),)]
    if unit.head:
        return [(unit.head, unit.text)]
    lines = unit.text.split("\n")
    if sum(bool(_LABELLED.match(line)) for line in lines) > 1:
        return [(line,) for line in lines]
    return [tuple(lines)]


def keys_of(some: Iterable[Item]) -> frozenset[str]:
    return frozenset(chain(*(item.keys for item in some)))


@lru_cache(maxsize=4096)
def items(text: str, *, known: bool = True) -> tuple[Item, ...]:
    """The numbers, dates, names and words of a text that mean something, in order; those of a
    passage where ``known``."""
    found: dict[int, Item] = {}
    for (start, end), dates in find_dates(text):
        keys = chain(*(_keys_of_date(date, known=known) for date in dates))
        found[start] = Item(frozenset(keys), "@", text[start:end])
    rest = without_dates(text)
    small = stopwords() | stopwords(language_of(text))
    past = -1  # of what was read
    was = ""
    for match in _WORD.finditer(rest):
        word, (start, end) = re.sub(r"['’]s$", "", match.group()), match.span()
        if was == "unit" and start < past + 2:
            continue
        numbers = find_numbers(word, spelled=True)
        values = frozenset(f"#{value}" for number in numbers for value in number.values)
        stems = frozenset(stem(part) for part in tokens(word) if part not in small)
        past = end
        if word.casefold() in _ME:
            found[start] = Item(frozenset({"i"}), was := "I", word)
        elif word[0].isdecimal():  # "¹" is a digit and no number
            unit = next((n.unit for n in find_numbers(rest[max(0, start - 1) : end + 12])), None)
            kind, was = ":" if ":" in word else "#", "unit" if unit else "#"
            shown = f"{word} {unit}" if unit else word
            found[start] = Item(values or frozenset({f"#{word}"}), kind, shown)
        elif stems:
            was = "A" if word[0].isupper() else "a"
            leads = rest[end : end + 1] == ":"
            found[start] = Item(stems | values, was, word, leads)
        else:
            was = ""
    return tuple(found[start] for start in sorted(found))


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
        yield from (f"@{year}-{month}", f"#{float(year)}")
    elif not known:
        yield f"@None-{month}-{day}"
