"""How sure: the probability that what is printed answers the question.

    confidence = σ(intercept + Σ coefficient · feature)

A vault full of boilers is near every question about one, and holds the make of none: what was
found says whether the subject is there, the quotes whether the answer is. So the features are of
both, and each is relative to something: cosines to what unrelated questions reach with the model,
words to their rarity in the vault. That makes one set of coefficients hold for every model.

What a question asks of another person, another year or a fact that was never noted comes just as
near; what tells it is what the quote lacks: the year, anything like an address or a name, or all
that was asked of the person whose rare name it holds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from ragvault.answering.check.support import USUAL_BACKGROUND, Embed, lift, nearness
from ragvault.answering.check.values import find_dates
from ragvault.answering.names import names_among
from ragvault.model import Judgement, Query, Quote, Retrieval, Strategy, TimeHint, sigmoid
from ragvault.text import MONTHS, stem, stems, tokens

# Where the model can read less of the question, its cosines tell nothing.
LEAST_TRUST = 0.5
_TRANSLATED = 0.75  # what another language's word, or the thing itself ("12 Mill Lane") counts
MOST_COMPARED = 40  # words of a quote that a missing word is compared with


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


# Fitted by tests/bench/fit_gate.py to whether the printed quotes answer, over four personal
# vaults, four public ones, SQuAD 2.0, ClapNQ and MTRAG-UN, their unanswerable questions, and
# questions of the other sets. Each set has an intercept of its own in the fit, since encyclopaedias
# promise more than they hold; the one here is the mean of the vaults', which these are for.
MEANING_AND_WORDS = Logistic(
    "by meaning and words",
    {
        "best": 3.89,
        "quote_lift": 2.07,
        "least_held": 3.58,
        "share": 1.83,
        "number_missing": -5.19,
        "name_missing": -0.58,
        "kind_missing": -3.40,
    },
    -5.21,
)
# Without an embedding model, and for a script that it can't read.
WORDS = Logistic(
    "by words",
    {
        "least_held": 3.90,
        "share": 2.24,
        "number_missing": -5.13,
        "kind_missing": -3.58,
    },
    -3.02,
)

# Whether the notes treat of it at all: fitted to the answerable questions of the same sets and
# those of the others.
TOPIC = Logistic("topic", {"lift": 9.86, "held": 8.27}, -5.60)


def judge(
    question: str, found: Retrieval, quotes: Sequence[Quote], embed: Embed | None = None
) -> Judgement:
    """The confidence that the quotes answer, with what it is made from. 0 without a quote, and
    where words alone decide and none is held. ``embed`` tells what a word that isn't held is near
    to."""
    by_words = found.strategy is Strategy.KEYWORD_RECENCY or found.vocabulary_trust < LEAST_TRUST
    logistic = WORDS if by_words else MEANING_AND_WORDS
    if not quotes:
        return Judgement(0.0, 0.0, {}, logistic.name)
    likeliest = max(quotes, key=lambda quote: quote.share)
    features = features_of(question, found, likeliest, None if by_words else embed)
    if by_words:
        topic = float(features["held"] > 0)
        return Judgement(topic * logistic(features), topic, features, logistic.name)
    return Judgement(logistic(features), TOPIC(features), features, logistic.name)


def features_of(
    question: str, found: Retrieval, quote: Quote, embed: Embed | None = None
) -> dict[str, float]:
    """Of the best quote; in 0..1 but for the lifts, which are below 0 where unrelated questions
    come nearer.

    ``lift``: the best cosine of what was found, 0 at what unrelated questions reach and 1 at 1;
    ``quote_lift``: the same of the quote's cosine; ``best``: of the first passage's score;
    ``held``: the share of the question's words, by rarity, that the quote or its place holds; one
    that neither holds counts by the lift of the quote's nearest word, one in another language,
    or "address" where one stands there, nearly whole;
    ``least_held``: that of its names or that of its other words, whichever is less;
    ``share``: the probability that it is this quote, if any holds the answer;
    ``number_missing``: 1 where the question names a number, such as a year, that it lacks, or a
    month that it isn't of;
    ``name_missing``: 1 where a word of the question is in the title of a note that was found, and
    neither in the quote nor its place: it is of another person or thing;
    ``kind_missing``: 1 where the question asks for a kind of thing (an address, a birthday)
    and nothing like it is in the quote.
    """
    base = found.background or USUAL_BACKGROUND
    top = max((hit.scores.vector or 0.0 for hit in found.candidates), default=0.0)
    words = _words(found)
    held = _place_stems(quote) | stems(quote.shown)
    titles = stems(" ".join(hit.note.title for hit in found.near))
    shares = _shares(words, found.query, held, quote, base, embed)
    names = names_among(words, found.candidates)
    parts = (names, words.keys() - names)
    return {
        "lift": lift(top, base),
        "best": lift(found.near[0].scores.final if found.near else 0.0, base),
        "quote_lift": lift(quote.cosine or 0.0, base),
        "held": _mean(shares, words, words),
        "least_held": min((_mean(shares, words, of) for of in parts if of), default=0.0),
        "share": quote.share,
        "number_missing": float(bool(unmentioned(found.query, [quote]))),
        "name_missing": float(
            any(
                stem(w) in titles and held.isdisjoint(map(stem, (w, *found.query.also(w))))
                for w in words
            )
        ),
        "kind_missing": float(kind_missing(question, quote.shown)),
    }


def _words(found: Retrieval) -> dict[str, float]:
    """The question's words with their rarity; "last week" stands in no note."""
    hint = found.query.time_hint
    of_time = set(tokens(hint.phrase)) if hint else set()
    return {term: weight for term, weight in found.term_weights if term not in of_time}


def _shares(
    words: Mapping[str, float],
    query: Query,
    stems_held: frozenset[str],
    quote: Quote,
    base: float,
    embed: Embed | None,
) -> dict[str, float]:
    """Of each word how far it is held, 0..1."""
    shares, missing = dict.fromkeys(words, 0.0), []
    told = [asked for asked, has in _kinds(query.text) if has.search(quote.shown)]
    for word in words:
        if stem(word) in stems_held:
            shares[word] = 1.0
        elif not stems_held.isdisjoint(map(stem, query.also(word))) or any(
            asked.search(word) for asked in told
        ):
            shares[word] = _TRANSLATED
        else:
            missing.append(word)
    said = [w for w in dict.fromkeys(tokens(f"{quote.shown} {quote.hit.note.title}")) if len(w) > 2]
    if embed is not None and missing and said:
        near = nearness(missing, said[:MOST_COMPARED], embed)
        shares |= {w: max(0.0, lift(one, base)) for w, one in zip(missing, near, strict=True)}
    return shares


def _mean(shares: Mapping[str, float], words: Mapping[str, float], of: Collection[str]) -> float:
    """By the words' rarity."""
    return sum(words[word] * shares[word] for word in of) / (sum(words[word] for word in of) or 1.0)


def _place_stems(quote: Quote) -> frozenset[str]:
    note = quote.hit.note
    return stems(
        " ".join((note.vault, note.title, note.rel_path, *quote.hit.chunk.heading_path, *note.tags))
    )


# --------------------------------------------------------------------------- what it lacks

_NUMBER = re.compile(r"\d+")


def unmentioned(query: Query, quotes: Sequence[Quote]) -> tuple[str, ...]:
    """The question's numbers that stand in none of the quotes, nor in the place or day of one; and
    its time, where that is some months and no quote is of one of them."""
    asked, hint = _NUMBER.findall(query.text), query.time_hint
    places = [
        " ".join((one.shown, note.rel_path, *one.hit.chunk.heading_path, str(note.day)))
        for one in quotes
        for note in [one.hit.note]
    ]
    held = {n.lstrip("0") for place in places for n in _NUMBER.findall(place)}
    missing = [n for n in asked if n.lstrip("0") not in held]
    if hint is not None and not hint.relative and not any(_is_of(hint, place) for place in places):
        missing.append(hint.phrase)
    return tuple(dict.fromkeys(missing))


def _is_of(hint: TimeHint, text: str) -> bool:
    """The text names a month of that time; any text is of a time that takes in all twelve."""
    first, last = (datetime.fromtimestamp(at) for at in (hint.since, hint.until))
    count = 12 * (last.year - first.year) + last.month - first.month + 1
    months: set[int | None] = {(first.month - 1 + n) % 12 + 1 for n in range(min(count, 12))}
    months |= {MONTHS[word] for word in tokens(hint.phrase) if word in MONTHS}
    said = {MONTHS.get(word) for word in tokens(text)}
    said |= {day.month for _, meanings in find_dates(text) for day in meanings}
    return len(months) == 12 or bool(said & months)


_Kind: TypeAlias = "tuple[re.Pattern[str], re.Pattern[str]]"


def _kind(asked: str, held: str, flags: int = re.IGNORECASE) -> _Kind:
    return re.compile(asked, re.IGNORECASE), re.compile(held, flags)


_NO_STREET = rf"(?i:{'|'.join(MONTHS)}|uhr)\b"  # "1 May" isn't one

# What notes of persons and things are asked for, and what a note that holds it looks like.
_KINDS = (
    _kind(r"\be-?mail|\bmail(?:adresse| address)?\b|\bcorreo\b|\bcourriel\b", r"\w@\w"),
    _kind(
        r"\b(?:phone|mobile|cell|telephone|handy\w*|telefon\w*|tel|teléfono|móvil|portable)\b"
        r"(?! (?:plan|contract|provider|tariff|bill)\b)",
        r"(?<![\d-])(?!\d{4}-\d\d-\d\d)\d(?:[ ()/.-]?\d){6}",
    ),
    _kind(
        r"\bbirthday|\bhow old\b|\bgeburtstag|\bwie alt\b|\banniversaire|\bcumpleaños"
        r"|^\W*(?:when|wann|(?:what|which|welche\w*) (?:date|day|month|year|tag|monat|jahr))\b"
        r".*\b(?:born|geboren)\b",
        r"birth|born|\bb\.|geb|\*\s?\d|\bage|\byears? old|jahre alt|naissance|nacimiento",
    ),
    _kind(
        r"\b(?:address|adresse|postcode|plz|street)\b|\bwhere (?:does|do|did) .* live"
        r"|\bwo wohn(?:t|en|st)\b",
        rf"\b(?<!\d-)(?!(?:19|20)\d\d\b)\d{{1,4}}[a-z]? (?!{_NO_STREET})[A-ZÄÖÜ]\w+"
        r"|\w(?:str(?:aße|\.|asse)|weg|platz|gasse|allee) ?\d"
        r"|\b(?:[Rr]oad|[Ss]treet|[Ll]ane|[Rr]d|[Aa]venue|[Cc]lose)\b|[Aa]ddress|[Aa]dresse"
        r"|[Ww]ohn|\b[Ll]ives?\b|\brue\b|\b[Cc]alle\b|\b[Cc]arrer\b|\b[Aa]venida\b|\b[Pp]laza\b"
        r"|\b(?:[Vv]ia|[Pp]iazza)\b",
        0,
    ),
)


# What begins so asks for something else: "how did I lose my phone", "who did I phone".
_OF_OTHER = re.compile(
    r"\W*(?:who\w*|wer|wem|wen|qui|quién(?:es)?|how (?!old|can)|why|what happened|warum|pourquoi"
    r"|cómo|por qué|did|do|does|is|are|was|were|when (?:did|do) i (?!last)"
    r"|where(?! (?:does|do|did) .* live))\b",
    re.IGNORECASE,
)


def kind_missing(question: str, text: str) -> bool:
    """Whether the question asks for a kind of thing that the text holds nothing like."""
    return any(not has.search(text) for _, has in _kinds(question))


def _kinds(question: str) -> list[_Kind]:
    """Those that it asks for, each with what such a thing looks like."""
    is_other = _OF_OTHER.match(question)
    return [] if is_other else [kind for kind in _KINDS if kind[0].search(question)]
