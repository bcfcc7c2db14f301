"""A logistic regression with signs that are given, and a pull towards known coefficients.

    minimise  Σ c·[log(1 + exp(z)) − y·z] + (penalty / 2)·|w − prior|²,   z = b + w·x

Both classes weigh alike in ``c`` (they add up to 1): how many of a set's questions are
unanswerable says nothing about what a person will ask. Newton steps on the coefficients that no
bound holds (projected Newton, Bertsekas 1982), halved until the loss falls. The pull, rather than
one towards 0, lets a small set correct the built-in coefficients instead of replacing them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragvault.evaluation.metrics import Flags, Floats

PENALTIES = (0.0001, 0.001, 0.01, 0.1)
FOLDS = 5
_STEPS = 100
_TOLERANCE = 1e-9
_MOST = 100.0  # a coefficient beyond it only says that the classes could be told apart


@dataclass(frozen=True, slots=True)
class Prior:
    """Where the coefficients are pulled to. Their signs are those that a fit must keep; a 0 may
    only rise."""

    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float


@dataclass(frozen=True, slots=True)
class Fit:
    """``confidences`` are those of the questions, each by a fit that didn't see it (nor any of
    its group); ``log_loss`` is theirs."""

    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float
    penalty: float
    log_loss: float
    confidences: tuple[float, ...]


def fit(
    x: Floats,
    y: Flags,
    groups: Sequence[str],
    prior: Prior,
    *,
    seed: int = 0,
    penalties: Sequence[float] = PENALTIES,
) -> Fit:
    """Fit, with the penalty that a cross-validation over groups finds best.

    ``x`` has the shape (n, features), ``y`` tells the answerable. Raises ValueError when either
    class is missing.
    """
    if not y.any() or y.all():
        raise ValueError("both classes are needed")
    folds = folds_of(groups, y, seed)
    tried = [(_cross_validated(x, y, folds, prior, penalty), penalty) for penalty in penalties]
    losses = [log_loss(confidences, y) for confidences, _ in tried]
    best = int(np.argmin(losses))
    confidences, penalty = tried[best]
    weights, intercept = solve(x, y, prior, penalty)
    return Fit(
        features=prior.features,
        coefficients=tuple(float(w) for w in weights),
        intercept=float(intercept),
        penalty=penalty,
        log_loss=float(losses[best]),
        confidences=tuple(float(c) for c in confidences),
    )


def folds_of(groups: Sequence[str], y: Flags, seed: int, folds: int = FOLDS) -> list[int]:
    """A fold for each question: groups stay together, and both classes are spread alike."""
    members: dict[str, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(group, []).append(i)
    order = sorted(members, key=lambda g: (tuple(sorted(bool(y[i]) for i in members[g])), g))
    # Shuffled within each kind of group, then dealt out.
    rng = random.Random(seed)
    kinds: dict[tuple[bool, ...], list[str]] = {}
    for group in order:
        kind = tuple(sorted({bool(y[i]) for i in members[group]}))
        kinds.setdefault(kind, []).append(group)
    found = [0] * len(groups)
    turn = 0
    for kind in sorted(kinds):
        rng.shuffle(kinds[kind])
        for group in kinds[kind]:
            for i in members[group]:
                found[i] = turn % folds
            turn += 1
    return found


def _cross_validated(
    x: Floats, y: Flags, folds: Sequence[int], prior: Prior, penalty: float
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
    x: Floats, y: Flags, prior: Prior, penalty: float, weights: Floats | None = None
) -> tuple[Floats, float]:
    """Coefficients and intercept. Deterministic. ``weights`` of the questions, above 0: None lets
    both classes weigh alike."""
    problem = _Problem(x, y, prior, penalty, weights)
    w = problem.start
    loss = problem.loss(w)
    for _ in range(_STEPS):
        step = problem.newton_step(w)
        size = 1.0
        while size > 1e-8:
            tried = problem.projected(w + size * step)
            new = problem.loss(tried)
            if new < loss:
                break
            size /= 2
        else:
            break
        done = loss - new < _TOLERANCE
        w, loss = tried, new
        if done:
            break
    return w[:-1], float(w[-1])


class _Problem:
    """The loss over (coefficients, intercept) as one vector, the intercept last and free."""

    def __init__(
        self, x: Floats, y: Flags, prior: Prior, penalty: float, weights: Floats | None
    ) -> None:
        self._x = np.column_stack([x, np.ones(len(x))])
        self._y = y.astype(np.float64)
        alike = np.where(y, 0.5 / max(1, y.sum()), 0.5 / max(1, (~y).sum()))
        self._c = alike if weights is None else weights / weights.sum()
        self._prior = np.array([*prior.coefficients, 0.0])
        self._pull = np.array([*[penalty] * len(prior.coefficients), 0.0])
        signs = np.array(prior.coefficients) < 0
        self._low = np.array([*np.where(signs, -_MOST, 0.0), -_MOST])
        self._high = np.array([*np.where(signs, 0.0, _MOST), _MOST])
        self.start = self.projected(np.array([*prior.coefficients, prior.intercept]))

    def projected(self, w: Floats) -> Floats:
        inside: Floats = np.clip(w, self._low, self._high)
        return inside

    def loss(self, w: Floats) -> float:
        z = self._x @ w
        fitting = self._c @ (np.logaddexp(0.0, z) - self._y * z)
        return float(fitting + 0.5 * self._pull @ (w - self._prior) ** 2)

    def newton_step(self, w: Floats) -> Floats:
        p = sigmoid(self._x @ w)
        gradient = self._x.T @ (self._c * (p - self._y)) + self._pull * (w - self._prior)
        held = ((w <= self._low) & (gradient > 0)) | ((w >= self._high) & (gradient < 0))
        free = ~held
        step = np.zeros_like(w)
        if free.any():
            rows = self._x[:, free]
            hessian = (rows * (self._c * p * (1 - p))[:, None]).T @ rows
            # A little on the diagonal: a feature that never varies would make it singular.
            hessian += np.diag(self._pull[free] + 1e-9)
            step[free] = -np.linalg.solve(hessian, gradient[free])
        return step


def sigmoid(z: Floats) -> Floats:
    value: Floats = np.exp(-np.logaddexp(0.0, -z))
    return value


def log_loss(confidences: Floats, y: Flags) -> float:
    """Mean surprise in nats, both classes weighing alike."""
    p = np.clip(confidences, 1e-6, 1 - 1e-6)
    good, bad = -np.log(p[y]), -np.log(1 - p[~y])
    return float((good.mean() + bad.mean()) / 2)
