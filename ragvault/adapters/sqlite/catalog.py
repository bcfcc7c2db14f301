"""The catalog: one SQLite file that holds what is indexed (notes, chunks, full text) and the
embedding cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ragvault.adapters.files import os_error, reported
from ragvault.adapters.sqlite.chunks import SqliteChunks
from ragvault.adapters.sqlite.connection import BUSY_TIMEOUT_S, Database
from ragvault.adapters.sqlite.embeddings import SqliteEmbeddings
from ragvault.adapters.sqlite.fulltext import SqliteFullText
from ragvault.adapters.sqlite.integrity import COMPANIONS, has_content
from ragvault.adapters.sqlite.migrations import MIGRATIONS
from ragvault.adapters.sqlite.notes import SqliteNotes
from ragvault.adapters.sqlite.schema import migrate
from ragvault.errors import NoIndexError


class SqliteCatalog(SqliteNotes, SqliteChunks, SqliteFullText, SqliteEmbeddings):
    """``ports.Catalog`` on one file, which its bases share; they know nothing of each other.

    Safe to use from several threads and next to other processes. ``create`` False raises
    NoIndexError when there is no file yet. Opening an up-to-date file reads its header only.
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
            exists = has_content(path)
        except OSError as error:  # a folder above it that may not be entered
            raise os_error(error, path.parent) from error
        if not create and not exists:
            raise NoIndexError("Nothing is indexed yet.")
        if not exists:  # SQLite would read the log of a catalog that is gone into the new one
            with reported(path.parent):
                for end in COMPANIONS[1:]:
                    Path(f"{path}{end}").unlink(missing_ok=True)
        super().__init__(Database(path, busy_timeout_s=busy_timeout_s), clock)
        try:
            with self.database.connection() as connection:
                migrate(connection, path, MIGRATIONS)
        except BaseException:
            self.database.close()
            raise

    def close(self) -> None:
        self.database.close()
