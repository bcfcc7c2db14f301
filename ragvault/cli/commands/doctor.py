"""``ragvault doctor``: each part tried for real, each failure with its remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption

if TYPE_CHECKING:
    from ragvault.cli.render.terminal import Terminal
    from ragvault.service.doctor import Check

app = command_app()


@app.command()
def doctor(as_json: JsonOption = False, config: ConfigOption = None) -> int:
    """Try each part for real and say what to mend.

    Loads the model, opens both stores, reads the vault folders, asks Ollama for a word. Exits
    with 1 when a part that is needed fails.
    """
    from ragvault.cli.session import Session
    from ragvault.service import doctor as health

    checks = []
    with Session.open(config) as session:
        file = session.loaded.file
        checks.append(health.Check("Configuration", "ok", str(file or "defaults, no file")))
        if not as_json:
            _print(session.out, checks[0])
        for check in health.examine(session.container):
            checks.append(check)
            if not as_json:
                _print(session.out, check)
        checks.append(_terminal(session.out))
        if as_json:
            from ragvault.cli.render.terminal import print_json

            print_json({"ok": is_well(checks), "checks": [_check_object(c) for c in checks]})
        else:
            _print(session.out, checks[-1])
    return 0 if is_well(checks) else 1


def is_well(checks: list[Check]) -> bool:
    """Whether no part that is needed failed."""
    return all(check.state != "failed" for check in checks)


def _check_object(check: Check) -> dict[str, str | None]:
    return {
        "name": check.name,
        "state": check.state,
        "detail": check.detail,
        "remedy": check.remedy or None,
    }


def _terminal(out: Terminal) -> Check:
    from ragvault.service.doctor import Check

    abilities = [
        f"{out.width} columns" if out.is_tty else "not a terminal",
        "colour" if out.colour else "no colour",
        "links" if out.is_tty else "no links",
        "Unicode" if out.unicode else "no Unicode",
    ]
    return Check("Output", "ok", ", ".join(abilities))


_INDENT = 19  # columns before what was found
_MARKS = {"ok": ("✓", "ok", "green"), "warning": ("!", "!", "yellow"), "failed": ("✗", "x", "red")}


def _print(out: Terminal, check: Check) -> None:
    from ragvault.cli.render.layout import hanging

    wanted, plain, style = _MARKS[check.state]
    mark = out.style(out.symbol(wanted, plain), f"bold {style}")
    detail = hanging(out, check.detail.removeprefix(f"{check.name} "), _INDENT)
    out.print(f"{mark} {out.style(f'{check.name:<{_INDENT - 3}}', 'bold')} {detail}")
    if check.remedy:
        arrow = out.symbol("→", "->")
        remedy = hanging(out, check.remedy, _INDENT + 2)
        out.print(out.style(f"{' ' * _INDENT}{arrow} {remedy}", style))
    out.flush()
