"""Any sentence-transformers model, by hub id or folder: ``ragvault[sentence-transformers]``.

Slower to start than the ONNX adapter (importing torch takes seconds), so everything that can be
known without it is.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragvault.adapters.cores import usable_cores
from ragvault.adapters.facts import FactStore
from ragvault.adapters.model_files import Notify, first_line, remembered_sha256
from ragvault.adapters.vectors import QueryCache, encodable, unit_rows
from ragvault.errors import EmbedderUnavailableError

if TYPE_CHECKING:
    from ragvault.model import Matrix, Vector

EXTRA = "Install it with `pip install 'ragvault[sentence-transformers]'`."
_BATCH = 16  # padded to the longest of the batch: more costs memory and gains nothing on a CPU
_FILES = ("*.json", "*.txt", "*.model", "*.safetensors", "*.bin", "*/*.json", "*/*.safetensors")


class SentenceTransformersEmbedder:
    """``model`` is a hub id, ``path`` a folder that is used instead of it.

    Loads at the first embedding. Batches are padded, so a text's vector may differ by about 1e-6
    with what it is embedded with. ``window`` 0 takes the model's own ``max_seq_length``.
    All methods but ``close`` raise EmbedderUnavailableError when the extra or the model is missing.
    """

    def __init__(
        self,
        *,
        model: str,
        path: Path | None = None,
        threads: int = 0,
        window: int = 0,
        query_prefix: str = "",
        document_prefix: str = "",
        download: bool = True,
        cache_file: Path | None = None,
        notify: Notify = lambda _line: None,
    ) -> None:
        self._model = model
        self._path = path.expanduser() if path is not None else None
        self._threads = threads or usable_cores()
        self._window = window
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._download = download
        self._facts = FactStore(cache_file)
        self._notify = notify
        self._lock = threading.RLock()
        self._loaded: Any = None
        self._weights: str | None = None
        self._queries = QueryCache()

    # ------------------------------------------------------------------ what it is

    @property
    def name(self) -> str:
        return f"{self._path or self._model} (sentence-transformers)"

    @property
    def fingerprint(self) -> str:
        """From the files' hashes for a folder or a model in the hub's cache.

        A model that is on no disk yet is loaded, that is downloaded, first.
        """
        weights = self._weights_hash()
        parts = (weights, str(self._window), self._query_prefix, self._document_prefix)
        whole = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
        return f"st-{weights[:8]}-{whole[:16]}"

    @property
    def dimensions(self) -> int:
        return self._fact("dimensions")

    @property
    def max_tokens(self) -> int:
        return self._fact("window") - 2

    def _fact(self, kind: str) -> int:
        """Remembered from the last time that these weights were loaded."""
        key = f"{self._weights_hash()} {self._window}"
        known = self._facts.get(kind, key)
        if known is None or not known.isdigit():
            model = self._load()
            self._facts.put("dimensions", key, str(self._width(model)))
            self._facts.put("window", key, str(model.max_seq_length or 512))
            known = self._facts.get(kind, key)
        return int(known or 0)

    @staticmethod
    def _width(model: Any) -> int:
        # Renamed in sentence-transformers 5.2 or so; the old name warns there.
        ask = getattr(model, "get_embedding_dimension", None)
        return int((ask or model.get_sentence_embedding_dimension)())

    def _weights_hash(self) -> str:
        """Of every file in the model's folder that decides about a vector."""
        with self._lock:
            if self._weights is None:
                folder = self._folder()
                if folder is None:
                    self._load()
                    folder = self._folder()
                if folder is None:
                    raise self._unusable("its files can't be found in the hub's cache")
                digest = hashlib.sha256()
                for file in sorted({file for mask in _FILES for file in folder.glob(mask)}):
                    name = file.relative_to(folder).as_posix()
                    digest.update(f"{name}\0{remembered_sha256(file, self._facts)}\0".encode())
                self._weights = digest.hexdigest()
            return self._weights

    def _folder(self) -> Path | None:
        """The folder of the model's files; None when the hub's cache hasn't got them."""
        if self._path is not None:
            if not (self._path / "modules.json").is_file():
                raise EmbedderUnavailableError(
                    f"{self._path} (embedding.path) is not a folder of a sentence-transformers "
                    "model: it has no modules.json.",
                    "Correct `embedding.path`, or leave it out and name a hub id as "
                    "`embedding.model`.",
                )
            return self._path
        if (Path(self._model) / "modules.json").is_file():
            return Path(self._model)
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        try:
            import huggingface_hub

            found = huggingface_hub.try_to_load_from_cache(self._model, "modules.json")
        except ImportError as error:
            raise EmbedderUnavailableError("huggingface-hub is not installed.", EXTRA) from error
        except ValueError as error:  # HFValidationError
            raise self._unusable(f"{self._model!r} is no hub id") from error
        return Path(found).parent if isinstance(found, str) else None

    # ------------------------------------------------------------------ embedding

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        tokenizer = self._load().tokenizer
        clean = [encodable(text) for text in texts]
        if not clean:
            return []
        # Truncation off and no warning about it: a long text is counted, not embedded.
        counted = tokenizer(clean, add_special_tokens=False, truncation=False, verbose=False)
        return [len(ids) for ids in counted["input_ids"]]

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return self._embed([self._document_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vector:
        return self._queries.get(text, lambda: self._embed([self._query_prefix + text])[0])

    def vocabulary_share(self, text: str) -> float:  # noqa: ARG002 - the port's
        """1: not told apart here."""
        return 1.0

    def close(self) -> None:
        with self._lock:
            self._loaded = None

    def _embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        model = self._load()
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        try:
            rows = model.encode(
                [encodable(text) for text in texts],
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        except Exception as error:  # torch and transformers share no base of exceptions
            raise self._unusable(f"it failed: {first_line(error)}") from error
        if rows.shape != (len(texts), self.dimensions):
            raise self._unusable(f"it gave an output of shape {rows.shape}")
        unit = unit_rows(rows)
        if unit is None:
            raise self._unusable("it gave a vector that is not a number, or of no length")
        return unit

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._loaded_model()
            return self._loaded

    def _loaded_model(self) -> Any:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        try:
            import sentence_transformers
            import torch
            import transformers
        except ImportError as error:
            raise EmbedderUnavailableError(
                "The embedding backend sentence-transformers is not installed.", EXTRA
            ) from error
        torch.set_num_threads(self._threads)
        transformers.utils.logging.disable_progress_bar()  # one for reading 100 tensors
        folder = self._folder()
        if folder is None:
            if not self._download:
                raise self._unusable("it isn't on this machine (embedding.download: false)")
            transformers.utils.logging.enable_progress_bar()
            self._notify(f"Fetching the embedding model {self._model} from the Hugging Face hub")
        try:
            model = sentence_transformers.SentenceTransformer(
                str(folder or self._model), device="cpu", local_files_only=folder is not None
            )
        except Exception as error:  # as above, and the hub's
            raise self._unusable(f"it can't be loaded: {first_line(error)}") from error
        if self._window:
            model.max_seq_length = self._window
        return model

    def _unusable(self, why: str) -> EmbedderUnavailableError:
        return EmbedderUnavailableError(
            f"The embedding model {self._path or self._model} can't be used: {why.rstrip('.')}.",
            "Correct `embedding.model` or `embedding.path` in the config, or connect to the "
            "network once.",
        )
