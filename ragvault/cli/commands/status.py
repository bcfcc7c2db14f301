"""``ragvault status``: what is indexed, how current it is, and what it runs on."""

from __future__ import annotations

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption
from ragvault.cli.render.status import print_status
from ragvault.cli.render.terminal import print_json
from ragvault.service.json_objects import status_object
from ragvault.service.status import status as look

app = command_app()


@app.command()
def status(as_json: JsonOption = False, config: ConfigOption = None) -> int:
    """Show vaults, coverage, model, sizes, Ollama.

    Coverage is the share of the notes on disk that are indexed as they are now. Nothing is
    loaded, no note is opened. Exits with 0 also when nothing is indexed yet.
    """
    from ragvault.cli.session import Session

    with Session.open(config) as session:
        seen = look(session.container, session.loaded.file)
        if as_json:
            print_json(status_object(seen))
        else:
            print_status(session.out, seen)
    return 0
