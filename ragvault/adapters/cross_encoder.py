"""Any cross-encoder of sentence-transformers, by hub id or folder.

Needs ``ragvault[sentence-transformers]``. Importing torch takes seconds: it is put off to the
first passages that are to be ranked.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragvault.adapters.cores import usable_cores
from ragvault.adapters.model_files import Notify, first_line
from ragvault.adapters.reranking import DEFAULT_RERANKER, RERANKER, sigmoid
from ragvault.adapters.vectors import encodable
from ragvault.errors import RerankerUnavailableError

EXTRA = "Install it with `pip install 'ragvault[sentence-transformers]'`, or use `backend: onnx`."
_BATCH = 16


class CrossEncoderReranker:
    """``model`` is a hub id or a folder; ``path`` a folder that is used instead of it.

    A score is the sigmoid of the model's one output, whatever activation its own config names, so
    that scores of all models lie in 0..1. Batches are padded: a score may differ by about 1e-6
    with what it is computed with. ``rerank`` raises RerankerUnavailableError when the extra or
    the model is missing, or fails.
    """

    def __init__(
        self,
        *,
        model: str = DEFAULT_RERANKER,
        path: Path | None = None,
        threads: int = 0,
        download: bool = True,
        notify: Notify = lambda _line: None,
    ) -> None:
        self._model = model
        self._path = path.expanduser() if path is not None else None
        self._threads = threads or usable_cores()
        self._download = download
        self._notify = notify
        self._lock = threading.Lock()
        self._loaded: Any = None

    @property
    def name(self) -> str:
        return f"{self._path or self._model} (sentence-transformers)"

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score a text, in their order. Linear in the texts."""
        if not texts:
            return []
        model = self._load()
        pairs = [(encodable(question), encodable(text)) for text in texts]
        try:
            logits = model.predict(pairs, batch_size=_BATCH, show_progress_bar=False)
        except Exception as error:  # torch and transformers share no base of exceptions
            raise self._unusable(f"it failed: {first_line(error)}") from error
        if logits.shape != (len(texts),):
            count = logits.size // len(texts)
            raise self._unusable(f"it gives {count} numbers a pair, not one")
        scores = [float(logit) for logit in logits]
        if not all(math.isfinite(score) for score in scores):
            raise self._unusable("it gave a score that is not a number")
        return [sigmoid(score) for score in scores]

    def close(self) -> None:
        with self._lock:
            self._loaded = None

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
            raise RerankerUnavailableError(
                "The reranker backend cross-encoder needs sentence-transformers, which is not "
                "installed.",
                EXTRA,
            ) from error
        torch.set_num_threads(self._threads)
        transformers.utils.logging.disable_progress_bar()  # one for reading 100 tensors
        folder = self._folder()
        if folder is None:
            if not self._download:
                raise self._unusable("it isn't on this machine (rerank.download: false)")
            transformers.utils.logging.enable_progress_bar()
            self._notify(f"Fetching the reranker {self._model} from the Hugging Face hub")
        try:
            return sentence_transformers.CrossEncoder(
                str(folder or self._model),
                device="cpu",
                local_files_only=folder is not None,
                activation_fn=torch.nn.Identity(),
            )
        except Exception as error:  # as above, and the hub's
            raise self._unusable(f"it can't be loaded: {first_line(error)}") from error

    def _folder(self) -> Path | None:
        """The folder of the model's files; None when they are to be fetched."""
        named = self._path or Path(self._model)
        if (named / "config.json").is_file():
            return named
        if self._path is not None:
            raise RerankerUnavailableError(
                f"{self._path} (rerank.path) is not a folder of a cross-encoder: it has no "
                "config.json.",
                "Correct `rerank.path`, or leave it out and name a hub id as `rerank.model`.",
            )
        import huggingface_hub  # comes with sentence-transformers

        try:
            found = huggingface_hub.try_to_load_from_cache(self._model, "config.json")
        except ValueError as error:  # HFValidationError
            raise self._unusable(f"{self._model!r} is no hub id") from error
        return Path(found).parent if isinstance(found, str) else None

    def _unusable(self, why: str) -> RerankerUnavailableError:
        return RerankerUnavailableError(
            f"The reranker {self._path or self._model} can't be used: {why.rstrip('.')}.",
            RERANKER.remedy,
        )
