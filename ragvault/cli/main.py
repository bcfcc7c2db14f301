"""The entry point: which commands there are, and where every failure ends.

Nothing heavy is imported here, and a command's module only when that command runs, so that
``--help``, ``--version`` and shell completion stay quick.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import typer

from ragvault.cli.failure import as_reported, report_failure
from ragvault.cli.group import HELP_SETTINGS, LazyGroup
from ragvault.cli.render.terminal import close_stdout_quietly, prepare_streams
from ragvault.errors import UsageError

PROGRAM = "ragvault"

app = typer.Typer(
    cls=LazyGroup,
    name=PROGRAM,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=HELP_SETTINGS,
    epilog="""\b
Start:
  ragvault index ~/notes
  ragvault ask "What did I decide about the backend?"

Exit codes: 0 done; 2 usage or configuration; 3 abstained or nothing found; 4 no index;
5 model server or model missing; 6 index busy; 1 anything else; 130 interrupted.
""",
)


def _version(wanted: bool) -> None:
    if wanted:
        from ragvault import __version__

        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(
        False, "--version", help="Show the version.", callback=_version, is_eager=True
    ),
) -> None:
    """Answers from a folder of Markdown notes, on your own machine, with citations that open.

    Everything stays here: notes are read and never written, the index lives in your data
    folder, and the answer is written by a model on this machine (or quoted, when there is none).
    """


def run(argv: list[str] | None = None, *, clock: Callable[[], float] = time.time) -> None:
    """Run one command and end the process with its exit code.

    A command returns its exit code (None is 0) or raises; every exception becomes a sentence, a
    next step and a code here and nowhere else.
    """
    argv = sys.argv[1:] if argv is None else argv
    prepare_streams()
    os.umask(0o077)  # what is written holds the notes' text, or what was asked of them
    sys.unraisablehook = _interrupt_again
    try:
        if clock() < 0:
            raise UsageError("This machine's clock is before 1970.", "Set it: `date` shows it.")
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
        code = _called(argv)
        sys.stdout.flush()
    except BrokenPipeError:  # a reader that has left (``| head``) has had enough: no failure
        close_stdout_quietly()
        code = 0
    except (Exception, KeyboardInterrupt) as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C has nothing left to stop
        if os.environ.get("RAGVAULT_DEBUG"):
            import traceback

            traceback.print_exc()
        with suppress(OSError):  # where nobody takes the words, the exit code has to do
            # Needed where they could not be parsed, too.
            report_failure(error, argv[: argv.index("--")] if "--" in argv else argv)
        code = as_reported(error).exit_code
    # All is said: an interrupt of what Python still tidies up must not print a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(code)


def _interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised while it frees an object; an interrupt comes once more."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        from threading import Timer

        Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(lost)


def _called(argv: list[str]) -> int:
    """The command's exit code. Not by the command's own ``main``, which would make an exit code
    of an interrupt and of a closed pipe before anything can be said; but for shell completion."""
    command = typer.main.get_command(app)
    if f"_{PROGRAM.upper()}_COMPLETE" in os.environ:
        command(argv, prog_name=PROGRAM)
    try:
        with command.make_context(PROGRAM, argv) as context:
            return command.invoke(context) or 0
    except typer.Exit as end:  # of --help and --version
        return end.exit_code
