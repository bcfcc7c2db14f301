"""``ragvault status``: what is indexed, how current it is, and what it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption

if TYPE_CHECKING:
    from ragvault.cli.render.terminal import Terminal
    from ragvault.service.status import OllamaStatus, Status, VaultStatus

app = command_app()

_LABEL = 10  # columns


@app.command()
def status(as_json: JsonOption = False, config: ConfigOption = None) -> int:
    """Show vaults, coverage, model, sizes, Ollama.

    Coverage is the share of the notes on disk that are indexed as they are now. Nothing is
    loaded, no note is opened. Exits with 0 also when nothing is indexed yet.
    """
    from ragvault.cli.session import Session
    from ragvault.service import status as health

    with Session.open(config) as session:
        seen = health.status(session.container, session.loaded.file)
        if as_json:
            from ragvault.cli.render.terminal import print_json

            print_json(status_object(seen))
        else:
            print_status(session.out, seen)
    return 0


def status_object(seen: Status) -> dict[str, Any]:
    """For ``--json``."""
    from ragvault.cli.commands.vault import vault_object

    vaults = []
    for entry in seen.vaults:
        found = entry.coverage
        vaults.append(
            {
                **vault_object(entry.vault),
                "coverage": round(found.share, 4),
                "on_disk": {
                    "current": found.current,
                    "changed": found.changed,
                    "new": found.new,
                    "gone": found.gone,
                },
                "problem": found.problem,
                "vectors_in_step": entry.vectors_in_step,
            }
        )
    ollama = seen.ollama
    return {
        "index_path": str(seen.data_dir),
        "config_file": str(seen.config_file) if seen.config_file else None,
        "vaults": vaults,
        "embedding": {
            "model": seen.model,
            "fingerprint": seen.fingerprint,
            "problem": seen.model_problem,
        },
        "size_bytes": dict(seen.sizes),
        "ollama": {
            "host": ollama.host,
            "reachable": ollama.problem is None,
            "version": ollama.version,
            "model": ollama.model,
            "model_present": ollama.has_model,
            "models": list(ollama.models),
            "problem": ollama.problem,
        },
    }


def print_status(out: Terminal, seen: Status) -> None:
    """For a terminal: each vault, then what it runs on."""
    from ragvault.cli.render import words
    from ragvault.cli.render.layout import hanging

    def row(label: str, value: str, style: str = "") -> None:
        text = hanging(out, value.removeprefix(f"{label} "), _LABEL + 1)
        out.print(f"{out.style(f'{label:<{_LABEL}}', 'dim')} {out.style(text, style)}")

    if not seen.vaults:
        out.print("Nothing is indexed yet: `ragvault index ~/notes`.")
    for entry in seen.vaults:
        _print_vault(out, entry)
    out.print()
    if seen.model_problem:
        row("Embedding", f"{seen.model}: {seen.model_problem}", "red")
    else:
        row("Embedding", f"{seen.model} ({(seen.fingerprint or '')[:16]})")
    sizes = ", ".join(f"{name} {words.size(number)}" for name, number in seen.sizes)
    row("Index", f"{seen.data_dir} ({sizes})")
    row("Config", str(seen.config_file) if seen.config_file else "defaults, no file")
    row("Ollama", *_ollama(seen.ollama))


def _print_vault(out: Terminal, entry: VaultStatus) -> None:
    from ragvault.cli.commands.vault import print_vault
    from ragvault.cli.render.layout import hanging

    found = entry.coverage
    print_vault(out, entry.vault)
    if found.problem:
        out.print(f"  {out.style(hanging(out, found.problem, 2), 'red')}")
        return
    waiting = [
        f"{number:,} {what}"
        for number, what in ((found.new, "new"), (found.changed, "changed"), (found.gone, "gone"))
        if number
    ]
    text = f"coverage {found.share:.0%}"
    if waiting:
        text += f": {', '.join(waiting)} since; run `ragvault index`"
    elif not entry.vectors_in_step:
        text += "; the vector store is to be brought in step: run `ragvault index`"
    is_fine = not waiting and entry.vectors_in_step
    out.print(f"  {out.style(hanging(out, text, 2), 'green' if is_fine else 'yellow')}")


def _ollama(seen: OllamaStatus) -> tuple[str, str]:
    if seen.problem is not None:
        return f"{seen.problem} Answers are quoted from the notes.", "yellow"
    if seen.has_model:
        return f"{seen.version} at {seen.host}, writes with {seen.model}", ""
    held = ", ".join(seen.models) or "no model at all"
    return f"{seen.version} at {seen.host} has {held}; `ollama pull {seen.model}`", "yellow"
