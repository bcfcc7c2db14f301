"""A logistic regression with signs that are given, and a pull towards known coefficients.

    minimise  Σ c·[log(1 + exp(z)) − y·z] + (penalty / 2)·|w − prior|²,   z = b + w·x

Both classes weigh alike in ``c`` (they add up to 1): how many of a set's questions are
unanswerable says nothing about what a person will ask. The pull, rather than one towards 0, lets a
small set correct the built-in coefficients instead of replacing them. SciPy's L-BFGS-B minimises
(Byrd et al. 1995), within bounds that keep the signs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragvault.config.settings import LogisticSettings
from ragvault.errors import UsageError
from ragvault.evaluation.metrics import Flags, Floats

PENALTIES = (0.0001, 0.001, 0.01, 0.1)
FOLDS = 5
_LARGEST = 100.0  # a coefficient beyond it only says that the classes could be told apart


@dataclass(frozen=True, slots=True)
class Fit:
    """``confidences`` are those of the questions, each by a fit that didn't see it (nor any of
    its group)."""

    coefficients: tuple[float, ...]
    intercept: float
    penalty: float
    confidences: tuple[float, ...]


def check_installed() -> None:
    """Raises UsageError without SciPy, which only those who calibrate need."""
    try:
        import scipy.optimize  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "A calibration needs SciPy, which isn't installed.",
            "Install it: `pip install 'ragvault[calibrate]'`.",
        ) from error


def fit(
    x: Floats, y: Flags, groups: Sequence[str], prior: LogisticSettings, *, seed: int = 0
) -> Fit:
    """Fit, with the penalty that a cross-validation over groups finds best.

    ``x`` has the shape (n, features), ``y`` tells the answerable. The coefficients are pulled to
    those of ``prior``, and keep their signs; a 0 may only rise. Raises ValueError when either
    class is missing.
    """
    if not y.any() or y.all():
        raise ValueError("both classes are needed")
    folds = folds_of(groups, y, seed)
    tried = [(_cross_validated(x, y, folds, prior, penalty), penalty) for penalty in PENALTIES]
    confidences, penalty = min(tried, key=lambda one: log_loss(one[0], y))
    weights, intercept = solve(x, y, prior, penalty)
    return Fit(
        coefficients=tuple(float(w) for w in weights),
        intercept=intercept,
        penalty=penalty,
        confidences=tuple(float(c) for c in confidences),
    )


def folds_of(groups: Sequence[str], y: Flags, seed: int) -> list[int]:
    """One of FOLDS for each question: groups stay together, and both classes are spread alike."""
    members: dict[str, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(group, []).append(i)
    # Shuffled within each kind of group (by the classes in it), then dealt out.
    kinds: dict[tuple[bool, ...], list[str]] = {}
    for group in sorted(members, key=lambda g: (sorted(bool(y[i]) for i in members[g]), g)):
        kind = tuple(sorted({bool(y[i]) for i in members[group]}))
        kinds.setdefault(kind, []).append(group)
    rng = random.Random(seed)
    found = [0] * len(groups)
    turn = 0
    for kind in sorted(kinds):
        rng.shuffle(kinds[kind])
        for group in kinds[kind]:
            for i in members[group]:
                found[i] = turn % FOLDS
            turn += 1
    return found


def _cross_validated(
    x: Floats, y: Flags, folds: Sequence[int], prior: LogisticSettings, penalty: float
) -> Floats:
    fold = np.array(folds)
    confidences = np.zeros(len(y))
    for held in np.unique(fold):
        rest, own = fold != held, fold == held
        if y[rest].any() and not y[rest].all():
            weights, intercept = solve(x[rest], y[rest], prior, penalty)
        else:  # too few questions to leave any out
            weights, intercept = np.array(prior.coefficients), prior.intercept
        confidences[own] = sigmoid(x[own] @ weights + intercept)
    return confidences


def solve(
    x: Floats, y: Flags, prior: LogisticSettings, penalty: float, weights: Floats | None = None
) -> tuple[Floats, float]:
    """Coefficients and intercept. Deterministic. ``weights`` of the questions, above 0: None lets
    both classes weigh alike. Raises UsageError without SciPy."""
    check_installed()
    from scipy.optimize import minimize

    rows = np.column_stack([x, np.ones(len(x))])  # the intercept is the last coefficient
    alike = np.where(y, 0.5 / max(1, y.sum()), 0.5 / max(1, (~y).sum()))
    share = alike if weights is None else weights / weights.sum()
    middle = np.array([*prior.coefficients, 0.0])
    pull = np.array([*[penalty] * len(prior.coefficients), 0.0])
    target = y.astype(np.float64)

    def loss(w: Floats) -> tuple[float, Floats]:
        """With its gradient."""
        z = rows @ w
        away = w - middle
        value = share @ (np.logaddexp(0.0, z) - target * z) + 0.5 * pull @ away**2
        return float(value), rows.T @ (share * (sigmoid(z) - target)) + pull * away

    bounds = [(-_LARGEST, 0.0) if c < 0 else (0.0, _LARGEST) for c in prior.coefficients]
    found = minimize(
        loss,
        np.array([*prior.coefficients, prior.intercept]),
        jac=True,
        method="L-BFGS-B",
        bounds=[*bounds, (-_LARGEST, _LARGEST)],
        options={"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return found.x[:-1], float(found.x[-1])


def sigmoid(z: Floats) -> Floats:
    value: Floats = np.exp(-np.logaddexp(0.0, -z))
    return value


def log_loss(confidences: Floats, y: Flags) -> float:
    """Mean surprise in nats, both classes weighing alike."""
    p = np.clip(confidences, 1e-6, 1 - 1e-6)
    good, bad = -np.log(p[y]), -np.log(1 - p[~y])
    return float((good.mean() + bad.mean()) / 2)
