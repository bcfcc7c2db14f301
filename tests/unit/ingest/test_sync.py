"""A run over a vault: the right notes in both stores, whatever happens in between."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.config.settings import ChunkingSettings, IndexSettings, Settings
from ragvault.errors import (
    DiskFullError,
    EmbedderUnavailableError,
    Interrupted,
    VaultPathError,
)
from ragvault.ingest.read import ReadNote, ReadOutcome, Unreadable, read_note
from ragvault.ingest.sync import Sync
from ragvault.model import Filter, IndexReport, Matrix, NoteFile, collection_of
from tests.support.chunking import WordCounter
from tests.support.fakes import FakeEmbedder, FakeVectorIndex, vault_info

OLD = 1_600_000_000_000_000_000


class World:
    """A vault on disk with fakes behind the ports."""

    def __init__(self, root: Path) -> None:
        self.root = root / "vault"
        self.root.mkdir()
        self.catalog = SqliteCatalog(root / "catalog.sqlite3")
        self.index = FakeVectorIndex()
        self.embedder = FakeEmbedder()
        self.settings = Settings()
        self.has_store = True
        self.opened = 0
        self.read_note: ReadNote = read_note
        self.batch_chunks = 512

    def run_over(self, name: str, root: Path, **options: Any) -> Sync:
        def vectors() -> FakeVectorIndex:
            self.opened += 1
            return self.index

        return Sync(
            vault=vault_info(name, root),
            settings=self.settings,
            catalog=self.catalog,
            counter=WordCounter(),
            embedder=lambda: self.embedder,
            embedder_settings=self.embedder.name,
            vectors=vectors,
            stored=lambda: self.index.identity if self.has_store else None,
            now=lambda: 1000.0,
            read_note=self.read_note,
            batch_chunks=self.batch_chunks,
            **options,
        )

    def sync(self, *, dry_run: bool = False, **options: Any) -> IndexReport:
        return self.run_over("v", self.root, **options).run(dry_run=dry_run)

    def put(self, path: str, text: str, *, at: int = OLD) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        os.utime(file, ns=(at, at))
        return file

    def texts(self) -> dict[str, str]:
        ids = self.catalog.chunk_ids("v")
        return {i: s.chunk.text for i, s in self.catalog.chunks(ids).items()}

    @property
    def collection(self) -> dict[str, Any]:
        return self.index.place.get(collection_of("v", self.embedder.fingerprint), {})

    def vectors(self) -> dict[str, bytes]:
        return {i: vector.tobytes() for i, vector in self.collection.items()}

    def agrees_with_clean(self, tmp: Path) -> None:
        """The two stores hold exactly what a first run over this vault gives."""
        clean = World.__new__(World)
        clean.root = self.root
        clean.catalog = SqliteCatalog(Path(mkdtemp(dir=tmp)) / "catalog.sqlite3")
        clean.index = FakeVectorIndex()
        clean.embedder = FakeEmbedder(self.embedder.fingerprint, self.embedder.dimensions)
        clean.settings, clean.has_store, clean.opened = self.settings, True, 0
        clean.read_note, clean.batch_chunks = read_note, 512
        if any(self.root.rglob("*.md")):
            clean.sync()
            in_force = self.catalog.embedder_in_force()
            assert in_force == clean.catalog.embedder_in_force()
            assert set(self.index.place) <= {collection_of("v", in_force[0]), "o|fake-1"}
        assert self.texts() == clean.texts()
        assert self.vectors() == clean.vectors()


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.put("a.md", "# Alpha\n\nThe first note about apples.\n")
    world.put("work/b.md", "# Beta\n\nThe second note about boats.\n\n## More\n\nAnd harbours.\n")
    return world


def test_a_first_run_fills_both_stores(world: World, tmp_path: Path) -> None:
    report = world.sync()
    assert report.added == ["a.md", "work/b.md"]
    assert report.chunks == len(world.texts()) == len(world.vectors()) == 3
    assert report.embedded == 3
    world.agrees_with_clean(tmp_path)


def test_text_files_are_notes_where_the_settings_say_so(world: World) -> None:
    world.put("minutes.txt", "# no heading\n\nWe met at ten.\n")
    assert "minutes.txt" not in world.sync().added
    world.settings = Settings(index=IndexSettings(extensions=(".md", ".txt")))
    assert world.sync().added == ["minutes.txt"]
    (chunk,) = world.catalog.note_chunks("v", "minutes.txt")
    assert chunk.chunk.heading_path == ()
    assert chunk.chunk.text == "# no heading\n\nWe met at ten."


def test_nothing_changed_loads_neither_model_nor_vector_store(world: World) -> None:
    """A refresh that finds nothing must be as fast as looking."""
    world.sync()
    generation, opened = world.catalog.generation, world.opened
    world.embedder.embedded.clear()
    report = world.sync()
    assert report.unchanged == 2 and not (report.added or report.changed or report.removed)
    assert world.opened == opened
    assert world.embedder.embedded == []
    assert world.catalog.generation == generation  # readers needn't reopen anything
    assert report.chunks == 3


def test_an_edit_embeds_only_the_section_that_changed(world: World, tmp_path: Path) -> None:
    world.sync()
    world.embedder.embedded.clear()
    world.index.upserted.clear()
    world.put("work/b.md", "# Beta\n\nThe second note about boats.\n\n## More\n\nAnd piers.\n")
    os.utime(world.root / "work/b.md", ns=(OLD + 5, OLD + 5))
    report = world.sync()
    assert report.changed == ["work/b.md"]
    assert report.embedded == len(world.embedder.embedded) == 1
    assert "piers" in world.embedder.embedded[0]
    world.agrees_with_clean(tmp_path)


def test_an_edit_of_a_dated_note_moves_one_vector(world: World) -> None:
    body = "---\ndate: 2024-01-01\n---\n\n# One\n\n" + "one " * 40 + "\n\n# Two\n\n" + "two " * 40
    world.put("long.md", body + "\n\n# Three\n\n" + "three " * 40)
    world.sync()
    world.index.upserted.clear()
    world.put("long.md", body + "\n\n# Three\n\n" + "four " * 41, at=OLD + 7)
    world.sync()
    assert len(world.index.upserted) == 1


def test_delete_rename_and_move(world: World, tmp_path: Path) -> None:
    world.put("c.md", "# Gamma\n\nTo be deleted.\n")
    world.sync()
    world.embedder.embedded.clear()
    (world.root / "c.md").unlink()
    (world.root / "new").mkdir()
    (world.root / "a.md").rename(world.root / "new/a.md")
    report = world.sync()
    assert report.removed == ["c.md"]
    assert report.renamed == [("a.md", "new/a.md")]
    assert report.added == [] and report.changed == []
    assert world.embedder.embedded == []  # a moved note embeds nothing again
    world.agrees_with_clean(tmp_path)


def test_the_time_of_a_copy_dates_no_note(world: World, tmp_path: Path) -> None:
    for n in range(30):
        world.put(f"copied {n}.md", f"# Note {n}\n\nText.\n")
    world.put("dated.md", "---\ndate: 2024-01-01\n---\n\nText.\n")
    for note in world.root.iterdir():
        os.utime(note, ns=(OLD, OLD))
    os.utime(world.root / "copied 3.md", ns=(OLD, OLD + 10**14))
    report = world.sync()
    assert "31 notes have no date" in "".join(report.notices)
    found = {
        hit.note.rel_path: hit.note.day
        for hit in world.catalog.chunks(world.catalog.chunk_ids("v", [*report.added])).values()
    }
    assert found["copied 1.md"] is None
    assert found["dated.md"] and found["copied 3.md"]
    assert not world.sync().notices  # said once
    for note in world.root.iterdir():  # another copy of it
        os.utime(note, ns=(OLD, OLD + 2 * 10**14))
    world.sync()
    world.agrees_with_clean(tmp_path)


def test_a_touched_note_is_no_news_but_its_date_moves(world: World, tmp_path: Path) -> None:
    """`git checkout` sets every mtime; nothing may be embedded, but recency must follow."""
    world.put("dated.md", "---\ndate: 2024-01-01\n---\n\nText.\n")
    world.sync()
    world.embedder.embedded.clear()
    for path in ("a.md", "dated.md"):
        os.utime(world.root / path, ns=(OLD + 10**9, OLD + 10**9))
    report = world.sync()
    assert report.unchanged == 3 and report.changed == []
    assert world.embedder.embedded == []
    world.agrees_with_clean(tmp_path)
    assert world.catalog.file_states("v")["dated.md"].mtime_ns == OLD + 10**9


def test_two_saves_in_one_tick_are_both_seen(world: World, tmp_path: Path) -> None:
    """Same size, same mtime: only the content tells, and the first version must not stay."""
    import time

    now = time.time_ns()
    world.put("racy.md", "Number 1\n", at=now)
    world.sync()
    world.put("racy.md", "Number 2\n", at=now)
    assert world.sync().changed == ["racy.md"]
    world.agrees_with_clean(tmp_path)


def test_a_dry_run_writes_nothing_and_remembers_no_vault(world: World) -> None:
    report = world.sync(dry_run=True)
    assert report.dry_run and report.added == ["a.md", "work/b.md"]
    assert world.catalog.vaults() == [] and world.opened == 0 and world.embedder.embedded == []
    world.sync()
    (world.root / "a.md").unlink()
    assert world.sync(dry_run=True).removed == ["a.md"]
    assert "a.md" in world.catalog.file_states("v")


def test_equal_texts_are_embedded_once(world: World) -> None:
    for i in range(5):
        world.put(f"copies/{i}/same.md", "# Same\n\nAlways the same words.\n")
    report = world.sync()
    assert report.embedded == 4 and report.chunks == 8


def test_batches_are_bounded_and_give_the_same(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory must not grow with the vault."""
    sizes: list[int] = []
    commit = world.catalog.commit

    def counting(vault: str, writes: Sequence[Any], *rest: Any, **more: Any) -> set[str]:
        sizes.append(sum(len(w.chunks) for w in writes))
        return commit(vault, writes, *rest, **more)

    world.batch_chunks = 4
    monkeypatch.setattr(world.catalog, "commit", counting)
    for i in range(20):
        world.put(f"{i}.md", f"# Note {i}\n\nText {i}.\n")
    world.sync()
    assert max(sizes) < 8 and len(sizes) > 4
    monkeypatch.undo()
    world.agrees_with_clean(tmp_path)


# ---------------------------------------------------------------- what can't be read


def test_a_binary_note_is_skipped_and_leaves_the_index(world: World) -> None:
    world.sync()
    (world.root / "a.md").write_bytes(b"\x00\x01\x02" * 50)
    (world.root / "new.md").write_bytes(b"\x00\x01\x02" * 50)
    report = world.sync()
    assert report.removed == ["a.md"]
    assert {s.path for s in report.skipped} == {"a.md", "new.md"}
    assert {
        s.chunk.rel_path for s in world.catalog.chunks(world.catalog.chunk_ids("v")).values()
    } == {"work/b.md"}
    again = world.sync()  # and it is named on every run, without work for the stores
    assert {s.path for s in again.skipped} == {"a.md", "new.md"} and again.removed == []


def unreadable(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    import errno

    real = os.open

    def refusing(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if Path(path).name in names:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refusing)


def test_a_note_without_permission_is_reported_and_the_known_text_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sync()
    world.put("a.md", "# Alpha\n\nEdited, but now locked away.\n", at=OLD + 1)
    world.put("new.md", "New and locked away.\n")
    unreadable(monkeypatch, "a.md", "new.md")
    report = world.sync()
    assert {s.path: s.reason for s in report.skipped} == {
        "a.md": "can't be read: Permission denied",
        "new.md": "can't be read: Permission denied",
    }
    assert report.removed == [] and any("apples" in t for t in world.texts().values())
    monkeypatch.undo()
    report = world.sync()
    assert report.changed == ["a.md"] and report.added == ["new.md"]


def test_a_note_that_vanishes_while_the_run_goes_is_removed(world: World, tmp_path: Path) -> None:
    world.sync()
    file = world.put("a.md", "# Alpha\n\nLonger than before, so it is read.\n", at=OLD + 1)
    new = world.put("fleeting.md", "Here and gone.\n")

    def vanishing(note: NoteFile, max_bytes: int) -> ReadOutcome:
        file.unlink(missing_ok=True)
        new.unlink(missing_ok=True)
        return read_note(note, max_bytes)

    world.read_note = vanishing
    report = world.sync()
    assert report.removed == ["a.md"] and report.added == [] and report.skipped == []
    world.agrees_with_clean(tmp_path)


def test_an_unmounted_drive_deletes_nothing(world: World, tmp_path: Path) -> None:
    world.sync()
    before = world.texts()
    shutil.move(world.root, tmp_path / "elsewhere")
    with pytest.raises(VaultPathError, match="not there"):
        world.sync()
    world.root.mkdir()  # the mount point is there, and empty
    with pytest.raises(VaultPathError, match="empty") as caught:
        world.sync()
    assert "vault remove v" in caught.value.hint
    assert world.texts() == before


def test_half_a_vault_that_is_gone_at_once_is_kept_until_one_insists(world: World) -> None:
    """A share in the vault that isn't mounted now must not cost its notes."""
    for number in range(12):
        world.put(f"share/{number}.md", f"# Note {number}\n\nText {number}.\n")
    world.sync()
    before = world.texts()
    shutil.rmtree(world.root / "share")
    new = "# New\n\nAs usual.\n"
    world.put("new.md", new)
    report = world.sync()
    assert (len(report.spared), report.removed, report.added) == (12, [], ["new.md"])
    assert any(
        "12 notes, more than half" in notice and "--full" in notice for notice in report.notices
    )
    assert world.texts().items() >= before.items()
    assert len(world.sync(full=True).removed) == 12
    assert set(world.catalog.file_states("v")) == {"a.md", "work/b.md", "new.md"}


def test_notes_that_are_ignored_from_now_on_are_not_gone(world: World) -> None:
    for number in range(12):
        world.put(f"share/{number}.md", f"# Note {number}\n\nText {number}.\n")
    world.sync()
    world.put(".gitignore", "share/\n")
    assert len(world.sync().removed) == 12


@pytest.mark.parametrize(("leaves_its_folder", "said"), [(True, "is empty"), (False, "not there")])
def test_a_drive_that_goes_while_it_is_read_deletes_nothing(
    world: World, leaves_its_folder: bool, said: str
) -> None:
    world.sync()
    before = world.texts()
    for path in ("a.md", "work/b.md"):
        world.put(path, "# Longer than before\n\nSo that all of it has to be read again.\n")

    def unmounted(note: NoteFile, max_bytes: int) -> ReadOutcome:
        if world.root.is_dir() and any(world.root.iterdir()):
            shutil.rmtree(world.root)
            if leaves_its_folder:
                world.root.mkdir()
        return read_note(note, max_bytes)

    world.read_note = unmounted
    with pytest.raises(VaultPathError, match=said):
        world.sync()
    assert world.texts() == before


def test_the_last_note_may_be_deleted(world: World) -> None:
    world.put(".obsidian/app.json", "{}")
    world.sync()
    shutil.rmtree(world.root / "work")
    (world.root / "a.md").unlink()
    report = world.sync()
    assert report.removed == ["a.md", "work/b.md"]
    assert world.texts() == {} and world.vectors() == {}


def test_a_folder_without_notes_is_an_error_and_no_vault(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.put("readme.txt", "no note")
    with pytest.raises(VaultPathError, match=r"no notes \(\.md, \.markdown\)"):
        world.sync()
    assert world.catalog.vaults() == []


# ---------------------------------------------------------------- models and stores that change


def test_another_model_replaces_every_vector(world: World, tmp_path: Path) -> None:
    """Vectors of two models must never stand side by side."""
    world.sync()
    world.embedder = FakeEmbedder("fake-2", dimensions=48)
    report = world.sync()
    assert report.embedded == 3
    assert {len(vector) for vector in world.collection.values()} == {48}
    assert report.changed == [], "the notes are what they were"
    world.agrees_with_clean(tmp_path)


def test_back_to_the_first_model_embeds_nothing_that_is_cached(
    world: World, tmp_path: Path
) -> None:
    world.sync()
    first = world.embedder
    world.embedder = FakeEmbedder("fake-2", dimensions=48)
    world.sync()
    world.embedder = first
    assert world.sync().embedded == 0
    world.agrees_with_clean(tmp_path)


def test_other_chunk_sizes_index_again(world: World, tmp_path: Path) -> None:
    world.put("long.md", "# Long\n\n" + "\n\n".join(f"Paragraph {i} " * 8 for i in range(6)))
    world.sync()
    world.settings = Settings(chunking=ChunkingSettings(max_tokens=24))
    report = world.sync()
    assert "long.md" in report.changed and report.notices
    world.agrees_with_clean(tmp_path)
    assert world.sync().changed == []


def test_a_lost_vector_store_is_rebuilt_without_the_model(world: World, tmp_path: Path) -> None:
    world.sync()
    world.index.reset()
    world.embedder.embedded.clear()
    report = world.sync()
    assert report.unchanged == 2 and report.embedded == 0 and world.embedder.embedded == []
    assert any("3 vectors were restored" in n for n in report.notices)
    world.agrees_with_clean(tmp_path)
    opened = world.opened
    world.sync()
    assert world.opened == opened


def test_a_store_that_isnt_there_yet_is_made_again(world: World, tmp_path: Path) -> None:
    world.sync()
    world.index.place.clear()
    world.has_store = False
    world.index.epoch += 1
    world.sync()
    world.agrees_with_clean(tmp_path)


def test_a_damaged_vector_store_is_reset_and_rebuilt(world: World, tmp_path: Path) -> None:
    world.sync()
    world.index.damaged = True
    world.put("c.md", "# New\n\nNote.\n")
    report = world.sync()
    assert report.added == ["c.md"] and any("damaged" in n for n in report.notices)
    world.agrees_with_clean(tmp_path)


def test_full_rebuilds_what_is_wrong_in_the_vector_store(world: World, tmp_path: Path) -> None:
    world.sync()
    held = world.collection
    chunk_id, vector = next(iter(held.items()))
    held[chunk_id] = -vector
    held["stray"] = vector
    report = world.sync(full=True)
    assert report.changed == ["a.md", "work/b.md"]
    world.agrees_with_clean(tmp_path)


def test_an_embedding_that_the_cache_lost_is_made_again(world: World, tmp_path: Path) -> None:
    world.sync()
    with world.catalog.database.write() as connection:
        connection.execute("DELETE FROM embedding")
    world.index.reset()
    report = world.sync()
    assert report.embedded == 3 and report.changed == [] and report.unchanged == 2
    world.agrees_with_clean(tmp_path)


# ---------------------------------------------------------------- cut off


class Fuse:
    """Raises after a number of store calls: a crash at each point of a run."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.left = 10**9
        self.calls = 0

    def wrap(self, target: Any, name: str) -> None:
        real = getattr(target, name)

        def guarded(*args: Any, **more: Any) -> Any:
            self.calls += 1
            if self.left == 0:
                raise self.error
            self.left -= 1
            return real(*args, **more)

        setattr(target, name, guarded)


STORE_CALLS = ("set_vector_watermark", "store_vectors", "commit", "finish_vault", "prune_vectors",
               "touch_files", "add_vault", "vectors", "use_embedder")  # fmt: skip


def fused(world: World, error: BaseException) -> Fuse:
    fuse = Fuse(error)
    for name in STORE_CALLS:
        fuse.wrap(world.catalog, name)
    for name in ("upsert", "delete", "drop", "retain"):
        fuse.wrap(world.index, name)
    return fuse


def edit(world: World) -> None:
    """One of each: added, changed, renamed, removed, touched, and another model."""
    world.put("a.md", "# Alpha\n\nThe first note, about pears now.\n", at=OLD + 1)
    (world.root / "work/b.md").rename(world.root / "moved.md")
    world.put("fresh.md", "# Fresh\n\nA new note.\n")
    (world.root / "gone.md").unlink()
    os.utime(world.root / "touched.md", ns=(OLD + 99, OLD + 99))
    world.embedder = FakeEmbedder("fake-2", dimensions=24)


def prepared(tmp_path: Path, number: int) -> World:
    place = tmp_path / str(number)
    place.mkdir()
    world = World(place)
    world.batch_chunks = 1
    world.put("a.md", "# Alpha\n\nThe first note about apples.\n")
    world.put("work/b.md", "# Beta\n\nThe second note about boats.\n")
    world.put("gone.md", "# Gone\n\nSoon deleted.\n")
    world.put("touched.md", "# Touched\n\nOnly looked at.\n")
    world.sync()
    return world


@pytest.mark.slow
@pytest.mark.parametrize("error", [RuntimeError("power cut"), KeyboardInterrupt()])
def test_a_run_cut_off_at_any_call_is_completed_by_the_next(
    tmp_path: Path, error: BaseException
) -> None:
    """kill -9 at any moment, then `index`: exactly a clean run's stores."""
    probe = prepared(tmp_path, 0)
    edit(probe)
    fuse = fused(probe, error)
    probe.sync()
    assert fuse.calls > 12
    for number in range(fuse.calls):
        world = prepared(tmp_path, number + 1)
        edit(world)
        cut = fused(world, error)
        cut.left = number
        with pytest.raises(Interrupted if isinstance(error, KeyboardInterrupt) else type(error)):
            world.sync()
        cut.left = 10**9
        world.sync()
        world.agrees_with_clean(tmp_path)
        opened = world.opened
        world.sync()
        assert world.opened == opened, "a completed run leaves nothing to compare"


def drops_of(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The collections that are dropped from now on."""
    dropped: list[str] = []
    drop = world.index.drop
    monkeypatch.setattr(world.index, "drop", lambda vault: (dropped.append(vault), drop(vault)))
    return dropped


def test_after_a_cut_the_vectors_are_filled_afresh_and_nothing_is_embedded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph that is mended has chunks that no query reaches (chroma-core/chroma#7758)."""
    world = prepared(tmp_path, 0)
    world.put("a.md", "# Alpha\n\nThe first note, about pears now.\n", at=OLD + 1)
    fuse = fused(world, RuntimeError("power cut"))
    fuse.left = 6
    with pytest.raises(RuntimeError):
        world.sync()
    fuse.left = 10**9
    world.embedder.embedded.clear()
    dropped = drops_of(world, monkeypatch)
    report = world.sync()
    assert dropped == ["v|fake-1"]
    assert any("restored from the catalog" in notice for notice in report.notices)
    assert all("pears" in text for text in world.embedder.embedded)
    world.agrees_with_clean(tmp_path)


def test_a_run_that_deletes_many_vectors_makes_the_graph_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the same reason; a small edit in a large vault costs no such thing."""
    world = World(tmp_path)
    for number in range(20):
        world.put(f"{number}.md", f"# Note {number}\n\nText {number}.\n")
    world.sync()
    dropped = drops_of(world, monkeypatch)
    world.put("0.md", "# Note 0\n\nAnother text.\n", at=OLD + 1)
    world.sync()
    assert dropped == []
    for number in range(8):
        (world.root / f"{number}.md").unlink()
    report = world.sync()
    assert dropped == ["v|fake-1"] and report.embedded == 0
    world.agrees_with_clean(tmp_path)


def test_going_back_to_the_old_model_after_a_cut_mixes_nothing(tmp_path: Path) -> None:
    world = prepared(tmp_path, 0)
    old = world.embedder
    world.embedder = FakeEmbedder("fake-2")
    fuse = fused(world, RuntimeError("power cut"))
    probe_calls = 8
    fuse.left = probe_calls
    with pytest.raises(RuntimeError):
        world.sync()
    fuse.left = 10**9
    world.embedder = old
    world.sync()
    world.agrees_with_clean(tmp_path)


def test_ctrl_c_says_how_far_it_came_and_keeps_it(world: World) -> None:
    world.batch_chunks = 1
    fuse = Fuse(KeyboardInterrupt())
    fuse.wrap(world.catalog, "commit")
    fuse.left = 1
    with pytest.raises(Interrupted, match="1 of 2 notes"):
        world.sync()
    assert set(world.catalog.file_states("v")) == {"a.md"}


class Reader:
    """Reads notes; what happens at the fourth (the second note, for its vectors) is given."""

    def __init__(self, fourth: Callable[[], object]) -> None:
        self.fourth, self.calls = fourth, 0

    def __call__(self, file: NoteFile, limit: int) -> ReadOutcome:
        self.calls += 1
        if self.calls == 4:
            self.fourth()
        return read_note(file, limit)


def test_the_next_note_is_read_while_the_model_works(world: World, tmp_path: Path) -> None:
    """Else all cores but one are idle meanwhile."""
    was_read = threading.Event()

    class Waiting(FakeEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Matrix:
            assert was_read.wait(20)
            return super().embed_documents(texts)

    world.batch_chunks, world.embedder = 1, Waiting()
    world.read_note = Reader(was_read.set)
    assert world.sync().embedded == 3
    world.agrees_with_clean(tmp_path)


def test_what_fails_while_it_is_read_ahead_ends_the_run(world: World, tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("power cut")

    world.batch_chunks, world.read_note = 1, Reader(fail)
    with pytest.raises(RuntimeError, match="power cut"):
        world.sync()
    world.read_note = read_note
    assert world.sync().embedded == 2, "the first note's vector was kept"
    world.agrees_with_clean(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a thread")
def test_ctrl_c_does_not_wait_for_a_drive_that_hangs(world: World, tmp_path: Path) -> None:
    released, ended = threading.Event(), threading.Event()

    def hang() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        released.wait(20)
        ended.set()

    world.batch_chunks, world.read_note = 1, Reader(hang)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(Interrupted, match="that were embedded are kept"):
            world.sync()
        assert not ended.is_set()
    finally:
        signal.signal(signal.SIGINT, before)
        released.set()
    world.read_note = read_note
    world.sync()
    world.agrees_with_clean(tmp_path)


def test_a_full_disk_keeps_what_was_committed(world: World, tmp_path: Path) -> None:
    world.batch_chunks = 1
    fuse = Fuse(DiskFullError("There is no space left."))
    fuse.wrap(world.catalog, "commit")
    fuse.left = 1
    with pytest.raises(DiskFullError):
        world.sync()
    assert set(world.catalog.file_states("v")) == {"a.md"}
    fuse.left = 10**9
    assert world.sync().added == ["work/b.md"]
    world.agrees_with_clean(tmp_path)


# ---------------------------------------------------------------- words first


class NoModel(FakeEmbedder):
    """Found, and fails when it is used; or not found at all."""

    def __init__(self, *, is_found: bool) -> None:
        super().__init__()
        self.is_found = is_found

    @property
    def fingerprint(self) -> str:
        if not self.is_found:
            raise EmbedderUnavailableError("The embedding model is nowhere.")
        return super().fingerprint

    def embed_documents(self, texts: Sequence[str]) -> Any:
        raise EmbedderUnavailableError("The embedding model can't be loaded.")


@pytest.mark.parametrize("is_found", [True, False])
def test_notes_are_found_by_their_words_before_a_model_is_loaded(
    world: World, tmp_path: Path, is_found: bool
) -> None:
    world.embedder = NoModel(is_found=is_found)
    with pytest.raises(EmbedderUnavailableError):
        world.sync()
    (hit,) = world.catalog.lexical(["boats"], 5, Filter())
    assert world.catalog.chunks([hit.chunk_id])[hit.chunk_id].note.rel_path == "work/b.md"
    (vault,) = world.catalog.vaults()
    assert (vault.notes, vault.embedded) == (2, 0)
    world.embedder = FakeEmbedder()
    assert world.sync().embedded == 3
    world.agrees_with_clean(tmp_path)


def test_the_newest_notes_are_embedded_first_and_a_large_one_last(world: World) -> None:
    world.put("large.md", "# Large\n\n" + "word " * 220_000, at=OLD + 10**13)
    world.put("new.md", "# New\n\nOf today.\n", at=OLD + 10**12)
    world.sync()
    first, last = world.embedder.embedded[0], world.embedder.embedded[-1]
    assert "Of today" in first and last.startswith("Large")


def test_a_note_that_is_edited_while_it_is_embedded_is_searched_as_it_is(
    world: World, tmp_path: Path
) -> None:
    reads: list[str] = []

    def editing(note: NoteFile, max_bytes: int) -> ReadOutcome:
        reads.append(note.rel_path)
        if reads.count("a.md") == 2:
            world.put("a.md", "# Alpha\n\nQuinces instead.\n", at=OLD + 77)
        return read_note(note, max_bytes)

    world.read_note = editing
    world.sync()
    assert any("Quinces" in text for text in world.texts().values())
    world.agrees_with_clean(tmp_path)


def test_a_note_that_could_not_be_read_for_its_vectors_gets_them_later(
    world: World, tmp_path: Path
) -> None:
    """In a vault that is in step only what a run has written is looked through for such notes."""
    world.sync()
    world.put("new.md", "# New\n\nAbout quinces.\n")
    reads: list[str] = []

    def locked_at_last(note: NoteFile, max_bytes: int) -> ReadOutcome:
        reads.append(note.rel_path)
        is_locked = reads.count("new.md") > 1
        return Unreadable("can't be read") if is_locked else read_note(note, max_bytes)

    world.read_note = locked_at_last
    report = world.sync()
    assert report.embedded == 0 and "1 notes that can't be read now" in " ".join(report.notices)
    world.read_note = read_note
    world.put("a.md", "# Alpha\n\nAn edit elsewhere.\n", at=OLD + 1)
    assert world.sync().embedded == 2
    world.agrees_with_clean(tmp_path)


def test_the_model_before_answers_until_the_new_one_is_whole(tmp_path: Path) -> None:
    """Changing the model must not take the search by meaning away for hours."""
    world = prepared(tmp_path, 0)
    (before,) = world.catalog.vaults()
    old = dict(world.index.place["v|fake-1"])
    world.embedder = FakeEmbedder("fake-2", dimensions=24)
    fuse = Fuse(RuntimeError("power cut"))
    fuse.wrap(world.catalog, "store_vectors")
    embedded: list[str] = []
    for _ in range(3):
        fuse.left = 1
        with pytest.raises(RuntimeError):
            world.sync()
        assert world.catalog.embedder_in_force() == ("fake-1", "fake (fake-1)")
        assert world.index.place["v|fake-1"] == old
        (vault,) = world.catalog.vaults()
        assert vault.embedded == before.notes
        embedded += world.embedder.embedded[:-1]  # what was on its way is the one batch lost
        world.embedder.embedded.clear()
    fuse.left = 10**9
    world.sync()
    embedded += world.embedder.embedded
    assert len(embedded) == len(set(embedded)), "embedded twice"
    assert world.catalog.embedder_in_force() == ("fake-2", "fake (fake-2)")
    assert set(world.index.place) == {"v|fake-2"}
    world.agrees_with_clean(tmp_path)


# ---------------------------------------------------------------- progress


class Recorder:
    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        self.done: dict[str, int] = {}
        self.unit = ""
        self.finished = 0

    def start(self, vault: str, total: int, unit: str) -> None:
        self.unit, self.totals[unit], self.done[unit] = unit, total, 0

    def advance(self, done: int) -> None:
        self.done[self.unit] += done

    def finish(self) -> None:
        self.finished += 1


def test_progress_reaches_its_total(world: World) -> None:
    (world.root / "bad.md").write_bytes(b"\x00" * 100)
    shown = Recorder()
    report = world.sync(progress=shown)
    assert (
        shown.done
        == shown.totals
        == {
            "notes searchable": 3,
            "passages embedded": report.chunks,
        }
    )
    assert shown.finished == 1


def test_several_vaults_keep_out_of_each_others_way(world: World, tmp_path: Path) -> None:
    world.sync()
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("# Other\n")
    world.run_over("o", other).run()
    assert world.sync().unchanged == 2
    assert len(world.index.place["o|fake-1"]) == 1
    world.agrees_with_clean(tmp_path)


def test_ignored_from_now_on_means_removed(world: World) -> None:
    world.sync()
    world.settings = Settings(index=IndexSettings(exclude=("work/",)))
    report = world.sync()
    assert report.removed == ["work/b.md"]
    assert [s.path for s in report.skipped] == ["work/"]


def test_what_is_said_of_a_note_is_said_once(world: World) -> None:
    """It is read twice: for its words, and for what is embedded."""
    (world.root / "endless.md").write_text("word " * 30_000)
    assert [(s.path, "plain pieces" in s.reason) for s in world.sync().warnings] == [
        ("endless.md", True)
    ]
