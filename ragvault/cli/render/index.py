"""``index`` on a terminal: progress while it runs, then what it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragvault.cli.render import words
from ragvault.cli.render.layout import columns, facts, hanging
from ragvault.cli.render.terminal import Terminal
from ragvault.model import IndexReport, Skipped
from ragvault.text import strip_controls

if TYPE_CHECKING:
    pass


def has_news(report: IndexReport) -> bool:
    """Whether a run did anything that a person who watches would want to read."""
    return bool(report.added or report.changed or report.removed or report.renamed)


def print_report(out: Terminal, report: IndexReport) -> None:
    """One line of counts; then each skipped file with its reason, and the warnings."""
    verb = "would be " if report.dry_run else ""
    parts = [
        f"{len(report.added):,} {verb}added" if report.added else "",
        f"{len(report.changed):,} {verb}changed" if report.changed else "",
        f"{len(report.renamed):,} {verb}renamed" if report.renamed else "",
        f"{len(report.removed):,} {verb}removed" if report.removed else "",
        f"{report.unchanged:,} unchanged" if report.unchanged else "",
        f"{len(report.skipped):,} skipped" if report.skipped else "",
    ]
    totals = [] if report.dry_run else [words.count(report.chunks, "passage")]
    if report.embedded:
        totals.append(f"{report.embedded:,} embedded")
    totals.append(words.duration(report.seconds))
    name = strip_controls(report.name)
    counts = facts(out, [part for part in parts if part] or ["no notes"], lead=columns(name) + 2)
    behind = f"({', '.join(totals)})"
    last = columns(f"{name}: {counts} {behind}".rpartition("\n")[2])
    gap = "\n  " if out.is_tty and last > out.width else " "
    out.print(f"{out.style(name, 'bold')}: {counts}{gap}{out.style(behind, 'dim')}")
    if report.dry_run:
        _print_plan(out, report)
    _print_list(out, "Skipped", report.skipped)
    _print_list(out, "Indexed, but", report.warnings)


def _print_plan(out: Terminal, report: IndexReport) -> None:
    for sign, style, paths in (
        ("+", "green", report.added),
        ("~", "yellow", report.changed),
        ("-", "red", report.removed),
    ):
        for path in words.shortened(paths, 20):
            out.print(f"  {out.style(sign, style)} {one_line(path)}")
    arrow = out.symbol("→", "->")
    for line in words.shortened(
        [f"{one_line(a)} {arrow} {one_line(b)}" for a, b in report.renamed]
    ):
        out.print(f"  {out.style('>', 'cyan')} {line}")


def _print_list(out: Terminal, title: str, entries: Sequence[Skipped]) -> None:
    if not entries:
        return
    out.print(out.style(f"  {title}:", "yellow"))
    lines = [f"{one_line(entry.path)}: {one_line(entry.reason)}" for entry in entries]
    for line in words.shortened(lines):
        out.print(f"    {hanging(out, line, 6)}")


def one_line(text: str) -> str:
    """A path or sentence without control characters; a line break in it shows as a blank."""
    return " ".join(strip_controls(text).split("\n"))
