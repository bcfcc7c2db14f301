"""95 % intervals by the percentile bootstrap (Efron & Tibshirani 1993, ch. 13), over questions.

One matrix of resamples serves every measure of a run: the same drawn questions for each, so that
the measures of two rankings, or two runs, can be compared pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ragvault.evaluation import metrics
from ragvault.evaluation.metrics import Flags, Floats

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

    @property
    def is_clear(self) -> bool:
        """For a difference: the interval leaves out 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


class Bootstrap:
    """How often each question was drawn, by resample: shape (resamples, questions), 2 bytes a
    cell (10 MB for 5,000 questions)."""

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

        drawn = self._drawn(given, weighted)
        return _estimate(float(known.mean()), drawn, int(given.sum()))

    def auroc(self, scores: Floats, positive: Flags, which: Flags) -> Estimate | None:
        """Of the questions ``which``; None without both classes among them."""
        some, is_positive = scores[which], positive[which]
        value = float(metrics.auroc(some, is_positive)[0])
        if np.isnan(value):
            return None
        drawn = self._drawn(which, lambda weights: metrics.auroc(some, is_positive, weights))
        return _estimate(value, drawn, len(some))

    def auroc_difference(self, one: Floats, other: Floats, positive: Flags) -> Estimate | None:
        """AUROC by ``other`` less AUROC by ``one``, over the same questions in each resample."""

        def difference(weights: Floats) -> Floats:
            changed: Floats = metrics.auroc(other, positive, weights) - metrics.auroc(
                one, positive, weights
            )
            return changed

        value = float(difference(np.ones((1, len(one))))[0])
        if np.isnan(value):
            return None
        return _estimate(value, self._drawn(np.ones(len(one), bool), difference), len(one))

    def _drawn(self, which: Flags, statistic: Callable[[Floats], Floats]) -> Floats:
        """The statistic of each resample, from the counts of some questions."""
        blocks = [
            statistic(self._counts[i : i + _BLOCK, which].astype(np.float64))
            for i in range(0, len(self._counts), _BLOCK)
        ]
        return np.concatenate(blocks)


def _estimate(value: float, drawn: Floats, n: int) -> Estimate:
    """A value with the percentiles of what was drawn (NaN: a resample without such a question)."""
    usable = drawn[~np.isnan(drawn)]
    if n < 2 or len(usable) < _FEWEST_DRAWN:
        return Estimate(value, None, None, n)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(usable, [tail, 1 - tail])
    return Estimate(value, float(low), float(high), n)
