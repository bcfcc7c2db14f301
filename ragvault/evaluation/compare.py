"""Two evaluations of the same questions: the difference of each measure, with its interval.

Question by question: the interval is that of the mean difference over resampled questions, which
is far narrower than what two separate intervals suggest (Sakai 2014, "Statistical reform in
information retrieval?").
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, FiniteFloat, StrictBool, ValidationError

from ragvault.errors import UsageError
from ragvault.evaluation import metrics
from ragvault.evaluation.document import rounded
from ragvault.evaluation.judging import ANSWER_MEASURES, RANKING_MEASURES
from ragvault.evaluation.metrics import Bootstrap, Estimate, Flags, Floats

_MAX_BYTES = 500_000_000
_HINT = "Make it with `ragvault eval run QUESTIONS.jsonl --json > FILE`."


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure in both runs, over the questions that both have it for. ``retriever`` is None
    for a decision or an answer; ``change`` is B less A."""

    measure: str
    retriever: str | None
    a: float
    b: float
    change: Estimate

    @property
    def lower_is_better(self) -> bool:
        """True for the kinds of wrong decision."""
        return self.measure.startswith("false_")


@dataclass(frozen=True, slots=True)
class Comparison:
    """``only_a`` and ``only_b`` are counts of questions that the other hasn't got."""

    differences: tuple[Difference, ...]
    shared: int
    only_a: int
    only_b: int


def compare(a: Path, b: Path) -> Comparison:
    """Raises UsageError for a file that is no evaluation, or when no question is in both."""
    one, other = _load(a), _load(b)
    shared = [key for key in one if key in other and _is_same(one[key], other[key])]
    if not shared:
        raise UsageError(
            f"{a.name} and {b.name} have no question in common.",
            "Compare two runs over the same set of questions.",
        )
    return Comparison(
        differences=tuple(_differences([one[k] for k in shared], [other[k] for k in shared])),
        shared=len(shared),
        only_a=len(one) - len(shared),
        only_b=len(other) - len(shared),
    )


def as_object(comparison: Comparison) -> dict[str, Any]:
    """``{"kind": "comparison", "shared", "only_a", "only_b", "differences": [{"measure", "leg",
    "a", "b", "change", "low", "high", "n", "clear", "lower_is_better"}]}``; ``leg`` is the
    retriever; ``clear``: the interval leaves out 0."""
    return {
        "kind": "comparison",
        "shared": comparison.shared,
        "only_a": comparison.only_a,
        "only_b": comparison.only_b,
        "differences": [
            rounded(
                {
                    "measure": one.measure,
                    "leg": one.retriever,
                    "a": one.a,
                    "b": one.b,
                    "change": one.change.value,
                    "low": one.change.low,
                    "high": one.change.high,
                    "n": one.change.n,
                    "clear": one.change.is_clear,
                    "lower_is_better": one.lower_is_better,
                }
            )
            for one in comparison.differences
        ],
    }


# --------------------------------------------------------------------------- reading


class _Ranked(BaseModel):
    values: dict[str, FiniteFloat]


class _Row(BaseModel):
    """What a comparison needs of one question of one run."""

    id: str
    origin: str
    question: str
    answerable: StrictBool
    answered: StrictBool | None  # None: the gate was left out
    confidence: FiniteFloat | None
    legs: dict[str, _Ranked]
    answer_values: dict[str, FiniteFloat]


class _Run(BaseModel):
    kind: Literal["evaluation"]
    questions: list[_Row]


def _load(path: Path) -> dict[str, _Row]:
    """The questions of an evaluation's JSON, by origin and id. Raises UsageError."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"{path} is too large to be an evaluation.", _HINT)
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {path}.", _HINT) from error
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}.", _HINT) from error
    except (ValueError, RecursionError) as error:  # not JSON, or not UTF-8
        raise UsageError(f"{path} is not the JSON of an evaluation.", _HINT) from error
    if not isinstance(value, dict) or value.get("kind") != "evaluation":
        raise UsageError(f"{path} is not the JSON of an evaluation.", _HINT)
    try:
        rows = _Run.model_validate(value).questions
    except ValidationError as error:
        raise UsageError(
            f"{path} is an evaluation with parts missing or damaged.", _HINT
        ) from error
    return {f"{row.origin}#{row.id}": row for row in rows}


def _is_same(one: _Row, other: _Row) -> bool:
    """Asked alike, and with an answer in both sets or in neither."""
    return (one.question, one.answerable) == (other.question, other.answerable)


# --------------------------------------------------------------------------- comparing

_Value = Callable[[_Row], float | None]  # None: the measure doesn't apply


def _differences(a: list[_Row], b: list[_Row]) -> list[Difference]:
    """Of the rows of both runs, question by question."""
    bootstrap = Bootstrap(len(a))

    def mean(measure: str, retriever: str | None, value: _Value) -> Difference | None:
        one, other = _column(a, value), _column(b, value)
        change = bootstrap.mean(other - one)
        if change is None:
            return None
        both = ~np.isnan(one) & ~np.isnan(other)
        return Difference(
            measure, retriever, float(one[both].mean()), float(other[both].mean()), change
        )

    in_b = {retriever for row in b for retriever in row.legs}
    retrievers = dict.fromkeys(r for row in a for r in row.legs if r in in_b)
    found = [mean(m, r, _of_ranking(r, m)) for r in retrievers for m in RANKING_MEASURES]
    found += [mean(measure, None, wrong) for measure, wrong in _WRONG_DECISIONS.items()]
    found.append(_auroc(a, b))
    found += [mean(measure, None, _of_answer(measure)) for measure in ANSWER_MEASURES]
    return [one for one in found if one is not None]


def _of_ranking(retriever: str, measure: str) -> _Value:
    return lambda row: row.legs[retriever].values.get(measure) if retriever in row.legs else None


def _of_answer(measure: str) -> _Value:
    return lambda row: row.answer_values.get(measure)


def _as_number(decision: bool | None) -> float | None:
    return None if decision is None else float(decision)


_WRONG_DECISIONS: dict[str, _Value] = {
    "false_answers": lambda row: (
        _as_number(row.answered) if not row.answerable and not row.origin else None
    ),
    "false_answers_off_topic": lambda row: _as_number(row.answered) if row.origin else None,
    "false_refusals": lambda row: (
        1.0 - row.answered if row.answerable and row.answered is not None else None
    ),
}


def _column(rows: list[_Row], value: _Value) -> Floats:
    found = (value(row) for row in rows)
    return np.array([np.nan if v is None else v for v in found], dtype=np.float64)


def _auroc(a: list[_Row], b: list[_Row]) -> Difference | None:
    """Over the questions that both runs judged."""
    both = [
        (one.confidence, other.confidence, one.answerable)
        for one, other in zip(a, b, strict=True)
        if one.confidence is not None and other.confidence is not None
    ]
    if not both:
        return None
    first = np.array([confidence for confidence, _, _ in both], dtype=np.float64)
    second = np.array([confidence for _, confidence, _ in both], dtype=np.float64)
    positive: Flags = np.array([answerable for _, _, answerable in both])
    change = Bootstrap(len(both)).auroc_difference(first, second, positive)
    if change is None:
        return None
    before, after = (float(metrics.auroc(scores, positive)[0]) for scores in (first, second))
    return Difference("auroc", None, before, after, change)
