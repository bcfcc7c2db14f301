"""How a SQLite file of ragvault's comes by its schema: numbered migrations. A change after
a release is a migration of its own; the first may begin at versions before it, which it names.

Each runs in one transaction together with the new ``user_version``: a crash leaves the schema
before it or after it, never between. A file that is newer than this code is refused rather than
guessed at.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ragvault.errors import StoreError

APPLICATION_ID = 0x72676C74  # "rglt", in the file's header: tells it from other SQLite files


@dataclass(frozen=True, slots=True)
class Migration:
    """``apply`` runs inside the migration's transaction and must not commit. ``begins_at``: of the
    first one, the versions before it, beside a new file, that it can bring to where it is."""

    number: int
    apply: Callable[[sqlite3.Connection], None]
    begins_at: tuple[int, ...] = ()


def statements(*sql: str) -> Callable[[sqlite3.Connection], None]:
    """A migration's ``apply`` that runs them."""

    def apply(connection: sqlite3.Connection) -> None:
        for statement in sql:
            connection.execute(statement)

    return apply


def schema_version(connection: sqlite3.Connection) -> int:
    """The number of the last migration that was applied; 0 for a new file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, path: Path, migrations: tuple[Migration, ...]) -> None:
    """Bring the file to the newest schema known; costs a few header reads when it is there. A file
    that isn't new is copied first (``….schema-2-…``), until all is done: an older ragvault reads no
    file that was changed half way. Safe when several processes open a new file at once. Raises
    StoreError for a newer schema, one that no migration begins at, and another program's file."""
    newest = migrations[-1].number
    version = _recognise(connection, path)
    if version == newest:
        return
    if version > newest:
        raise StoreError(
            f"The index {path} was made by a newer ragvault (schema {version}, this one knows"
            f" {newest}).",
            "Upgrade ragvault, or set index.path in the config to another folder and index again.",
        )
    if 0 < version < migrations[0].number and version not in migrations[0].begins_at:
        raise StoreError(
            f"The index is of a ragvault that was never released (schema {version}).",
            "Move its folder away, and index again: `ragvault index PATH`.",
        )
    if version == 0:
        connection.execute("PRAGMA journal_mode = WAL")  # kept in the file from then on
    else:
        with closing(sqlite3.connect(f"{path}.schema-{version}-{os.getpid()}")) as copy:
            connection.backup(copy)
    for migration in migrations:
        _apply(connection, migration)
    for old in path.parent.glob(f"{path.name}.schema-*"):  # also what a kill left
        old.unlink(missing_ok=True)


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if (version := schema_version(connection)) < migration.number:
            if version == 0:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            migration.apply(connection)
            connection.execute(f"PRAGMA user_version = {migration.number}")


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
