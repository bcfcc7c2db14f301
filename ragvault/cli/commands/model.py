"""``ragvault model``: fetching an embedding model."""

from __future__ import annotations

from ragvault.cli.group import command_app
from ragvault.cli.options import argument, flag
from ragvault.cli.render.layout import size_of
from ragvault.cli.session import Session
from ragvault.config.profiles import ALIASES, PROFILES
from ragvault.errors import UsageError

app = command_app(no_args_is_help=True)


app.callback()(lambda: None)  # so that `get` has to be said


@app.command("get")
def get(
    session: Session,
    name: str | None = argument("NAME", "bundled, multilingual, or a hub id.", default=None),
    yes: bool = flag("--yes", "Don't ask first."),
) -> None:
    """Fetch a model from the Hugging Face hub: the only thing that ragvault ever downloads.

    Says size, licence and source, and asks. Without NAME it is the configured one. Broken off, it
    goes on where it was; each file's SHA-256 is checked."""
    embedding = session.container.settings.embedding
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
        return
    err = session.err
    err.print(f"{offer.model}, {size_of(offer.size)} from {offer.source}")
    err.print(f"Licence: {offer.licence}")
    err.flush()
    if not session.agrees("Fetch it?", yes=yes):
        return
    offer.fetch(progress=err.is_tty)
    print(f"{offer.model} is here, and what it should be.")
    if wanted in PROFILES and wanted != embedding.profile:
        change = f"ragvault config set embedding.profile {wanted}"
        session.notices([f"To use it: `{change}`, then `ragvault index`."])
