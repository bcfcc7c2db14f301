"""``ragvault index``: bring vaults up to date, once or for as long as it watches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ragvault.cli.group import command_app
from ragvault.cli.options import JSON, VAULT, argument, flag, folder, option
from ragvault.cli.render.index import IndexView
from ragvault.cli.session import Session
from ragvault.errors import UsageError
from ragvault.model import IndexReport, VaultInfo
from ragvault.service import index as service
from ragvault.service.index import IndexRequest
from ragvault.service.models import advice_once

app = command_app()


@app.command()
def index(
    session: Session,
    paths: list[Path] | None = argument("PATH", "Folders of notes.", default=None, parser=folder),
    name: str | None = option("--name", "Name of a new vault (else its folder's name).", "NAME"),
    vault: list[str] | None = VAULT,
    full: bool = flag("--full", "Read every note again and rebuild the vectors."),
    dry_run: bool = flag("--dry-run", "Show what would be done; write nothing."),
    watch: bool = flag("--watch", "Go on, and follow changes until Ctrl-C (exit 0)."),
    quiet: bool = flag("--quiet -q", "Say nothing where nothing changed."),
    as_json: bool = JSON,
) -> int:
    """The first time, give the folder: it is remembered under its name. Later `ragvault index`
    alone refreshes every vault, reading only what changed. Notes are never written to."""
    if watch and (as_json or dry_run):
        other = "--json" if as_json else "--dry-run"
        raise UsageError(f"--watch and {other} don't go together.", "Leave out one of them.")
    if paths and vault:
        raise UsageError("Give folders or --vault, not both.", "Run `ragvault index --help`.")
    if name is not None and not paths:
        raise UsageError("--name needs the folder that it names.")
    if name is not None and len(paths or ()) > 1:
        raise UsageError("--name names one folder; index them one by one.")
    folders, vaults = tuple(paths or ()), tuple(vault or ())
    request = IndexRequest(folders, name, vaults, full=full, dry_run=dry_run)
    view, embedded = IndexView(session, as_json=as_json, quiet=quiet and not as_json), 0
    with closing(service.index(session.container, request, progress=view.progress)) as events:
        for event in events:
            view.show(event)
            embedded += event.embedded if isinstance(event, IndexReport) else 0
    code = view.finish()
    if embedded and not quiet and (line := advice_once(session.container)):
        session.notices([line])
    if watch:
        _follow(session, view, service.chosen_vaults(session.container, request))
    return 0 if watch else code


def _follow(session: Session, view: IndexView, vaults: Sequence[VaultInfo]) -> None:
    """Ctrl-C ends it, as it should: exit code 0."""
    names = ", ".join(vault.name for vault in vaults)
    session.notices([f"Watching {names}. Ctrl-C ends it."])
    service.watch(
        session.container,
        vaults,
        view.show,
        lambda line: session.notices([line]),
        progress=view.progress,
    )
    session.notices(["Stopped watching."])
