"""The rows of notes, chunks and full text, written. Each function runs inside a transaction that
its caller opened; none commits.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

from ragvault.adapters.sqlite.integrity import digest_of
from ragvault.adapters.sqlite.text_tables import (
    fold_tag,
    fts_table,
    insert_words,
    names_of,
    note_fts_table,
    write_stems,
)
from ragvault.errors import NoIndexError
from ragvault.model import Chunk, NoteWrite
from ragvault.text import language_of

NS_PER_S = 1_000_000_000


def vault_id(connection: sqlite3.Connection, name: str) -> int:
    """Raises NoIndexError for a vault that isn't remembered."""
    row = connection.execute("SELECT id FROM vault WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise NoIndexError(
            f'No vault is named "{name}".', "`ragvault vault list` shows those that are indexed."
        )
    return int(row[0])


def generation_of(connection: sqlite3.Connection) -> int:
    """Moves with each write that changes what is found."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
    if row is None:  # every catalog has it
        raise sqlite3.DatabaseError("the generation is missing")
    return int(row[0])


def bump_generation(connection: sqlite3.Connection) -> None:
    """Tell other processes that what is found has changed."""
    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")


def commit_notes(
    connection: sqlite3.Connection,
    vault: str,
    writes: Sequence[NoteWrite],
    removed: Sequence[str],
) -> set[str]:
    """Replace and remove notes; returns the chunk ids that are no longer visible.

    Chunks that a note keeps (their id says that the text is the same) stay in place: an edit in
    one section writes that section's rows and, where lines moved, a few integers.
    """
    number = vault_id(connection, vault)
    gone: set[str] = set()
    for rel_path in removed:
        gone |= _remove_note(connection, number, rel_path)
    for write in writes:
        gone |= _write_note(connection, number, write)
    gone -= {chunk.id for write in writes for chunk in write.chunks}
    _drop_empty_folders(connection, number)
    return gone


def _remove_note(connection: sqlite3.Connection, number: int, rel_path: str) -> set[str]:
    row = connection.execute(
        "SELECT id FROM note WHERE vault_id = ? AND rel_path = ?", (number, rel_path)
    ).fetchone()
    if row is None:
        return set()
    note_id = int(row[0])
    old = _chunk_rows(connection, note_id)
    _delete_chunks(connection, number, old.values())
    connection.execute(f"DELETE FROM {note_fts_table(number)} WHERE rowid = ?", (note_id,))
    connection.execute("DELETE FROM note WHERE id = ?", (note_id,))
    return set(old)


def _write_note(connection: sqlite3.Connection, number: int, write: NoteWrite) -> set[str]:
    row = connection.execute(
        "SELECT id, title, aliases, tags, language FROM note WHERE vault_id = ? AND rel_path = ?",
        (number, write.file.rel_path),
    ).fetchone()
    written = _written(write)
    language = language_of(written)
    note_id = _upsert_note(connection, number, write, language)
    note = write.note
    named = (write.file.rel_path, note.title, _json(note.aliases), _json(note.tags))
    old = _chunk_rows(connection, note_id)
    new_ids = {chunk.id for chunk in write.chunks}
    _delete_chunks(connection, number, [rowid for id_, rowid in old.items() if id_ not in new_ids])

    names = names_of(write.file.rel_path, note.title, note.aliases, note.tags)
    same_words = row is not None and (names, language) == (
        names_of(write.file.rel_path, row[1], json.loads(row[2]), json.loads(row[3])),
        row[4],
    )
    for chunk in write.chunks:
        rowid = old.get(chunk.id)
        if rowid is None:
            rowid = _insert_chunk(connection, note_id, chunk, named)
        elif not _move_chunk(connection, rowid, chunk, named) and same_words:
            continue
        write_stems(connection, number, rowid, (names, chunk.heading_path, chunk.text), language)
    connection.execute(f"DELETE FROM {note_fts_table(number)} WHERE rowid = ?", (note_id,))
    if write.chunks:
        insert_words(connection, number, note_id, f"{names}\n{written}")
    return old.keys() - new_ids


def _upsert_note(
    connection: sqlite3.Connection, number: int, write: NoteWrite, language: str
) -> int:
    file, note = write.file, write.note
    folder_id = _folder_id(connection, number, file.rel_path.rpartition("/")[0])
    row = connection.execute(
        "INSERT INTO note (vault_id, folder_id, rel_path, size, mtime_ns, seen_ns, content_hash,"
        " fingerprint, title, aliases, tags, date, chunk_count, language)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (vault_id, rel_path) DO UPDATE SET size = excluded.size,"
        " mtime_ns = excluded.mtime_ns, seen_ns = excluded.seen_ns,"
        " content_hash = excluded.content_hash, fingerprint = excluded.fingerprint,"
        " title = excluded.title, aliases = excluded.aliases, tags = excluded.tags,"
        " date = excluded.date, chunk_count = excluded.chunk_count,"
        " language = excluded.language"
        " RETURNING id",
        (
            number, folder_id, file.rel_path, file.size, file.mtime_ns, write.seen_ns,
            write.content_hash, write.fingerprint, note.title, _json(note.aliases),
            _json(note.tags), note.date, len(write.chunks), language,
        ),
    ).fetchone()  # fmt: skip
    note_id = int(row[0])
    connection.execute("DELETE FROM tag WHERE note_id = ?", (note_id,))
    connection.executemany(
        "INSERT OR IGNORE INTO tag (tag, note_id) VALUES (?, ?)",
        [(fold_tag(tag), note_id) for tag in note.tags],
    )
    return note_id


def _written(write: NoteWrite) -> str:
    """A note's text as a whole."""
    note = write.note
    return "\n".join((note.frontmatter_text, *(section.text for section in note.sections)))


def _json(values: Sequence[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


# --------------------------------------------------------------------------- chunks


def _chunk_rows(connection: sqlite3.Connection, note_id: int) -> dict[str, int]:
    rows = connection.execute("SELECT id, rowid FROM chunk WHERE note_id = ?", (note_id,))
    return {str(id_): int(rowid) for id_, rowid in rows}


def _insert_chunk(
    connection: sqlite3.Connection, note_id: int, chunk: Chunk, named: Sequence[str]
) -> int:
    cursor = connection.execute(
        "INSERT INTO chunk (id, note_id, heading_path, ordinal, chunk_index, start_line, end_line,"
        " text_hash, text, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            chunk.id, note_id, _json(chunk.heading_path), chunk.ordinal, chunk.chunk_index,
            chunk.start_line, chunk.end_line, chunk.text_hash, chunk.text, _digest(chunk, named),
        ),
    )  # fmt: skip
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _move_chunk(
    connection: sqlite3.Connection, rowid: int, chunk: Chunk, named: Sequence[str]
) -> bool:
    """Its new place; and its new text (True), when only what the model doesn't read has changed (a
    flag in the frontmatter, a link definition): the id is that of the text that is embedded."""
    place, digest = (chunk.chunk_index, chunk.start_line, chunk.end_line), _digest(chunk, named)
    changed = connection.execute(
        "UPDATE chunk SET text = ? WHERE rowid = ? AND text != ?", (chunk.text, rowid, chunk.text)
    )
    connection.execute(
        "UPDATE chunk SET chunk_index = ?, start_line = ?, end_line = ?, digest = ?"
        " WHERE rowid = ? AND (chunk_index != ? OR digest IS NOT ?)",
        (*place, digest, rowid, chunk.chunk_index, digest),
    )
    return changed.rowcount > 0


def _digest(chunk: Chunk, named: Sequence[str]) -> bytes:
    path = _json(chunk.heading_path)
    return digest_of(chunk.id, path, chunk.start_line, chunk.end_line, chunk.text, *named)


def _delete_chunks(connection: sqlite3.Connection, number: int, rowids: Collection[int]) -> None:
    rows = [(rowid,) for rowid in rowids]
    connection.executemany(f"DELETE FROM {fts_table(number)} WHERE rowid = ?", rows)
    connection.executemany("DELETE FROM chunk WHERE rowid = ?", rows)


# --------------------------------------------------------------------------- folders


def _folder_id(connection: sqlite3.Connection, number: int, folder: str) -> int:
    connection.execute(
        "INSERT OR IGNORE INTO folder (vault_id, path) VALUES (?, ?)", (number, folder)
    )
    row = connection.execute(
        "SELECT id FROM folder WHERE vault_id = ? AND path = ?", (number, folder)
    ).fetchone()
    return int(row[0])


def _drop_empty_folders(connection: sqlite3.Connection, number: int) -> None:
    """Linear in the vault's folders, each one look-up in an index."""
    connection.execute(
        "DELETE FROM folder WHERE vault_id = ?"
        " AND NOT EXISTS (SELECT 1 FROM note WHERE note.folder_id = folder.id)",
        (number,),
    )
