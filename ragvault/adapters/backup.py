"""The index in one file: a ZIP with the catalog, the history, the vaults' names and the facts, and
a list of them with sizes and hashes. The vector store isn't in it: it is filled from the catalog.
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
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ragvault import __version__
from ragvault.adapters.facts import sha256_of
from ragvault.adapters.files import (
    VAULTS_NAME,
    os_error,
    private_folder,
    reported,
    sync_folder,
)
from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.adapters.sqlite.connection import Database
from ragvault.adapters.sqlite.history import HISTORY_NAME, SqliteHistory
from ragvault.adapters.sqlite.integrity import (
    CATALOG_NAME,
    COMPANIONS,
    page_problems,
    problems,
    problems_of,
)
from ragvault.errors import DiskFullError, RagvaultError, StoreDamagedError, UsageError

_DATABASES = (CATALOG_NAME, HISTORY_NAME)
_PIECES = (*_DATABASES, VAULTS_NAME, "facts.json")
_MOVED = (*_PIECES, *(name + end for name in _DATABASES for end in COMPANIONS[1:]), "chroma")
_LIST = "ragvault-backup.json"
_LAST_RECORD = 22  # bytes of a ZIP's, without a comment


def write_backup(index: Path, target: Path) -> int:
    """Write the index at ``index`` into ``target``, whole or not at all; returns its bytes. Each
    database is one state of it, whoever writes meanwhile. What is there already is replaced if it
    is a backup. Raises StoreDamagedError, UsageError, StoreError."""
    with _into(target), tempfile.TemporaryDirectory(dir=target.parent) as folder:
        place, listed = Path(folder), {}
        for name in (name for name in _PIECES if (index / name).exists()):
            (_copy if name in _DATABASES else shutil.copyfile)(index / name, place / name)
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


@contextmanager
def _into(target: Path) -> Iterator[None]:
    try:
        if target.exists() and not (target.is_file() and _is_backup(target)):
            what = f"{target} is there, and is no backup of ragvault's."
            raise UsageError(what, "Choose another.")
        yield
    except OSError as error:
        if isinstance(full := os_error(error, target), DiskFullError):
            raise full from error
        raise UsageError(
            f"The backup can't be written in {target.parent}: {error.strerror or error}.",
            "Choose another place, in a folder that is there.",
        ) from error


def unpack(source: Path, index: Path) -> Path:
    """The pieces of a backup, each held against its hash, in a new folder below ``index``, which
    the caller removes. Raises UsageError for what isn't a whole backup, StoreError."""
    private_folder(index)
    place = Path(tempfile.mkdtemp(prefix=".restore-", dir=index))
    try:
        if source.exists() and not source.is_file():  # a pipe, or a device without an end
            raise ValueError("it is no regular file")
        with source.open("rb") as file, zipfile.ZipFile(file) as archive, reported(index):
            if not _is_all(file):
                raise ValueError("it begins or ends with something else")
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
    except BaseException as error:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, RagvaultError) or not isinstance(error, Exception):
            raise
        why = getattr(error, "strerror", None) or error  # else whatever a broken ZIP may cause
        raise UsageError(
            f"{source} isn't a backup of ragvault's that can be read ({why}).",
            "Nothing was changed. Take another backup.",
        ) from error
    return place


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


def put_in_place(place: Path, index: Path) -> Path | None:
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


def _is_all(file: IO[bytes]) -> bool:
    """Whether the archive begins and ends with the file: zipfile reads past what stands around."""
    file.seek(0)
    head = file.read(4)
    file.seek(-_LAST_RECORD, os.SEEK_END)
    return head == b"PK\3\4" and file.read(4) == b"PK\5\6"


def _is_backup(file: Path) -> bool:
    with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(file) as archive:
        return _LIST in archive.namelist()
    return False


def _described(file: Path) -> dict[str, Any]:
    return {"size": file.stat().st_size, "sha256": sha256_of(file)}
