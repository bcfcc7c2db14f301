"""``ask`` as it happens: wait, stream, then sources, caveats and the footer. Each citation, in
either style, becomes a linked [1]."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ragvault.cli.render.layout import MAX_LINE, columns, duration, facts, hanging, marked, wrapped
from ragvault.cli.render.places import CitationMarks
from ragvault.cli.render.terminal import Terminal, Waiting
from ragvault.cli.session import Session
from ragvault.model import (
    AbstainReason,
    Abstention,
    Answer,
    AskEvent,
    AskResult,
    Band,
    Cited,
    Done,
    Drafted,
    Reference,
    Retrieved,
    Token,
    shown_confidence,
)
from ragvault.service.history import citation_of
from ragvault.service.search import Terms
from ragvault.text import one_line, snippet, strip_controls

_HOW_TO_ASK_BETTER = "Use words that stand in the notes, or look around with `ragvault search`."


class AskView:
    """One answer on the terminal, drawn from its events; with ``struck`` also what of the draft
    was left out."""

    def __init__(self, session: Session, *, struck: bool = False) -> None:
        self._out = session.out
        self._all = struck
        self._waiting = Waiting(session.err)
        self._places = session.places()
        self._marks = CitationMarks(self._out, self._places)
        self._printer = AnswerPrinter(self._out, self._marks)
        self._is_marked = False  # as the model's own words
        self._is_above = True  # something stands above the sources

    def draw(self, events: Iterable[AskEvent]) -> AskResult:
        """All of it; the waiting line stands until there is something to read."""
        result = None
        with self._waiting.shown("Searching your notes …"):
            try:
                for event in events:
                    match event:
                        case Retrieved():
                            self._found(event)
                        case Cited():
                            self._marks.add(event.text, event.hit)
                            self._printer.expect(event.text)
                        case Token() if event.mode != "extractive":  # those are set apart, last
                            self._waiting.clear()
                            self._write(event.text, event.mode)
                        case Drafted() if event.text.strip():
                            self._waiting.clear()
                            self._printer.draft(event.text)
                        case Done():
                            result = event.result
            finally:
                self._printer.finish()  # no draft stays above what is said next
        assert result is not None, "ask ends with Done or raises"
        self._show(result)
        return result

    def replay(self, result: AskResult, *, sources_only: bool = False) -> None:
        """A past answer as it was drawn, or its sources alone."""
        outcome, self._is_above = result.outcome, not sources_only
        if isinstance(outcome, Answer):
            for reference in outcome.references:
                self._marks.add(text := citation_of(reference, outcome.text), reference.hit)
                self._printer.expect(text)
        if not sources_only:
            self._show(result)
        elif isinstance(outcome, Answer):
            self._all_sources(outcome)
        else:
            for number, hit in enumerate(outcome.nearest, start=1):
                self._places.print(f"{number}.", hit)

    def _found(self, event: Retrieved) -> None:
        if event.searched_for:
            self._waiting.clear()
            said = hanging(self._out, f"searched for: {event.searched_for}", 2)
            self._out.print(f"{said}\n", "dim")
            self._out.flush()
        if event.hits:
            self._waiting.say("Reading what was found …")

    def _show(self, result: AskResult) -> None:
        """The rest, once the outcome is known."""
        outcome = result.outcome
        if isinstance(outcome, Abstention):
            self._abstention(outcome, result)
        else:
            self._answer(outcome)
        if not (isinstance(outcome, Answer) and outcome.mode == "none"):
            self._footer(result)
        self._out.flush()

    def _write(self, text: str, mode: str) -> None:
        if mode == "model" and not self._is_marked:
            self._out.print("⚠ Not from your notes:", "yellow")
            self._is_marked = True
        self._printer.write(text)

    def _answer(self, answer: Answer) -> None:
        if answer.mode == "extractive" and answer.citations:  # 0.1 kept none
            self._quotations(answer)
        else:
            if not self._printer.has_printed:
                self._write(answer.text, answer.mode)
            self._printer.finish()
        listed = answer.unsupported if self._all else ()
        if answer.caveats or listed:
            self._out.print()
        for caveat in answer.caveats:
            marked(self._out, "⚠", caveat, "yellow")
        for statement in listed:
            marked(self._out, "⚠", f"Not in your notes: {snippet(statement, 160)}", "yellow")
        self._all_sources(answer)

    def _all_sources(self, answer: Answer) -> None:
        cited = {reference.hit.chunk.id for reference in answer.references}
        for one in answer.also:
            if one.hit.chunk.id not in cited:  # no citation of it stands in the text
                self._marks.add(one.hit.chunk.id, one.hit)
        places = {self._marks.of(reference.hit) for reference in answer.references}
        more = [one for one in answer.also if self._marks.of(one.hit) in places]
        self._sources("Sources", (*answer.references, *more))
        near = [one for one in answer.also if one not in more]
        self._sources("Also near", near, brief=True)

    def _quotations(self, answer: Answer) -> None:
        """Each passage behind a bar, its citation at its end."""
        out = self._out
        bar = out.style("│", "cyan")
        start = 0
        for citation in answer.citations:
            body = answer.text[start : citation.position]
            has_gap, body = body.startswith("\n\n"), body.strip("\n")
            start = citation.position + len(citation.raw)
            visible, printable = self._marks(strip_controls(citation.raw))
            if has_gap:
                out.print()
            lines = [row for line in body.rstrip().split("\n") for row in self._rows(line)]
            if out.is_tty and columns(lines[-1]) + len(visible) + 3 > out.width:
                lines.append("")
            lines[-1] += (" " if lines[-1] else "") + printable
            for line in lines:
                out.print(f"{bar} {line}")

    def _rows(self, line: str, left: int = 2) -> list[str]:
        """A line of a note, wrapped on a terminal behind ``left`` columns, its indentation kept."""
        text = strip_controls(line)
        if not self._out.is_tty or not text.strip():
            return [text]
        indent = text[: len(text) - len(text.lstrip())].expandtabs(4)
        width = min(self._out.width, MAX_LINE) - left - len(indent)
        return [indent + row for row in wrapped(text, width)]

    def _sources(
        self, heading: str, references: Sequence[Reference], *, brief: bool = False
    ) -> None:
        """Each place once, with the notes' words that what is said rests on."""
        if not references:
            return
        out = self._out
        if self._is_above:
            out.print()
        self._is_above = True
        out.print(heading, "bold")
        by_mark: dict[str, list[Reference]] = {}  # passages of one section share a citation
        for reference in references:
            by_mark.setdefault(self._marks.of(reference.hit), []).append(reference)
        for mark, (first, *more) in by_mark.items():
            self._places.print(mark, first.hit, more=[other.hit for other in more], brief=brief)
            for one in (first, *more):
                self._behind_bar(one.evidence, " " * (columns(mark) + 1))

    def _behind_bar(self, text: str, indent: str = "") -> None:
        bar, left = self._out.style("│", "cyan"), len(indent) + 2
        for line in text.split("\n"):
            for row in self._rows(line, left) if line.strip() or not indent else ():
                self._out.print(f"{indent}{bar} {row}".rstrip())

    def _abstention(self, outcome: Abstention, result: AskResult) -> None:
        out = self._out
        if outcome.passages:
            self._pointed(outcome)
            return
        for line in wrapped(outcome.message, min(out.width, MAX_LINE)):
            out.print(line, "bold")
        if outcome.searched:
            out.print(hanging(out, f"Searched: {outcome.searched}.", 0), "dim")
        if outcome.nearest:
            out.print()
            out.print("Nearest in your notes:")
        terms = Terms.of(result.terms, result.language)
        for number, hit in enumerate(outcome.nearest, start=1):
            self._places.print(f"{number}.", hit, terms)
        if outcome.reason is AbstainReason.NO_RELEVANT_CONTEXT and outcome.nearest:
            out.print()
            marked(out, "→", _HOW_TO_ASK_BETTER, "dim")

    def _pointed(self, outcome: Abstention) -> None:
        """The first passage whole, below its place; of the others what is quoted of each."""
        out = self._out
        for number, (hit, text) in enumerate(zip(outcome.nearest, outcome.passages, strict=False)):
            if number == 1:
                out.print()
            if number < 2:
                lead = "Or in:" if number else f"{outcome.lead}:"
                out.print(hanging(out, lead, 0), "bold")
            self._places.print(f"{number + 1}.", hit, brief=number > 0)
            self._behind_bar(text, "   " if number else "")

    def _footer(self, result: AskResult) -> None:
        """Confidence, who wrote it, how long it took."""
        out, outcome = self._out, result.outcome
        band = Band.of(outcome.confidence).replace("_", " ")
        parts = [f"confidence {band} ({shown_confidence(outcome.confidence)})"]
        if isinstance(outcome, Answer) and outcome.mode == "model":
            parts = []
        if isinstance(outcome, Answer) and outcome.mode == "extractive":
            parts.append("quoted from your notes, word for word")
        elif result.model and isinstance(outcome, Answer):
            parts.append(f"written by {strip_controls(result.model)}")
        parts.append(duration(result.total_ms / 1000))
        out.print()
        out.print(facts(out, parts), "dim")


class AnswerPrinter:
    """Prints an answer's text as it comes, on a terminal wrapped at words. ``mark`` gives what a
    person sees of a citation ("[1]") and that with its link around it."""

    def __init__(self, out: Terminal, mark: Callable[[str], tuple[str, str]]) -> None:
        self._out = out
        self._known: list[str] = []
        self._mark = mark
        self._pending = ""
        self._column = 0
        self._gap = ""
        # Two columns are left for a full stop that follows a citation.
        self._limit = min(out.width - 2, MAX_LINE) if out.is_tty else None
        self.has_printed = False
        self._erase = ""  # what takes the draft away

    def draft(self, text: str) -> None:
        """The end of what isn't settled, dimmed, on a line of its own until the next call. Only
        where it can be told from what is."""
        self._out.print(self._erase, end="")
        self._erase = ""
        if self._out.is_tty and self._out.colour and (said := one_line(text)):
            lead = "\n" if self._column else ""
            self._out.print(lead + self._out.style(_tail(said, self._out.width - 1), "dim"), end="")
            back = f"\x1b[1A\x1b[{self._column + 1}G" if lead else ""
            self._erase = f"\r\x1b[2K{back}"
        self._out.flush()

    def expect(self, citation: str) -> None:
        """This citation may come in the text that follows."""
        known = {*self._known, strip_controls(citation)}
        self._known = sorted(known, key=len, reverse=True)

    def write(self, text: str) -> None:
        """Take the next piece of the text. What may cite comes in whole sentences; of a model's
        own tokens a word is held back until it is whole."""
        self.draft("")
        self._pending += strip_controls(text)
        end = max(self._pending.rfind(" "), self._pending.rfind("\n")) + 1
        cut = len(self._pending) if self._known else end
        ready, self._pending = self._pending[:cut], self._pending[cut:]
        self._emit(ready)
        self._out.flush()

    def finish(self) -> None:
        self.draft("")
        ready, self._pending = self._pending, ""
        self._emit(ready)
        if self._column:
            self._newline()
        self._gap = ""
        self._out.flush()

    def _emit(self, text: str) -> None:
        """With each known citation, the longest that fits, as its mark."""
        known = "|".join(_number(c) if c[1:-1].isdigit() else re.escape(c) for c in self._known)
        position = 0
        for match in re.finditer(known, text) if known else ():
            self._plain(text[position : match.start()])
            self._word(*self._mark(match.group()))
            position = match.end()
        self._plain(text[position:])

    def _plain(self, text: str) -> None:
        for piece in re.findall(r"\n|[^\S\n]+|\S+", text):
            if piece == "\n":
                self._gap = ""
                self._newline()
            elif piece.isspace():
                self._gap += piece.replace("\t", "    ")
            else:
                self._word(piece, piece)

    def _word(self, visible: str, printable: str) -> None:
        width = columns(visible)
        gap = self._gap
        if self._limit and gap and self._column and self._column + len(gap) + width > self._limit:
            self._newline()
            gap = ""
        self._out.print(gap + printable, end="")
        self._column += len(gap) + width
        self._gap = ""
        self.has_printed = True

    def _newline(self) -> None:
        self._out.print()
        self._column = 0


def _tail(text: str, width: int) -> str:
    """Its last words, as far as they fit."""
    while columns(text) > width:
        text = "…" + text[max(2, columns(text) - width) + 1 :]
    return text


def _number(citation: str) -> str:
    """A pattern for "[1]", which "rows[1]" and "[1](url)" aren't."""
    return rf"(?<!\w){re.escape(citation)}(?!\()"
