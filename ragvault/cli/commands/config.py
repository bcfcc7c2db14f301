"""``ragvault config``: show what is in force and where it comes from; change it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ragvault.cli.group import command_app
from ragvault.cli.options import CONFIG, JSON, argument, flag
from ragvault.cli.render.terminal import print_json
from ragvault.cli.session import Session
from ragvault.config.edit import with_value
from ragvault.config.file import read_text, unknown, value_of
from ragvault.config.keys import Key, as_yaml, example, keys, sections
from ragvault.config.settings import Settings
from ragvault.errors import UsageError
from ragvault.text import strip_controls
from ragvault.wiring import load_settings, locate_config, write_file

app = command_app(no_args_is_help=True)

_ELSEWHERE = "Choose another place with --config FILE."
KEY = argument("KEY", "As `config show` names it: embedding.profile.")


@app.command("show")
def show(session: Session, as_json: bool = JSON) -> None:
    """Show every setting in force and where it comes from.

    And the keys of earlier versions that have no effect any more."""
    loaded, out = session.loaded, session.out
    if as_json:
        shown: dict[str, dict[str, Any]] = {section: {} for section in sections()}
        for key in keys().values():
            shown[key.section][key.name] = {
                "value": _shown(key, loaded.settings),
                "source": loaded.origin(key.dotted).label,
                "meaning": key.meaning,
            }
        whole = {"config_file": loaded.file, "settings": shown, "without_effect": loaded.gone}
        print_json(whole)
        return
    out.print(f"# {loaded.file or 'no configuration file: defaults'}", "dim")
    section = ""
    for key in keys().values():
        if key.section != section:
            section = key.section
            out.print(f"{section}:", "bold")
        line = strip_controls(f"  {key.name}: {as_yaml(_shown(key, loaded.settings))}")
        origin = loaded.origin(key.dotted)
        if origin.kind == "default":
            out.print(line, "dim")
        else:
            out.print(line + out.style(f"  # {strip_controls(origin.label)}", "cyan"))


@app.command("set")
def set_value(
    key: str = KEY,
    value: str = argument("VALUE", "Texts of a list between commas; null for none."),
    config: Path | None = CONFIG,
) -> None:
    """Put a setting into the configuration file.

    The file is made when there is none; its comments and its order stay. A value that won't do
    changes nothing."""
    setting, target = _known(key), locate_config(config)[0]
    text = read_text(target) if target.exists() else ""
    write_file(target, with_value(target, text, setting, value_of(setting, value)), _ELSEWHERE)
    loaded = load_settings(target)
    print(strip_controls(f"{key}: {as_yaml(_shown(setting, loaded.settings))}"))
    origin = loaded.origin(key)
    if origin.kind == "env":
        print(f"{origin.label} is set, and wins over the file.", file=sys.stderr)
    elif setting.section in ("embedding", "chunking"):
        print("It counts from the next `ragvault index` on.", file=sys.stderr)


@app.command("path")
def path(config: Path | None = CONFIG) -> None:
    """Print the path of the configuration file, whether it exists or not."""
    print(locate_config(config)[0])


@app.command("init")
def init(
    config: Path | None = CONFIG, force: bool = flag("--force", "Overwrite an existing file.")
) -> None:
    """Write a commented configuration file with every default."""
    target, _ = locate_config(config)
    if target.exists() and not force:
        raise UsageError(
            f"{target} exists already.", "Edit it, or overwrite it: `ragvault config init --force`."
        )
    write_file(target, example(active=False), _ELSEWHERE)
    print(target)


def _known(name: str) -> Key:
    """The setting of that name. Raises ConfigError."""
    if name not in keys():
        step = "`ragvault config show` lists them all."
        raise unknown("", strip_controls(name), list(keys()), "setting", step)
    return keys()[name]


def _shown(key: Key, settings: Settings) -> Any:
    """A setting's value as JSON has it, without secrets: what a header holds may be a token."""
    value = settings.model_dump(mode="json")[key.section][key.name]
    return dict.fromkeys(value, "…") if key.dotted == "store.headers" else value
