"""``ragvault search``: the passages, ranked, with no answer; ``why``: where a note stood."""

from __future__ import annotations

import os
import shlex
from datetime import datetime

from ragvault.cli.desktop import open_hit
from ragvault.cli.group import command_app
from ragvault.cli.options import (
    DEBUG,
    JSON,
    OPEN,
    Filters,
    SearchOptions,
    argument,
    flag,
    option,
    request_of,
)
from ragvault.cli.render.debug import print_debug
from ragvault.cli.render.layout import MAX_LINE, hanging, wrapped
from ragvault.cli.render.terminal import Waiting, print_json
from ragvault.cli.session import Session
from ragvault.errors import UsageError
from ragvault.service import search as service
from ragvault.service.ask import why as explain
from ragvault.service.json_objects import debug_object, search_object
from ragvault.service.originals import Links, on_disk
from ragvault.service.search import SearchResult, Terms

app = command_app()


@app.command("search")
def search(
    session: Session,
    query: list[str] = argument("QUERY", "What to look for; - reads it from stdin."),
    *,
    n: int = option(
        "-n -k", "Most passages (--files: notes) to list [10].", "N", default=10, min=1, max=200
    ),
    files: bool = flag("--files", "Print the notes' paths only, one a line."),
    print0: bool = flag("-0 --print0", "With --files: end each path with NUL."),
    filters: Filters,
    options: SearchOptions,
    number: int | None = OPEN,
    debug: bool = DEBUG,
    as_json: bool = JSON,
) -> int:
    """The same retrieval as ask, by meaning and by words, without the floor that an answer needs.
    Words in quotation marks have to be there as they stand, -word must not:
    ragvault search '"heat pump" price -gas'. Exits with 3 when nothing is found."""
    now = datetime.now()
    request = request_of(query, filters, options, now)
    with Waiting(session.err).shown("Searching your notes …"):
        found = service.search(
            session.container, request, n, now=now, one_a_note=files or print0, look=True
        )
    session.notices(found.retrieval.notices)
    if as_json:
        value = search_object(found, Links.of(session.container))
        print_json({**value, **(debug_object(found.retrieval) if debug else {})})
    elif files or print0:
        print_files(session, found, end="\0" if print0 else "\n")
    else:
        print_result(session, found)
        if debug:
            print_debug(session.out, found.retrieval)
    if number is not None and found.hits:
        if number > len(found.hits):
            raise UsageError(f"There is no passage {number}.", "They are numbered from 1.")
        open_hit(session, found.hits[number - 1])
    return 0 if found.hits else 3


@app.command("why")
def why(
    session: Session,
    note: str = argument("NOTE", "A note, by its path or its name."),
    question: list[str] = argument("QUESTION", "The question."),
    *,
    filters: Filters,
    options: SearchOptions,
) -> None:
    """Asks no model, and keeps nothing in the history."""
    now = datetime.now()
    session.container.change("history", enabled=False)
    request = request_of(question, filters, options, now, use_model=False)
    told = explain(session.container, note, request, now=now)
    for line in wrapped(told, min(session.out.width, MAX_LINE)):
        session.out.print(line)


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
