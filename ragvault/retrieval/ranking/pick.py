"""From ranked candidates to hits: which are kept, and what dropped each of the others. Pure.

Nothing disappears here: a dropped candidate stays in the list with its rank and ``dropped_by``:

    max_candidates   beyond the best 200 by weighted vector score
    min_vector       cosine below the floor, and no keyword found it
    min_final        blended score, without a reranker's, below the floor (for an answer only)
    duplicate        another note's chunk with the same text ranks higher
    note_limit, mmr  passed over for another note, or for something else (see ``diversity``)
    rank             below the first k
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from ragvault import text
from ragvault.model import Hit, Scores
from ragvault.retrieval.ranking.blend import Candidate
from ragvault.retrieval.ranking.diversity import Diversity, choose, near_duplicates, why_not

Ranked = tuple[Candidate, Scores]


def pick(
    ranked: Sequence[Ranked],
    *,
    k: int,
    min_vector: float,
    min_final: float | None,
    trimmed: Collection[str] = (),
    terms: Sequence[str] = (),
    diversity: Diversity = Diversity(),
) -> tuple[Hit, ...]:
    """Every candidate as a Hit, in the order given; of those that no floor drops and that repeat
    no other, ``k`` are kept: the first, or as ``diversity`` spreads them.

    ``min_final`` None applies no such floor; ``terms`` are the question's, for telling near-
    duplicates from different facts. Linear in the candidates.
    """
    reasons = [_floor(c, s, min_vector, min_final, trimmed) for c, s in ranked]
    doubles = _fold(ranked, reasons, terms)
    eligible = [i for i, reason in enumerate(reasons) if reason is None]
    chosen = set(choose(ranked, eligible, k, diversity))
    hits = []
    for i, (candidate, scores) in enumerate(ranked):
        reason = reasons[i]
        if reason is None and i not in chosen:
            reason = "rank"
            reason = why_not(ranked, i, chosen, diversity) or reason
        own = candidate.stored.note.rel_path
        others = tuple(sorted(set(doubles.get(i, ())) - {own}))
        hits.append(Hit(i + 1, candidate.stored, scores, reason is None, reason, others))
    return tuple(hits)


def _fold(
    ranked: Sequence[Ranked], reasons: list[str | None], terms: Sequence[str]
) -> dict[int, list[str]]:
    """Mark what repeats a better one; the notes that each of those stands for."""
    first_of: dict[str, int] = {}
    doubles: dict[int, list[str]] = {}
    for i, (candidate, _) in enumerate(ranked):
        if reasons[i] is not None:
            continue
        first = first_of.setdefault(_same_text_key(candidate), i)
        if first != i:
            reasons[i] = "duplicate"
            doubles.setdefault(first, []).append(candidate.stored.note.rel_path)
    rest = [i for i, reason in enumerate(reasons) if reason is None]
    for i, first in near_duplicates(ranked, rest, terms).items():
        reasons[i] = "duplicate"
        doubles.setdefault(first, []).extend(
            (ranked[i][0].stored.note.rel_path, *doubles.pop(i, ()))
        )
    return doubles


def _floor(
    candidate: Candidate,
    scores: Scores,
    min_vector: float,
    min_final: float | None,
    trimmed: Collection[str],
) -> str | None:
    if candidate.id in trimmed:
        return "max_candidates"
    too_far = candidate.vector is not None and candidate.vector < min_vector
    if too_far and not candidate.by_keyword:
        return "min_vector"
    if min_final is not None and scores.blend < min_final:
        return "min_final"
    return None


def _same_text_key(candidate: Candidate) -> str:
    """Equal for chunks whose text differs at most in case, width and white space."""
    folded = " ".join(text.normalise(candidate.stored.chunk.text).split())
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()
