"""A cross-encoder exported to ONNX: reads question and passage as one, without torch.

A passage's score can't depend on what it is ranked with (see ``runtime``). The model's one output,
a logit, goes through a sigmoid, so that scores of all cross-encoders lie in 0..1
(sentence-transformers' ``CrossEncoder`` with ``activation_fn=Sigmoid``).
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.adapters.cores import usable_cores
from ragvault.adapters.facts import FactStore
from ragvault.adapters.models import (
    DEFAULT_RERANKER,
    RERANKING,
    Notify,
    as_reranker_error,
    first_line,
)
from ragvault.adapters.onnx.find import find_reranker
from ragvault.adapters.onnx.model_files import ModelFiles
from ragvault.adapters.onnx.runtime import Session, SideBySide
from ragvault.adapters.onnx.tokenizer import Tokenizer
from ragvault.errors import RerankerUnavailableError
from ragvault.model import sigmoid

if TYPE_CHECKING:
    from ragvault.config.settings import Settings

_WINDOW = 512  # tokens of a pair, at most; the model's own limit if that is lower


class OnnxCrossEncoder:
    """``path`` is an .onnx file, or a folder that holds ``model.onnx`` (or ``onnx/model.onnx``)
    and ``tokenizer.json``; without it ``model`` is a hub id with ONNX files, taken from the hub's
    cache or fetched, and checked, as the embedding model is.

    Thread-safe; loads at the first ``rerank``. ``rerank`` raises RerankerUnavailableError when
    the model can't be found, loaded or run.
    """

    def __init__(
        self,
        *,
        model: str = DEFAULT_RERANKER,
        path: Path | None = None,
        threads: int = 0,
        download: bool = True,
        cache_file: Path | None = None,
        notify: Notify = lambda _line: None,
    ) -> None:
        self._model = model
        self._path = path.expanduser() if path is not None else None
        self._download = download
        self._facts = FactStore(cache_file)
        self._notify = notify
        self._lock = threading.Lock()
        self._side_by_side = SideBySide(threads or usable_cores())
        self._loaded: _PairModel | None = None

    @classmethod
    def from_settings(
        cls, settings: Settings, facts: Path | None, notify: Notify
    ) -> OnnxCrossEncoder:
        """As the section ``rerank`` says; see ``config.backends``."""
        wanted = settings.rerank
        return cls(
            model=wanted.model,
            path=Path(wanted.path) if wanted.path else None,
            threads=settings.embedding.threads,
            download=wanted.download,
            cache_file=facts,
            notify=notify,
        )

    @property
    def name(self) -> str:
        return f"{self._path or self._model} (ONNX)"

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score a text, in their order. Linear in the texts."""
        if not texts:
            return []
        model = self._load()
        scores = [0.0] * len(texts)

        def work(index: int) -> None:
            scores[index] = sigmoid(model.logit(question, texts[index]))

        # Longest first: the last runs, where a thread may idle, are the short ones.
        self._side_by_side.run(work, sorted(range(len(texts)), key=lambda i: (-len(texts[i]), i)))
        return scores

    def close(self) -> None:
        self._side_by_side.close()
        self._loaded = None

    def _load(self) -> _PairModel:
        with self._lock:
            if self._loaded is None:
                with as_reranker_error():
                    files = find_reranker(
                        self._model,
                        self._path,
                        download=self._download,
                        facts=self._facts,
                        notify=self._notify,
                    )
                    files.verify()
                    self._loaded = _PairModel(files)
            return self._loaded


def _window(config: Path | None) -> int:
    """The longest pair in tokens: what the model has positions for, at most ``_WINDOW``."""
    if config is None:
        return _WINDOW
    try:
        settings = json.loads(config.read_text(encoding="utf-8"))
        positions = int(settings.get("max_position_embeddings", _WINDOW))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise RerankerUnavailableError(
            f"{config} can't be read: {first_line(error)}.", RERANKING.remedy
        ) from error
    if "roberta" in str(settings.get("model_type", "")):
        positions -= 2  # RoBERTa counts its positions from the padding index
    return max(8, min(_WINDOW, positions)) if positions > 0 else _WINDOW


class _PairModel(Session):
    """Session and tokenizer of one model."""

    def __init__(self, files: ModelFiles) -> None:
        self._window = _window(files.config)
        self._tokenizer = Tokenizer(files.tokenizer)
        super().__init__(files.model, RERANKING)

    def logit(self, question: str, text: str) -> float:
        ids, types = self._tokenizer.encode_pair(question, text, self._window)
        output = self.run(ids, types)
        if output.size != 1:
            raise self.bad(f"gives {output.size} numbers a pair (shape {output.shape}), not one")
        logit = float(output.reshape(()))
        if not math.isfinite(logit):
            raise self.bad("gave a score that is not a number")
        return logit
