"""Chroma embedded in this process, its files in the index folder.

Chroma 1.5.9 trusts its files. Measured with the folder of an HNSW segment deleted: it opens, counts
every vector, and finds only those of its write-ahead queue. With ``data_level0.bin`` cut short
(a full disk, a power cut) the process dies of SIGSEGV. So they are looked over before Chroma opens
them, by a few ``stat`` calls and one small query.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragvault.adapters.chroma.index import ChromaIndex, chroma_settings, import_chromadb
from ragvault.adapters.files import folder_size, os_error
from ragvault.errors import RagvaultError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from ragvault.config.settings import StoreSettings

FOLDER_NAME = "chroma"  # in the index folder
STORE_FILE = "chroma.sqlite3"
_ID_FILE = "store-id"
_SPELLINGS = itertools.count(1)
_LOOK_AGAIN_S = (0.05, 0.3)  # another process may be saving its vectors just now

_DATA = "data_level0.bin"
_SEGMENT_FILES = ("header.bin", _DATA, "length.bin", "link_lists.bin", "index_metadata.pickle")
# hnswlib's header: format version, offset, capacity, elements, bytes an element.
_HEADER = struct.Struct("<i4Q")
_HEADER_VERSION = 1
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# A vector segment that was saved has a row in max_seq_id; before that all it has is in the queue.
_SAVED_SEGMENTS = (
    "SELECT s.id FROM segments s JOIN max_seq_id m ON m.segment_id = s.id WHERE s.scope = 'VECTOR'"
)


class PersistentChroma(ChromaIndex):
    """``ports.VectorIndex`` for ``store.mode: persistent``: Chroma inside this process, its files
    in the index folder. Opened at the first use."""

    def __init__(self, index_folder: Path, _settings: StoreSettings | None = None) -> None:
        self._folder = index_folder / FOLDER_NAME
        super().__init__(str(self._folder), server=False)
        self._opened_identity: str | None = None
        self._spelling = next(_SPELLINGS)

    @property
    def identity(self) -> str:
        """Makes the store when there is none."""
        with self._lock:
            self._open()
            identity = persistent_identity(self._folder)
            if identity is None:
                raise StoreError(f"The vector store {self._place} vanished.")
            return identity

    def stored_identity(self) -> str | None:
        return None if damage(self._folder) else persistent_identity(self._folder)

    def size(self) -> int:
        return folder_size(self._folder)

    def sync_to(self, generation: int) -> None:
        """Reopens (some 30 ms, and a slower first query) when the catalog's generation moved, or
        another store is there, since this one was opened.

        An open client answers from the index that it has in memory, whatever other processes
        write; Chroma has no call to refresh it.
        """
        with self._lock:
            stale = (
                generation != self._generation
                or persistent_identity(self._folder) != self._opened_identity
            )
            if self._client is not None and stale:
                self.close()
            self._generation = generation

    def reset(self) -> None:
        """Deletes the folder's content, however damaged; the next use makes a new store."""
        with self._lock:
            try:
                self.close()
            except RagvaultError:
                self._client = None  # it is on its way out, whatever state it is in
            try:
                if self._folder.is_dir() and not self._folder.is_symlink():
                    shutil.rmtree(self._folder)
                else:
                    self._folder.unlink(missing_ok=True)
            except OSError as error:
                raise os_error(error, self._folder) from error

    def _exists(self) -> bool:
        return self._client is not None or (
            (self._folder / STORE_FILE).exists() or self._folder.is_file()
        )

    def _connect(self) -> Any:
        self._refuse_damage()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if persistent_identity(self._folder) is None:
                self._write_identity()
        except OSError as error:
            raise os_error(error, self._folder) from error
        chromadb = import_chromadb()
        # chromadb keeps one system for each spelling of a path, also one that failed to start,
        # and hands it out again. So each instance, and each try after a failure, has its own.
        path = os.path.join(self._folder, *(["."] * self._spelling))  # noqa: PTH118 - a Path drops dots
        try:
            client = chromadb.PersistentClient(path=path, settings=chroma_settings())
        except BaseException:
            self._spelling = next(_SPELLINGS)
            raise
        self._opened_identity = persistent_identity(self._folder)
        return client

    def _refuse_damage(self) -> None:
        problem = damage(self._folder)
        for pause in _LOOK_AGAIN_S:
            if problem is None:
                return
            time.sleep(pause)
            problem = damage(self._folder)
        if problem is not None:
            raise StoreDamagedError(
                f"The vector store {self._place} is damaged ({problem}).",
                "Run `ragvault index`: it is rebuilt, nothing is embedded again.",
            )

    def _prove(self, collection: Any) -> None:
        """Read the oldest vector: where the segment's content is garbage, this fails, while
        ``query`` quietly finds something else."""
        collection.get(limit=1, include=["embeddings"])

    def _write_identity(self) -> None:
        temporary = self._folder / f"{_ID_FILE}.{os.getpid()}"
        temporary.write_text(os.urandom(16).hex(), encoding="ascii")
        temporary.replace(self._folder / _ID_FILE)


def persistent_identity(folder: Path) -> str | None:
    """The identity of the store in ``folder``, without opening it; None when there is none."""
    if not (folder / STORE_FILE).exists():
        return None
    try:
        name = (folder / _ID_FILE).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return f"persistent:{name}" if name else None


def damage(folder: Path) -> str | None:
    """What is wrong with the store in ``folder``, in a few words; None when nothing shows (or
    when there is no store). Linear in the store's collections.

    A process that is saving its vectors at this moment can make a sound store look damaged.
    """
    try:
        if folder.exists() and not folder.is_dir():
            return "a file is in its place"
        store = folder / STORE_FILE
        if not store.exists():
            return None
        if not store.stat().st_size:
            return f"{STORE_FILE} is empty"
        problems = (_segment_damage(folder / name) for name in _saved_segments(store))
        return next((problem for problem in problems if problem), None)
    except sqlite3.Error as error:
        if (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGE:
            return f"{STORE_FILE}: {error}"
        return None  # locked, or of another version: Chroma will say
    except OSError:
        return None  # no right to look: Chroma will say


def _saved_segments(store: Path) -> list[str]:
    connection = sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)
    try:
        return [row[0] for row in connection.execute(_SAVED_SEGMENTS)]
    finally:
        connection.close()


def _segment_damage(segment: Path) -> str | None:
    for name in _SEGMENT_FILES:
        if not (segment / name).is_file():
            return f"{segment.name}/{name} is missing"
    header = (segment / "header.bin").read_bytes()
    if len(header) < _HEADER.size:
        return f"{segment.name}/header.bin is cut short"
    version, _offset, _capacity, elements, size = _HEADER.unpack_from(header)
    if version == _HEADER_VERSION and (segment / _DATA).stat().st_size < elements * size:
        return f"{segment.name}/{_DATA} is cut short"
    return None
