"""Who does what to whom: two that have changed places around the words between them.

"Femi owes Tomek £40" has every word of "Tomek owes Femi £40". Only what stands between two names
word for word, or between two words that a comparison parts ("a call to a long thread", "Pinkel
statt Räuchertofu"), is looked at: elsewhere an order can be free.
"""

from __future__ import annotations

import re

from ragvault.answering.check.facts import items

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


def turned(statement: str, text: str) -> str:
    """Why the statement has two of the text the other way round; "" when it hasn't. Linear."""
    there = f" {' '.join(_words(text))} ".casefold()
    words = _words(statement)
    found = [items(word) for word in words]
    names = [any(item.kind == "A" for item in some) for some in found]

    def has(*order: str) -> bool:
        """One more word may stand beside the two, such as a first name."""
        said = r" (?:\w+ )?".join(re.escape(words.casefold()) for words in order)
        return re.search(rf"(?<= ){said}(?= )", there) is not None

    for at in range(len(words)):
        for end in range(at + 2, min(at + 2 + _MOST_BETWEEN, len(words))):
            parts = [word.casefold() for word in words[at + 1 : end]]
            if not (found[at] and found[end] and all(map(str.isalpha, parts))):
                continue
            is_of_names = names[at] and names[end] and not any(names[at + 1 : end])
            is_compared = _COMPARING.intersection(parts) and not any(found[at + 1 : end])
            if _ALIKE.issuperset(parts) or not (is_of_names or is_compared):
                continue
            one, between, two = words[at], " ".join(parts), words[end]
            if has(two, between, one) and not has(one, between, two):
                return f"{one} and {two} have changed places there"
    return ""


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.casefold() not in _ARTICLES]
