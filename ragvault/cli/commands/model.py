"""``ragvault model``: the embedding models, where they are, and fetching one."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption, argument, option
from ragvault.cli.render import words
from ragvault.cli.render.terminal import print_json
from ragvault.cli.session import Session
from ragvault.config.profiles import ALIASES, PROFILES
from ragvault.errors import UsageError

app = command_app(no_args_is_help=True, help="List the embedding models, or get one.")


@app.command("list")
def list_models(as_json: JsonOption = False, config: ConfigOption = None) -> int:
    """Show the embedding models that ragvault is tuned for, and where each one is.

    Another model is used by its hub id (`embedding.model`) or folder (`embedding.path`).
    """
    with Session.open(config) as session:
        places = {name: session.container.where_model_is(name) for name in PROFILES}
        chosen = session.settings.embedding.profile
        if as_json:
            models = {
                name: {
                    "title": row.title,
                    "bytes": row.size,
                    "licence": row.licence,
                    "place": places[name],
                    "chosen": name == chosen,
                }
                for name, row in PROFILES.items()
            }
            print_json({"models": models})
            return 0
        for name, row in PROFILES.items():
            mark = ", chosen" if name == chosen else ""
            session.out.print(f"{session.out.style(name, 'bold')}: {row.title}{mark}")
            place = places[name] or f"nowhere here; `ragvault model get {name}`"
            session.out.print(f"  {words.size(row.size)}, {row.licence}")
            session.out.print(session.out.style(f"  {place}", "dim"))
    return 0


@app.command("get")
def get(
    name: Annotated[str | None, argument("NAME", "A name of `model list`, or a hub id.")] = None,
    yes: Annotated[bool, option("--yes", "Don't ask first.")] = False,
    config: ConfigOption = None,
) -> int:
    """Fetch a model from the Hugging Face hub: the only thing that ragvault ever downloads.

    Says size, licence and source, and asks. Without NAME it is the configured one. Broken off, it
    goes on where it was; each file's SHA-256 is checked.
    """
    with Session.open(config) as session:
        embedding = session.settings.embedding
        wanted = name or embedding.model or embedding.profile
        wanted = ALIASES.get(wanted, wanted)
        if wanted not in PROFILES and "/" not in wanted:
            raise UsageError(
                f"{wanted!r} is no model that ragvault knows.",
                f"Known: {', '.join(PROFILES)}; or give a hub id, such as intfloat/e5-base-v2.",
            )
        offer = session.container.model_on_hub(wanted)
        if not offer.missing:
            print(f"{offer.model} is here already: {offer.folder}")
            return 0
        err = session.err
        err.print(f"{offer.model}, {words.size(offer.size)} from {offer.source}")
        err.print(f"Licence: {offer.licence}")
        err.flush()
        if not yes:
            _ask()
        session.container.fetch_model(offer, progress=err.is_tty)
        print(f"{offer.model} is here, and what it should be.")
        if wanted in PROFILES and wanted != embedding.profile:
            change = f"ragvault config set embedding.profile {wanted}"
            session.notices([f"To use it: `{change}`, then `ragvault index`."])
    return 0


def _ask() -> None:
    """Raises UsageError where nobody can be asked, and when the answer is no."""
    if not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here.", "Run it with --yes to fetch the model.")
    if not typer.confirm("Fetch it?", err=True):
        raise UsageError("Nothing was fetched.", "Run it again when you want it.")
