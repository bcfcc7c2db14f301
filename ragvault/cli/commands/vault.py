"""``ragvault vault``: the remembered vaults."""

from __future__ import annotations

from pathlib import Path

from ragvault.cli.group import command_app
from ragvault.cli.options import JSON, YES, argument, folder
from ragvault.cli.render.layout import counted
from ragvault.cli.render.status import print_vault
from ragvault.cli.render.terminal import print_json
from ragvault.cli.session import Session
from ragvault.service.index import move_vault
from ragvault.service.json_objects import vault_object
from ragvault.service.vaults import known_vaults, remove_vault

app = command_app(no_args_is_help=True)

NAME = argument("NAME", "The vault.")


@app.command("list")
def list_vaults(session: Session, as_json: bool = JSON) -> None:
    """List the vaults with their folders."""
    vaults = known_vaults(session.container)
    if as_json:
        print_json({"vaults": [vault_object(vault) for vault in vaults]})
    else:
        for vault in vaults:
            print_vault(session.out, vault)


@app.command("remove")
def remove(session: Session, name: str = NAME, yes: bool = YES) -> None:
    """Forget a vault. Its notes are not touched."""
    vault = known_vaults(session.container, [name])[0]
    notes = counted(vault.notes, "note")
    question = f"Forget the index of {notes} of '{vault.name}'? The notes stay where they are"
    if not session.agrees(question, yes=yes):
        return
    session.notices(remove_vault(session.container, name))
    session.out.print(f"Removed '{vault.name}'. Its notes are untouched in {vault.path}.")


@app.command("move")
def move(
    session: Session,
    name: str = NAME,
    path: Path = argument("PATH", "The folder that it is in now.", parser=folder),
) -> None:
    """Follow a vault to another folder. Nothing is embedded again."""
    report = move_vault(session.container, name, path)
    session.out.print(f"'{name}' is now at {report.path}.")
