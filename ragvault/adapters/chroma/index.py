"""The vectors in Chroma, whether it is embedded or a server: `ports.VectorIndex`.

Chroma takes most of a second to import: neither for an empty store nor to name one. Nothing is sent
anywhere: chromadb 1.5 has no product telemetry left, OpenTelemetry gets no endpoint whatever the
environment says, and no embedding function is given, so no model is ever fetched.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import re
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from ragvault.adapters.chroma.errors import translate
from ragvault.errors import RagvaultError
from ragvault.model import ScoredId, Vector

# Chroma proposes candidates, their scores are computed again from the catalog: all that counts
# here is that the nearest are among them, in whatever order the vectors came. Measured at 100,000
# clustered vectors of 384 (recall of the 15 nearest, against brute force):
#   ef_construction 100, 16 neighbours: ef_search 100 0.989, 200 0.996, 400 0.999, 800 0.9997
#   ef_construction 200, 24 neighbours: ef_search 100 0.996, 200 0.999, 400 1.000
# The second took twice the processor time to fill; ef_search 400 costs a few ms a query. At 20,000
# vectors a sync_threshold of 10,000 was slower than Chroma's 1,000.
HNSW: Mapping[str, Any] = {
    "space": "cosine",
    "ef_construction": 100,
    "max_neighbors": 16,
    "ef_search": 400,
}
_PAGE = 100  # collections listed at a time
_MARGIN = 16  # extra results, so that ties at the n-th place can be ordered by id


def collection_name(key: str, namespace: str = "") -> str:
    """Chroma allows 3–512 of ``[a-zA-Z0-9._-]``: a readable part, and a hash that is unique."""
    readable = re.sub(r"[^a-zA-Z0-9]+", "-", key).strip("-")[:40]
    digest = hashlib.sha256(f"{namespace}\0{key}".encode()).hexdigest()[:20]
    return "-".join(part for part in ("ragvault", readable, digest) if part)


class ChromaIndex:
    """What both ways to reach Chroma share. Safe to use from several threads."""

    def __init__(self, place: str, *, server: bool) -> None:
        self._place = place
        self._server = server
        self._lock = threading.RLock()
        self._client: Any = None
        self._collections: dict[str, Any] = {}
        self._generation: int | None = None

    # -- what differs between them
    @property
    def _namespace(self) -> str:
        """Tells the vaults of installations that share a store apart."""
        return ""

    def _connect(self) -> Any:
        raise NotImplementedError

    def _exists(self) -> bool:
        """False when there is surely nothing to read, known without a connection."""
        raise NotImplementedError

    # -- ports.VectorIndex
    def upsert(self, key: str, vectors: Mapping[str, Vector]) -> None:
        if not vectors:
            return
        ids, rows = list(vectors), list(vectors.values())
        with self._writing():
            for part in self._batches(len(ids)):
                self._call(key, "upsert", ids=ids[part], embeddings=rows[part])

    def delete(self, key: str, chunk_ids: Collection[str]) -> None:
        ids = list(dict.fromkeys(chunk_ids))
        if not ids or not self._exists():
            return
        with self._writing():
            for part in self._batches(len(ids)):
                self._call(key, "delete", ids=ids[part])

    def query(self, key: str, vector: Vector, n: int) -> list[ScoredId]:
        if n <= 0:
            return []
        wanted = {"query_embeddings": [vector], "n_results": n + _MARGIN, "include": ["distances"]}
        found = self._call(key, "query", **wanted)
        if found is None:
            return []
        hits = [
            ScoredId(chunk_id, max(-1.0, min(1.0, 1.0 - float(distance))))
            for chunk_id, distance in zip(found["ids"][0], found["distances"][0], strict=True)
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.chunk_id))
        return hits[:n]

    def ids(self, key: str) -> set[str]:
        found = self._call(key, "get", include=[])
        return set() if found is None else set(found["ids"])

    def vectors(self, key: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        found = self._call(key, "get", ids=list(chunk_ids), include=["embeddings"])
        return dict(zip(found["ids"], found["embeddings"], strict=True)) if found else {}

    def count(self, key: str) -> int:
        return int(self._call(key, "count") or 0)

    def drop(self, key: str) -> None:
        if not self._exists():
            return
        client = self._open()
        from chromadb.errors import NotFoundError  # after ``import_chromadb``

        name = collection_name(key, self._namespace)
        with self._writing(), self.translated(), suppress(NotFoundError):
            self._collections.pop(name, None)
            client.delete_collection(name)

    def retain(self, keys: Collection[str]) -> None:
        """Linear in the collections. Those of other installations on the same server stay."""
        if not self._exists():
            return
        client, kept = self._open(), {collection_name(key, self._namespace) for key in keys}
        own: list[str] = []
        with self._writing(), self.translated():
            for offset in itertools.count(0, _PAGE):
                page = client.list_collections(limit=_PAGE, offset=offset)
                own += [
                    one.name
                    for one in page
                    if (one.metadata or {}).get("ragvault_namespace") == self._namespace
                ]
                if len(page) < _PAGE:
                    break
            for name in set(own) - kept:
                self._collections.pop(name, None)
                client.delete_collection(name)

    def seal(self) -> None:
        """A server keeps its own files."""

    def _writing(self) -> AbstractContextManager[None]:
        """Around each write."""
        return nullcontext()

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            self._collections.clear()
            if client is not None:
                with self.translated():
                    client.close()

    # -- connection
    def _open(self) -> Any:
        with self._lock:
            if self._client is None:
                with self.translated():
                    self._client = self._connect()
            return self._client

    def _batches(self, count: int) -> Iterator[slice]:
        """``count`` things in parts that Chroma takes at once."""
        with self.translated():
            size = int(self._open().get_max_batch_size())
        return (slice(start, start + size) for start in range(0, count, size))

    def _call(self, key: str, method: str, **arguments: Any) -> Any:
        """A method of a collection; None when there is none, which ``upsert`` makes. One that was
        dropped, here or by another process, has another id when it is made again: the one that is
        kept then isn't found, and asked for anew."""
        if method != "upsert" and not self._exists():
            return None
        client, name = self._open(), collection_name(key, self._namespace)
        from chromadb.errors import NotFoundError  # after ``import_chromadb``

        with self.translated():
            for is_last in (False, False, True):
                collection = self._collections.get(name)
                try:
                    if collection is None and method == "upsert":
                        collection = client.get_or_create_collection(
                            name,
                            embedding_function=None,
                            configuration={"hnsw": dict(HNSW)},
                            metadata={"ragvault_vault": key, "ragvault_namespace": self._namespace},
                        )
                    elif collection is None:
                        collection = client.get_collection(name, embedding_function=None)
                    self._collections[name] = collection
                    return getattr(collection, method)(**arguments)
                except NotFoundError:
                    self._collections.pop(name, None)
                    if collection is None and method != "upsert":
                        return None
                    if is_last:
                        raise
        raise AssertionError("unreachable")

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Whatever Chroma raises inside comes out as a ragvault error."""
        try:
            yield
        except RagvaultError:
            raise
        except BaseException as error:
            # A panic of the Rust core is no Exception.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise translate(error, self._place, server=self._server) from error


def import_chromadb() -> Any:
    # Read by chromadb at import; a stray OTEL variable must not open a connection.
    os.environ["ANONYMIZED_TELEMETRY"] = "False"
    logging.getLogger("chromadb").setLevel(logging.ERROR)
    import chromadb

    return chromadb


def chroma_settings() -> Any:
    """Chroma's settings, none of them from a ``.env`` file in the current folder."""
    from chromadb.config import Settings

    return Settings(
        _env_file=None,
        anonymized_telemetry=False,
        chroma_otel_collection_endpoint="",
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        chroma_server_host=None,
        chroma_server_http_port=None,
        migrations="apply",
    )
