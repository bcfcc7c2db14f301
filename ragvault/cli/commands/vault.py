"""``ragvault vault``: the remembered vaults."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption, argument, option
from ragvault.cli.render import words
from ragvault.cli.render.status import print_vault
from ragvault.cli.render.terminal import print_json
from ragvault.cli.session import Session
from ragvault.errors import UsageError
from ragvault.service.index import move_vault, rename_vault
from ragvault.service.json_objects import index_object, vault_object
from ragvault.service.vaults import known_vaults, remove_vault

app = command_app(no_args_is_help=True, help="List, remove, rename or move vaults.")

NameArgument = Annotated[str, argument("NAME", "The vault.")]


@app.command("list")
def list_vaults(as_json: JsonOption = False, config: ConfigOption = None) -> int:
    """List the vaults with their folders."""
    with Session.open(config) as session:
        vaults = known_vaults(session.container)
        if as_json:
            print_json({"vaults": [vault_object(vault) for vault in vaults]})
        else:
            for vault in vaults:
                print_vault(session.out, vault)
    return 0


@app.command("remove")
def remove(
    name: NameArgument,
    yes: Annotated[bool, option("--yes -y", "Don't ask.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Forget a vault. Its notes are not touched."""
    with Session.open(config) as session:
        vault = known_vaults(session.container, [name])[0]
        if not yes:
            if as_json or not sys.stdin.isatty():
                raise UsageError(
                    "Removing a vault needs a yes.", f"ragvault vault remove {name} --yes"
                )
            notes = words.count(vault.notes, "note")
            question = (
                f"Forget the index of {notes} of '{vault.name}'? The notes stay where they are"
            )
            if not typer.confirm(question, err=True):
                session.notices(["Nothing was removed."])
                return 0
        session.notices(remove_vault(session.container, name))
        if as_json:
            print_json({"removed": vault_object(vault)})
        else:
            session.out.print(f"Removed '{vault.name}'. Its notes are untouched in {vault.path}.")
    return 0


@app.command("rename")
def rename(
    old: Annotated[str, argument("OLD", "The vault.")],
    new: Annotated[str, argument("NEW", "Its new name.")],
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Give a vault another name. Nothing is embedded again."""
    with Session.open(config) as session:
        report = rename_vault(session.container, old, new)
        if as_json:
            print_json({"renamed": {"from": old, "to": report.name}, **index_object([report])})
        else:
            session.out.print(f"'{old}' is now '{report.name}'.")
    return 0


@app.command("move")
def move(
    name: NameArgument,
    path: Annotated[Path, argument("PATH", "The folder that it is in now.")],
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Follow a vault to another folder. Nothing is embedded again."""
    with Session.open(config) as session:
        report = move_vault(session.container, name, path)
        if as_json:
            print_json({"moved": name, **index_object([report])})
        else:
            session.out.print(f"'{name}' is now at {report.path}.")
    return 0
