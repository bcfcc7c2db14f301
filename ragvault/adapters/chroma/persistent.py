"""Chroma embedded in this process, its files in the index folder.

Chroma 1.5.9 trusts its files: with ``data_level0.bin`` cut short (a full disk, a power cut) or
overwritten in places the process dies of SIGSEGV, and with a segment's folder deleted it counts
every vector and finds only those of its write-ahead queue. So ``store.json`` beside them keeps the
size and checksum of each, as the last writer left them, and nothing is opened that differs; while
somebody writes it keeps none. Measured: 80 ms of processor for 100,000 vectors of 384.

Opening it changes a few bytes of ``chroma.sqlite3``, readers too: that file is asked of SQLite
where its checksum differs. What it holds beside the vectors only proposes; the catalog decides.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ragvault.adapters.chroma.index import ChromaIndex, chroma_settings, import_chromadb
from ragvault.adapters.files import atomic_write, folder_size, private_folder, read_object, reported
from ragvault.adapters.sqlite.integrity import page_problems, problems_of
from ragvault.config.settings import StoreSettings
from ragvault.errors import RagvaultError, StoreDamagedError, StoreError

FOLDER_NAME = "chroma"  # in the index folder
STORE_FILE = "chroma.sqlite3"
STATE_FILE = "store.json"
_SEGMENT_IDS = "index_metadata.pickle"
_SPELLINGS = itertools.count(1)
_BLOCK = 1 << 18  # bytes read at a time


class PersistentChroma(ChromaIndex):
    """``ports.VectorIndex`` for ``store.mode: persistent``, opened at the first use."""

    def __init__(self, index_folder: Path, _settings: StoreSettings | None = None) -> None:
        self._folder = index_folder / FOLDER_NAME
        super().__init__(str(self._folder), server=False)
        self._opened_identity: str | None = None
        self._is_writing = False
        self._counts: dict[str, int] = {}
        self._spelling = next(_SPELLINGS)

    @property
    def identity(self) -> str:
        with self._lock:
            self._open()
            identity = _identity(self._folder)
            if identity is None:
                raise StoreError(f"The vector store {self._place} vanished.")
            return identity

    def stored_identity(self) -> str | None:
        return None if damage(self._folder) else _identity(self._folder)

    def count(self, key: str) -> int:
        """Once between two openings or writes: Chroma goes through all ids for it, 15 ms at
        100,000."""
        with self._lock:
            if key not in self._counts:
                self._counts[key] = super().count(key)
            return self._counts[key]

    def seal(self) -> None:
        with self._lock:
            is_whole = self._is_writing and not self._has_failed
            self._is_writing = False
            if is_whole and _identity(self._folder) == self._opened_identity:
                with reported(self._folder):
                    self._write_state(_checksums(self._folder))

    def close(self) -> None:
        with self._lock:
            self._counts.clear()
            super().close()
            self.seal()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Nobody trusts the files until they are sealed, and never if a write failed half way."""
        with self._lock:
            self._open()
            self._counts.clear()
            if not self._is_writing:
                self._write_state(None)
                self._is_writing = True
            try:
                yield
            except BaseException:
                self._has_failed = True
                raise

    def _write_state(self, files: dict[str, list[int]] | None) -> None:
        identity = read_object(self._folder / STATE_FILE).get("id") or os.urandom(16).hex()
        atomic_write(self._folder / STATE_FILE, json.dumps({"id": identity, "files": files}))

    def size(self) -> int:
        return folder_size(self._folder)

    def sync_to(self, generation: int) -> None:
        """Reopens (some 30 ms, and a slower first query) when the catalog's generation moved, or
        another store is there: an open client answers from what it has in memory, whatever other
        processes write."""
        with self._lock:
            stale = (
                generation != self._generation or _identity(self._folder) != self._opened_identity
            )
            if self._client is not None and stale:
                self.close()
            self._generation = generation

    def reset(self) -> None:
        """Takes the folder away, however damaged; the next use makes a new store. It is renamed
        first: another process may have it open."""
        with self._lock:
            self._is_writing = False
            try:
                self.close()
            except RagvaultError:
                self._client = None  # it is on its way out, whatever state it is in
            with reported(self._folder):
                if self._folder.is_dir() and not self._folder.is_symlink():
                    aside = self._folder.with_name(f"{FOLDER_NAME}.{os.urandom(4).hex()}.old")
                    self._folder.rename(aside)
                    shutil.rmtree(aside, ignore_errors=True)
                else:
                    self._folder.unlink(missing_ok=True)

    def _exists(self) -> bool:
        return self._client is not None or (
            (self._folder / STORE_FILE).exists() or self._folder.is_file()
        )

    def _connect(self) -> Any:
        problem = damage(self._folder)
        if problem is not None:
            raise StoreDamagedError(
                f"The vector store {self._place} can't be used: {problem}.",
                "Run `ragvault index`: it is rebuilt, nothing is embedded again.",
            )
        private_folder(self._folder)
        if not read_object(self._folder / STATE_FILE):
            self._write_state(None)
            self._is_writing = True
        self._has_failed = False
        chromadb = import_chromadb()
        # chromadb keeps one system for each spelling of a path, also one that failed to start,
        # and hands it out again. So each instance, and each try after a failure, has its own.
        path = os.path.join(self._folder, *(["."] * self._spelling))  # noqa: PTH118 - a Path drops dots
        try:
            client = chromadb.PersistentClient(path=path, settings=chroma_settings())
        except BaseException:
            self._spelling = next(_SPELLINGS)
            raise
        self._opened_identity = _identity(self._folder)
        return client


def damage(folder: Path) -> str | None:
    """Why the store in ``folder`` is not to be opened, in a few words; None when it may be (or
    when there is none). Linear in its bytes."""
    try:
        if folder.exists() and not folder.is_dir():
            return "a file is in its place"
        if not (folder / STORE_FILE).exists() and not (folder / STATE_FILE).exists():
            return None
        if not (folder / STATE_FILE).exists():
            return f"{STATE_FILE} is missing (version 0.1 wrote none)"
        files = read_object(folder / STATE_FILE).get("files")
        if not isinstance(files, dict) or STORE_FILE not in files:
            return "the last run of `ragvault index` didn't finish, or is writing it now"
        for name, expected in files.items():
            if not (folder / name).is_file():
                return f"{name} is missing"
            if expected != _checksum(folder / name) and not (
                name == STORE_FILE and _is_sound(folder / name)
            ):
                return f"{name} isn't as it was left"
    except OSError as error:
        return f"it can't be read ({error.strerror or error})"
    return None


def _identity(folder: Path) -> str | None:
    identity = read_object(folder / STATE_FILE).get("id")
    return f"persistent:{identity}" if identity and (folder / STORE_FILE).exists() else None


def _checksums(folder: Path) -> dict[str, list[int]]:
    """Of what Chroma loads. A segment without its index of ids was never saved: each opening
    begins it anew, from the queue in the database."""
    saved = (path for ids in folder.glob(f"*/{_SEGMENT_IDS}") for path in ids.parent.iterdir())
    return {
        path.relative_to(folder).as_posix(): _checksum(path)
        for path in (folder / STORE_FILE, *sorted(saved))
    }


def _checksum(path: Path) -> list[int]:
    """Size and CRC-32: against damage, not against an enemy."""
    size = crc = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            size, crc = size + len(block), zlib.crc32(block, crc)
    return [size, crc]


def _is_sound(store: Path) -> bool:
    return store.stat().st_size > 0 and not problems_of(store, partial(page_problems, quick=True))
