"""How sure: a few features of a retrieval, and a logistic that turns them into a confidence.

    confidence = 1 / (1 + exp(−(intercept + Σ coefficient·feature)))

One set of coefficients for each embedding model, since cosines of two models are not on one
scale. disclosures-rag.md and notes-engine-rag.md take the (rank-weighted) mean of the scores as
the confidence; it is one feature here, and by itself the weakest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ragvault.model import Hit, Retrieval
from ragvault.retrieval.overlap import stem, stems

# The question's rare words are looked for in this many of the best hits: one, since an answer
# put together from words of several passages is mostly none.
COVERAGE_HITS = 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic over named features (see ``features_of``)."""

    name: str
    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float

    def __post_init__(self) -> None:
        if len(self.features) != len(self.coefficients):
            raise ValueError("one coefficient a feature")

    def confidence(self, features: dict[str, float]) -> float:
        """0..1. Raises KeyError for a feature that is missing."""
        z = self.intercept + sum(
            weight * features[name]
            for name, weight in zip(self.features, self.coefficients, strict=True)
        )
        if z >= 0:
            return 1.0 / (1.0 + math.exp(-z))
        return math.exp(z) / (1.0 + math.exp(z))


# Fitted on 1,940 questions over ClapNQ, SciFact, XQuAD (English, German), Chroma's chunking set
# and the sample vault: answered there; on the topic but not answered (ClapNQ's own, and others
# with the passage that answers taken out); and questions of the other sets. Coefficients are
# held at 0 or above. Cross-validated, the confidence is within 0.06 of the observed rate in each
# of five bins. CHANGELOG.md has the trade-off.
MINILM = Calibration(
    "all-MiniLM-L6-v2", ("tokens", "sentence", "coverage"), (9.82, 2.44, 1.55), -7.95
)
# The same where there are no vectors of tokens (another backend), or nothing was looked at.
MINILM_CHUNKS = Calibration(
    "all-MiniLM-L6-v2, chunks only", ("top_cosine", "coverage"), (7.09, 3.84), -5.48
)
# A model that nobody fitted: the same curve; its name says that it wasn't made for it.
GENERIC = Calibration(
    "generic", MINILM_CHUNKS.features, MINILM_CHUNKS.coefficients, MINILM_CHUNKS.intercept
)
# Without vectors. Fitted on XQuAD's English and German questions, each asked of its own notes
# and of the same notes less the one that answers it.
KEYWORDS = Calibration("keywords", ("lexical_strength",), (9.32,), -4.43)
# A question that the model's vocabulary can't spell: the same, on XQuAD's Chinese and Arabic.
UNSPELLED = Calibration("keywords, another script", ("lexical_strength",), (16.87,), -5.19)

_BY_MODEL = {"minilm-l6-v2": MINILM}
_CLOSER = {"sentence", "tokens"}
LEAST_TRUST = 0.5  # below it, cosines of this question tell nothing


def for_model(name: str) -> Calibration:
    """The calibration of an embedding model, by its name or hub id."""
    lowered = name.lower()
    return next((found for key, found in _BY_MODEL.items() if key in lowered), GENERIC)


def in_force(calibration: Calibration, retrieval: Retrieval) -> Calibration:
    """The one that this retrieval can be judged by: ``calibration``, where its features could be
    measured; else the one for what there is."""
    if retrieval.strategy == "keyword_recency":
        return KEYWORDS
    if retrieval.vector_trust < LEAST_TRUST:
        return UNSPELLED
    closeness = retrieval.closeness
    measured = closeness is not None and closeness.tokens is not None
    if measured or not _CLOSER & set(calibration.features):
        return calibration
    return MINILM_CHUNKS


def features_of(retrieval: Retrieval) -> dict[str, float]:
    """What the confidence is made from. Each in 0..1 (cosines below 0 count as 0).

    ``top_cosine``, ``top_final``: the best of the hits that nothing but their rank dropped (final
    scores without a reranker's share, here and below);
    ``gap_2``, ``gap_5``: how far the best final score lies above the 2nd and the 5th;
    ``rank_weighted``: mean of the kept final scores with weights 1, 1/2, 1/3 …;
    ``coverage``: the share of the question's IDF that the top hits' words hold;
    ``agreement``: the best of min(vector, lexical), high when both legs like the same chunk;
    ``lexical_strength``: the best BM25 over the IDF of the question (times the highest factor
    that BM25 gives a term), so that it doesn't grow with the question's length;
    ``sentence``, ``tokens``: see ``Closeness``; 0 where it wasn't measured.
    """
    hits = [h for h in retrieval.hits if h.is_ranked]
    finals = sorted((h.scores.blend for h in hits), reverse=True)
    best = finals[0] if finals else 0.0
    closeness = retrieval.closeness
    return {
        "top_cosine": max((_cosine(h) for h in hits), default=0.0),
        "top_final": best,
        "gap_2": best - finals[1] if len(finals) > 1 else 0.0,
        "gap_5": best - finals[4] if len(finals) > 4 else 0.0,
        "rank_weighted": rank_weighted_mean([h.scores.blend for h in retrieval.kept]),
        "coverage": coverage(retrieval, hits[:COVERAGE_HITS]),
        "agreement": max((min(_cosine(h), h.scores.lexical or 0.0) for h in hits), default=0.0),
        "lexical_strength": lexical_strength(retrieval, hits),
        "sentence": closeness.sentence if closeness else 0.0,
        "tokens": (closeness.tokens or 0.0) if closeness else 0.0,
    }


def lexical_strength(retrieval: Retrieval, hits: list[Hit]) -> float:
    """Best BM25 of the hits over Σ IDF, at most 1. A chunk of average length that holds every
    term once comes to about 1."""
    total = sum(weight for _, weight in retrieval.term_weights)
    best = max((h.scores.bm25 or 0.0 for h in hits), default=0.0)
    return min(1.0, best / total) if total else 0.0


def rank_weighted_mean(scores: list[float]) -> float:
    """Mean with weights 1, 1/2, 1/3 … (disclosures-rag.md); 0 for none."""
    if not scores:
        return 0.0
    weights = [1.0 / rank for rank in range(1, len(scores) + 1)]
    return sum(w * s for w, s in zip(weights, scores, strict=True)) / sum(weights)


def coverage(retrieval: Retrieval, hits: list[Hit]) -> float:
    """The IDF of the question's terms that occur in the hits, over the IDF of all of them."""
    total = sum(weight for _, weight in retrieval.term_weights)
    if not total or not hits:
        return 0.0
    held: set[str] = set()
    for hit in hits:
        places = " ".join((hit.note.title, *hit.chunk.heading_path, *hit.note.tags))
        held |= stems(places) | stems(hit.chunk.text)
    return sum(weight for term, weight in retrieval.term_weights if stem(term) in held) / total


def _cosine(hit: Hit) -> float:
    return max(0.0, hit.scores.vector or 0.0)
