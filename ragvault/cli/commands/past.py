"""Past answers: ``ragvault show``, ``sources``, ``source``, ``open`` and ``stats``."""

from __future__ import annotations

from ragvault.cli.desktop import copy, open_note
from ragvault.cli.group import command_app
from ragvault.cli.options import COPY, JSON, argument
from ragvault.cli.render.ask import AskView
from ragvault.cli.render.history import print_source, print_stats
from ragvault.cli.render.layout import hanging
from ragvault.cli.render.terminal import print_json
from ragvault.cli.session import Session
from ragvault.errors import UsageError
from ragvault.service import history as service
from ragvault.service.json_objects import local_time, source_object
from ragvault.service.originals import Links, source_today
from ragvault.service.vaults import find_place
from ragvault.text import one_line

app = command_app()

ANSWER = argument("ID", "The answer's number in the history, or last.")
NUMBER = argument("N", "The source's number there [1].", default=1)


@app.command("show")
def show(session: Session, wanted: str = ANSWER, copies: bool = COPY, as_json: bool = JSON) -> None:
    """Its citations are those of then: ragvault source says what has become of them."""
    entry = service.entry_of(session.container, wanted)
    if as_json:
        print_json(service.entry_object(entry))
    else:
        asked = f"{one_line(entry.document['question'])} · {local_time(entry.asked_at)}"
        session.out.print(hanging(session.out, asked, 0), "dim")
        AskView(session).replay(service.result_of(entry))
    if copies:
        copy(session, service.as_markdown(service.result_of(entry)))


@app.command("sources")
def sources(session: Session, wanted: str = ANSWER, as_json: bool = JSON) -> None:
    entry = service.entry_of(session.container, wanted)
    if as_json:
        value = service.entry_object(entry)
        print_json({name: value.get(name, []) for name in ("id", "references", "also", "nearest")})
    else:
        AskView(session).replay(service.result_of(entry), sources_only=True)


@app.command("source")
def source(
    session: Session, wanted: str = ANSWER, number: int = NUMBER, as_json: bool = JSON
) -> int:
    """Exits with 3 where nothing of it is left."""
    entry = service.entry_of(session.container, wanted)
    result = service.result_of(entry)
    hit = service.source_at(result, number)
    links = Links.of(session.container)
    found = source_today(
        hit, links.today(hit, service.kept_path(entry, hit)), session.container.settings.index
    )
    if as_json:
        print_json({"id": entry.id, "number": number, **source_object(hit, found)})
    else:
        print_source(session, entry, hit, found, result)
    return 0 if found.first else 3


@app.command("open")
def open_(
    session: Session,
    target: str = argument(
        "ID|NOTE", "An answer's number, or last; or a note, as NOTE#Heading too."
    ),
    number: int = NUMBER,
) -> None:
    """In $VISUAL or $EDITOR; where neither is set, in Obsidian if the vault is one of its own, or
    with what the system opens such files with."""
    container = session.container
    links = Links.of(container)
    if service.is_number(target) or target.lower() == "last":
        entry = service.entry_of(container, target)
        hit = service.source_at(service.result_of(entry), number)
        path = links.today(hit, service.kept_path(entry, hit))
        if path is None:
            raise UsageError(
                f"{hit.chunk.rel_path} isn't there any more.",
                f"`ragvault source {target} {number}` shows what was cited.",
            )
        line = source_today(hit, path, container.settings.index).first or 1
        uri = links.uri(*hit.chunk.place)
    else:
        vault, rel_path, heading, line = find_place(container, target)
        path = links.path(vault, rel_path)
        assert path is not None, "the vault is known"
        uri = links.uri(vault, rel_path, heading)
    open_note(path, line, uri)


@app.command("stats")
def stats(session: Session, as_json: bool = JSON) -> int:
    """By month: questions answered, pointed at a place, and with nothing; the median time; how many
    of the citations that a model wrote were kept as they were. Then the questions that most often
    had no answer: what your notes lack. Exits with 3 when nothing was asked yet."""
    entries = session.container.history.entries()
    months, refused = service.by_month(entries), service.most_refused(entries)
    if as_json:
        said = [{"question": question, "times": times} for question, times in refused]
        print_json({"all": service.stats_of(entries), "months": months, "refused": said})
    else:
        print_stats(session.out, [*months, service.stats_of(entries, "all")], refused)
    return 0 if entries else 3
