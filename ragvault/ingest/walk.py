"""The vault on disk → the notes in it, and what was passed over and why. Opens no note.

Rules
- Hidden files and folders (their name starts with a dot) are not part of a vault, silently.
- Ignore rules: see ``ignore``; and what Obsidian's settings in the vault leave out: see
  ``obsidian``. What they leave out is named, a folder once.
- A symlink is never followed. One that leads out of the vault would pull in foreign files; one
  to a place inside would index the same note twice. Each is named. The root itself may be a link.
- One bad folder is a warning, not the end. What lies under it is unknown rather than gone, so
  its path is in ``unreadable`` and the plan keeps what the catalog has below it.
- A root that can't be listed raises: an unplugged drive must not look like an empty vault.

A note's key is its path in NFC (``paths``). If two names differ in nothing but their form, the NFC
one gets the key and the others keep their own spelling.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from ragvault.config.settings import IndexSettings
from ragvault.ingest.ignore import (
    Rules,
    exclude_rules,
    ignore_files,
    ignored_by,
    is_hidden,
    rules_inside,
)
from ragvault.ingest.obsidian import VaultSettings, read_settings
from ragvault.ingest.paths import GONE, key_of, printable, shown, unusable
from ragvault.model import NoteFile, Skipped, kept_ns

Scandir = Callable[[str], AbstractContextManager[Iterable[os.DirEntry[str]]]]


@dataclass(frozen=True, slots=True)
class WalkResult:
    """``files`` and ``skipped`` are sorted by path. ``unreadable`` are the paths (as ``rel_path``)
    of files and folders that are there but can't be looked at now. ``is_empty``: the root holds no
    entry at all, not even a hidden one, as an unmounted drive. ``own`` are the vault's settings."""

    files: tuple[NoteFile, ...]
    skipped: tuple[Skipped, ...]
    unreadable: tuple[str, ...] = ()
    is_empty: bool = False
    own: VaultSettings = field(default_factory=VaultSettings)


@dataclass(slots=True)
class _Walk:
    """The state of one walk."""

    extensions: tuple[str, ...]
    max_bytes: int
    own: VaultSettings = field(default_factory=VaultSettings)
    found: dict[str, NoteFile] = field(default_factory=dict)  # by their keys
    odd: list[NoteFile] = field(default_factory=list)  # whose names are no keys
    skipped: list[Skipped] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def skip(self, rel: str, reason: str) -> None:
        self.skipped.append(Skipped(shown(rel), reason))

    def cannot(self, rel: str, error: OSError, what: str) -> None:
        """A path that is there and can't be looked at; a path that just went is nothing."""
        if error.errno in GONE:
            return
        self.skip(rel, f"{what} can't be read: {error.strerror or error}")
        self.unreadable.append(key_of(rel))

    def folder(self, base: str, entries: Iterable[os.DirEntry[str]], rules: Rules) -> Iterator[str]:
        """Sort one folder's entries into notes and reasons; yields the names of subfolders."""
        has_rules = bool(rules or self.own.excluded)
        for entry in entries:
            name, rel = entry.name, base + entry.name
            if is_hidden(name):
                continue
            try:
                is_dir = entry.is_dir(follow_symlinks=False)
                is_note = not is_dir and name.lower().endswith(self.extensions)
                source = None
                if has_rules and (is_dir or is_note):
                    source = ignored_by(rules, rel, is_dir) or self.own.excludes(rel, is_dir)
                if source is not None:
                    self.skip(rel + "/" * is_dir, f"ignored by {shown(source)}")
                elif entry.is_symlink():
                    self.link(rel, entry.path)
                elif is_dir:
                    yield name
                elif is_note:
                    self.note(rel, entry.path, entry.stat(follow_symlinks=False))
            except OSError as error:
                self.cannot(rel, error, "file")

    def note(self, rel: str, path: str, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            self.skip(rel, "is a pipe, a socket or a device, not a note")
        elif status.st_size > self.max_bytes:
            self.skip(rel, too_large(status.st_size, self.max_bytes))
        else:
            mtime_ns, ctime_ns = kept_ns(status.st_mtime_ns), status.st_ctime_ns
            file = NoteFile(rel, path, status.st_size, mtime_ns, ctime_ns)
            if key_of(rel) == rel:
                self.found[rel] = file
            else:
                self.odd.append(file)

    def link(self, rel: str, path: str) -> None:
        """Name a symlink that could have been a note or a folder of notes; never follow it."""
        place = Path(path)
        is_away = not place.suffix and not place.exists()  # a folder of a drive, perhaps
        if is_away or place.is_dir() or path.lower().endswith(self.extensions):
            self.skip(rel, "is a symlink, which is not followed")


def walk(root: Path, settings: IndexSettings, *, scandir: Scandir | None = None) -> WalkResult:
    """Every note of a vault. Linear in the entries that are not ignored; one stat a note.

    ``scandir`` replaces ``os.scandir`` (for tests of failing file systems). Raises
    VaultPathError when the root is missing or can't be listed, ConfigError for a bad pattern in
    ``index.exclude``.
    """
    top = str(root)
    state = _Walk(tuple(e.lower() for e in settings.extensions), max_bytes(settings))
    is_empty = False
    state.own = read_settings(root, state.skip)
    # An explicit stack, depth first: depth is bounded by the file system alone.
    stack = [(top, "", exclude_rules(settings))]
    while stack:
        path, base, rules = stack.pop()
        try:
            with (scandir or os.scandir)(path) as listing:
                entries = sorted(listing, key=lambda e: e.name)
        except OSError as error:
            if not base:
                raise unusable(top, error, is_vault=True) from error
            state.cannot(base, error, "folder")
            continue
        if not base:
            is_empty = not entries
        names = {e.name for e in entries}
        if present := [name for name in ignore_files(settings) if name in names]:
            rules = rules_inside(rules, path, base, present, state.skip)
        prefix = path if path.endswith(os.sep) else path + os.sep
        below = list(state.folder(base, entries, rules))
        stack.extend((prefix + name, f"{base}{name}/", rules) for name in reversed(below))
    return WalkResult(
        files=_with_keys(state),
        skipped=tuple(sorted(state.skipped, key=lambda s: (s.path, s.reason))),
        unreadable=tuple(sorted(state.unreadable)),
        is_empty=is_empty,
        own=state.own,
    )


def _with_keys(state: _Walk) -> tuple[NoteFile, ...]:
    """Give each note its key; see the module's docstring for names that collide."""
    taken = state.found
    for file in state.odd:
        rel = file.rel_path
        key = key_of(rel) if key_of(rel) not in taken else printable(rel)
        if key in taken:
            state.skip(rel, "has the same displayed name as another note")
        else:
            taken[key] = file._replace(rel_path=key)
    return tuple(taken[key] for key in sorted(taken))


def max_bytes(settings: IndexSettings) -> int:
    """The size beyond which a file isn't read, in bytes."""
    return int(settings.max_file_mb * 1_000_000)


def too_large(size: int, limit: int) -> str:
    """The reason for a note beyond the limit; both in bytes."""
    return f"is {size / 1e6:.1f} MB, more than index.max_file_mb ({limit / 1e6:g})"
