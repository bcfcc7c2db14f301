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
from ragvault.evaluation.judging import LABELS, RANKING_MEASURES
from ragvault.evaluation.printed import curve, shares
from ragvault.evaluation.summary import ranking_rows, refusal_rows
from ragvault.text import strip_controls

if TYPE_CHECKING:
    from ragvault.cli.render.terminal import Terminal
    from ragvault.evaluation.compare import Comparison, Difference
    from ragvault.evaluation.document import Evaluation
    from ragvault.evaluation.metrics import Estimate, Trade
    from ragvault.evaluation.summary import AbstentionSummary, Estimates

PLAIN_WIDTH = 100  # columns where there is no terminal
ROOMY_WIDTH = 80  # with fewer, cells are wrapped rather than cut
_SHORT = ("ndcg@10", "recall@8", "mrr@10", "section_hit@5", "span_recall@5")  # for each language

Cell = str | Text


def print_evaluation(out: Terminal, evaluation: Evaluation) -> None:
    """Everything but the single questions; --json has those."""
    tables = _Tables(out)
    setting, summary = evaluation.setting, evaluation.summary
    own = [r for r in evaluation.results if not r.question.origin]
    answerable = sum(r.question.answerable for r in own)
    parts = [
        f"{strip_controls(setting.name)} on {strip_controls(setting.vault.name)}",
        f"{words.count(setting.vault.notes, 'note')}, "
        f"{words.count(setting.vault.chunks, 'passage')}",
        f"{answerable:,} answerable, {len(own) - answerable:,} not",
        words.duration(evaluation.seconds),
    ]
    _print_head(out, parts, "In brackets: 95 % intervals, by resampling the questions.")
    tables.show_ranking("Ranking", summary.rankings)
    for lang, rankings in summary.by_lang.items():
        tables.show_ranking(f"Ranking, {strip_controls(lang)}", rankings, _SHORT)
    _print_printed(tables, evaluation)
    rows: list[list[Cell]] = [
        [strip_controls(name), tables.cell(one, ".3f" if is_area else ".1%"), f"{one.n:,}"]
        for name, one, is_area in refusal_rows(summary)
    ]
    tables.show("Refusals", ["", "of"], rows)
    judged = summary.own if summary.own.reliability else summary.everything
    if judged is not None and judged.reliability:
        _print_confidence(tables, judged, setting.threshold, is_own=judged is summary.own)
    if summary.answers:
        modes = ", ".join(f"{n:,} {mode}" for mode, n in summary.modes.items())
        rows = [[LABELS[name], tables.cell(one)] for name, one in summary.answers.items()]
        tables.show(f"Answers ({modes})" if modes else "Answers", [""], rows)


def _print_printed(tables: _Tables, evaluation: Evaluation) -> None:
    """What a person read, and what another threshold would have printed."""
    asked = evaluation.printed
    rows: list[list[Cell]] = [
        [one.label, f"{one.value:.1%}", f"{one.count:,} of {one.of:,}"] for one in shares(asked)
    ]
    tables.show("What was printed", ["", ""], rows)
    if not asked:
        return
    points: list[list[Cell]] = [
        [f"{at.threshold:.1f}", *(tables.share(one) for one in (at.right, at.wrong, at.false))]
        for at in curve(asked)
    ]
    tables.show("Quoting from a confidence of", ["right", "wrong", "answered, not there"], points)


def _print_confidence(
    tables: _Tables, judged: AbstentionSummary, threshold: float, *, is_own: bool
) -> None:
    """How true it is, and what another threshold on it would do."""
    title = "Confidence, by fifths of the questions"
    tables.show(
        title if is_own else f"{title} (off-topic ones included)",
        ["said", "answerable", "apart", "of"],
        [
            [
                f"{one.low:.2f}{tables.dash}{one.high:.2f}",
                *(f"{value:.2f}" for value in (one.confidence, one.observed, one.gap)),
                f"{one.n:,}",
            ]
            for one in judged.reliability
        ],
    )
    rows = [
        tables.trades(one.threshold, "  (now)" if one.threshold == threshold else "", one)
        for one in judged.at_thresholds
    ]
    tables.show("Refusing below", ["false answers", "false refusals"], rows)


def print_comparison(out: Terminal, comparison: Comparison, a: str, b: str) -> None:
    """One row a measure; what is clear stands out."""
    tables = _Tables(out)
    parts = [f"A: {a}", f"B: {b}", words.count(comparison.shared, "question") + " in both"]
    for only, name in ((comparison.only_a, a), (comparison.only_b, b)):
        if only:
            parts.append(f"{only:,} only in {name}")
    _print_head(out, [strip_controls(part) for part in parts], bold=2)

    def row(one: Difference) -> list[Cell]:
        change = Text(f"{one.change.value:+.3f}")
        if one.change.low is not None and one.change.high is not None:
            interval = f" [{one.change.low:+.3f} {tables.dash} {one.change.high:+.3f}]"
            change.append(interval, style="dim")
        is_better = (one.change.value < 0) == one.lower_is_better
        verdict = Text("better", style="green") if is_better else Text("worse", style="red")
        sign = verdict if one.change.is_clear else ""
        return [LABELS[one.measure], f"{one.a:.3f}", f"{one.b:.3f}", change, sign]

    for retriever in dict.fromkeys(one.retriever for one in comparison.differences):
        title = "Decisions and answers" if retriever is None else f"Ranking, {LABELS[retriever]}"
        rows = [row(one) for one in comparison.differences if one.retriever == retriever]
        tables.show(title, ["A", "B", "B - A", ""], rows)


def _print_head(out: Terminal, parts: Sequence[str], told: str = "", *, bold: int = 1) -> None:
    """Facts, the first of them in bold, and what there is to know of the tables below."""
    text, end = facts(out, parts), len(facts(out, parts[:bold]))
    out.print(out.style(text[:end], "bold") + out.style(text[end:], "dim"))
    if told:
        out.print(out.style(told, "dim"))
    out.print()
    out.flush()


class _Tables:
    """Tables, and the cells of their figures, on one stream."""

    def __init__(self, out: Terminal) -> None:
        self._console = Console(
            file=out.stream,
            no_color=not out.colour,
            force_terminal=out.colour,
            width=out.width if out.is_tty else PLAIN_WIDTH,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._box = box.SIMPLE_HEAD if out.unicode else box.ASCII
        self.dash = out.symbol("–", "-")

    def show(self, title: str, columns: Iterable[str], rows: Sequence[Sequence[Cell]]) -> None:
        """``title`` heads the rows' names; without rows nothing is shown."""
        if not rows:
            return
        table = Table(box=self._box, show_edge=False, pad_edge=False, header_style="bold")
        roomy = self._console.width >= ROOMY_WIDTH
        table.add_column(Text(title), min_width=34 if roomy else 12)
        for column in columns:
            table.add_column(Text(column), justify="right", no_wrap=roomy, overflow="fold")
        for row in rows:
            table.add_row(*row)
        self._console.print(table)
        self._console.print()

    def show_ranking(
        self,
        title: str,
        rankings: Mapping[str, Estimates],
        measures: Iterable[str] = RANKING_MEASURES,
    ) -> None:
        rows: list[list[Cell]] = [
            [name, *(self.cell(one) for one in found)]
            for name, found in ranking_rows(rankings, measures)
        ]
        self.show(title, [LABELS[retriever] for retriever in rankings], rows)

    def cell(self, estimate: Estimate | None, style: str = ".3f") -> Text:
        """A value with its interval."""
        if estimate is None:
            return Text(self.dash, style="dim")
        text = Text(f"{estimate.value:{style}}")
        if estimate.low is not None and estimate.high is not None:
            interval = f" [{estimate.low:{style}}{self.dash}{estimate.high:{style}}]"
            text.append(interval, style="dim")
        return text

    def share(self, value: float | None) -> str:
        return self.dash if value is None else f"{value:.1%}"

    def trades(self, threshold: float, mark: str, *trades: Trade) -> list[Cell]:
        """A row: what a threshold costs, by each of some confidences."""
        costs = [cost for one in trades for cost in (one.false_answers, one.false_refusals)]
        return [f"{threshold:.2f}{mark}", *map(self.share, costs)]
