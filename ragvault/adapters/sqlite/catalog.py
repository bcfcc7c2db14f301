"""The catalog: one SQLite file that holds what is indexed (notes, chunks, full text), the embedding
cache and the answer log; and what can still be had from a damaged one.
"""

from __future__ import annotations

import itertools
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from ragvault.adapters.files import os_error
from ragvault.adapters.sqlite.answer_log import SqliteAnswerLog
from ragvault.adapters.sqlite.chunks import SqliteChunks
from ragvault.adapters.sqlite.connection import BUSY_TIMEOUT_S, Database
from ragvault.adapters.sqlite.embedders import SqliteEmbedders
from ragvault.adapters.sqlite.embeddings import SqliteEmbeddings
from ragvault.adapters.sqlite.fulltext import SqliteFullText
from ragvault.adapters.sqlite.migrations import migrate
from ragvault.adapters.sqlite.notes import SqliteNotes, text_problems
from ragvault.errors import NoIndexError
from ragvault.model import VaultInfo

_COMPANIONS = ("", "-wal", "-shm")


class SqliteCatalog(
    SqliteNotes,
    SqliteChunks,
    SqliteFullText,
    SqliteEmbeddings,
    SqliteEmbedders,
    SqliteAnswerLog,
):
    """All four ports of the catalog on one file: ``NoteStore``, ``ChunkSearch``,
    ``EmbeddingCache`` and ``AnswerLog``. Its bases share the file and know nothing of each other.

    Safe to use from several threads and next to other processes. ``create`` False raises
    NoIndexError when there is no file yet, instead of making one. Opening an up-to-date file
    reads its header and nothing else.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        try:
            exists = path.exists()
        except OSError as error:  # a folder above it that may not be entered
            raise os_error(error, path.parent) from error
        if not create and not exists:
            raise NoIndexError("Nothing is indexed yet.")
        super().__init__(Database(path, busy_timeout_s=busy_timeout_s), clock)
        try:
            with self.database.connection() as connection:
                migrate(connection, path)
        except BaseException:
            self.database.close()
            raise

    def check(self) -> list[str]:
        """Problems found by a quick integrity check, as sentences; empty when sound. Linear in
        the file (SQLite's ``quick_check`` reads each page once)."""
        with self.database.read() as con:
            problems = [
                f"The catalog is damaged: {row[0]}"
                for row in con.execute("PRAGMA quick_check(5)")
                if row[0] != "ok"
            ]
            broken = len(con.execute("PRAGMA foreign_key_check").fetchall())
            if broken:
                problems.append(f"{broken} rows of the catalog refer to rows that are gone")
            return problems + text_problems(con)

    def close(self) -> None:
        self.database.close()


# --------------------------------------------------------------------------- a damaged file


def vaults_of(catalog: Path) -> list[VaultInfo]:
    """The vaults that a catalog names, as far as SQLite can still read them. Never raises for
    damage: nothing read is an empty list."""
    try:
        connection = sqlite3.connect(f"{catalog.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error:
        return []
    found: list[VaultInfo] = []
    try:
        for name, path, kind in connection.execute("SELECT name, path, kind FROM vault"):
            if isinstance(name, str) and isinstance(path, str) and isinstance(kind, str):
                found.append(VaultInfo(name, Path(path), kind))  # it may end early
    except sqlite3.Error:
        pass  # what came before the damage counts
    finally:
        connection.close()
    return found


def set_aside(catalog: Path) -> Path:
    """Rename the file, with what SQLite keeps beside it, to a name that is free. Raises
    StoreError."""
    for number in itertools.count(1):
        target = catalog.with_name(f"{catalog.name}.damaged-{number}")
        if not any(Path(f"{target}{end}").exists() for end in _COMPANIONS):
            break
    try:
        for end in _COMPANIONS:
            source = Path(f"{catalog}{end}")
            if source.exists():
                source.rename(f"{target}{end}")
    except OSError as error:
        raise os_error(error, catalog) from error
    return target
