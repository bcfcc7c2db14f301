"""What the adapters of sentence-transformers share: finding a model, loading it once, and its
failures in ragvault's words.

Importing torch takes seconds, so that is put off until the model itself is needed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragvault.adapters.cores import usable_cores
from ragvault.adapters.models import Notify, Purpose, first_line
from ragvault.errors import ModelError


@dataclass(frozen=True, slots=True)
class TorchKind:
    """A kind of model, and how its failures are told.

    ``marker`` is the file by which its folder is known, ``what`` it is for people. ``missing``
    and ``install`` are said when the extra isn't installed, ``remedy`` when the model fails.
    """

    purpose: Purpose
    what: str
    marker: str
    missing: str
    install: str
    remedy: str


class TorchModel:
    """``model`` is a hub id or a folder; ``path`` a folder that is used instead of it.

    ``build`` makes the library's object of a folder or hub id; its second argument says that
    nothing may be fetched. Thread-safe. All but ``close`` raise the error of the kind's purpose
    when the extra or the model is missing, or fails.
    """

    def __init__(
        self,
        kind: TorchKind,
        build: Callable[[str, bool], Any],
        *,
        model: str,
        path: Path | None,
        threads: int,
        download: bool,
        notify: Notify,
    ) -> None:
        self._kind = kind
        self._build = build
        self._model = model
        self._path = path.expanduser() if path is not None else None
        self._threads = threads or usable_cores()
        self._download = download
        self._notify = notify
        self._lock = threading.Lock()
        self._loaded: Any = None

    @property
    def name(self) -> str:
        """For people."""
        return f"{self._path or self._model} (sentence-transformers)"

    def folder(self) -> Path | None:
        """The folder of the model's files; None when the hub's cache hasn't got them."""
        kind, section = self._kind, self._kind.purpose.section
        named = self._path or Path(self._model)
        if (named / kind.marker).is_file():
            return named
        if self._path is not None:
            raise kind.purpose.error(
                f"{self._path} ({section}.path) is not a folder of {kind.what}: it has no "
                f"{kind.marker}.",
                f"Correct `{section}.path`, or leave it out and name a hub id as "
                f"`{section}.model`.",
            )
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        try:
            import huggingface_hub

            found = huggingface_hub.try_to_load_from_cache(self._model, kind.marker)
        except ImportError as error:
            raise kind.purpose.error("huggingface-hub is not installed.", kind.install) from error
        except ValueError as error:  # HFValidationError
            raise self.unusable(f"{self._model!r} is no hub id") from error
        return Path(found).parent if isinstance(found, str) else None

    def get(self) -> Any:
        """The library's object, loaded at the first call."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def close(self) -> None:
        """Let go of it; the next ``get`` loads it again."""
        with self._lock:
            self._loaded = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Whatever the model raises inside comes out as a ragvault error."""
        with self._explained("it failed"):
            yield

    def unusable(self, why: str) -> ModelError:
        """The error that says so, for what its output shows."""
        return self._kind.purpose.error(
            f"The {self._kind.purpose.noun} {self._path or self._model} can't be used: "
            f"{why.rstrip('.')}.",
            self._kind.remedy,
        )

    def _load(self) -> Any:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        # Its threads else wait for each other by spinning: half the time on a busy machine.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        try:
            import sentence_transformers  # noqa: F401 - ``build`` does; all three or none
            import torch
            import transformers
        except ImportError as error:
            raise self._kind.purpose.error(self._kind.missing, self._kind.install) from error
        torch.set_num_threads(self._threads)
        transformers.utils.logging.disable_progress_bar()  # one for reading 100 tensors
        folder = self.folder()
        if folder is None:
            purpose = self._kind.purpose
            if not self._download:
                raise self.unusable(f"it isn't on this machine ({purpose.section}.download: false)")
            transformers.utils.logging.enable_progress_bar()
            self._notify(f"Fetching the {purpose.noun} {self._model} from the Hugging Face hub")
        with self._explained("it can't be loaded"):
            return self._build(str(folder or self._model), folder is not None)

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # torch, transformers and the hub share no base of exceptions
            raise self.unusable(f"{what}: {first_line(error)}") from error
