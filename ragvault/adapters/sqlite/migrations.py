"""The catalog's schema, as numbered migrations that are only ever appended to.

Each runs in one transaction together with its row in ``schema_migration`` and the new
``user_version``: a crash leaves the schema before it or after it, never between. A file that is
newer than this code is refused rather than guessed at.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ragvault import __version__
from ragvault.adapters.sqlite.text_tables import (
    create_fts,
    create_note_fts,
    fts_table,
    note_fts_table,
    stem_again,
    vocabulary_table,
)
from ragvault.errors import StoreError

APPLICATION_ID = 0x72676C74  # "rglt", in the file's header: tells it from other SQLite files


@dataclass(frozen=True, slots=True)
class Migration:
    """``apply`` runs inside the migration's transaction and must not commit."""

    number: int
    name: str
    apply: Callable[[sqlite3.Connection], None]


def _statements(*sql: str) -> Callable[[sqlite3.Connection], None]:
    def apply(connection: sqlite3.Connection) -> None:
        for statement in sql:
            connection.execute(statement)

    return apply


_INITIAL = _statements(
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO meta (key, value) VALUES ('generation', 0)",
    """CREATE TABLE vault (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        path TEXT NOT NULL,
        kind TEXT NOT NULL,
        indexed_at REAL,
        fingerprint TEXT,
        vector_marker TEXT
    )""",
    """CREATE TABLE folder (
        id INTEGER PRIMARY KEY,
        vault_id INTEGER NOT NULL REFERENCES vault (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        centroid BLOB,
        centroid_fingerprint TEXT,
        stale INTEGER NOT NULL DEFAULT 1,
        UNIQUE (vault_id, path)
    )""",
    """CREATE TABLE note (
        id INTEGER PRIMARY KEY,
        vault_id INTEGER NOT NULL REFERENCES vault (id) ON DELETE CASCADE,
        folder_id INTEGER NOT NULL REFERENCES folder (id),
        rel_path TEXT NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        seen_ns INTEGER NOT NULL,
        content_hash TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        title TEXT NOT NULL,
        aliases TEXT NOT NULL,
        tags TEXT NOT NULL,
        links TEXT NOT NULL,
        date REAL NOT NULL,
        chunk_count INTEGER NOT NULL,
        UNIQUE (vault_id, rel_path)
    )""",
    "CREATE INDEX note_by_date ON note (date)",
    "CREATE INDEX note_by_folder ON note (folder_id)",
    """CREATE TABLE tag (
        tag TEXT NOT NULL,
        note_id INTEGER NOT NULL REFERENCES note (id) ON DELETE CASCADE,
        PRIMARY KEY (tag, note_id)
    ) WITHOUT ROWID""",
    "CREATE INDEX tag_by_note ON tag (note_id)",
    """CREATE TABLE chunk (
        rowid INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        note_id INTEGER NOT NULL REFERENCES note (id),
        heading_path TEXT NOT NULL,
        ordinal INTEGER NOT NULL,
        chunk_index INTEGER NOT NULL,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        text_hash TEXT NOT NULL,
        text TEXT NOT NULL
    )""",
    "CREATE INDEX chunk_by_note ON chunk (note_id, chunk_index)",
    """CREATE TABLE fingerprint (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        dimensions INTEGER NOT NULL
    )""",
    """CREATE TABLE embedding (
        fingerprint_id INTEGER NOT NULL REFERENCES fingerprint (id),
        text_hash TEXT NOT NULL,
        unused_since REAL,
        vector BLOB NOT NULL,
        UNIQUE (fingerprint_id, text_hash)
    )""",
    """CREATE TABLE answer (
        id TEXT PRIMARY KEY,
        asked_at REAL NOT NULL,
        session TEXT,
        question TEXT NOT NULL,
        answer TEXT NOT NULL,
        abstain_reason TEXT,
        mode TEXT NOT NULL,
        model TEXT,
        confidence REAL NOT NULL,
        retrieval_ms REAL,
        llm_ms REAL,
        total_ms REAL,
        prompt_tokens INTEGER,
        completion_tokens INTEGER
    )""",
    "CREATE INDEX answer_by_time ON answer (asked_at)",
    "CREATE INDEX answer_by_session ON answer (session, asked_at)",
    """CREATE TABLE answer_citation (
        answer_id TEXT NOT NULL REFERENCES answer (id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        marker INTEGER NOT NULL,
        chunk_id TEXT NOT NULL,
        vault TEXT NOT NULL,
        rel_path TEXT NOT NULL,
        section TEXT NOT NULL,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        snippet TEXT NOT NULL,
        score REAL NOT NULL,
        PRIMARY KEY (answer_id, position)
    ) WITHOUT ROWID""",
    "CREATE INDEX answer_citation_by_chunk ON answer_citation (chunk_id)",
)


def _add_note_evidence(connection: sqlite3.Connection) -> None:
    """Room for what is known of notes as a whole. The next ``index`` run fills it: a note with no
    fingerprint is written again, from its file and the embedding cache. Until then searches rank
    by chunks alone.

    The vectors have a table of their own, because every ``index`` run reads ``note`` whole.
    """
    connection.execute(
        """CREATE TABLE note_vector (
            note_id INTEGER PRIMARY KEY REFERENCES note (id) ON DELETE CASCADE,
            fingerprint_id INTEGER NOT NULL REFERENCES fingerprint (id) ON DELETE CASCADE,
            vector BLOB NOT NULL
        )"""
    )
    for (vault_id,) in connection.execute("SELECT id FROM vault").fetchall():
        connection.execute(
            f"CREATE VIRTUAL TABLE {note_fts_table(vault_id)} USING fts5(title, body)"
        )
    connection.execute("UPDATE note SET fingerprint = ''")


def _stem_by_language(connection: sqlite3.Connection) -> None:
    """Stems of each note's own language instead of English ones for all, and the words as they
    are written. The tables are filled again from the chunks' texts, so that searches go on; the
    next ``index`` run writes the notes again, from their files and the embedding cache."""
    connection.execute("ALTER TABLE note ADD COLUMN language TEXT NOT NULL DEFAULT ''")
    connection.execute("CREATE INDEX note_by_language ON note (vault_id, language)")
    for (vault_id,) in connection.execute("SELECT id FROM vault").fetchall():
        connection.execute(f"DROP TABLE {fts_table(vault_id)}")
        connection.execute(f"DROP TABLE {note_fts_table(vault_id)}")
        create_fts(connection, vault_id)
        create_note_fts(connection, vault_id)
        stem_again(connection, vault_id)
    connection.execute("UPDATE note SET fingerprint = ''")


# Which embedder questions are read by, and how each is built. Vectors stand in another collection
# than before (one for each vault and model): with no watermark the next run fills it, from the
# cache.
_ADD_EMBEDDERS = _statements(
    """CREATE TABLE embedder (
        fingerprint TEXT PRIMARY KEY,
        settings TEXT NOT NULL,
        is_in_force INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "INSERT INTO embedder SELECT fingerprint, '', 1 FROM vault WHERE fingerprint IS NOT NULL"
    " GROUP BY fingerprint ORDER BY count(*) DESC LIMIT 1",
    "UPDATE vault SET vector_marker = NULL",
)


_BACKGROUND = _statements(
    """CREATE TABLE background (
        vault_id INTEGER NOT NULL REFERENCES vault (id) ON DELETE CASCADE,
        fingerprint TEXT NOT NULL,
        chunks INTEGER NOT NULL,
        levels TEXT NOT NULL,
        PRIMARY KEY (vault_id, fingerprint)
    ) WITHOUT ROWID""",
)


def _drop_note_scores(connection: sqlite3.Connection) -> None:
    """Notes are scored by their chunks alone: what is left of their own is the words as they are
    written."""
    connection.execute("DROP TABLE note_vector")
    for (vault_id,) in connection.execute("SELECT id FROM vault").fetchall():
        table = note_fts_table(vault_id)
        rows = connection.execute(f"SELECT rowid, written FROM {table}").fetchall()
        connection.execute(f"DROP TABLE {vocabulary_table(vault_id)}")
        connection.execute(f"DROP TABLE {table}")
        create_note_fts(connection, vault_id)
        connection.executemany(f"INSERT INTO {table} (rowid, written) VALUES (?, ?)", rows)


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "initial", _INITIAL),
    Migration(2, "note evidence", _add_note_evidence),
    Migration(3, "embedders", _ADD_EMBEDDERS),
    Migration(4, "stems by language", _stem_by_language),
    Migration(5, "background", _BACKGROUND),
    Migration(6, "without note scores", _drop_note_scores),
)


def schema_version(connection: sqlite3.Connection) -> int:
    """The number of the last migration that was applied; 0 for a new file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(
    connection: sqlite3.Connection, path: Path, migrations: tuple[Migration, ...] = MIGRATIONS
) -> None:
    """Bring the file to the newest schema known; costs a few header reads when it is there.

    Raises StoreError for a newer schema and for a file that another program made. Safe when
    several processes open a new file at once: each step is checked again under the write lock.
    """
    newest = migrations[-1].number
    version = _recognise(connection, path)
    if version == newest:
        return
    if version > newest:
        raise _too_new(path, version, newest)
    if version == 0:
        connection.execute("PRAGMA journal_mode = WAL")  # kept in the file from then on
    for migration in migrations:
        _apply(connection, migration)


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if schema_version(connection) < migration.number:
            if migration.number == 1:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(
                    "CREATE TABLE schema_migration (number INTEGER PRIMARY KEY,"
                    " name TEXT NOT NULL, applied_at REAL NOT NULL, ragvault TEXT NOT NULL)"
                )
            migration.apply(connection)
            connection.execute(
                "INSERT INTO schema_migration VALUES (?, ?, ?, ?)",
                (migration.number, migration.name, time.time(), __version__),
            )
            connection.execute(f"PRAGMA user_version = {migration.number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _recognise(connection: sqlite3.Connection, path: Path) -> int:
    """The file's schema version; 0 for an empty file. One transaction: another process may be
    making the file at this moment."""
    connection.execute("BEGIN")
    try:
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        version = schema_version(connection)
        tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    finally:
        connection.execute("ROLLBACK")
    if application != APPLICATION_ID and (application or version or tables):
        raise StoreError(
            f"{path} is a database of another program.",
            "Set index.path in the config to a folder that only ragvault uses.",
        )
    return version


def _too_new(path: Path, version: int, newest: int) -> StoreError:
    return StoreError(
        f"The index {path} was made by a newer ragvault (schema {version}, this one knows"
        f" {newest}).",
        "Upgrade ragvault, or set index.path in the config to another folder and index again.",
    )
