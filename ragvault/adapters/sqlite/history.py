"""The history: each question with its answer, in a file of its own beside the catalog.

The catalog is made again from the notes where it is damaged; what was asked can't be. In two
files, nothing that happens to the one reaches the other.

An answer is a row: the document that ``ask --json`` prints, and the columns that are searched. It
holds its passages as they were cited, so that it can be read after its notes have changed or gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragvault.adapters.sqlite.connection import Database
from ragvault.adapters.sqlite.integrity import page_problems, problems_of
from ragvault.adapters.sqlite.schema import Migration, migrate, statements
from ragvault.text import normalise

if TYPE_CHECKING:
    from ragvault.model import HistoryEntry

HISTORY_NAME = "history.sqlite3"
_BUSY_TIMEOUT_S = 2.0  # an answer waits no longer to be kept

MIGRATIONS = (
    Migration(
        1,
        statements(
            """CREATE TABLE answer (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                asked_at REAL NOT NULL,
                session TEXT,
                turn INTEGER,
                words TEXT NOT NULL,
                document TEXT NOT NULL
            )""",
            "CREATE INDEX answer_by_time ON answer (asked_at)",
            "CREATE INDEX answer_by_session ON answer (session, turn)",
        ),
    ),
)
_COLUMNS = "id, asked_at, session, turn, document"


class _File(Database):
    what = "history"
    damaged_hint = "Move the file away: the next answer begins a new one."

    def problems(self) -> list[str]:
        return problems_of(self.path, page_problems)


class SqliteHistory:
    """Questions with their answers, for people to look up. The file is made by the first answer;
    before it, reading finds nothing. All methods raise StoreError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: Database | None = None

    def add(self, entry: HistoryEntry, *, forget_before: float | None = None) -> int:
        """Keep an answer, as the next turn of its session; those asked before a time (seconds
        since 1970) are forgotten. Returns its number, which no other answer ever gets."""
        document = entry.document
        places: Iterable[dict[str, Any]] = document["references"]
        said = [document["question"], document["answer"], *(place["rel_path"] for place in places)]
        with self._database().write() as con:
            if forget_before is not None:
                con.execute("DELETE FROM answer WHERE asked_at < ?", (forget_before,))
            cursor = con.execute(
                "INSERT INTO answer (asked_at, session, turn, words, document) VALUES (?, ?,"
                " CASE WHEN ? IS NULL THEN NULL ELSE"
                " (SELECT coalesce(max(turn), 0) + 1 FROM answer WHERE session = ?) END, ?, ?)",
                (
                    entry.asked_at,
                    *[entry.session] * 3,
                    normalise("\n".join(said)).encode("utf-8", "replace").decode(),
                    json.dumps(document),  # ASCII: a lone surrogate in a file's name comes back
                ),
            )
        return int(cursor.lastrowid or 0)

    def entries(
        self, *, words: str = "", session: str | None = None, limit: int | None = None
    ) -> list[HistoryEntry]:
        """The newest first: of a session, and with all the words (or parts of words) in the
        question, the answer or the cited notes' paths. Linear in what is kept."""
        tests = ["instr(words, ?) > 0"] * len(wanted := normalise(words).split())
        tests += ["session = ?"] * (session is not None)
        query = f"SELECT {_COLUMNS} FROM answer WHERE {' AND '.join(tests or ['1'])}"
        values = [*wanted, *([] if session is None else [session]), -1 if limit is None else limit]
        return self._read(f"{query} ORDER BY id DESC LIMIT ?", values)

    def entry(self, number: int) -> HistoryEntry | None:
        found = self._read(f"SELECT {_COLUMNS} FROM answer WHERE id = ?", [number])
        return found[0] if found else None

    def clear(self) -> int:
        """Forget all; returns how many. Their text is overwritten."""
        if not self._path.exists():
            return 0
        database = self._database()
        with database.write() as con:
            count = con.execute("DELETE FROM answer").rowcount
        with database.connection() as con:  # what is gone is in neither the file nor its log
            con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return count

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _read(self, query: str, values: Sequence[Any]) -> list[HistoryEntry]:
        if not self._path.exists():
            return []
        from ragvault.model import HistoryEntry

        with self._database().read() as con:
            return [
                HistoryEntry(asked_at, json.loads(document), session, number, turn)
                for number, asked_at, session, turn, document in con.execute(query, values)
            ]

    def _database(self) -> Database:
        if self._opened is None:
            database = _File(self._path, busy_timeout_s=_BUSY_TIMEOUT_S)
            try:
                with database.connection() as con:
                    con.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
                    migrate(con, self._path, MIGRATIONS)
            except BaseException:
                database.close()
                raise
            self._opened = database
        return self._opened
