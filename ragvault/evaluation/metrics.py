"""The measures, one question or one set of scores at a time, and their intervals. Pure.

Ranking measures take the ranked ids, best first, and the relevant ones; relevance is 0 or 1.
All values lie in 0..1. Definitions: Järvelin & Kekäläinen 2002 for nDCG (gain 1, discount
log2(rank + 1)); TREC's for precision, recall and reciprocal rank; Fawcett 2006 for the area
under the ROC curve; Smith & Troynikov 2024 (Chroma, "Evaluating Chunking") for spans; Efron &
Tibshirani 1993, ch. 13, for the percentile bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
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


def span_scores(gold: dict[str, list[Span]], found: dict[str, list[Span]]) -> tuple[float, float]:
    """(recall, precision) in characters, by note. A character found twice counts once."""
    wanted, got = (
        {(file, i) for file, spans in one.items() for span in spans for i in range(*span)}
        for one in (gold, found)
    )
    shared = len(wanted & got)
    return (shared / len(wanted) if wanted else 0.0, shared / len(got) if got else 0.0)


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
    bins_of = [part for part in np.array_split(order, bins) if len(part)]
    return [
        Bin(
            float(confidences[part].min()),
            float(confidences[part].max()),
            len(part),
            float(confidences[part].mean()),
            float(positive[part].mean()),
        )
        for part in bins_of
    ]


# --------------------------------------------------------------------------- answers


def words_found(answer: Sequence[str], references: Iterable[Sequence[str]]) -> float:
    """The share of the words of a known answer that the answer holds; of several the best."""
    held = set(answer)
    shares = [sum(w in held for w in words) / len(words) for words in references if words]
    return max(shares, default=0.0)


# --------------------------------------------------------------------------- 95 % intervals

RESAMPLES = 1000
LEVEL = 0.95
_BLOCK = 100  # resamples worked on at once: bounds the memory, changes no result
_FEWEST_DRAWN = 20  # percentiles of fewer say nothing


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its 95 % interval, and the number of questions behind it.

    ``low`` and ``high`` are None when there is too little to resample.
    """

    value: float
    low: float | None
    high: float | None
    n: int


class Bootstrap:
    """95 % intervals by resampling the questions (percentile bootstrap).

    One matrix of resamples serves every measure of a run: how often each question was drawn, shape
    (resamples, questions), 2 bytes a cell (10 MB for 5,000 questions).
    """

    def __init__(self, questions: int, *, seed: int = 0, resamples: int = RESAMPLES) -> None:
        rng = np.random.default_rng(seed)
        self._counts = np.zeros((resamples, questions), dtype=np.uint16)
        if questions:
            for row in self._counts:
                drawn = rng.integers(0, questions, questions)
                row += np.bincount(drawn, minlength=questions).astype(np.uint16)

    def mean(self, values: Floats) -> Estimate | None:
        """Of the values that aren't NaN, one a question; None when all are."""
        given = ~np.isnan(values)
        if not given.any():
            return None
        known = values[given]

        def weighted(weights: Floats) -> Floats:
            total = weights.sum(axis=1)
            nothing = np.full(len(weights), np.nan)
            result: Floats = np.divide(weights @ known, total, out=nothing, where=total > 0)
            return result

        return self._estimate(given, weighted, float(known.mean()))

    def auroc(self, scores: Floats, positive: Flags, which: Flags) -> Estimate | None:
        """Of the questions ``which``; None without both classes among them."""
        some, good = scores[which], positive[which]
        value = float(auroc(some, good)[0])
        return self._estimate(which, lambda weights: auroc(some, good, weights), value)

    def _estimate(
        self, which: Flags, statistic: Callable[[Floats], Floats], value: float
    ) -> Estimate | None:
        """A value with the percentiles of its statistic over the resamples of some questions; the
        statistic is NaN for a resample without such a question. None for NaN."""
        if np.isnan(value):
            return None
        blocks = [
            statistic(self._counts[i : i + _BLOCK, which].astype(np.float64))
            for i in range(0, len(self._counts), _BLOCK)
        ]
        drawn, n = np.concatenate(blocks), int(which.sum())
        usable = drawn[~np.isnan(drawn)]
        if n < 2 or len(usable) < _FEWEST_DRAWN:
            return Estimate(value, None, None, n)
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(usable, [tail, 1 - tail])
        return Estimate(value, float(low), float(high), n)
