"""The catalog's file: made once, brought up to date whole or not at all, refused when foreign."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.adapters.sqlite.history import HISTORY_NAME, SqliteHistory
from ragvault.adapters.sqlite.migrations import MIGRATIONS
from ragvault.adapters.sqlite.schema import APPLICATION_ID, Migration, migrate, schema_version
from ragvault.adapters.sqlite.text_tables import create_fts
from ragvault.errors import StoreError
from ragvault.model import Filter
from tests.support.samples import note_write, vectors_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ragvault.model import NoteWrite

LATEST = MIGRATIONS[-1].number


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.sqlite3"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(path, isolation_level=None)
    yield made
    made.close()


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}


def test_numbers_go_up_by_one_and_names_are_unique() -> None:
    assert [m.number for m in MIGRATIONS] == list(range(1, LATEST + 1))
    assert len({m.name for m in MIGRATIONS}) == len(MIGRATIONS)


def test_a_new_file_is_marked_recorded_and_in_wal(
    connection: sqlite3.Connection, path: Path
) -> None:
    migrate(connection, path, MIGRATIONS)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert schema_version(connection) == LATEST
    recorded = connection.execute("SELECT number, name FROM schema_migration").fetchall()
    assert recorded == [(m.number, m.name) for m in MIGRATIONS]


def test_migrating_again_changes_nothing(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path, MIGRATIONS)
    before = connection.execute("SELECT sql FROM sqlite_master").fetchall()
    stamp = connection.execute("SELECT * FROM schema_migration").fetchall()
    migrate(connection, path, MIGRATIONS)
    assert connection.execute("SELECT sql FROM sqlite_master").fetchall() == before
    assert connection.execute("SELECT * FROM schema_migration").fetchall() == stamp


def _add_table(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE extra (x)")


def _fail_halfway(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE half (x)")
    raise RuntimeError("power cut")


def test_an_upgrade_keeps_what_was_there(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path, MIGRATIONS)
    connection.execute("INSERT INTO vault (name, path, kind) VALUES ('v', '/v', 'folder')")
    migrate(connection, path, (*MIGRATIONS, Migration(LATEST + 1, "extra", _add_table)))
    assert schema_version(connection) == LATEST + 1
    assert "extra" in _tables(connection)
    assert connection.execute("SELECT name FROM vault").fetchall() == [("v",)]


def test_a_migration_that_fails_leaves_no_trace(connection: sqlite3.Connection, path: Path) -> None:
    steps = (
        *MIGRATIONS,
        Migration(LATEST + 1, "extra", _add_table),
        Migration(LATEST + 2, "half", _fail_halfway),
    )
    with pytest.raises(RuntimeError):
        migrate(connection, path, steps)
    assert schema_version(connection) == LATEST + 1
    assert "extra" in _tables(connection)
    assert "half" not in _tables(connection)
    assert connection.execute("SELECT max(number) FROM schema_migration").fetchone() == (
        LATEST + 1,
    )


def test_a_newer_file_is_refused_with_what_to_do(path: Path) -> None:
    """An older ragvault that wrote into it would lose what the newer one keeps there."""
    SqliteCatalog(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {LATEST + 7}")
    connection.close()
    with pytest.raises(StoreError, match="newer ragvault") as caught:
        SqliteCatalog(path)
    assert "Upgrade" in caught.value.hint


def test_another_programs_database_is_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(StoreError, match="another program") as caught:
        SqliteCatalog(path)
    assert "index.path" in caught.value.hint
    assert path.read_bytes() == content


def test_two_connections_may_make_the_file_at_once(path: Path) -> None:
    """Two terminals, first use: the second must find the schema, not make it again."""
    first = sqlite3.connect(path, isolation_level=None)
    second = sqlite3.connect(path, isolation_level=None)

    def meanwhile(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE extra (x)")

    migrate(first, path, MIGRATIONS)
    steps = (*MIGRATIONS, Migration(LATEST + 1, "extra", meanwhile))
    assert schema_version(second) == LATEST  # it has read the header before …
    migrate(first, path, steps)  # … the other one moves on …
    migrate(second, path, steps)  # … and the step is not taken twice
    assert schema_version(second) == LATEST + 1
    first.close()
    second.close()


def test_an_index_from_before_notes_were_indexed_is_searched_and_then_filled(path: Path) -> None:
    """An upgrade costs one run without embedding, and no search in between."""
    write = note_write("notes", "a.md", [((), "apple pie"), ((), "apple tree")])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, path, MIGRATIONS[:1])
        connection.execute("INSERT INTO vault (name, path, kind) VALUES ('notes', '/v', 'folder')")
        create_fts(connection, 1)
        with_rows_of_version_1(connection, write)
    catalog = SqliteCatalog(path)
    ids = [chunk.id for chunk in write.chunks]
    assert {hit.chunk_id for hit in catalog.lexical(["apple"], 5, Filter())} == set(ids)
    assert catalog.languages() == {"": 1}
    assert catalog.notes_with("apple pie", ()) == {("notes", "a.md")}
    assert catalog.database.problems() == []
    (state,) = catalog.file_states("notes").values()
    assert state.fingerprint == "", "the next run would leave the note as it is"
    catalog.store_vectors("m", vectors_of([write]))
    catalog.commit("notes", [write], [])
    catalog.finish_vault("notes", fingerprint="m", indexed_at=1.0)
    assert {h.chunk_id for h in catalog.lexical(["apple"], 5, Filter())} == set(ids)
    assert catalog.database.problems() == []
    catalog.close()


def with_rows_of_version_1(connection: sqlite3.Connection, write: NoteWrite) -> None:
    connection.execute("INSERT INTO folder (id, vault_id, path) VALUES (1, 1, '')")
    connection.execute(
        "INSERT INTO note VALUES (1, 1, 1, ?, 100, 5, 6, 'hash', 'index-1', 'a', '[]', '[]', '[]',"
        " 7.0, ?)",
        (write.file.rel_path, len(write.chunks)),
    )
    for chunk in write.chunks:
        rowid = connection.execute(
            "INSERT INTO chunk (id, note_id, heading_path, ordinal, chunk_index, start_line,"
            " end_line, text_hash, text) VALUES (?, 1, '[]', ?, ?, ?, ?, ?, ?)",
            (
                chunk.id, chunk.ordinal, chunk.chunk_index, chunk.start_line, chunk.end_line,
                chunk.text_hash, chunk.text,
            ),
        ).lastrowid  # fmt: skip
        connection.execute(
            "INSERT INTO fts_1 (rowid, title, heading, body) VALUES (?, 'a', '', ?)",
            (rowid, chunk.text),
        )


# --------------------------------------------------------------------------- released versions


def released(version: str, path: Path) -> None:
    """The catalog that a released version made (its ``.dump``, by Python's iterdump)."""
    dump = Path(__file__).parents[2] / "support" / f"catalog-{version}.sql"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump.read_text())


def test_an_index_of_0_1_0_keeps_its_notes_embeddings_and_answers(path: Path) -> None:
    released("0.1.0", path)
    with contextlib.closing(SqliteCatalog(path)) as catalog:
        assert catalog.database.problems() == []
        assert set(catalog.file_states("notes")) == {"pump.md", "sea/boats.md"}
        (hit,) = catalog.lexical(["ferry"], 5, Filter())
        assert catalog.chunks([hit.chunk_id])[hit.chunk_id].chunk.text.endswith("leaves at nine.")
        (vault,) = catalog.vaults()
        assert vault.embedded == vault.notes == 2, "nothing has to be embedded again"
    with contextlib.closing(SqliteHistory(path.with_name(HISTORY_NAME))) as history:
        (entry,) = history.entries()
        assert entry.document["question"] == "When does the ferry leave?"
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name, HISTORY_NAME]


def test_a_copy_is_kept_until_every_step_is_done(path: Path) -> None:
    """One that fails in the middle leaves a file that no released version reads."""
    released("0.1.0", path)
    steps = (*MIGRATIONS, Migration(LATEST + 1, "half", _fail_halfway))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(RuntimeError):
            migrate(connection, path, steps)
        (copy,) = path.parent.glob("*.schema-*")
        with contextlib.closing(sqlite3.connect(copy)) as kept:
            assert schema_version(kept) == 2
            assert kept.execute("SELECT count(*) FROM answer").fetchone() == (1,)
        migrate(connection, path, (*MIGRATIONS, Migration(LATEST + 1, "extra", _add_table)))
    assert not list(path.parent.glob("*.schema-*"))
