"""Failures as a person, or a script, sees them. The only place that turns one into output."""

from __future__ import annotations

import errno
import sys
from collections.abc import Collection
from typing import Any

import typer

from ragvault.cli.render.layout import columns, hanging, marked
from ragvault.cli.render.terminal import Terminal, close_stdout_quietly, print_json
from ragvault.errors import Interrupted, RagvaultError, UsageError
from ragvault.text import strip_controls

# Without a file name, as a write to an open stream raises them.
_OUTPUT_FAILED = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


class OutputError(RagvaultError):
    """stdout takes nothing more: its disk is full, or the device failed."""

    type = "output"
    default_hint = "Check the file, disk or device that the output goes to."


class FileError(RagvaultError):
    """A file or folder that the operating system refuses."""

    type = "file"
    default_hint = "Check that it is there, and its owner and permissions (`ls -ld`)."


class UnexpectedError(RagvaultError):
    """A bug: what was raised is none of ours."""

    type = "unexpected"
    default_hint = "Set RAGVAULT_DEBUG=1 to see the traceback, and report it."


def as_reported(error: BaseException) -> RagvaultError:
    """The failure that is reported for an exception: typer's usage errors become ours, what nobody
    foresaw is a bug."""
    if isinstance(error, RagvaultError):
        return error
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return Interrupted("Interrupted.")
    if hasattr(error, "format_message"):  # typer's
        return _usage_error(error)
    if isinstance(error, OSError) and error.errno in _OUTPUT_FAILED and error.filename is None:
        return OutputError(f"The output can't be written: {error.strerror}.")
    if isinstance(error, PermissionError) and error.filename is not None:
        return FileError(f"{error.filename} can't be used: {error.strerror}.")
    if isinstance(error, FileNotFoundError) and error.filename is None:  # ``os.getcwd``
        return FileError("The current folder isn't there any more.", "Change to another one: `cd`.")
    detail = " ".join(str(error).split())[:300]
    what = f"{type(error).__name__}: {detail}" if detail else type(error).__name__
    return UnexpectedError(f"Something unexpected went wrong ({what}).")


def _usage_error(error: Any) -> UsageError:
    message = str(error.format_message()).strip()
    message = message.replace("Value error, ", "")  # pydantic's, behind typer
    param = getattr(error, "param", None)
    low, high = getattr(param, "min", None), getattr(param, "max", None)
    if low is not None and (split := message.partition(": Input should be"))[1]:
        takes = f", at least {low}" if high is None else f" from {low} to {high:,}"
        message = f"{split[0]}: it takes a whole number{takes}"
    if not is_bare_call(error) and message[-1:] not in ".?!)":
        message += "."
    path = getattr(getattr(error, "ctx", None), "command_path", "ragvault")
    return UsageError(message, f"Run `{path} --help`.")


def is_bare_call(error: BaseException) -> bool:
    """typer's way to say that a group was called with no command: its message is the help."""
    return type(error).__name__ == "NoArgsIsHelpError"


def report_failure(error: BaseException, options: Collection[str] = ()) -> None:
    """Message and next step on stderr; one object on stdout where JSON is asked for."""
    failure = as_reported(error)
    if isinstance(failure, OutputError):
        close_stdout_quietly()
    elif {"--json", "--json-stream"} & set(options):
        from ragvault.service.json_objects import error_object

        is_stream = "--json-stream" in options
        kind = {"type": "error"} if is_stream else {}
        print_json({**kind, **error_object(failure)}, on_one_line=is_stream)
        return
    err = Terminal.of(sys.stderr)
    if is_bare_call(error):
        err.print(failure.message)
    elif isinstance(failure, Interrupted):
        err.print(strip_controls(failure.message), "yellow")
    else:
        print_failure(err, "Error:", failure)


def print_failure(err: Terminal, label: str, failure: RagvaultError) -> None:
    """What went wrong behind the label; the next step below it."""
    message = hanging(err, failure.message, columns(label) + 1)
    err.print(f"{err.style(label, 'bold red')} {message}")
    if failure.hint:
        marked(err, "→", failure.hint, "dim", indent=2)
