"""An evaluation as one HTML page: curves, figures, and the questions that went worst.

Self-contained (no script, no request), readable in light and dark; ``report.html.j2`` is the page.
All text of notes and questions is escaped there, and stripped of control characters here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ragvault.evaluation.dataset import Gold
from ragvault.evaluation.document import Evaluation
from ragvault.evaluation.judging import (
    BLEND,
    LABELS,
    RANKING_MEASURES,
    Passage,
    QuestionResult,
)
from ragvault.evaluation.summary import (
    RECALL_DEPTHS,
    AbstentionSummary,
    Summary,
    ranking_rows,
    refusal_rows,
)
from ragvault.text import strip_controls

WORST = 15  # questions of each list
_SHORT = ("ndcg@10", "recall@8", "section_hit@5")  # for each language


def page(evaluation: Evaluation) -> str:
    """The whole page as text."""
    from jinja2 import Environment, StrictUndefined

    summary = evaluation.summary
    own = [r for r in evaluation.results if not r.question.origin]
    everything = [("Ranking", summary.rankings, RANKING_MEASURES)]
    by_lang = [(lang, rankings, _SHORT) for lang, rankings in summary.by_lang.items()]
    tables = [
        (title, [LABELS[retriever] for retriever in rankings], ranking_rows(rankings, measures))
        for title, rankings, measures in [*everything, *by_lang]
    ]
    refusals = [(name, one) for name, one, _ in refusal_rows(summary)]
    refusals += [(LABELS[measure], one) for measure, one in summary.answers.items()]
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = resources.files(__package__).joinpath("report.html.j2").read_text(encoding="utf-8")
    return environment.from_string(text).render(
        setting=evaluation.setting,
        answerable=sum(r.question.answerable for r in own),
        unanswerable=sum(not r.question.answerable for r in own),
        charts=list(_charts(evaluation)),
        tables=[(title, names, rows) for title, names, rows in tables if rows],
        refusals=refusals,
        worst=[one for one in _worst(evaluation.results) if one[1]],
        most=WORST,
        rows_of=_rows,
    )


def _printable(value: Any) -> Any:
    """Text in one line; a file name that isn't UTF-8 shows as ?. The template's own marks stay."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return " ".join(strip_controls(value).encode("utf-8", "replace").decode().split())


# --------------------------------------------------------------------------- curves

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axis:
    """``ticks`` are (value, label); the ends are the first and the last value."""

    label: str
    ticks: tuple[tuple[float, str], ...]

    def share(self, value: float) -> float:
        """Where a value lies on it: 0 at the low end, 1 at the high one."""
        low, high = self.ticks[0][0], self.ticks[-1][0]
        return (value - low) / ((high - low) or 1.0)


@dataclass(frozen=True, slots=True)
class Line:
    """``style`` is a class that the page defines; a dashed line is a guide. One without a name
    isn't in the legend."""

    name: str
    points: tuple[Point, ...]
    style: str
    dashed: bool = False
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """``caption`` stands above the drawing, ``told`` below it."""

    caption: str
    told: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]


def _charts(evaluation: Evaluation) -> Iterable[Chart]:
    summary = evaluation.summary
    if summary.recall_by_k:
        yield _recall_chart(summary)
    judged = summary.own if summary.own.curve else summary.everything
    if judged is not None and judged.curve:
        yield _reliability_chart(judged)
        yield _trade_chart(judged, evaluation.setting.threshold)


def _percent_axis(label: str, low: float = 0.0) -> Axis:
    """From ``low`` to 1 in five steps."""
    steps = [low + (1.0 - low) * i / 5 for i in range(6)]
    return Axis(label, tuple((step, f"{step:.0%}") for step in steps))


def _recall_chart(summary: Summary) -> Chart:
    lines = tuple(
        Line(LABELS[retriever], tuple((float(k), value) for k, value in curve), style)
        for (retriever, curve), style in zip(
            summary.recall_by_k.items(), ("s1", "s2", "s3"), strict=False
        )
    )
    lowest = min(value for line in lines for _, value in line.points)
    marks = (1, 5, 10, 15, RECALL_DEPTHS[-1])
    return Chart(
        "Recall by k",
        "How many of the right notes are among the first k.",
        Axis("first k notes", tuple((float(k), str(k)) for k in marks)),
        _percent_axis("right notes found", max(0.0, int(lowest * 10 - 1) / 10)),
        lines,
    )


def _reliability_chart(judged: AbstentionSummary) -> Chart:
    points = tuple((b.confidence, b.observed) for b in judged.reliability)
    gap = judged.largest_gap or 0.0
    return Chart(
        "Is the confidence true?",
        f"Each dot is a fifth of the questions. Largest distance from the line: {gap:.2f}.",
        _percent_axis("confidence"),
        _percent_axis("answerable"),
        (
            Line("as it should be", ((0.0, 0.0), (1.0, 1.0)), "s4", dashed=True),
            Line("observed", points, "s1", dots=True),
        ),
    )


def _trade_chart(judged: AbstentionSummary, threshold: float) -> Chart:
    wrong_yes = tuple((t.threshold, t.false_answers or 0.0) for t in judged.curve)
    wrong_no = tuple((t.threshold, t.false_refusals or 0.0) for t in judged.curve)
    return Chart(
        "What a threshold costs",
        f"The dashed line is the threshold in force, {threshold:.2f}.",
        _percent_axis("refuse below this confidence"),
        _percent_axis("of the questions"),
        (
            Line("", ((threshold, 0.0), (threshold, 1.0)), "s4", dashed=True),
            Line("false answers", wrong_yes, "s2"),
            Line("false refusals", wrong_no, "s1"),
        ),
    )


# --------------------------------------------------------------------------- figures and questions


def _worst(
    results: Sequence[QuestionResult],
) -> Iterable[tuple[str, list[QuestionResult], str]]:
    """Title, questions, what their order is."""

    def gain(result: QuestionResult) -> float:
        return result.rankings[BLEND].values["ndcg@10"]

    ranked = [r for r in results if BLEND in r.rankings and gain(r) < 1.0]
    ranked.sort(key=lambda r: (gain(r), -r.confidence, r.question.key))
    yield "Worst ranked", ranked, "Questions whose right note ranks too low."
    gated = [r for r in results if r.gated]
    wrong_yes = [r for r in gated if r.answered and not r.question.answerable]
    wrong_yes.sort(key=lambda r: (-r.confidence, r.question.key))
    yield "Answered without an answer there", wrong_yes, "The surest first."
    wrong_no = [r for r in gated if not r.answered and r.question.answerable]
    wrong_no.sort(key=lambda r: (r.confidence, r.question.key))
    yield "Refused though the answer is there", wrong_no, "The least sure first."


def _rows(result: QuestionResult) -> list[tuple[str, str]]:
    """What there is to say of a question: (name, value)."""
    rows: list[tuple[str, str]] = []
    if result.question.answerable:
        rows += [("expected", _gold(gold)) for gold in result.question.gold[:3]]
        if BLEND in result.rankings:
            ranks = result.rankings[BLEND].ranks
            rows.append(("at rank", ", ".join(map(str, ranks)) or "not found"))
    rows += [("found", _passage(passage)) for passage in result.found] or [("found", "nothing")]
    if result.gated:
        said = "answered" if result.answered else f"refused: {result.reason}".replace("_", " ")
        rows.append(("decision", f"{said}, confidence {result.confidence:.2f}"))
    return rows


def _gold(gold: Gold) -> str:
    place = gold.file if not gold.heading else f"{gold.file} › {gold.heading}"
    return f"{place}: “{gold.text[:200]}”" if gold.text else place


def _passage(passage: Passage) -> str:
    place = " › ".join((passage.rel_path, *passage.heading_path))
    score = f" ({passage.score:.2f})" if passage.score is not None else ""
    return f"{place}{score}: {passage.snippet}"
