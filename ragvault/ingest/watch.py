"""Following a vault: each burst of changes → one call, for as long as it is wanted.

The operating system's events (watchdog) say when to look, never what there is: a run walks the
vault anyway. So an event too many costs one look, and one too few is made up for: every
minute the walk is compared with the one before, which also covers what has no events at
all (network drives, an overflown queue, a watch that died). Where the system has no watches left
that comparison, more often, is all there is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.config.settings import IndexSettings
from ragvault.errors import Interrupted, RagvaultError, VaultPathError
from ragvault.ingest.ignore import PathRules, exclude_rules, ignore_files
from ragvault.ingest.paths import key_of, shown
from ragvault.ingest.walk import walk

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver

POLL_SHARE = 0.05  # at most this share of the time goes into polling a large vault
MAX_DELAY = 10  # debounce times that a burst which never pauses is waited for
MAX_RETRY_S = 300.0

_UNKNOWN = (-1, -1)

OnChange = Callable[[Path, frozenset[str]], None]
"""Told of a vault's root and the keys that changed; empty: look at all of it."""

Notify = Callable[[str], None]
ObserverFactory = Callable[[], "BaseObserver"]


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
    paths: set[str] = field(default_factory=set)
    first: float | None = None
    last: float = 0.0
    not_before: float = 0.0

    def add(self, path: str, now: float) -> None:
        if path:
            self.paths.add(path)
        if self.first is None:
            self.first = now
        self.last = now

    def due(self) -> float | None:
        """When to tell: once it was quiet for the debounce time, but not put off for ever."""
        if self.first is None:
            return None
        limit = self.first + MAX_DELAY * self.debounce_s
        return max(self.not_before, min(self.last + self.debounce_s, limit))

    def take(self) -> frozenset[str]:
        taken = frozenset(self.paths)
        self.paths.clear()
        self.first = None
        return taken


class _Root:
    """One vault that is followed."""

    def __init__(self, path: Path, settings: IndexSettings, pace: Pace) -> None:
        self.path = path
        self.real = os.path.realpath(path)
        self.extensions = tuple(e.lower() for e in settings.extensions)
        self.ignore_names = ignore_files(settings)
        self.rules = PathRules(self.real, exclude_rules(settings), self.ignore_names)
        self.burst = Burst(pace.debounce_s)
        self.retry_s = pace.retry_s
        self.place: tuple[int, int] | None = _UNKNOWN  # device and inode; None: out of reach
        self.is_armed = False
        self.seen: int | None = None  # digest of the last comparison
        self.next_check = 0.0

    def identify(self) -> tuple[int, int] | None:
        """Which folder the root is now; None when it can't be listed."""
        try:
            with os.scandir(self.real):
                status = Path(self.real).stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def concerns(self, raw: str, is_dir: bool, is_change_of_dir: bool) -> str | None:
        """The key of a path that an event is about, or None if no note is concerned."""
        prefix = self.real.rstrip(os.sep) + os.sep
        if not raw.startswith(prefix):
            return None
        rel = raw[len(prefix) :].replace(os.sep, "/")
        name = rel.rpartition("/")[2]
        if is_dir and not is_change_of_dir:
            return None
        if name in self.ignore_names:
            self.rules.forget()
        elif not is_dir and not name.lower().endswith(self.extensions):
            return None
        return None if self.rules.passes_over(rel, is_dir) else key_of(rel)


def watch_vaults(
    roots: Sequence[Path],
    on_change: OnChange,
    stop: threading.Event,
    settings: IndexSettings,
    *,
    notify: Notify = lambda _line: None,
    make_observer: ObserverFactory | None = None,
    pace: Pace | None = None,
) -> None:
    """Call ``on_change`` for each vault once at the start (what changed before the watch stood
    must not be missed), then after each burst of changes, until ``stop`` is set.

    Runs in the calling thread, and so does ``on_change``; what happens meanwhile is told after
    it. A RagvaultError out of it is passed to ``notify`` and tried again later (the index was
    busy, the disk full, the drive unplugged); Interrupted and anything else ends the watch.
    ``notify`` is told, once each, when events can't be had and when a vault goes or comes back.
    """
    pace = pace or Pace()
    followed = [_Root(path, settings, pace) for path in roots]
    _Watch(followed, on_change, stop, settings, notify, make_observer or _observer, pace).run()


def _observer() -> BaseObserver:
    from watchdog.observers import Observer

    return Observer()


class _Watch:
    """The loop, and what the observer's threads tell it."""

    def __init__(
        self,
        roots: Sequence[_Root],
        on_change: OnChange,
        stop: threading.Event,
        settings: IndexSettings,
        notify: Notify,
        make_observer: ObserverFactory,
        pace: Pace,
    ) -> None:
        self.roots = roots
        self.on_change = on_change
        self.stop = stop
        self.settings = settings
        self.notify = notify
        self.make_observer = make_observer
        self.pace = pace
        self.observer: BaseObserver | None = None
        self.has_events = True
        self.woken = threading.Condition()

    def run(self) -> None:
        try:
            self._look_after()
            for root in self.roots:
                if root.place is not None:
                    root.burst.add("", time.monotonic() - root.burst.debounce_s)
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
        keys = [
            root.concerns(raw, event.is_directory, event.event_type != "modified")
            for raw in (os.fsdecode(event.src_path), os.fsdecode(event.dest_path or b""))
            if raw
        ]
        for key in filter(None, keys):
            with self.woken:
                root.burst.add(key, time.monotonic())
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
            paths = root.burst.take()
        self._compare(root, is_baseline=True)  # what the run is about to see is no news afterwards
        try:
            self.on_change(root.path, paths)
        except Interrupted:
            raise
        except RagvaultError as error:
            if isinstance(error, VaultPathError) and root.identify() is None:
                return  # ``_look_after`` tells, and waits for it to come back
            self.notify(f"{error.message} {error.hint} It is tried again in {root.retry_s:g} s.")
            with self.woken:
                for path in paths:
                    root.burst.add(path, now)
                root.burst.add("", now)
                root.burst.not_before = time.monotonic() + root.retry_s
            root.retry_s = min(2 * root.retry_s, MAX_RETRY_S)
        else:
            root.retry_s, root.burst.not_before = self.pace.retry_s, 0.0

    # -- looking after the roots and the observer

    def _look_after(self) -> None:
        if self.observer is not None and not _is_well(self.observer):
            self._disarm()
            with self.woken:
                for root in self.roots:  # nobody listened since it died
                    root.burst.add("", time.monotonic())
        for root in self.roots:
            place = root.identify()
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
            root.rules.forget()
            with self.woken:
                root.burst.add("", time.monotonic())

    def _arm(self, root: _Root) -> None:
        """Ask for events. If there are no watches left, say so and poll from now on."""
        from watchdog.events import (
            DirCreatedEvent,
            DirDeletedEvent,
            DirMovedEvent,
            FileAttribEvent,
            FileClosedEvent,
            FileCreatedEvent,
            FileDeletedEvent,
            FileModifiedEvent,
            FileMovedEvent,
        )

        wanted: list[type[FileSystemEvent]] = [  # not opened, not closed unwritten: our own reads
            DirCreatedEvent, DirDeletedEvent, DirMovedEvent, FileAttribEvent, FileClosedEvent,
            FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent,
        ]  # fmt: skip
        try:
            if self.observer is None:
                self.observer = self.make_observer()
                self.observer.start()
            self.observer.schedule(
                _handler(self, root), root.real, recursive=True, event_filter=wanted
            )
            root.is_armed = True
        except OSError as error:
            if root.identify() is None:
                return  # it went just now
            self._disarm()
            self.has_events = False
            self.notify(_no_events(error, self.pace.poll_s))

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
            digest = hash(tuple(_signature(root.path, self.settings)))
        except RagvaultError:
            return  # the root went just now; the next round sees it
        took = time.monotonic() - now
        wait = self.pace.check_s if self.has_events else self.pace.poll_s
        root.next_check = now + max(wait, took / POLL_SHARE)
        is_news = root.seen is not None and digest != root.seen
        root.seen = digest
        if is_news and not is_baseline:
            with self.woken:
                root.burst.add("", now)


def _handler(watch: _Watch, root: _Root) -> FileSystemEventHandler:
    """What watchdog calls for each event of one root."""
    from watchdog.events import FileSystemEventHandler

    class Handler(FileSystemEventHandler):
        def dispatch(self, event: FileSystemEvent) -> None:
            watch.heard(root, event)

    return Handler()


def _signature(root: Path, settings: IndexSettings) -> Iterator[tuple[str, int, int]]:
    for file in walk(root, settings).files:
        yield file.rel_path, file.size, file.mtime_ns


def _is_well(observer: BaseObserver) -> bool:
    return observer.is_alive() and all(e.is_alive() for e in observer.emitters)


def _no_events(error: OSError, poll_s: float) -> str:
    if error.errno in (errno.ENOSPC, errno.EMFILE, errno.ENFILE):
        return (
            "The system has no file watches left (fs.inotify.max_user_watches or "
            f"max_user_instances); the vault is looked through every {poll_s:g} s instead."
        )
    return (
        f"Changes can't be watched here ({error.strerror or error}); "
        f"the vault is looked through every {poll_s:g} s instead."
    )
