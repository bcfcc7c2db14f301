"""One file → its bytes → what is written of it.

What is remembered about the bytes has to be true, but a note may be saved, replaced or deleted
while it is read. So the bytes count only if size and time of change were the same before and
after; else they are read again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from ragvault.config.settings import Settings
from ragvault.ingest.obsidian import VaultSettings
from ragvault.ingest.paths import GONE, OPEN_FLAGS, shown
from ragvault.ingest.plan import longest_passage, text_fingerprint
from ragvault.ingest.walk import max_bytes, too_large
from ragvault.model import NoteFile, NoteWrite, Skipped, kept_ns
from ragvault.ports import TokenCounter

MAX_TRIES = 3
# The walk saw a file: a link in its place isn't the note.
_FLAGS = OPEN_FLAGS | getattr(os, "O_NOFOLLOW", 0)


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
ReadNote: TypeAlias = Callable[[NoteFile, int], ReadOutcome]


def read_note(file: NoteFile, max_bytes: int) -> ReadOutcome:
    """Read a note; never raises for what a file system can do to one.

    A note that keeps changing is taken as it is after ``MAX_TRIES``, with the mtime from before
    the last read, so that the next run sees it as changed again.
    """
    try:
        for _ in range(MAX_TRIES):
            descriptor = os.open(file.path, _FLAGS)
            with open(descriptor, "rb") as handle:
                before = os.fstat(descriptor)
                if not stat.S_ISREG(before.st_mode):
                    return Unreadable("is not a regular file any more", is_note=False)
                seen_ns = time.time_ns()
                data = handle.read(max_bytes + 1)
                after = os.fstat(descriptor)
            if len(data) > max_bytes:
                return Unreadable(too_large(after.st_size, max_bytes), is_note=False)
            if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, len(data)):
                break
    except OSError as error:
        if error.errno in GONE:
            return Gone()
        if error.errno == errno.ELOOP:  # O_NOFOLLOW
            return Unreadable("became a symlink while it was read", is_note=False)
        return Unreadable(f"can't be read: {error.strerror or error}")
    seen = file._replace(size=len(data), mtime_ns=kept_ns(before.st_mtime_ns))
    return Content(seen, data, hashlib.sha256(data).hexdigest(), seen_ns)


@dataclass
class NoteLoader:
    """Reads, parses and chunks the notes of one vault.

    ``window``: how many tokens the embedder reads at once; None: not known now. ``own`` are the
    vault's own settings; ``copied`` is its ``time_of_copy``. ``warnings`` are of the notes loaded
    so far; ``seen_ns`` says when a file's content was hashed. The parsers are imported with the
    first note that is parsed: a run that finds nothing to do needs none.
    """

    vault: str
    settings: Settings
    counter: TokenCounter
    window: int | None
    own: VaultSettings
    read: ReadNote = read_note
    copied: range = range(0)
    warnings: list[Skipped] = field(default_factory=list)
    seen_ns: dict[str, int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Names all that decides how a note is cut and dated."""
        text = text_fingerprint(self.settings.chunking, self.window)
        return f"{text}|journals={self.own.journals_digest}" if self.own.journals else text

    def content(self, file: NoteFile) -> ReadOutcome:
        return self.read(file, max_bytes(self.settings.index))

    def hash_of(self, file: NoteFile) -> str | None:
        """SHA-256 of its content; None for what can't be read."""
        content = self.content(file)
        if not isinstance(content, Content):
            return None
        self.seen_ns[file.rel_path] = content.seen_ns
        return content.content_hash

    def load(self, file: NoteFile) -> NoteWrite | Gone | Unreadable:
        """The note as it is now. What isn't text is Unreadable, and no note."""
        from ragvault.formats import reader_for
        from ragvault.formats.decoding import NotTextError
        from ragvault.ingest.chunk import chunk_note

        content = self.content(file)
        if not isinstance(content, Content):
            return content
        path, mtime_ns = content.file.rel_path, content.file.mtime_ns
        date = self.own.day_of(path)  # what the vault's settings say of it beats the time of change
        if date is None:
            date = 0.0 if mtime_ns in self.copied else mtime_ns / 1e9
        try:
            note = reader_for(path)(path, content.data, date)
        except NotTextError as error:
            return Unreadable(str(error), is_note=False)
        self.warnings.extend(Skipped(shown(file.rel_path), w) for w in note.warnings)
        chunking = self.settings.chunking
        longest = longest_passage(chunking, self.window)
        chunks = chunk_note(note, self.vault, self.counter, chunking, longest)
        return NoteWrite(
            content.file, content.content_hash, note, chunks, self.fingerprint, content.seen_ns
        )


def as_text(content: ReadOutcome) -> ReadOutcome:
    """The same; what could be read and holds no text is Unreadable."""
    from ragvault.formats.decoding import NotTextError, read_lines

    if isinstance(content, Content):
        try:
            read_lines(content.data)
        except NotTextError as error:
            return Unreadable(str(error), is_note=False)
    return content
