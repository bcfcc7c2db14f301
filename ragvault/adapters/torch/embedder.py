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
from ragvault.adapters.families import OWN_FILE, known_as, prefixes_for
from ragvault.adapters.models import EMBEDDING, PrefixedEmbedder, encodable, unit_rows
from ragvault.adapters.torch.model import TorchModel
from ragvault.config.profiles import model_named

if TYPE_CHECKING:
    from ragvault.config.settings import Settings
    from ragvault.model import Matrix, Prefixes

_BATCH = 16  # padded to the longest of the batch: more costs memory and gains nothing on a CPU
_FILES = ("*.json", "*.txt", "*.model", "*.safetensors", "*.bin", "*/*.json", "*/*.safetensors")


class SentenceTransformersEmbedder(PrefixedEmbedder):
    """What the section ``embedding`` names (see ``TorchModel``). Loads at the first embedding.

    Batches are padded, so a text's vector may differ by about 1e-6 with what it is embedded with.
    ``window`` 0 takes the model's own ``max_seq_length``. All methods but ``close`` raise
    EmbedderUnavailableError when the extra or the model is missing.
    """

    def __init__(self, settings: Settings, facts: Path | None = None, *, window: int = 0) -> None:
        super().__init__(settings.embedding)
        self._model = TorchModel(EMBEDDING, settings, self._built, marker="modules.json")
        self._window = window
        self._facts = FactStore(facts)
        self._lock = threading.Lock()
        self._weights: str | None = None

    # ------------------------------------------------------------------ what it is

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def model(self) -> str:
        return known_as(self._wanted, model_named(self._wanted))

    @property
    def source(self) -> str:
        return str(self._folder())

    @property
    def fingerprint(self) -> str:
        weights = self._weights_hash()
        return f"st-{weights[:8]}-{self._hashed(weights, str(self._window))}"

    @property
    def dimensions(self) -> int:
        model = self._model.get()
        # Renamed in sentence-transformers 5.2 or so; the old name warns there.
        ask = getattr(model, "get_embedding_dimension", None)
        return int((ask or model.get_sentence_embedding_dimension)())

    @property
    def max_tokens(self) -> int:
        """Remembered from the last time that these weights were loaded."""
        key = f"{self._weights_hash()} {self._window}"
        known = self._facts.get("window", key)
        if known is None or not known.isdigit():
            known = str(self._model.get().max_seq_length or 512)
            self._facts.put("window", key, known)
        return int(known) - 2

    def _weights_hash(self) -> str:
        with self._lock:
            if self._weights is None:
                folder = self._folder()
                digest = hashlib.sha256()
                for file in sorted({file for mask in _FILES for file in folder.glob(mask)}):
                    name = file.relative_to(folder).as_posix()
                    digest.update(f"{name}\0{remembered_sha256(file, self._facts)}\0".encode())
                self._weights = digest.hexdigest()
            return self._weights

    def _folder(self) -> Path:
        """Of the model's files."""
        folder = self._model.folder()
        if folder is None:
            raise self._model.missing()
        return folder

    def _find_prefixes(self) -> Prefixes:
        return prefixes_for(self._wanted, self.model, self._folder() / OWN_FILE)

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
        with self._model.explained():
            rows = model.encode(
                [encodable(text) for text in texts],
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        if rows.shape != (len(texts), self.dimensions):
            raise self._model.unusable(f"it gave an output of shape {rows.shape}")
        return unit_rows(rows, lambda what: self._model.unusable(f"it {what}"))

    def _built(self, place: str) -> Any:
        import sentence_transformers

        build = sentence_transformers.SentenceTransformer
        model = build(place, device="cpu", local_files_only=True)
        model.default_prompt_name = None  # the prefixes are before the texts already
        if self._window:
            model.max_seq_length = self._window
        return model
