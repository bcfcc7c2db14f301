"""``index`` on a terminal: progress while it runs, then what it did."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragvault.cli.render import words
from ragvault.cli.render.bar import bar
from ragvault.cli.render.layout import columns, facts, hanging
from ragvault.cli.render.terminal import Terminal
from ragvault.model import IndexReport, Skipped
from ragvault.text import strip_controls

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress, TaskID


class SilentProgress:
    """For --json, pipes and quiet runs: only the messages, on stderr."""

    def __init__(self, err: Terminal) -> None:
        self._err = err

    def start(self, vault: str, notes: int) -> None: ...

    def advance(self, *, notes: int = 0, chunks: int = 0) -> None: ...

    def note(self, message: str) -> None:
        self._err.print(strip_controls(message))

    def finish(self) -> None: ...


class BarProgress:
    """A bar on stderr: notes and passages done, rate, time left."""

    def __init__(self, err: Terminal) -> None:
        self._err = err
        self._progress: RichProgress | None = None
        self._task: TaskID | None = None
        self._chunks = 0
        self._started = 0.0

    def start(self, vault: str, notes: int) -> None:
        self.finish()
        if notes == 0:
            return
        self._progress = bar(self._err, "notes", "rate")
        self._chunks = 0
        self._started = time.monotonic()
        name = words_cut(strip_controls(vault), 20)
        self._task = self._progress.add_task(name, total=notes, rate="")
        self._progress.start()

    def advance(self, *, notes: int = 0, chunks: int = 0) -> None:
        if self._progress is None or self._task is None:
            return
        self._chunks += chunks
        seconds = max(time.monotonic() - self._started, 1e-3)
        rate = f"{words.count(self._chunks, 'passage')}, {self._chunks / seconds:.0f}/s"
        self._progress.update(self._task, advance=notes, rate=rate)

    def note(self, message: str) -> None:
        if self._progress is None:
            self._err.print(strip_controls(message))
        else:
            from rich.text import Text

            self._progress.console.print(Text(strip_controls(message)))

    def finish(self) -> None:
        if self._progress is not None:
            self._progress.stop()
        self._progress = self._task = None


def has_news(report: IndexReport) -> bool:
    """Whether a run did anything that a person who watches would want to read."""
    return bool(report.added or report.changed or report.removed or report.renamed)


def words_cut(text: str, limit: int) -> str:
    """At most ``limit`` characters, the last an ellipsis where something is left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


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
