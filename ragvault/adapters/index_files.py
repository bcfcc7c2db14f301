"""The files of an index folder, as files: whether they are there and sound, and all in one.

Beside the catalog lies ``vaults.json``, so that its loss isn't that of the folders that were in it.
A backup is a ZIP with the catalog, the history, the vaults' names and the facts, and a list of them
with sizes and hashes. The vector store isn't in it: it is filled from the catalog.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import sqlite3
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ragvault import __version__
from ragvault.adapters.files import (
    FULL,
    atomic_write,
    os_error,
    private_folder,
    reported,
    sync_folder,
    total_size,
)
from ragvault.adapters.models import sha256_of
from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.adapters.sqlite.connection import Database
from ragvault.adapters.sqlite.history import HISTORY_NAME, SqliteHistory
from ragvault.adapters.sqlite.integrity import (
    CATALOG_NAME,
    COMPANIONS,
    has_content,
    page_problems,
    problems,
    problems_of,
)
from ragvault.errors import DiskFullError, RagvaultError, StoreDamagedError, UsageError
from ragvault.model import VaultInfo

VAULTS_NAME = "vaults.json"
_DATABASES = (CATALOG_NAME, HISTORY_NAME)
_PIECES = (*_DATABASES, VAULTS_NAME, "facts.json")
_MOVED = (*_PIECES, *(name + end for name in _DATABASES for end in COMPANIONS[1:]), "chroma")
_LIST = "ragvault-backup.json"


class IndexFiles:
    """What can be known of an index, and done with it, without opening it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.catalog = folder / CATALOG_NAME
        self._history = folder / HISTORY_NAME

    # -- what is wrong

    def is_catalog_gone(self) -> bool:
        """Whether vaults are remembered that no catalog holds."""
        return not has_content(self.catalog) and bool(self.vaults())

    def catalog_problems(self, *, quick: bool = False) -> list[str]:
        """What is wrong with the catalog, as sentences. Linear in it; see ``integrity``."""
        if self.is_catalog_gone():
            return ["the catalog is gone"]
        check = partial(page_problems, quick=True) if quick else problems
        return problems_of(self.catalog, check) if self.catalog.exists() else []

    def history_problems(self) -> list[str]:
        """What SQLite finds wrong with the history. Linear in it."""
        return problems_of(self._history, page_problems) if self._history.exists() else []

    # -- the vaults' folders

    def remember_vaults(self, vaults: Sequence[VaultInfo]) -> None:
        """Keep their names where the loss of the catalog doesn't reach. Raises StoreError."""
        file = self._folder / VAULTS_NAME
        rows = [{"name": v.name, "path": str(v.path), "kind": v.kind} for v in vaults]
        text = json.dumps(rows, indent=1)
        with suppress(OSError, ValueError):
            if file.is_file() and file.read_text("ascii") == text:
                return
        atomic_write(file, text)

    def vaults(self) -> list[VaultInfo]:
        """What is remembered of them, whatever became of the catalog, as far as anything still
        names them. Never raises: nothing read is an empty list."""
        file = self._folder / VAULTS_NAME
        try:
            rows = json.loads(file.read_bytes() if file.is_file() else b"")
            return [VaultInfo(str(r["name"]), Path(str(r["path"])), str(r["kind"])) for r in rows]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return list(self._in_catalog())

    def _in_catalog(self) -> Iterator[VaultInfo]:
        """What comes before any damage."""
        uri = f"{self.catalog.absolute().as_uri()}?mode=ro"
        with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as opened:
            for row in opened.execute("SELECT name, path, kind FROM vault"):
                if all(isinstance(value, str) for value in row):
                    yield VaultInfo(row[0], Path(row[1]), row[2])

    # -- out of the way, and back

    def set_catalog_aside(self) -> tuple[Path | None, list[VaultInfo]]:
        """Rename the catalog, which nobody here has open. Returns its new name (None: it was gone)
        and the vaults that were in it, as far as they are known. Raises StoreError."""
        vaults = self.vaults()
        return _set_aside(self.catalog), vaults

    def set_history_aside(self) -> Path | None:
        """The same of the history."""
        return _set_aside(self._history)

    def catalog_size(self) -> int:
        """Bytes, with its log."""
        return total_size(self._folder.glob(f"{CATALOG_NAME}*"))

    def write_backup(self, target: Path) -> int:
        """Write the index into ``target``, whole or not at all; returns its bytes. Each database is
        one state of it, whoever writes meanwhile. What is there already is replaced if it is a
        backup. Raises StoreDamagedError, UsageError, StoreError."""
        with _into(target), tempfile.TemporaryDirectory(dir=target.parent) as folder:
            place, listed = Path(folder), {}
            for name in (name for name in _PIECES if (self._folder / name).exists()):
                copied = _copy if name in _DATABASES else shutil.copyfile
                copied(self._folder / name, place / name)
                listed[name] = _described(place / name)
            about = {"ragvault": __version__, "made_at": time.time(), "files": listed}
            with (place / "zip").open("wb") as file:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                    archive.writestr(_LIST, json.dumps(about, indent=1))
                    for name in listed:
                        archive.write(place / name, name)
                file.flush()
                os.fsync(file.fileno())
            (place / "zip").chmod(0o600)
            (place / "zip").replace(target)
            sync_folder(target.parent)
        return target.stat().st_size

    def restore(self, source: Path) -> Path | None:
        """Take over the index that a backup holds. Returns where the one before it is now. The
        caller holds the lock. Raises UsageError, StoreError."""
        if not source.exists():
            what = f"There is no file {source}."
            raise UsageError(what, "Give one that `ragvault backup` wrote.")
        private_folder(self._folder)
        with tempfile.TemporaryDirectory(
            prefix=".restore-", dir=self._folder, ignore_cleanup_errors=True
        ) as folder:
            _unpack(source, Path(folder))
            return _put_in_place(Path(folder), self._folder)


def _set_aside(file: Path) -> Path | None:
    """Rename it, with what SQLite keeps beside it, to a name that is free; None when there is
    nothing to rename."""
    names = (f"{file}.damaged-{number}" for number in itertools.count(1))
    free = (name for name in names if not any(Path(name + end).exists() for end in COMPANIONS))
    target = next(free)
    there = [end for end in COMPANIONS if Path(f"{file}{end}").exists()]
    with reported(file):
        for end in there:
            Path(f"{file}{end}").rename(target + end)
    return Path(target) if there else None


@contextmanager
def _into(target: Path) -> Iterator[None]:
    try:
        if target.exists() and not (target.is_file() and _is_backup(target)):
            what = f"{target} is there, and is no backup of ragvault's."
            raise UsageError(what, "Choose another.")
        yield
    except OSError as error:
        if error.errno in FULL:
            raise os_error(error, target) from error
        raise UsageError(
            f"The backup can't be written in {target.parent}: {error.strerror or error}.",
            "Choose another place, in a folder that is there.",
        ) from error


def _unpack(source: Path, place: Path) -> None:
    """The pieces of a backup, each held against its hash, into the folder ``place``. Raises
    UsageError for what isn't a whole backup, StoreError."""
    try:
        if not source.is_file():  # a pipe, or a device without an end
            raise ValueError("it is no regular file")
        with zipfile.ZipFile(source) as archive, reported(place.parent):
            for name, expected in json.loads(archive.read(_LIST))["files"].items():
                if name not in _PIECES:
                    raise ValueError(f"{name} is no part of an index")
                with archive.open(name) as piece, (place / name).open("wb") as into:
                    shutil.copyfileobj(piece, into)
                if _described(place / name) != expected:
                    raise ValueError(f"{name} isn't as it was written")
        for name in _DATABASES:
            if (place / name).exists() and (found := _problems(place / name)):
                raise ValueError(f"{name}: {found[0]}")
        _make_ready(place / CATALOG_NAME)
    except RagvaultError:
        raise
    except Exception as error:  # whatever a broken ZIP may cause
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{source} isn't a backup of ragvault's that can be read ({why}).",
            "Nothing was changed. Take another backup.",
        ) from error


def _make_ready(catalog: Path) -> None:
    """Bring it to today's schema, or refuse a newer one. The vector store that it was in step with
    isn't this index's, and nobody may take its state for the one that is in memory."""
    if not catalog.exists():
        raise ValueError("it holds no catalog")
    with closing(SqliteCatalog(catalog)) as opened:
        for vault in opened.vaults():
            opened.set_vector_watermark(vault.name, None)
        with opened.database.write() as connection:
            connection.execute("UPDATE meta SET value = value + ?", (int(time.time()),))


def _put_in_place(place: Path, index: Path) -> Path | None:
    """Set the index that is there aside and move the pieces in ``place`` where it was; of the two
    histories the one that was asked last stays or comes. Returns where the old index is (None:
    there was none). The caller holds the lock. Raises StoreError."""
    is_newer = _last_asked(index) > _last_asked(place)  # to look may take its log away
    there = [index / name for name in _MOVED if (index / name).exists()]
    if is_newer:
        there = [path for path in there if not path.name.startswith(HISTORY_NAME)]
        (place / HISTORY_NAME).unlink(missing_ok=True)
    kept = None
    with reported(index):
        if there:
            names = (index / f"before-restore-{number}" for number in itertools.count(1))
            kept = next(name for name in names if not name.exists())
            kept.mkdir(mode=0o700)
            for path in there:
                path.rename(kept / path.name)
        for piece in sorted(place.iterdir()):
            piece.rename(index / piece.name)
        sync_folder(index)
    return kept


def _last_asked(folder: Path) -> float:
    """Seconds since 1970; 0 where no history is, or none that can be read."""
    file = folder / HISTORY_NAME
    if not file.exists() or _problems(file):
        return 0.0
    with closing(SqliteHistory(file)) as history:
        return max((entry.asked_at for entry in history.entries(limit=1)), default=0.0)


def _copy(database: Path, target: Path) -> None:
    """SQLite's own copy: a state that somebody committed, without a log beside it."""
    source = Database(database)
    try:
        with source.connection() as one, closing(sqlite3.connect(target)) as to:
            one.backup(to)
    except DiskFullError as full:  # what can grow is the copy
        raise OSError(errno.ENOSPC, full.message, str(target)) from full
    finally:
        source.close()
    if found := _problems(target):
        raise StoreDamagedError(f"{database} is damaged ({found[0]}): no backup was written.")


def _problems(database: Path) -> list[str]:
    return problems_of(database, problems if database.name == CATALOG_NAME else page_problems)


def _is_backup(file: Path) -> bool:
    with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(file) as archive:
        return _LIST in archive.namelist()
    return False


def _described(file: Path) -> dict[str, Any]:
    return {"size": file.stat().st_size, "sha256": sha256_of(file)}
