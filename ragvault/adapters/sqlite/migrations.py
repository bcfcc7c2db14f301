"""The catalog's schema and its migrations, see ``schema.py``. Below 10 only 2, 0.1's, was
released: ``_begin`` brings it to where a new file begins.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ragvault.adapters.sqlite.history import HISTORY_NAME, SqliteHistory
from ragvault.adapters.sqlite.integrity import DIGESTED, EARLIER, add_functions
from ragvault.adapters.sqlite.rows import (
    WITH_TASKS,
    create_full_text,
    drop_full_text,
    stem_again,
)
from ragvault.adapters.sqlite.schema import Migration, schema_version, statements

# It answers what each question asks of all notes (how many, with how many passages, in which
# languages) without reading the notes.
_BY_LANGUAGE = "CREATE INDEX note_by_language ON note (vault_id, language, chunk_count)"
# The chunks in which a task's box stands, found without reading the others.
_WITH_TASKS = f"CREATE INDEX chunk_with_tasks ON chunk (note_id) WHERE {WITH_TASKS}"
# Which embedder questions are read by, and how each is built.
_EMBEDDER = """CREATE TABLE embedder (
    fingerprint TEXT PRIMARY KEY,
    settings TEXT NOT NULL,
    is_in_force INTEGER NOT NULL
) WITHOUT ROWID"""

_TABLES = statements(
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
        date REAL NOT NULL,
        chunk_count INTEGER NOT NULL,
        language TEXT NOT NULL DEFAULT '',
        UNIQUE (vault_id, rel_path)
    )""",
    "CREATE INDEX note_by_date ON note (date)",
    "CREATE INDEX note_by_folder ON note (folder_id)",
    _BY_LANGUAGE,
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
        text TEXT NOT NULL,
        digest BLOB
    )""",
    "CREATE INDEX chunk_by_note ON chunk (note_id, chunk_index)",
    _WITH_TASKS,
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
    _EMBEDDER,
)


# Vectors stand in another collection than in 0.1 (one for each vault and model): with no watermark
# the next run fills it, from the cache. Notes without a fingerprint are written again then.
_COLUMNS_SINCE_0_1 = statements(
    "ALTER TABLE folder DROP COLUMN centroid",
    "ALTER TABLE folder DROP COLUMN centroid_fingerprint",
    "ALTER TABLE folder DROP COLUMN stale",
    "ALTER TABLE note DROP COLUMN links",
    "ALTER TABLE note ADD COLUMN language TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE chunk ADD COLUMN digest BLOB",
    "UPDATE note SET fingerprint = ''",
    "UPDATE vault SET vector_marker = NULL",
    "DROP TABLE note_vector",
    "DROP TABLE schema_migration",
    _BY_LANGUAGE,
    _WITH_TASKS,
    _EMBEDDER,
    "INSERT INTO embedder SELECT fingerprint, '', 1 FROM vault WHERE fingerprint IS NOT NULL"
    " GROUP BY fingerprint ORDER BY count(*) DESC LIMIT 1",
)


def _begin(connection: sqlite3.Connection) -> None:
    """Of 0.1's the full text is filled again from the chunks' texts, so that searches go on."""
    if schema_version(connection) == 0:
        _TABLES(connection)
        return
    _COLUMNS_SINCE_0_1(connection)
    for (vault_id,) in connection.execute("SELECT id FROM vault").fetchall():
        drop_full_text(connection, vault_id)
        create_full_text(connection, vault_id)
        stem_again(connection, vault_id)
    add_functions(connection)
    connection.execute(
        f"UPDATE chunk AS c SET digest = digest_of({DIGESTED}) FROM note n WHERE n.id = c.note_id"
    )
    _move_answers(connection)


def _move_answers(connection: sqlite3.Connection) -> None:
    """What was asked goes into the history, a file of its own. A crash between the two commits
    does it again: what is there already is passed over."""
    from ragvault.model import Band, HistoryEntry

    file = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    rows = connection.execute(
        "SELECT asked_at, session, question, answer, abstain_reason, mode, model, confidence,"
        " llm_ms, total_ms FROM answer ORDER BY asked_at, rowid"
    ).fetchall()
    with closing(SqliteHistory(file.with_name(HISTORY_NAME))) as history:
        known = {(one.asked_at, one.document["question"]) for one in history.entries()}
        for asked_at, session, question, answer, reason, mode, model, confidence, *ms in rows:
            document = {
                "question": question,
                "answer": answer or "There was no answer.",
                "abstained": reason is not None,
                "abstain_reason": reason,
                "mode": mode,
                "confidence": confidence,
                "confidence_band": Band.of(confidence),
                **dict.fromkeys(("references", "also", "nearest", "citations"), ()),
                "meta": {
                    "model": model,
                    "retrieval": {},
                    "llm_ms": ms[0],
                    "total_ms": ms[1],
                    "prompt_tokens": None,
                    "completion_tokens": None,
                },
            }
            if (asked_at, question) not in known:
                history.add(HistoryEntry(asked_at, document, session))
    connection.execute("DROP TABLE answer_citation")
    connection.execute("DROP TABLE answer")


MIGRATIONS: tuple[Migration, ...] = (Migration(10, _begin, begins_at=EARLIER),)
