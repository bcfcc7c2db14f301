"""Past answers on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.cli.render import words
from ragvault.cli.render.layout import columns, one_line
from ragvault.cli.render.terminal import Terminal
from ragvault.model import HistoryEntry
from ragvault.service.json_objects import local_time


def print_history(out: Terminal, entries: Sequence[HistoryEntry]) -> None:
    """A line each: number, time, confidence, question."""
    if not entries:
        out.print(out.style("Nothing found.", "bold"))
        return
    width = max(len(str(entry.id)) for entry in entries)
    none = out.symbol("–", "-")
    for entry in entries:
        kept = entry.document
        sure = none if kept["abstained"] else words.unit(kept["confidence"])
        head = f"{entry.id:>{width}}  {local_time(entry.asked_at)}  {sure:<4}  "
        question = one_line(kept["question"])
        if out.is_tty:
            question = words.cut(question, max(20, out.width - columns(head)))
        out.print(f"{out.style(head, 'dim')}{question}")
