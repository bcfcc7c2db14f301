"""An embedder that keeps the vectors of passages: many questions of a set take a closer look at the
same ones.

A text's vector doesn't depend on its batch, so a kept one is bit for bit what the model would give.
Bounded: some 75 MB of sentences, and at most as much of token vectors.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from ragvault.ports import Embedder, TokenEmbedder

if TYPE_CHECKING:
    from ragvault.model import Matrix, Vector

_T = TypeVar("_T")

MAX_TEXTS = 50_000  # of 1.5 kB each, at 384 dimensions
MAX_TOKEN_TEXTS = 200  # of up to 400 kB each


def caching(embedder: Embedder) -> Embedder:
    """The embedder with a cache; with vectors of tokens where it has them."""
    if isinstance(embedder, TokenEmbedder):
        return _CachingTokenEmbedder(embedder, embedder)
    return _CachingEmbedder(embedder)


class Recent(Generic[_T]):
    """The ``size`` most recently used values by text."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: OrderedDict[str, _T] = OrderedDict()

    def all(self, texts: Sequence[str], make: Callable[[list[str]], Sequence[_T]]) -> list[_T]:
        """The values of the texts; those that aren't known are made in one call."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, make(new), strict=True))
        found = [self._known[text] for text in texts]
        for text in texts:
            self._known.move_to_end(text)
        while len(self._known) > self._size:
            self._known.popitem(last=False)
        return found


class _CachingEmbedder:
    """The Embedder protocol in front of another embedder. Questions aren't kept: each is asked
    once."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._vectors: Recent[Vector] = Recent(MAX_TEXTS)

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    @property
    def name(self) -> str:
        return self._inner.name

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.count_tokens(texts)

    def vocabulary_share(self, text: str) -> float:
        return self._inner.vocabulary_share(text)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        if not texts:
            return self._inner.embed_documents(texts)
        return np.stack(
            self._vectors.all(texts, lambda new: list(self._inner.embed_documents(new)))
        )

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)

    def close(self) -> None:
        self._inner.close()


class _CachingTokenEmbedder(_CachingEmbedder):
    """The same for one that has vectors of tokens too."""

    def __init__(self, inner: Embedder, tokens: TokenEmbedder) -> None:
        super().__init__(inner)
        self._tokens = tokens
        self._matrices: Recent[Matrix] = Recent(MAX_TOKEN_TEXTS)

    def embed_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        return self._matrices.all(texts, self._tokens.embed_tokens)
