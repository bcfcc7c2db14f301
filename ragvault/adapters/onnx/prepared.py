"""The bundled model's graph as ONNX Runtime optimised it, kept in the index folder.

Hashing 22 MB, rewriting the graph and optimising it takes a fifth of a cold start's processor
time; reading what came of it a sixth of that. It is a cache: lost, damaged or unwritable, it is
made again from the model's own, checked file. Its name says by which version, and the CRC-32 of
its bytes: ONNX Runtime trusts what it reads.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ragvault.adapters.onnx.runtime import open_session, version

_NAME = "model-int8-{}-{}.ort"


def opener(folder: Path | None, made: Callable[[], bytes]) -> Callable[[], Any]:
    """What opens the graph that ``made`` makes: as an earlier run kept it, else as it is kept now.
    Linear in its size."""
    for file in folder.glob(_NAME.format(version(), "*")) if folder is not None else ():
        with suppress(OSError):
            data = file.read_bytes()
            if file.name == _named(data):
                return partial(open_session, data, is_prepared=True)
    model = made()
    # A full or read-only disk costs the cache and not the command. ONNX Runtime has no class for
    # that; what is wrong with the model is said when it is opened without.
    if folder is not None:
        with suppress(Exception), tempfile.TemporaryDirectory(prefix=".model", dir=folder) as place:
            kept = Path(place) / "graph"
            open_session(model, save_to=kept)
            data = kept.read_bytes()
            for old in folder.glob(_NAME.format("*", "*")):
                old.unlink(missing_ok=True)
            kept.replace(folder / _named(data))
            return partial(open_session, data, is_prepared=True)
    return partial(open_session, model)


def _named(data: bytes) -> str:
    return _NAME.format(version(), f"{zlib.crc32(data):08x}")
