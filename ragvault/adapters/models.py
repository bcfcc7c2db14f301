"""What the adapters of models share, whatever runs the model: how failures are told, what goes
in (text that can be encoded), what comes out (unit vectors, scores in 0..1), how many threads
run it, and what takes long to find out (hashes of files, digests, dimensions).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from ragvault.adapters.families import prefixes_for
from ragvault.adapters.files import atomic_write, private_folder, read_object
from ragvault.config.settings import Settings
from ragvault.errors import EmbedderUnavailableError, ModelError, StoreError
from ragvault.model import Matrix, Prefixes, Vector

_QUERIES = 512
_SHA256 = re.compile("[0-9a-f]{64}")


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
RERANKING = Purpose("reranker", "rerank", ModelError)


def first_line(error: BaseException) -> str:
    """What a library's exception says, cut to a sentence's length, without its full stop."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300].rstrip(" .")


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
    the last 512 questions for the life of the process."""

    def __init__(self, settings: Settings, facts: Path | None) -> None:
        self._wanted = settings.embedding
        self._facts = FactStore(facts)
        self._lock = threading.RLock()
        self._remembered: Callable[[str], Vector] = lru_cache(_QUERIES)(self._question)

    @cached_property
    def prefixes(self) -> Prefixes:
        return prefixes_for(self._wanted, self.model, self._prompts)

    @cached_property
    def model(self) -> str:
        raise NotImplementedError

    @property
    def _prompts(self) -> Path | None:
        """The file in which the model's folder says its prefixes."""
        return None

    def _embed(self, texts: Sequence[str]) -> Matrix:
        raise NotImplementedError

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return self._embed([self.prefixes.document + text for text in texts])

    def embed_query(self, text: str) -> Vector:
        return self._remembered(text)

    def _question(self, text: str) -> Vector:
        vector: Vector = self._embed([self.prefixes.query + text])[0].copy()
        vector.setflags(write=False)  # it is handed out again
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


def usable_cores(limit: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """How many processors this process may use: at least 1, in a container (cgroup v2) no more
    than its quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with suppress(OSError, ValueError):  # no container, or "max": no limit
        quota, period = map(int, limit.read_text().split())
        cores = min(cores or 1, math.ceil(quota / period))
    return cores or 1


# One JSON file beside the index, a cache: lost, damaged, unwritable or overwritten by another
# process, everything is found out afresh.

_VERSION = 2
_MAX_FACTS = 512  # the oldest go first, so that replaced files don't pile up


class FactStore:
    """(kind, key) → value, all strings. ``path`` None keeps them in memory only."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._facts: dict[str, str] | None = None

    def get(self, kind: str, key: str) -> str | None:
        if self._facts is None:
            self._facts = self._read()
        return self._facts.get(f"{kind} {key}")

    def put(self, kind: str, key: str, value: str) -> None:
        if self.get(kind, key) == value:
            return
        # Others may have written since; and what could not be written is still true.
        facts = self._read() | (self._facts or {})
        facts.pop(f"{kind} {key}", None)
        facts[f"{kind} {key}"] = value
        self._facts = dict(list(facts.items())[-_MAX_FACTS:])
        if self.path is not None:
            # A read-only or full disk costs the cache, not the command.
            with suppress(StoreError):
                private_folder(self.path.parent)
                document = {"version": _VERSION, "facts": self._facts}
                atomic_write(self.path, json.dumps(document, indent=1))

    def _read(self) -> dict[str, str]:
        document = read_object(self.path) if self.path is not None else {}
        known = document.get("facts")
        if not isinstance(known, dict) or document.get("version") != _VERSION:
            return {}
        return {key: str(value) for key, value in known.items()}


def remembered_sha256(file: Path, facts: FactStore, expected: str | None = None) -> str:
    """The file's SHA-256: the remembered one when size and modification time are unchanged.

    Raises EmbedderUnavailableError when it can't be read, or isn't ``expected``; a file of the
    hub's cache, which keeps large ones under their hash, has to have that.
    """
    try:
        place, status = file.resolve(), file.stat()
    except OSError as error:
        raise _unreadable(file, error) from error
    key = f"{place}|{status.st_size}|{status.st_mtime_ns}"
    digest = facts.get("sha256", key)
    if digest is None or not _SHA256.fullmatch(digest):
        digest = sha256_of(file)
        facts.put("sha256", key, digest)
    if expected is None and _SHA256.fullmatch(place.name):
        expected = place.name
    return _expected(file, digest, expected or digest)


def sha256_of(file: Path, expected: str | None = None) -> str:
    """Linear in the file's size (22 MB take 15 to 80 ms). Raises EmbedderUnavailableError for one
    that can't be read, or isn't ``expected``."""
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from error
    return _expected(file, digest, expected or digest)


def _expected(file: Path, actual: str, expected: str) -> str:
    if actual != expected:
        raise EmbedderUnavailableError(
            f"The model file {file} is not the one that ragvault expects: "
            f"SHA-256 {actual[:12]}…, expected {expected[:12]}….",
            "It is damaged or was replaced: delete it, and install it or get it again (`ragvault "
            "model get`).",
        )
    return actual


def _unreadable(file: Path, error: OSError) -> EmbedderUnavailableError:
    return EmbedderUnavailableError(
        f"The model file {file} can't be read: {error.strerror or error}.",
        "Look at its permissions, or delete it and install or download the model again.",
    )
