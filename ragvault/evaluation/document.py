"""An evaluation as one JSON object; what ``eval run --json`` prints and ``eval compare`` reads.

    {"schema_version": 1, "kind": "evaluation",
     "set": {"name", "questions", "answerable", "unanswerable", "off_topic": {name: questions}},
     "vault": {"name", "notes", "passages"},
     "model": embedding model, "threshold": of the confidence, "seed", "resamples", "level": 0.95,
     "legs": {"blend"|"bm25"|"vector": {measure: E}},
     "by_lang": {lang: {leg: {measure: E}}},
     "abstention": A, "abstention_with_off_topic": A | null,
     "off_topic": {name: E of the false answers},
     "printed": [{"label", "count", "of"}],
     "printed_curve": [{"threshold", "right", "wrong", "false"}],
     "answers": {measure: E}, "answer_modes": {"extractive"|"llm": questions},
     "seconds", "notices": [],
     "questions": [{"id", "origin", "lang", "answerable", "question", "answered", "reason",
                    "confidence", "gated", "features": {}, "answer_values": {}, "mode", "seconds",
                    "printed": {"verdict", "warned", "quotes_right", "confidence", "there", "found"}
                      | null,
                    "legs": {leg: {"values": {measure: x}}},
                    "found": [{"rel_path", "heading_path", "start_line", "end_line", "snippet",
                    "score"}]}]}

    E = {"value", "low", "high", "n"}: 95 % interval; low and high are null for a single question.
    A = {"answerable", "unanswerable", "false_answers": E|null, "false_refusals": E|null,
         "auroc": E|null, "reliability": [B], "trade_off": [T]}
    B = {"low", "high", "n", "confidence", "observed"}
    T = {"threshold", "false_answers", "false_refusals"}

All shares lie in 0..1. "legs" are the rankings by retriever: both together (blend), or one alone.
``reliability`` has five bins of equally many questions, by rising confidence. ``origin`` is "" for
the set's own questions, else the off-topic set. ``answered`` and ``confidence`` are null where the
gate was left out (``gated`` false).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ragvault.evaluation.dataset import Question
from ragvault.evaluation.judging import QuestionResult
from ragvault.evaluation.metrics import LEVEL, RESAMPLES
from ragvault.evaluation.printed import Printed, curve, shares
from ragvault.evaluation.summary import AbstentionSummary, Summary
from ragvault.model import VaultInfo
from ragvault.service.json_objects import rounded


@dataclass(frozen=True, slots=True)
class Setting:
    """What was asked of what: the part of an evaluation that isn't a result."""

    name: str
    vault: VaultInfo
    model: str
    threshold: float
    seed: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One run, whole."""

    setting: Setting
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


def as_object(evaluation: Evaluation) -> dict[str, Any]:
    """The object of the module's docstring, without ``schema_version``."""
    setting, summary = evaluation.setting, evaluation.summary
    own = [r for r in evaluation.results if not r.question.origin]
    everything = summary.everything
    return {
        "kind": "evaluation",
        "set": {
            "name": setting.name,
            "questions": len(own),
            "answerable": sum(r.question.answerable for r in own),
            "unanswerable": sum(not r.question.answerable for r in own),
            "off_topic": {name: estimate.n for name, estimate in summary.off_topic.items()},
        },
        "vault": {
            "name": setting.vault.name,
            "notes": setting.vault.notes,
            "passages": setting.vault.chunks,
        },
        "model": setting.model,
        "threshold": setting.threshold,
        "seed": setting.seed,
        "resamples": RESAMPLES,
        "level": LEVEL,
        "legs": rounded(summary.rankings),
        "by_lang": rounded(summary.by_lang),
        "abstention": abstention_object(summary.own),
        "abstention_with_off_topic": None if everything is None else abstention_object(everything),
        "off_topic": rounded(summary.off_topic),
        "printed": rounded(shares(evaluation.printed)),
        "printed_curve": rounded(curve(evaluation.printed)),
        "answers": rounded(summary.answers),
        "answer_modes": summary.modes,
        "seconds": round(evaluation.seconds, 3),
        "notices": list(evaluation.notices),
        "questions": [_question(result) for result in evaluation.results],
    }


def abstention_object(summary: AbstentionSummary) -> dict[str, Any]:
    """How the refusals went, as JSON."""
    return {
        "answerable": summary.answerable,
        "unanswerable": summary.unanswerable,
        "false_answers": rounded(summary.false_answers),
        "false_refusals": rounded(summary.false_refusals),
        "auroc": rounded(summary.auroc),
        "reliability": rounded(summary.reliability),
        "trade_off": rounded(summary.at_thresholds),
    }


def _question(result: QuestionResult) -> dict[str, Any]:
    question = result.question
    return {
        "id": question.id,
        "origin": question.origin,
        "lang": question.lang,
        "answerable": question.answerable,
        "question": question.text,
        "answered": result.answered if result.gated else None,
        "reason": result.reason,
        "confidence": rounded(result.confidence) if result.gated else None,
        "gated": result.gated,
        "features": rounded(result.features),
        "legs": {leg: {"values": rounded(values)} for leg, values in result.rankings.items()},
        "answer_values": rounded(result.answer_values),
        "mode": result.mode,
        "printed": rounded(result.printed),
        "seconds": round(result.seconds, 4),
        "found": [
            {**asdict(passage), "heading_path": list(passage.heading_path)}
            for passage in result.found
        ],
    }
