"""Following vaults: each burst of changes → one call, for as long as it is wanted.

The operating system's events (watchdog) say when to look, never what there is: a run walks the
vault anyway. Every minute the walk is compared with the one before, which covers what has no
events (network drives, an overflown queue, no watches left). A run that fails is tried again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.config.settings import IndexSettings
from ragvault.errors import Interrupted, RagvaultError
from ragvault.ingest.ignore import ignore_files, is_hidden
from ragvault.ingest.paths import shown
from ragvault.ingest.walk import walk

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

POLL_SHARE = 0.05  # at most this share of the time goes into comparing large vaults


@dataclass(slots=True)
class _Root:
    """One vault that is followed. ``due``: when to tell of it, on the monotonic clock (None:
    nothing is to be told). ``seen`` is the digest of the last walk (None: it is out of reach),
    ``failure`` what the last run failed with."""

    path: Path
    real: str
    due: float | None = 0.0
    seen: int | None = None
    failure: str = ""


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


@dataclass
class Watch:
    """Calls ``on_change`` for the root of each vault, ``paths``: once at the start (what changed
    before the watch stood must not be missed), then after each burst of changes. A RagvaultError of
    ``on_change`` is passed to ``notify``, once, and tried again after ``retry_s`` (the index was
    busy, the disk full, the drive unplugged); anything else ends the watch. ``notify`` is also told
    when events can't be had and when a run succeeds again.

    In seconds: what comes within ``debounce_s`` of a first change (a save in several steps, or of
    several notes) is one burst with it; the walks are compared every ``check_s`` while events come,
    every ``poll_s`` when none can; ``stop`` is looked at every ``pulse_s``.
    """

    paths: Sequence[Path]
    on_change: Callable[[Path], None]
    stop: threading.Event
    settings: IndexSettings
    notify: Callable[[str], None] = lambda _line: None
    make_observer: Callable[[], BaseObserver] | None = None
    debounce_s: float = 1.0
    check_s: float = 60.0
    poll_s: float = 5.0
    pulse_s: float = 1.0
    retry_s: float = 5.0

    def __post_init__(self) -> None:
        self.roots = [_Root(path, os.path.realpath(path)) for path in self.paths]
        self.observer: BaseObserver | None = None
        self.has_events = True
        self.next_look = 0.0
        self.woken = threading.Condition()

    def run(self) -> None:
        """Until ``stop`` is set; all in the calling thread."""
        try:
            self._arm()
            self._look()
            while not self.stop.is_set():
                for root in self.roots:
                    self._tell_if_due(root)
                with self.woken:
                    self.woken.wait(self._pause())
                if time.monotonic() >= self.next_look:
                    self._look()
        finally:
            self._disarm()

    def heard(self, root: _Root, event: FileSystemEvent) -> None:
        """Called in the observer's threads."""
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if any(concerns(p, event.is_directory, root.real, self.settings) for p in paths):
            self._add(root)

    def _add(self, root: _Root) -> None:
        with self.woken:
            if root.due is None:
                root.due = time.monotonic() + self.debounce_s
                self.woken.notify()

    # -- telling

    def _pause(self) -> float:
        times = [self.next_look, *(root.due for root in self.roots if root.due is not None)]
        return max(0.0, min(self.pulse_s, min(times) - time.monotonic()))

    def _tell_if_due(self, root: _Root) -> None:
        with self.woken:
            if root.due is None or root.due > time.monotonic() or self.stop.is_set():
                return
            root.due = None
        try:
            self.on_change(root.path)
        except Interrupted:
            raise
        except RagvaultError as error:
            if error.message != root.failure:
                self.notify(f"{error.message} {error.hint} It is tried again.")
            root.failure = error.message
            root.due = time.monotonic() + self.retry_s
        else:
            if root.failure:
                self.notify(f"{shown(str(root.path))} is followed again.")
                if self.has_events:  # a drive that came back is another folder than before
                    self._arm()
            root.failure = ""

    # -- looking after the roots and the observer

    def _look(self) -> None:
        """Does a walk differ from the last one, and does the observer live? Linear in the notes."""
        started = time.monotonic()
        threads = [self.observer, *self.observer.emitters] if self.observer else []
        if not all(thread.is_alive() for thread in threads):
            self._arm()
            for root in self.roots:  # nobody listened since it died
                self._add(root)
        for root in self.roots:
            digest = self._digest(root)
            if digest != root.seen and self.next_look:  # not the first look
                self._add(root)
            root.seen = digest
        took = time.monotonic() - started
        wait = self.check_s if self.has_events else self.poll_s
        self.next_look = time.monotonic() + max(wait, took / POLL_SHARE)

    def _digest(self, root: _Root) -> int | None:
        try:
            files = walk(root.path, self.settings).files
        except RagvaultError:
            return None
        return hash(tuple((f.rel_path, f.size, f.mtime_ns) for f in files))

    def _arm(self) -> None:
        """Ask for events, afresh. If there are no watches left, say so and poll from now on."""
        from watchdog import events
        from watchdog.observers import Observer

        watch = self

        class Handler(events.FileSystemEventHandler):
            def __init__(self, root: _Root) -> None:
                self.root = root

            def dispatch(self, event: FileSystemEvent) -> None:
                watch.heard(self.root, event)

        wanted: list[type[FileSystemEvent]] = [  # not opened, not closed unwritten: our own reads
            events.DirCreatedEvent, events.DirDeletedEvent, events.DirMovedEvent,
            events.FileAttribEvent, events.FileClosedEvent, events.FileCreatedEvent,
            events.FileDeletedEvent, events.FileModifiedEvent, events.FileMovedEvent,
        ]  # fmt: skip
        self._disarm()
        try:
            self.observer = (self.make_observer or Observer)()
            self.observer.start()
            for root in self.roots:
                if Path(root.real).is_dir():  # else a run says that it is gone
                    self.observer.schedule(
                        Handler(root), root.real, recursive=True, event_filter=wanted
                    )
            self.has_events = True
        except OSError as error:
            self._disarm()
            self.has_events = False
            reason = f"Changes can't be watched here ({error.strerror or error})"
            if error.errno in (errno.ENOSPC, errno.EMFILE, errno.ENFILE):
                limits = "fs.inotify.max_user_watches or max_user_instances"
                reason = f"The system has no file watches left ({limits})"
            self.notify(f"{reason}; the vault is looked through every {self.poll_s:g} s instead.")

    def _disarm(self) -> None:
        """Stop the observer. Its threads may be dead already, or stuck on a dead drive."""
        observer, self.observer = self.observer, None
        if observer is not None:
            with contextlib.suppress(RuntimeError, OSError):
                observer.stop()
                observer.join(timeout=self.pulse_s)
