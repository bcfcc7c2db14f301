"""What stands around a hit: the chunks before and after it in its own section.

An answer is made from them too where they fit; what is cited stays the chunk that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.model import DroppedBy, Hit, Scores, StoredChunk
from ragvault.ports import ChunkSearch

# So many of the best hits get them. More would double the prompt; for as many tokens, more hits
# hold more (measured: see CHANGELOG.md).
BEST = 1


def around(
    catalog: ChunkSearch, hits: Sequence[Hit], known: Sequence[Hit], reach: int
) -> dict[str, tuple[Hit, ...]]:
    """For the chunk id of each of the ``BEST`` first hits the ``reach`` chunks before and after it
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
    for hit in hits[:BEST]:
        beside = [
            stored
            for stored in catalog.neighbours(hit.chunk.id, reach)
            if stored.chunk.id not in taken
        ]
        taken.update(stored.chunk.id for stored in beside)
        if beside:
            found[hit.chunk.id] = tuple(
                by_id.get(s.chunk.id) or _as_neighbour(s, hit) for s in beside
            )
    return found


def _as_neighbour(stored: StoredChunk, of: Hit) -> Hit:
    final = of.scores.final
    scores = Scores(None, None, None, 1.0, final, terms=((str(DroppedBy.NEIGHBOUR), final),))
    return Hit(of.rank, stored, scores, kept=False, dropped_by=DroppedBy.NEIGHBOUR)
