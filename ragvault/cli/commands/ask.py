"""``ragvault ask``: a cited answer, or an honest no."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime

from ragvault.cli.desktop import copy, open_hit
from ragvault.cli.group import command_app
from ragvault.cli.options import (
    COPY,
    DEBUG,
    JSON,
    OPEN,
    SESSION,
    Filters,
    SearchOptions,
    Writer,
    argument,
    flag,
    option,
    request_of,
)
from ragvault.cli.render.ask import AskView
from ragvault.cli.render.debug import print_debug
from ragvault.cli.render.terminal import print_json
from ragvault.cli.session import Session
from ragvault.errors import UsageError
from ragvault.model import Abstention, AskEvent, AskResult, Detail, Done, Request
from ragvault.service import ask as service
from ragvault.service.ask import last_session, turns_of
from ragvault.service.history import as_markdown, source_at
from ragvault.service.json_objects import ask_object, debug_object, event_object
from ragvault.service.originals import Links

app = command_app()


@dataclass(frozen=True)
class Talk:
    """What the question goes on from, and who answers."""

    no_rag: bool = flag("--no-rag", "Ask the model alone, without the notes.")
    go_on: bool = flag("--continue", "Go on from the last answer.")
    conversation: str | None = SESSION

    def of(self, session: Session, request: Request) -> Request:
        """The request with the conversation before it. Raises UsageError."""
        if self.no_rag and not request.use_model:
            raise UsageError("--no-rag asks the model, --no-llm doesn't.", "Give one of the two.")
        if self.go_on and self.conversation:
            raise UsageError(
                "--continue and --session name two conversations.", "Give one of them."
            )
        name = last_session(session.container) if self.go_on else self.conversation
        earlier = turns_of(session.container, name) if name else ()
        return replace(request, use_notes=not self.no_rag, session=name, earlier=earlier)


@app.command()
def ask(
    session: Session,
    question: list[str] = argument("QUESTION", "The question; - reads it from stdin."),
    *,
    filters: Filters,
    k: int | None = option(
        "-k", "Passages to answer from [automatic: 3 to 8].", "N", min=1, max=50
    ),
    detail: Detail = option(
        "--detail",
        "How much is said: brief, normal or detailed [normal].",
        "LEVEL",
        default=Detail.NORMAL,
        case_sensitive=False,
    ),
    writer: Writer,
    talk: Talk,
    options: SearchOptions,
    struck: bool = flag("--all", "List what the model said that no note holds, too."),
    number: int | None = OPEN,
    copies: bool = COPY,
    debug: bool = DEBUG,
    as_json: bool = JSON,
    as_events: bool = flag("--json-stream", "Print a JSON object a line, as they come."),
) -> int:
    """Every statement names the note it comes from. When the notes don't hold the answer, ask says
    so and exits with 3. Without Ollama the answer is quoted from the notes, word for word."""
    now = datetime.now()
    writer.chosen_in(session)
    how = {"k": k, "detail": detail, "use_model": not writer.no_llm}
    request = talk.of(session, request_of(question, filters, options, now, **how))
    with closing(service.ask(session.container, request, now=now, look=True)) as events:
        if as_json or as_events:
            result = _printed(session, events, debug=debug, each=as_events)
        else:
            result = AskView(session, struck=struck).draw(events)
    session.notices(result.notices)
    if debug and not (as_json or as_events):
        print_debug(session.out, result.retrieval, result)
    if copies:
        copy(session, as_markdown(result))
    if number is not None:
        open_hit(session, source_at(result, number))
    return 3 if isinstance(result.outcome, Abstention) else 0


def _printed(session: Session, events: Iterable[AskEvent], *, debug: bool, each: bool) -> AskResult:
    """The result as one object, or with ``each`` every event as one."""
    links = Links.of(session.container)
    for event in events:
        value = event_object(event, links) if each else {}
        if isinstance(event, Done):
            value = value or ask_object(event.result, links)
            value |= debug_object(event.result.retrieval, event.result) if debug else {}
            result = event.result
        if value:
            print_json(value, on_one_line=each)
    return result
