"""The files that a command writes for a person: the configuration, an export."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragvault.errors import UsageError


def write_config(target: Path, text: str) -> None:
    """The configuration, whole or not at all.

    Its folder is made, its permissions stay. Raises UsageError when it can't be written.
    """
    target = target.resolve()  # a link to a file kept elsewhere stays a link
    with _reported(target, "Choose another place with --config FILE."):
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, text)


def write_new(target: Path, text: str) -> None:
    """A file that wasn't there, whole or not at all. Raises UsageError."""
    if target.exists():
        raise UsageError(f"{target} is there already.", "Choose another name, or remove it.")
    with _reported(target, "Choose another place."):
        _replace(target, text)


def _replace(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, name)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


@contextmanager
def _reported(path: Path, hint: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{path} can't be written: {reason}.", hint) from error
