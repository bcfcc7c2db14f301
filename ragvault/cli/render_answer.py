"""``ask`` on a terminal: the answer, its sources, or an honest no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragvault.cli import words
from ragvault.cli.citations_view import AnswerPrinter, columns
from ragvault.cli.jsonout import local_day
from ragvault.cli.links import Links
from ragvault.cli.terminal import Terminal
from ragvault.model import AbstainReason, Abstention, Answer, AskResult, Band, Hit, Reference
from ragvault.text import snippet, strip_controls

BAND_WORDS = {
    Band.HIGH: "high",
    Band.MEDIUM: "medium",
    Band.LOW: "low",
    Band.VERY_LOW: "very low",
}
_HOW_TO_ASK_BETTER = {
    AbstainReason.NO_RELEVANT_CONTEXT: (
        "Use words that stand in the notes, or look around with `ragvault search`."
    ),
    AbstainReason.INSUFFICIENT_INFORMATION: (
        "Name what you mean more exactly, or read the nearest notes."
    ),
    AbstainReason.AMBIGUOUS_QUESTION: "Say what it is about: a name, a project, a place, a time.",
}


class PlaceView:
    """How a place in a note is written: path, section, lines, date, link."""

    def __init__(self, out: Terminal, links: Links, *, show_vault: bool) -> None:
        self._out = out
        self._links = links
        self._show_vault = show_vault

    def uri(self, hit: Hit) -> str | None:
        chunk = hit.chunk
        return self._links.uri(chunk.vault, chunk.rel_path, chunk.heading_path)

    def path(self, hit: Hit) -> str:
        """The path, linked; with the vault before it when there are several."""
        chunk = hit.chunk
        name = strip_controls(chunk.rel_path).replace("\n", " ")
        if self._show_vault:
            name = f"{strip_controls(chunk.vault)}: {name}"
        return self._out.link(self._out.style(name, "bold cyan"), self.uri(hit))

    def section(self, hit: Hit) -> str:
        arrow = self._out.symbol(" › ", " > ")
        return arrow.join(strip_controls(part) for part in hit.chunk.heading_path)

    def details(self, hit: Hit) -> str:
        """ "lines 3–9 · 2024-03-01 · score 0.82"."""
        chunk = hit.chunk
        dash, dot = self._out.symbol("–", "-"), self._out.symbol(" · ", ", ")
        lines = f"line {chunk.start_line}"
        if chunk.end_line != chunk.start_line:
            lines = f"lines {chunk.start_line}{dash}{chunk.end_line}"
        parts = [lines, local_day(hit.note.date), f"score {hit.scores.final:.2f}"]
        return dot.join(parts)

    def print(self, label: str, hit: Hit, quote: str = "") -> None:
        """Two or three lines: label and path with its section, details, perhaps a quotation."""
        out = self._out
        indent = " " * (columns(label) + 1)
        section = self.section(hit)
        arrow = out.symbol(" › ", " > ")
        out.print(
            f"{out.style(label, 'bold')} {self.path(hit)}{arrow + section if section else ''}"
        )
        out.print(out.style(f"{indent}{self.details(hit)}", "dim"))
        if quote:
            for line in wrapped(quote, out.width - len(indent) - 1):
                out.print(out.style(f"{indent}{line}", "italic"))
        for other in hit.duplicates:
            out.print(out.style(f"{indent}same text in {strip_controls(other)}", "dim"))


class CitationMarks:
    """Numbers citations in order of their first appearance, and links each to its note."""

    def __init__(self, out: Terminal, view: PlaceView, hits: Mapping[str, Hit]) -> None:
        self._out = out
        self._view = view
        self._hits = hits
        self._numbers: dict[str, int] = {}

    def __call__(self, citation: str) -> tuple[str, str]:
        number = self._numbers.setdefault(citation, len(self._numbers) + 1)
        visible = f"[{number}]"
        hit = self._hits.get(citation)
        uri = self._view.uri(hit) if hit is not None else None
        return visible, self._out.link(self._out.style(visible, "cyan"), uri)


def print_sources(out: Terminal, view: PlaceView, references: Sequence[Reference]) -> None:
    if not references:
        return
    out.print()
    out.print(out.style("Sources", "bold"))
    for reference in references:
        view.print(f"[{reference.marker}]", reference.hit)


def print_caveats(out: Terminal, answer: Answer) -> None:
    """What the reader has to know before believing it."""
    mark = out.symbol("⚠", "!")
    for caveat in answer.caveats:
        out.print(out.style(f"{mark} {strip_controls(caveat)}", "yellow"))
    for statement in answer.unsupported:
        text = snippet(statement, 160)
        out.print(out.style(f"{mark} The cited note doesn't say: {text}", "yellow"))


def print_footer(out: Terminal, result: AskResult) -> None:
    """Confidence, who wrote it, from how many passages, how long it took."""
    answer = result.outcome
    dot = out.symbol(" · ", ", ")
    band = BAND_WORDS[Band.of(answer.confidence)]
    parts = [f"confidence {band} ({answer.confidence:.2f})"]
    if isinstance(answer, Answer) and answer.mode == "extractive":
        parts.append("quoted from the notes, no model")
    elif result.model and isinstance(answer, Answer):
        parts.append(f"written by {strip_controls(result.model)}")
    parts.append(words.duration(result.total_ms / 1000))
    out.print()
    out.print(out.style(dot.join(parts), "dim"))


def print_abstention(out: Terminal, view: PlaceView, result: AskResult) -> None:
    """The no, what was looked through, what came nearest, how to ask better."""
    outcome = result.outcome
    assert isinstance(outcome, Abstention)
    for line in wrapped(outcome.message, min(out.width, 92)):
        out.print(out.style(line, "bold"))
    if outcome.searched:
        out.print(out.style(f"Searched: {strip_controls(outcome.searched)}.", "dim"))
    if outcome.nearest:
        out.print()
        out.print("Nearest in your notes:")
        for number, hit in enumerate(outcome.nearest, start=1):
            view.print(f"{number}.", hit, snippet(hit.chunk.text, 140))
    out.print()
    arrow = out.symbol("→", "->")
    out.print(out.style(f"{arrow} {_HOW_TO_ASK_BETTER[outcome.reason]}", "dim"))


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` columns, broken at spaces; a longer word stays whole."""
    lines: list[str] = []
    line = ""
    for word in strip_controls(text).split():
        if line and columns(line) + 1 + columns(word) > max(width, 20):
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


__all__ = [
    "AnswerPrinter",
    "CitationMarks",
    "PlaceView",
    "print_abstention",
    "print_caveats",
    "print_footer",
    "print_sources",
    "wrapped",
]
