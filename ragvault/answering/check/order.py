"""Who does what to whom: two that have changed places around the words between them.

"Femi owes Tomek £40" has every word of "Tomek owes Femi £40". Only what stands between two names
word for word, or between two words that a comparison parts ("a call to a long thread", "Pinkel
statt Räuchertofu"), is looked at: elsewhere an order can be free.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from ragvault.answering.check.facts import items, keys_of
from ragvault.text import sentence_spans

_MOST_BETWEEN = 4  # words
_WORD = re.compile(r"\w+(?:['’.-]\w+)*|[^\w\s]")
_ARTICLES = frozenset(
    "a an the der die das den dem ein eine einen el la los las le les un une".split()
)
# Two that stand so may change places.
_ALIKE = frozenset(
    """
    and und y et e or oder o ou with mit con avec is are was were be ist sind war es son est sont è
    met meets married marries knows like vs i.e aka
    """.split()
)
_COMPARING = frozenset(
    """
    to not than over instead rather before after from statt anstatt nicht sondern als vor nach que
    no antes después pas plutôt avant après di invece
    """.split()
)

Side = tuple[str, frozenset[str]]  # the word beside, and the keys of what stands there
Pairs = Iterator[tuple[tuple[str, ...], Side, Side]]


def turned(statement: str, text: str) -> str:
    """Why the statement has two of the text the other way round; "" when it hasn't. Linear."""
    there: dict[tuple[str, ...], list[tuple[frozenset[str], frozenset[str]]]] = {}
    for start, end in sentence_spans(text):
        for between, (_, one), (_, two) in _pairs(text[start:end]):
            there.setdefault(between, []).append((one, two))
    for between, (name, first), (other, second) in _pairs(statement):
        alike = there.get(between, ())
        if any(one & second and two & first for one, two in alike) and not any(
            one & first and two & second for one, two in alike
        ):
            return f"{name} and {other} have changed places there"
    return ""


def _pairs(sentence: str) -> Pairs:
    """Some words without their articles, and what stands on both sides."""
    words = [word for word in _WORD.findall(sentence) if word.casefold() not in _ARTICLES]
    found = [items(word) for word in words]
    names = [any(item.kind == "A" for item in some) for some in found]

    def side(at: int, among: slice) -> Side:
        return words[at], keys_of(chain(*found[among]))

    for at, some in enumerate(found):
        for end in range(at + 2, min(at + 2 + _MOST_BETWEEN, len(words)) if some else 0):
            between = tuple(word.casefold() for word in words[at + 1 : end])
            if not found[end] or not all(map(str.isalpha, between)) or _ALIKE.issuperset(between):
                continue
            is_of_names = names[at] and names[end] and not any(names[at + 1 : end])
            if is_of_names or (_COMPARING.intersection(between) and not any(found[at + 1 : end])):
                yield (
                    between,
                    side(at, slice(max(0, at - 1), at + 1)),
                    side(end, slice(end, end + 2)),
                )
