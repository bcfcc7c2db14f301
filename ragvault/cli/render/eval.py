"""An evaluation on a terminal: a few calm tables, each figure with its 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.cli.render.layout import counted, duration, facts, print_table
from ragvault.cli.render.terminal import Terminal
from ragvault.evaluation.judging import LABELS, Point, curve, shares
from ragvault.evaluation.metrics import Estimate
from ragvault.evaluation.runner import Estimates, Evaluation
from ragvault.text import strip_controls


def print_evaluation(out: Terminal, evaluation: Evaluation) -> None:
    """Everything but the single questions; --json has those."""
    vault = evaluation.vault
    asked, answerable = len(evaluation.results), evaluation.answerable
    head = f"{strip_controls(evaluation.name)} on {strip_controls(vault.name)}"
    counts = [counted(vault.notes, "note"), counted(vault.chunks, "passage")]
    kinds = f"{answerable:,} answerable, {asked - answerable:,} not"
    text = facts(out, [head, *counts, kinds, duration(evaluation.seconds)])
    out.print(out.style(head, "bold") + out.style(text[len(head) :], "dim"))
    out.print("In brackets: 95 % intervals.", "dim")
    _print_estimates(out, "Ranking", evaluation.ranking)
    _print_printed(out, evaluation)
    _print_estimates(out, "Refusals", evaluation.refusals)
    modes = ", ".join(f"{n:,} {mode}" for mode, n in evaluation.modes.items())
    _print_estimates(out, f"Answers ({modes})", evaluation.answers)


def _print_printed(out: Terminal, evaluation: Evaluation) -> None:
    """What a person read, and what another threshold would have printed."""
    asked = evaluation.printed
    if not asked:
        return
    rows = [
        (one.label, f"{one.value:.1%}", f"{one.count:,} of {one.of:,}") for one in shares(asked)
    ]
    print_table(out, "What was printed", ("", ""), rows)
    print_points(out, curve(asked))


def print_points(out: Terminal, points: Sequence[Point]) -> None:
    """What quoting from each confidence on comes to."""
    rows = [
        (
            f"{at.threshold:.2g}",
            *("–" if one is None else f"{one:.1%}" for one in (at.right, at.wrong, at.false)),
        )
        for at in points
    ]
    columns = ("right", "wrong", "answered, not there")
    print_table(out, "Quoting from a confidence of", columns, rows)


def _print_estimates(out: Terminal, title: str, found: Estimates) -> None:
    rows = [(LABELS[name], _figure(one), f"{one.n:,}") for name, one in found.items()]
    print_table(out, title, ("", "of"), rows)


def _figure(estimate: Estimate) -> str:
    """A value with its interval."""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.2f}–{estimate.high:.2f}]"
