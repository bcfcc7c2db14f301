"""The fitted gate: it may be no less monotone than the built-in one, and no flatterer."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ragvault.config.settings import CalibrationSettings, LogisticSettings
from ragvault.errors import UsageError
from ragvault.evaluation.calibrate import calibrate
from ragvault.evaluation.fit import check_installed, fit, folds_of, log_loss, sigmoid, solve
from tests.support.evaluating import judged


def logistic(
    features: tuple[str, ...], coefficients: tuple[float, ...], intercept: float
) -> LogisticSettings:
    return LogisticSettings(features=features, coefficients=coefficients, intercept=intercept)


PRIOR = logistic(("cosine", "coverage"), (5.0, 5.0), -5.0)
BUILT_IN = CalibrationSettings(model="m", topic=PRIOR)


def sample(n: int, weights: tuple[float, float], intercept: float, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    x = rng.random((n, 2))
    y = rng.random(n) < sigmoid(x @ np.array(weights) + intercept)
    return x, y


def test_known_coefficients_are_found_again() -> None:
    x, y = sample(6000, (6.0, 3.0), -4.5)
    weights, intercept = solve(x, y, PRIOR, 1e-6)
    assert weights == pytest.approx([6.0, 3.0], abs=0.6)
    assert intercept == pytest.approx(-4.5, abs=0.5)


def test_solution_is_a_minimum() -> None:
    """Against plain gradient steps in every direction: none gets lower."""
    x, y = sample(300, (4.0, 1.0), -2.0)
    weights, intercept = solve(x, y, PRIOR, 0.01)
    best = np.array([*weights, intercept])

    def loss(w: np.ndarray) -> float:
        z = x @ w[:-1] + w[-1]
        each = np.logaddexp(0, z) - y * z
        pull = 0.005 * ((w[:-1] - np.array(PRIOR.coefficients)) ** 2).sum()
        return float((each[y].mean() + each[~y].mean()) / 2 + pull)

    for i in range(3):
        for step in (-0.01, 0.01):
            moved = best.copy()
            moved[i] += step
            assert loss(moved) > loss(best)


def test_feature_that_points_the_wrong_way_gets_nothing() -> None:
    """Else a note that holds more of the question's words could make ragvault less sure."""
    x, y = sample(500, (6.0, -4.0), -1.0)
    weights, _ = solve(x, y, PRIOR, 0.001)
    assert weights[1] == 0.0
    assert weights[0] > 3


def test_lowering_feature_stays_lowering() -> None:
    prior = logistic(("cosine", "missing"), (5.0, -2.0), -2.0)
    x, y = sample(500, (6.0, 4.0), -5.0)
    weights, _ = solve(x, y, prior, 0.001)
    assert weights[1] == 0.0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.0001, 0.01, 0.1]))
def test_signs_hold_whatever_the_data(seed: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.random((40, 2)), rng.random(40) < 0.5
    if y.any() and not y.all():
        weights, intercept = solve(x, y, PRIOR, penalty)
        assert (weights >= 0).all()
        assert np.isfinite([*weights, intercept]).all()


def test_classes_weigh_alike() -> None:
    """Ten unanswerable questions among 200 don't make ragvault sure of everything."""
    x, y = sample(4000, (6.0, 3.0), -4.5, seed=2)
    few = np.flatnonzero(~y)[:100]
    rows = np.r_[np.flatnonzero(y), few]
    _, of_all = solve(x, y, PRIOR, 1e-4)
    _, of_few = solve(x[rows], y[rows], PRIOR, 1e-4)
    assert of_few == pytest.approx(of_all, abs=1.2)


def test_separable_classes_stay_finite() -> None:
    x = np.array([[0.1, 0.1], [0.2, 0.1], [0.8, 0.9], [0.9, 0.9]] * 10)
    y = np.array([False, False, True, True] * 10)
    weights, intercept = solve(x, y, PRIOR, 0.0001)
    assert np.isfinite([*weights, intercept]).all()
    assert (sigmoid(x @ weights + intercept) > 0.5).tolist() == y.tolist()


def test_constant_feature_doesn_t_stop_the_fit() -> None:
    x, y = sample(200, (6.0, 0.0), -3.0)
    x[:, 1] = 1.0
    weights, _ = solve(x, y, PRIOR, 0.001)
    assert weights[0] > 1


def test_groups_share_a_fold_and_classes_are_spread() -> None:
    groups = [f"g{i // 2}" for i in range(100)]
    y = np.array([i % 2 == 0 for i in range(100)])
    folds = folds_of(groups, y, seed=1)
    assert all(folds[i] == folds[i + 1] for i in range(0, 100, 2))
    assert {folds.count(f) for f in range(5)} == {20}
    assert folds == folds_of(groups, y, seed=1)


def test_noise_is_not_sold_as_knowledge() -> None:
    """Confidences come from folds that didn't see the question: on coin flips they are near 0.5."""
    rng = np.random.default_rng(3)
    x, y = rng.random((200, 2)), rng.random(200) < 0.5
    found = fit(x, y, [str(i) for i in range(200)], PRIOR)
    assert log_loss(np.array(found.confidences), y) > 0.67
    assert log_loss(np.full(200, 0.5), y) == pytest.approx(np.log(2))


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those who calibrate install it: they need its name, no traceback after the asking."""
    monkeypatch.setitem(sys.modules, "scipy", None)  # as if it weren't installed
    monkeypatch.delitem(sys.modules, "scipy.optimize", raising=False)
    with pytest.raises(UsageError, match="needs SciPy") as caught:
        check_installed()
    assert "pip install 'ragvault[calibrate]'" in caught.value.hint


# --------------------------------------------------------------------------- calibrate


def results(n: int) -> list:
    rng = np.random.default_rng(4)
    made = []
    for i in range(n):
        good = i % 2 == 0
        features = {
            "cosine": float(np.clip(rng.normal(0.7 if good else 0.4, 0.12), 0, 1)),
            "coverage": float(np.clip(rng.normal(0.8 if good else 0.5, 0.2), 0, 1)),
            "unused": 1.0,
        }
        made.append(judged(str(i), 0.95, answerable=good, features=features))
    return made


def test_calibration_mends_a_gate_that_lets_everything_pass() -> None:
    found = calibrate(results(200), BUILT_IN, threshold=0.4)
    assert found.before.false_answers is not None and found.after.false_answers is not None
    assert found.before.false_answers.value == 1.0
    assert found.after.false_answers.value < 0.2
    assert found.after.largest_gap is not None and found.after.largest_gap < 0.2
    assert found.settings.model == "m"
    assert found.settings.topic.features == PRIOR.features
    assert found.settings.answered is None


def test_each_logistic_learns_from_the_questions_that_tell_about_it() -> None:
    """Off-topic questions would teach the one that tells an answer from a topic that any topic
    will do."""
    rng = np.random.default_rng(5)
    made = []
    for i in range(300):
        kind = ("good", "absent", "foreign")[i % 3]
        about = rng.normal(0.3 if kind == "foreign" else 0.7, 0.1)
        held = rng.normal(0.4 if kind == "absent" else 0.8, 0.1)
        features = {"cosine": float(np.clip(about, 0, 1)), "coverage": float(np.clip(held, 0, 1))}
        one = judged(str(i), 0.95, answerable=kind == "good", features=features)
        question = replace(one.question, off_topic=kind == "foreign")
        made.append(replace(one, question=question))
    built_in = CalibrationSettings(
        model="m",
        topic=logistic(("cosine",), (1.0,), 0.0),
        answered=logistic(("coverage",), (1.0,), 0.0),
    )
    found = calibrate(made, built_in, threshold=0.4)
    assert found.kept == ()
    assert found.settings.answered is not None
    assert found.settings.topic.coefficients[0] > 5
    assert found.settings.answered.coefficients[0] > 5
    assert found.after.auroc is not None and found.after.auroc.value > 0.95
    without = [r for r in made if not r.question.off_topic]
    kept = calibrate(without, built_in, threshold=0.4)
    assert kept.kept == ("topic",)  # nothing told about it
    assert kept.settings.topic.coefficients == (1.0,)


def test_too_few_questions_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 20 questions with an answer and 20 without"):
        calibrate(results(38), BUILT_IN, threshold=0.4)


def test_question_that_the_model_can_t_read_is_fitted_to_nothing() -> None:
    """Its cosines are noise: they would pull the confidence of all others."""
    made = results(100)
    foreign = [
        replace(judged(f"f{i}", 0.9, features={"cosine": 0.0, "coverage": 0.0}), by_model=False)
        for i in range(50)
    ]
    alone = calibrate(made, BUILT_IN, threshold=0.4)
    beside = calibrate([*made, *foreign], BUILT_IN, threshold=0.4)
    assert beside.settings == alone.settings
    assert beside.after.answerable == alone.after.answerable + 50


def test_refusal_by_a_floor_stays_one() -> None:
    """What nothing was found for can't be answered by a fitted confidence."""
    made = results(100)
    floored = judged("floor", 0.9, answered=False, features=made[0].features)
    found = calibrate([*made, floored], BUILT_IN, threshold=0.4)
    assert found.after.false_refusals is not None
    assert found.after.false_refusals.value * 51 >= 1
