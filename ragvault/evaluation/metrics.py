"""The measures, one question or one set of scores at a time. Pure.

Ranking measures take the ranked ids, best first, and the relevant ones; relevance is 0 or 1.
All values lie in 0..1. Definitions: Järvelin & Kekäläinen 2002 for nDCG (gain 1, discount
log2(rank + 1)); TREC's for precision, recall and reciprocal rank; Fawcett 2006 for the area
under the ROC curve; Smith & Troynikov 2024 (Chroma, "Evaluating Chunking") for spans.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


# --------------------------------------------------------------------------- rankings


def ndcg(ranked: Sequence[str], relevant: Collection[str], k: int = 10) -> float:
    """Discounted gain of the first ``k`` over that of the best possible order."""
    gain = sum(1.0 / math.log2(i + 2) for i, key in enumerate(ranked[:k]) if key in relevant)
    ideal = sum(1.0 / math.log2(i + 2) for i in range(min(k, len(relevant))))
    return gain / ideal if ideal else 0.0


def precision(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The relevant among the first ``k``, over ``k``."""
    return sum(key in relevant for key in ranked[:k]) / k


def recall(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The relevant among the first ``k``, over all that are relevant."""
    return sum(key in relevant for key in ranked[:k]) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str], k: int = 10) -> float:
    """One over the rank of the first relevant one; 0 when there is none in the first ``k``."""
    return next((1.0 / (i + 1) for i, key in enumerate(ranked[:k]) if key in relevant), 0.0)


# --------------------------------------------------------------------------- spans


def merged(spans: Iterable[Span]) -> list[Span]:
    """The union of half-open spans, in order."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif end > start:
            joined.append((start, end))
    return joined


def length(spans: Iterable[Span]) -> int:
    """Characters in disjoint spans."""
    return sum(end - start for start, end in spans)


def overlap(one: Sequence[Span], other: Sequence[Span]) -> int:
    """Characters that two lists of disjoint, ordered spans share. Linear in both."""
    shared = i = j = 0
    while i < len(one) and j < len(other):
        shared += max(0, min(one[i][1], other[j][1]) - max(one[i][0], other[j][0]))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return shared


def span_scores(gold: dict[str, list[Span]], found: dict[str, list[Span]]) -> tuple[float, float]:
    """(recall, precision) in characters, by note. A character found twice counts once."""
    wanted = {file: merged(spans) for file, spans in gold.items()}
    got = {file: merged(spans) for file, spans in found.items()}
    shared = sum(overlap(spans, got.get(file, [])) for file, spans in wanted.items())
    n_wanted = sum(length(spans) for spans in wanted.values())
    n_got = sum(length(spans) for spans in got.values())
    return (shared / n_wanted if n_wanted else 0.0, shared / n_got if n_got else 0.0)


# --------------------------------------------------------------------------- yes or no


def auroc(scores: Floats, positive: Flags, weights: Floats | None = None) -> Floats:
    """Chance that a positive scores above a negative, ties counting half.

    ``weights`` has the shape (resamples, n): one value for each row comes back (one in all
    without weights); NaN where either class weighs nothing.
    """
    rows = np.ones((1, len(scores))) if weights is None else weights
    if not len(scores):
        return np.full(len(rows), np.nan)
    order = np.argsort(scores, kind="stable")
    ranked, is_positive, rows = scores[order], positive[order], rows[:, order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])  # equal scores as one step
    up = np.add.reduceat(rows * is_positive, starts, axis=1)
    down = np.add.reduceat(rows * ~is_positive, starts, axis=1)
    below = np.cumsum(down, axis=1) - down / 2
    total = up.sum(axis=1) * down.sum(axis=1)
    wins = (up * below).sum(axis=1)
    area: Floats = np.divide(wins, total, out=np.full(len(rows), np.nan), where=total > 0)
    return area


@dataclass(frozen=True, slots=True)
class Bin:
    """Questions of like confidence: their mean confidence and the share that is answerable."""

    low: float
    high: float
    n: int
    confidence: float
    observed: float

    @property
    def gap(self) -> float:
        return abs(self.confidence - self.observed)


def reliability(confidences: Floats, positive: Flags, bins: int = 5) -> list[Bin]:
    """Bins of equally many questions, by rising confidence (fewer when there are fewer)."""
    order = np.argsort(confidences, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return [_bin(confidences[part], positive[part]) for part in parts]


def reliability_by_width(confidences: Floats, positive: Flags, bins: int = 5) -> list[Bin]:
    """Bins of equal width (0–0.2, 0.2–0.4 …); empty ones are left out."""
    index = np.minimum((confidences * bins).astype(int), bins - 1)
    found = []
    for i in range(bins):
        inside = index == i
        if inside.any():
            made = _bin(confidences[inside], positive[inside])
            found.append(Bin(i / bins, (i + 1) / bins, made.n, made.confidence, made.observed))
    return found


def _bin(confidences: Floats, positive: Flags) -> Bin:
    return Bin(
        float(confidences.min()),
        float(confidences.max()),
        len(confidences),
        float(confidences.mean()),
        float(positive.mean()),
    )


@dataclass(frozen=True, slots=True)
class Trade:
    """What a threshold on the confidence would cost. None where there is no such question."""

    threshold: float
    false_answers: float | None
    false_refusals: float | None


def trade_off(confidences: Floats, positive: Flags, thresholds: Iterable[float]) -> list[Trade]:
    """Answering at and above each threshold: shares of the negatives answered, of the positives
    refused."""
    good, bad = confidences[positive], confidences[~positive]
    return [
        Trade(
            float(t),
            float((bad >= t).mean()) if len(bad) else None,
            float((good < t).mean()) if len(good) else None,
        )
        for t in thresholds
    ]


def false_answers_at(confidences: Floats, positive: Flags, share: float) -> Trade | None:
    """The lowest threshold with at most ``share`` false answers, and what it refuses."""
    bad = np.sort(confidences[~positive])[::-1]
    if not len(bad) or not positive.any():
        return None
    allowed = math.floor(share * len(bad) + 1e-9)
    # Just above the first one that may not be answered.
    limit = max(0.0, float(np.nextafter(bad[allowed], 2.0))) if allowed < len(bad) else 0.0
    return trade_off(confidences, positive, [limit])[0]


# --------------------------------------------------------------------------- answers


def words_found(answer: Sequence[str], references: Iterable[Sequence[str]]) -> float:
    """The share of the words of a known answer that the answer holds; of several the best."""
    held = set(answer)
    shares = [sum(w in held for w in words) / len(words) for words in references if words]
    return max(shares, default=0.0)
