"""The parts of README.md and docs/ that the program writes: help, settings, fates, sample output.

    python -m tests.support.docs --write    put today's into the pages (`make docs`)
    python -m tests.support.docs --check    exit 1 if what needs no index is out of date

Each stands between two marks, ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->``. The sample output
is made by running the commands; what differs from machine to machine is masked where a test
compares it (``masked``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
# The demo's own commands (.ci/demo.sh); a test holds the two together.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("index", "tests/sample-vault"),
    ("ask", "--no-llm", "What did I decide about the backend?"),
    ("ask", "--no-llm", "What is the capital of Mongolia?"),
)
DEBUG_COMMAND = ("ask", "--no-llm", "--debug", "Which buoys will send water temperature?")
DEBUG_ROWS = 3  # of the candidates; the page shows that many


def as_typed(command: tuple[str, ...]) -> str:
    """The command line as a person types it."""
    return "$ ragvault " + " ".join(f'"{word}"' if " " in word else word for word in command)


def environment(index: Path) -> dict[str, str]:
    """A ragvault of its own: index and configuration in ``index``, no colour, 100 columns."""
    index.mkdir(parents=True, exist_ok=True)
    config = index / "config.yaml"
    config.write_text("index:\n  path: data\n", encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RAGVAULT_")}
    return {
        **kept,
        "RAGVAULT_CONFIG": str(config),
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "PYTHONIOENCODING": "utf-8",
    }


def transcripts() -> tuple[str, str]:
    """What the demo's commands print, and the debug part of DEBUG_COMMAND."""
    with tempfile.TemporaryDirectory(prefix="ragvault-docs-") as folder:
        variables = environment(Path(folder))
        demo = "\n\n".join(_folded(_printed(command, variables)) for command in COMMANDS)
        typed, _, debug = _printed(DEBUG_COMMAND, variables).partition("\n")
    lines = debug[debug.index("\nDebug\n") :].strip().splitlines()[1:]
    last = next(n for n, line in enumerate(lines) if "fate" in line) + DEBUG_ROWS
    return demo, "\n".join([typed, "", *lines[: last + 1], "  …"])


def _printed(command: tuple[str, ...], variables: dict[str, str]) -> str:
    """The command line and both its streams, as a terminal shows them."""
    done = subprocess.run(
        [sys.executable, "-m", "ragvault", *command],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{as_typed(command)} ended with {done.returncode}:\n{done.stdout}")
    return f"{as_typed(command)}\n{done.stdout.strip()}".replace(str(ROOT), "~/ragvault")


def _folded(text: str, width: int = 100) -> str:
    """Long lines broken as a terminal breaks them: where there is none, ragvault breaks none."""
    return "\n".join(
        line
        if len(line) <= width or line.startswith((" ", "$"))
        else "\n".join(textwrap.wrap(line, width, subsequent_indent="│ " * line.startswith("│ ")))
        for line in map(str.rstrip, text.splitlines())
    )


def masked(text: str) -> str:
    """``text`` without what may differ: times, dates, scores (another processor rounds
    differently), and where lines are broken."""
    text = re.sub(r"(?:\d+ min )?\d+(?:\.\d+)? ?(?:ms|s|min)\b", "T", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d\b", "D", text)
    text = re.sub(r"\b[01]\.\d+", "N", text)
    return " ".join(text.split())


def pages() -> Iterator[tuple[str, str]]:
    """(``ragvault config show``, its help) of every command, groups before their commands."""
    import typer

    from ragvault.cli.main import PROGRAM, app

    with patch.dict(os.environ, NO_COLOR="1"):
        yield from _pages(typer.main.get_command(app), PROGRAM, None)


def _pages(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
    context = command.make_context(
        name, [], parent=parent, resilient_parsing=True, terminal_width=80
    )
    with context:
        yield context.command_path, command.get_help(context)
        for child in getattr(command, "commands", {}):
            yield from _pages(command.get_command(context, child), child, context)


def help_pages() -> str:
    """The help of every command, 80 columns, no colour."""
    shown = "\n".join(f"$ {path} --help\n{text}\n" for path, text in pages())
    return f"```text\n{shown}```"


def settings_table() -> str:
    """Every key with its default, what it takes and its meaning."""
    from ragvault.config.keys import as_yaml, keys, sections

    parts = []
    for section, about in sections().items():
        rows = [
            f"| `{key.dotted}` | `{as_yaml(key.default)}` | {key.meaning} ({key.expects}) |"
            for key in keys().values()
            if key.section == section
        ]
        head = ["| key | default | meaning |", "| --- | --- | --- |"]
        parts.append("\n".join([f"### {section}", "", about, "", *head, *rows]))
    return "\n\n".join(parts)


def fates_table() -> str:
    """What ``fate`` may be in ``--debug``, and what it says."""
    from ragvault.model import DroppedBy

    rows = [f"| `{fate}` | {fate.description} |" for fate in DroppedBy]
    return "\n".join(["| fate | meaning |", "| --- | --- |", *rows])


# By the name of the mark. These are quick and need no index.
QUICK: dict[str, Callable[[], str]] = {
    "help": help_pages,
    "settings": settings_table,
    "fates": fates_table,
}


def block(page: str, name: str) -> str:
    """What stands between the marks. Raises ValueError when they are missing."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    return page[page.index(begin) + len(begin) : page.index(end)].strip()


def transcript(page: str, name: str) -> str:
    """The console text of a block."""
    return block(page, name).removeprefix("```console").removesuffix("```").strip()


def renewed(page: str, texts: dict[str, str]) -> str:
    """The page with each block that it has marks for renewed."""
    for name, text in texts.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        if begin in page:
            head, tail = page[: page.index(begin) + len(begin)], page[page.index(end) :]
            page = f"{head}\n{text}\n{tail}"
    return page


def outdated() -> list[Path]:
    """Pages whose quick blocks aren't what the program says today."""
    texts = {name: make() for name, make in QUICK.items()}
    return [
        page for page in PAGES if renewed(page.read_text("utf-8"), texts) != page.read_text("utf-8")
    ]


def main(argv: list[str]) -> int:
    if argv == ["--check"]:
        wrong = [str(page.relative_to(ROOT)) for page in outdated()]
        if wrong:
            print(f"Out of date: {', '.join(wrong)}. Run: make docs", file=sys.stderr)
        return int(bool(wrong))
    if argv != ["--write"]:
        print(__doc__)
        return 2
    demo, debug = transcripts()
    texts = {name: make() for name, make in QUICK.items()}
    texts |= {"output": f"```console\n{demo}\n```", "debug": f"```console\n{debug}\n```"}
    from ragvault.config.keys import example

    (ROOT / "config.example.yaml").write_text(example(), encoding="utf-8")
    for page in PAGES:
        page.write_text(renewed(page.read_text("utf-8"), texts), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
