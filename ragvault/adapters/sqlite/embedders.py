"""Whose vectors the catalog holds: which embedder is in force, how each is built, and which notes
still lack vectors of one.
"""

from __future__ import annotations

import sqlite3

from ragvault.adapters.sqlite.connection import OnDatabase
from ragvault.adapters.sqlite.rows import vault_id

_LARGE = 1_000_000  # bytes of a note that waits until the others have their vectors


class SqliteEmbedders(OnDatabase):
    """Embedders; no vector is handled."""

    def use_embedder(self, fingerprint: str, settings: str) -> None:
        with self.database.write() as con:
            con.execute(
                "INSERT INTO embedder VALUES (?, ?, 0)"
                " ON CONFLICT DO UPDATE SET settings = excluded.settings",
                (fingerprint, settings),
            )
            put_in_force(con, fingerprint)

    def embedder_in_force(self) -> tuple[str, str] | None:
        with self.database.read() as con:
            return in_force(con)

    def embedders(self) -> list[str]:
        with self.database.read() as con:
            return [row[0] for row in con.execute("SELECT fingerprint FROM embedder")]

    def lacking(self, vault: str, fingerprint: str) -> list[tuple[str, int]]:
        """Linear in the vault's chunks, a look-up each."""
        with self.database.read() as con:
            return lacking(con, vault_id(con, vault), fingerprint)


def in_force(connection: sqlite3.Connection) -> tuple[str, str] | None:
    row = connection.execute("SELECT fingerprint, settings FROM embedder WHERE is_in_force")
    found: tuple[str, str] | None = row.fetchone()
    return found


def put_in_force(connection: sqlite3.Connection, fingerprint: str) -> None:
    """Unless a vault is whole under another one: it would be searched by its words only."""
    connection.execute("INSERT OR IGNORE INTO embedder VALUES (?, '', 0)", (fingerprint,))
    connection.execute(
        "UPDATE embedder SET is_in_force = (fingerprint = ?) WHERE NOT EXISTS"
        " (SELECT 1 FROM vault v WHERE v.fingerprint != ?)",
        (fingerprint, fingerprint),
    )


def lacking(connection: sqlite3.Connection, number: int, fingerprint: str) -> list[tuple[str, int]]:
    return connection.execute(
        "SELECT n.rel_path, count(*) FROM note n JOIN chunk c ON c.note_id = n.id"
        " WHERE n.vault_id = ? AND NOT EXISTS (SELECT 1 FROM embedding e"
        " WHERE e.text_hash = c.text_hash"
        " AND e.fingerprint_id = (SELECT id FROM fingerprint WHERE name = ?))"
        " GROUP BY n.id ORDER BY n.size >= ?, n.date DESC, n.rel_path",
        (number, fingerprint, _LARGE),
    ).fetchall()
