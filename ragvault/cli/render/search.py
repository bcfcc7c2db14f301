"""``search`` on a terminal: rank, place, and the lines that match."""

from __future__ import annotations

import os
import shlex

from ragvault.cli.render.layout import hanging
from ragvault.cli.session import Session
from ragvault.service.originals import on_disk
from ragvault.service.search import SearchResult, Terms


def print_result(session: Session, found: SearchResult) -> None:
    """The passages listed, or what to do where there are none."""
    out = session.out
    if not found.hits:
        out.print("Nothing found.", "bold")
        searched = found.retrieval.searched
        if searched:
            out.print(hanging(out, f"Searched: {searched}.", 0), "dim")
        out.print("→ Try other words, or drop a filter.", "dim")
        return
    view = session.places()
    query = found.retrieval.query
    terms = Terms.of(query.terms, query.language)
    width = len(str(len(found.hits)))
    for number, hit in enumerate(found.hits, start=1):
        view.print(f"{number:>{width}}.", hit, terms)


def print_files(session: Session, found: SearchResult, *, end: str) -> None:
    """Each note once, best first, as its absolute path: for ``xargs`` and editors. On a terminal
    a path is quoted for the shell where it has to be, as ``ls`` does; elsewhere it is the very
    bytes of its name, with ``end`` after it."""
    roots = {vault.name: vault.path for vault in session.container.catalog.vaults()}
    out = session.out
    for hit in found.hits:
        path = str(on_disk(roots[hit.chunk.vault], hit.chunk.rel_path))
        if out.is_tty and end == "\n":
            out.print(shell_quoted(path))
        else:
            out.print_raw(path + end)


def shell_quoted(path: str) -> str:
    """A path as a shell reads it back, all of it visible."""
    if path.isprintable():
        return shlex.quote(path)
    shown = "".join(
        c if c.isprintable() and c not in "'\\" else "".join(f"\\{b:03o}" for b in os.fsencode(c))
        for c in path
    )
    return f"$'{shown}'"
