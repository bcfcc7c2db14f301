"""An embedder that remembers: many questions of a set look closer at the same passages.

A text's vector doesn't depend on its batch, so what is remembered is bit for bit what a model run
would give. Bounded: some 75 MB of sentences, and at most as much of token vectors.
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

MOST_TEXTS = 50_000  # of 1.5 kB each, at 384 dimensions
MOST_PASSAGES = 200  # of up to 400 kB each


def remembering(embedder: Embedder) -> Embedder:
    """The embedder with a memory; with vectors of tokens where it has them."""
    if isinstance(embedder, TokenEmbedder):
        return _MemoTokens(embedder, embedder)
    return _Memo(embedder)


class _Memory(Generic[_T]):
    """The most recently used values by text."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[str, _T] = OrderedDict()

    def all(self, texts: Sequence[str], make: Callable[[list[str]], Sequence[_T]]) -> list[_T]:
        """The values of the texts; those that aren't known are made in one call."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        made = dict(zip(new, make(new), strict=True)) if new else {}
        found = [made[text] if text in made else self._known[text] for text in texts]
        for text, value in zip(texts, found, strict=True):
            self._known[text] = value
            self._known.move_to_end(text)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return found


class _Memo:
    """The Embedder protocol, in front of another embedder."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._texts: _Memory[Vector] = _Memory(MOST_TEXTS)

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
        rows = self._texts.all(texts, lambda new: list(self._inner.embed_documents(new)))
        return np.stack(rows)

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)

    def close(self) -> None:
        self._inner.close()


class _MemoTokens(_Memo):
    """The same for one that has vectors of tokens too."""

    def __init__(self, inner: Embedder, tokens: TokenEmbedder) -> None:
        super().__init__(inner)
        self._token_embedder = tokens
        self._passages: _Memory[Matrix] = _Memory(MOST_PASSAGES)

    def embed_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        return self._passages.all(texts, self._token_embedder.embed_tokens)
