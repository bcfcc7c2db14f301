"""The watch: every change ends in a run, a burst in one, and nothing kills it.

Real files and real events; the tests wait for calls, never for time to pass.
"""

from __future__ import annotations

import errno
import os
import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from watchdog.observers import Observer

from ragvault.config.settings import IndexSettings
from ragvault.errors import IndexBusyError, Interrupted
from ragvault.ingest.walk import walk
from ragvault.ingest.watch import Watch, concerns

SOON = 30.0  # seconds until a test gives up; none waits for it when all is well


class Watched:
    """A watch in a thread, with what it told."""

    def __init__(self, *roots: Path, make_observer: Any = None, **pace: float) -> None:
        self.calls: queue.Queue[Path] = queue.Queue()
        self.lines: queue.Queue[str] = queue.Queue()
        self.stop = threading.Event()
        self.during: Callable[[], object] = lambda: None  # of the next call
        self.always: Callable[[], object] = lambda: None  # of every call
        self.error: BaseException | None = None

        def run() -> None:
            try:
                Watch(
                    roots,
                    self._told,
                    self.stop,
                    IndexSettings(),
                    self.lines.put,
                    make_observer,
                    **{"debounce_s": 0.05, "pulse_s": 0.05, **pace},
                ).run()
            except BaseException as error:
                self.error = error

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def _told(self, root: Path) -> None:
        during, self.during = self.during, lambda: None
        during()
        self.always()
        self.calls.put(root)

    def told(self) -> Path:
        """The root of the next call."""
        return self.calls.get(timeout=SOON)

    def close(self) -> None:
        self.stop.set()
        self.thread.join(SOON)
        assert not self.thread.is_alive()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    made: list[Watched] = []

    def start(*roots: Path, **options: Any) -> Watched:
        watch = Watched(*roots, **options)
        made.append(watch)
        first = {watch.told() for _ in roots}
        assert first == set(roots)
        return watch

    yield start
    for watch in made:
        watch.close()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    root.mkdir()
    (root / "a.md").write_text("one")
    return root


def test_new_changed_and_deleted_notes_are_told(
    vault: Path, watched: Callable[..., Watched]
) -> None:
    watch = watched(vault)
    (vault / "b.md").write_text("new")
    watch.told()
    (vault / "a.md").write_text("changed")
    watch.told()
    (vault / "b.md").unlink()
    watch.told()


def test_a_save_by_rename_and_a_changed_ignore_file_are_told(
    vault: Path, watched: Callable[..., Watched]
) -> None:
    """vim, Obsidian sync and many editors write a temporary file and rename it."""
    watch = watched(vault)
    (vault / ".a.md.swp123").write_text("edited")
    (vault / ".a.md.swp123").rename(vault / "a.md")
    watch.told()
    (vault / ".ragvaultignore").write_text("a.md\n")
    watch.told()


def test_new_folders_and_moved_ones_are_followed(
    vault: Path, watched: Callable[..., Watched]
) -> None:
    watch = watched(vault)
    (vault / "new/deep").mkdir(parents=True)
    watch.told()
    (vault / "new/deep/n.md").write_text("text")
    watch.told()
    (vault / "new").rename(vault / "moved")
    watch.told()
    (vault / "moved/deep/n.md").write_text("more")
    watch.told()


def test_what_is_no_note_and_what_is_hidden_wakes_nobody() -> None:
    """Obsidian rewrites .obsidian/workspace.json with every click."""

    def wakes(path: str, is_dir: bool = False) -> bool:
        return concerns(path, is_dir, "/v", IndexSettings())

    assert wakes("/v/a.md") and wakes("/v/sub/B.MD") and wakes("/v/sub/.gitignore")
    assert wakes("/v/sub", is_dir=True)
    for path in ("/v/.obsidian/workspace.json", "/v/.obsidian/x.md", "/v/.a.md.swp", "/v/p.png"):
        assert not wakes(path)
    assert not wakes("/v/.git", is_dir=True) and not wakes("/v/.git/refs", is_dir=True)
    assert not wakes("/v2/a.md")


def test_reading_a_note_is_no_change(vault: Path, watched: Callable[..., Watched]) -> None:
    """Else every run would wake the next one, for ever."""
    watch = watched(vault)

    def look() -> None:
        assert (vault / "a.md").read_text() == "changed"
        walk(vault, IndexSettings())

    watch.during = look
    (vault / "a.md").write_text("changed")
    watch.told()
    with pytest.raises(queue.Empty):
        watch.calls.get(timeout=0.3)


def test_what_happens_during_a_run_is_told_after_it(
    vault: Path, watched: Callable[..., Watched]
) -> None:
    watch = watched(vault)

    def edit() -> None:
        (vault / "during.md").write_text("written while indexing")

    watch.during = edit
    (vault / "a.md").write_text("changed")
    watch.told()
    watch.told()


def test_several_vaults_are_told_apart(
    tmp_path: Path, vault: Path, watched: Callable[..., Watched]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    watch = watched(vault, other)
    (other / "o.md").write_text("text")
    assert watch.told() == other


def test_stop_ends_it_and_nothing_is_left_running(
    vault: Path, watched: Callable[..., Watched]
) -> None:
    watch = watched(vault)
    watch.close()
    assert watch.error is None


# ---------------------------------------------------------------- when something fails


class NoWatches:
    """An observer on a system that has no watches left."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.emitters: set[Any] = set()

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def join(self, timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool:
        return True

    def schedule(self, *args: Any, **more: Any) -> None:
        raise OSError(self.code, os.strerror(self.code))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
def test_without_watches_the_vault_is_polled_and_the_user_told(
    vault: Path, watched: Callable[..., Watched], code: int
) -> None:
    watch = watched(vault, make_observer=lambda: NoWatches(code), poll_s=0.05)
    assert "fs.inotify" in watch.lines.get(timeout=SOON)
    (vault / "b.md").write_text("new")
    watch.told()
    (vault / "b.md").unlink()
    watch.told()


class Deaf(NoWatches):
    """An observer that never hears anything: a network drive."""

    def __init__(self) -> None:
        super().__init__(0)

    def schedule(self, *args: Any, **more: Any) -> None: ...


def test_a_drive_without_events_is_compared_now_and_then(
    vault: Path, watched: Callable[..., Watched]
) -> None:
    watch = watched(vault, make_observer=Deaf, check_s=0.05)
    (vault / "b.md").write_text("new")
    watch.told()
    assert watch.lines.empty()


def test_an_observer_that_dies_is_replaced(vault: Path, watched: Callable[..., Watched]) -> None:
    made: list[Any] = []

    def make() -> Any:
        made.append(Observer())
        return made[-1]

    watch = watched(vault, make_observer=make, check_s=0.05)
    made[0].stop()
    made[0].join(SOON)
    assert watch.told() == vault  # what was missed meanwhile
    assert len(made) == 2
    (vault / "b.md").write_text("new")
    watch.told()


def test_a_vault_that_goes_and_comes_back_is_followed_again(
    tmp_path: Path, vault: Path, watched: Callable[..., Watched]
) -> None:
    """An unplugged drive must neither end the watch nor empty the index."""
    watch = watched(vault, check_s=0.05, retry_s=0.05)
    watch.always = lambda: walk(vault, IndexSettings())  # as a run does
    vault.rename(tmp_path / "away")
    assert "is not there" in watch.lines.get(timeout=SOON)
    shutil.copytree(tmp_path / "away", vault)
    assert "is followed again" in watch.lines.get(timeout=SOON)
    assert watch.lines.empty()  # each is said once, however often it was tried
    watch.told()
    (vault / "after.md").write_text("text")
    watch.told()


def test_a_failed_run_is_told_and_tried_again(vault: Path, watched: Callable[..., Watched]) -> None:
    """A second `index` holds the lock just now: the change must not be forgotten."""
    watch = watched(vault, retry_s=0.05)

    def busy() -> None:
        raise IndexBusyError("The index is being written by process 1.")

    watch.during = busy
    (vault / "a.md").write_text("changed")
    assert "process 1" in watch.lines.get(timeout=SOON)
    watch.told()


def test_ctrl_c_inside_a_run_ends_the_watch(vault: Path, watched: Callable[..., Watched]) -> None:
    watch = watched(vault)

    def interrupted() -> None:
        raise Interrupted("Stopped.")

    watch.during = interrupted
    (vault / "a.md").write_text("changed")
    watch.thread.join(SOON)
    assert isinstance(watch.error, Interrupted)
