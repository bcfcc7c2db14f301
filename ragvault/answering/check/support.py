"""Is a statement held by the chunks that it cites? A check on words, with no model.

Numbers (with their units), dates, names, addresses and quoted code must all occur in the cited
chunks or in what is known of their notes (title, heading path, file name, tags, date); of the other
content words a share of ``MIN_COVERAGE`` must; one that doesn't counts by how near in meaning the
nearest word there is, where an embedding model is at hand. What occurs has to stand together there
(``binding``), and to be told so (``moods``). ``values`` reads the numbers and dates.

It can tell a swapped number or an invented name; it can't tell a wrong conclusion drawn from the
right words. Where the answer is in another language than the notes, only numbers, dates, names
and code are compared, and something has to be there to compare. Linear in the statement and the
chunks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ragvault.answering.check.binding import loose_parts
from ragvault.answering.check.values import (
    compatible,
    find_dates,
    find_numbers,
    is_value,
    spelled_counts,
    weekday,
    weekdays,
    without_dates,
)
from ragvault.answering.names import DETERMINER
from ragvault.model import Hit
from ragvault.text import ENGLISH, language_of, stem, stopwords, tokens

if TYPE_CHECKING:
    from ragvault.model import Matrix

Embed: TypeAlias = "Callable[[Sequence[str]], Matrix]"

MIN_COVERAGE = 0.6  # this, and what follows, by `python -m tests.bench.statements`
MIN_SAID = 0.75  # below it a statement that nothing speaks against is held only partly
MIN_WITH_VALUE = 0.35  # of a statement whose number or date is there, where it belongs
USUAL_BACKGROUND = 0.25  # cosine that unrelated words reach
MOST_COMPARED = 120  # words of the chunks, with one that they lack
# What follows is no name, in German: a number or an adjective may come between, too.
BEFORE_NOUN = re.compile(
    rf"(?:\b(?:{DETERMINER}|zwei|drei|vier|fünf)(?-i:\s[a-zäöüß]+)?|\d)$", re.IGNORECASE
)

# Words with which an answer speaks of its sources; they claim nothing.
_META = frozenset(
    "note notes context according mention mentions mentioned state states stated say says said"
    " provide provided provides section file chunk information document describe describes"
    " described explain explains explained also additionally however therefore overall summary"
    " answer question based example following include includes including specifically using used"
    " use various several".split()
)
# With which a sentence begins that names its source or a time; names of nobody.
_NO_NAMES = _META.union(
    "since notiz notizen laut zufolge nota notas según selon am pm yes ja nein oui non sí nothing"
    " nobody none".split()
)
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_ADDRESS = re.compile(r"\b\w+://[^\s()<>\[\]\"'`]*\w")
_WORD = re.compile(r"[^\W\d_][\w'’-]+")
_LIST_NUMBER = re.compile(r"^\s*\d{1,3}[.)]\s+", re.MULTILINE)
_MARKUP = re.compile(r"!?\[\[([^\]|]*\|)?|\]\]|\]\([^)\s]*\)|[*_~`#>|\[\]]+")


def content_words(text: str) -> list[str]:
    """The words that carry meaning, in order: no stopwords, numbers or meta words."""
    stop = stopwords_of(text) | _META
    return [word for word in tokens(text) if word not in stop and not word.isdigit()]


def stopwords_of(text: str) -> frozenset[str]:
    """English ones, and those of the text's own language."""
    return stopwords() | stopwords(language_of(text))


def coverage(statement: str, text: str, embed: Embed | None = None) -> float:
    """Share (0..1) of the statement's content words that the text holds; 1 when it has none. With
    ``embed`` one that it lacks counts by the lift of the nearest that it has."""
    wanted, there = content_words(statement), dict.fromkeys(tokens(text))
    held = {stem(word) for word in there}
    missing = [word for word in wanted if stem(word) not in held]
    share = float(len(wanted) - len(missing))
    others = [word for word in there if len(word) > 2 and not word.isdigit()]
    if embed is not None and missing and others:
        near = nearness(missing, others[:MOST_COMPARED], embed)
        share += sum(max(0.0, lift(cosine)) for cosine in near)
    return share / len(wanted) if wanted else 1.0


def nearness(words: Sequence[str], others: Sequence[str], embed: Embed) -> list[float]:
    """Of each word the cosine to the nearest of the others."""
    vectors = embed([*words, *others])
    near = (vectors[: len(words)] @ vectors[len(words) :].T).max(axis=1)
    return [float(cosine) for cosine in near]


def lift(cosine: float, background: float = USUAL_BACKGROUND) -> float:
    """A cosine on a scale with 0 at what unrelated texts reach, and 1 at 1."""
    return (cosine - background) / (1.0 - background)


def evidence_text(hit: Hit) -> str:
    """All the words that a citation of this chunk may stand on: the chunk and its note's data."""
    return f"{hit.chunk.text}\n{place_text(hit)}".rstrip("\n")


def place_text(hit: Hit) -> str:
    """What the chunk's note says of itself: when its file was last written proves nothing."""
    note = hit.note
    names = (note.title, *hit.chunk.heading_path, *note.aliases, *note.tags, note.rel_path)
    return "\n".join((*names, note.said_day))


def unsupported(
    statement: str, cited: Sequence[Hit], embed: Embed | None = None
) -> tuple[str, ...]:
    """Why the cited chunks don't hold the statement, as short phrases; empty when they do.

    ``statement`` comes without its citations. With nothing cited, nothing is held. ``embed`` tells
    what a word that isn't there is near to.
    """
    statement = _LIST_NUMBER.sub("", statement)
    if not re.search(r"\w", statement):
        return ()
    if not cited:
        return ("nothing is cited",)
    if is_verbatim(statement, cited):
        return ()
    text = "\n".join(evidence_text(hit) for hit in cited)
    about = "\n".join(map(place_text, cited))
    plain = _MARKUP.sub(" ", statement)
    reasons = [
        *_missing_values(statement, text),
        *_missing_code(statement, text),
        *_missing_addresses(statement, text),
    ]
    said = without_dates(plain)
    least = MIN_WITH_VALUE if re.search(r"\d", plain) else MIN_COVERAGE
    share = coverage(said, text)
    if embed is not None and share < MIN_COVERAGE and not reasons:
        share = coverage(said, text, embed)
    is_compared = share >= MIN_COVERAGE or _same_language(plain, text)
    reasons += _missing_names(said, text, opening=is_compared)
    if is_compared and share < least:
        reasons.append(f"only {share:.0%} of its words are there")
    if not reasons:
        reasons += loose_parts(plain, cited, about, is_compared=is_compared)
    return tuple(dict.fromkeys(reasons))


def is_partly(statement: str, cited: Sequence[Hit]) -> bool:
    """Whether a statement that the cited chunks hold, by its values and names, is in other words
    than theirs, or another language, so that it may well say something else."""
    said = without_dates(_MARKUP.sub(" ", _LIST_NUMBER.sub("", statement)))
    text = "\n".join(map(evidence_text, cited))
    return coverage(said, text) < MIN_SAID and not is_verbatim(statement, cited)


def is_verbatim(statement: str, cited: Sequence[Hit]) -> bool:
    """A cited chunk (or what is known of its note) holds it word for word, and nothing of its
    sentence stands before it: "Never turn valve B" doesn't say "Turn valve B"."""
    said = r"\s+".join(map(re.escape, statement.split()))
    found = re.compile(rf"(?<!\w){said}(?!\w)", re.IGNORECASE)
    texts = (evidence_text(hit) for hit in cited)
    return any(_begins(text, match.start()) for text in texts for match in found.finditer(text))


def _begins(text: str, start: int) -> bool:
    before = text[:start].rstrip()
    is_line = "\n" in text[len(before) : start] and not text[start : start + 1].islower()
    return is_line or not before or not before[-1].isalnum()


def _same_language(statement: str, text: str) -> bool:
    """False only when both sides are clearly known and differ, in language or in script."""
    if _is_latin(statement) != _is_latin(text):
        return False
    there = language_of(text)
    return not stopwords(there) or language_of(statement, (there,)) in ("", there)


def _is_latin(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    return sum(c < "\u0250" for c in letters) * 2 >= len(letters)


def _missing_values(statement: str, text: str) -> list[str]:
    """Dates and numbers of the statement that the text lacks."""
    reasons: list[str] = []
    known = find_numbers(text, spelled=True)
    days = [date for _, dates in find_dates(text) for date in dates]
    years = {int(value) for number in known for value in number.values if 1900 < value < 2100}
    days += [replace(day, year=year) for day in days if day.year is None for year in years]
    undated = find_numbers(without_dates(text), spelled=True)
    rest = without_dates(statement)
    for (start, end), dates in find_dates(statement):
        if not any(compatible(date, day) for date in dates for day in days):
            reasons.append(f"the date {statement[start:end].strip()} is not there")
    lowered = text.casefold()
    for number in find_numbers(rest):
        if not (number.values and number.is_plain) and number.token.casefold() in lowered:
            continue  # part of a name such as v2 or MD5, or of an address
        # The day of a date is no amount.
        there = known if len(number.token) == 4 and not number.unit else undated
        same = [other for other in there if number.values & other.values]
        if not same:
            reasons.append(f"the number {number.token} is not there")
        elif number.unit and all(other.unit and other.unit != number.unit for other in same):
            reasons.append(f"{number.token} stands with another unit there")
    return reasons + spelled_counts(rest, text)


def _missing_code(statement: str, text: str) -> list[str]:
    """Quoted code that is neither in the text nor made of its words."""
    folded = " ".join(text.split())
    return [
        f"`{code}` is not there"
        for code in _CODE.findall(statement)
        if " ".join(code.split()) not in folded and coverage(code, text) < 0.75
    ]


def _missing_addresses(statement: str, text: str) -> list[str]:
    """Addresses, those of links and images too, that the text lacks."""
    said = _ADDRESS.findall(statement.casefold())
    there = text.casefold() if said else ""
    return [f"{address} is not there" for address in said if address not in there]


def _missing_names(statement: str, text: str, *, opening: bool) -> list[str]:
    """Capitalised words that the text lacks; without ``opening`` none where a capital tells nothing
    (German writes every noun so, and a sentence its first word)."""
    is_german = language_of(statement, (ENGLISH,)) == "de"
    held = {stem(word) for word in tokens(re.sub(r"['’]s\b", "", text))}
    stop = stopwords_of(statement)
    missing: list[str] = []
    for match in _WORD.finditer(statement):
        word = match.group()
        if not word[0].isupper():
            continue
        before = statement[: match.start()].rstrip(" \"'“‘(—–-*_")
        opens = not before or before[-1] in ".!?:;\n…"
        if is_german and BEFORE_NOUN.search(before):
            continue
        if (opens or is_german) and not opening:
            continue
        if (day := weekday(word)) is not None and day in weekdays(text):
            continue
        plain = re.sub(r"['’](?:s|ve|re|d|ll|m)?$", "", word)
        parts = [part for part in tokens(plain) if part not in stop | _NO_NAMES]
        if any(not is_value(part) and stem(part) not in held for part in parts):
            missing.append(f"{word} is not named there")
    return missing
