"""Any cross-encoder of sentence-transformers, by hub id or folder.

Needs ``ragvault[sentence-transformers]``. Importing torch takes seconds: it is put off to the
first passages that are to be ranked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragvault.adapters.models import RERANKING, encodable
from ragvault.adapters.torch.model import TorchModel
from ragvault.model import sigmoid

if TYPE_CHECKING:
    from ragvault.config.settings import Settings

_BATCH = 16


class CrossEncoderReranker:
    """What the section ``rerank`` names (see ``TorchModel``). A score is the sigmoid of the
    model's one output, whatever activation its own config names, so that scores of all models lie
    in 0..1; as batches are padded, one may differ by about 1e-6 with what it is computed with."""

    def __init__(self, settings: Settings, _facts: Path | None = None) -> None:
        self._model = TorchModel(RERANKING, settings, _built, marker="config.json")

    @property
    def name(self) -> str:
        return self._model.name

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        model = self._model.get()
        pairs = [(encodable(question), encodable(text)) for text in texts]
        with self._model.explained():
            logits = model.predict(pairs, batch_size=_BATCH, show_progress_bar=False)
        if logits.shape != (len(texts),):
            count = logits.size // len(texts)
            raise self._model.unusable(f"it gives {count} numbers a pair, not one")
        scores = [float(logit) for logit in logits]
        if not all(math.isfinite(score) for score in scores):
            raise self._model.unusable("it gave a score that is not a number")
        return [sigmoid(score) for score in scores]

    def close(self) -> None:
        self._model.close()


def _built(place: str) -> Any:
    import sentence_transformers
    import torch

    return sentence_transformers.CrossEncoder(
        place, device="cpu", local_files_only=True, activation_fn=torch.nn.Identity()
    )
