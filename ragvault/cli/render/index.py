"""``index`` on a terminal: what it did, vault by vault; or all of it as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.cli.failure import print_failure
from ragvault.cli.render.layout import columns, counted, duration, facts, hanging, shortened
from ragvault.cli.render.terminal import BarProgress, Terminal, print_json
from ragvault.cli.session import Session
from ragvault.model import IndexReport, Skipped
from ragvault.service.index import IndexEvent, OutOfReach, SetAside, has_news
from ragvault.text import one_line, strip_controls


class IndexView:
    """One ``index`` command as its events come."""

    def __init__(self, session: Session, *, as_json: bool, quiet: bool = False) -> None:
        self.progress = None if as_json else BarProgress(session.err)
        self._session = session
        self._as_json = as_json
        self._quiet = quiet
        self._has_refreshed = False
        self._reports: list[IndexReport] = []
        self._out_of_reach: list[OutOfReach] = []

    def show(self, event: IndexEvent) -> None:
        """JSON, and what is out of reach, wait for the end."""
        if isinstance(event, SetAside):
            self._reports, self._out_of_reach = [], []
            told = "The index was damaged; a new one is made."
            if event.kept is not None:
                told = f"The damaged index was set aside as {event.kept}; a new one is made."
            self._session.notices([told])
        elif isinstance(event, OutOfReach):
            self._out_of_reach.append(event)
        else:
            self._has_refreshed = True
            self._session.notices(event.notices)
            if self._quiet and not has_news(event):
                return
            if self._as_json:
                self._reports.append(event)  # a watch goes on for ever: it keeps none
            else:
                print_report(self._session.out, event)
                self._session.out.flush()

    def finish(self) -> int:
        """The rest; returns the exit code. A vault that is out of reach is a warning where others
        were refreshed."""
        if self._as_json:
            from ragvault.service.json_objects import index_object

            print_json(index_object(self._reports, self._out_of_reach))
        elif self._has_refreshed:
            self._session.notices(
                f"{strip_controls(one.vault.name)}: {one.error.message} {one.error.hint}"
                for one in self._out_of_reach
            )
        else:
            for one in self._out_of_reach:
                print_failure(self._session.err, f"{strip_controls(one.vault.name)}:", one.error)
        if self._has_refreshed or not self._out_of_reach:
            return 0
        return self._out_of_reach[0].error.exit_code


def print_report(out: Terminal, report: IndexReport) -> None:
    """One line of counts; then each skipped file with its reason, and the warnings."""
    verb = "would be " if report.dry_run else ""
    numbers = {
        f"{verb}added": len(report.added),
        f"{verb}changed": len(report.changed),
        f"{verb}renamed": len(report.renamed),
        f"{verb}removed": len(report.removed),
        "unchanged": report.unchanged,
        "skipped": len(report.skipped),
    }
    parts = [f"{number:,} {what}" for what, number in numbers.items() if number]
    totals = [] if report.dry_run else [counted(report.chunks, "passage")]
    if report.embedded:
        totals.append(f"{report.embedded:,} embedded")
    totals.append(duration(report.seconds))
    name = strip_controls(report.name)
    counts = facts(out, parts or ["no notes"], lead=columns(name) + 2)
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
        for path in shortened(paths, 20):
            out.print(f"  {out.style(sign, style)} {one_line(path)}")
    for line in shortened([f"{one_line(a)} → {one_line(b)}" for a, b in report.renamed]):
        out.print(f"  {out.style('>', 'cyan')} {line}")


def _print_list(out: Terminal, title: str, entries: Sequence[Skipped]) -> None:
    if not entries:
        return
    out.print(f"  {title}:", "yellow")
    lines = [f"{one_line(entry.path)}: {one_line(entry.reason)}" for entry in entries]
    for line in shortened(lines):
        out.print(f"    {hanging(out, line, 6)}")
