"""What the embedders share: checking and normalising rows, and remembering queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragvault.model import Matrix, Vector

_QUERIES = 512


def unit_rows(rows: Any) -> Matrix | None:
    """Rows of length 1, float32; None when one is not finite or has no length.

    Computed in float64, so that a row's bits depend on that row alone.
    """
    import numpy as np

    exact = np.asarray(rows, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    if not np.isfinite(lengths).all() or (lengths < 1e-12).any():
        return None
    unit: Matrix = (exact / lengths).astype(np.float32)
    return unit


def encodable(text: str) -> str:
    """Lone surrogates, which file names and bad JSON bring, can't leave Python as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


class QueryCache:
    """Vectors of questions, for the life of the process; the oldest go when there are many."""

    def __init__(self) -> None:
        self._vectors: dict[str, Vector] = {}

    def get(self, text: str, embed: Callable[[], Vector]) -> Vector:
        """The vector of a text, embedded at most once."""
        vector = self._vectors.get(text)
        if vector is None:
            vector = embed().copy()
            vector.setflags(write=False)  # it is handed out again
            if len(self._vectors) >= _QUERIES:
                self._vectors.pop(next(iter(self._vectors)), None)
            self._vectors[text] = vector
        return vector
