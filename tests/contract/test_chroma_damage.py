"""Chroma trusts its own files: what it would not notice, or die of, ragvault has to see."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ragvault.adapters.chroma.persistent import STATE_FILE, PersistentChroma, damage
from ragvault.errors import StoreDamagedError, StoreError

COUNT = 1200  # above Chroma's 1,000, so that a segment is saved
DIMENSIONS = 8


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "chroma"
    vectors = np.random.default_rng(1).normal(size=(COUNT, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    store = PersistentChroma(folder.parent)
    for start in range(0, COUNT, 400):
        store.upsert("v", {f"{i:032x}": vectors[i] for i in range(start, start + 400)})
    assert store.query("v", vectors[0], 1)
    store.close()
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "chroma"))


def segment(folder: Path) -> Path:
    return next(entry for entry in folder.iterdir() if entry.is_dir())


def zeroed(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 3])


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 512] = bytes(255 - byte for byte in content[middle : middle + 512])
    file.write_bytes(content)


def as_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("not a folder")


def swapped_for_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "the segment's folder is gone": lambda f: shutil.rmtree(segment(f)),
    "its index of ids is gone": lambda f: (segment(f) / "index_metadata.pickle").unlink(),
    "its vectors are cut short (Chroma dies of SIGSEGV)": lambda f: cut(
        segment(f) / "data_level0.bin"
    ),
    "512 bytes of its vectors are flipped (SIGSEGV too)": lambda f: flipped(
        segment(f) / "data_level0.bin"
    ),
    "its vectors are overwritten in place": lambda f: zeroed(segment(f) / "data_level0.bin"),
    "its links are flipped": lambda f: flipped(segment(f) / "link_lists.bin"),
    "what it was left as is gone": lambda f: (f / "store.json").unlink(),
    "what it was left as is a pipe": lambda f: swapped_for_pipe(f / "store.json"),
    "what it was left as is garbage": lambda f: (f / "store.json").write_bytes(b"[" * 100_000),
    "its header is cut short": lambda f: (segment(f) / "header.bin").write_bytes(b"\1"),
    "the database is empty": lambda f: (f / "chroma.sqlite3").write_bytes(b""),
    "the database is garbage": lambda f: (f / "chroma.sqlite3").write_bytes(b"garbage" * 999),
    "a file lies in its place": as_file,
}


def _stored(folder: Path) -> str | None:
    return PersistentChroma(folder.parent).stored_identity()


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_seen_before_chroma_opens_it_and_reset_makes_it_usable(
    folder: Path, name: str
) -> None:
    """Without this a search finds almost nothing, or ends without a word, and no `index` mends
    it."""
    DAMAGES[name](folder)
    assert damage(folder)
    assert _stored(folder) is None, "the next `index` must look at it"
    store = PersistentChroma(folder.parent)
    try:
        with pytest.raises(StoreDamagedError) as caught:
            store.count("v")
        assert "ragvault index" in caught.value.hint
        store.reset()
        assert store.count("v") == 0
        assert damage(folder) is None
    finally:
        store.close()


def test_a_store_whose_writer_died_is_not_opened(folder: Path) -> None:
    """Half-saved vectors look like whole ones."""
    writer = PersistentChroma(folder.parent)
    writer.delete("v", [f"{0:032x}"])
    with pytest.raises(StoreDamagedError, match="didn't finish"):
        PersistentChroma(folder.parent).count("v")
    (folder / STATE_FILE).rename(folder / "kept")
    assert "0.1 wrote none" in str(damage(folder)), "nothing was cut off"
    (folder / "kept").rename(folder / STATE_FILE)
    writer.seal()
    reader = PersistentChroma(folder.parent)
    assert reader.count("v") == COUNT - 1
    reader.close()
    writer.close()


def test_a_store_after_a_failed_write_is_not_sealed(folder: Path) -> None:
    """A full disk leaves half of a file, and Chroma goes on."""
    writer = PersistentChroma(folder.parent)
    with pytest.raises(StoreError):
        writer.upsert("v", {"a" * 32: np.ones(3, dtype=np.float32)})
    writer.close()
    assert _stored(folder) is None


def test_sound_stores_are_left_alone(folder: Path, tmp_path: Path) -> None:
    """A false alarm would rebuild the store at each run."""
    assert damage(folder) is None
    assert _stored(folder)
    small = PersistentChroma(tmp_path / "small")
    small.upsert("v", {"0" * 32: np.ones(3, dtype=np.float32)})
    small.seal()
    assert damage(tmp_path / "small" / "chroma") is None, (
        "nothing is saved yet, all is in the queue"
    )
    small.delete("v", ["0" * 32])
    small.close()
    assert damage(tmp_path / "small" / "chroma") is None
    assert damage(tmp_path / "nowhere") is None
