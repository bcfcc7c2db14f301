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

    def widened(self, neighbours: Sequence[Hit]) -> tuple[Passage, ...]:
        """With the next neighbour after it, and with the one before it, where there are such:
        what follows explains more often than what precedes."""
        first, last = self.hits[0].chunk, self.hits[-1].chunk
        after = next((n for n in neighbours if n.chunk.ordinal == last.ordinal + 1), None)
        before = next((n for n in neighbours if n.chunk.ordinal == first.ordinal - 1), None)
        wider = []
        if after is not None:
            wider.append(Passage(self.hit, (*self.hits, after)))
        if before is not None:
            wider.append(Passage(self.hit, (before, *self.hits)))
        return tuple(wider)


def widen(
    passages: Sequence[Passage], neighbours: Neighbours, fits: Callable[[Passage, Passage], bool]
) -> list[Passage]:
    """Each passage as wide as there is room for, the best hit's first, a neighbour at a time.

    ``fits(old, new)`` says whether a passage may become the wider one, and counts it if so.
    """
    found = list(passages)
    for i, passage in enumerate(found):
        beside = neighbours.get(passage.hit.chunk.id, ())
        refused: set[int] = set()
        while True:
            wider = [p for p in found[i].widened(beside) if _added(found[i], p) not in refused]
            if not wider:
                break
            if fits(found[i], wider[0]):
                found[i] = wider[0]
            else:
                refused.add(_added(found[i], wider[0]))
    return found


def _added(old: Passage, new: Passage) -> int:
    """The ordinal of the chunk that makes the difference."""
    grew_in_front = new.hits[0] is not old.hits[0]
    return new.hits[0 if grew_in_front else -1].chunk.ordinal


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
