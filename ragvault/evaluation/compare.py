"""Two evaluations of the same questions: the difference of each measure, with its interval.

Question by question: the interval is that of the mean difference over resampled questions, which
is far narrower than what two separate intervals suggest (Sakai 2014, "Statistical reform in
information retrieval?").
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ragvault.errors import UsageError
from ragvault.evaluation import metrics
from ragvault.evaluation.bootstrap import Bootstrap, Estimate
from ragvault.evaluation.document import KIND
from ragvault.evaluation.metrics import Flags, Floats
from ragvault.evaluation.results import ANSWER_MEASURES, RANKING_MEASURES

MAX_BYTES = 500_000_000
_HINT = "Make it with `ragvault eval QUESTIONS.jsonl --json > FILE`."


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure in both runs, over the questions that both have it for.

    ``change`` is B less A. ``lower_is_better`` for the two kinds of wrong decision.
    """

    measure: str
    leg: str | None
    a: float
    b: float
    change: Estimate

    @property
    def lower_is_better(self) -> bool:
        return self.measure.startswith("false_")


@dataclass(frozen=True, slots=True)
class Comparison:
    """``only_a`` and ``only_b`` are counts of questions that the other hasn't got."""

    differences: tuple[Difference, ...]
    shared: int
    only_a: int
    only_b: int


@dataclass(frozen=True, slots=True)
class _Row:
    """What a comparison needs of one question of one run."""

    text: str
    answerable: bool
    origin: str
    answered: bool | None  # None: the gate was left out
    confidence: float | None
    legs: dict[str, dict[str, float]]
    answer_values: dict[str, float]


def compare(a: Path, b: Path, *, seed: int = 0) -> Comparison:
    """Raises UsageError for a file that is no evaluation, or when no question is in both."""
    one, other = load_rows(a), load_rows(b)
    shared = [key for key in one if key in other and _is_same(one[key], other[key])]
    if not shared:
        raise UsageError(
            f"{a.name} and {b.name} have no question in common.",
            "Compare two runs over the same set of questions.",
        )
    pairs = _Pairs([one[k] for k in shared], [other[k] for k in shared], seed)
    return Comparison(
        differences=tuple(pairs.differences()),
        shared=len(shared),
        only_a=len(one) - len(shared),
        only_b=len(other) - len(shared),
    )


def _is_same(one: _Row, other: _Row) -> bool:
    """Asked alike, and with an answer in both sets or in neither."""
    return (one.text, one.answerable) == (other.text, other.answerable)


class _Pairs:
    """The rows of both runs, question by question."""

    def __init__(self, a: list[_Row], b: list[_Row], seed: int) -> None:
        self.a = a
        self.b = b
        self.seed = seed
        self.bootstrap = Bootstrap(len(a), seed=seed)

    def differences(self) -> list[Difference]:
        legs = [leg for leg in _legs(self.a) if leg in _legs(self.b)]
        found = [
            self._mean(measure, leg, _ranked(leg, measure))
            for leg in legs
            for measure in RANKING_MEASURES
        ]
        for measure, test in _DECISIONS.items():
            found.append(self._mean(measure, None, test))
        found.append(self._auroc())
        found += [self._mean(measure, None, _said(measure)) for measure in ANSWER_MEASURES]
        return [one for one in found if one is not None]

    def _mean(
        self, measure: str, leg: str | None, value: Callable[[_Row], float | None]
    ) -> Difference | None:
        a, b = _column(self.a, value), _column(self.b, value)
        change = self.bootstrap.mean(b - a)
        if change is None:
            return None
        both = ~np.isnan(a) & ~np.isnan(b)
        return Difference(measure, leg, float(a[both].mean()), float(b[both].mean()), change)

    def _auroc(self) -> Difference | None:
        """Over the questions that both runs judged."""
        both = [
            (a.confidence, b.confidence, a.answerable)
            for a, b in zip(self.a, self.b, strict=True)
            if a.confidence is not None and b.confidence is not None
        ]
        if not both:
            return None
        one = np.array([a for a, _, _ in both], dtype=np.float64)
        other = np.array([b for _, b, _ in both], dtype=np.float64)
        positive: Flags = np.array([answerable for _, _, answerable in both])
        bootstrap = Bootstrap(len(both), seed=self.seed)
        change = bootstrap.auroc_difference(one, other, positive)
        if change is None:
            return None
        a, b = (float(metrics.auroc(scores, positive)[0]) for scores in (one, other))
        return Difference("auroc", None, a, b, change)


def _ranked(leg: str, measure: str) -> Callable[[_Row], float | None]:
    return lambda row: row.legs.get(leg, {}).get(measure)


def _said(measure: str) -> Callable[[_Row], float | None]:
    return lambda row: row.answer_values.get(measure)


def _column(rows: list[_Row], value: Callable[[_Row], float | None]) -> Floats:
    found = (value(row) for row in rows)
    return np.array([np.nan if v is None else v for v in found], dtype=np.float64)


def _legs(rows: list[_Row]) -> list[str]:
    return list(dict.fromkeys(leg for row in rows for leg in row.legs))


def _yes(row: _Row) -> float | None:
    return None if row.answered is None else float(row.answered)


def _no(row: _Row) -> float | None:
    return None if row.answered is None else float(not row.answered)


_DECISIONS: dict[str, Callable[[_Row], float | None]] = {
    "false_answers": lambda r: _yes(r) if not r.answerable and not r.origin else None,
    "false_answers_off_topic": lambda r: _yes(r) if r.origin else None,
    "false_refusals": lambda r: _no(r) if r.answerable else None,
}


# --------------------------------------------------------------------------- reading


def load_rows(path: Path) -> dict[str, _Row]:
    """The questions of an evaluation's JSON, by origin and id. Raises UsageError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is too large to be an evaluation.", _HINT)
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {path}.", _HINT) from error
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}.", _HINT) from error
    except (ValueError, RecursionError) as error:  # not JSON, or not UTF-8
        raise UsageError(f"{path} is not the JSON of an evaluation.", _HINT) from error
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise UsageError(f"{path} is not the JSON of an evaluation.", _HINT)
    try:
        return {f"{q['origin']}#{q['id']}": _row(q) for q in value["questions"]}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(
            f"{path} is an evaluation with parts missing or damaged.", _HINT
        ) from error


def _row(q: dict[str, Any]) -> _Row:
    return _Row(
        text=str(q["question"]),
        answerable=_truth(q["answerable"]),
        origin=str(q["origin"]),
        answered=None if q["answered"] is None else _truth(q["answered"]),
        confidence=None if q["confidence"] is None else _number(q["confidence"]),
        legs={leg: _numbers(judged["values"]) for leg, judged in q["legs"].items()},
        answer_values=_numbers(q["answer_values"]),
    )


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    return {str(name): _number(value) for name, value in values.items()}


def _number(value: Any) -> float:
    """Raises ValueError for infinity and NaN, which no measure is: Python's JSON reads them."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is no measure")
    return number


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def as_object(comparison: Comparison) -> dict[str, Any]:
    """``{"kind": "comparison", "shared", "only_a", "only_b", "differences": [{"measure", "leg",
    "a", "b", "change", "low", "high", "n", "clear", "lower_is_better"}]}``; ``clear``: the
    interval leaves out 0."""
    return {
        "kind": "comparison",
        "shared": comparison.shared,
        "only_a": comparison.only_a,
        "only_b": comparison.only_b,
        "differences": [
            {
                "measure": one.measure,
                "leg": one.leg,
                "a": round(one.a, 6),
                "b": round(one.b, 6),
                "change": round(one.change.value, 6),
                "low": None if one.change.low is None else round(one.change.low, 6),
                "high": None if one.change.high is None else round(one.change.high, 6),
                "n": one.change.n,
                "clear": one.change.is_clear,
                "lower_is_better": one.lower_is_better,
            }
            for one in comparison.differences
        ],
    }
