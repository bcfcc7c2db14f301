"""An evaluation on a terminal: a few calm tables, every figure with its 95 % interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragvault.cli.render import words
from ragvault.cli.render.layout import facts
from ragvault.evaluation.judging import DECISION_MEASURES, LABELS, RANKING_MEASURES
from ragvault.text import strip_controls

if TYPE_CHECKING:
    from ragvault.cli.render.terminal import Terminal
    from ragvault.evaluation.calibrate import CalibrationResult
    from ragvault.evaluation.compare import Comparison, Difference
    from ragvault.evaluation.document import Evaluation
    from ragvault.evaluation.metrics import Bin, Estimate, Trade
    from ragvault.evaluation.summary import AbstentionSummary, Estimates, Summary

PLAIN_WIDTH = 100  # columns where there is no terminal
ROOMY_WIDTH = 80  # with fewer, cells are wrapped rather than cut


def print_evaluation(out: Terminal, evaluation: Evaluation) -> None:
    """Everything but the single questions; --json and --report have those."""
    view = _View(out)
    summary = evaluation.summary
    view.head(evaluation)
    if summary.rankings:
        view.show(view.ranking("Ranking", summary.rankings))
    for lang, rankings in summary.by_lang.items():
        view.show(view.ranking(f"Ranking, {strip_controls(lang)}", rankings, _SHORT))
    view.show(view.refusals(summary))
    judged = summary.own if summary.own.reliability else summary.everything
    if judged is not None and judged.reliability:
        with_others = judged is not summary.own
        view.show(view.confidence(judged.reliability, with_others))
        view.show(view.thresholds(judged, evaluation.setting.threshold))
    if summary.answers:
        view.show(view.answers(summary))


def print_comparison(out: Terminal, comparison: Comparison, a: str, b: str) -> None:
    """One row a measure; what is clear stands out."""
    view = _View(out)
    parts = [f"A: {a}", f"B: {b}", words.count(comparison.shared, "question") + " in both"]
    for only, name in ((comparison.only_a, a), (comparison.only_b, b)):
        if only:
            parts.append(f"{only:,} only in {name}")
    out.print(_headline(out, [strip_controls(part) for part in parts], bold=2))
    out.print()
    out.flush()
    for retriever in dict.fromkeys(one.retriever for one in comparison.differences):
        title = "Decisions and answers" if retriever is None else f"Ranking, {LABELS[retriever]}"
        rows = [one for one in comparison.differences if one.retriever == retriever]
        view.show(view.differences(title, rows))


def print_calibration(out: Terminal, result: CalibrationResult, threshold: float) -> None:
    """The coefficients, then what each threshold gives before and after."""
    view = _View(out)
    before, after = result.before, result.after
    n = words.count(before.answerable + before.unanswerable, "question")
    how = f", fitted to {n}" if result.fits else ", as built in"
    model = strip_controls(result.settings.model)
    out.print(out.style(f"Confidence for {model}", "bold") + out.style(how, "dim"))
    told = "Below, each question is judged by a fit that has not seen it (cross-validation)."
    out.print(out.style(told, "dim"))
    out.print()
    out.flush()
    view.show(view.coefficients(result))
    view.show(view.before_and_after(before, after))
    view.show(view.two_thresholds(before, after, threshold))


def _headline(out: Terminal, parts: Sequence[str], *, bold: int = 1) -> str:
    """Facts, the first of them in bold."""
    text = facts(out, parts)
    end = len(facts(out, parts[:bold]))
    return out.style(text[:end], "bold") + out.style(text[end:], "dim")


_SHORT = ("ndcg@10", "recall@8", "mrr@10", "section_hit@5", "span_recall@5")


class _View:
    """Tables for one stream."""

    def __init__(self, out: Terminal) -> None:
        self._out = out
        self._console = Console(
            file=out.stream,
            no_color=not out.colour,
            force_terminal=out.colour,
            width=out.width if out.is_tty else PLAIN_WIDTH,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._dash = out.symbol("–", "-")

    def show(self, table: Table | None) -> None:
        if table is not None:
            self._console.print(table)
            self._console.print()

    def head(self, evaluation: Evaluation) -> None:
        out, setting = self._out, evaluation.setting
        vault = setting.vault
        own = [r for r in evaluation.results if not r.question.origin]
        answerable = sum(r.question.answerable for r in own)
        parts = [
            f"{strip_controls(setting.name)} on {strip_controls(vault.name)}",
            f"{words.count(vault.notes, 'note')}, {words.count(vault.chunks, 'passage')}",
            f"{answerable:,} answerable, {len(own) - answerable:,} not",
            words.duration(evaluation.seconds),
        ]
        out.print(_headline(out, parts))
        out.print(out.style("In brackets: 95 % intervals, by resampling the questions.", "dim"))
        out.print()
        out.flush()

    # ---------------------------------------------------------------- tables

    def ranking(
        self,
        title: str,
        rankings: Mapping[str, Estimates],
        measures: Iterable[str] = RANKING_MEASURES,
    ) -> Table | None:
        present = [m for m in measures if any(m in estimates for estimates in rankings.values())]
        if not present:
            return None
        table = self._table(title, [LABELS[retriever] for retriever in rankings])
        for measure in present:
            cells = [self._cell(estimates.get(measure)) for estimates in rankings.values()]
            table.add_row(LABELS[measure], *cells)
        return table

    def refusals(self, summary: Summary) -> Table | None:
        own, everything, off_topic = summary.own, summary.everything, summary.off_topic
        label = DECISION_MEASURES
        rows = [
            (label["false_answers"], own.false_answers, ".1%"),
            *(
                (f"{label['false_answers_off_topic']}, {strip_controls(name)}", estimate, ".1%")
                for name, estimate in off_topic.items()
            ),
            (label["false_refusals"], own.false_refusals, ".1%"),
            (label["auroc"], own.auroc, ".3f"),
            ("AUROC, off-topic ones included", everything.auroc if everything else None, ".3f"),
        ]
        table = self._table("Refusals", ["", "of"])
        for name, estimate, style in rows:
            if estimate is not None:
                table.add_row(name, self._cell(estimate, style), f"{estimate.n:,}")
        return table if table.row_count else None

    def confidence(self, bins: Sequence[Bin], with_others: bool) -> Table:
        title = "Confidence, by fifths of the questions"
        title += " (off-topic ones included)" if with_others else ""
        table = self._table(title, ["said", "answerable", "apart", "of"])
        for one in bins:
            table.add_row(
                f"{one.low:.2f}{self._dash}{one.high:.2f}",
                f"{one.confidence:.2f}",
                f"{one.observed:.2f}",
                f"{one.gap:.2f}",
                f"{one.n:,}",
            )
        return table

    def thresholds(self, judged: AbstentionSummary, threshold: float) -> Table:
        table = self._table("Refusing below", ["false answers", "false refusals"])
        for trade in judged.at_thresholds:
            mark = "  (now)" if abs(trade.threshold - threshold) < 1e-9 else ""
            table.add_row(f"{trade.threshold:.2f}{mark}", *self._trade(trade))
        for share, trade in judged.at_shares:
            label = f"{trade.threshold:.2f}  for {share:.0%} false answers"
            table.add_row(label, *self._trade(trade))
        return table

    def answers(self, summary: Summary) -> Table:
        modes = ", ".join(f"{n:,} {mode}" for mode, n in summary.modes.items())
        table = self._table(f"Answers ({modes})" if modes else "Answers", [""])
        for measure, estimate in summary.answers.items():
            table.add_row(LABELS[measure], self._cell(estimate))
        return table

    def differences(self, title: str, rows: Sequence[Difference]) -> Table:
        table = self._table(title, ["A", "B", "B - A", ""])
        for one in rows:
            sign = self._verdict(one) if one.change.is_clear else ""
            change = Text(f"{one.change.value:+.3f}")
            if one.change.low is not None and one.change.high is not None:
                interval = f" [{one.change.low:+.3f} {self._dash} {one.change.high:+.3f}]"
                change.append(interval, style="dim")
            name = LABELS[one.measure]
            table.add_row(name, f"{one.a:.3f}", f"{one.b:.3f}", change, sign)
        return table

    def _verdict(self, one: Difference) -> Text:
        is_better = (one.change.value < 0) == one.lower_is_better
        return Text("better", style="green") if is_better else Text("worse", style="red")

    def coefficients(self, result: CalibrationResult) -> Table:
        table = self._table("Feature", ["coefficient"])
        parts = (("topic", result.settings.topic), ("answered", result.settings.answered))
        for title, part in parts:
            if part is None:
                continue
            if result.settings.answered is not None:
                kept = ", as built in" if title in result.kept else ""
                table.add_row(Text(f"{title}{kept}", style="bold"), "")
            for name, weight in zip(part.features, part.coefficients, strict=True):
                table.add_row(name, f"{weight:.2f}")
            table.add_row("intercept", f"{part.intercept:.2f}")
        return table

    def before_and_after(self, before: AbstentionSummary, after: AbstentionSummary) -> Table:
        table = self._table("", ["now", "fitted"])
        for measure in ("false_answers", "false_refusals", "auroc"):
            cells = [self._cell(getattr(one, measure)) for one in (before, after)]
            table.add_row(DECISION_MEASURES[measure], *cells)
        gaps = [
            self._dash if g is None else f"{g:.3f}" for g in (before.largest_gap, after.largest_gap)
        ]
        table.add_row("largest gap to the observed rate, in fifths", *gaps)
        return table

    def two_thresholds(
        self, before: AbstentionSummary, after: AbstentionSummary, threshold: float
    ) -> Table:
        columns = ["false answers now", "refusals", "false answers fitted", "refusals"]
        table = self._table("Refusing below", columns)
        for one, other in zip(before.at_thresholds, after.at_thresholds, strict=True):
            mark = "  (in force)" if abs(one.threshold - threshold) < 1e-9 else ""
            cells = (*self._trade(one), *self._trade(other))
            table.add_row(f"{one.threshold:.2f}{mark}", *cells)
        return table

    # ---------------------------------------------------------------- cells

    def _table(self, title: str, columns: Iterable[str]) -> Table:
        table = Table(
            box=box.SIMPLE_HEAD if self._out.unicode else box.ASCII,
            show_edge=False,
            pad_edge=False,
            header_style="bold",
        )
        roomy = self._console.width >= ROOMY_WIDTH
        table.add_column(Text(title), min_width=34 if roomy else 12)
        for column in columns:
            table.add_column(Text(column), justify="right", no_wrap=roomy, overflow="fold")
        return table

    def _cell(self, estimate: Estimate | None, style: str = ".3f") -> Text:
        """A value with its interval."""
        if estimate is None:
            return Text(self._dash, style="dim")
        text = Text(f"{estimate.value:{style}}")
        if estimate.low is not None and estimate.high is not None:
            interval = f" [{estimate.low:{style}}{self._dash}{estimate.high:{style}}]"
            text.append(interval, style="dim")
        return text

    def _trade(self, trade: Trade) -> tuple[str, str]:
        shares = (trade.false_answers, trade.false_refusals)
        first, second = (self._dash if share is None else f"{share:.1%}" for share in shares)
        return first, second
