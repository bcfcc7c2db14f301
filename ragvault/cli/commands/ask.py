"""``ragvault ask``: a cited answer, or an honest no."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from ragvault.cli.group import command_app
from ragvault.cli.options import (
    ConfigOption,
    CopyOption,
    DebugOption,
    Filters,
    JsonOption,
    OpenOption,
    SearchOptions,
    argument,
    option,
    question_of,
    request_of,
)
from ragvault.cli.render.terminal import print_json
from ragvault.model import Abstention, Detail
from ragvault.service import ask as service
from ragvault.service.history import as_markdown, source_at
from ragvault.service.json_objects import ask_object, debug_object
from ragvault.service.originals import Links
from ragvault.service.status import VaultLook

if TYPE_CHECKING:
    from ragvault.cli.session import Session
    from ragvault.model import AskResult, Request

app = command_app()


@dataclass(frozen=True)
class Use:
    """What is done with the answer."""

    number: OpenOption = None
    copies: CopyOption = False


@app.command()
def ask(
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
    model: Annotated[str | None, option("--model", "Ollama model that writes.", "NAME")] = None,
    no_llm: Annotated[bool, option("--no-llm", "Quote the notes; ask no model.")] = False,
    no_stream: Annotated[bool, option("--no-stream", "Print the answer when it is whole.")] = False,
    struck: Annotated[
        bool, option("--all", "List what the model said that no note holds, too.")
    ] = False,
    options: SearchOptions,
    use: Use,
    debug: DebugOption = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Answer a question from the notes, with citations.

    Every statement names the note it comes from. When the notes don't hold the answer, ask says
    so and exits with 3. Without Ollama the answer is quoted from the notes, word for word.
    """
    from ragvault.cli.session import Session

    now = datetime.now()
    with Session.open(config, {"ollama.model": model}) as session:
        request = request_of(
            question_of(question), filters, options, now, k=k, detail=detail, use_model=not no_llm
        )
        if as_json:
            result = _as_json(session, request, now, debug=debug)
        else:
            result = _as_text(session, request, now, debug, stream=not no_stream, struck=struck)
        _use(session, result, use)
    return 3 if isinstance(result.outcome, Abstention) else 0


def _use(session: Session, result: AskResult, use: Use) -> None:
    """What is done with an answer once it is shown. Raises UsageError, OpenError."""
    from ragvault.cli.desktop import copy, open_hit

    if use.copies:
        copy(session, as_markdown(result))
    if use.number is not None:
        open_hit(session, source_at(result, use.number))


def _as_json(session: Session, request: Request, now: datetime, *, debug: bool) -> AskResult:
    look = VaultLook(session.container, request.vaults)
    result = service.answer_of(service.ask(session.container, request, now=now, look=look))
    session.notices(result.notices)
    value = ask_object(result, Links.of(session.container))
    if debug:
        value.update(debug_object(result.retrieval, result))
    print_json(value)
    return result


def _as_text(
    session: Session, request: Request, now: datetime, debug: bool, *, stream: bool, struck: bool
) -> AskResult:
    from ragvault.cli.render.ask import AskView

    look = VaultLook(session.container, request.vaults)
    with closing(service.ask(session.container, request, now=now, look=look)) as events:
        result = AskView(session, stream=stream, struck=struck).draw(events)
    session.notices(result.notices)
    if debug:
        from ragvault.cli.render.debug import print_debug

        print_debug(session.out, result.retrieval, result)
    return result
