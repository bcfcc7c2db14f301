"""The commands: one table of them, each imported when it is used."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from ragvault.cli.help import first_sentence, render
from ragvault.cli.render.terminal import close_stdout_quietly

_SURROGATES = re.compile("[\ud800-\udfff]")
HELP_SETTINGS = {"help_option_names": ["-h", "--help"]}


class Entry(NamedTuple):
    """A command: its module in ``cli.commands``, its line in the overview, its group there."""

    module: str
    summary: str
    panel: str


COMMANDS: dict[str, Entry] = {
    "index": Entry("index", "Index a folder of notes, or refresh what is indexed.", "Use"),
    "ask": Entry("ask", "Answer a question from the notes, with citations.", "Use"),
    "search": Entry("search", "List the passages that match, with no answer.", "Use"),
    "eval": Entry("eval", "Measure how well ragvault finds, and how honestly it refuses.", "Use"),
    "status": Entry("status", "Show vaults, coverage, model, sizes, Ollama.", "Care"),
    "doctor": Entry("doctor", "Try each part for real and say what to mend.", "Care"),
    "vault": Entry("vault", "List, remove or rename vaults.", "Care"),
    "config": Entry("config", "Show, locate, create or check the configuration.", "Care"),
}


def _as_text(value: Any) -> Any:
    """A word of the command line without lone surrogates: bytes that are no UTF-8 become
    U+FFFD, since neither SQLite nor JSON takes them. A Path keeps its bytes."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list | tuple):
        return type(value)(_as_text(entry) for entry in value)
    return value


class PlainCommand(TyperCommand):
    """A command with this program's help, whose words can be printed and stored."""

    def invoke(self, ctx: Any) -> Any:
        ctx.params = {name: _as_text(value) for name, value in ctx.params.items()}
        return super().invoke(ctx)

    def get_help(self, ctx: Any) -> str:
        return render(self, ctx)


class PlainGroup(TyperGroup):
    """A group of commands (``vault``, ``config``) with the same."""

    def get_help(self, ctx: Any) -> str:
        rows = [(name, first_sentence(c.help or "")) for name, c in self.commands.items()]
        return render(self, ctx, [("Commands", rows)])


class LazyGroup(TyperGroup):
    """The top level. Its overview comes from the table; a command is imported when it is used."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            module = importlib.import_module(f"ragvault.cli.commands.{COMMANDS[cmd_name].module}")
            command = typer.main.get_command(module.app)
            command.name = cmd_name
            self.commands[cmd_name] = command
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run the command. A reader of stdout that has left (``| head``) has had enough: that is
        no failure. (typer would turn it into exit code 1, and Ctrl-C into 130 with no word, or
        no JSON object, to say so.)"""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            from ragvault.errors import Interrupted

            raise Interrupted("Interrupted.") from None
        except BrokenPipeError:
            close_stdout_quietly()
            raise typer.Exit(0) from None

    def get_help(self, ctx: Any) -> str:
        panels = dict.fromkeys(entry.panel for entry in COMMANDS.values())
        sections = [
            (panel, [(name, e.summary) for name, e in COMMANDS.items() if e.panel == panel])
            for panel in panels
        ]
        return render(self, ctx, sections)


class CommandApp(typer.Typer):
    """A Typer whose commands have this program's help, and may take options in groups."""

    def command(self, name: str | None = None, **settings: Any) -> Any:
        register = super().command(name, cls=PlainCommand, **settings)
        return lambda command: register(unfolded(command))


def command_app(**settings: Any) -> typer.Typer:
    """The Typer object of one command's module, or of a group of commands."""
    return CommandApp(
        cls=PlainGroup,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=HELP_SETTINGS,
        **settings,
    )


def unfolded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with an option for each field of its dataclasses, and called with the dataclass
    that they fill; itself where it has none:

        @dataclass(frozen=True)
        class Filters:
            tag: Annotated[str | None, typer.Option("--tag")] = None

        @app.command()
        def search(query: str, *, filters: Filters) -> int: ...     # search --tag TAG QUERY

    The options keep the order of the parameters and of the fields. Raises TypeError for a field
    that has the name of another parameter.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }
    if not groups:
        return command

    @functools.wraps(command)
    def run(**values: Any) -> Any:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        return command(**values)

    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        parameters += _options_of(groups[name]) if name in groups else [_keyword(parameter)]
    names = [parameter.name for parameter in parameters]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TypeError(f"{command.__name__} has more than one parameter {', '.join(repeated)}")
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by inspect
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def _keyword(parameter: inspect.Parameter) -> inspect.Parameter:
    """By name only, so that one with a default may stand before one without."""
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
