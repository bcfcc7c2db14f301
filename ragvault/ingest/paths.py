"""Paths: a note's key, how a path is shown to people, which folder can be a vault.

A key (``rel_path``) is POSIX and NFC, so that the same note has the same key on macOS and Linux.
Bytes of a name that aren't UTF-8 show as ``\\xff`` in it.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from ragvault.errors import VaultPathError
from ragvault.model import VaultInfo

GONE = frozenset({errno.ENOENT, errno.ENOTDIR})
# To read what a vault holds: opening a FIFO would wait for a writer.
OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def start_of(path: Path, limit: int) -> bytes:
    """Up to so many bytes of a file. Raises OSError, also for what isn't a regular file."""
    descriptor = os.open(path, OPEN_FLAGS)
    with open(descriptor, "rb") as handle:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return handle.read(limit)


def holds_nothing(folder: Path) -> bool:
    """Not even a hidden entry, as an unmounted drive; or it can't be listed."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return True


def key_of(rel: str) -> str:
    """A path in the vault as its key: NFC, and undecodable bytes as ``\\xff``."""
    return rel if rel.isascii() else unicodedata.normalize("NFC", printable(rel))


def shown(rel: str) -> str:
    """A path in the vault for people: its key, on one line."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in key_of(rel)
    )


def printable(name: str) -> str:
    """Without lone surrogates, which neither UTF-8 nor SQLite can hold."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name).decode("utf-8", "backslashreplace")
    return name


def check_vault_path(given: str | Path, index_dir: Path, known: Sequence[VaultInfo] = ()) -> Path:
    """The real, absolute path of a folder that can be indexed (``~`` and links resolved). Raises
    VaultPathError for what is missing, a file, unreadable, or overlaps the index folder; a
    ``known`` vault's root is fine, and so is a folder inside or around one."""
    text = str(given)
    if not text.strip() or "\0" in text:
        raise VaultPathError("The path of the vault is empty or holds a NUL character.")
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise VaultPathError(f"{shown(text)} names a home folder that isn't there.") from error
    real = os.path.realpath(path)
    if printable(real) != real:
        raise VaultPathError(
            f"The path {shown(real)} has bytes that are not UTF-8, so it can't be remembered.",
            "Rename the folder.",
        )
    try:
        with os.scandir(real):
            pass
    except OSError as error:
        is_vault = any(real == os.path.realpath(v.path) for v in known)
        raise unusable(text, error, is_vault=is_vault) from error
    index = os.path.realpath(index_dir)
    if Path(index).is_relative_to(real):
        raise VaultPathError(
            f"The index folder {shown(index)} lies in {shown(real)}; a vault is never written to.",
            "Index a folder that doesn't hold it, or set index.path to a place elsewhere.",
        )
    if Path(real).is_relative_to(index):
        raise VaultPathError(f"{shown(real)} lies in ragvault's own index folder {shown(index)}.")
    return Path(real)


def is_within(path: str, places: Iterable[str]) -> bool:
    """Whether a note is one of the places, or below one that is a folder (it ends with a slash)."""
    return any(path.startswith(p) if p.endswith("/") else path == p for p in places)


def emptied(vault: VaultInfo) -> VaultPathError:
    """For a folder that notes are indexed from, and that holds nothing at all."""
    how = "empty" if os.path.isdir(vault.path) else "not there"  # noqa: PTH112 – raises nothing
    return VaultPathError(
        f"{shown(str(vault.path))} is {how}, but notes are indexed from it; they are kept.",
        "Mount the drive that it is on. If the notes are gone for good: "
        f"`ragvault vault remove {shlex.quote(vault.name)}`.",
    )


def unusable(folder: str, error: OSError, *, is_vault: bool) -> VaultPathError:
    """For a folder that can't be listed. ``is_vault``: it is one, and was read before."""
    path = shown(folder)
    kept = "; what was indexed is kept" if is_vault else ""
    if error.errno == errno.ENOENT and is_vault:
        return VaultPathError(
            f"The vault {path} is not there.",
            f"Mount the drive that it is on, or follow it: `ragvault vault move NAME PATH`{kept}.",
        )
    if error.errno == errno.ENOENT:
        return VaultPathError(f"There is no folder {path}.")
    if error.errno == errno.ENOTDIR:
        return VaultPathError(
            f"{path} is a file; a vault is a folder of notes.",
            "Give the folder that the file is in.",
        )
    return VaultPathError(
        f"The folder {path} can't be read: {error.strerror or error}.",
        f"Check its permissions (`ls -ld`), or the drive that it is on{kept}.",
    )
