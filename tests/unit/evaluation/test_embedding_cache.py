"""The evaluation's cache of vectors: a wrong one would measure another search than `ask` runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragvault.evaluation.embedding_cache import Recent, caching
from ragvault.ports import TokenEmbedder
from tests.support.fakes import FakeEmbedder


class TokenFake(FakeEmbedder):
    """A fake with one vector a word."""

    def __init__(self) -> None:
        super().__init__()
        self.tokenised: list[str] = []

    def embed_tokens(self, texts: Sequence[str]) -> list[np.ndarray]:
        self.tokenised.extend(texts)
        return [np.stack([self.embed_query(word) for word in text.split()]) for text in texts]


def test_vectors_are_the_same_and_each_text_is_embedded_once() -> None:
    inner = FakeEmbedder()
    embedder = caching(inner)
    first = embedder.embed_documents(["a", "b", "a"])
    again = embedder.embed_documents(["c", "a"])
    assert inner.embedded == ["a", "b", "c"]
    plain = FakeEmbedder()
    assert (first == plain.embed_documents(["a", "b", "a"])).all()
    assert (again == plain.embed_documents(["c", "a"])).all()
    assert embedder.embed_documents([]).shape == (0, inner.dimensions)


def test_it_has_vectors_of_tokens_only_where_the_model_has() -> None:
    """The gate looks closer where it can; a cache must not change whether it does."""
    assert not isinstance(caching(FakeEmbedder()), TokenEmbedder)
    inner = TokenFake()
    embedder = caching(inner)
    assert isinstance(embedder, TokenEmbedder)
    one, _ = embedder.embed_tokens(["x y", "z"])
    assert (embedder.embed_tokens(["x y"])[0] == one).all()
    assert inner.tokenised == ["x y", "z"]


def test_cache_is_bounded() -> None:
    cache: Recent[str] = Recent(3)
    made: list[str] = []

    def make(texts: list[str]) -> list[str]:
        made.extend(texts)
        return [text.upper() for text in texts]

    assert cache.all(list("abcd"), make) == list("ABCD")  # more than it can keep
    cache.all(["b"], make)
    assert made == list("abcd")
    assert cache.all(["a"], make) == ["A"]
    assert made == list("abcda")  # the oldest was forgotten
