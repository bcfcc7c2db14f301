"""The measures, one question or one set of scores at a time, and their intervals. Pure.

Ranking measures take the ranked ids, best first, and the relevant ones; relevance is 0 or 1.
All values lie in 0..1. Definitions: Järvelin & Kekäläinen 2002 for nDCG (gain 1, discount
log2(rank + 1)); TREC's for precision, recall and reciprocal rank; Fawcett 2006 for the area
under the ROC curve, Hanley & McNeil 1982 for its standard error.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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


def auroc(scores: Floats, positive: Flags) -> float:
    """Chance that a positive scores above a negative, ties counting half; NaN without both."""
    good, bad = scores[positive][:, None], scores[~positive]
    wins = (good > bad) + 0.5 * (good == bad)
    return float(wins.mean()) if wins.size else math.nan


_Z = 1.96  # of a normal distribution


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its 95 % interval, and the number of questions behind it.

    ``low`` and ``high`` are None for a single question.
    """

    value: float
    low: float | None
    high: float | None
    n: int


def mean_of(values: Floats) -> Estimate | None:
    """Of the values that aren't NaN, one a question; None when all are."""
    known = values[~np.isnan(values)]
    n = len(known)
    if not n:
        return None
    error = float(known.std(ddof=1)) / math.sqrt(n) if n > 1 else None
    return _estimate(float(known.mean()), error, n)


def auroc_of(scores: Floats, positive: Flags) -> Estimate | None:
    """None without both classes."""
    area = auroc(scores, positive)
    if math.isnan(area):
        return None
    up, down = int(positive.sum()), int((~positive).sum())
    among_up, among_down = area / (2 - area) - area**2, 2 * area**2 / (1 + area) - area**2
    spread = area * (1 - area) + (up - 1) * among_up + (down - 1) * among_down
    return _estimate(area, math.sqrt(max(0.0, spread) / (up * down)), up + down)


def _estimate(value: float, error: float | None, n: int) -> Estimate:
    if error is None:
        return Estimate(value, None, None, n)
    return Estimate(value, max(0.0, value - _Z * error), min(1.0, value + _Z * error), n)
