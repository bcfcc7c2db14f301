"""Mistyped words, read as the nearest word that the notes hold.

A word that any note holds, in whatever form, stays as it is; so does one that the embedding model
knows in one piece ("passport", where no note has one), a number, and what stands in quotation
marks. Few people mistype more than one letter, and then one beside the right one: in a word of
middling length a letter counts as mistaken for its neighbours on the keyboard only, or "gemacht"
would be "gedacht".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from itertools import groupby, pairwise

from ragvault import text
from ragvault.model import Filter, Query
from ragvault.ports import Catalog
from ragvault.retrieval.question.tasks import FRAME
from ragvault.retrieval.question.wordlists import ASKING, RECENCY, TIME_WORDS

_SHORTEST = 3  # letters of a word that is corrected
_SHORT = 5  # letters up to which none is too many, but one that is there twice,
_LONG = 8  # from which any letter may be wrong,
_LONGER = 10  # and two mistakes may be in a word
_MOST = 4  # words that are looked up: beyond, the question is in words that the notes don't have
_NAMED = re.compile(r"(?<=[\w,] )[A-Z]\w+")  # a name isn't a small word that was mistyped


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
    small = text.stopwords(query.language) | text.MONTHS.keys()
    small |= TIME_WORDS | ASKING | RECENCY | FRAME
    words = [
        word
        for word in query.terms
        if len(word) >= _SHORTEST
        and word.isalpha()
        and not (word in quoted or word in small or text.is_unspaced(word))
    ]
    where = Filter(vaults=tuple(vaults))
    held = catalog.document_frequencies(words, where) if words else {}
    named = {name.lower() for name in _NAMED.findall(query.text)}
    read: dict[str, str] = {}
    for word in [word for word in words if not held[word]][:_MOST]:
        if is_known(word):
            continue
        plain = () if word in named else small
        if meant := _nearest(word, catalog.vocabulary(word[:2], vaults), plain, query.language):
            read[word] = meant
    return tuple(read.items())


def _nearest(
    typed: str, held: Mapping[str, int], small: Collection[str], language: str
) -> str | None:
    """The word of the notes or of questions that is fewest mistakes away; of those one of questions
    (``small``), else the one that most notes hold. A mistake is a letter too many, too few, wrong,
    or swapped with the next."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    allowed = 1 if len(typed) < _LONGER else 2
    near = process.extract(
        typed, {*held, *small}, scorer=OSA.distance, score_cutoff=allowed, limit=None
    )
    # In another language what the model doesn't know may be a word all the same: "fiel", "viel".
    is_word = len(typed) < _SHORT and language != text.ENGLISH
    likely = (
        (far, meant not in small, -held.get(meant, 0), meant)
        for meant, far, _ in near
        if meant.isalpha() and len(meant) > _SHORTEST and _is_slip(typed, meant)
        if not (is_word and meant in small and len(meant) == len(typed))
    )
    return min(likely, default=(None,))[-1]


def _is_slip(typed: str, meant: str) -> bool:
    """False for another letter in a word that isn't long, unless their keys are neighbours, and
    for one too many in a short word, unless it is there twice."""
    if len(typed) < len(meant) or len(typed) >= _LONG:
        return True
    if len(typed) > len(meant):
        once = [[letter for letter, _ in groupby(word)] for word in (typed, meant)]
        return len(typed) > _SHORT or once[0] == once[1]
    wrong = [(a, b) for a, b in zip(typed, meant, strict=True) if a != b]
    return len(wrong) > 1 or all(text.folded(b) in NEIGHBOURS.get(a, ()) for a, b in wrong)


def corrected(question: str, read: Collection[tuple[str, str]]) -> str:
    """The question with its mistyped words put right, capitals as they were."""
    for typed, word in read:

        def put(match: re.Match[str], word: str = word) -> str:
            return word.capitalize() if match.group()[0].isupper() else word

        question = re.sub(rf"\b{re.escape(typed)}\b", put, question, flags=re.IGNORECASE)
    return question
