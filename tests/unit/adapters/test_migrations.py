"""The catalog's file: made once, brought up to date whole or not at all, refused when foreign."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.adapters.sqlite.history import HISTORY_NAME, SqliteHistory
from ragvault.adapters.sqlite.integrity import problems_of
from ragvault.adapters.sqlite.migrations import MIGRATIONS
from ragvault.adapters.sqlite.schema import APPLICATION_ID, Migration, migrate, schema_version
from ragvault.errors import StoreError
from ragvault.model import Abstention, Filter, HistoryEntry
from ragvault.service.history import result_of

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def test_numbers_go_up_by_one() -> None:
    assert [m.number for m in MIGRATIONS] == list(range(MIGRATIONS[0].number, LATEST + 1))


def test_a_new_file_is_marked_and_in_wal(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path, MIGRATIONS)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert schema_version(connection) == LATEST


def test_migrating_again_changes_nothing(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path, MIGRATIONS)
    before = connection.execute("SELECT sql FROM sqlite_master").fetchall()
    migrate(connection, path, MIGRATIONS)
    assert connection.execute("SELECT sql FROM sqlite_master").fetchall() == before


def _add_table(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE extra (x)")


def _fail_halfway(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE half (x)")
    raise RuntimeError("power cut")


def test_an_upgrade_keeps_what_was_there(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path, MIGRATIONS)
    connection.execute("INSERT INTO vault (name, path, kind) VALUES ('v', '/v', 'folder')")
    migrate(connection, path, (*MIGRATIONS, Migration(LATEST + 1, _add_table)))
    assert schema_version(connection) == LATEST + 1
    assert "extra" in _tables(connection)
    assert connection.execute("SELECT name FROM vault").fetchall() == [("v",)]


def test_a_migration_that_fails_leaves_no_trace(connection: sqlite3.Connection, path: Path) -> None:
    steps = (
        *MIGRATIONS,
        Migration(LATEST + 1, _add_table),
        Migration(LATEST + 2, _fail_halfway),
    )
    with pytest.raises(RuntimeError):
        migrate(connection, path, steps)
    assert schema_version(connection) == LATEST + 1
    assert "extra" in _tables(connection)
    assert "half" not in _tables(connection)


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
    steps = (*MIGRATIONS, Migration(LATEST + 1, meanwhile))
    assert schema_version(second) == LATEST  # it has read the header before …
    migrate(first, path, steps)  # … the other one moves on …
    migrate(second, path, steps)  # … and the step is not taken twice
    assert schema_version(second) == LATEST + 1
    first.close()
    second.close()


# --------------------------------------------------------------------------- released versions


def released(version: str, path: Path) -> None:
    """The catalog that a released version made (its ``.dump``, by Python's iterdump)."""
    dump = Path(__file__).parents[2] / "support" / f"catalog-{version}.sql"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump.read_text())


def test_an_index_of_0_1_0_keeps_its_notes_embeddings_and_answers(path: Path) -> None:
    """An upgrade costs one run without embedding, and no search in between. Also one that was
    killed between the two files: each answer is there once."""
    released("0.1.0", path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO answer SELECT 'x', asked_at + 1, 's', 'And then?', '',"
            " 'no_relevant_context', mode, model, confidence, 1, 2, 3, 4, 5 FROM answer"
        )
        (asked_at,) = connection.execute("SELECT min(asked_at) FROM answer").fetchone()
    with contextlib.closing(SqliteHistory(path.with_name(HISTORY_NAME))) as killed:
        document = {"question": "When does the ferry leave?", "answer": "At nine."}
        killed.add(HistoryEntry(asked_at, {**document, "references": []}))
    assert problems_of(path) == [], "nobody calls it damaged"
    with contextlib.closing(SqliteCatalog(path)) as catalog:
        assert catalog.database.problems() == []
        states = catalog.file_states("notes")
        assert set(states) == {"pump.md", "sea/boats.md"}
        assert {one.fingerprint for one in states.values()} == {""}, "to be written again"
        assert catalog.languages() == {"en": 2}
        assert catalog.notes_with("leaves at nine", ()) == {("notes", "sea/boats.md")}
        (hit,) = catalog.lexical(["ferry"], 5, Filter())
        assert catalog.chunks([hit.chunk_id])[hit.chunk_id].chunk.text.endswith("leaves at nine.")
        (vault,) = catalog.vaults()
        assert vault.embedded == vault.notes == 2, "nothing has to be embedded again"
    with contextlib.closing(SqliteHistory(path.with_name(HISTORY_NAME))) as history:
        second, first = history.entries()
        assert (first.id, second.id, second.session, second.turn) == (1, 2, "s", 1)
        assert second.document["abstained"] and second.document["meta"]["total_ms"] == 3
        assert isinstance(result_of(second).outcome, Abstention)
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name, HISTORY_NAME]


def test_the_schema_is_the_same_after_an_upgrade(path: Path) -> None:
    """Else what is written for a new file fails, one day, on an old one."""
    released("0.1.0", path)
    new = path.with_name("new.sqlite3")

    def columns(file: Path) -> dict[str, set[str]]:
        SqliteCatalog(file).close()
        with contextlib.closing(sqlite3.connect(file)) as connection:
            tables = {name for name in _tables(connection) if not name.startswith(("fts", "voc"))}
            return {
                name: {row[1] for row in connection.execute(f"PRAGMA table_xinfo({name})")}
                | {row[1] for row in connection.execute(f"PRAGMA index_list({name})")}
                for name in tables
            }

    assert columns(path) == columns(new)


@pytest.mark.parametrize("version", [1, 6])
def test_a_file_of_no_release_is_left_alone(path: Path, version: int) -> None:
    released("0.1.0", path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(StoreError, match="never released"):
        SqliteCatalog(path)
    assert not list(path.parent.glob("*.schema-*")), "nor is it copied each time"


def test_a_copy_is_kept_until_every_step_is_done(path: Path) -> None:
    """One that fails in the middle leaves a file that no released version reads."""
    released("0.1.0", path)
    steps = (*MIGRATIONS, Migration(LATEST + 1, _fail_halfway))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(RuntimeError):
            migrate(connection, path, steps)
        (copy,) = path.parent.glob("*.schema-*")
        with contextlib.closing(sqlite3.connect(copy)) as kept:
            assert schema_version(kept) == 2
            assert kept.execute("SELECT count(*) FROM answer").fetchone() == (1,)
        migrate(connection, path, (*MIGRATIONS, Migration(LATEST + 1, _add_table)))
    assert not list(path.parent.glob("*.schema-*"))
