"""The index into one file and back: whole or not at all, also while others write."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from ragvault.errors import StoreDamagedError, StoreError, UsageError
from ragvault.model import HistoryEntry, IndexReport, Request
from ragvault.service.index import IndexRequest, index
from ragvault.service.search import search
from ragvault.service.upkeep import back_up, restore, verify
from ragvault.wiring import Container
from tests.support.cli import make_vault
from tests.support.stack import stack

ASKED = {"answer": "At nine.", "references": []}
NOTES = {"sea/boats.md": "# Boats\n\nThe ferry leaves at nine.\n", "pump.md": "# Pump\n\nSound.\n"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the notes, their index, and its backup, written while somebody else writes."""
    folder = tmp_path_factory.mktemp("made")
    with stack(folder / "index", make_vault(folder / "notes", NOTES)) as container:
        other = sqlite3.connect(folder / "index" / "catalog.sqlite3", isolation_level=None)
        with closing(other):
            other.execute("BEGIN IMMEDIATE")
            other.execute("DELETE FROM tag")
            other.execute("DELETE FROM chunk")
            back_up(container, folder / "backup.zip")
            back_up(container, folder / "backup.zip")  # a backup may be replaced
            other.execute("ROLLBACK")
    return folder


def found(container: Container) -> list[str]:
    hits = search(container, Request("ferry"), 3, now=datetime(2026, 1, 1)).hits
    return [hit.note.rel_path for hit in hits]


def test_a_backup_brings_an_index_back_embedding_nothing(made: Path, tmp_path: Path) -> None:
    with stack(tmp_path / "index") as container:
        assert [vault.name for vault in restore(container, made / "backup.zip")[0]] == ["notes"]
        assert found(container)[0] == "sea/boats.md"
        reports = [e for e in index(container, IndexRequest()) if isinstance(e, IndexReport)]
        assert [(r.embedded, r.unchanged) for r in reports] == [(0, 2)]
        assert list(verify(container)) == []
    assert (made / "backup.zip").stat().st_mode & 0o777 == 0o600
    assert not list((tmp_path / "index").glob(".restore-*"))


def test_a_restore_sets_aside_what_is_there(made: Path, tmp_path: Path) -> None:
    """And a process that has the old one open goes on with the new one."""
    shutil.copytree(made / "index", tmp_path / "index")
    with closing(sqlite3.connect(tmp_path / "index" / "catalog.sqlite3")) as connection:
        connection.execute("UPDATE vault SET name = 'later'")
        connection.commit()
    with stack(tmp_path / "index") as reader, stack(tmp_path / "index") as container:
        assert [v.name for v in reader.catalog.vaults()] == ["later"]
        kept = restore(container, made / "backup.zip")[1]
        assert (
            kept is not None and (kept / "catalog.sqlite3").exists() and (kept / "chroma").is_dir()
        )
        assert [v.name for v in reader.catalog.vaults()] == ["notes"]
        assert found(reader)[0] == "sea/boats.md"


@pytest.mark.parametrize("is_newer", [True, False])
def test_the_history_that_was_asked_last_stays_or_comes(tmp_path: Path, is_newer: bool) -> None:
    """What was asked can't be made again: a restore is of the index."""
    with stack(tmp_path / "index", make_vault(tmp_path / "notes", NOTES)) as container:
        history, backup = container.history, tmp_path / "backup.zip"
        history.add(HistoryEntry(100.0, {**ASKED, "question": "first"}))
        if is_newer:
            back_up(container, backup)
        history.add(HistoryEntry(200.0, {**ASKED, "question": "second"}))
        if not is_newer:
            back_up(container, backup)
            history.clear()
        restore(container, backup)
    with stack(tmp_path / "index") as container:
        kept = [entry.document["question"] for entry in container.history.entries()]
        assert kept == ["second", "first"]


def test_a_history_whose_log_was_left_by_a_kill_is_restored_over(tmp_path: Path) -> None:
    vault, backup = make_vault(tmp_path / "notes", NOTES), tmp_path / "backup.zip"
    with stack(tmp_path / "index", vault) as container:
        container.history.add(HistoryEntry(100.0, {**ASKED, "question": "first"}))
        assert (tmp_path / "index" / "history.sqlite3-wal").exists()
        shutil.copytree(tmp_path / "index", tmp_path / "killed")  # as kill -9 leaves it
        container.history.add(HistoryEntry(200.0, {**ASKED, "question": "second"}))
        back_up(container, backup)
    with stack(tmp_path / "killed") as container:
        restore(container, backup)
    with stack(tmp_path / "killed") as container:
        kept = [entry.document["question"] for entry in container.history.entries()]
        assert kept == ["second", "first"]
        assert found(container)[0] == "sea/boats.md"


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)


def rewritten(file: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    with zipfile.ZipFile(file) as archive:
        pieces = {name: archive.read(name) for name in archive.namelist()}
    change(pieces)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in pieces.items():
            archive.writestr(name, content)


def outside(pieces: dict[str, bytes]) -> None:
    listed = json.loads(pieces["ragvault-backup.json"])
    listed["files"]["../evil"] = {}
    pieces["ragvault-backup.json"] = json.dumps(listed).encode()
    pieces["../evil"] = b"evil"


def other_piece(pieces: dict[str, bytes]) -> None:
    pieces["vaults.json"] = b"[]"


DAMAGE: dict[str, Callable[[Path], None]] = {
    "cut": cut,
    "flipped": flipped,
    "no zip": lambda file: file.write_text("notes"),
    "another zip": lambda file: rewritten(file, lambda p: p.pop("ragvault-backup.json")),
    "without its catalog": lambda file: rewritten(file, lambda p: p.pop("catalog.sqlite3")),
    "a path that leads out": lambda file: rewritten(file, outside),
    "another piece": lambda file: rewritten(file, other_piece),
    "gone": lambda file: file.unlink(),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_not_whole_is_refused_and_nothing_changes(
    made: Path, tmp_path: Path, name: str
) -> None:
    file = Path(shutil.copy(made / "backup.zip", tmp_path))
    DAMAGE[name](file)
    shutil.copytree(made / "index", tmp_path / "index")
    before = sorted(p for p in tmp_path.rglob("*") if "index.lock" not in p.name)
    with stack(tmp_path / "index") as container, pytest.raises(UsageError) as refused:
        restore(container, file)
    assert refused.value.message.startswith("There is no file") == (name == "gone")
    assert sorted(p for p in tmp_path.rglob("*") if "index.lock" not in p.name) == before


def test_a_backup_of_a_newer_ragvault_is_refused(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "index", tmp_path / "index")
    with stack(tmp_path / "index") as container:
        container.catalog.vaults()
        with closing(sqlite3.connect(tmp_path / "index" / "catalog.sqlite3")) as connection:
            connection.execute("PRAGMA user_version = 99")
        back_up(container, tmp_path / "newer.zip")
    with stack(tmp_path / "other") as container, pytest.raises(StoreError, match="newer ragvault"):
        restore(container, tmp_path / "newer.zip")
    assert not (tmp_path / "other" / "catalog.sqlite3").exists()


@pytest.mark.parametrize("place", ["notes/backup.zip", "letter.txt", "nowhere/backup.zip"])
def test_nothing_else_is_written_over_and_no_vault_is_written_to(
    made: Path, tmp_path: Path, place: str
) -> None:
    (made / "letter.txt").write_text("Dear Ada")
    with stack(made / "index") as container, pytest.raises(UsageError) as refused:
        back_up(container, made / place)
    assert "index" not in refused.value.message and str(made) in refused.value.message
    assert (made / "letter.txt").read_text() == "Dear Ada"
    assert not list(made.glob("tmp*")) and not (made / "notes" / "backup.zip").exists()


def test_what_is_no_regular_file_is_neither_read_nor_written(made: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with stack(made / "index") as container:
        for place in (tmp_path / "pipe", Path("/dev/full"), Path("/dev/zero")):
            with pytest.raises(UsageError, match="no backup"):
                back_up(container, place)
            with pytest.raises(UsageError, match="no regular file"):
                restore(container, place)
    assert (tmp_path / "pipe").is_fifo()


def test_a_damaged_index_is_not_backed_up(made: Path, tmp_path: Path) -> None:
    """It would take the place of the last sound one."""
    shutil.copytree(made / "index", tmp_path / "index")
    with closing(sqlite3.connect(tmp_path / "index" / "catalog.sqlite3")) as connection:
        connection.execute("UPDATE chunk SET text = 'other' WHERE rowid = 1")
        connection.commit()
    with stack(tmp_path / "index") as container, pytest.raises(StoreDamagedError):
        back_up(container, tmp_path / "backup.zip")
    assert not (tmp_path / "backup.zip").exists()
