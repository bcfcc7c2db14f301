"""The catalog's migrations, see ``schema.py``."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from ragvault.adapters.sqlite.history import HISTORY_NAME, SqliteHistory
from ragvault.adapters.sqlite.integrity import DIGESTED, add_functions
from ragvault.adapters.sqlite.schema import Migration, statements
from ragvault.adapters.sqlite.text_tables import (
    create_fts,
    create_note_fts,
    fts_table,
    note_fts_table,
    stem_again,
    vocabulary_table,
)
from ragvault.model import Band, HistoryEntry

_INITIAL = statements(
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
_ADD_EMBEDDERS = statements(
    """CREATE TABLE embedder (
        fingerprint TEXT PRIMARY KEY,
        settings TEXT NOT NULL,
        is_in_force INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "INSERT INTO embedder SELECT fingerprint, '', 1 FROM vault WHERE fingerprint IS NOT NULL"
    " GROUP BY fingerprint ORDER BY count(*) DESC LIMIT 1",
    "UPDATE vault SET vector_marker = NULL",
)


_BACKGROUND = statements(
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


def _move_answers(connection: sqlite3.Connection) -> None:
    """The answer log becomes the history, a file of its own. A crash between the two commits does
    it again: what is there already is passed over."""
    file = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    rows = connection.execute(
        "SELECT id, asked_at, session, question, answer, abstain_reason, mode, model, confidence,"
        " retrieval_ms, llm_ms, total_ms, prompt_tokens, completion_tokens"
        " FROM answer ORDER BY asked_at, rowid"
    ).fetchall()
    if rows:
        with closing(SqliteHistory(file.with_name(HISTORY_NAME))) as history:
            known = {(one.asked_at, one.document["question"]) for one in history.entries()}
            for answer_id, asked_at, session, question, *rest in rows:
                if (asked_at, question) not in known:
                    document = {"question": question, **_document(connection, answer_id, rest)}
                    history.add(HistoryEntry(asked_at, document, session))
    connection.execute("DROP TABLE answer_citation")
    connection.execute("DROP TABLE answer")


def _document(connection: sqlite3.Connection, answer_id: str, row: list[Any]) -> dict[str, Any]:
    """As ``ask --json`` would have printed it, as far as the log kept it."""
    answer, reason, mode, model, confidence, found_ms, llm_ms, total_ms, *tokens = row
    names = "marker chunk_id vault rel_path heading_path start_line end_line snippet score".split()
    references = []
    for values in connection.execute(
        "SELECT marker, chunk_id, vault, rel_path, section, start_line, end_line, snippet, score"
        " FROM answer_citation WHERE answer_id = ? ORDER BY position",
        (answer_id,),
    ):
        place = dict(zip(names, values, strict=True))
        place["heading_path"] = [part for part in place["heading_path"].split(" > ") if part]
        references.append(place)
    return {
        "answer": answer or "There was no answer.",
        "abstained": reason is not None,
        "abstain_reason": reason,
        "mode": mode,
        "confidence": confidence,
        "confidence_band": Band.of(confidence),
        "references": references,
        "meta": {
            "model": model,
            "retrieval": {"time_ms": found_ms},
            "llm_ms": llm_ms,
            "total_ms": total_ms,
            **dict(zip(("prompt_tokens", "completion_tokens"), tokens, strict=True)),
        },
    }


def _add_digests(connection: sqlite3.Connection) -> None:
    """What a passage was written as, with its note's names, so that one that isn't any more is
    told. (The column came a migration earlier.)"""
    add_functions(connection)
    connection.execute(
        f"UPDATE chunk AS c SET digest = digest_of({DIGESTED}) FROM note n WHERE n.id = c.note_id"
    )


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "initial", _INITIAL),
    Migration(2, "note evidence", _add_note_evidence),
    Migration(3, "embedders", _ADD_EMBEDDERS),
    Migration(4, "stems by language", _stem_by_language),
    Migration(5, "background", _BACKGROUND),
    Migration(6, "without note scores", _drop_note_scores),
    Migration(7, "history in its own file", _move_answers),
    Migration(8, "digests", statements("ALTER TABLE chunk ADD COLUMN digest BLOB")),
    Migration(9, "digests of passages and their notes", _add_digests),
)
