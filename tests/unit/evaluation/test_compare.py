"""Two runs side by side: a change that is noise must not look like progress."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ragvault.errors import UsageError
from ragvault.evaluation.compare import Difference, as_object, compare
from ragvault.evaluation.document import as_object as evaluation_object
from ragvault.evaluation.judging import QuestionResult
from tests.support.evaluating import evaluation, judged


def saved(path: Path, results: list[QuestionResult]) -> Path:
    path.write_text(json.dumps(evaluation_object(evaluation(results))), encoding="utf-8")
    return path


def run(n: int = 60, *, better: int = 0, sure: float = 0.9) -> list[QuestionResult]:
    """Half answerable; every third ranked wrong but for the first ``better`` of those."""
    found = []
    mended = 0
    for i in range(n):
        if i % 2:
            found.append(judged(str(i), 0.5 if i % 4 == 1 else 0.1, answerable=False))
            continue
        right = i % 3 != 0
        if not right and mended < better:
            mended, right = mended + 1, True
        values = {"ndcg@10": 1.0 if right else 0.2}
        found.append(judged(str(i), sure, values=values))
    return found


def difference(found: list[Difference], measure: str) -> Difference:
    return next(one for one in found if one.measure == measure)


def both(tmp_path: Path, a: list[QuestionResult], b: list[QuestionResult]) -> list[Difference]:
    pair = saved(tmp_path / "a.json", a), saved(tmp_path / "b.json", b)
    return list(compare(*pair).differences)


def test_run_against_itself_differs_in_nothing(tmp_path: Path) -> None:
    differences = both(tmp_path, run(), run())
    assert {one.measure for one in differences} >= {"ndcg@10", "auroc"}
    for one in differences:
        assert (one.change.value, one.change.low, one.change.high) == (0.0, 0.0, 0.0)
        assert not one.change.is_clear


def test_clear_change_is_told_from_noise(tmp_path: Path) -> None:
    clear = difference(both(tmp_path, run(), run(better=8)), "ndcg@10")
    assert clear.change.value == pytest.approx(8 * 0.8 / 30)
    assert clear.b - clear.a == pytest.approx(clear.change.value)
    assert clear.change.is_clear
    slight = difference(both(tmp_path, run(), run(better=1)), "ndcg@10")
    assert slight.change.value > 0
    assert not slight.change.is_clear


def test_pairs_are_narrower_than_two_intervals(tmp_path: Path) -> None:
    """That is what the comparison is for: the questions' own difficulty falls out."""
    a, b = run(better=1), run(better=5)
    change = difference(both(tmp_path, a, b), "ndcg@10").change
    alone = evaluation(a).summary.rankings["blend"]["ndcg@10"]
    assert alone.low is not None and alone.high is not None
    assert change.low is not None and change.high is not None
    assert change.high - change.low < alone.high - alone.low


def test_wrong_decisions_count_down(tmp_path: Path) -> None:
    a = run()
    b = [replace(r, confidence=0.1, reason="no_relevant_context") for r in a]
    found = both(tmp_path, a, b)
    answers = difference(found, "false_answers")
    assert (answers.a, answers.b, answers.lower_is_better) == (0.5, 0.0, True)
    refusals = difference(found, "false_refusals")
    assert (refusals.a, refusals.b) == (0.0, 1.0)
    assert difference(found, "auroc").b == 0.5


def test_only_questions_of_both_are_compared(tmp_path: Path) -> None:
    a, b = run(60), run(40)
    pair = saved(tmp_path / "a.json", a), saved(tmp_path / "b.json", b)
    found = compare(*pair)
    assert (found.shared, found.only_a, found.only_b) == (40, 20, 0)
    assert as_object(found)["differences"][0]["change"] == 0.0


def test_same_id_of_another_question_is_no_pair(tmp_path: Path) -> None:
    a = [judged("1", 0.9, text="old?"), judged("2", 0.9)]
    b = [judged("1", 0.9, text="new?"), judged("2", 0.9)]
    pair = saved(tmp_path / "a.json", a), saved(tmp_path / "b.json", b)
    assert compare(*pair).shared == 1


def test_run_without_the_gate_is_compared_by_its_ranking(tmp_path: Path) -> None:
    ungated = [replace(r, gated=False, confidence=0.0) for r in run()]
    measures = {one.measure for one in both(tmp_path, run(), ungated)}
    assert measures == {"ndcg@10"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "is not the JSON of an evaluation"),
        ("[]", "is not the JSON of an evaluation"),
        ('{"kind": "comparison"}', "is not the JSON of an evaluation"),
        ('{"kind": "evaluation"}', "missing or damaged"),
        ('{"kind": "evaluation", "questions": [{"id": 1}]}', "missing or damaged"),
    ],
)
def test_other_files_are_refused_in_a_sentence(tmp_path: Path, text: str, what: str) -> None:
    good = saved(tmp_path / "good.json", run(4))
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    with pytest.raises(UsageError, match=what):
        compare(good, bad)
    with pytest.raises(UsageError, match="There is no file"):
        compare(tmp_path / "none.json", good)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("confidence", float("nan")),
        ("confidence", 10**400),
        ("answered", "no"),
        ("answer_values", {"groundedness": float("inf")}),
    ],
)
def test_value_that_is_none_is_refused_in_a_sentence(
    tmp_path: Path, name: str, value: object
) -> None:
    """Written by another tool, or damaged: it would be a traceback, or "inf" in the table."""
    good = saved(tmp_path / "good.json", run(4))
    changed = json.loads(good.read_text())
    changed["questions"][0][name] = value
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(changed))
    with pytest.raises(UsageError, match="missing or damaged"):
        compare(good, bad)


def test_question_that_has_its_answer_in_one_set_only_is_no_pair(tmp_path: Path) -> None:
    """Its refusal is right in one run and wrong in the other: it is no change of ragvault."""
    a = saved(tmp_path / "a.json", [judged("1", 0.9), judged("2", 0.9)])
    b = saved(tmp_path / "b.json", [judged("1", 0.9), judged("2", 0.9, answerable=False)])
    found = compare(a, b)
    assert (found.shared, found.only_a, found.only_b) == (1, 1, 1)


def test_nothing_in_common_is_said(tmp_path: Path) -> None:
    pair = (
        saved(tmp_path / "a.json", [judged("1", 0.9)]),
        saved(tmp_path / "b.json", [judged("2", 0.9)]),
    )
    with pytest.raises(UsageError, match="no question in common"):
        compare(*pair)
