"""Chroma's own files, looked over before Chroma opens them.

Chroma 1.5.9 trusts its files. Measured with the folder of an HNSW segment deleted: it opens, counts
every vector, and finds only those of its write-ahead queue. With ``data_level0.bin`` cut short
(a full disk, a power cut) the process dies of SIGSEGV. Both are told apart here by a few ``stat``
calls and one small query, no Chroma imported.
"""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

STORE_FILE = "chroma.sqlite3"

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
