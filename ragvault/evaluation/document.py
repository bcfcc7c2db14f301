"""An evaluation as one JSON object; what ``--json`` prints and ``--compare`` reads.

    {"schema_version": 1, "kind": "evaluation",
     "set": {"name", "questions", "answerable", "unanswerable", "off_topic": {name: questions}},
     "vault": {"name", "notes", "passages"},
     "model": embedding model, "threshold": of the confidence, "seed", "resamples", "level": 0.95,
     "legs": {"blend"|"bm25"|"vector": {measure: E}},
     "recall_by_k": {leg: [[k, recall], …]},
     "by_lang": {lang: {leg: {measure: E}}},
     "abstention": A, "abstention_with_off_topic": A | null,
     "off_topic": {name: E of the false answers},
     "answers": {measure: E}, "answer_modes": {"extractive"|"llm": questions},
     "seconds", "notices": [],
     "questions": [{"id", "origin", "lang", "answerable", "question", "answered", "reason",
                    "confidence", "gated", "features": {}, "answer_values": {}, "mode", "seconds",
                    "legs": {leg: {"ranks": [], "relevant": n, "values": {measure: x}}},
                    "found": [{"rel_path", "heading_path", "start_line", "end_line", "snippet",
                    "score"}]}]}

    E = {"value", "low", "high", "n"}: 95 % interval; low and high are null for a single question.
    A = {"answerable", "unanswerable", "false_answers": E|null, "false_refusals": E|null,
         "auroc": E|null, "largest_gap": x|null, "reliability": [B], "reliability_by_width": [B],
         "trade_off": [T], "at_false_answers": [{"allowed", …T}]}
    B = {"low", "high", "n", "confidence", "observed"}
    T = {"threshold", "false_answers", "false_refusals"}

All shares lie in 0..1. ``reliability`` has five bins of equally many questions, by rising
confidence; ``reliability_by_width`` five of equal width. ``origin`` is "" for the set's own
questions, else the off-topic set. ``answered`` and ``confidence`` are null where the gate was
left out (``gated`` false). Names are added, never renamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragvault.evaluation.bootstrap import LEVEL, RESAMPLES, Estimate
from ragvault.evaluation.metrics import Bin, Trade
from ragvault.evaluation.results import QuestionResult
from ragvault.evaluation.summary import AbstentionSummary, Estimates, Summary
from ragvault.model import VaultInfo

KIND = "evaluation"
_DIGITS = 6


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


def as_object(evaluation: Evaluation) -> dict[str, Any]:
    """The object of the module's docstring, without ``schema_version``."""
    setting, summary = evaluation.setting, evaluation.summary
    own = [r for r in evaluation.results if not r.question.origin]
    everything = summary.everything
    return {
        "kind": KIND,
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
        "legs": _by_leg(summary.legs),
        "recall_by_k": {
            leg: [[k, _short(value)] for k, value in curve]
            for leg, curve in summary.recall_by_k.items()
        },
        "by_lang": {lang: _by_leg(legs) for lang, legs in summary.by_lang.items()},
        "abstention": abstention_object(summary.own),
        "abstention_with_off_topic": None if everything is None else abstention_object(everything),
        "off_topic": {name: _estimate(e) for name, e in summary.off_topic.items()},
        "answers": _estimates(summary.answers),
        "answer_modes": summary.modes,
        "seconds": round(evaluation.seconds, 3),
        "notices": list(evaluation.notices),
        "questions": [_question(result) for result in evaluation.results],
    }


def _by_leg(legs: Mapping[str, Estimates]) -> dict[str, Any]:
    return {leg: _estimates(estimates) for leg, estimates in legs.items()}


def _estimates(estimates: Estimates) -> dict[str, Any]:
    return {measure: _estimate(estimate) for measure, estimate in estimates.items()}


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {name: _short(value) for name, value in asdict(estimate).items()}


def abstention_object(summary: AbstentionSummary) -> dict[str, Any]:
    """How the refusals went, as JSON."""
    return {
        "answerable": summary.answerable,
        "unanswerable": summary.unanswerable,
        "false_answers": _estimate(summary.false_answers),
        "false_refusals": _estimate(summary.false_refusals),
        "auroc": _estimate(summary.auroc),
        "largest_gap": _short(summary.largest_gap),
        "reliability": _rows(summary.reliability),
        "reliability_by_width": _rows(summary.reliability_by_width),
        "trade_off": _rows(summary.at_thresholds),
        "at_false_answers": [
            {"allowed": share, **_row(trade)} for share, trade in summary.at_shares
        ],
    }


def _rows(rows: Sequence[Bin] | Sequence[Trade]) -> list[dict[str, Any]]:
    return [_row(row) for row in rows]


def _row(row: Bin | Trade) -> dict[str, Any]:
    return {name: _short(value) for name, value in asdict(row).items()}


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
        "confidence": _short(result.confidence) if result.gated else None,
        "gated": result.gated,
        "features": _shortened(result.features),
        "legs": {
            leg: {
                "ranks": list(judged.ranks),
                "relevant": judged.relevant,
                "values": _shortened(judged.values),
            }
            for leg, judged in result.legs.items()
        },
        "answer_values": _shortened(result.answer_values),
        "mode": result.mode,
        "seconds": round(result.seconds, 4),
        "found": [
            {**asdict(passage), "heading_path": list(passage.heading_path)}
            for passage in result.found
        ],
    }


def _shortened(values: Mapping[str, float]) -> dict[str, Any]:
    return {name: _short(value) for name, value in values.items()}


def _short(value: Any) -> Any:
    return round(value, _DIGITS) if isinstance(value, float) else value
