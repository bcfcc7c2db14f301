"""The rows of notes, chunks and full text, written. Each function runs inside a transaction that
its caller opened; none commits.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from ragvault.adapters.sqlite.integrity import digest_of
from ragvault.adapters.sqlite.text_tables import (
    fold_tag,
    fts_table,
    names_of,
    note_fts_table,
    write_words,
)
from ragvault.errors import NoIndexError
from ragvault.model import NoteWrite
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
    connection: sqlite3.Connection, vault: str, writes: Sequence[NoteWrite], removed: Sequence[str]
) -> set[str]:
    """Replace and remove notes, each as a whole; returns the chunk ids that are no longer visible.
    Linear in these notes, and in the vault's folders, each one look-up in an index."""
    number = vault_id(connection, vault)
    gone: set[str] = set()
    for rel_path in (*removed, *(write.file.rel_path for write in writes)):
        gone |= _remove_note(connection, number, rel_path)
    for write in writes:
        _write_note(connection, number, write)
    connection.execute(
        "DELETE FROM folder WHERE vault_id = ?"
        " AND NOT EXISTS (SELECT 1 FROM note WHERE note.folder_id = folder.id)",
        (number,),
    )
    return gone - {chunk.id for write in writes for chunk in write.chunks}


def _remove_note(connection: sqlite3.Connection, number: int, rel_path: str) -> set[str]:
    row = connection.execute(
        "SELECT id FROM note WHERE vault_id = ? AND rel_path = ?", (number, rel_path)
    ).fetchone()
    if row is None:
        return set()
    chunks = connection.execute("SELECT id, rowid FROM chunk WHERE note_id = ?", row).fetchall()
    connection.executemany(
        f"DELETE FROM {fts_table(number)} WHERE rowid = ?", [(rowid,) for _, rowid in chunks]
    )
    connection.execute("DELETE FROM chunk WHERE note_id = ?", row)
    connection.execute(f"DELETE FROM {note_fts_table(number)} WHERE rowid = ?", row)
    connection.execute("DELETE FROM note WHERE id = ?", row)
    return {chunk_id for chunk_id, _ in chunks}


def _write_note(connection: sqlite3.Connection, number: int, write: NoteWrite) -> None:
    file, note = write.file, write.note
    written = "\n".join((note.frontmatter_text, *(section.text for section in note.sections)))
    language = language_of(written)
    folder = (number, file.rel_path.rpartition("/")[0])
    connection.execute("INSERT OR IGNORE INTO folder (vault_id, path) VALUES (?, ?)", folder)
    named = (note.title, _json(note.aliases), _json(note.tags))
    note_id = connection.execute(
        "INSERT INTO note (folder_id, vault_id, rel_path, size, mtime_ns, seen_ns, content_hash,"
        " fingerprint, title, aliases, tags, date, chunk_count, language)"
        " VALUES ((SELECT id FROM folder WHERE vault_id = ? AND path = ?),"
        " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *folder, number, file.rel_path, file.size, file.mtime_ns, write.seen_ns,
            write.content_hash, write.fingerprint, *named, note.date, len(write.chunks), language,
        ),
    ).lastrowid  # fmt: skip
    assert note_id is not None
    connection.executemany(
        "INSERT OR IGNORE INTO tag (tag, note_id) VALUES (?, ?)",
        [(fold_tag(tag), note_id) for tag in note.tags],
    )
    words: list[tuple[int | None, Sequence[str], str]] = []
    for chunk in write.chunks:
        path, lines = _json(chunk.heading_path), (chunk.start_line, chunk.end_line)
        digest = digest_of(chunk.id, path, *lines, chunk.text, file.rel_path, *named)
        rowid = connection.execute(
            "INSERT INTO chunk (id, note_id, heading_path, ordinal, chunk_index, start_line,"
            " end_line, text_hash, text, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                chunk.id, note_id, path, chunk.ordinal, chunk.chunk_index, *lines,
                chunk.text_hash, chunk.text, digest,
            ),
        ).lastrowid  # fmt: skip
        words.append((rowid, chunk.heading_path, chunk.text))
    names = names_of(file.rel_path, note.title, note.aliases, note.tags)
    write_words(connection, number, note_id, (names, written), words, language)


def _json(values: Sequence[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
