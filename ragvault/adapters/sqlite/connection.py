"""A SQLite file, opened the way the catalog needs it, and its exceptions as ragvault's.

What survives what: write-ahead logging with ``synchronous=FULL`` syncs the log at each commit, so
a committed transaction outlives a power cut, and a crash never leaves half of one. NORMAL would
be safe against corruption too, but might lose the newest commits, which the vector store's
deletions follow and rely on. The price is one fsync a commit, of a batch of notes.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from ragvault.adapters.files import Translation, access_hint, disk_is_full, reported
from ragvault.adapters.sqlite.integrity import problems_of
from ragvault.errors import (
    DiskFullError,
    IndexBusyError,
    RagvaultError,
    StoreDamagedError,
    StoreError,
)

BUSY_TIMEOUT_S = 10.0
# What SQLite reports when it can't make the files that belong to a log.
_NO_COMPANION = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
)


_REPORT = "This is a bug in ragvault: please report it with the command that you ran."

_DAMAGED = Translation(StoreDamagedError, "The {what} file {path} is damaged ({detail}).")
_FULL = Translation(DiskFullError, "The disk is full: {path} can't grow.")
_BUSY = Translation(IndexBusyError, "Another process is writing the {what} {path}.")
_READ_ONLY = Translation(StoreError, "The {what} {path} can't be written ({detail}).")
_CANT_OPEN = Translation(StoreError, "The {what} {path} can't be opened ({detail}).")
_IO = Translation(
    StoreError,
    "The disk failed while the {what} {path} was read or written ({detail}).",
    "Check the disk; the index can be rebuilt with `ragvault index --full`.",
)
_BUG = Translation(StoreError, "The {what} {path} refused an operation ({detail}).", _REPORT)

# By SQLite's primary result code; what isn't here is a bug. Python's own errors have no code.
_BY_CODE: dict[int, Translation] = {
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_AUTH: _READ_ONLY,
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_PROTOCOL: _BUSY,
    sqlite3.SQLITE_IOERR: _IO,
    sqlite3.SQLITE_NOLFS: _IO,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_CANTOPEN: _CANT_OPEN,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_FORMAT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
}


def translate(error: Exception, database: Database) -> RagvaultError:
    """The ragvault error for one that sqlite3 raised on the database's file."""
    path = database.path
    code = getattr(error, "sqlite_errorcode", None)
    row = _BUG if code is None else _BY_CODE.get(code & 0xFF, _BUG)
    if path.exists() and not path.is_file():  # a folder, a pipe
        row = _DAMAGED
    elif row in (_IO, _CANT_OPEN, _READ_ONLY) and disk_is_full(path):
        row = _FULL  # a quota, or a log file that can't be made, comes as an I/O error
    elif row is _BUG and database.problems():
        row = _DAMAGED  # a broken page breaks constraints and encodings too
    return database.failure(row, error)


class Database:
    """One connection, shared by the threads of a process: a lock lets one in at a time.

    Every access is a transaction: ``read()`` sees one state of the file throughout, also while
    another process writes (WAL); ``write()`` takes the write lock at once, commits at the end
    and rolls back on any exception. One within another is a part of that; what is to be written
    in the end begins with ``write()``, as a read that another process overtook may not write.
    """

    what = "index"  # that the file is, for people
    damaged_hint: str | None = None

    def __init__(self, path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._busy_ms = int(busy_timeout_s * 1000)
        with reported(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        opened = self._opened()
        self._file = self._on_disk()
        try:
            with self.translated():
                run = opened.execute
                run(f"PRAGMA busy_timeout = {self._busy_ms}")
                run("PRAGMA foreign_keys = ON")
                run("PRAGMA synchronous = FULL")
                run("PRAGMA temp_store = MEMORY")
                run("PRAGMA cache_size = -16384")  # KiB: bounds memory, covers the hot pages
        except BaseException:
            opened.close()
            raise
        return opened

    def _on_disk(self) -> tuple[int, int] | None:
        """Which file it is; None when there is none at the moment."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _opened(self) -> sqlite3.Connection:
        """A connection that can read. Write-ahead logging needs a file beside the database even
        to read it: where none can be made (a read-only folder, a full disk), a database whose
        log is empty is opened as one that doesn't change. Writing then raises as it should."""
        with self.translated():
            connection = self._connect("mode=rwc")
            try:
                connection.execute("PRAGMA user_version")
                return connection
            except sqlite3.OperationalError as error:
                connection.close()
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                if code not in _NO_COMPANION or not self._is_at_rest():
                    raise
            return self._connect("immutable=1")

    def _connect(self, how: str) -> sqlite3.Connection:
        uri, wait_s = f"{self.path.absolute().as_uri()}?{how}", self._busy_ms / 1000
        return sqlite3.connect(
            uri, uri=True, timeout=wait_s, isolation_level=None, check_same_thread=False
        )

    def _is_at_rest(self) -> bool:
        log = self.path.with_name(f"{self.path.name}-wal")
        try:
            return self.path.stat().st_size > 0 and not (log.exists() and log.stat().st_size)
        except OSError:
            return False

    def problems(self) -> list[str]:
        """What is wrong with the file. Linear in it."""
        return problems_of(self.path)

    def failure(self, row: Translation, detail: object) -> RagvaultError:
        message = row.message.format(what=self.what, path=self.path, detail=detail)
        if row in (_READ_ONLY, _CANT_OPEN):
            return row.kind(message, access_hint(self.path))
        return row.kind(message, self.damaged_hint if row is _DAMAGED else row.hint)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """sqlite3's exceptions inside come out as ragvault's."""
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise translate(error, self) from error

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """The bare connection, for what can't run in a transaction (pragmas, migrations)."""
        with self._lock, self.translated():
            is_open = self._connection.in_transaction  # which ends on the file that it began on
            if not is_open and self._on_disk() not in (None, self._file):  # restored, made anew
                self._connection.close()
                self._connection = self._prepared()
            yield self._connection

    def read(self) -> AbstractContextManager[sqlite3.Connection]:
        """One transaction: all that is read in it belongs together."""
        return self._transaction("BEGIN")

    def write(self) -> AbstractContextManager[sqlite3.Connection]:
        """One transaction, undone if the block raises."""
        return self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """A row that nothing can be made of is a bug of ours, unless the file is damaged."""
        try:
            with self.connection() as connection:
                if connection.in_transaction:  # a part of the one that is open
                    yield connection
                    return
                connection.execute(begin)
                with connection:  # which commits, or rolls back what an error hasn't yet
                    yield connection
        except (ValueError, TypeError, OverflowError) as error:
            if not self.problems():
                raise
            raise self.failure(_DAMAGED, error) from error

    def close(self) -> None:
        with self._lock, self.translated():
            self._connection.close()


class OnDatabase:
    """A part of the catalog over the file that all its parts share. Each public method is one
    transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def rows(self, sql: str, *params: object) -> list[Any]:
        """All rows of a query, of one state of the file."""
        with self.database.read() as con:
            return con.execute(sql, params).fetchall()
