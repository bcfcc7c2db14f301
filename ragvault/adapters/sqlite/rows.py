"""What a vault's notes are in the tables: their rows, their chunks' and their full text, written.
Each function runs inside a transaction that its caller opened; none commits.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from ragvault.errors import NoIndexError
from ragvault.model import NoteWrite
from ragvault.text import language_of, stem, tokens

NS_PER_S = 1_000_000_000
# A chunk's text in which a task's box stands (``formats.tasks``), as a condition.
WITH_TASKS = "text GLOB '*[[][ xX/]] *'"
# What is stored is tokens already, and stems with their diacritics folded (``stemmed``).
_TOKENIZER = "tokenize = 'unicode61 remove_diacritics 0'"


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


def digest_of(*of: object) -> bytes:
    """Of ``DIGESTED``, lists as JSON. Kept with a passage, and compared when it is read: a flipped
    letter leaves a page that SQLite finds sound."""
    return hashlib.sha256("\0".join(map(str, of)).encode("utf-8", "surrogatepass")).digest()[:16]


def fts_table(vault_id: int) -> str:
    """The full text table of one vault. Each has its own, because BM25's statistics are those of a
    table: indexing one vault must not move the scores of another."""
    return f"fts_{int(vault_id)}"


def note_fts_table(vault_id: int) -> str:
    """The full text table of one vault's notes, a row a note: ``written``, their names and body
    word for word."""
    return f"fts_note_{int(vault_id)}"


def vocabulary_table(vault_id: int) -> str:
    """FTS5's own view of the words in ``note_fts_table``, with the notes that hold each."""
    return f"vocabulary_{int(vault_id)}"


def create_full_text(connection: sqlite3.Connection, vault_id: int) -> None:
    """Make a vault's tables: of stems, whose rowid is the chunk's, and of words, whose rowid is the
    note's. Part of the schema: a change of it is a migration that rebuilds those of every vault."""
    stems, words = fts_table(vault_id), note_fts_table(vault_id)
    for name, columns in ((stems, "title, heading, body"), (words, "written")):
        connection.execute(f"CREATE VIRTUAL TABLE {name} USING fts5({columns}, {_TOKENIZER})")
    connection.execute(
        f"CREATE VIRTUAL TABLE {vocabulary_table(vault_id)} USING fts5vocab({words}, 'col')"
    )


def drop_full_text(connection: sqlite3.Connection, vault_id: int) -> None:
    for table in (vocabulary_table, note_fts_table, fts_table):
        connection.execute(f"DROP TABLE IF EXISTS {table(vault_id)}")


def names_of(rel_path: str, title: str, aliases: Iterable[str], tags: Iterable[str]) -> str:
    """All that a note is called by."""
    return "\n".join([title, *aliases, PurePosixPath(rel_path).stem, *tags])


def fold_tag(tag: str) -> str:
    """Tags are compared without ``#`` and case, as Obsidian does."""
    return tag.lstrip("#").strip("/").casefold()


def stemmed(text: str, language: str) -> str:
    """A text as the full text table reads it: the stems of exactly the tokens that a query is cut
    into, so that FTS5's own tokenizer has nothing left to do and can't disagree with the query."""
    return " ".join(stem(token, language) for token in tokens(text))


def write_words(
    connection: sqlite3.Connection,
    number: int,
    note_id: int,
    said: tuple[str, str],
    chunks: Iterable[tuple[int | None, Sequence[str], str]],
    language: str,
) -> None:
    """A note's rows of full text, of its names and its body (``said``), and those of its
    ``chunks``: row id, heading path, text. Without chunks it has none."""
    names, body = said
    title = stemmed(names, language)
    rows = [
        (rowid, title, stemmed("\n".join(path), language), stemmed(text, language))
        for rowid, path, text in chunks
    ]
    connection.executemany(
        f"INSERT INTO {fts_table(number)} (rowid, title, heading, body) VALUES (?, ?, ?, ?)", rows
    )
    if rows:
        connection.execute(
            f"INSERT INTO {note_fts_table(number)} (rowid, written) VALUES (?, ?)",
            (note_id, " ".join(tokens(f"{names}\n{body}"))),
        )


def stem_again(connection: sqlite3.Connection, number: int) -> None:
    """Fill a vault's empty tables, and its notes' languages, from the chunks' texts."""
    notes = connection.execute(
        "SELECT id, rel_path, title, aliases, tags FROM note WHERE vault_id = ?", (number,)
    ).fetchall()
    for note_id, rel_path, title, aliases, tags in notes:
        chunks = connection.execute(
            "SELECT rowid, heading_path, text FROM chunk WHERE note_id = ? ORDER BY chunk_index",
            (note_id,),
        ).fetchall()
        body = "\n".join(text for _, _, text in chunks)
        language = language_of(body)
        connection.execute("UPDATE note SET language = ? WHERE id = ?", (language, note_id))
        names = names_of(rel_path, title, json.loads(aliases), json.loads(tags))
        words = [(rowid, json.loads(path), text) for rowid, path, text in chunks]
        write_words(connection, number, note_id, (names, body), words, language)
