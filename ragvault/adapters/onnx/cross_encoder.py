"""A cross-encoder exported to ONNX: reads question and passage as one, without torch.

One pair a run on one thread, as many runs side by side as there are cores (see ``onnx``): a
passage's score can't depend on what it is ranked with. The model's one output, a logit, goes
through a sigmoid, so that scores of all cross-encoders lie in 0..1 (sentence-transformers'
``CrossEncoder`` with ``activation_fn=Sigmoid``).
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragvault.adapters.facts import FactStore
from ragvault.adapters.onnx.cores import usable_cores
from ragvault.adapters.onnx.model_files import (
    ModelFiles,
    Notify,
    beside,
    first_line,
    only_onnx_file,
    remembered_sha256,
)
from ragvault.adapters.onnx.runtime import open_session
from ragvault.adapters.onnx.side_by_side import SideBySide
from ragvault.adapters.onnx.tokenizer import Tokenizer
from ragvault.adapters.reranking import DEFAULT_RERANKER, RERANKER, as_reranker_error, sigmoid
from ragvault.errors import RerankerUnavailableError

if TYPE_CHECKING:
    from ragvault.config.settings import Settings

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
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
                    files = self._find()
                    files.verify()
                    self._loaded = _PairModel(files)
            return self._loaded

    def _find(self) -> ModelFiles:
        if self._path is not None:
            return _in_folder(self._path, self._facts)
        from ragvault.adapters.onnx import hub_files  # late: it imports huggingface_hub

        return hub_files.find_pair_model(
            self._model,
            purpose=RERANKER,
            download=self._download,
            facts=self._facts,
            notify=self._notify,
        )


def _in_folder(path: Path, facts: FactStore) -> ModelFiles:
    """The files of an exported model. Raises RerankerUnavailableError for what is missing."""
    file = path
    if path.is_dir():
        usual = (path / "model.onnx", path / "onnx" / "model.onnx")
        file = next((f for f in usual if f.is_file()), None) or only_onnx_file(path, RERANKER)
    if not file.is_file():
        raise RerankerUnavailableError(
            f"The reranker {path} (rerank.path) doesn't exist.",
            "Correct `rerank.path` in the config, or leave it out and name a hub id as "
            "`rerank.model`.",
        )
    tokenizer = next((f for f in beside(file, "tokenizer.json") if f.is_file()), None)
    if tokenizer is None:
        raise RerankerUnavailableError(
            f"The reranker {file} has no tokenizer.json beside it.",
            "Put the model's own tokenizer.json into the same folder.",
        )
    return ModelFiles(
        name=f"{file.parent.name}/{file.name}",
        model=file,
        sha256=remembered_sha256(file, facts),
        tokenizer=tokenizer,
        tokenizer_sha256=remembered_sha256(tokenizer, facts),
        source="config",
        config=next((f for f in beside(file, "config.json") if f.is_file()), None),
    )


def _window(config: Path | None) -> int:
    """The longest pair in tokens: what the model has positions for, at most ``_WINDOW``."""
    if config is None:
        return _WINDOW
    try:
        settings = json.loads(config.read_text(encoding="utf-8"))
        positions = int(settings.get("max_position_embeddings", _WINDOW))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise RerankerUnavailableError(
            f"{config} can't be read: {first_line(error)}.", RERANKER.remedy
        ) from error
    if "roberta" in str(settings.get("model_type", "")):
        positions -= 2  # RoBERTa counts its positions from the padding index
    return max(8, min(_WINDOW, positions)) if positions > 0 else _WINDOW


class _PairModel:
    """Session and tokenizer of one model."""

    def __init__(self, files: ModelFiles) -> None:
        self._where = files.model
        self._window = _window(files.config)
        self._tokenizer = Tokenizer(files.tokenizer)
        try:
            self._session = open_session(files.model)
        except Exception as error:  # see open_session
            raise RerankerUnavailableError(
                f"The reranker {files.model} can't be loaded: {first_line(error)}.",
                RERANKER.remedy,
            ) from error
        self._inputs = tuple(item.name for item in self._session.get_inputs())
        unknown = set(self._inputs) - set(_INPUTS)
        if unknown:
            raise self._bad(f"asks for inputs that ragvault doesn't know: {sorted(unknown)}")

    def logit(self, question: str, text: str) -> float:
        import numpy as np

        ids, types = self._tokenizer.encode_pair(question, text, self._window)
        row = np.array([ids], np.int64)
        values = (row, np.ones_like(row), np.array([types], np.int64))
        feed = dict(zip(_INPUTS, values, strict=True))
        try:
            output: Any = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        except Exception as error:  # see open_session
            raise self._bad(f"failed on {len(ids)} tokens: {first_line(error)}") from error
        if output.size != 1:
            raise self._bad(f"gives {output.size} numbers a pair (shape {output.shape}), not one")
        logit = float(output.reshape(()))
        if not math.isfinite(logit):
            raise self._bad("gave a score that is not a number")
        return logit

    def _bad(self, what: str) -> RerankerUnavailableError:
        return RerankerUnavailableError(
            f"The reranker {self._where} {what}.",
            "Use a cross-encoder with one output, such as an export of "
            f"{DEFAULT_RERANKER}, or set `rerank.backend: none`.",
        )
