"""``ragvault ask``: a cited answer, or an honest no."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from ragvault.cli.desktop import copy, open_hit
from ragvault.cli.group import command_app
from ragvault.cli.options import (
    CopyOption,
    DebugOption,
    Filters,
    JsonOption,
    OpenOption,
    SearchOptions,
    Writer,
    argument,
    option,
    question_of,
    request_of,
)
from ragvault.cli.render.ask import AskView
from ragvault.cli.render.debug import print_debug
from ragvault.cli.render.terminal import print_json
from ragvault.cli.session import Session
from ragvault.errors import UsageError
from ragvault.model import Abstention, AskResult, Detail, Done, Request
from ragvault.service import ask as service
from ragvault.service.ask import last_session, turns_of
from ragvault.service.history import as_markdown, source_at
from ragvault.service.json_objects import ask_object, debug_object, event_object
from ragvault.service.originals import Links

app = command_app()


@dataclass(frozen=True)
class Use:
    """How the answer is shown, and what is done with it."""

    struck: Annotated[
        bool, option("--all", "List what the model said that no note holds, too.")
    ] = False
    number: OpenOption = None
    copies: CopyOption = False


@dataclass(frozen=True)
class Talk:
    """What the question goes on from, and who answers."""

    no_rag: Annotated[bool, option("--no-rag", "Ask the model alone, without the notes.")] = False
    go_on: Annotated[bool, option("--continue", "Go on from the last answer.")] = False
    conversation: Annotated[
        str | None, option("--session", "Go on with this conversation, or begin it.", "NAME")
    ] = None

    def of(self, session: Session, request: Request, *, no_llm: bool) -> Request:
        """The request with the conversation before it. Raises UsageError."""
        if self.no_rag and no_llm:
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
    question: Annotated[list[str], argument("QUESTION", "The question; - reads it from stdin.")],
    *,
    filters: Filters,
    k: Annotated[
        int | None, option("-k", "Passages to answer from [automatic: 3 to 8].", "N", min=1, max=50)
    ] = None,
    detail: Annotated[
        Detail,
        option(
            "--detail",
            "How much is said: brief, normal or detailed [normal].",
            "LEVEL",
            case_sensitive=False,
        ),
    ] = Detail.NORMAL,
    writer: Writer,
    talk: Talk,
    options: SearchOptions,
    use: Use,
    debug: DebugOption = False,
    as_json: JsonOption = False,
    as_events: Annotated[
        bool, option("--json-stream", "Print a JSON object a line, as they come.")
    ] = False,
) -> int:
    """Answer a question from the notes, with citations.

    Every statement names the note it comes from. When the notes don't hold the answer, ask says
    so and exits with 3. Without Ollama the answer is quoted from the notes, word for word.
    """
    now = datetime.now()
    writer.chosen_in(session)
    use_model = not writer.no_llm
    asked = question_of(question)
    request = request_of(asked, filters, options, now, k=k, detail=detail, use_model=use_model)
    request = talk.of(session, request, no_llm=writer.no_llm)
    if as_json or as_events:
        result = _as_json(session, request, now, debug=debug, each=as_events)
    else:
        result = _as_text(session, request, now, debug, use)
    _use(session, result, use)
    return 3 if isinstance(result.outcome, Abstention) else 0


def _use(session: Session, result: AskResult, use: Use) -> None:
    """What is done with an answer once it is shown. Raises UsageError, OpenError."""
    if use.copies:
        copy(session, as_markdown(result))
    if use.number is not None:
        open_hit(session, source_at(result, use.number))


def _as_json(
    session: Session, request: Request, now: datetime, *, debug: bool, each: bool
) -> AskResult:
    """The result as one object, or with ``each`` every event as one."""
    links = Links.of(session.container)
    with closing(service.ask(session.container, request, now=now, look=True)) as events:
        for event in events:
            if isinstance(event, Done):
                result = event.result
                value = event_object(event, links) if each else ask_object(result, links)
            elif each and (value := event_object(event, links)):
                print_json(value, on_one_line=True)
    session.notices(result.notices)
    if debug:
        value |= debug_object(result.retrieval, result)
    print_json(value, on_one_line=each)
    return result


def _as_text(session: Session, request: Request, now: datetime, debug: bool, use: Use) -> AskResult:
    with closing(service.ask(session.container, request, now=now, look=True)) as events:
        result = AskView(session, struck=use.struck).draw(events)
    session.notices(result.notices)
    if debug:
        print_debug(session.out, result.retrieval, result)
    return result
