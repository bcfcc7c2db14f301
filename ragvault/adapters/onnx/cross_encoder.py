"""A cross-encoder exported to ONNX: reads question and passage as one, without torch.

A passage's score can't depend on what it is ranked with (see ``runtime``). The model's one output,
a logit, goes through a sigmoid, so that scores of all cross-encoders lie in 0..1
(sentence-transformers' ``CrossEncoder`` with ``activation_fn=Sigmoid``).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from pathlib import Path

from ragvault.adapters.models import RERANKING, FactStore, usable_cores
from ragvault.adapters.onnx.model_files import find_model, read_json
from ragvault.adapters.onnx.runtime import Session, SideBySide
from ragvault.adapters.onnx.tokenizer import Tokenizer
from ragvault.config.settings import Settings
from ragvault.model import sigmoid

_WINDOW = 512  # tokens of a pair, at most; the model's own limit if that is lower


class OnnxCrossEncoder:
    """What the section ``rerank`` names: ``path`` is an .onnx file, or a folder that holds
    ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``; ``model`` a hub id whose
    ONNX files are in the hub's cache. Thread-safe; loads at the first ``rerank``."""

    def __init__(self, settings: Settings, facts: Path | None = None) -> None:
        self._wanted = settings.rerank
        self._facts = FactStore(facts)
        self._lock = threading.Lock()
        self._side_by_side = SideBySide(settings.embedding.threads or usable_cores())
        self._loaded: tuple[Session, Tokenizer, int] | None = None

    @property
    def name(self) -> str:
        return f"{self._wanted.path or self._wanted.model} (ONNX)"

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        session, tokenizer, window = self._load()

        def score(text: str) -> float:
            output = session.run(*tokenizer.encode_pair(question, text, window))
            if output.size != 1:
                raise session.bad(f"gives {output.size} numbers a pair, not one ({output.shape})")
            logit = float(output.reshape(()))
            if not math.isfinite(logit):
                raise session.bad("gave a score that is not a number")
            return sigmoid(logit)

        return self._side_by_side.map(score, texts)

    def close(self) -> None:
        self._side_by_side.close()
        self._loaded = None

    def _load(self) -> tuple[Session, Tokenizer, int]:
        with self._lock:
            if self._loaded is None:
                files = find_model(RERANKING, self._wanted, self._facts)
                files.verify()
                window = _window(files.config)
                tokenizer = Tokenizer(files.tokenizer)
                self._loaded = Session(files.model, RERANKING), tokenizer, window
            return self._loaded


def _window(config: Path | None) -> int:
    """The longest pair in tokens: what the model has positions for, at most ``_WINDOW``."""
    said = read_json(config, RERANKING) if config is not None else {}
    positions = said.get("max_position_embeddings") if isinstance(said, dict) else None
    if not isinstance(positions, int) or positions < 1:
        return _WINDOW
    if "roberta" in str(said.get("model_type")):
        positions -= 2  # RoBERTa counts its positions from the padding index
    return max(8, min(_WINDOW, positions))
