"""Any sentence-transformers model, by hub id or folder: ``ragvault[sentence-transformers]``.

Slower to start than the ONNX adapter (importing torch takes seconds), so everything that can be
known without it is.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragvault.adapters.facts import FactStore, remembered_sha256
from ragvault.adapters.models import EMBEDDING, Notify, PrefixedEmbedder, encodable, unit_rows
from ragvault.adapters.torch.model import TorchKind, TorchModel

if TYPE_CHECKING:
    from ragvault.config.settings import Settings
    from ragvault.model import Matrix

_KIND = TorchKind(
    purpose=EMBEDDING,
    what="a sentence-transformers model",
    marker="modules.json",
    missing="The embedding backend sentence-transformers is not installed.",
    install="Install it with `pip install 'ragvault[sentence-transformers]'`.",
    remedy=(
        "Correct `embedding.model` or `embedding.path` in the config, or connect to the network "
        "once."
    ),
)
_BATCH = 16  # padded to the longest of the batch: more costs memory and gains nothing on a CPU
_FILES = ("*.json", "*.txt", "*.model", "*.safetensors", "*.bin", "*/*.json", "*/*.safetensors")


class SentenceTransformersEmbedder(PrefixedEmbedder):
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
        super().__init__(query_prefix, document_prefix)
        self._model = TorchModel(
            _KIND,
            self._built,
            model=model,
            path=path,
            threads=threads,
            download=download,
            notify=notify,
        )
        self._window = window
        self._facts = FactStore(cache_file)
        self._lock = threading.Lock()
        self._weights: str | None = None

    @classmethod
    def from_settings(
        cls, settings: Settings, facts: Path | None, notify: Notify
    ) -> SentenceTransformersEmbedder:
        """As the section ``embedding`` says; see ``config.backends``."""
        wanted = settings.embedding
        return cls(
            model=wanted.model,
            path=Path(wanted.path) if wanted.path else None,
            threads=wanted.threads,
            query_prefix=wanted.query_prefix,
            document_prefix=wanted.document_prefix,
            download=wanted.download,
            cache_file=facts,
            notify=notify,
        )

    # ------------------------------------------------------------------ what it is

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def fingerprint(self) -> str:
        """From the files' hashes for a folder or a model in the hub's cache.

        A model that is on no disk yet is loaded, that is downloaded, first.
        """
        weights = self._weights_hash()
        return f"st-{weights[:8]}-{self._hashed(weights, str(self._window))}"

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
            model = self._model.get()
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
                folder = self._model.folder()
                if folder is None:
                    self._model.get()
                    folder = self._model.folder()
                if folder is None:
                    raise self._model.unusable("its files can't be found in the hub's cache")
                digest = hashlib.sha256()
                for file in sorted({file for mask in _FILES for file in folder.glob(mask)}):
                    name = file.relative_to(folder).as_posix()
                    digest.update(f"{name}\0{remembered_sha256(file, self._facts)}\0".encode())
                self._weights = digest.hexdigest()
            return self._weights

    # ------------------------------------------------------------------ embedding

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        tokenizer = self._model.get().tokenizer
        clean = [encodable(text) for text in texts]
        if not clean:
            return []
        # Truncation off and no warning about it: a long text is counted, not embedded.
        counted = tokenizer(clean, add_special_tokens=False, truncation=False, verbose=False)
        return [len(ids) for ids in counted["input_ids"]]

    def close(self) -> None:
        self._model.close()

    def _embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        model = self._model.get()
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        with self._model.running():
            rows = model.encode(
                [encodable(text) for text in texts],
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        if rows.shape != (len(texts), self.dimensions):
            raise self._model.unusable(f"it gave an output of shape {rows.shape}")
        unit = unit_rows(rows)
        if unit is None:
            raise self._model.unusable("it gave a vector that is not a number, or of no length")
        return unit

    def _built(self, place: str, local_only: bool) -> Any:
        import sentence_transformers

        model = sentence_transformers.SentenceTransformer(
            place, device="cpu", local_files_only=local_only
        )
        if self._window:
            model.max_seq_length = self._window
        return model
