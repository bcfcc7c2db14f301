"""The gate fitted to one vault: from judged questions to a calibration, and what it would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ragvault.config import CalibrationSettings
from ragvault.errors import UsageError
from ragvault.evaluation.document import abstention_object
from ragvault.evaluation.fit import Fit, Prior, fit
from ragvault.evaluation.results import QuestionResult
from ragvault.evaluation.summary import AbstentionSummary, summarise

FEWEST = 20  # questions of each class; with fewer a fit says more about them than about the vault
MADE = 200  # questions that are made when none are given
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """``before`` is the confidence in force, ``after`` the fitted one, on questions that it
    wasn't fitted on (cross-validated)."""

    fit: Fit
    settings: CalibrationSettings
    before: AbstentionSummary
    after: AbstentionSummary


def calibrate(
    results: Sequence[QuestionResult],
    prior: Prior,
    *,
    model: str,
    threshold: float,
    seed: int = 0,
) -> CalibrationResult:
    """Fit the confidence to the results. Raises UsageError when they are too few.

    What another calibration judges (questions that the embedding model can't read) stays as it
    is, and is fitted to nothing.
    """
    usable = [r for r in results if r.by_model]
    y = np.array([r.question.answerable for r in usable], dtype=bool)
    n_good, n_bad = int(y.sum()), int((~y).sum())
    if min(n_good, n_bad) < FEWEST:
        raise UsageError(
            f"A calibration needs at least {FEWEST} questions with an answer and {FEWEST} "
            f"without, that the embedding model can read; these are {n_good} and {n_bad}.",
            "Add questions, or --off-topic FILE; or leave QUESTIONS out: they are made then.",
        )
    x = np.array([[r.features[name] for name in prior.features] for r in usable])
    groups = [r.question.group or r.question.key for r in usable]
    fitted = fit(x, y, groups, prior, seed=seed)
    new = dict(zip((r.question.key for r in usable), fitted.confidences, strict=True))
    refitted = [
        _with_confidence(r, new[r.question.key], threshold) if r.by_model else r for r in results
    ]
    return CalibrationResult(
        fit=fitted,
        settings=CalibrationSettings(
            model=model,
            features=fitted.features,
            coefficients=tuple(round(w, _DIGITS) for w in fitted.coefficients),
            intercept=round(fitted.intercept, _DIGITS),
        ),
        before=_summary(results, threshold, seed),
        after=_summary(refitted, threshold, seed),
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
    """``{"kind": "calibration", "calibration": {"model", "features", "coefficients",
    "intercept"}, "penalty", "log_loss", "before": A, "after": A, "applied": file | null}``; A as
    in ``document``."""
    return {
        "kind": "calibration",
        "calibration": {
            "model": result.settings.model,
            "features": list(result.settings.features),
            "coefficients": list(result.settings.coefficients),
            "intercept": result.settings.intercept,
        },
        "penalty": result.fit.penalty,
        "log_loss": round(result.fit.log_loss, 6),
        "before": abstention_object(result.before),
        "after": abstention_object(result.after),
        "applied": applied,
    }
