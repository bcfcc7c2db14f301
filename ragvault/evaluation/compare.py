"""Two evaluations of the same questions: the difference of each measure, with its interval.

Question by question: the interval is that of the mean difference over resampled questions, which
is far narrower than what two separate intervals suggest (Sakai 2014, "Statistical reform in
information retrieval?").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, FiniteFloat, StrictBool, ValidationError

from ragvault.errors import UsageError
from ragvault.evaluation import metrics
from ragvault.evaluation.dataset import read_file
from ragvault.evaluation.judging import ANSWER_MEASURES, DECISION_MEASURES, RANKING_MEASURES
from ragvault.evaluation.metrics import Bootstrap, Estimate
from ragvault.service.json_objects import rounded

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
    shared = [  # asked alike, and with an answer in both sets or in neither
        key
        for key, row in one.items()
        if key in other
        and (row.question, row.answerable) == (other[key].question, other[key].answerable)
    ]
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
        rows = _Run.model_validate_json(read_file(path, _HINT)).questions
    except ValidationError as error:
        told = "is not the JSON of an evaluation, or parts of it are missing or damaged."
        raise UsageError(f"{path} {told}", _HINT) from error
    return {f"{row.origin}#{row.id}": row for row in rows}


# --------------------------------------------------------------------------- comparing


def _differences(a: list[_Row], b: list[_Row]) -> Iterator[Difference]:
    """Of the rows of both runs, question by question."""
    bootstrap = Bootstrap(len(a))
    values = [_values(row) for row in a], [_values(row) for row in b]

    def means(retriever: str | None, measures: Iterable[str]) -> Iterator[Difference]:
        for measure in measures:
            one, other = (
                np.array([found.get((retriever, measure), np.nan) for found in run])
                for run in values
            )
            change = bootstrap.mean(other - one)
            if change is not None:
                both = ~np.isnan(one) & ~np.isnan(other)
                before, after = float(one[both].mean()), float(other[both].mean())
                yield Difference(measure, retriever, before, after, change)

    in_b = {retriever for row in b for retriever in row.legs}
    for retriever in dict.fromkeys(r for row in a for r in row.legs if r in in_b):
        yield from means(retriever, RANKING_MEASURES)
    yield from means(None, (m for m in DECISION_MEASURES if m != "auroc"))
    yield from _auroc(a, b)
    yield from means(None, ANSWER_MEASURES)


def _values(row: _Row) -> dict[tuple[str | None, str], float]:
    """All that was measured of a question, by retriever (None: not of a ranking) and measure."""
    found: dict[tuple[str | None, str], float] = {
        (retriever, measure): value
        for retriever, ranking in row.legs.items()
        for measure, value in ranking.values.items()
    }
    if row.answered is not None:
        wrong = "false_refusals" if row.answerable else "false_answers"
        name = "false_answers_off_topic" if row.origin else wrong
        found[None, name] = float(row.answered != row.answerable)
    return found | {(None, measure): value for measure, value in row.answer_values.items()}


def _auroc(a: list[_Row], b: list[_Row]) -> Iterator[Difference]:
    """Over the questions that both runs judged."""
    both = [
        (one.confidence, other.confidence, one.answerable)
        for one, other in zip(a, b, strict=True)
        if one.confidence is not None and other.confidence is not None
    ]
    first, second, positive = (np.array([row[i] for row in both]) for i in range(3))
    change = Bootstrap(len(both)).auroc_difference(first, second, positive)
    if change is not None:
        before, after = (float(metrics.auroc(scores, positive)[0]) for scores in (first, second))
        yield Difference("auroc", None, before, after, change)
