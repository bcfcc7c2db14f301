"""Files of the index: nobody else reads them, none is ever half written, one writer at a time."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragvault.adapters import files
from ragvault.adapters.files import (
    HOLDER_NAME,
    LOCK_NAME,
    atomic_write,
    folder_size,
    index_lock,
    os_error,
    private_folder,
)
from ragvault.errors import DiskFullError, IndexBusyError, StoreError

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX modes")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ---------------------------------------------------------------- folders and writes


@posix
def test_a_new_index_folder_is_private(tmp_path: Path) -> None:
    """The index holds the notes' text: other users of the machine must not read it."""
    folder = private_folder(tmp_path / "share" / "ragvault")
    assert mode(folder) == 0o700
    private_folder(folder)


@posix
def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o750)
    assert mode(private_folder(tmp_path / "mine")) == 0o750


def test_a_file_in_the_way_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError) as caught:
            private_folder(path)
        assert f"{path} can't be used: a file is in its place" in caught.value.message
        assert caught.value.hint.startswith("Move it away, or set index.path")


def test_a_write_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    atomic_write(path, "old and much longer")
    atomic_write(path, "new")
    assert path.read_text() == "new"
    if os.name == "posix":
        assert mode(path) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_rubbish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "state.json"
    atomic_write(path, "old")

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, failing, full)
    with pytest.raises(DiskFullError):
        atomic_write(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (errno.ENOSPC, DiskFullError, "no space left"),
        (getattr(errno, "EDQUOT", errno.ENOSPC), DiskFullError, "no space left"),
        (errno.EACCES, StoreError, "permission denied"),
        (errno.EROFS, StoreError, "read-only"),
        (errno.EIO, StoreError, "input/output"),
    ],
)
def test_each_failure_has_its_sentence(code: int, kind: type[StoreError], words: str) -> None:
    error = os_error(OSError(code, os.strerror(code)), "/index")
    assert type(error) is kind
    assert words in error.message and "/index" in error.message and error.hint


def test_size_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "sub/b").write_bytes(b"123")
    assert folder_size(tmp_path) == 8
    assert folder_size(tmp_path / "missing") == 0


# ---------------------------------------------------------------- the lock

HOLD = """
import sys
from pathlib import Path
from ragvault.adapters.files import index_lock
with index_lock(Path(sys.argv[1]), command="ragvault index ~/notes"):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_writer_learns_who_holds_the_lock(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(IndexBusyError) as caught, index_lock(tmp_path):
            pass
        process.communicate("")
    assert str(process.pid) in caught.value.message
    assert "`ragvault index ~/notes`" in caught.value.message
    assert caught.value.exit_code == 6
    with index_lock(tmp_path):
        pass


def test_a_waiting_writer_gets_its_turn(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        assert process.stdin is not None
        process.stdin.close()  # it ends while we wait
        with index_lock(tmp_path, timeout_s=60.0):
            assert (tmp_path / LOCK_NAME).exists()


def test_a_killed_writer_leaves_no_lock(tmp_path: Path) -> None:
    """After kill -9 the next `index` must simply work."""
    with holder(tmp_path) as process:
        process.kill()
        process.wait()
    assert (tmp_path / HOLDER_NAME).exists()
    with index_lock(tmp_path, command="next"):
        seen = json.loads((tmp_path / HOLDER_NAME).read_text())
        assert (seen["pid"], seen["command"]) == (os.getpid(), "next")
    assert not (tmp_path / HOLDER_NAME).exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}', "\x00"])
def test_a_holder_file_that_says_nothing_costs_only_the_name(tmp_path: Path, text: str) -> None:
    with index_lock(tmp_path):
        (tmp_path / HOLDER_NAME).write_text(text)
        with pytest.raises(IndexBusyError, match="another process"), index_lock(tmp_path):
            pass


def test_a_holder_file_of_another_process_holds_nothing(tmp_path: Path) -> None:
    """Its pid may be anybody's by now; only the system's lock counts."""
    mine = {"pid": os.getpid(), "command": "ragvault index", "since": 1.0}
    (tmp_path / HOLDER_NAME).write_text(json.dumps(mine))
    (tmp_path / LOCK_NAME).touch()
    with index_lock(tmp_path):
        pass


def test_a_copy_of_an_index_that_is_being_written_is_free(tmp_path: Path) -> None:
    """And what the copy says of its holder is soon its own."""
    (tmp_path / "index").mkdir()
    with holder(tmp_path / "index") as process:
        shutil.copytree(tmp_path / "index", tmp_path / "copy")
        assert str(process.pid) in (tmp_path / "copy" / HOLDER_NAME).read_text()
        copy = index_lock(tmp_path / "copy")
        with copy, pytest.raises(IndexBusyError) as caught, index_lock(tmp_path / "copy"):
            pass
        assert str(os.getpid()) in caught.value.message
        process.communicate("")


def test_one_process_cant_take_it_twice(tmp_path: Path) -> None:
    with (
        index_lock(tmp_path, command="first"),
        pytest.raises(IndexBusyError, match="first"),
        index_lock(tmp_path),
    ):
        pass


def test_a_lock_that_cant_be_described_isnt_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **more: Any) -> None:
        raise DiskFullError("There is no space left.")

    monkeypatch.setattr(files, "atomic_write", full)
    with pytest.raises(DiskFullError), index_lock(tmp_path):
        pass
    monkeypatch.undo()
    with index_lock(tmp_path):
        assert json.loads((tmp_path / HOLDER_NAME).read_text())["pid"] == os.getpid()


@posix
def test_lock_files_are_private(tmp_path: Path) -> None:
    with index_lock(tmp_path / "new"):
        assert mode(tmp_path / "new") == 0o700
        assert mode(tmp_path / "new" / LOCK_NAME) == 0o600
        assert mode(tmp_path / "new" / HOLDER_NAME) == 0o600
