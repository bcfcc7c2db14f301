"""What stands around a hit: the chunks before and after it in its own section, and how its note
begins, where most notes say what they are about.

An answer is made from them too where they fit; what is cited stays the chunk that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.model import DroppedBy, Hit, Scores, StoredChunk
from ragvault.ports import ChunkSearch


def around(
    catalog: ChunkSearch, hits: Sequence[Hit], known: Sequence[Hit], reach: int
) -> dict[str, tuple[Hit, ...]]:
    """For the chunk id of the first hit the ``reach`` chunks before and after it under the same
    heading path, in the order of the note; none that is a hit itself. Those of more hits would
    double the prompt; for as many tokens, more hits hold more (measured: see CHANGELOG.md). Under
    its own id, which is no hit's, the first chunk of that hit's note: to be quoted, not prompted.

    One that the search found too (``known``) keeps its scores; another has its hit's, as the one
    term "neighbour": that is why it is there. Raises StoreError.
    """
    if reach <= 0 or not hits:
        return {}
    taken = {hit.chunk.id for hit in hits}
    by_id = {hit.chunk.id: hit for hit in known}
    beside = tuple(
        by_id.get(stored.chunk.id) or _as_neighbour(stored, hits[0], hits[0])
        for stored in catalog.neighbours(hits[0].chunk.id, reach)
        if stored.chunk.id not in taken
    )
    found = {hits[0].chunk.id: beside} if beside else {}
    first = catalog.note_chunks(hits[0].chunk.vault, hits[0].chunk.rel_path)[:1]
    for stored in first:
        if stored.chunk.id not in taken | {hit.chunk.id for hit in beside}:
            opening = by_id.get(stored.chunk.id) or _as_neighbour(stored, hits[0], hits[-1])
            found[stored.chunk.id] = (opening,)
    return found


def _as_neighbour(stored: StoredChunk, of: Hit, scored: Hit) -> Hit:
    final = scored.scores.final
    scores = Scores(None, None, None, 1.0, final, terms=((str(DroppedBy.NEIGHBOUR), final),))
    return Hit(of.rank, stored, scores, kept=False, dropped_by=DroppedBy.NEIGHBOUR)
