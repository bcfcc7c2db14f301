"""The measures: a wrong one would send every tuning the wrong way."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ragvault.evaluation import metrics
from ragvault.evaluation.dataset import Gold, Question
from ragvault.evaluation.judging import QuestionResult
from ragvault.evaluation.runner import Evaluation
from ragvault.model import VaultInfo

RANKED = ["a", "b", "c", "d"]


def test_ndcg_is_the_textbook_s() -> None:
    gain = 1 / math.log2(3) + 1 / math.log2(5)
    ideal = 1 + 1 / math.log2(3)
    assert metrics.ndcg(RANKED, {"b", "d"}) == pytest.approx(gain / ideal)
    assert metrics.ndcg(["b", "d"], {"b", "d"}) == 1.0
    assert metrics.ndcg(RANKED, {"d"}, k=3) == 0.0


def test_ndcg_counts_what_was_never_found() -> None:
    """Else a search that finds one of three right notes would look perfect."""
    assert metrics.ndcg(["a"], {"a", "x", "y"}) < 0.5


def test_precision_recall_reciprocal_rank() -> None:
    relevant = {"b", "d", "x"}
    assert metrics.precision(RANKED, relevant, 4) == 0.5
    assert metrics.precision(["b"], relevant, 4) == 0.25  # a short list is no excuse
    assert metrics.recall(RANKED, relevant, 2) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank(RANKED, relevant) == 0.5
    assert metrics.reciprocal_rank(RANKED, {"d"}, k=3) == 0.0


rankings = st.lists(st.sampled_from("abcdefghij"), unique=True)
relevants = st.sets(st.sampled_from("abcdefghij"), min_size=1)


@given(rankings, relevants, st.integers(1, 12))
def test_ranking_measures_stay_within_bounds(ranked: list[str], relevant: set[str], k: int) -> None:
    for value in (
        metrics.ndcg(ranked, relevant, k),
        metrics.precision(ranked, relevant, k),
        metrics.recall(ranked, relevant, k),
        metrics.reciprocal_rank(ranked, relevant, k),
    ):
        assert 0.0 <= value <= 1.0


@given(rankings, relevants)
def test_a_right_note_moved_up_never_costs(ranked: list[str], relevant: set[str]) -> None:
    for i in range(1, len(ranked)):
        if ranked[i] in relevant and ranked[i - 1] not in relevant:
            better = [*ranked[: i - 1], ranked[i], ranked[i - 1], *ranked[i + 1 :]]
            assert metrics.ndcg(better, relevant) >= metrics.ndcg(ranked, relevant)


# --------------------------------------------------------------------------- yes or no


def brute_auroc(scores: list[float], positive: list[bool]) -> float:
    pairs = [
        1.0 if good > bad else 0.5 if good == bad else 0.0
        for good, p in zip(scores, positive, strict=True)
        if p
        for bad, q in zip(scores, positive, strict=True)
        if not q
    ]
    return sum(pairs) / len(pairs)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9]), st.booleans()), min_size=2))
def test_auroc_is_the_chance_of_a_right_order(rows: list[tuple[float, bool]]) -> None:
    scores, positive = [s for s, _ in rows], [p for _, p in rows]
    area = metrics.auroc(np.array(scores), np.array(positive))
    if any(positive) and not all(positive):
        assert area == pytest.approx(brute_auroc(scores, positive))
    else:
        assert math.isnan(area)


def result(answerable: bool, confidence: float | None, answered: bool = True) -> QuestionResult:
    question = Question("Q?", answerable=answerable, gold=(Gold("a.md"),))
    return QuestionResult(question, {}, confidence, None if answered else "no_relevant_context")


def evaluation(*results: QuestionResult) -> Evaluation:
    return Evaluation("set", VaultInfo("v", Path(), "folder"), "", results)


def test_wrong_decisions_are_shares_of_the_questions_that_they_can_be_of() -> None:
    results = [
        result(True, 0.9),
        result(True, 0.2, answered=False),
        result(False, 0.7),
        result(False, 0.1, answered=False),
        result(False, 0.1, answered=False),
    ]
    summary = evaluation(*results)
    assert summary.refusals["false_refusals"].value == 1 / 2
    assert summary.refusals["false_answers"].value == pytest.approx(1 / 3)
    assert summary.refusals["auroc"].value == pytest.approx(5 / 6)


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """95 % intervals that hold the true mean in 60 % of the cases would sell noise as progress."""
    rng = np.random.default_rng(7)
    held = areas = 0
    good = np.arange(80) < 40
    for _ in range(400):
        estimate = metrics.mean_of((rng.random(60) < 0.7).astype(float))
        assert estimate is not None and estimate.low is not None and estimate.high is not None
        held += estimate.low <= 0.7 <= estimate.high
        # Normal scores half a standard deviation apart: the area is Φ(0.5 / √2).
        area = metrics.auroc_of(rng.normal(0, 1, 80) + 0.5 * good, good)
        assert area is not None and area.low is not None and area.high is not None
        areas += area.low <= 0.6382 <= area.high
    assert 0.91 <= held / 400 <= 0.98 and 0.91 <= areas / 400 <= 0.98


def test_interval_leaves_out_what_does_not_apply() -> None:
    estimate = metrics.mean_of(np.array([np.nan, 1.0, 0.0, np.nan]))
    assert estimate is not None and (estimate.value, estimate.n) == (0.5, 2)
    assert metrics.mean_of(np.array([np.nan, np.nan])) is None


def test_one_question_has_no_interval() -> None:
    estimate = metrics.mean_of(np.array([1.0]))
    assert estimate is not None and (estimate.low, estimate.high) == (None, None)
