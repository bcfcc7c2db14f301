"""What only the SQLite catalog can show: durability, other processes, damage, cost."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragvault.adapters.sqlite import embeddings
from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.adapters.sqlite.connection import Database, translate
from ragvault.errors import (
    DiskFullError,
    IndexBusyError,
    NoIndexError,
    RagvaultError,
    StoreDamagedError,
    StoreError,
)
from ragvault.model import Filter, VaultInfo
from tests.support.samples import DAY, note_write, vectors_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ragvault.model import NoteWrite

FP = "embedder-1"
EVERYTHING = Filter()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index" / "catalog.sqlite3"


@pytest.fixture
def catalog(path: Path) -> Iterator[SqliteCatalog]:
    made = open_catalog(path)
    yield made
    made.close()


def open_catalog(path: Path, **options: object) -> SqliteCatalog:
    made = SqliteCatalog(path, **options)  # type: ignore[arg-type]
    made.add_vault(VaultInfo("notes", Path("/vault"), "folder"))
    return made


def put(catalog: SqliteCatalog, *writes: NoteWrite, removed: Sequence[str] = ()) -> set[str]:
    vault = writes[0].chunks[0].vault if writes and writes[0].chunks else "notes"
    catalog.store_vectors(FP, vectors_of(writes))
    return catalog.commit(vault, writes, removed)


# --------------------------------------------------------------------------- transactions


def test_a_commit_that_fails_leaves_everything_as_it_was(catalog: SqliteCatalog) -> None:
    kept = note_write("notes", "a.md", [((), "kept")])
    put(catalog, kept)
    before = catalog.generation
    good = note_write("notes", "b.md", [((), "new")])
    twin = note_write("notes", "b.md", [((), "twin"), ((), "twin")])
    clash = (twin.chunks[0], twin.chunks[0])  # the same id twice: a bug further up
    broken = type(twin)(twin.file, "x", twin.note, clash, "f", 1)
    with pytest.raises(StoreError):
        put(catalog, good, broken, removed=["a.md"])
    assert catalog.chunk_ids("notes") == {kept.chunks[0].id}
    assert catalog.lexical(["new"], 3, EVERYTHING) == []
    assert catalog.generation == before + 1, "of the vectors that were stored before"


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_a_vector_that_is_no_number_is_refused(catalog: SqliteCatalog, bad: float) -> None:
    """It would rank first, or nowhere, for every question from then on."""
    write = note_write("notes", "a.md", [((), "text")])
    vector = np.ones(8, dtype=np.float32)
    vector[3] = bad
    with pytest.raises(StoreError, match="finite"):
        catalog.store_vectors(FP, {write.chunks[0].text_hash: vector})
    catalog.commit("notes", [write], ())
    assert catalog.vectors(FP, [write.chunks[0].id]) == {}


def test_one_fingerprint_has_one_dimension(catalog: SqliteCatalog) -> None:
    catalog.store_vectors(FP, {"a": np.ones(8, dtype=np.float32)})
    with pytest.raises(StoreError, match="8 dimensions"):
        catalog.store_vectors(FP, {"b": np.ones(9, dtype=np.float32)})
    catalog.store_vectors("other model", {"b": np.ones(9, dtype=np.float32)})


def test_all_is_there_after_reopening(path: Path) -> None:
    write = note_write("notes", "a.md", [((), "still here")])
    first = open_catalog(path)
    put(first, write)
    generation = first.generation
    first.close()
    second = SqliteCatalog(path, create=False)
    assert second.generation == generation
    assert second.lexical(["still"], 3, EVERYTHING)[0].chunk_id == write.chunks[0].id
    second.close()


_READER = """
import sys; from pathlib import Path
from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.model import Filter
catalog = SqliteCatalog(Path(sys.argv[1]), create=False)
print("ready", flush=True)
for line in sys.stdin:
    ids = [hit.chunk_id for hit in catalog.lexical(["common"], 1000, Filter())]
    print(len(ids), len(catalog.chunks(ids)), catalog.generation, flush=True)
"""


def test_another_process_reads_whole_commits_while_one_writes(
    catalog: SqliteCatalog, path: Path
) -> None:
    put(catalog, note_write("notes", "0.md", [((), "common 0"), (("H",), "common")]))
    with subprocess.Popen(
        [sys.executable, "-c", _READER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"

        def ask() -> list[int]:
            assert reader.stdin is not None
            assert reader.stdout is not None
            reader.stdin.write("\n")
            reader.stdin.flush()
            return [int(word) for word in reader.stdout.readline().split()]

        before = catalog.generation
        assert ask() == [2, 2, before]
        with catalog.database.write() as connection:  # a commit that is under way
            connection.execute("DELETE FROM chunk")
            assert ask() == [2, 2, before], "a reader saw half of a commit, or waited for it"
            connection.execute("ROLLBACK")
            connection.execute("BEGIN")
        put(catalog, note_write("notes", "1.md", [((), "common 1"), (("H",), "common")]))
        assert ask() == [4, 4, catalog.generation]
        reader.stdin.close()
        assert reader.wait(timeout=30) == 0


_KILLED = """
import os, signal, sys; from pathlib import Path
from ragvault.adapters.sqlite.catalog import SqliteCatalog
catalog = SqliteCatalog(Path(sys.argv[1]), create=False)
with catalog.database.write() as connection:
    connection.execute("DELETE FROM chunk")
    connection.execute("UPDATE meta SET value = 999")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_writer_that_is_killed_leaves_the_last_commit(catalog: SqliteCatalog, path: Path) -> None:
    write = note_write("notes", "a.md", [((), "survivor")])
    put(catalog, write)
    generation = catalog.generation
    run = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False, timeout=60)
    assert run.returncode == -signal.SIGKILL
    assert catalog.generation == generation
    assert catalog.chunk_ids("notes") == {write.chunks[0].id}
    put(catalog, note_write("notes", "b.md", [((), "goes on")]))
    assert catalog.database.problems() == []


def test_many_threads_share_one_catalog(catalog: SqliteCatalog) -> None:
    """The ask pipeline searches in one thread while another reads chunks."""
    writes = [note_write("notes", f"{i}.md", [((), f"common {i}")]) for i in range(30)]
    put(catalog, *writes[:15])
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(30):
                ids = [hit.chunk_id for hit in catalog.lexical(["common"], 100, EVERYTHING)]
                assert set(catalog.chunks(ids)) == set(ids)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for write in writes[15:]:
        put(catalog, write)
    for thread in threads:
        thread.join()
    assert failures == []


# --------------------------------------------------------------------------- scores


def _corpus() -> list[NoteWrite]:
    rng = random.Random(5)
    words = [f"w{i}" for i in range(40)]
    return [
        note_write(
            "notes",
            f"{i:02}.md",
            [((), " ".join(rng.choices(words, k=rng.randrange(3, 30)))) for _ in range(2)],
            title=f"note {i % 7}",
        )
        for i in range(40)
    ]


def test_scores_do_not_depend_on_how_the_index_came_about(tmp_path: Path) -> None:
    """Edits, deletions and another order of notes must leave no trace in the ranking."""
    straight = open_catalog(tmp_path / "a.sqlite3")
    put(straight, *_corpus())
    winding = open_catalog(tmp_path / "b.sqlite3")
    for write in reversed(_corpus()):
        other = note_write("notes", write.file.rel_path, [((), "w1 w2 something else w3")])
        put(winding, other)
        put(winding, note_write("notes", f"gone-{write.file.rel_path}", [((), "w1 w1 w1")]))
        put(winding, write)
    put(winding, removed=[f"gone-{write.file.rel_path}" for write in _corpus()])
    for terms in (["w1"], ["w2", "w3", "w4"], ["note"]):
        assert straight.lexical(terms, 25, EVERYTHING) == winding.lexical(terms, 25, EVERYTHING)
    straight.close()
    winding.close()


def test_another_vault_does_not_move_the_scores_of_this_one(catalog: SqliteCatalog) -> None:
    """Thresholds would let other answers through after a second vault was indexed."""
    put(catalog, *_corpus())
    where = Filter(vaults=("notes",))
    before = catalog.lexical(["w1", "w2"], 50, where)
    catalog.add_vault(VaultInfo("other", Path("/other"), "folder"))
    put(catalog, *(note_write("other", f"{i}.md", [((), "w1 w1 w2")]) for i in range(50)))
    assert catalog.lexical(["w1", "w2"], 50, where) == before
    both = catalog.lexical(["w1", "w2"], 200, EVERYTHING)
    assert {hit.chunk_id for hit in both} > {hit.chunk_id for hit in before}


def test_a_note_is_found_by_its_file_name(catalog: SqliteCatalog) -> None:
    put(catalog, note_write("notes", "dir/Zettel 4711.md", [((), "body")], title="Other"))
    assert len(catalog.lexical(["4711"], 5, EVERYTHING)) == 1


# --------------------------------------------------------------------------- upkeep


def test_unused_embeddings_are_kept_for_a_grace(path: Path) -> None:
    """Switching a branch back, or renaming a vault, must not run the model again."""
    now = [1000.0]
    catalog = open_catalog(path, clock=lambda: now[0])
    old = note_write("notes", "a.md", [((), "old text")])
    new = note_write("notes", "a.md", [((), "new text")])
    put(catalog, old)
    catalog.finish_vault("notes", fingerprint=FP, indexed_at=1.0)
    put(catalog, new)
    assert catalog.prune_vectors(FP) == 0
    now[0] += embeddings.GRACE_S - DAY
    assert catalog.prune_vectors(FP) == 0
    now[0] += 2 * DAY
    assert catalog.prune_vectors(FP) == 1
    assert set(catalog.vectors(FP, [new.chunks[0].id])) == {new.chunks[0].id}
    catalog.close()


def test_an_embedding_that_is_used_again_starts_a_new_grace(path: Path) -> None:
    now = [1000.0]
    catalog = open_catalog(path, clock=lambda: now[0])
    old = note_write("notes", "a.md", [((), "old text")])
    new = note_write("notes", "a.md", [((), "new text")])
    for write in (old, new, old, new):
        catalog.commit("notes", [write], [])
        catalog.store_vectors(FP, vectors_of([write]))
        assert catalog.prune_vectors(FP) == 0
        now[0] += 0.8 * embeddings.GRACE_S
    catalog.close()


def test_unused_embeddings_are_looked_for_once_a_day_and_when_the_model_changes(path: Path) -> None:
    """It goes through all of them: each edit of a note would pay for the whole vault."""
    now = [1000.0]
    catalog = open_catalog(path, clock=lambda: now[0])
    vector = np.ones(8, dtype=np.float32)

    def add(count: int, start: int) -> None:
        catalog.store_vectors(FP, {f"unused{start + i}": vector for i in range(count)})

    add(embeddings.GRACE_FLOOR + 3, 0)
    assert catalog.prune_vectors(FP) == 3
    add(4, 10_000)
    assert catalog.prune_vectors(FP) == 0
    now[0] += DAY
    assert catalog.prune_vectors(FP) == 4
    add(5, 20_000)
    catalog.use_embedder("another", "")
    catalog.use_embedder(FP, "")
    assert catalog.prune_vectors(FP) == 5
    now[0] -= 5 * DAY  # a clock that was wrong
    add(6, 30_000)
    assert catalog.prune_vectors(FP) == 6
    catalog.close()


def test_spare_embeddings_are_bounded(catalog: SqliteCatalog) -> None:
    """Ten years of edits must not fill the disk with vectors that nothing refers to."""
    vector = np.ones(8, dtype=np.float32)
    unused = range(embeddings.GRACE_FLOOR + 40)
    catalog.store_vectors(FP, {f"unused{i}": vector for i in unused})
    assert catalog.prune_vectors(FP) == 40
    assert catalog.prune_vectors(FP) == 0


def test_embeddings_of_the_model_in_force_stay_while_another_ones_are_made(
    catalog: SqliteCatalog, path: Path
) -> None:
    catalog.add_vault(VaultInfo("other", Path("/other"), "folder"))
    write = note_write("other", "a.md", [((), "text")])
    catalog.commit("other", [write], [])
    catalog.store_vectors("model-2", vectors_of([write]))
    catalog.finish_vault("other", fingerprint="model-2", indexed_at=1.0)
    catalog.prune_vectors(FP)
    with sqlite3.connect(path) as connection:
        marked = connection.execute(
            "SELECT count(*) FROM embedding WHERE unused_since IS NOT NULL"
        ).fetchone()
    assert marked == (0,)


def test_a_vault_whose_notes_an_index_lost_is_damaged_not_empty(
    catalog: SqliteCatalog, path: Path
) -> None:
    """It was said to hold no notes, and `index` to help, which found nothing to do."""
    put(catalog, note_write("notes", "a.md", [((), "one")]))
    catalog.close()
    other = "CREATE INDEX bare ON note (vault_id, language, chunk_count) WHERE id < 0"
    with sqlite3.connect(path) as connection:
        connection.execute(other)
        connection.execute("PRAGMA writable_schema = ON")
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'bare'")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'bare'")
        connection.execute(
            "UPDATE sqlite_master SET rootpage = ? WHERE name = 'note_by_language'", (root,)
        )
    connection.close()
    damaged = SqliteCatalog(path)
    with pytest.raises(StoreDamagedError, match="lost its notes"):
        damaged.vaults()
    damaged.close()


def test_check_finds_an_index_that_lost_rows(catalog: SqliteCatalog) -> None:
    put(catalog, note_write("notes", "a.md", [((), "one"), (("H",), "two")]))
    with catalog.database.write() as connection:
        connection.execute("DELETE FROM fts_1 WHERE rowid = 1")
    (problem,) = catalog.database.problems()
    assert "full text" in problem
    assert "notes" in problem


def test_an_unchanged_run_loads_no_numpy(path: Path) -> None:
    """The refresh of a vault in which nothing changed is to cost little more than its walk."""
    catalog = open_catalog(path)
    put(catalog, note_write("notes", "a.md", [((), "one")]))
    catalog.finish_vault("notes", fingerprint=FP, indexed_at=1.0)
    catalog.close()
    code = (
        "import sys; from pathlib import Path\n"
        "from ragvault.adapters.sqlite.catalog import SqliteCatalog\n"
        "catalog = SqliteCatalog(Path(sys.argv[1]), create=False)\n"
        "assert len(catalog.file_states('notes')) == 1 and catalog.vaults()\n"
        "catalog.vector_watermark('notes'); catalog.touch_files('notes', [])\n"
        "catalog.checked_vault('notes', indexed_at=2.0); catalog.close()\n"
        "heavy = {'numpy', 'chromadb', 'pydantic', 'subprocess'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)


# --------------------------------------------------------------------------- failures


def test_no_index_is_said_so(path: Path) -> None:
    with pytest.raises(NoIndexError) as caught:
        SqliteCatalog(path, create=False)
    assert "ragvault index" in caught.value.hint
    assert not path.exists()


@pytest.mark.parametrize("damage", ["garbage", "zeroed", "truncated"])
def test_a_damaged_file_is_named_so(path: Path, damage: str) -> None:
    catalog = open_catalog(path)
    put(catalog, *_corpus())
    catalog.close()
    content = bytearray(path.read_bytes())
    if damage == "garbage":
        content[:] = b"not a database at all" * 500
    elif damage == "zeroed":
        content[4096 : len(content) - 4096] = bytes(len(content) - 8192)
    else:
        del content[len(content) // 3 :]
    path.write_bytes(content)
    with pytest.raises(StoreDamagedError, match=r"catalog\.sqlite3") as caught:
        broken = SqliteCatalog(path)
        try:
            broken.lexical(["w1"], 5, EVERYTHING)
            broken.chunks(broken.chunk_ids("notes"))
            put(broken, *_corpus())
        finally:
            broken.close()
    assert "ragvault repair" in caught.value.hint


def test_a_full_disk_keeps_what_was_there(catalog: SqliteCatalog) -> None:
    kept = note_write("notes", "a.md", [((), "kept")])
    put(catalog, kept)
    with catalog.database.connection() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(DiskFullError) as caught:
        put(catalog, note_write("notes", "big.md", [((), "x" * 200_000)]))
    assert "space" in caught.value.hint
    assert catalog.chunk_ids("notes") == {kept.chunks[0].id}
    with catalog.database.connection() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    put(catalog, note_write("notes", "b.md", [((), "goes on")]))
    assert catalog.database.problems() == []


def test_what_is_read_in_one_transaction_is_of_one_file(path: Path, tmp_path: Path) -> None:
    """Also where another catalog is put in its place meanwhile, as by `restore`."""
    catalog = open_catalog(path)
    SqliteCatalog(tmp_path / "other" / path.name).close()
    with catalog.database.read():
        path.parent.rename(tmp_path / "aside")
        (tmp_path / "other").rename(path.parent)
        assert [vault.name for vault in catalog.vaults()] == ["notes"]
    assert catalog.vaults() == []
    catalog.close()


def test_a_write_within_a_write_is_undone_with_it(catalog: SqliteCatalog) -> None:
    def half() -> None:
        with catalog.database.write():
            catalog.remove_vault("notes")
            raise KeyError

    with pytest.raises(KeyError):
        half()
    assert [vault.name for vault in catalog.vaults()] == ["notes"]


def test_a_second_writer_is_told_that_the_index_is_busy(path: Path) -> None:
    first = open_catalog(path)
    second = SqliteCatalog(path, busy_timeout_s=0.0)
    with first.database.write():
        assert second.vaults()[0].name == "notes"
        with pytest.raises(IndexBusyError):
            second.checked_vault("notes", indexed_at=1.0)
    second.checked_vault("notes", indexed_at=1.0)
    first.close()
    second.close()


def test_a_read_only_file_is_an_error_with_a_hint(path: Path) -> None:
    open_catalog(path).close()
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError) as raised:
        connection.execute("UPDATE meta SET value = 0")
    connection.close()
    made = translate(raised.value, Database(path))
    assert type(made) is StoreError
    assert "permissions" in made.hint


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file")
    with pytest.raises(StoreError) as caught:
        SqliteCatalog(tmp_path / "index" / "catalog.sqlite3")
    assert "index.path" in caught.value.hint


def test_a_folder_in_the_place_of_the_file(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreDamagedError, match="is damaged"):
        SqliteCatalog(path)


def test_a_closed_catalog_raises_no_foreign_exception(catalog: SqliteCatalog) -> None:
    catalog.close()
    with pytest.raises(RagvaultError):
        catalog.vaults()


def test_nothing_is_left_open_when_opening_fails(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"garbage" * 1000)
    with pytest.raises(StoreDamagedError):
        SqliteCatalog(path)
    path.unlink()
    Database(path).close()
