"""Do the words of a question occur in a short text: a heading path, a folder's name, a hit?

FTS5 stems with Porter's algorithm; here, where only presence counts, a few English endings are
enough. Pure; linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragvault import text

_PLURAL = re.compile(r"(?<=[^s])e?s$")
_ENDINGS = re.compile(r"(?:ing|edly|ed|er|ly|ie|e|y|i)$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
MIN_STEM = 3


def stem(word: str) -> str:
    """The word without a common English ending, at least three characters long."""
    for ending in (_PLURAL, _ENDINGS):
        cut = ending.sub("", word)
        word = cut if len(cut) >= MIN_STEM else word
    return word


def stems(value: str) -> frozenset[str]:
    """The stems of the words in a text, ``camelCase`` and ``snake_case`` taken apart."""
    return frozenset(stem(token) for token in text.tokens(_CAMEL.sub(" ", value)))


def share(terms: Iterable[str], value: str) -> float:
    """How many of the query's terms occur in the text, 0..1; 0 without terms."""
    wanted = {stem(term) for term in terms}
    if not wanted:
        return 0.0
    return len(wanted & stems(value)) / len(wanted)
