"""Late interaction over the token vectors of the embedding model: no further model, no install.

    score = 1/|Q| · Σ_{q in Q} max_{p in P} max(0, cos(q, p))

MaxSim of ColBERT (Khattab and Zaharia 2020), as a mean so that it lies in 0..1. The embedding
model was not trained for it, so it has to be measured before it is believed (see the README).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ragvault.adapters.reranking import as_reranker_error
from ragvault.errors import RerankerUnavailableError
from ragvault.ports import Embedder

if TYPE_CHECKING:
    from ragvault.model import Matrix


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that also gives the vectors of a text's tokens."""

    @property
    def name(self) -> str: ...

    def embed_tokens(self, texts: Sequence[str]) -> list[Matrix]: ...


class LateInteraction:
    """``embedder`` is asked for at the first ``rerank`` and stays its owner's to close.

    ``rerank`` raises RerankerUnavailableError when it gives no token vectors, or fails.
    """

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        return "late interaction over the embedding model"

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score a text, in their order; 0 where either has no token. Linear in the texts'
        tokens, each of which the model reads again."""
        if not texts:
            return []
        with as_reranker_error():
            embedder = self._embedder()
            if not isinstance(embedder, TokenEmbedder):
                raise RerankerUnavailableError(
                    "Late interaction needs the vectors of single tokens, which only the "
                    "embedding backend onnx gives.",
                    "Set `embedding.backend: onnx`, or another `rerank.backend`.",
                )
            asked, *passages = embedder.embed_tokens([question, *texts])
        return [max_sim(asked, passage) for passage in passages]

    def close(self) -> None:
        """Nothing is its own."""


def max_sim(question: Matrix, passage: Matrix) -> float:
    """The formula above, of unit rows (tokens, dimensions). Linear in tokens × tokens."""
    if not len(question) or not len(passage):
        return 0.0
    best = (question @ passage.T).max(axis=1).clip(0.0, 1.0)
    return float(best.mean(dtype="float64"))
