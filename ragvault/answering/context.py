"""The passage that goes into the prompt: a hit, and its neighbours where there is room.

A hit's neighbours are the chunks before and after it in its own section. They fill what the hits
have left of the window and displace none; the lines that two chunks share are said once. Each
stays a chunk of its own for the citations. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ragvault.model import Chunk, Hit

Neighbours = Mapping[str, Sequence[Hit]]  # by the hit's chunk id, in the order of the note

_MIN_SHARED = 8  # characters: a shorter match of end and beginning is chance


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive chunks of one section, of which ``hit`` is the one that was found."""

    hit: Hit
    hits: tuple[Hit, ...]

    @property
    def text(self) -> str:
        text, last = self.hits[0].chunk.text, self.hits[0].chunk
        for hit in self.hits[1:]:
            text += _rest(text, last, hit.chunk)
            last = hit.chunk
        return text

    def adjoining(self, neighbours: Sequence[Hit]) -> tuple[Hit, ...]:
        """The next neighbour after it, and the one before it, where there are such: what follows
        explains more often than what precedes."""
        first, last = self.hits[0].chunk.ordinal, self.hits[-1].chunk.ordinal
        found = [n for n in neighbours if n.chunk.ordinal in (first - 1, last + 1)]
        return tuple(sorted(found, key=lambda n: -n.chunk.ordinal))

    def widened(self, neighbour: Hit) -> Passage:
        hits = sorted((*self.hits, neighbour), key=lambda n: n.chunk.ordinal)
        return Passage(self.hit, tuple(hits))


def widen(
    passages: Sequence[Passage], neighbours: Neighbours, fits: Callable[[Hit], bool]
) -> list[Passage]:
    """Each passage as wide as there is room for, the best hit's first, a neighbour at a time.

    ``fits`` says whether there is room for a neighbour, and counts it if so.
    """
    found = list(passages)
    for i, passage in enumerate(passages):
        left = list(neighbours.get(passage.hit.chunk.id, ()))
        while adjoining := found[i].adjoining(left):
            left.remove(adjoining[0])
            if fits(adjoining[0]):
                found[i] = found[i].widened(adjoining[0])
    return found


def _rest(text: str, last: Chunk, following: Chunk) -> str:
    """What a chunk adds to the text before it, with the line ends between the two."""
    gap = following.start_line - last.end_line
    if gap <= 0:
        shared = _shared(text, following.text)
        if shared or gap < 0:
            return following.text[shared:]
        return f" {following.text}"  # two pieces of one long line
    return "\n" * min(gap, 2) + following.text


def _shared(text: str, following: str) -> int:
    """How many characters the end of one text and the beginning of the next have in common."""
    for length in range(min(len(text), len(following)), _MIN_SHARED - 1, -1):
        if text.endswith(following[:length]):
            return length
    return 0
