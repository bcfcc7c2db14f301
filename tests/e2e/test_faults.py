"""Every step of the write order, walked: the process dies before it, the disk is full at ever other
places. The next `index` ends as a clean one does, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ragvault.errors import RagvaultError
from ragvault.model import IndexReport, Request, collection_of
from ragvault.service.index import IndexRequest, index
from ragvault.service.search import search
from ragvault.service.upkeep import verify
from tests.support.cli import make_vault
from tests.support.forks import Fuse, forked, small_batches
from tests.support.stack import stack
from tests.support.warm import import_all

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.name != "posix", reason="needs kill -9"),
    # A worker of xdist has threads, and a fork of it may wait for one that isn't there for ever:
    # `make test` runs these by themselves.
    pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="forks: run by themselves"),
]
NOTES = {
    f"{'log' if i % 2 else 'sea'}/{i}.md": f"# Day {i}\n\nRepaired winch number {i} at the quay.\n"
    for i in range(14)
}


def copied(base: Path, folder: Path) -> Path:
    """The index of ``base`` in ``folder``, but for the model that is kept beside it, which nothing
    writes to: 22 MB."""

    def copy(file: str, target: str) -> None:
        if file.endswith(".ort"):
            Path(target).symlink_to(file)
        else:
            shutil.copy2(file, target)

    return Path(shutil.copytree(base / "index", folder, copy_function=copy))


def edit(vault: Path) -> None:
    """One of each: added, changed, renamed, removed, touched."""
    (vault / "new.md").write_text("# New\n\nThe ferry leaves at nine.\n")
    (vault / "sea/0.md").write_text("# Day 0\n\nA crane.\n\n## Later\n\nTwo cranes.\n")
    (vault / "sea/2.md").rename(vault / "log/moved.md")
    for number in (1, 3, 5):
        (vault / f"log/{number}.md").unlink()
    os.utime(vault / "sea/4.md", (1_600_000_000, 1_600_000_000))


def refresh(folder: Path) -> int:
    """As `ragvault index`; returns how many were embedded."""
    small_batches()
    with stack(folder) as container:
        events = list(index(container, IndexRequest()))
    return sum(event.embedded for event in events if isinstance(event, IndexReport))


def checked(folder: Path) -> dict[str, Any]:
    """In a start of its own: what verify finds, and the passages that their own query misses."""
    with stack(folder, store={"search": "chroma"}) as container:
        (vault,) = container.catalog.vaults()
        key = collection_of(vault.name, vault.fingerprint or "")
        ids = sorted(container.catalog.chunk_ids(vault.name))
        own = container.catalog.vectors(vault.fingerprint or "", ids)
        container.vectors.sync_to(container.catalog.generation)
        lost = [
            i for i in ids if i not in {h.chunk_id for h in container.vectors.query(key, own[i], 5)}
        ]
        found = [f"{one.kind} {one.count} {one.what}" for one in verify(container)]
        return {"passages": len(ids), "lost": lost, "found": found}


def asked(folder: Path) -> list[str]:
    """Whatever state it is in: what is shown is visible, and nothing but ragvault's own errors."""
    with stack(folder) as container:
        try:
            hits = search(container, Request("winch at the quay"), 5, now=datetime(2026, 1, 1)).hits
        except RagvaultError as error:
            return [f"{type(error).__name__}"]
        return [hit.chunk.text for hit in hits]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault that was edited since it was indexed."""
    import_all()
    folder = tmp_path_factory.mktemp("faults")
    vault = make_vault(folder / "notes", NOTES)

    def first() -> None:
        with stack(folder / "index", vault):
            pass

    assert forked(first) == (None, 0)
    edit(vault)
    return folder


@pytest.fixture(scope="module")
def clean(base: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an unbroken run gives, and how many steps it takes."""
    folder = copied(base, tmp_path_factory.mktemp("clean") / "index")

    def run() -> list[int]:
        fuse = Fuse(lambda: None, 0)
        return [refresh(folder), fuse.calls]

    (embedded, calls), _ = forked(run)
    state, _ = forked(lambda: checked(folder))
    assert state["found"] == state["lost"] == [] and state["passages"] == 13
    return {**state, "embedded": embedded, "calls": calls}


def test_killed_before_every_step(base: Path, clean: dict[str, Any], tmp_path: Path) -> None:
    assert clean["calls"] > 15
    for at in range(1, clean["calls"] + 1):
        folder = copied(base, tmp_path / str(at))

        def dies(at: int = at, folder: Path = folder) -> None:
            Fuse(lambda: os.kill(os.getpid(), signal.SIGKILL), at)
            refresh(folder)

        assert forked(dies) == (None, signal.SIGKILL), at
        shown, died = forked(lambda folder=folder: asked(folder))
        assert not died and shown and all(text.startswith("#") for text in shown), (at, shown)
        embedded, died = forked(lambda folder=folder: refresh(folder))
        assert not died and embedded <= clean["embedded"], (at, embedded)
        state, _ = forked(lambda folder=folder: checked(folder))
        assert state == {key: clean[key] for key in state}, at
        shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs mount")
def test_a_disk_that_is_full_at_ever_other_places(
    base: Path, clean: dict[str, Any], tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    index = copied(base, tmp_path / "index")
    used = sum(file.lstat().st_size for file in index.rglob("*") if file.is_file())
    mount = ["mount", "-t", "tmpfs", "-o", f"size={used * 4}", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount")
    failed = 0
    try:
        for room in range(40):
            folder = copied(base, disk / "index")
            free = shutil.disk_usage(disk).free
            filler = disk / "filler"
            filler.write_bytes(bytes(max(0, free - room * 16_384)))
            told, died = forked(lambda folder=folder: refresh(folder))
            is_done = told == clean["embedded"]
            failed += not is_done
            assert not died
            assert is_done or str(told).startswith(("DiskFullError", "StoreError")), told
            filler.unlink()
            told, died = forked(lambda folder=folder: refresh(folder))
            assert not died and isinstance(told, int), (room, told)
            state, _ = forked(lambda folder=folder: checked(folder))
            assert state == {key: clean[key] for key in state}, room
            shutil.rmtree(folder)
            if is_done:
                break
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert failed > 3
