"""ONNX Runtime, used in one way: one text a run on one thread, as many runs side by side as there
are cores. So a text's numbers can't depend on what it is computed with.
"""

from __future__ import annotations

import os
import tempfile
import threading
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ragvault.adapters.models import Purpose, first_line
from ragvault.adapters.onnx.int8 import rows_first
from ragvault.errors import ModelError

T = TypeVar("T")

_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
_GRAPH_BYTES = 1 << 28  # larger files are read by onnxruntime alone
_PREPARED = "model-int8-{}-{}.ort"
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Session:
    """A BERT-like model: token ids in, one of its ``outputs`` out. ``opened`` opens what is
    computed with, where that isn't the file as it is. Raises the purpose's error for a file that
    can't be loaded and for a run that fails."""

    def __init__(
        self, file: Path, purpose: Purpose, opened: Callable[[], Any] | None = None
    ) -> None:
        self._file = file
        self._purpose = purpose
        try:
            self._session = opened() if opened else _open_file(file)
        except Exception as error:
            what, remedy = f"can't be loaded: {first_line(error)}", purpose.remedy
            if "External " in str(error):  # data or initializer: a file beside it
                what = "is incomplete: the file of its weights beside it is missing or was cut off"
                remedy = "Copy or download the model's folder again, whole."
            raise purpose.error(f"The {purpose.noun} {file} {what}.", remedy) from error
        self._inputs = tuple(item.name for item in self._session.get_inputs())
        self.outputs = tuple(item.name for item in self._session.get_outputs())
        unknown = set(self._inputs) - set(_INPUTS)
        if unknown:
            raise self.bad(f"asks for inputs that ragvault doesn't know: {sorted(unknown)}")

    def run(
        self, ids: Sequence[int], types: Sequence[int] | None = None, output: str | None = None
    ) -> Any:
        """An output for one text, an array, the first unless another is named; ``types`` are 0
        where they aren't given."""
        import numpy as np

        row = np.array([ids], np.int64)
        kinds = np.zeros_like(row) if types is None else np.array([types], np.int64)
        feed = dict(zip(_INPUTS, (row, np.ones_like(row), kinds), strict=True))
        try:
            wanted = [output or self.outputs[0]]
            return self._session.run(wanted, {name: feed[name] for name in self._inputs})[0]
        except Exception as error:
            raise self.bad(f"failed on {len(ids)} tokens: {first_line(error)}") from error

    def bad(self, what: str) -> ModelError:
        return self._purpose.error(
            f"The {self._purpose.noun} {self._file} {what}.", self._purpose.remedy
        )


def _open_file(file: Path) -> Any:
    """As it is, or as it costs less: see ``rows_first``. Raises whatever onnxruntime does."""
    if file.stat().st_size <= _GRAPH_BYTES:
        with suppress(ValueError, IndexError):  # no model: onnxruntime says so
            if (cheaper := rows_first(file.read_bytes(), file.parent)) is not None:
                return open_session(cheaper, beside=file.resolve().parent)
    return open_session(str(file))


def open_session(
    model: str | bytes,
    *,
    beside: Path | None = None,
    save_to: Path | None = None,
    is_prepared: bool = False,
) -> Any:
    """Raises whatever onnxruntime does. ``beside`` is the folder of the weights that ``model``
    keeps in a file of their own. The optimised graph goes to ``save_to``; one that comes from
    there ``is_prepared``."""
    ort = _library()
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if beside is not None:
        options.add_session_config_entry(_WEIGHTS_FOLDER, str(beside))
    if save_to is not None:
        options.optimized_model_filepath = str(save_to)
        options.add_session_config_entry("session.save_model_format", "ORT")
    if is_prepared:
        # Not ``use_ort_model_bytes_for_initializers``, which is quicker still: 1.32 crashes.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def opener(folder: Path | None, made: Callable[[], bytes]) -> Callable[[], Any]:
    """What opens the graph that ``made`` makes, as ONNX Runtime optimised it: as an earlier run
    kept it in the index ``folder``, else as it is kept now. Linear in its size.

    Hashing 22 MB, rewriting the graph and optimising it takes a fifth of a cold start's processor
    time; reading what came of it a sixth of that. It is a cache: lost, damaged or unwritable, it is
    made again from the model's own, checked file. Its name says by which version, and the CRC-32 of
    its bytes: ONNX Runtime trusts what it reads.
    """
    if folder is None:
        return partial(open_session, made())

    def named(data: bytes) -> str:
        return _PREPARED.format(version, f"{zlib.crc32(data):08x}")

    version = _library().__version__
    found = folder.glob(_PREPARED.format(version, "*"))
    for file in (path for path in found if path.is_file()):  # a pipe would be waited for
        with suppress(OSError):
            data = file.read_bytes()
            if file.name == named(data):
                return partial(open_session, data, is_prepared=True)
    model = made()
    # A full or read-only disk costs the cache and not the command. ONNX Runtime has no class for
    # that; what is wrong with the model is said when it is opened without.
    with suppress(Exception), tempfile.TemporaryDirectory(prefix=".model", dir=folder) as place:
        kept = Path(place) / "graph"
        open_session(model, save_to=kept)
        data = kept.read_bytes()
        for old in folder.glob(_PREPARED.format("*", "*")):
            old.unlink(missing_ok=True)
        kept.replace(folder / named(data))
        return partial(open_session, data, is_prepared=True)
    return partial(open_session, model)


def _library() -> Any:
    # Read once, on import: from 1.31 on it would otherwise make a device id under ~/.cache and
    # report to its makers.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


class SideBySide:
    """So many threads to run a model in, made at their first use."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def map(self, work: Callable[[str], T], texts: Sequence[str]) -> list[T]:
        """``work`` on each text, the longest first: the last runs, where a thread may idle, are the
        short ones. When one fails, or Ctrl-C arrives, the others end after the text that they are
        at, and the exception goes on up."""
        if min(self._threads, len(texts)) < 2:
            return [work(text) for text in texts]
        with self._lock:
            pool = self._pool = self._pool or ThreadPoolExecutor(self._threads, "ragvault-model")
        jobs: dict[int, Future[T]] = {}
        try:
            for index in sorted(range(len(texts)), key=lambda i: -len(texts[i])):
                jobs[index] = pool.submit(work, texts[index])
            done = {index: job.result() for index, job in jobs.items()}
        finally:
            for job in jobs.values():
                job.cancel()
        return [done[index] for index in range(len(texts))]

    def close(self) -> None:
        """Waits for what is running. It may be used again."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
