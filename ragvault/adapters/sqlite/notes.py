"""What the catalog knows of a note as a whole: its row in a full text table of notes, and the mean
of its chunks' vectors. A chunk is ranked by both beside its own (see retrieval/blend.py).

Each function runs inside a transaction that its caller opened; none commits.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from ragvault.adapters.sqlite.fulltext import search_expression
from ragvault.adapters.sqlite.migrations import note_fts_table
from ragvault.adapters.sqlite.search import condition_of, vault_ids
from ragvault.adapters.sqlite.vectors import unpack
from ragvault.adapters.sqlite.write import names_text, searchable
from ragvault.model import Filter, Note, NoteLexical, NoteWrite

if TYPE_CHECKING:
    from ragvault.model import Vector

# --------------------------------------------------------------------------- writing


def write_notes(
    connection: sqlite3.Connection, number: int, writes: Sequence[NoteWrite], fingerprint: str
) -> None:
    """The rows of notes that were just written, and their mean vectors (their chunks' own are in
    the cache by then). Linear in the notes' text and chunks."""
    table = note_fts_table(number)
    for write in writes:
        (note_id,) = connection.execute(
            "SELECT id FROM note WHERE vault_id = ? AND rel_path = ?",
            (number, write.file.rel_path),
        ).fetchone()
        connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (note_id,))
        if write.chunks:
            connection.execute(
                f"INSERT INTO {table} (rowid, title, body) VALUES (?, ?, ?)",
                (
                    note_id,
                    names_text(write.file.rel_path, write.note),
                    searchable(body_of(write.note)),
                ),
            )
        _write_mean(connection, note_id, fingerprint)


def body_of(note: Note) -> str:
    """All that a note says: the frontmatter's values and every section once."""
    return "\n".join((note.frontmatter_text, *(section.text for section in note.sections)))


def refresh_means(connection: sqlite3.Connection, number: int, fingerprint: str) -> None:
    """Make the means that are missing or another model's. Linear in those notes' chunks."""
    stale = connection.execute(
        "SELECT n.id FROM note n LEFT JOIN note_vector m ON m.note_id = n.id"
        " LEFT JOIN fingerprint p ON p.id = m.fingerprint_id"
        " WHERE n.vault_id = ? AND n.chunk_count > 0 AND p.name IS NOT ?",
        (number, fingerprint),
    ).fetchall()
    for (note_id,) in stale:
        _write_mean(connection, note_id, fingerprint)


def _write_mean(connection: sqlite3.Connection, note_id: int, fingerprint: str) -> None:
    """None is kept of a note that lacks a chunk's vector: half a mean would be another note's.

    Summed in the order of the ids and in float64, so that the order in which chunks were written
    leaves no trace. Not normalised: its product with a question is the mean of the cosines.
    """
    import numpy as np

    connection.execute("DELETE FROM note_vector WHERE note_id = ?", (note_id,))
    rows = connection.execute(
        "SELECT e.vector FROM chunk c LEFT JOIN embedding e ON e.text_hash = c.text_hash"
        " AND e.fingerprint_id = (SELECT id FROM fingerprint WHERE name = ?)"
        " WHERE c.note_id = ? ORDER BY c.id",
        (fingerprint, note_id),
    ).fetchall()
    blobs = [row[0] for row in rows]
    if not blobs or None in blobs:
        return
    mean = unpack(blobs).astype(np.float64).sum(axis=0) / len(blobs)
    connection.execute(
        "INSERT INTO note_vector (note_id, fingerprint_id, vector)"
        " SELECT ?, id, ? FROM fingerprint WHERE name = ?",
        (note_id, mean.astype("<f2").tobytes(), fingerprint),
    )


# --------------------------------------------------------------------------- searching


def lexical(
    connection: sqlite3.Connection,
    terms: Sequence[str],
    chunk_ids: Collection[str],
    where: Filter,
) -> NoteLexical:
    """Linear in the notes that hold any of the terms: each is scored once, for the best."""
    if not chunk_ids:
        return NoteLexical({}, 0.0)
    chunks = _chunks_by_note(connection, chunk_ids)
    scores: dict[str, float] = {}
    best = 0.0
    for number in vault_ids(connection, where.vaults):
        expression = search_expression(connection, number, terms)
        if expression is None:
            break
        for note_id, score, is_asked in _scored(connection, number, expression, chunks, where):
            best = max(best, -score)  # FTS5's BM25 is negative, better is smaller
            if is_asked:
                scores.update((chunk_id, -score) for chunk_id in chunks[note_id])
    return NoteLexical(scores, best)


def _scored(
    connection: sqlite3.Connection,
    number: int,
    expression: str,
    asked: Collection[int],
    where: Filter,
) -> Iterable[tuple[int, float, int]]:
    """(note, raw score, whether it was asked for): those asked for, and the best ones."""
    table = note_fts_table(number)
    limit, params = "", []
    if not where.is_empty:
        condition = condition_of(connection, where)
        # The unary plus keeps SQLite from running the full text query once per allowed row.
        limit = (
            f" AND +rowid IN (SELECT n.id FROM note n WHERE n.vault_id = {number}"
            f" AND {condition.sql})"
        )
        params = list(condition.params)
    return connection.execute(
        "WITH scored AS MATERIALIZED"
        f" (SELECT rowid AS note_id, bm25({table}) AS score FROM {table}"
        f" WHERE {table} MATCH ?{limit}),"
        " asked AS MATERIALIZED (SELECT value AS note_id FROM json_each(?))"
        " SELECT note_id, score, note_id IN asked FROM scored"
        " WHERE note_id IN asked OR score = (SELECT min(score) FROM scored)",
        (expression, *params, json.dumps(list(asked))),
    ).fetchall()


def vectors(
    connection: sqlite3.Connection, fingerprint: str, chunk_ids: Collection[str]
) -> dict[str, Vector]:
    """The mean of each chunk's note, by chunk id."""
    import numpy as np

    chunks = _chunks_by_note(connection, chunk_ids)
    rows = connection.execute(
        "SELECT m.note_id, m.vector FROM json_each(?) q"
        " CROSS JOIN note_vector m ON m.note_id = q.value AND m.fingerprint_id ="
        " (SELECT id FROM fingerprint WHERE name = ?)",
        (json.dumps(list(chunks)), fingerprint),
    )
    means: dict[str, Vector] = {}
    for note_id, blob in rows:
        mean = np.frombuffer(blob, dtype="<f2").astype(np.float32)
        means.update((chunk_id, mean) for chunk_id in chunks[note_id])
    return means


def _chunks_by_note(
    connection: sqlite3.Connection, chunk_ids: Collection[str]
) -> dict[int, list[str]]:
    rows = connection.execute(
        "SELECT c.note_id, c.id FROM json_each(?) q CROSS JOIN chunk c ON c.id = q.value",
        (json.dumps(list(chunk_ids)),),
    )
    by_note: dict[int, list[str]] = {}
    for note_id, chunk_id in rows:
        by_note.setdefault(note_id, []).append(chunk_id)
    return by_note


def problems(connection: sqlite3.Connection, number: int, vault: str) -> list[str]:
    """Notes written by this schema without a row, and rows without a note, as sentences."""
    table = note_fts_table(number)
    ((wrong,),) = connection.execute(
        "SELECT (SELECT count(*) FROM note n WHERE n.vault_id = ? AND n.chunk_count > 0"
        f" AND n.fingerprint != '' AND n.id NOT IN (SELECT id FROM {table}_docsize))"
        f" + (SELECT count(*) FROM {table}_docsize WHERE id NOT IN"
        " (SELECT id FROM note WHERE vault_id = ?))",
        (number, number),
    ).fetchall()
    if not wrong:
        return []
    return [f'The full text index of the notes of "{vault}" is wrong about {wrong} of them']
