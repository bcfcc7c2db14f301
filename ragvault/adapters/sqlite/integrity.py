"""A damaged catalog: how it is told, and which embeddings can still be had from it."""

from __future__ import annotations

import math
import re
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from ragvault.adapters.sqlite.rows import digest_of, fold_tag, fts_table, note_fts_table

CATALOG_NAME = "catalog.sqlite3"
COMPANIONS = ("", "-wal", "-shm")
EARLIER = (2,)  # schemas that were released before these digests: 0.1's
_CANT_WRITE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_WINDOW = 64  # rows read at once of a damaged table
_HASH = re.compile("[0-9a-f]{64}")
# What is kept of a passage by its digest: all that is quoted of it and of its note.
DIGESTED = (
    "c.id, c.heading_path, c.start_line, c.end_line, c.text, n.rel_path, n.title, n.aliases, n.tags"
)
# Rows that ragvault never writes, with what is told of them: a flipped byte that SQLite's own check
# doesn't see, as the pages are well-formed.
_NEVER_WRITTEN = (
    (
        "SELECT count(*) FROM chunk c JOIN note n ON n.id = c.note_id"
        " WHERE NOT json_valid(heading_path) OR typeof(text) != 'text'"
        f" OR typeof(ordinal + chunk_index) != 'integer' OR digest IS NOT digest_of({DIGESTED})",
        "passages",
    ),
    (
        "SELECT count(*) FROM note WHERE NOT json_valid(aliases) OR NOT json_valid(tags)"
        " OR typeof(date) NOT IN ('real', 'integer')"
        " OR typeof(mtime_ns) != 'integer' OR typeof(size) != 'integer'",
        "notes",
    ),
    (
        "SELECT count(*) FROM embedding e LEFT JOIN fingerprint f ON f.id = e.fingerprint_id"
        " WHERE typeof(e.vector) != 'blob' OR length(e.vector) IS NOT 2 * f.dimensions"
        " OR NOT is_unit(e.vector)",
        "embeddings",
    ),
    (
        "SELECT count(*) FROM note n JOIN json_each(n.tags) j WHERE NOT EXISTS"
        " (SELECT 1 FROM tag t WHERE t.note_id = n.id AND t.tag = fold_tag(j.value))",
        "tags",
    ),
    ("SELECT count(*) != 1 FROM meta WHERE key = 'generation'", "counters"),
)


def is_unit(vector: bytes) -> bool:
    """Whether packed float16 are of unit length, as all that are written."""
    return 0.9 < math.hypot(*struct.unpack(f"<{len(vector) // 2}e", vector)) < 1.1


def add_functions(connection: sqlite3.Connection) -> None:
    """``digest_of``, ``fold_tag`` and ``is_unit`` in SQL."""
    connection.create_function("digest_of", -1, digest_of, deterministic=True)
    connection.create_function("fold_tag", 1, fold_tag, deterministic=True)
    connection.create_function("is_unit", 1, is_unit, deterministic=True)


def problems(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the catalog, as sentences; empty when it is sound. Linear in the file:
    SQLite's full check, and what ragvault knows of its rows. Raises sqlite3.Error."""
    if found := page_problems(connection):
        return found
    if connection.execute("PRAGMA user_version").fetchone()[0] in EARLIER:
        return []  # whoever opens it brings it to today's
    add_functions(connection)
    if broken := connection.execute("PRAGMA foreign_key_check").fetchall():
        found.append(f"{len(broken)} rows refer to rows that are gone")
    for query, what in _NEVER_WRITTEN:
        count = connection.execute(query).fetchone()[0]
        if count:
            found.append(f"{count} {what} are not as they were written")
    return found + _text_problems(connection)


def page_problems(connection: sqlite3.Connection, *, quick: bool = False) -> list[str]:
    """What SQLite's own check says of any file; ``quick`` leaves out its indexes."""
    check = "quick_check" if quick else "integrity_check"
    rows = connection.execute(f"PRAGMA {check}(5)").fetchall()
    told = [str(row[0]).removeprefix("*** in database main ***\n") for row in rows]
    return [line.partition("\n")[0] for line in told if line != "ok"]


def problems_of(
    path: Path, check: Callable[[sqlite3.Connection], list[str]] = problems
) -> list[str]:
    """The same of a file; a file that can't be checked has a problem too."""
    if not path.is_file():
        return ["it is no file"]
    for how in ("mode=rw", "immutable=1"):  # the latter where no log can be made beside it
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as opened:
                return check(opened)
        except (sqlite3.Error, ValueError, TypeError) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return []
            if code not in (sqlite3.SQLITE_CANTOPEN, *_CANT_WRITE):
                return [str(error)]
    return []  # whoever opens it says why that can't be


def _text_problems(connection: sqlite3.Connection) -> list[str]:
    """Where the full text tables and the rows that they should hold differ, as sentences."""
    found = []
    for number, name in connection.execute("SELECT id, name FROM vault").fetchall():
        notes = "FROM note n WHERE n.vault_id = ? AND n.chunk_count > 0"
        chunks = "FROM note n JOIN chunk c ON c.note_id = n.id WHERE n.vault_id = ?"
        for table, what, rows in (
            (fts_table(number), "passages", f"SELECT c.rowid {chunks}"),
            (note_fts_table(number), "notes", f"SELECT n.id {notes}"),
        ):
            indexed = set(connection.execute(f"SELECT id FROM {table}_docsize"))
            if wrong := indexed.symmetric_difference(connection.execute(rows, (number,))):
                found.append(f'The full text index of "{name}" is wrong about {len(wrong)} {what}')
            try:  # FTS5 compares its index with its content; that counts as writing
                connection.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
            except sqlite3.Error as error:
                if error.sqlite_errorcode & 0xFF not in _CANT_WRITE:
                    found.append(f'The full text index of "{name}" contradicts itself')
    connection.rollback()
    return found


def has_content(catalog: Path) -> bool:
    """Whether anything is in the file, or in the log that belongs to it."""
    sizes = (Path(f"{catalog}{end}") for end in COMPANIONS[:2])
    return any(file.exists() and file.stat().st_size for file in sizes)


def embeddings_in(catalog: Path) -> Iterator[tuple[str, str, bytes]]:
    """What a damaged catalog still holds of embeddings: (fingerprint, text hash, packed vector). A
    window of rows that can't be read is passed over. Never raises."""
    with (
        suppress(sqlite3.Error, ValueError, TypeError),
        closing(sqlite3.connect(f"{catalog.absolute().as_uri()}?mode=ro", uri=True)) as opened,
    ):
        rows = opened.execute("SELECT id, name, dimensions FROM fingerprint").fetchall()
        models = {number: (str(name), int(width)) for number, name, width in rows}
        last = opened.execute("SELECT max(rowid) FROM embedding").fetchone()[0] or 0
        last = min(last, catalog.stat().st_size)  # damage may have made it any number
        for start in range(0, last + 1, _WINDOW):
            found: list[tuple[int, str, bytes]] = []
            with suppress(sqlite3.Error):
                found = opened.execute(
                    "SELECT fingerprint_id, text_hash, vector FROM embedding"
                    " WHERE rowid > ? AND rowid <= ?",
                    (start, start + _WINDOW),
                ).fetchall()
            for number, text_hash, vector in found:
                name, width = models.get(number, ("", 0))
                is_whole = isinstance(vector, bytes) and len(vector) == 2 * width
                if is_whole and is_unit(vector) and _HASH.fullmatch(str(text_hash)):
                    yield name, text_hash, vector
