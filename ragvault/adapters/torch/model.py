"""What the adapters of sentence-transformers share: finding a model, loading it once, and its
failures in ragvault's words."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragvault.adapters.models import Purpose, first_line, usable_cores
from ragvault.config.profiles import PROFILES
from ragvault.errors import ModelError

if TYPE_CHECKING:
    from ragvault.config.settings import Settings


class TorchModel:
    """The model that the purpose's section of the settings names: ``model`` is a hub id or a
    folder, ``path`` a folder that is used instead of it; ``marker`` is a file that it must hold.

    ``build`` makes the library's object of a folder. Thread-safe. All but ``close`` raise the
    purpose's error when the extra or the model is missing, or fails.
    """

    def __init__(
        self, purpose: Purpose, settings: Settings, build: Callable[[str], Any], *, marker: str
    ) -> None:
        self._purpose = purpose
        wanted = getattr(settings, purpose.section)
        self._model: str = wanted.model or PROFILES[wanted.profile].original
        self._path = Path(wanted.path).expanduser() if wanted.path else None
        self._threads = settings.embedding.threads or usable_cores()
        self._build = build
        self._marker = marker
        self._lock = threading.Lock()
        self._loaded: Any = None

    @property
    def name(self) -> str:
        return f"{self._path or self._model} (sentence-transformers)"

    def folder(self) -> Path | None:
        """The folder of the model's files; None when the hub's cache hasn't got them."""
        named = self._path or Path(self._model)
        if (named / self._marker).is_file():
            return named
        if self._path is not None:
            section = self._purpose.section
            raise self._purpose.error(
                f"{self._path} ({section}.path) is not the folder of a model of "
                f"sentence-transformers: it has no {self._marker}.",
                f"Correct `{section}.path`, or leave it out and name a hub id as "
                f"`{section}.model`.",
            )
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        import huggingface_hub

        try:
            found = huggingface_hub.try_to_load_from_cache(self._model, self._marker)
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
        with self._lock:
            self._loaded = None

    @contextmanager
    def explained(self, what: str = "it failed") -> Iterator[None]:
        """Whatever the model raises inside comes out as a ragvault error."""
        try:
            yield
        except Exception as error:  # torch, transformers and the hub share no base of exceptions
            raise self.unusable(f"{what}: {first_line(error)}") from error

    def unusable(self, why: str) -> ModelError:
        section = self._purpose.section
        return self._purpose.error(
            f"The {self._purpose.noun} {self._path or self._model} can't be used: "
            f"{why.rstrip('.')}.",
            f"Correct `{section}.model` or `{section}.path` in the config.",
        )

    def missing(self) -> ModelError:
        return self._purpose.error(
            f"The {self._purpose.noun} {self._model} isn't on this machine.",
            f"Get it with `ragvault model get {self._model}`, or name a folder that holds it as "
            f"`{self._purpose.section}.path`.",
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
            raise self._purpose.error(
                f"The {self._purpose.noun} needs sentence-transformers, which is not installed.",
                "Install it with `pip install 'ragvault[sentence-transformers]'`, or use "
                f"`{self._purpose.section}.backend: onnx`.",
            ) from error
        torch.set_num_threads(self._threads)
        transformers.utils.logging.disable_progress_bar()  # one for reading 100 tensors
        folder = self.folder()
        if folder is None:
            raise self.missing()
        with self.explained("it can't be loaded"):
            return self._build(str(folder))
