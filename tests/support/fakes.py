"""Deterministic fakes of the vector store and the embedder, as the docstrings in ``ports`` say.

The contract suites run on these and on the real adapters, so that a stage tested on a fake can
rely on it. The catalog has none: SQLite is quick to make.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragvault.errors import StoreDamagedError
from ragvault.model import (
    Prefixes,
    ScoredId,
    VaultInfo,
)

if TYPE_CHECKING:
    from ragvault.model import Matrix, Vector


class FakeEmbedder:
    """Words hashed to directions: texts that share words are near each other."""

    def __init__(
        self, fingerprint: str = "fake-1", dimensions: int = 32, max_tokens: int = 64
    ) -> None:
        self._fingerprint = fingerprint
        self.dimensions = dimensions
        self._max_tokens = max_tokens
        self.embedded: list[str] = []  # every text that was embedded, in order
        self.share = 1.0  # what ``vocabulary_share`` says of any text

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    @property
    def name(self) -> str:
        return f"fake ({self._fingerprint})"

    @property
    def model(self) -> str:
        return "fake"

    @property
    def source(self) -> str:
        return "memory"

    @property
    def prefixes(self) -> Prefixes:
        return Prefixes("", "", "family")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.embedded.extend(texts)
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for i, text in enumerate(texts):
            rows[i] = self._vector(text)
        return rows

    def embed_query(self, text: str) -> Vector:
        return self._vector(text)

    def keep_to(self, fingerprints: Collection[str]) -> None:
        """Computed in one way."""

    def vocabulary_share(self, text: str) -> float:
        return self.share

    def close(self) -> None:
        """Nothing is held open."""

    def _vector(self, text: str) -> Vector:
        total = self._direction("")
        for word in text.lower().split()[: self._max_tokens]:
            total = total + self._direction(word)
        return (total / np.linalg.norm(total)).astype(np.float32)

    def _direction(self, word: str) -> Vector:
        seed = hashlib.sha256(f"{self._fingerprint}\0{word}".encode()).digest()
        direction: Vector = np.random.default_rng(list(seed)).standard_normal(self.dimensions)
        return direction.astype(np.float32)


class FakeVectorIndex:
    """Brute-force cosine. ``place`` outlives an instance, as a folder on disk does."""

    def __init__(self, place: dict[str, dict[str, Vector]] | None = None) -> None:
        self.place = {} if place is None else place
        self.epoch = 1
        self.damaged = False
        self.generation = 0
        self.upserted: list[str] = []
        self.deleted: list[str] = []

    @property
    def identity(self) -> str:
        return f"fake:{id(self.place)}:{self.epoch}"

    def stored_identity(self) -> str:
        return self.identity

    def size(self) -> int:
        return 0

    def upsert(self, key: str, vectors: Mapping[str, Vector]) -> None:
        self._check()
        self.place.setdefault(key, {}).update(vectors)
        self.upserted.extend(vectors)

    def delete(self, key: str, chunk_ids: Collection[str]) -> None:
        self._check()
        for chunk_id in chunk_ids:
            self.place.get(key, {}).pop(chunk_id, None)
            self.deleted.append(chunk_id)

    def query(self, key: str, vector: Vector, n: int) -> list[ScoredId]:
        self._check()
        held = self.place.get(key, {})
        found = [ScoredId(i, float(np.dot(other, vector))) for i, other in held.items()]
        return sorted(found, key=lambda s: (-s.score, s.chunk_id))[:n]

    def ids(self, key: str) -> set[str]:
        self._check()
        return set(self.place.get(key, {}))

    def vectors(self, key: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        self._check()
        held = self.place.get(key, {})
        return {i: held[i] for i in chunk_ids if i in held}

    def count(self, key: str) -> int:
        self._check()
        return len(self.place.get(key, {}))

    def seal(self) -> None:
        """Nothing is kept in files."""

    def drop(self, key: str) -> None:
        self._check()
        self.place.pop(key, None)

    def retain(self, keys: Collection[str]) -> None:
        self._check()
        for key in self.place.keys() - set(keys):
            del self.place[key]

    def reset(self) -> None:
        self.place.clear()
        self.damaged = False
        self.epoch += 1

    def sync_to(self, generation: int) -> None:
        self._check()
        self.generation = generation

    def close(self) -> None: ...

    def _check(self) -> None:
        if self.damaged:
            raise StoreDamagedError("The vector store is damaged.")


def vault_info(name: str, path: Path) -> VaultInfo:
    return VaultInfo(name=name, path=path, kind="folder")
