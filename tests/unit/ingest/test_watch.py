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
from hypothesis import given, strategies as st
from watchdog.observers import Observer

from ragvault.config.settings import IndexSettings
from ragvault.errors import IndexBusyError, Interrupted
from ragvault.ingest.ignore import IgnoreRules, PathRules, exclude_rules, ignore_files
from ragvault.ingest.walk import walk
from ragvault.ingest.watch import MAX_DELAY, Burst, Pace, watch_vaults

SOON = 30.0  # seconds until a test gives up; none waits for it when all is well


class Watched:
    """A watch in a thread, with what it told."""

    def __init__(self, *roots: Path, make_observer: Any = None, **pace: float) -> None:
        self.calls: queue.Queue[tuple[Path, frozenset[str]]] = queue.Queue()
        self.lines: queue.Queue[str] = queue.Queue()
        self.stop = threading.Event()
        self.during: Callable[[], None] = lambda: None
        self.error: BaseException | None = None

        def run() -> None:
            try:
                watch_vaults(
                    roots,
                    self._told,
                    self.stop,
                    IndexSettings(),
                    notify=self.lines.put,
                    make_observer=make_observer,
                    pace=Pace(**{"debounce_s": 0.05, "pulse_s": 0.05, **pace}),
                )
            except BaseException as error:
                self.error = error

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def _told(self, root: Path, paths: frozenset[str]) -> None:
        during, self.during = self.during, lambda: None
        during()
        self.calls.put((root, paths))

    def until(self, *wanted: str) -> set[str]:
        """Take calls until all the paths were told; returns every path that was."""
        seen: set[str] = set()
        while not seen.issuperset(wanted):
            seen |= self.calls.get(timeout=SOON)[1]
        return seen

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
        first = {watch.calls.get(timeout=SOON)[0] for _ in roots}
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
    watch.until("b.md")
    (vault / "a.md").write_text("changed")
    watch.until("a.md")
    (vault / "b.md").unlink()
    watch.until("b.md")


def test_a_save_by_rename_is_told_under_the_notes_name(
    vault: Path, watched: Callable[..., Watched]
) -> None:
    """vim, Obsidian sync and many editors write a temporary file and rename it."""
    watch = watched(vault)
    (vault / ".a.md.swp123").write_text("edited")
    (vault / ".a.md.swp123").rename(vault / "a.md")
    assert watch.until("a.md") == {"a.md"}


def test_new_folders_and_moved_ones_are_followed(
    vault: Path, watched: Callable[..., Watched]
) -> None:
    watch = watched(vault)
    (vault / "new/deep").mkdir(parents=True)
    watch.until("new")
    (vault / "new/deep/n.md").write_text("text")
    watch.until("new/deep/n.md")
    (vault / "new").rename(vault / "moved")
    watch.until("moved")
    (vault / "moved/deep/n.md").write_text("more")
    watch.until("moved/deep/n.md")


def test_what_the_walk_ignores_wakes_nobody(vault: Path, watched: Callable[..., Watched]) -> None:
    """Obsidian rewrites .obsidian/workspace.json with every click."""
    (vault / ".obsidian").mkdir()
    (vault / "build").mkdir()
    (vault / ".gitignore").write_text("build/\n")
    watch = watched(vault)
    (vault / ".obsidian/workspace.json").write_text("{}")
    (vault / ".obsidian/x.md").write_text("{}")
    (vault / "build/out.md").write_text("generated")
    (vault / "picture.png").write_bytes(b"png")
    (vault / "b.md").write_text("a note")
    assert watch.until("b.md") == {"b.md"}


def test_a_changed_ignore_file_is_a_change(vault: Path, watched: Callable[..., Watched]) -> None:
    watch = watched(vault)
    (vault / ".ragvaultignore").write_text("a.md\n")
    watch.until(".ragvaultignore")
    (vault / "a.md").write_text("no longer a note")
    (vault / "b.md").write_text("a note")
    assert watch.until("b.md") == {"b.md"}


def test_reading_a_note_is_no_change(vault: Path, watched: Callable[..., Watched]) -> None:
    """Else every run would wake the next one, for ever."""
    watch = watched(vault)
    assert (vault / "a.md").read_text() == "one"
    walk(vault, IndexSettings())
    (vault / "b.md").write_text("a note")
    assert watch.until("b.md") == {"b.md"}


def test_what_happens_during_a_run_is_told_after_it(
    vault: Path, watched: Callable[..., Watched]
) -> None:
    watch = watched(vault)

    def edit() -> None:
        (vault / "during.md").write_text("written while indexing")

    watch.during = edit
    (vault / "a.md").write_text("changed")
    watch.until("a.md", "during.md")


def test_several_vaults_are_told_apart(
    tmp_path: Path, vault: Path, watched: Callable[..., Watched]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    watch = watched(vault, other)
    (other / "o.md").write_text("text")
    assert watch.calls.get(timeout=SOON) == (other, frozenset({"o.md"}))


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
    watch.calls.get(timeout=SOON)
    (vault / "b.md").unlink()
    watch.calls.get(timeout=SOON)


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
    watch.calls.get(timeout=SOON)
    assert watch.lines.empty()


def test_an_observer_that_dies_is_replaced(vault: Path, watched: Callable[..., Watched]) -> None:
    made: list[Any] = []

    def make() -> Any:
        made.append(Observer())
        return made[-1]

    watch = watched(vault, make_observer=make)
    made[0].stop()
    made[0].join(SOON)
    assert watch.calls.get(timeout=SOON)[1] == frozenset()  # what was missed meanwhile
    assert len(made) == 2
    (vault / "b.md").write_text("new")
    watch.until("b.md")


def test_a_vault_that_goes_and_comes_back_is_followed_again(
    tmp_path: Path, vault: Path, watched: Callable[..., Watched]
) -> None:
    """An unplugged drive must neither end the watch nor empty the index."""
    watch = watched(vault)
    vault.rename(tmp_path / "away")
    assert "out of reach" in watch.lines.get(timeout=SOON)
    shutil.copytree(tmp_path / "away", vault)
    assert "is back" in watch.lines.get(timeout=SOON)
    watch.calls.get(timeout=SOON)
    (vault / "after.md").write_text("text")
    watch.until("after.md")


def test_a_failed_run_is_told_and_tried_again(vault: Path, watched: Callable[..., Watched]) -> None:
    """A second `index` holds the lock just now: the change must not be forgotten."""
    watch = watched(vault, retry_s=0.05)

    def busy() -> None:
        raise IndexBusyError("The index is being written by process 1.")

    watch.during = busy
    (vault / "a.md").write_text("changed")
    assert "process 1" in watch.lines.get(timeout=SOON)
    watch.until("a.md")


def test_ctrl_c_inside_a_run_ends_the_watch(vault: Path, watched: Callable[..., Watched]) -> None:
    watch = watched(vault)

    def interrupted() -> None:
        raise Interrupted("Stopped.")

    watch.during = interrupted
    (vault / "a.md").write_text("changed")
    watch.thread.join(SOON)
    assert isinstance(watch.error, Interrupted)


# ---------------------------------------------------------------- when to tell


@given(gaps=st.lists(st.floats(0.0, 3.0), max_size=60))
def test_a_burst_is_told_once_when_quiet_and_never_put_off_for_ever(gaps: list[float]) -> None:
    """A checkout of a thousand notes is one run; a process that never stops writing doesn't
    keep the index out of date."""
    burst = Burst(debounce_s=1.0)
    now = 100.0
    started = now
    burst.add("0.md", now)
    for number, gap in enumerate(gaps):
        due = burst.due()
        assert due is not None and due <= started + MAX_DELAY
        if due <= now + gap:
            assert burst.take()
            assert burst.due() is None
            started = now + gap
        now += gap
        burst.add(f"{number}.md", now)
    due = burst.due()
    assert due is not None
    assert due <= now + 1.0
    if now - started < MAX_DELAY - 1.0:
        assert due == now + 1.0


PARTS = st.sampled_from(["a", "b", "build", "keep", ".hidden"])
PATTERNS = st.lists(
    st.sampled_from(["build/", "*.tmp.md", "/a", "!keep.md", "b/*", "**/keep", "a/b", "#x"]),
    max_size=4,
)


@given(
    folders=st.lists(st.lists(PARTS, min_size=1, max_size=3), min_size=1, max_size=5),
    rules=st.dictionaries(st.sampled_from(["", "a/", "b/", "a/b/"]), PATTERNS, max_size=3),
    exclude=PATTERNS,
)
def test_the_watch_ignores_exactly_what_the_walk_ignores(
    tmp_path_factory: pytest.TempPathFactory,
    folders: list[list[str]],
    rules: dict[str, list[str]],
    exclude: list[str],
) -> None:
    root = tmp_path_factory.mktemp("vault")
    notes = []
    for parts in folders:
        for name in ("keep.md", "x.tmp.md", "n.md"):
            file = root.joinpath(*parts, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("text")
            notes.append("/".join([*parts, name]))
    for base, lines in rules.items():
        if (root / base).is_dir():
            (root / base / ".gitignore").write_text("\n".join(lines))
    settings = IndexSettings(exclude=tuple(p for p in exclude if p != "#x"))
    walked = {f.rel_path for f in walk(root, settings).files}
    paths = PathRules(str(root), exclude_rules(settings), ignore_files(settings))
    assert {n for n in notes if not paths.passes_over(n, False)} == walked
    assert not PathRules(str(root), IgnoreRules(), ()).passes_over("a/n.md", False)
