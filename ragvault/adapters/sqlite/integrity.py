"""A damaged catalog: how it is told, what can still be had from it, and how it is set aside.

Beside the catalog lies ``vaults.json``, so that its loss isn't that of the folders that were in it.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from ragvault.adapters.files import atomic_write, os_error
from ragvault.adapters.sqlite.text_tables import fts_table, note_fts_table
from ragvault.model import VaultInfo

VAULTS_NAME = "vaults.json"
COMPANIONS = ("", "-wal", "-shm")
# Rows that ragvault never writes, with what is told of them: a flipped byte that SQLite's own check
# doesn't see, as the pages are well-formed.
_NEVER_WRITTEN = (
    (
        "SELECT count(*) FROM chunk WHERE NOT json_valid(heading_path) OR typeof(text) != 'text'"
        " OR typeof(ordinal + chunk_index + start_line + end_line) != 'integer'",
        "passages",
    ),
    (
        "SELECT count(*) FROM note WHERE NOT json_valid(aliases) OR NOT json_valid(tags)"
        " OR typeof(date) NOT IN ('real', 'integer') OR typeof(mtime_ns + size) != 'integer'",
        "notes",
    ),
    (
        "SELECT count(*) FROM embedding e LEFT JOIN fingerprint f ON f.id = e.fingerprint_id"
        " WHERE typeof(e.vector) != 'blob' OR length(e.vector) IS NOT 2 * f.dimensions",
        "embeddings",
    ),
    ("SELECT count(*) != 1 FROM meta WHERE key = 'generation'", "counters"),
)


def problems(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the catalog, as sentences; empty when it is sound. Linear in the file:
    SQLite's full check, and what ragvault knows of its rows. Raises sqlite3.Error."""
    if found := page_problems(connection):
        return found
    if broken := connection.execute("PRAGMA foreign_key_check").fetchall():
        found.append(f"{len(broken)} rows refer to rows that are gone")
    for query, what in _NEVER_WRITTEN:
        count = connection.execute(query).fetchone()[0]
        if count:
            found.append(f"{count} {what} are not as they were written")
    return found + _text_problems(connection)


def page_problems(connection: sqlite3.Connection) -> list[str]:
    """What SQLite's own full check says of any file."""
    rows = connection.execute("PRAGMA integrity_check(5)").fetchall()
    return [str(row[0]) for row in rows if row[0] != "ok"]


def problems_of(
    path: Path, check: Callable[[sqlite3.Connection], list[str]] = problems
) -> list[str]:
    """The same of a file; a file that can't be checked has a problem too."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            return check(connection)
        finally:
            connection.close()
    except (sqlite3.Error, ValueError, TypeError) as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        is_busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        return [] if is_busy else [str(error)]


def _text_problems(connection: sqlite3.Connection) -> list[str]:
    """Where the full text tables and the rows that they should hold differ, as sentences."""
    problems = []
    for number, name in connection.execute("SELECT id, name FROM vault").fetchall():
        chunks, notes = fts_table(number), note_fts_table(number)
        indexed = connection.execute(f"SELECT count(*) FROM {chunks}_docsize").fetchone()[0]
        visible = connection.execute(
            "SELECT count(*) FROM note n JOIN chunk c ON c.note_id = n.id WHERE n.vault_id = ?",
            (number,),
        ).fetchone()[0]
        if indexed != visible:
            problems.append(
                f'The full text index of "{name}" holds {indexed} chunks, not {visible}'
            )
        # Notes written by this schema without a row, and rows without a note.
        ((wrong,),) = connection.execute(
            "SELECT (SELECT count(*) FROM note n WHERE n.vault_id = ? AND n.chunk_count > 0"
            f" AND n.fingerprint != '' AND n.id NOT IN (SELECT id FROM {notes}_docsize))"
            f" + (SELECT count(*) FROM {notes}_docsize WHERE id NOT IN"
            " (SELECT id FROM note WHERE vault_id = ?))",
            (number, number),
        ).fetchall()
        if wrong:
            problems.append(
                f'The full text index of the notes of "{name}" is wrong about {wrong} of them'
            )
    return problems


# --------------------------------------------------------------------------- what survives it


def remember_vaults(catalog: Path, vaults: Sequence[VaultInfo]) -> None:
    """Keep the folders' names beside the catalog. Raises StoreError."""
    file = catalog.with_name(VAULTS_NAME)
    rows = [{"name": v.name, "path": str(v.path), "kind": v.kind} for v in vaults]
    text = json.dumps(rows, indent=1)
    try:
        is_same = file.read_text("ascii") == text
    except (OSError, ValueError):
        is_same = False
    if not is_same:
        atomic_write(file, text)


def has_content(catalog: Path) -> bool:
    """Whether anything is in the file, or in the log that belongs to it."""
    sizes = (Path(f"{catalog}{end}") for end in COMPANIONS[:2])
    return any(file.exists() and file.stat().st_size for file in sizes)


def vaults_of(catalog: Path) -> list[VaultInfo]:
    """The vaults of a catalog that is damaged or gone, as far as anything still names them. Never
    raises: nothing read is an empty list."""
    try:
        rows = json.loads(catalog.with_name(VAULTS_NAME).read_bytes())
        return [VaultInfo(str(r["name"]), Path(str(r["path"])), str(r["kind"])) for r in rows]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return _vaults_in(catalog)


def _vaults_in(catalog: Path) -> list[VaultInfo]:
    try:
        connection = sqlite3.connect(f"{catalog.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error:
        return []
    found: list[VaultInfo] = []
    try:
        for name, path, kind in connection.execute("SELECT name, path, kind FROM vault"):
            if isinstance(name, str) and isinstance(path, str) and isinstance(kind, str):
                found.append(VaultInfo(name, Path(path), kind))  # it may end early
    except sqlite3.Error:
        pass  # what came before the damage counts
    finally:
        connection.close()
    return found


def set_aside(catalog: Path) -> Path | None:
    """Rename the file, with what SQLite keeps beside it, to a name that is free; None when there
    is nothing to rename. Raises StoreError."""
    for number in itertools.count(1):
        target = catalog.with_name(f"{catalog.name}.damaged-{number}")
        if not any(Path(f"{target}{end}").exists() for end in COMPANIONS):
            break
    sources = [Path(f"{catalog}{end}") for end in COMPANIONS]
    there = [source for source in sources if source.exists()]
    try:
        for source in there:
            source.rename(f"{target}{source.name.removeprefix(catalog.name)}")
    except OSError as error:
        raise os_error(error, catalog) from error
    return target if there else None
