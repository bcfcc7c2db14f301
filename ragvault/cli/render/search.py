"""``search`` on a terminal: rank, place, and the lines that match."""

from __future__ import annotations

from ragvault.cli.render.layout import MAX_LINE, hanging, wrapped
from ragvault.cli.render.places import on_disk
from ragvault.cli.render.terminal import Terminal
from ragvault.cli.session import Session
from ragvault.service.excerpts import excerpt, matching_words, stems_of
from ragvault.service.search import SearchResult


def print_result(session: Session, found: SearchResult) -> None:
    """The passages listed, or what to do where there are none."""
    out = session.out
    if not found.hits:
        out.print(out.style("Nothing found.", "bold"))
        searched = found.retrieval.findings.searched
        if searched:
            out.print(out.style(hanging(out, f"Searched: {searched}.", 0), "dim"))
        out.print(out.style(f"{out.symbol('→', '->')} Try other words, or drop a filter.", "dim"))
        return
    view = session.places()
    terms = stems_of(found.retrieval.query.terms)
    width = len(str(len(found.hits)))
    for number, hit in enumerate(found.hits, start=1):
        label = f"{number:>{width}}."
        view.print(label, hit)
        indent = " " * (len(label) + 1)
        text = excerpt(hit.chunk.text, terms)
        for line in wrapped(text, min(out.width, MAX_LINE) - len(indent)):
            out.print(indent + highlighted(line, terms, out))


def highlighted(line: str, terms: frozenset[str], out: Terminal) -> str:
    """The line with the words bold that match a term."""
    shown, position = "", 0
    for start, end in matching_words(line, terms) if out.colour else ():
        shown += line[position:start] + out.style(line[start:end], "bold yellow")
        position = end
    return shown + line[position:]


def print_files(session: Session, found: SearchResult) -> None:
    """Each note once, best first, as its absolute path: for ``xargs`` and editors."""
    roots = {vault.name: vault.path for vault in session.container.catalog.vaults()}
    for hit in found.hits:
        session.out.print(str(on_disk(roots[hit.chunk.vault], hit.chunk.rel_path)))
