"""Vaults, what they run on, and each part that was tried, on a terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ragvault.cli.render.layout import (
    age_of,
    columns,
    counted,
    facts,
    hanging,
    marked,
    shortened,
    size_of,
)
from ragvault.cli.render.terminal import Terminal
from ragvault.model import VaultInfo
from ragvault.service.doctor import Check, State
from ragvault.service.status import OllamaStatus, Status, VaultStatus
from ragvault.service.upkeep import Finding, Kind
from ragvault.text import one_line, strip_controls

_LABEL = 10  # columns


def print_vault(out: Terminal, vault: VaultInfo) -> None:
    """Two lines: its name with how much it holds, and where it is."""
    age = age_of(time.time() - vault.indexed_at) if vault.indexed_at else "never"
    counts = [counted(vault.notes, "note"), counted(vault.chunks, "passage")]
    name = strip_controls(vault.name)
    behind = facts(out, [*counts, f"indexed {age}"], lead=columns(name) + 2)
    out.print(f"{out.style(name, 'bold')}  {behind}".replace("\n", "\n  "))
    out.print(f"  {strip_controls(str(vault.path))} ({vault.kind})", "dim")


def print_status(out: Terminal, seen: Status) -> None:
    """For a terminal: each vault, then what it runs on."""

    def row(label: str, value: str, style: str = "") -> None:
        text = hanging(out, value.removeprefix(f"{label} "), _LABEL + 1)
        out.print(f"{out.style(f'{label:<{_LABEL}}', 'dim')} {out.style(text, style)}")

    if not seen.vaults:
        out.print("Nothing is indexed yet: `ragvault index ~/notes`.")
    for entry in seen.vaults:
        _print_vault(out, entry, has_model=not seen.embedding.problem)
    out.print()
    used = seen.embedding
    if used.problem:
        row("Embedding", f"{used.model}: {used.problem} {used.hint or ''}", "red")
    else:
        row("Embedding", f"{used.model} from {used.source} ({(used.fingerprint or '')[:16]})")
    if used.changing_to:
        row(
            "Changing", f"to {used.changing_to}; until it is whole, the one above answers", "yellow"
        )
    sizes = ", ".join(f"{name} {size_of(number)}" for name, number in seen.size_bytes.items())
    row("Index", f"{seen.index_path} ({sizes})")
    row("Config", str(seen.config_file) if seen.config_file else "defaults, no file")
    row("Ollama", *_ollama(seen.ollama))


def _print_vault(out: Terminal, entry: VaultStatus, *, has_model: bool) -> None:
    found = entry.coverage
    goes_on = "`ragvault index` goes on" + ("" if has_model else " when the model is here")
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
    vault = entry.vault
    if waiting:
        text += f": {', '.join(waiting)} since; run `ragvault index`"
    elif vault.embedded < vault.notes:
        text += f"; {vault.embedded:,} of {vault.notes:,} notes have vectors; {goes_on}"
    elif entry.changed_over is not None:
        text += f"; {entry.changed_over:,} of {vault.notes:,} notes have changed over to the "
        text += f"configured model; {goes_on}"
    elif not entry.vectors_in_step:
        text += "; the vector store is to be brought in step: run `ragvault index`"
    is_fine = not waiting and entry.vectors_in_step
    out.print(f"  {out.style(hanging(out, text, 2), 'green' if is_fine else 'yellow')}")


def _ollama(seen: OllamaStatus) -> tuple[str, str]:
    if seen.problem is not None:
        return f"{seen.problem} Answers are quoted from the notes. {seen.hint}", "yellow"
    return f"{seen.version} at {seen.host}, writes with {seen.model}", ""


def print_findings(out: Terminal, findings: Sequence[Finding]) -> None:
    """Each with some of the notes that it is about and what to do; one line where there is none."""
    if not findings:
        mark = out.style("✓", "bold green")
        out.print(f"{mark} Notes, catalog and vectors are sound and agree.")
    for one in findings:
        what = f"{one.kind}: {one.count:,} {one.what}"
        if one.kind in (Kind.DAMAGED, Kind.OUT_OF_REACH):
            what = f"{one.kind}: {one.what}"
        name = f"{strip_controls(one.vault)}: " if one.vault else ""
        mark = out.style("✗", "bold red")
        out.print(f"{mark} {out.style(one.part, 'bold')} {name}{hanging(out, what, 2)}")
        for path in shortened(one.paths):
            out.print(f"    {one_line(path)}")
        out.print(f"  → {one.remedy}", "red")
    out.flush()


_INDENT = 19  # columns before what was found
_MARKS = {
    State.OK: ("✓", "green"),
    State.WARNING: ("!", "yellow"),
    State.FAILED: ("✗", "red"),
}


def print_check(out: Terminal, check: Check) -> None:
    """A line, and below it what to do."""
    sign, style = _MARKS[check.state]
    mark = out.style(sign, f"bold {style}")
    detail = hanging(out, check.detail.removeprefix(f"{check.name} "), _INDENT)
    out.print(f"{mark} {out.style(f'{check.name:<{_INDENT - 3}}', 'bold')} {detail}")
    if check.remedy:
        marked(out, "→", check.remedy, style, indent=_INDENT)
    out.flush()
