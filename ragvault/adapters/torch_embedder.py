"""Any sentence-transformers model, by hub id or folder: ``ragvault[sentence-transformers]``.

Slower to start than the ONNX adapter (importing torch takes seconds), so everything that can be
known without it is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from ragvault.adapters.families import OWN_FILE, known_as
from ragvault.adapters.models import (
    EMBEDDING,
    PrefixedEmbedder,
    encodable,
    first_line,
    remembered_sha256,
    unit_rows,
    usable_cores,
)
from ragvault.adapters.onnx.model_files import cached, nowhere
from ragvault.config.profiles import PROFILES, model_named
from ragvault.config.settings import Settings
from ragvault.errors import EmbedderUnavailableError
from ragvault.model import Matrix

_BATCH = 16  # padded to the longest of the batch: more costs memory and gains nothing on a CPU
_FILES = ("*.json", "*.txt", "*.model", "*.safetensors", "*.bin", "*/*.json", "*/*.safetensors")
_MARKER = "modules.json"  # each folder of a model has it


class SentenceTransformersEmbedder(PrefixedEmbedder):
    """What the section ``embedding`` names: ``model`` is a hub id or a folder, ``path`` a folder
    that is used instead of it. Thread-safe; loads at the first embedding.

    Batches are padded, so a text's vector may differ by about 1e-6 with what it is embedded with.
    All methods but ``close`` raise EmbedderUnavailableError when the extra or the model is missing,
    or fails.
    """

    def __init__(self, settings: Settings, facts: Path | None = None) -> None:
        super().__init__(settings, facts)
        self._name = self._wanted.model or PROFILES[self._wanted.profile].original
        self._path = Path(self._wanted.path).expanduser() if self._wanted.path else None
        self.model = known_as(self._wanted, model_named(self._wanted))
        self._loaded: Any = None

    @property
    def name(self) -> str:
        return f"{self._path or self._name} (sentence-transformers)"

    @property
    def source(self) -> str:
        return str(self._folder)

    @property
    def fingerprint(self) -> str:
        return f"st-{self._weights[:8]}-{self._hashed(self._weights, '0')}"

    @property
    def max_tokens(self) -> int:
        """Remembered from the last time that these weights were loaded."""
        known = self._facts.get("window", self._weights)
        if known is None or not known.isdigit():
            known = str(self._get().max_seq_length or 512)
            self._facts.put("window", self._weights, known)
        return int(known) - 2

    @cached_property
    def _weights(self) -> str:
        """A hash of the model's files."""
        folder, digest = self._folder, hashlib.sha256()
        for file in sorted({file for mask in _FILES for file in folder.glob(mask)}):
            name = file.relative_to(folder).as_posix()
            digest.update(f"{name}\0{remembered_sha256(file, self._facts)}\0".encode())
        return digest.hexdigest()

    @cached_property
    def _folder(self) -> Path:
        """Of the model's files."""
        named = self._path or Path(self._name)
        if (named / _MARKER).is_file():
            return named
        if self._path is not None:
            raise EmbedderUnavailableError(
                f"{self._path} (embedding.path) is not the folder of a model of "
                f"sentence-transformers: it has no {_MARKER}.",
                "Correct `embedding.path`, or leave it out and name a hub id as `embedding.model`.",
            )
        if (found := cached(self._name, [_MARKER])) is not None:
            return found
        raise nowhere(EMBEDDING, self._name)

    @property
    def _prompts(self) -> Path:
        return self._folder / OWN_FILE

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        clean = [encodable(text) for text in texts]
        if not clean:
            return []
        # Truncation off and no warning about it: a long text is counted, not embedded.
        counted = self._get().tokenizer(
            clean, add_special_tokens=False, truncation=False, verbose=False
        )
        return [len(ids) for ids in counted["input_ids"]]

    def close(self) -> None:
        with self._lock:
            self._loaded = None

    def _embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        model = self._get()
        if not texts:
            return np.zeros((0, 0), np.float32)
        with self._explained():
            rows = model.encode(
                [encodable(text) for text in texts],
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        if rows.ndim != 2 or len(rows) != len(texts):
            raise self._unusable(f"it gave an output of shape {rows.shape}")
        return unit_rows(rows, lambda what: self._unusable(f"it {what}"))

    def _get(self) -> Any:
        """The library's object, loaded at the first call."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> Any:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        # Its threads else wait for each other by spinning: half the time on a busy machine.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        try:
            import sentence_transformers
            import torch
            import transformers
        except ImportError as error:
            raise EmbedderUnavailableError(
                "The embedding model needs sentence-transformers, which is not installed.",
                "Install it with `pip install 'ragvault[sentence-transformers]'`, or use "
                "`embedding.backend: onnx`.",
            ) from error
        torch.set_num_threads(self._wanted.threads or usable_cores())
        transformers.utils.logging.disable_progress_bar()  # one for reading 100 tensors
        folder, build = str(self._folder), sentence_transformers.SentenceTransformer
        with self._explained("it can't be loaded"):
            model = build(folder, device="cpu", local_files_only=True)
            model.default_prompt_name = None  # the prefixes are before the texts already
            return model

    @contextmanager
    def _explained(self, what: str = "it failed") -> Iterator[None]:
        """Whatever the model raises inside comes out as a ragvault error."""
        try:
            yield
        except Exception as error:  # torch, transformers and the hub share no base of exceptions
            raise self._unusable(f"{what}: {first_line(error)}") from error

    def _unusable(self, why: str) -> EmbedderUnavailableError:
        return EmbedderUnavailableError(
            f"The embedding model {self._path or self._name} can't be used: {why.rstrip('.')}.",
            "Correct `embedding.model` or `embedding.path` in the config.",
        )
