"""Mistyped words, read as the nearest word that the notes hold.

A word that any note holds, in whatever form, stays as it is; so does one that the embedding model
knows in one piece ("passport", where no note has one), a number, a short word, and what stands in
quotation marks. Few people mistype more than one letter, and then one beside the right one: in a
word of middling length a letter counts as mistaken for its neighbours on the keyboard only, or
"gemacht" would be "gedacht".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from itertools import pairwise

from ragvault import text
from ragvault.model import Filter, Query
from ragvault.ports import Catalog
from ragvault.retrieval.question.wordlists import TIME_WORDS

# Letters of a word that is corrected: below, too many words are one letter apart. In one of four
# only two that are swapped are put right.
_SHORTEST = 4
_LONG = 8  # letters from which any letter may be wrong,
_LONGER = 10  # and two mistakes may be in a word
_FREQUENT = 1_000_000  # a word that questions are made of comes before one of the notes
_MOST = 4  # words that are looked up: beyond, the question is in words that the notes don't have


def _neighbours() -> dict[str, set[str]]:
    """The letters around each, on keyboards as in English, in German and in French."""
    near: dict[str, set[str]] = {}
    for keyboard in (
        ("qwertyuiop", "asdfghjkl", "zxcvbnm", ""),
        ("qwertzuiop", "asdfghjkl", "yxcvbnm", ""),
        ("azertyuiop", "qsdfghjklm", "wxcvbn", ""),
    ):
        for upper, lower in pairwise(keyboard):
            for i, letter in enumerate(upper):
                for other in upper[max(0, i - 1) : i + 2] + lower[max(0, i - 1) : i + 1]:
                    near.setdefault(letter, set()).add(other)
                    near.setdefault(other, set()).add(letter)
    return near


NEIGHBOURS = _neighbours()


def corrections(
    query: Query, catalog: Catalog, vaults: Collection[str], is_known: Callable[[str], bool]
) -> tuple[tuple[str, str], ...]:
    """The mistyped words (lower case) with what they are read as. Reads the words of the notes
    that begin like each unknown one: bounded by the vocabulary, nothing where all are known."""
    quoted = {token for phrase in query.phrases for token in text.tokens(phrase)}
    words = [
        word
        for word in query.terms
        if len(word) >= _SHORTEST
        and word.isalpha()
        and word not in quoted
        and not text.is_unspaced(word)
    ]
    held = catalog.document_frequencies(words, Filter(vaults=tuple(vaults))) if words else {}
    unknown = [word for word in words if not held[word]][:_MOST]
    small = text.stopwords(query.language) | text.MONTHS.keys() | TIME_WORDS
    nearest = ((w, _nearest(w, catalog, vaults, small)) for w in unknown if not is_known(w))
    return tuple((word, read) for word, read in nearest if read)


def _nearest(
    word: str, catalog: Catalog, vaults: Collection[str], small: Collection[str]
) -> str | None:
    """The word of the notes or of questions that is fewest mistakes away, of those the one in most
    notes. A mistake is a letter too many, too few, wrong, or swapped with the next."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    allowed = 1 if len(word) < _LONGER else 2
    known = {**catalog.vocabulary(word[:2], vaults), **dict.fromkeys(small, _FREQUENT)}
    near = process.extract(word, known.keys(), scorer=OSA.distance, score_cutoff=allowed, limit=50)
    ranked = sorted(
        (far, -known[other], other)
        for other, far, _ in near
        if other.isalpha() and len(other) >= min(5, len(word)) and _is_slip(word, other)
    )
    return ranked[0][2] if ranked else None


def _is_slip(typed: str, meant: str) -> bool:
    """False for another letter in a word that isn't long, unless their keys are neighbours; in the
    shortest words only swapped letters are a slip."""
    if len(typed) == _SHORTEST:
        return sorted(typed) == sorted(meant)
    if len(typed) != len(meant) or len(typed) >= _LONG:
        return True
    wrong = [(a, b) for a, b in zip(typed, meant, strict=True) if a != b]
    return len(wrong) > 1 or all(text.folded(b) in NEIGHBOURS.get(a, ()) for a, b in wrong)


def corrected(question: str, read: Collection[tuple[str, str]]) -> str:
    """The question with its mistyped words put right, capitals as they were."""
    for typed, word in read:

        def put(match: re.Match[str], word: str = word) -> str:
            return word.capitalize() if match.group()[0].isupper() else word

        question = re.sub(rf"\b{re.escape(typed)}\b", put, question, flags=re.IGNORECASE)
    return question
