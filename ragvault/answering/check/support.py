"""Is a statement held by the chunks that it cites? A check on words, with no model.

Four things are compared, each on its own: numbers (with their units), dates, names and quoted
code must all occur in the cited chunks or in what is known of their notes (title, heading path,
file name, tags, date); of the other content words a share of ``MIN_COVERAGE`` must. A sentence
that says the opposite of the one it repeats is reported too. ``values``
reads the numbers and dates.

It can tell a swapped number or an invented name; it can't tell a wrong conclusion drawn from the
right words. Where the answer is in another language than the notes, only numbers, dates and
code are compared. Linear in the statement and the chunks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ragvault.answering.check.values import (
    compatible,
    find_dates,
    find_numbers,
    spelled_counts,
)
from ragvault.model import Hit
from ragvault.text import ENGLISH, language_of, sentence_spans, stem, stopwords, tokens

MIN_COVERAGE = 0.4  # see tests/unit/answering/test_support.py for how it was measured
_NEGATION_OVERLAP = 0.8

# Words with which an answer speaks of its sources; they claim nothing.
_META = frozenset(
    """
    note notes context according mention mentions mentioned state states stated say says said
    provide provided provides section file chunk information document describe describes
    described explain explains explained also additionally however therefore overall summary
    answer question based example following include includes including specifically using used
    use various several
    """.split()
)
_NEGATION = re.compile(
    r"\b(?:not|never|no longer|cannot|without|nicht|kein\w*|nie|nunca|jamais|ne)\b|n['’]t\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_LIST_NUMBER = re.compile(r"^\s*\d{1,3}[.)]\s+", re.MULTILINE)
_MARKUP = re.compile(r"!?\[\[([^\]|]*\|)?|\]\]|\]\([^)\s]*\)|[*_~`#>|\[\]]+")


def content_stems(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order: no stopwords, numbers or meta words."""
    stop = stopwords_of(text)
    return [
        stem(word)
        for word in tokens(text)
        if word not in stop and word not in _META and not word.isdigit()
    ]


def stopwords_of(text: str) -> frozenset[str]:
    """English ones, and those of the text's own language."""
    return stopwords() | stopwords(language_of(text))


def coverage(statement: str, text: str) -> float:
    """Share (0..1) of the statement's content words that the text holds; 1 when it has none."""
    wanted = content_stems(statement)
    if not wanted:
        return 1.0
    held = {stem(word) for word in tokens(text)}
    return sum(word in held for word in wanted) / len(wanted)


def evidence_text(hit: Hit) -> str:
    """All the words that a citation of this chunk may stand on: the chunk and its note's data."""
    note = hit.note
    when = note.day if note.date > 0 else None
    day = f"{when:%Y-%m-%d}" if when is not None else ""
    place = (note.title, *hit.chunk.heading_path, *note.aliases, *note.tags, note.rel_path, day)
    return "\n".join((hit.chunk.text, *place)).rstrip("\n")


def unsupported(statement: str, cited: Sequence[Hit]) -> tuple[str, ...]:
    """Why the cited chunks don't hold the statement, as short phrases; empty when they do.

    ``statement`` comes without its citations. With nothing cited, nothing is held.
    """
    statement = _LIST_NUMBER.sub("", statement)
    if not re.search(r"\w", statement):
        return ()
    if not cited:
        return ("nothing is cited",)
    if is_verbatim(statement, cited):
        return ()
    text = "\n".join(evidence_text(hit) for hit in cited)
    reasons = [*_missing_values(statement, text), *_missing_code(statement, text)]
    if _same_language(statement, text):
        plain = _MARKUP.sub(" ", statement)
        reasons += _missing_names(plain, text)
        share = coverage(plain, text)
        if share < MIN_COVERAGE:
            reasons.append(f"only {share:.0%} of its words are there")
        reasons += _flipped(plain, [hit.chunk.text for hit in cited])
    return tuple(dict.fromkeys(reasons))


def is_verbatim(statement: str, cited: Sequence[Hit]) -> bool:
    """A cited chunk (or what is known of its note) holds it word for word."""
    said = " ".join(statement.split()).casefold()
    return any(said in " ".join(evidence_text(hit).split()).casefold() for hit in cited)


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
    known_dates = [date for _, dates in find_dates(text) for date in dates]
    known = find_numbers(text, spelled=True)
    years = {value for number in known for value in number.values}
    rest = statement
    for (start, end), dates in find_dates(statement):
        rest = rest[:start] + " " * (end - start) + rest[end:]
        if not any(
            compatible(date, other)
            or (date.year in years and compatible(replace(date, year=None), other))
            for date in dates
            for other in known_dates
        ):
            reasons.append(f"the date {statement[start:end].strip()} is not there")
    lowered = text.casefold()
    for number in find_numbers(rest):
        if not (number.values and number.is_plain) and number.token.casefold() in lowered:
            continue  # part of a name such as v2 or MD5, or of an address
        same = [other for other in known if number.values & other.values]
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


def _missing_names(statement: str, text: str) -> list[str]:
    """Capitalised words inside a sentence that the text lacks.

    German writes every noun so, and so do titles: there a capital tells nothing.
    """
    found = [m for m in _WORD.finditer(statement) if len(m.group()) > 1]
    capital = [m for m in found if m.group()[0].isupper()]
    if language_of(statement, (ENGLISH,)) == "de" or len(capital) * 2 > len(found) > 4:
        return []
    starts = {start for start, _ in sentence_spans(statement)}
    held = {stem(word) for word in tokens(text)}
    stop = stopwords_of(statement)
    missing: list[str] = []
    for match in capital:
        word = match.group()
        before = statement[: match.start()].rstrip(" \"'“‘(—–-*_")
        opens = not before or before[-1] in ".!?:;\n…" or match.start() in starts
        if opens and not any(c.isupper() for c in word[1:]):
            continue
        parts = [t for t in tokens(re.sub(r"['’]s?$", "", word)) if t not in stop]
        if any(stem(p) not in held for p in parts if p not in _META and not p.isdigit()):
            missing.append(f"{word} is not named there")
    return missing


def _flipped(statement: str, texts: Sequence[str]) -> list[str]:
    """A negation more or less than in every sentence that the statement all but repeats."""
    wanted = set(content_stems(_NEGATION.sub(" ", statement)))
    if len(wanted) < 3:
        return []
    negated = bool(_NEGATION.search(statement))
    near: list[bool] = []
    for text in texts:
        for start, end in sentence_spans(text):
            sentence = text[start:end]
            held = set(content_stems(_NEGATION.sub(" ", sentence)))
            shared = len(wanted & held)
            if shared >= _NEGATION_OVERLAP * len(wanted) and shared >= 0.6 * len(held):
                near.append(bool(_NEGATION.search(sentence)))
    return ["it says the opposite of its source"] if near and negated not in near else []
