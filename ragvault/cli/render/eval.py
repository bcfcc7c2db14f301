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
from ragvault.text import strip_controls

if TYPE_CHECKING:
    from ragvault.cli.render.terminal import Terminal
    from ragvault.evaluation.metrics import Estimate
    from ragvault.evaluation.summary import Estimates, Evaluation

PLAIN_WIDTH = 100  # columns where there is no terminal
ROOMY_WIDTH = 80  # with fewer, cells are wrapped rather than cut
_SHORT = ("ndcg@10", "recall@8", "mrr@10", "section_hit@5", "span_recall@5")  # for each language

Cell = str | Text


def print_evaluation(out: Terminal, evaluation: Evaluation) -> None:
    """Everything but the single questions; --json has those."""
    tables = _Tables(out)
    vault, summary = evaluation.vault, evaluation.summary
    asked, answerable = len(evaluation.results), evaluation.answerable
    head = f"{strip_controls(evaluation.name)} on {strip_controls(vault.name)}"
    counts = [words.count(vault.notes, "note"), words.count(vault.chunks, "passage")]
    kinds = f"{answerable:,} answerable, {asked - answerable:,} not"
    text = facts(out, [head, *counts, kinds, words.duration(evaluation.seconds)])
    out.print(out.style(head, "bold") + out.style(text[len(head) :], "dim"))
    out.print(out.style("In brackets: 95 % intervals, by resampling the questions.", "dim"))
    out.print()
    out.flush()
    tables.show_ranking("Ranking", summary.rankings)
    for lang, rankings in summary.by_lang.items():
        tables.show_ranking(f"Ranking, {strip_controls(lang)}", rankings, _SHORT)
    _print_printed(tables, evaluation)
    tables.show_estimates("Refusals", summary.refusals)
    bins: list[list[Cell]] = [
        [
            f"{one.low:.2f}{tables.dash}{one.high:.2f}",
            *(f"{value:.2f}" for value in (one.confidence, one.observed, one.gap)),
            f"{one.n:,}",
        ]
        for one in summary.reliability
    ]
    columns = ["said", "answerable", "apart", "of"]
    tables.show("Confidence, by fifths of the questions", columns, bins)
    modes = ", ".join(f"{n:,} {mode}" for mode, n in summary.modes.items())
    tables.show_estimates(f"Answers ({modes})", summary.answers)


def _print_printed(tables: _Tables, evaluation: Evaluation) -> None:
    """What a person read, and what another threshold would have printed."""
    asked = evaluation.printed
    rows: list[list[Cell]] = [
        [one.label, f"{one.value:.1%}", f"{one.count:,} of {one.of:,}"] for one in shares(asked)
    ]
    tables.show("What was printed", ["", ""], rows)
    points: list[list[Cell]] = [
        [f"{at.threshold:.1f}", *(tables.share(one) for one in (at.right, at.wrong, at.false))]
        for at in curve(asked)
    ]
    columns = ["right", "wrong", "answered, not there"]
    tables.show("Quoting from a confidence of", columns, points if asked else [])


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
        """A row a measure that any retriever has, a column a retriever."""
        found = rankings.values()
        rows: list[list[Cell]] = [
            [LABELS[name], *(self.cell(one.get(name)) for one in found)]
            for name in measures
            if any(name in one for one in found)
        ]
        self.show(title, [LABELS[retriever] for retriever in rankings], rows)

    def show_estimates(self, title: str, found: Estimates) -> None:
        rows: list[list[Cell]] = [
            [LABELS[name], self.cell(one), f"{one.n:,}"] for name, one in found.items()
        ]
        self.show(title, ["", "of"], rows)

    def cell(self, estimate: Estimate | None) -> Text:
        """A value with its interval."""
        if estimate is None:
            return Text(self.dash, style="dim")
        text = Text(f"{estimate.value:.3f}")
        if estimate.low is not None and estimate.high is not None:
            interval = f" [{estimate.low:.3f}{self.dash}{estimate.high:.3f}]"
            text.append(interval, style="dim")
        return text

    def share(self, value: float | None) -> str:
        return self.dash if value is None else f"{value:.1%}"
