"""Past answers on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.cli.render.layout import columns, duration, print_table
from ragvault.cli.render.places import highlighted
from ragvault.cli.render.terminal import Terminal
from ragvault.cli.session import Session
from ragvault.model import AskResult, HistoryEntry, Hit, shown_confidence
from ragvault.service.history import Stats
from ragvault.service.json_objects import local_day, local_time
from ragvault.service.originals import Source
from ragvault.service.search import Terms
from ragvault.text import one_line, snippet, strip_controls

_AROUND = 3  # lines of the note before and after a source
_COLOURS = {"-": "red", "+": "green"}


def print_history(out: Terminal, entries: Sequence[HistoryEntry]) -> None:
    """A line each: number, time, confidence, question."""
    if not entries:
        out.print("Nothing found.", "bold")
        return
    width = max(len(str(entry.id)) for entry in entries)
    for entry in entries:
        kept = entry.document
        sure = "–" if kept["abstained"] else shown_confidence(kept["confidence"])
        head = f"{entry.id:>{width}}  {local_time(entry.asked_at)}  {sure:<4}  "
        question = one_line(kept["question"])
        if out.is_tty:
            question = snippet(question, max(8, out.width - columns(head)))
        out.print(f"{out.style(head, 'dim')}{question}")


def print_source(
    session: Session, entry: HistoryEntry, hit: Hit, source: Source, result: AskResult
) -> None:
    """A source behind a bar, its lines numbered, between the lines around it; where it changed,
    how."""
    out, view = session.out, session.places()
    terms = Terms.of(result.terms, result.language)
    out.print(f"{view.path(hit)}{view.section(hit)}")
    day = local_day(entry.asked_at)
    if source.lines is None:
        out.print(f"⚠ The note isn't there any more. On {day} it said:", "yellow")
    elif not source.first:
        out.print(f"⚠ This isn't in the note any more. On {day}:", "yellow")
    elif source.difference:
        out.print(f"⚠ Changed since it was cited on {day}:", "yellow")
    for line in source.difference if source.first else hit.chunk.text.split("\n"):
        mark = line[:1] if source.first else ""
        text = strip_controls(line)
        out.print(text, _COLOURS.get(mark, ""))
    if not source.first:
        return
    if source.difference:
        out.print()
    lines = source.lines or ()
    first, last = max(1, source.first - _AROUND), min(len(lines), source.last + _AROUND)
    for number in range(first, last + 1):
        text = strip_controls(lines[number - 1])
        head = f"{number:>{len(str(last))}}"
        if source.first <= number <= source.last:
            out.print(f"{out.style(f'{head} │', 'cyan')} {highlighted(text, terms, out)}".rstrip())
        else:
            out.print(f"{head}   {text}".rstrip(), "dim")


def print_stats(out: Terminal, rows: Sequence[Stats], refused: Sequence[tuple[str, int]]) -> None:
    """A line a month, the last of all; then the questions that most often had no answer."""
    heads = ("answered", "pointed at", "nothing", "median time", "citations kept")
    lines = []
    for row in rows:
        took = "–" if row.total_ms is None else duration(row.total_ms / 1000)
        kept = f"{row.exact * 100 // row.cited} % of {row.cited}" if row.cited else "–"
        counts = (f"{count}" for count in (row.answered, row.pointed, row.nothing))
        lines.append((row.month, *counts, took, kept))
    print_table(out, "", heads, lines)
    if refused:
        out.print(f"\n{out.style('Asked in vain most often', 'bold')}")
    for question, times in refused:
        out.print(f"{times:>4}  {one_line(question)}")
