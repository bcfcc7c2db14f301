"""``ragvault index``: bring vaults up to date, once or for as long as it watches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption, VaultOption

app = command_app()


def _folder(given: str) -> Path:
    """An empty word (`ragvault index "$UNSET"`) must not mean the current folder."""
    if not given.strip():
        from ragvault.errors import VaultPathError

        raise VaultPathError("The path of the vault is empty.")
    return Path(given)


@app.command()
def index(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH", help="Folders of notes.", show_default=False, parser=_folder
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of a new vault (else its folder's name).",
            show_default=False,
        ),
    ] = None,
    vault: VaultOption = None,
    full: Annotated[
        bool, typer.Option("--full", help="Read every note again and rebuild the vectors.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and follow changes until Ctrl-C (exit 0).")
    ] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Index a folder of notes, or refresh what is indexed.

    The first time, give the folder: it is remembered under its name. Later `ragvault index`
    alone refreshes every vault, reading only what changed. Notes are never written to.
    """
    from contextlib import closing

    from ragvault.cli.render.index import IndexView
    from ragvault.cli.session import Session
    from ragvault.errors import UsageError
    from ragvault.service import index as service

    if watch and (as_json or dry_run):
        other = "--json" if as_json else "--dry-run"
        raise UsageError(f"--watch and {other} don't go together.", "Leave out one of them.")
    with Session.open(config) as session:
        if paths and vault:
            raise UsageError("Give folders or --vault, not both.", "Run `ragvault index --help`.")
        if name is not None and not paths:
            raise UsageError("--name needs the folder that it names.")
        if name is not None and len(paths or ()) > 1:
            raise UsageError("--name names one folder; index them one by one.")
        request = service.IndexRequest(tuple(paths or ()), name, tuple(vault or ()), full, dry_run)
        view = IndexView(session, as_json=as_json)
        container, progress = session.container, view.progress()
        with closing(service.index(container, request, progress=progress)) as events:
            for event in events:
                view.show(event)
        code = view.finish()
        if not watch:
            return code
        session.notices([f"Watching {', '.join(v.name for v in view.vaults)}. Ctrl-C ends it."])
        service.watch(
            container,
            view.vaults,
            view.show,
            lambda line: session.notices([line]),
            progress=progress,
        )
        session.notices(["Stopped watching."])
        return 0
