"""From the results of the questions to figures with intervals, and those as one JSON object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragvault.evaluation import metrics
from ragvault.evaluation.dataset import Question
from ragvault.evaluation.judging import ANSWER_MEASURES, RANKING_MEASURES, QuestionResult
from ragvault.evaluation.metrics import Bin, Estimate, Flags
from ragvault.evaluation.printed import Printed, curve, shares
from ragvault.model import VaultInfo
from ragvault.service.json_objects import rounded
from ragvault.text import snippet

Estimates = dict[str, Estimate]  # by the measure's name


@dataclass(frozen=True, slots=True)
class Summary:
    """``ranking`` holds the ranking measures; ``refusals`` the
    DECISION_MEASURES; ``reliability`` is of the confidence; ``modes`` counts the answers by how
    they were made."""

    ranking: Estimates
    refusals: Estimates
    reliability: tuple[Bin, ...]
    answers: Estimates
    modes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One run, whole: the set's ``name``, what it was asked of, and what came of it. ``model`` is
    the embedding model; "" when only a server knows it that can't be asked."""

    name: str
    vault: VaultInfo
    model: str
    results: tuple[QuestionResult, ...]
    summary: Summary
    seconds: float
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


def summarise(results: Sequence[QuestionResult]) -> Summary:
    gated = _flags(results, lambda r: r.confidence is not None)
    good = _flags(results, lambda r: r.question.answerable)
    refused = _flags(results, lambda r: r.reason is not None)
    confidences = np.array([r.confidence or 0.0 for r in results], dtype=np.float64)
    refusals = {
        "false_answers": metrics.mean_of(np.where(gated & ~good, ~refused, np.nan)),
        "false_refusals": metrics.mean_of(np.where(gated & good, refused, np.nan)),
        "auroc": metrics.auroc_of(confidences[gated], good[gated]),
    }
    has_both = bool((gated & good).any() and (gated & ~good).any())
    modes = [r.mode for r in results if r.mode is not None]
    return Summary(
        ranking=_means(RANKING_MEASURES, [r.ranking for r in results]),
        refusals={name: one for name, one in refusals.items() if one is not None},
        reliability=tuple(metrics.reliability(confidences[gated], good[gated]) if has_both else ()),
        answers=_means(ANSWER_MEASURES, [r.answer_values for r in results]),
        modes={mode: modes.count(mode) for mode in sorted(set(modes))},
    )


def _flags(results: Sequence[QuestionResult], test: Callable[[QuestionResult], bool]) -> Flags:
    return np.array([test(r) for r in results], dtype=bool)


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
    summary, vault = evaluation.summary, evaluation.vault
    asked, answerable = len(evaluation.results), evaluation.answerable
    value: dict[str, Any] = rounded(
        {
            "kind": "evaluation",
            "set": {
                "name": evaluation.name,
                "questions": asked,
                "answerable": answerable,
                "unanswerable": asked - answerable,
            },
            "vault": {"name": vault.name, "notes": vault.notes, "passages": vault.chunks},
            "model": evaluation.model,
            "ranking": summary.ranking,
            "abstention": {**summary.refusals, "reliability": summary.reliability},
            "printed": shares(evaluation.printed),
            "printed_curve": curve(evaluation.printed),
            "answers": summary.answers,
            "answer_modes": summary.modes,
            "seconds": evaluation.seconds,
            "notices": evaluation.notices,
            "questions": [_question(result) for result in evaluation.results],
        }
    )
    return value


def _question(result: QuestionResult) -> dict[str, Any]:
    """``answered`` and ``confidence`` are null where the gate was left out."""
    question = result.question
    return {
        "id": question.id,
        "lang": question.lang,
        "answerable": question.answerable,
        "question": question.text,
        "answered": None if result.confidence is None else result.reason is None,
        "reason": result.reason,
        "confidence": result.confidence,
        "features": result.features,
        "ranking": result.ranking,
        "answer_values": result.answer_values,
        "mode": result.mode,
        "printed": result.printed,
        "seconds": result.seconds,
        "found": [
            {
                "rel_path": one.chunk.rel_path,
                "heading_path": one.chunk.heading_path,
                "start_line": one.chunk.start_line,
                "end_line": one.chunk.end_line,
                "snippet": snippet(one.chunk.text, 160),
            }
            for one in result.found
        ],
    }
