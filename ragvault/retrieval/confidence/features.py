"""What the confidence is made from: a retrieval, reduced to a few numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragvault.model import Closeness, Hit, Retrieval
from ragvault.retrieval.confidence.closeness import LOOKED_AT
from ragvault.retrieval.ranking.overlap import stem, stems

# The question's words are looked for in this many of the best hits, all of them in one: an answer
# put together from words of several passages is mostly none.
COVERAGE_HITS = 1
MANY_WORDS = 5.0  # so many words that no note holds, found in one passage, are as good as more
MEASURED = ("tokens", "weakest", "length")  # by the closer look, where there is one
_LONGEST = 4.0  # ln of a question's tokens that counts as long (55)


def features_of(retrieval: Retrieval) -> dict[str, float]:
    """Each in 0..1 (cosines below 0 count as 0).

    ``top_cosine``, ``top_final``: the best of the hits that nothing but their rank dropped (final
    scores without a reranker's share, here and below);
    ``gap_2``, ``gap_5``: how far the best final score lies above the 2nd and the 5th;
    ``rank_weighted``: mean of the kept final scores with weights 1, 1/2, 1/3 …;
    ``coverage``: the share of the question's IDF that the top hit's words hold;
    ``words``: how many of the question's words one of the top hits holds, a word counting by its
    IDF over that of a word that no note holds, over ``MANY_WORDS``;
    ``agreement``: the best of min(vector, lexical), high when both legs like the same chunk;
    ``lexical_strength``: the best BM25 over the IDF of the question (times the highest factor
    that BM25 gives a term), so that it doesn't grow with the question's length;
    ``tokens``, ``weakest``: the mean and the weakest, see ``Closeness``;
    ``length``: ln of the question's tokens, over 4: the weakest of many is weaker. 0 where they
    weren't measured.
    """
    hits = [h for h in retrieval.hits if h.is_ranked]
    finals = sorted((h.scores.blend for h in hits), reverse=True)
    best = finals[0] if finals else 0.0
    return {
        "top_cosine": max((_cosine(h) for h in hits), default=0.0),
        "top_final": best,
        "gap_2": best - finals[1] if len(finals) > 1 else 0.0,
        "gap_5": best - finals[4] if len(finals) > 4 else 0.0,
        "rank_weighted": rank_weighted_mean([h.scores.blend for h in retrieval.kept]),
        "coverage": coverage(retrieval, hits[:COVERAGE_HITS]),
        "words": _words(retrieval, hits[:LOOKED_AT]),
        "agreement": max((min(_cosine(h), h.scores.lexical or 0.0) for h in hits), default=0.0),
        "lexical_strength": lexical_strength(retrieval, hits),
        **_closer(retrieval.closeness),
    }


def _closer(closeness: Closeness | None) -> dict[str, float]:
    if closeness is None:
        return dict.fromkeys(MEASURED, 0.0)
    length = min(1.0, math.log(max(1, closeness.asked)) / _LONGEST)
    return {"tokens": closeness.mean, "weakest": closeness.weakest, "length": length}


def lexical_strength(retrieval: Retrieval, hits: Sequence[Hit]) -> float:
    """Best BM25 of the hits over Σ IDF, at most 1. A chunk of average length that holds every
    term once comes to about 1."""
    total = sum(weight for _, weight in retrieval.term_weights)
    best = max((h.scores.bm25 or 0.0 for h in hits), default=0.0)
    return min(1.0, best / total) if total else 0.0


def rank_weighted_mean(scores: Sequence[float]) -> float:
    """Mean with weights 1, 1/2, 1/3 … (disclosures-rag.md); 0 for none."""
    if not scores:
        return 0.0
    weights = [1.0 / rank for rank in range(1, len(scores) + 1)]
    return sum(w * s for w, s in zip(weights, scores, strict=True)) / sum(weights)


def coverage(retrieval: Retrieval, hits: Sequence[Hit]) -> float:
    """The IDF of the question's terms that occur in the hits, over the IDF of all of them."""
    total = sum(weight for _, weight in retrieval.term_weights)
    held = frozenset[str]().union(*map(_stems_of, hits))
    return _held(retrieval, held) / total if total else 0.0


def _words(retrieval: Retrieval, hits: Sequence[Hit]) -> float:
    if not retrieval.rarest_weight:
        return 0.0
    best = max((_held(retrieval, _stems_of(hit)) for hit in hits), default=0.0)
    return min(1.0, best / retrieval.rarest_weight / MANY_WORDS)


def _held(retrieval: Retrieval, held: frozenset[str]) -> float:
    return sum(weight for term, weight in retrieval.term_weights if stem(term) in held)


def _stems_of(hit: Hit) -> frozenset[str]:
    places = " ".join((hit.note.title, *hit.chunk.heading_path, *hit.note.tags))
    return stems(places) | stems(hit.chunk.text)


def _cosine(hit: Hit) -> float:
    return max(0.0, hit.scores.vector or 0.0)
