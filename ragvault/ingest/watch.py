"""Following a vault: each burst of changes → one call, for as long as it is wanted.

The operating system's events (watchdog) say when to look, never what there is: a run walks the
vault anyway. Every minute the walk is compared with the one before, which covers what has no
events (network drives, an overflown queue, a watch that died, no watches left).
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.config.settings import IndexSettings
from ragvault.errors import Interrupted, RagvaultError, VaultPathError
from ragvault.ingest.ignore import ignore_files, is_hidden
from ragvault.ingest.paths import shown
from ragvault.ingest.walk import walk

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

POLL_SHARE = 0.05  # at most this share of the time goes into polling a large vault
MAX_DELAY = 10  # debounce times that a burst which never pauses is waited for
MAX_RETRY_S = 300.0

_UNKNOWN = (-1, -1)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often what is done, in seconds. ``debounce_s``: a save in several steps, or of several
    notes, is one burst. The walk is compared every ``check_s`` while events come, every
    ``poll_s`` when none can; the roots and the observer are looked after every ``pulse_s``. A
    failed run is tried again after ``retry_s``, which doubles up to ``MAX_RETRY_S``."""

    debounce_s: float = 1.0
    check_s: float = 60.0
    poll_s: float = 5.0
    pulse_s: float = 1.0
    retry_s: float = 5.0


@dataclass(slots=True)
class Burst:
    """Changes of one vault that wait to be told. Times are of the watch's clock, in seconds."""

    debounce_s: float
    first: float | None = None
    last: float = 0.0
    not_before: float = 0.0

    def add(self, now: float) -> None:
        if self.first is None:
            self.first = now
        self.last = now

    def due(self) -> float | None:
        """When to tell: once it was quiet for the debounce time, but not put off for ever."""
        if self.first is None:
            return None
        limit = self.first + MAX_DELAY * self.debounce_s
        return max(self.not_before, min(self.last + self.debounce_s, limit))


@dataclass(slots=True)
class _Root:
    """One vault that is followed. ``place`` is its device and inode (None: out of reach), ``seen``
    the digest of the last comparison."""

    path: Path
    real: str
    burst: Burst
    retry_s: float
    place: tuple[int, int] | None = _UNKNOWN
    is_armed: bool = False
    seen: int | None = None
    next_check: float = 0.0


def _identify(root: _Root) -> tuple[int, int] | None:
    """Which folder the root is now; None when it can't be listed."""
    try:
        with os.scandir(root.real):
            status = Path(root.real).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def concerns(raw: str, is_dir: bool, root: str, settings: IndexSettings) -> bool:
    """Whether a path (as ``root``, the vault's real one, absolute) may change what is indexed: a
    folder, a note or an ignore file, and nothing hidden. What ignore rules leave out counts here:
    a run that finds nothing to do is cheap."""
    path = Path(raw)
    if not path.is_relative_to(root) or raw == root:
        return False
    *folders, name = path.relative_to(root).parts
    if any(map(is_hidden, folders)):
        return False
    if is_hidden(name):
        return name in ignore_files(settings)
    return is_dir or name.lower().endswith(tuple(e.lower() for e in settings.extensions))


def watch_vaults(
    roots: Sequence[Path],
    on_change: Callable[[Path], None],
    stop: threading.Event,
    settings: IndexSettings,
    *,
    notify: Callable[[str], None] = lambda _line: None,
    make_observer: Callable[[], BaseObserver] | None = None,
    pace: Pace | None = None,
) -> None:
    """Call ``on_change`` for each vault's root once at the start (what changed before the watch
    stood must not be missed), then after each burst of changes, until ``stop`` is set.

    All in the calling thread. A RagvaultError of ``on_change`` is passed to ``notify`` and tried
    again later (the index was busy, the disk full, the drive unplugged); anything else ends the
    watch. ``notify`` is also told when events can't be had and when a vault goes or comes back.
    """
    from watchdog.observers import Observer

    pace = pace or Pace()
    followed = [
        _Root(path, os.path.realpath(path), Burst(pace.debounce_s), pace.retry_s) for path in roots
    ]
    _Watch(followed, on_change, stop, settings, notify, make_observer or Observer, pace).run()


@dataclass(slots=True)
class _Watch:
    """The loop, and what the observer's threads tell it."""

    roots: Sequence[_Root]
    on_change: Callable[[Path], None]
    stop: threading.Event
    settings: IndexSettings
    notify: Callable[[str], None]
    make_observer: Callable[[], BaseObserver]
    pace: Pace
    observer: BaseObserver | None = None
    has_events: bool = True
    woken: threading.Condition = field(default_factory=threading.Condition)

    def run(self) -> None:
        try:
            self._look_after()
            for root in self.roots:
                if root.place is not None:
                    root.burst.add(time.monotonic() - root.burst.debounce_s)
            while not self.stop.is_set():
                for root in self.roots:
                    self._tell_if_due(root)
                with self.woken:
                    self.woken.wait(self._pause())
                self._look_after()
        finally:
            self._disarm()

    def heard(self, root: _Root, event: FileSystemEvent) -> None:
        """Called in the observer's threads."""
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if any(concerns(p, event.is_directory, root.real, self.settings) for p in paths):
            self._add(root)

    def _add(self, root: _Root) -> None:
        with self.woken:
            root.burst.add(time.monotonic())
            self.woken.notify()

    # -- telling

    def _pause(self) -> float:
        now = time.monotonic()
        dues = [due - now for root in self.roots if (due := root.burst.due()) is not None]
        return max(0.0, min([self.pace.pulse_s, *dues]))

    def _tell_if_due(self, root: _Root) -> None:
        now = time.monotonic()
        with self.woken:
            due = root.burst.due()
            if due is None or due > now or self.stop.is_set():
                return
            root.burst.first = None
        self._compare(root, is_baseline=True)  # what the run is about to see is no news afterwards
        try:
            self.on_change(root.path)
        except Interrupted:
            raise
        except RagvaultError as error:
            if isinstance(error, VaultPathError) and _identify(root) is None:
                return  # ``_look_after`` tells, and waits for it to come back
            self.notify(f"{error.message} {error.hint} It is tried again in {root.retry_s:g} s.")
            self._add(root)
            root.burst.not_before = time.monotonic() + root.retry_s
            root.retry_s = min(2 * root.retry_s, MAX_RETRY_S)
        else:
            root.retry_s, root.burst.not_before = self.pace.retry_s, 0.0

    # -- looking after the roots and the observer

    def _look_after(self) -> None:
        threads = [self.observer, *self.observer.emitters] if self.observer else []
        if not all(thread.is_alive() for thread in threads):
            self._disarm()
            for root in self.roots:  # nobody listened since it died
                self._add(root)
        for root in self.roots:
            place = _identify(root)
            if place != root.place:
                self._moved(root, place)
            if place is None:
                continue
            if not root.is_armed and self.has_events:
                self._arm(root)
            self._compare(root)

    def _moved(self, root: _Root, place: tuple[int, int] | None) -> None:
        """The root went, came back, or is another folder than before (a remount)."""
        is_first = root.place == _UNKNOWN
        root.place = place
        if root.is_armed:
            self._disarm()
        if place is None:
            self.notify(f"{shown(str(root.path))} is out of reach; its index is kept. Waiting.")
        elif not is_first:
            self.notify(f"{shown(str(root.path))} is back.")
            self._add(root)

    def _arm(self, root: _Root) -> None:
        """Ask for events. If there are no watches left, say so and poll from now on."""
        from watchdog import events

        class Handler(events.FileSystemEventHandler):
            def dispatch(_, event: FileSystemEvent) -> None:  # noqa: N805 - self is the watch
                self.heard(root, event)

        wanted: list[type[FileSystemEvent]] = [  # not opened, not closed unwritten: our own reads
            events.DirCreatedEvent, events.DirDeletedEvent, events.DirMovedEvent,
            events.FileAttribEvent, events.FileClosedEvent, events.FileCreatedEvent,
            events.FileDeletedEvent, events.FileModifiedEvent, events.FileMovedEvent,
        ]  # fmt: skip
        try:
            if self.observer is None:
                self.observer = self.make_observer()
                self.observer.start()
            self.observer.schedule(Handler(), root.real, recursive=True, event_filter=wanted)
            root.is_armed = True
        except OSError as error:
            if _identify(root) is None:
                return  # it went just now
            self._disarm()
            self.has_events = False
            reason = f"Changes can't be watched here ({error.strerror or error})"
            if error.errno in (errno.ENOSPC, errno.EMFILE, errno.ENFILE):
                limits = "fs.inotify.max_user_watches or max_user_instances"
                reason = f"The system has no file watches left ({limits})"
            self.notify(
                f"{reason}; the vault is looked through every {self.pace.poll_s:g} s instead."
            )

    def _disarm(self) -> None:
        """Stop the observer. Its threads may be dead already, or stuck on a dead drive."""
        observer, self.observer = self.observer, None
        for root in self.roots:
            root.is_armed = False
        if observer is not None:
            with contextlib.suppress(RuntimeError, OSError):
                observer.stop()
                observer.join(timeout=self.pace.pulse_s)

    def _compare(self, root: _Root, *, is_baseline: bool = False) -> None:
        """Now and then: does the walk differ from the last one? Linear in the notes."""
        now = time.monotonic()
        if now < root.next_check and not is_baseline:
            return
        try:
            files = walk(root.path, self.settings).files
        except RagvaultError:
            return  # the root went just now; the next round sees it
        digest = hash(tuple((f.rel_path, f.size, f.mtime_ns) for f in files))
        took = time.monotonic() - now
        wait = self.pace.check_s if self.has_events else self.pace.poll_s
        root.next_check = now + max(wait, took / POLL_SHARE)
        is_news = root.seen is not None and digest != root.seen
        root.seen = digest
        if is_news and not is_baseline:
            self._add(root)
