"""Which of a question's words are names, by how the notes write them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from ragvault.model import Hit
from ragvault.text import MONTHS, tokens

# What stands before a noun and not before a name, in German, where both have a capital.
DETERMINER = (
    r"(?:d(?:er|ie|as|em|en|es)|(?:k?ein|[mds]ein|ihr|unser|euer|eur)(?:e[mnrs]?)?|im|am|beim|zum"
    r"|zur|vom|ins|ans|(?:jede|diese)[mnrs]?)"
)
_AFTER_DETERMINER = re.compile(rf"\b{DETERMINER}\s+$", re.IGNORECASE)
_OPENS = re.compile(r"(?:^|[.!?:\n|·]\s*|[-*•>#]\s+|[\"“„(\[]|\]\s)$")
_READ = 60  # passages
_SELDOM = 0.1  # of its capitals


def names_among(words: Collection[str], hits: Iterable[Hit]) -> frozenset[str]:
    """Those that the passages write with a capital within a sentence, or in a title, and hardly
    ever without one; in a language whose nouns all have capitals, never after an article either.
    """
    asked = {word for word in words if len(word) > 2 and not word.isdigit() and word not in MONTHS}
    if not asked:
        return frozenset()
    one = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, asked))})s?(?!\w)", re.IGNORECASE)
    inside, opening, small, titled = Counter[str](), Counter[str](), Counter[str](), set[str]()
    common = set[str]()
    for hit in list(hits)[:_READ]:
        text = hit.chunk.text
        titled.update(asked.intersection(tokens(hit.note.title)))
        for match in one.finditer(text):
            word, before = match[1].lower(), text[max(0, match.start() - 12) : match.start()]
            if match[1][0].isupper():
                (opening if _OPENS.search(before) else inside)[word] += 1
                if _AFTER_DETERMINER.search(before):
                    common.add(word)
            elif not (
                before[-1:] in tuple("@/._#-") or re.match(r"[@/_]|\.\w", text[match.end() :])
            ):
                small[word] += 1
    return frozenset(
        word
        for word in asked - common
        if (inside[word] or (word in titled and opening[word]))
        and small[word] <= _SELDOM * (inside[word] + opening[word])
    )
