"""The gate fitted to one vault: from judged questions to a calibration, and what it would do.

Its two logistics are fitted apart, each on the questions that tell about it: "is it about this?"
on the answerable against the off-topic, "does it hold the answer?" on the answerable against those
whose subject is there. One for which there are too few questions stays as built in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ragvault.config.settings import CalibrationSettings, LogisticSettings
from ragvault.errors import UsageError
from ragvault.evaluation.document import abstention_object
from ragvault.evaluation.fit import Fit, fit, log_loss, sigmoid
from ragvault.evaluation.judging import QuestionResult
from ragvault.evaluation.metrics import Flags, Floats
from ragvault.evaluation.summary import AbstentionSummary, summarise

FEWEST = 20  # questions of each class; with fewer a fit says more about them than about the vault
MADE = 200  # questions that are made when none are given
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """``fits`` are those that were made, by "topic" and "answered"; ``kept``: the names of those
    that stay as built in, for want of questions. ``before`` is the confidence in force, ``after``
    the fitted one, on questions that it wasn't fitted on (cross-validated); ``log_loss`` is its."""

    fits: dict[str, Fit]
    kept: tuple[str, ...]
    settings: CalibrationSettings
    before: AbstentionSummary
    after: AbstentionSummary
    log_loss: float


@dataclass(frozen=True, slots=True)
class _Part:
    """One logistic: what becomes of it, and its probability for every question."""

    settings: LogisticSettings
    probabilities: Floats
    fit: Fit | None


def calibrate(
    results: Sequence[QuestionResult],
    built_in: CalibrationSettings,
    *,
    threshold: float,
    seed: int = 0,
) -> CalibrationResult:
    """Fit the confidence to the results, starting from ``built_in`` and pulled to it. Raises
    UsageError when they are too few.

    What another calibration judges (questions that the embedding model can't read) stays as it
    is, and is fitted to nothing.
    """
    usable = [r for r in results if r.by_model]
    y = np.array([r.question.answerable for r in usable], dtype=bool)
    check_enough(y)
    foreign = np.array([r.question.off_topic for r in usable], dtype=bool)
    if built_in.answered is None:
        parts = {"topic": _part(usable, y, np.ones(len(y), dtype=bool), built_in.topic, seed)}
    else:
        parts = {
            "topic": _part(usable, y, y | foreign, built_in.topic, seed),
            "answered": _part(usable, y, ~foreign, built_in.answered, seed),
        }
    confidences = np.prod([part.probabilities for part in parts.values()], axis=0)
    new = dict(zip((r.question.key for r in usable), map(float, confidences), strict=True))
    refitted = [
        _with_confidence(r, new[r.question.key], threshold) if r.by_model else r for r in results
    ]
    fitted = {name: part.settings for name, part in parts.items()}
    return CalibrationResult(
        fits={name: part.fit for name, part in parts.items() if part.fit is not None},
        kept=tuple(name for name, part in parts.items() if part.fit is None),
        settings=CalibrationSettings(
            model=built_in.model, topic=fitted["topic"], answered=fitted.get("answered")
        ),
        before=_summary(results, threshold, seed),
        after=_summary(refitted, threshold, seed),
        log_loss=log_loss(confidences, y),
    )


def check_enough(answerable: Iterable[bool]) -> None:
    """Raises UsageError for too few questions with an answer, or without."""
    flags = list(answerable)
    n_good, n_bad = sum(flags), len(flags) - sum(flags)
    if min(n_good, n_bad) < FEWEST:
        raise UsageError(
            f"A calibration needs at least {FEWEST} questions with an answer and {FEWEST} without; "
            f"these are {n_good} and {n_bad}.",
            "Add questions of your own, or --off-topic FILE; or keep the built-in calibration.",
        )


def _part(
    results: Sequence[QuestionResult], y: Flags, which: Flags, prior: LogisticSettings, seed: int
) -> _Part:
    """Fitted on ``which`` of the results, if they hold enough of both classes."""
    x = np.array([[r.features[name] for name in prior.features] for r in results])
    if min(int((y & which).sum()), int((~y & which).sum())) < FEWEST:
        return _Part(_rounded(prior, prior), _probabilities(x, prior), None)
    groups = [r.question.group or r.question.key for r in results]
    chosen = [group for group, is_used in zip(groups, which, strict=True) if is_used]
    fitted = fit(x[which], y[which], chosen, prior, seed=seed)
    probabilities = _probabilities(x, fitted)
    probabilities[which] = fitted.confidences  # by folds that didn't see them
    return _Part(_rounded(prior, fitted), probabilities, fitted)


def _probabilities(x: Floats, found: LogisticSettings | Fit) -> Floats:
    return sigmoid(x @ np.array(found.coefficients) + found.intercept)


def _rounded(prior: LogisticSettings, found: LogisticSettings | Fit) -> LogisticSettings:
    return LogisticSettings(
        features=prior.features,
        coefficients=tuple(round(w, _DIGITS) for w in found.coefficients),
        intercept=round(found.intercept, _DIGITS),
    )


def _with_confidence(result: QuestionResult, confidence: float, threshold: float) -> QuestionResult:
    """The result under another confidence. What something else decided stays as it was."""
    by_threshold = result.answered == (result.confidence >= threshold)
    if not by_threshold:
        return replace(result, confidence=confidence)
    reason = None if confidence >= threshold else "no_relevant_context"
    return replace(result, confidence=confidence, reason=reason)


def _summary(results: Sequence[QuestionResult], threshold: float, seed: int) -> AbstentionSummary:
    summary = summarise(results, threshold=threshold, seed=seed)
    return summary.everything or summary.own


def as_object(result: CalibrationResult, *, applied: str | None) -> dict[str, Any]:
    """``{"kind": "calibration", "calibration": {"model", "topic": L, "answered": L | null},
    "penalties": {name: penalty}, "as_built_in": [name], "log_loss", "before": A, "after": A,
    "applied": file | null}``; L is {"features", "coefficients", "intercept"}, A as in
    ``document``."""
    return {
        "kind": "calibration",
        "calibration": result.settings.model_dump(mode="json"),
        "penalties": {name: fitted.penalty for name, fitted in result.fits.items()},
        "as_built_in": list(result.kept),
        "log_loss": round(result.log_loss, 6),
        "before": abstention_object(result.before),
        "after": abstention_object(result.after),
        "applied": applied,
    }
