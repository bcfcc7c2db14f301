"""``ragvault history``: what was asked and answered."""

from __future__ import annotations

from pathlib import Path

import typer

from ragvault.cli.group import command_app
from ragvault.cli.options import CONFIG, JSON, YES, argument, option
from ragvault.cli.render.history import print_history
from ragvault.cli.render.layout import counted
from ragvault.cli.render.terminal import print_json
from ragvault.cli.session import Session
from ragvault.service.history import entry_object, export as write_export

app = command_app(invoke_without_command=True)


@app.callback()
def history(
    context: typer.Context,
    search: str = option(
        "--search",
        "Only those with all these words in question, answer or cited paths.",
        "WORDS",
        default="",
    ),
    limit: int = option(
        "-n --limit", "Most answers to list [20].", "N", default=20, min=1, max=2**31 - 1
    ),
    as_json: bool = JSON,
    config: Path | None = CONFIG,
) -> int:
    """With each its number (for ragvault show), its time and its confidence; a dash where there was
    no answer. Exits with 3 when there is nothing to list."""
    if context.invoked_subcommand is not None:
        return 0
    session = Session.open(config)
    with session.container:
        entries = session.container.history.entries(words=search, limit=limit + 1)
        if len(entries) > limit:
            session.notices([f"There are older ones: `--limit {2 * limit}` lists more."])
            del entries[limit:]
        if as_json:
            print_json({"answers": [entry_object(entry) for entry in entries]})
        else:
            print_history(session.out, entries)
    return 0 if entries else 3


@app.command("export")
def export(session: Session, file: Path = argument("FILE", "A new file, .jsonl or .md.")) -> None:
    """Write all that was asked to a file, as JSON Lines or Markdown by its name."""
    count = write_export(session.container, file)
    session.out.print(f"{counted(count, 'answer')} in {file}.")


@app.command("clear")
def clear(session: Session, yes: bool = YES) -> None:
    """Forget what was asked and answered. Notes are not touched."""
    if not session.agrees("Forget all answers? They can't be had again", yes=yes):
        return
    count = session.container.history.clear()
    session.out.print(f"Forgot {counted(count, 'answer')}.")
