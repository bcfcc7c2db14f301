"""The bundled model's graph as ONNX Runtime optimised it, kept in the index folder.

Hashing 22 MB, rewriting the graph and optimising it takes a fifth of a cold start's processor
time; reading what came of it a sixth of that. It is a cache: lost, damaged or unwritable, it is
made again from the model's own, checked file. Its name says what it was made from, and the CRC-32
of its bytes: ONNX Runtime trusts what it reads.
"""

from __future__ import annotations

import tempfile
import zlib
from contextlib import suppress
from pathlib import Path

from ragvault.adapters.onnx.runtime import open_session, version

_PREFIX, _SUFFIX = "model-", ".ort"


def read_prepared(folder: Path | None, kind: str) -> bytes | None:
    """The graph of this ``kind`` (a word), when it is there and whole. Linear in its size."""
    for file in folder.glob(_name(kind, "*")) if folder is not None else ():
        with suppress(OSError):
            data = file.read_bytes()
            if file.name == _name(kind, _checksum(data)):
                return data
    return None


def prepare(folder: Path | None, kind: str, model: bytes) -> bytes | None:
    """Optimise the graph and keep it, in place of the others. None: it can't be kept."""
    if folder is None:
        return None
    # A full or read-only disk costs the cache and not the command. ONNX Runtime has no class for
    # that; what is wrong with the model is said when it is opened without.
    with suppress(Exception), tempfile.TemporaryDirectory(prefix=".model", dir=folder) as made:
        file = Path(made) / "graph"
        open_session(model, save_to=file)
        data = file.read_bytes()
        for old in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
            old.unlink(missing_ok=True)
        file.replace(folder / _name(kind, _checksum(data)))
        return data
    return None


def _name(kind: str, checksum: str) -> str:
    return f"{_PREFIX}{kind}-{version()}-{checksum}{_SUFFIX}"


def _checksum(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"
