"""The commands: one table of them, each imported when it is used."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

_SURROGATES = re.compile("[\ud800-\udfff]")
HELP_SETTINGS = {"help_option_names": ["-h", "--help"]}
_OWN_WORDS = {
    "--help": "Show this help.",
    "--install-completion": "Install tab completion for this shell.",
    "--show-completion": "Print the completion script instead.",
}


class Entry(NamedTuple):
    """A command: the first line of its help (its docstring is the rest), its section in the
    overview, and its module where that has several and isn't called like it."""

    summary: str
    section: str
    module: str = ""


COMMANDS: dict[str, Entry] = {
    "index": Entry("Index a folder of notes, or refresh what is indexed.", "Use"),
    "ask": Entry("Answer a question from the notes, with citations.", "Use"),
    "chat": Entry("Ask one question after another.", "Use"),
    "search": Entry("List the passages that match, with no answer.", "Use", "search"),
    "why": Entry("Say where a note stood, and what dropped it.", "Use", "search"),
    "eval": Entry("Measure how well ragvault finds, and how honestly it refuses.", "Use"),
    "show": Entry("Print a past answer as it was given.", "Look up", "past"),
    "sources": Entry(
        "List what a past answer rests on, or what came nearest where there was none.",
        "Look up",
        "past",
    ),
    "source": Entry(
        "Show a source in its note, as that is today, with what changed since.", "Look up", "past"
    ),
    "open": Entry("Open a source of a past answer, or a note, at its line.", "Look up", "past"),
    "history": Entry("List what was asked, the newest first.", "Look up"),
    "stats": Entry(
        "Show how often there was an answer, and what was asked in vain.", "Look up", "past"
    ),
    "status": Entry("Show vaults, coverage, model, sizes, Ollama.", "Care", "upkeep"),
    "doctor": Entry("Try each part for real and say what to mend.", "Care", "upkeep"),
    "verify": Entry("Compare notes, catalog and vectors.", "Care", "upkeep"),
    "repair": Entry("Mend what verify finds.", "Care", "upkeep"),
    "backup": Entry("Write the index into one file.", "Care", "upkeep"),
    "restore": Entry("Put an index back from its backup.", "Care", "upkeep"),
    "model": Entry("Get an embedding model.", "Care"),
    "vault": Entry("List, remove or move vaults.", "Care"),
    "config": Entry("Show, change, locate or create the configuration.", "Care"),
}


def _as_text(value: Any) -> Any:
    """A word of the command line without lone surrogates: bytes that are no UTF-8 become
    U+FFFD, since neither SQLite nor JSON takes them. A Path keeps its bytes."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list | tuple):
        return type(value)(_as_text(entry) for entry in value)
    return value


class _Help:
    """Arguments and options as they are typed, in words that can be printed and stored. (typer
    names Python's types beside them, and changes its wording with its versions; the docs hold the
    help.)"""

    def invoke(self: Any, ctx: Any) -> Any:
        ctx.params = {name: _as_text(value) for name, value in ctx.params.items()}
        return super().invoke(ctx)  # type: ignore[misc]

    def collect_usage_pieces(self: Any, ctx: Any) -> list[str]:
        arguments = [_name_of(p) for p in self.get_params(ctx) if p.param_type_name == "argument"]
        return ["[OPTIONS]", *arguments, *(["COMMAND"] if isinstance(self, TyperGroup) else [])]

    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)
        for kind in ("argument", "option"):
            params = [p for p in self.get_params(ctx) if p.param_type_name == kind]
            if params:
                with formatter.section(f"{kind.title()}s"):
                    formatter.write_dl([(_name_of(p), _said_of(p)) for p in params])


def _name_of(param: Any) -> str:
    """``PATH``, ``[PATH...]``; ``--vault NAME``, ``-h, --help``."""
    if param.param_type_name == "argument":
        name = f"{param.metavar}..." if param.nargs == -1 else str(param.metavar)
        return name if param.required else f"[{name}]"
    names = ", ".join(sorted([*param.opts, *param.secondary_opts], key=len))
    return names if param.is_flag or not param.metavar else f"{names} {param.metavar}"


def _said_of(param: Any) -> str:
    """What it is for; typer's own options in words that don't change with its versions."""
    return next((_OWN_WORDS[name] for name in param.opts if name in _OWN_WORDS), param.help or "")


class PlainCommand(_Help, TyperCommand):
    """A command with this program's help, whose words can be printed and stored."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """``--open`` alone is ``--open 1``: what follows may be the question."""
        for place, word in enumerate(args[: args.index("--")] if "--" in args else args):
            if word == "--open" and not "".join(args[place + 1 : place + 2]).isdigit():
                args = [*args[:place], "--open=1", *args[place + 1 :]]
        return super().parse_args(ctx, args)


class PlainGroup(_Help, TyperGroup):
    """A group of commands (``vault``, ``config``) with the same; each command's first paragraph
    whole: that nothing is lost is what one looks for before ``remove``."""

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            said = {name: inspect.cleandoc(c.help or "") for name, c in self.commands.items()}
            rows = [(name, " ".join(text.split("\n\n")[0].split())) for name, text in said.items()]
            formatter.write_dl(rows)


class LazyGroup(_Help, TyperGroup):
    """The top level: a command is imported when it is used."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            entry = COMMANDS[cmd_name]
            module = importlib.import_module(f"ragvault.cli.commands.{entry.module or cmd_name}")
            command: Any = typer.main.get_command(module.app)
            command = command.commands[cmd_name] if entry.module else command
            command.name = cmd_name
            command.help = f"{entry.summary}\n\n{command.help or ''}"
            self.commands[cmd_name] = command
        return super().get_command(ctx, cmd_name)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
            with formatter.section(section):
                formatter.write_dl(
                    [(name, e.summary) for name, e in COMMANDS.items() if e.section == section]
                )


class CommandApp(typer.Typer):
    """A Typer whose commands have this program's help, and are called as ``unfolded`` says."""

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
    """The command with --config in place of its ``session``, which is open while it runs; and with
    an option for each field of its dataclasses (such as ``options.Filters``), in their place, and
    called with the dataclass that they fill."""
    from ragvault.cli.options import CONFIG
    from ragvault.cli.session import Session

    given = dict(inspect.signature(command, eval_str=True).parameters)
    has_session = given.pop("session", None) is not None
    if has_session:
        by_name = inspect.Parameter.KEYWORD_ONLY
        given["config"] = inspect.Parameter(
            "config", by_name, default=CONFIG, annotation=Path | None
        )
    groups: dict[str, Any] = {
        n: p.annotation for n, p in given.items() if is_dataclass(p.annotation)
    }
    parameters: list[inspect.Parameter] = []
    for parameter in given.values():
        group = groups.get(parameter.name)
        options = inspect.signature(group, eval_str=True).parameters.values() if group else ()
        # By name only, so that one with a default may stand before one without.
        named = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in options or (parameter,)]
        parameters += named

    @functools.wraps(command)
    def run(**values: Any) -> Any:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        if not has_session:
            return command(**values)
        session = Session.open(values.pop("config"))
        with session.container:
            return command(session, **values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    return run
