"""A place in a note, as sources, nearest notes and search results show it, with its link."""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.cli.render.layout import MAX_LINE, columns, hanging, wrapped
from ragvault.cli.render.terminal import Terminal
from ragvault.model import Hit
from ragvault.service.json_objects import local_day
from ragvault.service.originals import Links
from ragvault.service.search import Terms, excerpt
from ragvault.text import one_line, strip_controls


class PlaceView:
    """How a place is written: path, section, lines, date, link."""

    def __init__(self, out: Terminal, links: Links) -> None:
        self._out = out
        self._links = links

    def uri(self, hit: Hit) -> str | None:
        return self._links.uri(*hit.chunk.place)

    def path(self, hit: Hit) -> str:
        """The path, linked; with the vault before it when there are several."""
        return self._out.link(self._out.style(self._name(hit), "bold cyan"), self.uri(hit))

    def _name(self, hit: Hit) -> str:
        name = one_line(hit.chunk.rel_path)
        return f"{one_line(hit.chunk.vault)}: {name}" if self._links.are_several else name

    def section(self, hit: Hit, *, last: bool = False) -> str:
        """ " › A › B", or its ``last`` heading alone; nothing for what stands before the first."""
        path = hit.chunk.heading_path[-1:] if last else hit.chunk.heading_path
        return "".join(f" › {one_line(part)}" for part in path)

    def details(self, hit: Hit, more: Sequence[Hit] = ()) -> str:
        """ "lines 3–9, 12–15 · 2024-03-01 · score 0.82", the best one's; a note without a date of
        its own has that of its file: "modified 2024-03-01"."""
        places = sorted({(one.chunk.start_line, one.chunk.end_line) for one in (hit, *more)})
        several = len(places) > 1 or places[0][0] != places[0][1]
        spans = (f"{a}–{b}" if a != b else f"{a}" for a, b in places)
        lines = f"line{'s' * several} {', '.join(spans)}"
        score = max(one.scores.final for one in (hit, *more))
        of_file = "" if hit.note.says_its_day else "modified "
        when = [f"{of_file}{local_day(hit.note.date)}"] if hit.note.date else []
        return " · ".join([lines, *when, f"score {score:.2f}"])

    def print(
        self,
        label: str,
        hit: Hit,
        terms: Terms | None = None,
        more: Sequence[Hit] = (),
        brief: bool = False,
    ) -> None:
        """Two lines or more: label and place; details; the piece that holds the ``terms``; other
        notes with the text. ``more``: other passages of the same section. A section that doesn't
        fit behind the path stands below it. ``brief``: path and last heading, no details."""
        out = self._out
        indent = " " * (columns(label) + 1)
        section = self.section(hit, last=brief)
        whole = columns(indent + self._name(hit) + section)
        if section and out.is_tty and whole > out.width:
            section = f"\n{indent}{hanging(out, section.lstrip(), len(indent))}"
        out.print(f"{out.style(label, 'bold')} {self.path(hit)}{section}")
        if not brief:
            out.print(indent + hanging(out, self.details(hit, more), len(indent)), "dim")
        if terms is not None:
            room = min(out.width, MAX_LINE) - len(indent)
            for row in excerpt(hit.chunk, terms).split("\n"):
                inner = row[: len(row) - len(row.lstrip())]
                for line in wrapped(row, room - len(inner)):
                    out.print(indent + inner + highlighted(line, terms, out))
        for other in hit.duplicates:
            out.print(f"{indent}the same text is in {one_line(other)}", "dim")


def highlighted(line: str, terms: Terms, out: Terminal) -> str:
    """The line with the words bold that match a term."""
    shown, position = "", 0
    for start, end in terms.spans(line) if out.colour else ():
        shown += line[position:start] + out.style(line[start:end], "bold yellow")
        position = end
    return shown + line[position:]


class CitationMarks:
    """Numbers citations in order of their first appearance, and links each to its note."""

    def __init__(self, out: Terminal, view: PlaceView) -> None:
        self._out = out
        self._view = view
        self._hits: dict[str, Hit] = {}  # by citation: one names a section, so several passages
        self._citations: dict[str, str] = {}  # by chunk id
        self._numbers: dict[str, int] = {}

    def add(self, citation: str, hit: Hit) -> None:
        """From now on this citation may come, and means this passage."""
        text = strip_controls(citation)
        self._hits.setdefault(text, hit)
        self._citations[hit.chunk.id] = text

    def of(self, hit: Hit) -> str:
        """What is seen of the citation of a passage."""
        return self(self._citations[hit.chunk.id])[0]

    def __call__(self, citation: str) -> tuple[str, str]:
        """What is seen ("[1]"), and the same with colour and link."""
        number = self._numbers.setdefault(citation, len(self._numbers) + 1)
        visible = f"[{number}]"
        uri = self._view.uri(self._hits[citation]) if citation in self._hits else None
        return visible, self._out.link(self._out.style(visible, "cyan"), uri)
