"""``ragvault config``: show what is in force, and where it comes from."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption
from ragvault.cli.render.terminal import Terminal
from ragvault.errors import UsageError

app = command_app(
    no_args_is_help=True,
    help="Show, locate, create or check the configuration.",
)


@app.command("show")
def show(config: ConfigOption = None, as_json: JsonOption = False) -> int:
    """Show every setting in force and where it comes from."""
    from ragvault.cli.render.terminal import print_json
    from ragvault.config.keys import as_yaml, keys, section_names
    from ragvault.text import strip_controls
    from ragvault.wiring import load_settings

    loaded = load_settings(config)
    if as_json:
        sections: dict[str, dict[str, Any]] = {section: {} for section in section_names()}
        for key in keys().values():
            value = _shown(key.dotted, _value(loaded.settings, key.section, key.name))
            source = loaded.origin(key.dotted).label
            sections[key.section][key.name] = {"value": value, "source": source}
        file = None if loaded.file is None else str(loaded.file)
        print_json({"config_file": file, "settings": sections})
        return 0
    out = Terminal.of(sys.stdout, loaded.settings.output.color)
    out.print(out.style(f"# {loaded.file or 'no configuration file: defaults'}", "dim"))
    for section in section_names():
        out.print(out.style(f"{section}:", "bold"))
        for key in keys().values():
            if key.section != section:
                continue
            value = _shown(key.dotted, _value(loaded.settings, section, key.name))
            line = strip_controls(f"  {key.name}: {as_yaml(value)}")
            origin = loaded.origin(key.dotted)
            if origin.kind == "default":
                out.print(out.style(line, "dim"))
            else:
                out.print(line + out.style(f"  # {strip_controls(origin.label)}", "cyan"))
    return 0


@app.command("path")
def path(config: ConfigOption = None) -> int:
    """Print the path of the configuration file, whether it exists or not."""
    from ragvault.wiring import locate_config

    print(locate_config(config)[0])
    return 0


@app.command("init")
def init(
    config: ConfigOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> int:
    """Write a commented configuration file with every default."""
    from ragvault.config.keys import example
    from ragvault.service.files import write_config
    from ragvault.wiring import locate_config

    target, _ = locate_config(config)
    if target.exists() and not force:
        raise UsageError(
            f"{target} exists already.",
            "Edit it, or overwrite it: `ragvault config init --force`.",
        )
    write_config(target, example(active=False))
    print(target)
    return 0


@app.command("validate")
def validate(config: ConfigOption = None, as_json: JsonOption = False) -> int:
    """Check the configuration file and the RAGVAULT_* variables."""
    from ragvault.cli.render.terminal import print_json
    from ragvault.text import strip_controls
    from ragvault.wiring import load_settings

    loaded = load_settings(config)
    changed = sorted(name for name, origin in loaded.origins.items() if origin.kind != "default")
    if as_json:
        file = None if loaded.file is None else str(loaded.file)
        old = list(loaded.removed)
        print_json({"config_file": file, "valid": True, "set": changed, "removed": old})
        return 0
    place = str(loaded.file) if loaded.file else "There is no configuration file; the defaults"
    count = f"{len(changed)} {'setting' if len(changed) == 1 else 'settings'} set"
    print(f"{place}: valid, {count}." if loaded.file else f"{place} are valid, {count}.")
    for line in loaded.removed:
        print(strip_controls(line))
    return 0


def _value(settings: Any, section: str, name: str) -> Any:
    return getattr(getattr(settings, section), name)


def _shown(dotted: str, value: Any) -> Any:
    """The value without secrets: what a header holds may be a token."""
    if dotted == "store.headers":
        return dict.fromkeys(value, "…")
    if hasattr(value, "model_dump"):  # a block of settings
        value = value.model_dump()
    return list(value) if isinstance(value, tuple) else value
