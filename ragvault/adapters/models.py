"""What the adapters of models share, whatever runs the model: how failures are told, what goes
in (text that can be encoded), what comes out (unit vectors, scores in 0..1), and how many threads
run it.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ragvault.config.settings import EmbeddingSettings
from ragvault.errors import EmbedderUnavailableError, ModelError, RerankerUnavailableError
from ragvault.model import Matrix, Prefixes, Vector

_QUERIES = 512

# --------------------------------------------------------------------------- failures


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a model is for, the section of its settings, and what its failures are."""

    noun: str
    section: str
    error: type[ModelError]

    @property
    def remedy(self) -> str:
        """For a file that can't be read or loaded, and for an output that won't do."""
        return (
            f"Check `{self.section}.path` in the config, get the model again with `ragvault model"
            " get`, or use another one."
        )


EMBEDDING = Purpose("embedding model", "embedding", EmbedderUnavailableError)
RERANKING = Purpose("reranker", "rerank", RerankerUnavailableError)


@contextmanager
def as_reranker_error() -> Iterator[None]:
    """A failure of the parts shared with the embedders is the reranker's failure here."""
    try:
        yield
    except EmbedderUnavailableError as error:
        raise RerankerUnavailableError(error.message, error.hint) from error


def first_line(error: BaseException) -> str:
    """What a library's exception says, cut to a sentence's length, without its full stop."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300].rstrip(" .")


# --------------------------------------------------------------------------- in and out


def encodable(text: str) -> str:
    """Lone surrogates, which file names and bad JSON bring, can't leave Python as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unit_rows(rows: Any, bad: Callable[[str], ModelError]) -> Matrix:
    """Rows of length 1, float32. Raises what ``bad`` makes of the reason when one is not finite or
    has no length. Computed in float64, so that a row's bits depend on that row alone."""
    import numpy as np

    exact = np.asarray(rows, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    if not np.isfinite(lengths).all() or (lengths < 1e-12).any():
        raise bad("gave a vector that is not a number, or of no length")
    unit: Matrix = (exact / lengths).astype(np.float32)
    return unit


class PrefixedEmbedder:
    """What all embedders do alike: put the model's prefixes before what is embedded, and remember
    questions for the life of the process, the newest 512."""

    def __init__(self, wanted: EmbeddingSettings) -> None:
        self._wanted = wanted
        self._queries: dict[str, Vector] = {}

    @cached_property
    def prefixes(self) -> Prefixes:
        return self._find_prefixes()

    def _find_prefixes(self) -> Prefixes:
        """Those of ``prefixes_for``, with the model's name and its folder's file."""
        raise NotImplementedError

    def _embed(self, texts: Sequence[str]) -> Matrix:
        raise NotImplementedError

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return self._embed([self.prefixes.document + text for text in texts])

    def embed_query(self, text: str) -> Vector:
        vector = self._queries.get(text)
        if vector is None:
            vector = self._embed([self.prefixes.query + text])[0].copy()
            vector.setflags(write=False)  # it is handed out again
            if len(self._queries) >= _QUERIES:
                self._queries.pop(next(iter(self._queries)), None)
            self._queries[text] = vector
        return vector

    def keep_to(self, fingerprints: Collection[str]) -> None:
        """This model is computed in one way."""

    def vocabulary_share(self, text: str) -> float:  # noqa: ARG002 - the port's
        """1: this model doesn't tell its pieces."""
        return 1.0

    def _hashed(self, *parts: str) -> str:
        """16 hex digits of ``parts`` and the prefixes, for the end of a fingerprint."""
        whole = "\0".join((*parts, self.prefixes.query, self.prefixes.document))
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# --------------------------------------------------------------------------- processors


def usable_cores(limit: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """How many processors this process may use: at least 1, in a container (cgroup v2) no more
    than its quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with suppress(OSError, ValueError):  # no container, or "max": no limit
        quota, period = map(int, limit.read_text().split())
        cores = min(cores or 1, math.ceil(quota / period))
    return cores or 1
