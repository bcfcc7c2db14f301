"""``ragvault doctor``: each part tried for real, each failure with its remedy."""

from __future__ import annotations

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption
from ragvault.cli.render.terminal import print_json
from ragvault.service.json_objects import checks_object

app = command_app()


@app.command()
def doctor(as_json: JsonOption = False, config: ConfigOption = None) -> int:
    """Try each part for real and say what to mend.

    Loads the model, opens both stores, reads the vault folders, asks Ollama for a word. Exits
    with 1 when a part that is needed fails.
    """
    from ragvault.cli.render.status import print_check
    from ragvault.cli.session import Session
    from ragvault.service.doctor import examine, is_well

    with Session.open(config) as session:
        checks = []
        for check in examine(session.container, session.loaded.file):
            checks.append(check)
            if not as_json:
                print_check(session.out, check)
        if as_json:
            print_json(checks_object(checks))
    return 0 if is_well(checks) else 1
