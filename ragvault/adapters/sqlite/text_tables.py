"""The full text tables of a vault: how they are made, and what is written into them. Each function
runs inside a transaction that its caller opened; none commits.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from ragvault.text import language_of, stem, tokens

# A chunk's text in which a task's box stands (``formats.tasks``), as a condition.
WITH_TASKS = "text GLOB '*[[][ xX/]] *'"
# What is stored is tokens already, and stems with their diacritics folded (``stemmed``).
_TOKENIZER = "tokenize = 'unicode61 remove_diacritics 0'"


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


# --------------------------------------------------------------------------- rows


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
