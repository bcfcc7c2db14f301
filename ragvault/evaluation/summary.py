"""From the results of the questions to figures with intervals, and those as one JSON object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragvault.evaluation import metrics
from ragvault.evaluation.dataset import Question
from ragvault.evaluation.judging import (
    ANSWER_MEASURES,
    RANKING_MEASURES,
    Printed,
    QuestionResult,
    curve,
    shares,
)
from ragvault.evaluation.metrics import Estimate
from ragvault.model import VaultInfo
from ragvault.service.json_objects import picked
from ragvault.text import snippet

Estimates = dict[str, Estimate]  # by the measure's name


@dataclass(frozen=True)
class Evaluation:
    """One run, whole: the set's ``name``, what it was asked of, and what came of it. ``model`` is
    the embedding model; "" when only a server knows it that can't be asked."""

    name: str
    vault: VaultInfo
    model: str
    results: tuple[QuestionResult, ...]
    seconds: float = 0.0
    notices: tuple[str, ...] = ()

    @property
    def printed(self) -> list[tuple[Question, Printed]]:
        """The questions that say what a right answer is, or have none, with what they got."""
        if all(r.question.right is None for r in self.results):
            return []  # not such a set
        return [(r.question, r.printed) for r in self.results if r.printed is not None]

    @property
    def answerable(self) -> int:
        return sum(r.question.answerable for r in self.results)

    @property
    def ranking(self) -> Estimates:
        return _means(RANKING_MEASURES, [r.ranking for r in self.results])

    @property
    def answers(self) -> Estimates:
        return _means(ANSWER_MEASURES, [r.answer_values for r in self.results])

    @property
    def modes(self) -> dict[str, int]:
        """How many answers were made in which way."""
        return dict(sorted(Counter(r.mode for r in self.results if r.mode is not None).items()))

    @property
    def refusals(self) -> Estimates:
        """The DECISION_MEASURES; none where the gate was left out."""
        judged = [r for r in self.results if r.confidence is not None]
        said = np.array([r.confidence for r in judged], np.float64)
        good = np.array([r.question.answerable for r in judged], bool)
        refused = np.array([r.reason is not None for r in judged], bool)
        found = {
            "false_answers": metrics.mean_of(np.where(~good, ~refused, np.nan)),
            "false_refusals": metrics.mean_of(np.where(good, refused, np.nan)),
            "auroc": metrics.auroc_of(said, good),
        }
        return {name: one for name, one in found.items() if one is not None}


def _means(measures: Iterable[str], values: Sequence[Mapping[str, float]]) -> Estimates:
    """Of each measure that applies to some question; ``values`` has one mapping a question."""
    found = {}
    for measure in measures:
        column = np.array([one.get(measure, np.nan) for one in values], dtype=np.float64)
        if (estimate := metrics.mean_of(column)) is not None:
            found[measure] = estimate
    return found


# --------------------------------------------------------------------------- as JSON


def evaluation_object(evaluation: Evaluation) -> dict[str, Any]:
    """What ``eval run --json`` prints. Every share lies in 0..1; an estimate is an object of
    value, low, high (its 95 % interval; null for a single question) and n."""
    vault, asked, answerable = evaluation.vault, len(evaluation.results), evaluation.answerable
    return {
        "kind": "evaluation",
        "set": {
            "name": evaluation.name,
            "questions": asked,
            "answerable": answerable,
            "unanswerable": asked - answerable,
        },
        "vault": {"name": vault.name, "notes": vault.notes, "passages": vault.chunks},
        "model": evaluation.model,
        "ranking": evaluation.ranking,
        "abstention": evaluation.refusals,
        "printed": shares(evaluation.printed),
        "printed_curve": curve(evaluation.printed),
        "answers": evaluation.answers,
        "answer_modes": evaluation.modes,
        "seconds": evaluation.seconds,
        "notices": evaluation.notices,
        "questions": [_question(result) for result in evaluation.results],
    }


def _question(result: QuestionResult) -> dict[str, Any]:
    """``answered`` and ``confidence`` are null where the gate was left out."""
    found = [
        {
            **picked(one.chunk, "rel_path heading_path start_line end_line"),
            "snippet": snippet(one.chunk.text, 160),
        }
        for one in result.found
    ]
    return {
        **picked(result.question, "id lang answerable"),
        "question": result.question.text,
        "answered": None if result.confidence is None else result.reason is None,
        **picked(result, "reason confidence features ranking answer_values mode printed seconds"),
        "found": found,
    }
