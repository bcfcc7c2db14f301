"""What the confidence is made from: what was found, reduced to a few numbers.

One vector a chunk says what a passage is about, not whether it holds the answer: a question
about a boiler's make is near every note about the boiler. So the best hits get a closer look: how
well each word of the question finds its counterpart tells more, for some tens of milliseconds
(MaxSim of ColBERT, Khattab and Zaharia 2020, over the question's length). A question whose answer
isn't there mostly has a word that finds none, so the worst of them tells most:

    weakest = −1/β · ln( 1/|Q| · Σ_{q in Q} exp(−β · max_{p in P} cos(q, p)) ),  β = 10

a minimum that one token of many can't decide alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragvault.model import Closeness, Findings, Hit
from ragvault.ports import Embedder, TokenEmbedder
from ragvault.text import stem, stems

if TYPE_CHECKING:
    from ragvault.model import Matrix, Vector

LOOKED_AT = 3  # hits
SHARPNESS = 10.0  # β: 0 would be the mean, infinity the minimum
# The question's words are looked for in this many of the best hits, all of them in one: an answer
# put together from words of several passages is mostly none.
COVERAGE_HITS = 1
MANY_WORDS = 5.0  # so many words that no note holds, found in one passage, are as good as more
MEASURED = ("tokens", "weakest", "length")  # by the closer look, where there is one
_LONGEST = 4.0  # ln of a question's tokens that counts as long (55)


def features_of(found: Findings) -> dict[str, float]:
    """Each in 0..1 (cosines below 0 count as 0).

    ``top_cosine``, ``top_final``: the best of the hits that nothing but their rank dropped (final
    scores without a reranker's share, here and below);
    ``gap_2``, ``gap_5``: how far the best final score lies above the 2nd and the 5th;
    ``rank_weighted``: mean of the kept final scores with weights 1, 1/2, 1/3 …;
    ``coverage``: the share of the question's IDF that the top hit's words hold;
    ``words``: how many of the question's words one of the top hits holds, a word counting by its
    IDF over that of a word that no note holds, over ``MANY_WORDS``;
    ``agreement``: the best of min(vector, lexical), high when both retrievers like the same chunk;
    ``lexical_strength``: the best BM25 over the IDF of the question (times the highest factor
    that BM25 gives a term), so that it doesn't grow with the question's length;
    ``tokens``, ``weakest``: the mean and the weakest, see ``Closeness``;
    ``length``: ln of the question's tokens, over 4: the weakest of many is weaker. 0 where they
    weren't measured.
    """
    hits = found.ranked
    finals = sorted((h.scores.blend for h in hits), reverse=True)
    best = finals[0] if finals else 0.0
    return {
        "top_cosine": max((_cosine(h) for h in hits), default=0.0),
        "top_final": best,
        "gap_2": best - finals[1] if len(finals) > 1 else 0.0,
        "gap_5": best - finals[4] if len(finals) > 4 else 0.0,
        "rank_weighted": rank_weighted_mean([h.scores.blend for h in found.kept]),
        "coverage": coverage(found, hits[:COVERAGE_HITS]),
        "words": _words(found, hits[:LOOKED_AT]),
        "agreement": max((min(_cosine(h), h.scores.lexical or 0.0) for h in hits), default=0.0),
        "lexical_strength": lexical_strength(found, hits),
        **_closer(found.closeness),
    }


def _closer(closeness: Closeness | None) -> dict[str, float]:
    if closeness is None:
        return dict.fromkeys(MEASURED, 0.0)
    length = min(1.0, math.log(max(1, closeness.asked)) / _LONGEST)
    return {"tokens": closeness.mean, "weakest": closeness.weakest, "length": length}


def lexical_strength(found: Findings, hits: Sequence[Hit]) -> float:
    """Best BM25 of the hits over Σ IDF, at most 1. A chunk of average length that holds every
    term once comes to about 1."""
    total = sum(weight for _, weight in found.term_weights)
    best = max((h.scores.bm25 or 0.0 for h in hits), default=0.0)
    return min(1.0, best / total) if total else 0.0


def rank_weighted_mean(scores: Sequence[float]) -> float:
    """Mean with weights 1, 1/2, 1/3 … (disclosures-rag.md); 0 for none."""
    if not scores:
        return 0.0
    weights = [1.0 / rank for rank in range(1, len(scores) + 1)]
    return sum(w * s for w, s in zip(weights, scores, strict=True)) / sum(weights)


def coverage(found: Findings, hits: Sequence[Hit]) -> float:
    """The IDF of the question's terms that occur in the hits, over the IDF of all of them."""
    total = sum(weight for _, weight in found.term_weights)
    held = frozenset[str]().union(*map(_stems_of, hits))
    return _held(found, held) / total if total else 0.0


def _words(found: Findings, hits: Sequence[Hit]) -> float:
    if not found.rarest_weight:
        return 0.0
    best = max((_held(found, _stems_of(hit)) for hit in hits), default=0.0)
    return min(1.0, best / found.rarest_weight / MANY_WORDS)


def _held(found: Findings, held: frozenset[str]) -> float:
    return sum(weight for term, weight in found.term_weights if stem(term) in held)


def _stems_of(hit: Hit) -> frozenset[str]:
    places = " ".join((hit.note.title, *hit.chunk.heading_path, *hit.note.tags))
    return stems(places) | stems(hit.chunk.text)


def _cosine(hit: Hit) -> float:
    return max(0.0, hit.scores.vector or 0.0)


# --------------------------------------------------------------------------- the closer look


def look_closer(question: str, hits: Sequence[Hit], embedder: Embedder) -> Closeness | None:
    """Look at the first ``LOOKED_AT`` hits; None for no hits, and for an embedder without vectors
    of tokens.

    Costs a model run for each of them: bounded, whatever the vault's size. Raises
    EmbedderUnavailableError.
    """
    hits = hits[:LOOKED_AT]
    if not hits or not isinstance(embedder, TokenEmbedder):
        return None
    asked, *passages = embedder.embed_tokens([question, *(_passage(hit) for hit in hits)])
    return max((closeness_of(asked, passage) for passage in passages), key=lambda c: c.mean)


def _passage(hit: Hit) -> str:
    """The chunk with its title, about as it was embedded."""
    return f"{hit.note.title}\n\n{hit.chunk.text}"


def closeness_of(asked: Matrix, passage: Matrix) -> Closeness:
    """``asked`` and ``passage`` have a unit row for each of their tokens."""
    if not len(asked) or not len(passage):
        return Closeness(0.0, 0.0, len(asked))
    best = (asked @ passage.T).max(axis=1)
    return Closeness(_unit(float(best.mean())), _unit(_soft_minimum(best)), len(asked))


def _soft_minimum(values: Vector) -> float:
    import numpy as np

    lowest = float(values.min())  # taken out first: exp can't overflow
    rest = np.exp(-SHARPNESS * (values - lowest)).mean()
    return lowest - float(np.log(rest)) / SHARPNESS


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
