"""One note's bytes, read so that what is remembered about them is true.

A note may be saved, replaced or deleted while it is read. The bytes count only if size and time
of change were the same before and after; else they are read again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from ragvault.ingest.walk import too_large
from ragvault.model import NoteFile, kept_ns

MAX_TRIES = 3
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)  # the walk saw a file: a link in its place isn't the note
    | getattr(os, "O_NONBLOCK", 0)  # nor is a FIFO, whose open would wait for a writer
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Content:
    """A note's bytes. ``file`` has the size and mtime that belong to them; ``seen_ns`` is the
    wall clock just before they were read."""

    file: NoteFile
    data: bytes
    content_hash: str
    seen_ns: int


@dataclass(frozen=True, slots=True)
class Gone:
    """The file isn't there any more."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """It is there and can't be read. ``is_note`` is false when it isn't a note any more (a link,
    a pipe, too large): what is known of it is then out of date, not just out of reach."""

    reason: str
    is_note: bool = True


ReadOutcome: TypeAlias = Content | Gone | Unreadable


def read_note(
    file: NoteFile, max_bytes: int, *, now_ns: Callable[[], int] = time.time_ns
) -> ReadOutcome:
    """Read a note; never raises for what a file system can do to one.

    A note that keeps changing is taken as it is after ``MAX_TRIES``, with the mtime from before
    the last read, so that the next run sees it as changed again.
    """
    try:
        for _ in range(MAX_TRIES - 1):
            outcome, is_steady = _read_once(file, max_bytes, now_ns)
            if is_steady:
                return outcome
        return _read_once(file, max_bytes, now_ns)[0]
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return Gone()
        if error.errno == errno.ELOOP:  # O_NOFOLLOW
            return Unreadable("became a symlink while it was read", is_note=False)
        return Unreadable(f"can't be read: {error.strerror or error}")


def _read_once(
    file: NoteFile, max_bytes: int, now_ns: Callable[[], int]
) -> tuple[ReadOutcome, bool]:
    """The outcome, and whether the file held still meanwhile."""
    descriptor = os.open(file.path, _FLAGS)
    with open(descriptor, "rb", closefd=True) as handle:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            return Unreadable("is not a regular file any more", is_note=False), True
        seen_ns = now_ns()
        data = handle.read(max_bytes + 1)
        after = os.fstat(descriptor)
    if len(data) > max_bytes:
        return Unreadable(too_large(after.st_size, max_bytes), is_note=False), True
    seen = replace(file, size=len(data), mtime_ns=kept_ns(before.st_mtime_ns))
    content = Content(seen, data, hashlib.sha256(data).hexdigest(), seen_ns)
    is_steady = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, len(data))
    return content, is_steady
