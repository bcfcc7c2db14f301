"""The script behind the built-in coefficients: what it fits has to be what the gate computes."""

from __future__ import annotations

import numpy as np
import pytest

from ragvault.evaluation.dataset import Question
from ragvault.retrieval.confidence.calibration import Calibration, Logistic
from tests.bench.fit_gate import Row, Table, _drawn, _share, fit_both, mixed

FEATURES = Calibration("x", Logistic(("about",), (1.0,), 0.0), Logistic(("held",), (1.0,), 0.0))


def row(i: int, kind: str, answerable: bool, about: float, held: float, of: str = "natural") -> Row:
    features = {"about": about, "held": held}
    return Row(of, kind, "", "", f"{of}{i}{kind}", "q", answerable, True, True, 2.0, features)


def rows() -> list[Row]:
    rng = np.random.default_rng(1)
    found = []
    for i in range(200):
        found.append(row(i, "own", True, rng.normal(0.8, 0.1), rng.normal(0.8, 0.1)))
        found.append(row(i + 200, "own", False, rng.normal(0.8, 0.1), rng.normal(0.4, 0.1)))
        found.append(row(i, "off", False, rng.normal(0.3, 0.1), rng.normal(0.4, 0.1)))
        made = rng.normal(0.8, 0.1), rng.normal(0.7, 0.1)
        found.append(row(i, "own", True, *made, of="made"))
        found.append(row(i, "absent", False, made[0], rng.normal(0.5, 0.1), of="made"))
    return found


def test_each_logistic_tells_what_it_is_for() -> None:
    table = Table(rows())
    topic, answered = fit_both(table, FEATURES)
    fitted = Calibration(
        "fitted",
        Logistic(topic.features, topic.coefficients, topic.intercept),
        Logistic(answered.features, answered.coefficients, answered.intercept),
    )
    good = fitted.confidence({"about": 0.8, "held": 0.8})
    on_topic = fitted.confidence({"about": 0.8, "held": 0.4})
    foreign = fitted.confidence({"about": 0.3, "held": 0.8})
    assert good > 0.8 and on_topic < 0.2 and foreign < 0.2


def test_what_is_shown_comes_from_folds_that_did_not_see_the_question() -> None:
    table = Table(rows())
    topic, _ = fit_both(table, FEATURES)
    own = np.array(topic.coefficients) @ table.of(("about",)).T + topic.intercept
    assert not np.allclose(topic.probabilities, 1 / (1 + np.exp(-own)), atol=1e-9)
    folds = dict(zip((r.id for r in table.rows), table.folds, strict=True))
    assert len(set(folds.values())) == 5


def test_parts_of_a_mixture_weigh_alike_whatever_their_number() -> None:
    table = Table(rows()[:30])
    first, rest = np.arange(30) < 3, np.arange(30) >= 3
    weights = mixed(table, first, rest)
    assert weights[first].sum() == pytest.approx(weights[rest].sum()) == pytest.approx(1.0)


def test_drawn_questions_stand_for_all_there_are() -> None:
    """Else a set of thousands would count like one of hundreds."""
    questions = [
        Question(f"{lang}{i}", "q", True, lang=lang) for lang in ("de", "en") for i in range(500)
    ]
    drawn = list(_drawn(questions, 120))
    assert len(drawn) == 240
    assert sum(stands_for for _, stands_for in drawn) == pytest.approx(1000)
    assert list(_drawn(questions, 120)) == drawn


def test_shares_are_of_what_the_rows_stand_for() -> None:
    table = Table(rows()[:4])
    table.many[:] = [1.0, 1.0, 2.0, 4.0]
    all_of_it, some = np.ones(4, bool), np.array([True, False, True, False])
    assert _share(some, all_of_it, table) == pytest.approx(3 / 8)
