"""What stands around a hit: the chunks before and after it in its own section.

An answer is made from them too where they fit; what is cited stays the chunk that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.model import Hit, Scores, StoredChunk
from ragvault.ports import ChunkSearch

DROPPED_BY = "neighbour"


def around(
    catalog: ChunkSearch, hits: Sequence[Hit], known: Sequence[Hit], reach: int, best: int
) -> dict[str, tuple[Hit, ...]]:
    """For the chunk id of each of the ``best`` first hits the ``reach`` chunks before and after it
    under the same heading path, in the order of the note; none that is a hit itself, and each
    once, at the better hit.

    One that the search found too (``known``) keeps its scores; another has its hit's, as the one
    term "neighbour": that is why it is there. Raises StoreError.
    """
    if reach <= 0:
        return {}
    taken = {hit.chunk.id for hit in hits}
    by_id = {hit.chunk.id: hit for hit in known}
    found: dict[str, tuple[Hit, ...]] = {}
    for hit in hits[:best]:
        beside = [
            stored
            for stored in catalog.neighbours(hit.chunk.id, reach)
            if stored.chunk.id not in taken
        ]
        taken.update(stored.chunk.id for stored in beside)
        if beside:
            found[hit.chunk.id] = tuple(by_id.get(s.chunk.id) or _lent(s, hit) for s in beside)
    return found


def _lent(stored: StoredChunk, hit: Hit) -> Hit:
    final = hit.scores.final
    scores = Scores(None, None, None, 1.0, final, terms=(("neighbour", final),))
    return Hit(hit.rank, stored, scores, kept=False, dropped_by=DROPPED_BY)
