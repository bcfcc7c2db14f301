"""The answer log: each question with its answer and the citations that it stood on.

Modelled on ``message_citations`` of sprint17-rag.md. A citation is kept with its own path, place
and snippet, so that an old answer can still be read after its note has changed or gone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from ragvault.adapters.sqlite.connection import OnDatabase
from ragvault.model import LoggedAnswer

# Of the table ``answer``, and the fields of ``LoggedAnswer`` that they hold.
_NAMES = (
    "id asked_at session question answer abstain_reason mode model confidence"
    " retrieval_ms llm_ms total_ms prompt_tokens completion_tokens"
).split()
_COLUMNS = ", ".join(_NAMES)


class SqliteAnswerLog(OnDatabase):
    """See ``ports.AnswerLog``."""

    def log_answer(self, row: LoggedAnswer) -> None:
        """The same id again replaces the row."""
        with self.database.write() as con:
            con.execute("DELETE FROM answer WHERE id = ?", (row.id,))
            con.execute(
                f"INSERT INTO answer ({_COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))})",
                [getattr(row, name) for name in _NAMES],
            )
            con.executemany(
                "INSERT INTO answer_citation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(row.id, position, *citation) for position, citation in enumerate(row.citations)],
            )

    def answers(self, *, session: str | None = None, limit: int = 20) -> list[LoggedAnswer]:
        where, params = ("WHERE session = ?", [session]) if session is not None else ("", [])
        with self.database.read() as con:
            rows = con.execute(
                f"SELECT {_COLUMNS} FROM answer {where} ORDER BY asked_at DESC, rowid DESC LIMIT ?",
                [*params, max(0, limit)],
            ).fetchall()
            return [_logged(con, row) for row in rows]

    def answer(self, answer_id: str) -> LoggedAnswer | None:
        with self.database.read() as con:
            row = con.execute(
                f"SELECT {_COLUMNS} FROM answer WHERE id = ?", (answer_id,)
            ).fetchone()
            return None if row is None else _logged(con, row)


def _logged(connection: sqlite3.Connection, row: Sequence[Any]) -> LoggedAnswer:
    citations = connection.execute(
        "SELECT marker, chunk_id, vault, rel_path, section, start_line, end_line, snippet, score"
        " FROM answer_citation WHERE answer_id = ? ORDER BY position",
        (row[0],),
    ).fetchall()
    return LoggedAnswer(**dict(zip(_NAMES, row, strict=True)), citations=tuple(citations))
