"""What the rerankers share: how failures name them, and a logit's way to 0..1."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from ragvault.adapters.onnx.model_files import Purpose
from ragvault.errors import ModelError, RerankerUnavailableError

DEFAULT_RERANKER = "cross-encoder/ms-marco-MiniLM-L-6-v2"

RERANKER = Purpose(
    noun="reranker",
    section="rerank",
    remedy=(
        "Name a folder that holds the model as `rerank.path`, connect to the network once, or "
        "set `rerank.backend: none`."
    ),
    without_onnx="Use `rerank.backend: cross-encoder` for this model, or another model.",
    error=RerankerUnavailableError,
)


def sigmoid(logit: float) -> float:
    """1 / (1 + exp(−logit)), in 0..1 for any finite logit."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    return math.exp(logit) / (1.0 + math.exp(logit))


@contextmanager
def as_reranker_error() -> Iterator[None]:
    """A failure of the parts shared with the embedders is the reranker's failure here."""
    try:
        yield
    except RerankerUnavailableError:
        raise
    except ModelError as error:
        raise RerankerUnavailableError(error.message, error.hint) from error
