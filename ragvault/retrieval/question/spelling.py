"""Mistyped words, read as the nearest word that the notes hold.

A word that any note holds, in whatever form, stays as it is; so does one that the embedding model
knows in one piece ("passport", where no note has one), a number, a short word, and what stands in
quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from ragvault import text
from ragvault.model import Filter, Query
from ragvault.ports import Catalog

_SHORTEST = 5  # letters of a word that is corrected; below, too many words are one letter apart
_LONG = 8  # letters from which two mistakes may be in a word
_MOST = 4  # words that are looked up: beyond, the question is in words that the notes don't have


def corrections(
    query: Query, catalog: Catalog, vaults: Collection[str], is_known: Callable[[str], bool]
) -> tuple[tuple[str, str], ...]:
    """The mistyped words (lower case) with what they are read as. Reads the words of the notes
    that begin like each unknown one: bounded by the vocabulary, nothing where all are known."""
    quoted = {token for phrase in query.phrases for token in text.tokens(phrase)}
    words = [
        word
        for word in query.keywords
        if len(word) >= _SHORTEST
        and word.isalpha()
        and word not in quoted
        and not text.is_unspaced(word)
    ]
    held = catalog.document_frequencies(words, Filter(vaults=tuple(vaults))) if words else {}
    unknown = [word for word in words if not held[word]][:_MOST]
    nearest = ((w, _nearest(w, catalog, vaults)) for w in unknown if not is_known(w))
    return tuple((word, read) for word, read in nearest if read)


def _nearest(word: str, catalog: Catalog, vaults: Collection[str]) -> str | None:
    """The word of the notes that is fewest mistakes away, of those the one in most notes. A
    mistake is a letter too many, too few, wrong, or swapped with the next."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    allowed = 1 if len(word) < _LONG else 2
    known = catalog.vocabulary(word[:2], vaults)
    near = process.extract(word, known.keys(), scorer=OSA.distance, score_cutoff=allowed, limit=50)
    ranked = sorted((far, -known[other], other) for other, far, _ in near if other.isalpha())
    return ranked[0][2] if ranked else None


def corrected(question: str, read: Collection[tuple[str, str]]) -> str:
    """The question with its mistyped words put right, capitals as they were."""
    for typed, word in read:

        def put(match: re.Match[str], word: str = word) -> str:
            return word.capitalize() if match.group()[0].isupper() else word

        question = re.sub(rf"\b{re.escape(typed)}\b", put, question, flags=re.IGNORECASE)
    return question
