"""What a question names that none of the hits holds: a number, a name, something in quotes.

"Which year did we sell the Volvo?" over notes that only know a Saab is best answered with the
remark that nothing found mentions a Volvo. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragvault import text
from ragvault.model import Hit
from ragvault.retrieval.ranking.overlap import stem, stems

_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]{2,60})[\"“”„«»]")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,:/-]\d+)*(?![\w])")
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*")
# Capitalised where a sentence begins or by custom, naming nothing that a note would have to hold.
_NOT_NAMES = frozenset(
    """i i'm i've i'll i'd what who when where why which how is are was were did do does can could
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december english german obsidian markdown""".split()
)
_MOST = 3  # remarks beyond that say nothing more


def unmentioned(question: str, hits: Sequence[Hit]) -> tuple[str, ...]:
    """The named things, as the question writes them, that occur in no hit: not in its text,
    headings, title, path, tags, nor the year, month or day of its note. At most three."""
    if not hits or text.is_unspaced(question):  # no capitals, no words to compare
        return ()
    held: set[str] = set()
    for hit in hits:
        places = (hit.note.title, hit.note.rel_path, *hit.note.aliases, *hit.note.tags)
        held |= stems(" ".join((*places, *hit.chunk.heading_path)))
        held |= stems(hit.chunk.text)
        if (day := hit.note.day) is not None:
            held |= {str(day.year), str(day.month), str(day.day)}
    quoted = [match.group(1).strip() for match in _QUOTED.finditer(question)]
    missing = [phrase for phrase in quoted if not all(_words_held(held, phrase))]
    # One word of a name is enough: notes say "Priya" where the question says "Priya Nair".
    named = _named(_QUOTED.sub(" ", question))
    missing += [name for name in named if not any(_words_held(held, name))]
    return tuple(dict.fromkeys(missing))[:_MOST]


def _named(rest: str) -> list[str]:
    found = [match.group() for match in _NUMBER.finditer(rest) if len(match.group()) > 1]
    # A title or a shouted question has a capital everywhere: it tells nothing.
    words = re.findall(r"[^\W\d_]{2,}", rest)
    if sum(word[0].isupper() for word in words) * 2 <= len(words):
        names = (re.sub(r"['’]s$", "", match.group()) for match in _NAME.finditer(rest))
        found += [name for name in names if name.lower() not in _NOT_NAMES]
    return found


def _words_held(held: set[str], name: str) -> list[bool]:
    return [stem(token) in held for token in text.tokens(name)]
