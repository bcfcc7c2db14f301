"""``ragvault why``: where a note stood, and what dropped it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, Filters, SearchOptions, question_of, request_of
from ragvault.cli.render.layout import MAX_LINE, wrapped

app = command_app()


@app.command()
def why(
    note: Annotated[str, typer.Argument(metavar="NOTE", help="A note, by its path or its name.")],
    question: Annotated[list[str], typer.Argument(metavar="QUESTION", help="The question.")],
    *,
    filters: Filters,
    options: SearchOptions,
    config: ConfigOption = None,
) -> int:
    """Say where a note stood, and what dropped it.

    Asks no model, and keeps nothing in the history.
    """
    from ragvault.cli.session import Session
    from ragvault.service.why import why as explain

    now = datetime.now()
    with Session.open(config, {"history.enabled": False}) as session:
        request = request_of(question_of(question), filters, options, now, use_model=False)
        told = explain(session.container, note, request, now=now)
        for line in wrapped(told, min(session.out.width, MAX_LINE)):
            session.out.print(line)
    return 0
