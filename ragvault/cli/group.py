"""The command group: one table of commands, each imported when it is used, and plain help.

Help is typer's plain layout (which needs neither rich nor its Markdown parser: 60 ms) with a
little colour where the terminal takes it.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from ragvault.cli.terminal import Terminal

HELP_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Entry(NamedTuple):
    """A command: its module under ``ragvault.cli``, its line in the overview, its group there."""

    module: str
    summary: str
    panel: str


COMMANDS: dict[str, Entry] = {
    "index": Entry("index", "Index a folder of notes, or refresh what is indexed.", "Use"),
    "ask": Entry("ask", "Answer a question from the notes, with citations.", "Use"),
    "search": Entry("search", "List the passages that match, with no answer.", "Use"),
    "status": Entry("status", "Show vaults, coverage, model, sizes, Ollama.", "Care"),
    "doctor": Entry("doctor", "Try each part for real and say what to mend.", "Care"),
    "vault": Entry("vault", "List, remove or rename vaults.", "Care"),
    "config": Entry("config_cmd", "Show, locate, create or check the configuration.", "Care"),
}


class LazyCommands(Mapping[str, Any]):
    """Name → command, built from its module at the first look-up."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            module = importlib.import_module(f"ragvault.cli.{COMMANDS[name].module}")
            command = typer.main.get_command(module.app)
            command.name = name
            self._built[name] = command
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class PlainCommand(TyperCommand):
    """A command whose help is coloured on a terminal."""

    def get_help(self, ctx: Any) -> str:
        return decorate(super().get_help(ctx))


class PlainGroup(TyperGroup):
    """A group of the same (``vault``, ``config``)."""

    def get_help(self, ctx: Any) -> str:
        return decorate(super().get_help(ctx))


class LazyGroup(PlainGroup):
    """The top level. Its overview comes from the table, so no command is imported for it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = LazyCommands()  # type: ignore[assignment]  # read-only is all it needs

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        for panel in dict.fromkeys(entry.panel for entry in COMMANDS.values()):
            rows = [(n, e.summary) for n, e in COMMANDS.items() if e.panel == panel]
            with formatter.section(panel):
                formatter.write_dl(rows, col_max=12)


def command_app(**settings: Any) -> typer.Typer:
    """The Typer object of one command's module."""
    return typer.Typer(
        cls=PlainGroup,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=HELP_SETTINGS,
        **settings,
    )


_HEADING = re.compile(r"^(?:Usage|Start|Exit codes|Arguments|Options|[A-Z][a-z]+):", re.MULTILINE)
_TERM = re.compile(r"^  (?:-{1,2}[\w-]+(?:, --[\w-]+)*|[a-z]+(?=  ))", re.MULTILINE)


def decorate(help_text: str) -> str:
    """Headings bold and names cyan, where stdout takes colour."""
    out = Terminal.of(sys.stdout)
    text = _HEADING.sub(lambda match: out.style(match.group(), "bold"), help_text)
    return _TERM.sub(lambda match: f"  {out.style(match.group()[2:], 'cyan')}", text)
