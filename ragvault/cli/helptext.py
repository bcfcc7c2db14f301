"""The help of every command as plain text: for the README, which holds it between two markers.

    python -m ragvault.cli.helptext                    print it
    python -m ragvault.cli.helptext --write README.md  renew the block
    python -m ragvault.cli.helptext --check README.md  exit 1 if the block is out of date

Width 80, no colour, whatever terminal or environment it runs in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragvault.errors import UsageError

BEGIN = "<!-- help:begin -->"
END = "<!-- help:end -->"
WIDTH = 80


def all_help() -> str:
    """Each command's help under its own ``$ ragvault … --help`` line."""
    return "\n".join(f"$ {path} --help\n{text}\n" for path, text in pages())


def pages() -> Iterator[tuple[str, str]]:
    """(``ragvault config show``, its help) of every command, groups before their commands."""
    import typer

    from ragvault.cli.main import PROGRAM, app

    yield from _pages(typer.main.get_command(app), PROGRAM, None)


def _pages(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
    context = command.make_context(
        name, [], parent=parent, resilient_parsing=True, terminal_width=WIDTH
    )
    with context:
        yield context.command_path, command.get_help(context)
        for child in getattr(command, "commands", {}):
            yield from _pages(command.get_command(context, child), child, context)


def block() -> str:
    """What stands between the markers."""
    return f"{BEGIN}\n```text\n{all_help()}```\n{END}"


def renewed(document: str) -> str:
    """The document with its block renewed. Raises UsageError when the markers aren't there."""
    start, end = document.find(BEGIN), document.find(END)
    if start < 0 or end < start:
        raise UsageError(f"There are no lines {BEGIN} and {END}.", "Put them into the file.")
    return document[:start] + block() + document[end + len(END) :]


def main(arguments: list[str]) -> int:
    """Print, write or check; returns the exit code."""
    os.environ["NO_COLOR"] = "1"
    if not arguments:
        print(all_help(), end="")
        return 0
    if len(arguments) != 2 or arguments[0] not in ("--check", "--write"):
        print(
            "Usage: python -m ragvault.cli.helptext [--check FILE | --write FILE]", file=sys.stderr
        )
        return 2
    file = Path(arguments[1])
    old = file.read_text(encoding="utf-8")
    try:
        new = renewed(old)
    except UsageError as error:
        print(f"{file}: {error.message} {error.hint}", file=sys.stderr)
        return 2
    if arguments[0] == "--write":
        file.write_text(new, encoding="utf-8", newline="\n")
        return 0
    if new != old:
        print(
            f"{file}: the help is out of date; run: python -m ragvault.cli.helptext --write {file}",
            file=sys.stderr,
        )
    return int(new != old)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
