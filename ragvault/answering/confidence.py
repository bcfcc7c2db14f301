"""How sure: the probability that what is printed answers the question.

    confidence = σ(intercept + Σ coefficient · feature)

A vault full of boilers is near every question about one, and holds the make of none: what was
found says whether the subject is there, the quotes whether the answer is. So the features are of
both, and each is relative to something: cosines to what unrelated questions reach in the vault,
words to their rarity in it. That makes one set of coefficients hold for every embedding model.

What a question asks of another person, another year or a fact that was never noted comes just as
near; what tells it is what the quote lacks: the year, or anything like an address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragvault.answering.quote.extract import Quote
from ragvault.model import Judgement, Retrieval, Strategy, sigmoid
from ragvault.text import stem, stems, tokens

# What the nearest passage is to unrelated questions, where a vault's own background isn't known:
# the median over five question sets, each asked of four others, with all-MiniLM-L6-v2.
USUAL_BACKGROUND = 0.25
# Where the model can read less of the question, its cosines tell nothing.
LEAST_TRUST = 0.5


@dataclass(frozen=True, slots=True)
class Logistic:
    """``weights``: coefficients by the names of ``features_of``."""

    name: str
    weights: Mapping[str, float]
    intercept: float

    def __call__(self, features: Mapping[str, float]) -> float:
        """0..1. Raises KeyError for a feature that is missing."""
        total = sum(weight * features[name] for name, weight in self.weights.items())
        return sigmoid(self.intercept + total)


# Fitted by tests/bench/fit_gate.py to whether the printed quotes answer, over three personal
# vaults, SQuAD 2.0, ClapNQ and MTRAG-UN, their unanswerable questions, and questions of the other
# sets. Each set has an intercept of its own in the fit, since encyclopaedias promise more than they
# hold; the one here is the mean of the personal vaults', which these are for.
MEANING_AND_WORDS = Logistic(
    "by meaning and words",
    {
        "best": 3.02,
        "quote_lift": 2.39,
        "held": 1.64,
        "share": 1.87,
        "lead": 0.76,
        "number_missing": -3.72,
        "name_missing": -1.00,
        "kind_missing": -3.53,
    },
    -3.60,
)
# Without an embedding model, and for a script that it can't read.
WORDS = Logistic(
    "by words",
    {
        "held": 3.34,
        "share": 2.61,
        "number_missing": -3.78,
        "name_missing": -0.92,
        "kind_missing": -2.92,
    },
    -3.20,
)

# Whether the notes treat of it at all: fitted to the answerable questions of the same sets and
# those of the others.
TOPIC = Logistic("topic", {"lift": 10.23, "held": 4.80}, -1.60)


def judge(question: str, found: Retrieval, quotes: Sequence[Quote]) -> Judgement:
    """The confidence that the quotes answer, with what it is made from. 0 without a quote, and
    where words alone decide and none is held."""
    by_words = found.strategy is Strategy.KEYWORD_RECENCY or found.vocabulary_trust < LEAST_TRUST
    logistic = WORDS if by_words else MEANING_AND_WORDS
    if not quotes:
        return Judgement(0.0, 0.0, {}, logistic.name)
    features = features_of(question, found, quotes[0])
    if by_words:
        topic = float(features["held"] > 0)
        return Judgement(topic * logistic(features), topic, features, logistic.name)
    return Judgement(logistic(features), TOPIC(features), features, logistic.name)


def features_of(question: str, found: Retrieval, quote: Quote) -> dict[str, float]:
    """Of the best quote; in 0..1 but for the lifts, which are below 0 where unrelated questions
    come nearer.

    ``lift``: the best cosine of what was found, 0 at the vault's background and 1 at 1;
    ``quote_lift``: the same of the quote's cosine; ``best``: of the first passage's score;
    ``held``: the share of the question's words, by rarity, that the quote or its place holds;
    ``share``: the probability that it is this quote, if any holds the answer;
    ``lead``: how far the best passage by words is before the second, as a share of its BM25;
    ``number_missing``: 1 where the question names a number, such as a year, that it lacks;
    ``name_missing``: 1 where a word of the question is in the title of a note that was found, and
    neither in the quote nor its place: it is of another person or thing;
    ``kind_missing``: 1 where the question asks for a kind of thing (an address, a birthday)
    and nothing like it is in the quote.
    """
    base = found.background.median if found.background else USUAL_BACKGROUND
    top = max((hit.scores.vector or 0.0 for hit in found.candidates), default=0.0)
    by_words = sorted((hit.scores.lexical or 0.0 for hit in found.ranked), reverse=True)
    words = _words(found)
    held = _place_stems(quote) | stems(quote.shown)
    titles = stems(" ".join(hit.note.title for hit in found.near))
    return {
        "lift": _lift(top, base),
        "best": _lift(found.near[0].scores.final if found.near else 0.0, base),
        "quote_lift": _lift(quote.cosine or 0.0, base),
        "held": sum(words[word] for word in words if word in held) / (sum(words.values()) or 1.0),
        "share": quote.share,
        "lead": by_words[0] - by_words[1] if len(by_words) > 1 else 1.0,
        "number_missing": float(bool(numbers_missing(question, [quote]))),
        "name_missing": float(any(word in titles and word not in held for word in words)),
        "kind_missing": float(kind_missing(question, quote.shown)),
    }


def _lift(cosine: float, background: float) -> float:
    return (cosine - background) / (1.0 - background)


def _words(found: Retrieval) -> dict[str, float]:
    """The question's stems with their rarity; "last week" stands in no note."""
    hint = found.query.time_hint
    of_time = set(tokens(hint.phrase)) if hint else set()
    return {stem(term): weight for term, weight in found.term_weights if term not in of_time}


def _place_stems(quote: Quote) -> frozenset[str]:
    note = quote.hit.note
    return stems(" ".join((note.title, note.rel_path, *quote.hit.chunk.heading_path, *note.tags)))


# --------------------------------------------------------------------------- what it lacks

_NUMBER = re.compile(r"\d+")


def numbers_missing(question: str, quotes: Sequence[Quote]) -> tuple[str, ...]:
    """The question's numbers that stand in none of the quotes, nor in the place or day of one."""
    asked = _NUMBER.findall(question)
    if not asked:
        return ()
    held: set[str] = set()
    for quote in quotes:
        note = quote.hit.note
        place = (quote.shown, note.rel_path, *quote.hit.chunk.heading_path, str(note.day))
        held |= {n.lstrip("0") for n in _NUMBER.findall(" ".join(place))}
    return tuple(dict.fromkeys(n for n in asked if n.lstrip("0") not in held))


def _kind(asked: str, held: str, flags: int = re.IGNORECASE) -> tuple[re.Pattern[str], ...]:
    return re.compile(asked, re.IGNORECASE), re.compile(held, flags)


# What notes of persons and things are asked for, and what a note that holds it looks like.
_KINDS = (
    _kind(r"\be-?mail|\bmail(?:adresse| address)?\b|\bcorreo\b|\bcourriel\b", r"\w@\w"),
    _kind(
        r"\b(?:phone|mobile|cell|telephone|handy\w*|telefon\w*|tel|teléfono|portable)\b",
        r"(?:\+|\b0)\d[\d /()-]{6,}",
    ),
    _kind(
        r"\bbirthday|\bborn\b|\bhow old\b|\bgeburtstag|\bgeboren|\bwie alt\b|\banniversaire"
        r"|\bcumpleaños",
        r"birth|born|\bb\.|geb|\*\s?\d|\bage|\byears? old|jahre alt|naissance|nacimiento",
    ),
    _kind(
        r"\b(?:address|adresse|postcode|plz|street)\b|\bwhere (?:does|do|did) .* live"
        r"|\bwo wohn(?:t|en|st)\b",
        r"\b\d{1,4}[a-z]? [A-ZÄÖÜ]\w+|\w(?:str(?:aße|\.|asse)|weg|platz|gasse|allee) ?\d"
        r"|\b(?:[Rr]oad|[Ss]treet|[Ll]ane|[Rr]d|[Aa]venue|[Cc]lose)\b|[Aa]ddress|[Aa]dresse"
        r"|[Ww]ohn|\b[Ll]ives?\b|\brue\b|\b[Cc]alle\b",
        0,
    ),
)


def kind_missing(question: str, text: str) -> bool:
    """Whether the question asks for a kind of thing that the text holds nothing like."""
    return any(asked.search(question) and not held.search(text) for asked, held in _KINDS)
