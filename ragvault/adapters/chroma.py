"""The vector store on Chroma: `ports.VectorIndex`, embedded or as a server.

One collection a vault; a vector's id is its chunk's. Nothing here is the truth: what is lost or
damaged is rebuilt from the catalog's embedding cache. Chroma takes most of a second to import,
so that happens at the first real use, and neither for an empty store nor to name one.

Nothing is sent anywhere: chromadb 1.5 has no product telemetry left (its client's ``capture`` is
empty), OpenTelemetry runs only with an endpoint, which is set to none here whatever the
environment says, and no embedding function is given, so no model is ever fetched.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import re
import shutil
import socket
import threading
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ragvault.adapters.chroma_errors import translate
from ragvault.adapters.sqlite import os_error
from ragvault.errors import RagvaultError, StoreError
from ragvault.model import ScoredId, VectorRecord

if TYPE_CHECKING:
    from ragvault.model import Vector

T = TypeVar("T")

# Chroma proposes candidates, their scores are computed again from the catalog: all that counts
# here is that the nearest are among them, in whatever order the vectors came. Measured at 100,000
# clustered vectors of 384 (recall of the 15 nearest, against brute force):
#   ef_construction 100, 16 neighbours: ef_search 100 0.989, 200 0.996, 400 0.999, 800 0.9997
#   ef_construction 200, 24 neighbours: ef_search 100 0.996, 200 0.999, 400 1.000
# The second costs twice the time to fill; ef_search 400 a few ms a query. A sync_threshold above
# Chroma's 1,000 made nothing faster and the first query after opening slower.
HNSW: Mapping[str, Any] = {
    "space": "cosine",
    "ef_construction": 100,
    "max_neighbors": 16,
    "ef_search": 400,
}
_MARGIN = 16  # extra results, so that ties at the n-th place can be ordered by id
_STORE_FILE = "chroma.sqlite3"
_ID_FILE = "store-id"
_CONNECT_TIMEOUT_S = 5.0
_SPELLINGS = itertools.count(1)


def persistent_identity(folder: Path) -> str | None:
    """The identity of the store in ``folder``, without opening it; None when there is none."""
    if not (folder / _STORE_FILE).exists():
        return None
    try:
        name = (folder / _ID_FILE).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return f"persistent:{name}" if name else None


def server_identity(host: str, port: int, *, ssl: bool = False, namespace: str = "") -> str:
    """The identity of the store on a Chroma server, without connecting to it."""
    return f"{'https' if ssl else 'http'}://{host}:{port}/{namespace}"


def collection_name(vault: str, namespace: str = "") -> str:
    """Chroma allows 3–512 of ``[a-zA-Z0-9._-]``: a readable part, and a hash that is unique."""
    readable = re.sub(r"[^a-zA-Z0-9]+", "-", vault).strip("-")[:40]
    digest = hashlib.sha256(f"{namespace}\0{vault}".encode()).hexdigest()[:20]
    return "-".join(part for part in ("ragvault", readable, digest) if part)


class _ChromaIndex:
    """What both modes share. Safe to use from several threads."""

    def __init__(self, place: str, *, server: bool, namespace: str) -> None:
        self._place = place
        self._server = server
        self._namespace = namespace
        self._lock = threading.RLock()
        self._client: Any = None
        self._collections: dict[str, Any] = {}
        self._generation: int | None = None

    # -- what a mode adds
    def _connect(self) -> Any:
        raise NotImplementedError

    def _exists(self) -> bool:
        """False when there is surely nothing to read, known without a connection."""
        raise NotImplementedError

    # -- ports.VectorIndex
    def upsert(self, vault: str, records: Sequence[VectorRecord]) -> None:
        """Chroma's limit on a batch is kept; of records with the same id the last one counts.

        Raises StoreError for a vector that isn't finite or has another dimension.
        """
        if not records:
            return
        unique = list({record.chunk_id: record for record in records}.values())
        matrix = _matrix([record.vector for record in unique])
        with self._translated():
            size = int(self._open().get_max_batch_size())
        for start in range(0, len(unique), size):
            batch = _batch(unique[start : start + size], matrix[start : start + size])
            self._call(vault, lambda collection: collection.upsert(**batch), create=True)  # noqa: B023

    def delete(self, vault: str, chunk_ids: Collection[str]) -> None:
        ids = list(dict.fromkeys(chunk_ids))
        if not ids or not self._exists():
            return
        with self._translated():
            size = int(self._open().get_max_batch_size())
        for start in range(0, len(ids), size):
            part = ids[start : start + size]
            self._call(vault, lambda collection: collection.delete(ids=part))  # noqa: B023

    def query(
        self,
        vault: str,
        vector: Vector,
        n: int,
        *,
        folders: Collection[str] | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> list[ScoredId]:
        """``since`` and ``until`` bound ``modified``, inclusive. A filter costs a scan of the
        vault's metadata (about 50 ms at 100,000 vectors)."""
        if n <= 0 or (folders is not None and not folders):
            return []
        row = _matrix([vector])
        found = self._call(
            vault,
            lambda collection: collection.query(
                query_embeddings=row,
                n_results=n + _MARGIN,
                where=_where(folders, since, until),
                include=["distances"],
            ),
        )
        if found is None:
            return []
        hits = [
            ScoredId(chunk_id, max(-1.0, min(1.0, 1.0 - float(distance))))
            for chunk_id, distance in zip(found["ids"][0], found["distances"][0], strict=True)
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.chunk_id))
        return hits[:n]

    def ids(self, vault: str) -> set[str]:
        """Linear in the vault."""
        found = self._call(vault, lambda collection: collection.get(include=[]))
        return set() if found is None else set(found["ids"])

    def count(self, vault: str) -> int:
        found = self._call(vault, lambda collection: collection.count())
        return 0 if found is None else int(found)

    def drop(self, vault: str) -> None:
        with self._lock:
            if not self._exists() or self._collection(vault, create=False) is None:
                return
            self._collections.pop(vault, None)
            with self._translated():
                self._client.delete_collection(collection_name(vault, self._namespace))

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            self._collections.clear()
            if client is not None:
                with self._translated():
                    client.close()

    # -- connection
    def _open(self) -> Any:
        with self._lock:
            if self._client is None:
                with self._translated():
                    self._client = self._connect()
            return self._client

    def _collection(self, vault: str, *, create: bool) -> Any:
        """The vault's collection, None when there is none and none is to be made."""
        with self._lock:
            collection = self._collections.get(vault)
            if collection is not None:
                return collection
            client = self._open()
            name = collection_name(vault, self._namespace)
            with self._translated():
                if create:
                    collection = client.get_or_create_collection(
                        name,
                        embedding_function=None,
                        configuration={"hnsw": dict(HNSW)},
                        metadata={"ragvault_vault": vault, "ragvault_namespace": self._namespace},
                    )
                else:
                    collection = _get_collection(client, name)
            if collection is not None:
                self._collections[vault] = collection
            return collection

    def _call(self, vault: str, work: Callable[[Any], T], *, create: bool = False) -> T | None:
        """Run ``work`` on the vault's collection; None when there is no such collection.

        A collection that another process dropped and made again has another id behind the same
        name: asked for once more.
        """
        if not create and not self._exists():
            return None
        for attempt in (1, 2):
            collection = self._collection(vault, create=create)
            if collection is None:
                return None
            with self._translated():
                try:
                    return work(collection)
                except Exception as error:
                    if type(error).__name__ != "NotFoundError" or attempt == 2:
                        raise
            with self._lock:
                self._collections.pop(vault, None)
        raise AssertionError("unreachable")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Whatever Chroma raises inside comes out as a ragvault error."""
        try:
            yield
        except RagvaultError:
            raise
        except Exception as error:
            raise translate(error, self._place, server=self._server) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # a panic of the Rust core
                raise
            raise translate(error, self._place, server=self._server) from error


class PersistentChroma(_ChromaIndex):
    """Chroma inside this process, its files in ``folder``. Opened at the first use."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), server=False, namespace="")
        self._folder = folder
        self._opened_identity: str | None = None
        self._spelling = next(_SPELLINGS)

    @property
    def identity(self) -> str:
        """Makes the store when there is none."""
        with self._lock:
            self._open()
            identity = persistent_identity(self._folder)
            if identity is None:
                raise StoreError(f"The vector store {self._place} vanished.")
            return identity

    def sync_to(self, generation: int) -> None:
        """Reopens (some 30 ms, and a slower first query) when the catalog's generation moved, or
        another store is there, since this one was opened.

        An open client answers from the index that it has in memory, whatever other processes
        write; Chroma has no call to refresh it.
        """
        with self._lock:
            stale = (
                generation != self._generation
                or persistent_identity(self._folder) != self._opened_identity
            )
            if self._client is not None and stale:
                self.close()
            self._generation = generation

    def reset(self) -> None:
        """Deletes the folder's content, however damaged; the next use makes a new store."""
        with self._lock:
            try:
                self.close()
            except RagvaultError:
                self._client = None  # it is on its way out, whatever state it is in
            try:
                if self._folder.is_dir():
                    shutil.rmtree(self._folder)
            except OSError as error:
                raise os_error(error, self._folder) from error

    def _exists(self) -> bool:
        return self._client is not None or (self._folder / _STORE_FILE).exists()

    def _connect(self) -> Any:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if persistent_identity(self._folder) is None:
                self._write_identity()
        except OSError as error:
            raise os_error(error, self._folder) from error
        chromadb = _import_chromadb()
        # chromadb keeps one system for each spelling of a path, also one that failed to start,
        # and hands it out again. So each instance, and each try after a failure, has its own.
        path = os.path.join(self._folder, *(["."] * self._spelling))  # noqa: PTH118
        try:
            client = chromadb.PersistentClient(path=path, settings=_settings())
        except BaseException:
            self._spelling = next(_SPELLINGS)
            raise
        self._opened_identity = persistent_identity(self._folder)
        return client

    def _write_identity(self) -> None:
        temporary = self._folder / f"{_ID_FILE}.{os.getpid()}"
        temporary.write_text(uuid.uuid4().hex, encoding="ascii")
        temporary.replace(self._folder / _ID_FILE)


class HttpChroma(_ChromaIndex):
    """A Chroma server. ``namespace`` tells the vaults of several installations that share a
    server apart; ``headers`` go with each request (say, a token)."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        ssl: bool = False,
        headers: Mapping[str, str] | None = None,
        namespace: str = "",
        timeout_s: float = 60.0,
    ) -> None:
        super().__init__(f"{host}:{port}", server=True, namespace=namespace)
        self._host = host
        self._port = port
        self._ssl = ssl
        self._headers = dict(headers or {})
        self._timeout_s = timeout_s

    @property
    def identity(self) -> str:
        return server_identity(self._host, self._port, ssl=self._ssl, namespace=self._namespace)

    def sync_to(self, generation: int) -> None:
        """Nothing to do: the server has one index for everyone."""
        self._generation = generation

    def reset(self) -> None:
        """Deletes the collections of this namespace and leaves the others alone."""
        with self._lock:
            self._collections.clear()
            client = self._open()
            with self._translated():
                for collection in _own_collections(client, self._namespace):
                    client.delete_collection(collection.name)

    def _exists(self) -> bool:
        return True

    def _connect(self) -> Any:
        # chromadb sets no time limit at all: an address that swallows packets would hang here.
        with socket.create_connection((self._host, self._port), timeout=_CONNECT_TIMEOUT_S):
            pass
        chromadb = _import_chromadb()
        client = chromadb.HttpClient(
            host=self._host,
            port=self._port,
            ssl=self._ssl,
            headers=self._headers,
            settings=_settings(),
        )
        session = getattr(getattr(client, "_server", None), "_session", None)
        if session is not None:
            session.timeout = self._timeout_s
        return client


def _import_chromadb() -> Any:
    # Read by chromadb at import; a stray OTEL variable must not open a connection.
    os.environ["ANONYMIZED_TELEMETRY"] = "False"
    logging.getLogger("chromadb").setLevel(logging.ERROR)
    import chromadb

    return chromadb


def _settings() -> Any:
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


def _get_collection(client: Any, name: str) -> Any:
    from chromadb.errors import NotFoundError

    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def _own_collections(client: Any, namespace: str) -> list[Any]:
    found: list[Any] = []
    page = 100
    for offset in itertools.count(0, page):
        part = client.list_collections(limit=page, offset=offset)
        found += [c for c in part if (c.metadata or {}).get("ragvault_namespace") == namespace]
        if len(part) < page:
            break
    return found


def _matrix(vectors: Sequence[Vector]) -> Any:
    """Shape (n, dimensions), float32. Chroma would accept a query of NaN and rank by it."""
    import numpy as np

    rows = [np.asarray(vector, dtype=np.float32) for vector in vectors]
    if any(row.ndim != 1 or row.shape != rows[0].shape or not row.size for row in rows):
        raise StoreError(
            "Vectors of different dimensions can't go into one store.",
            "If the embedding model was changed, run `ragvault index --full`.",
        )
    matrix = np.stack(rows)
    if not np.isfinite(matrix).all():
        raise StoreError(
            "A vector holds a number that isn't finite.",
            "Check embedding.model in the config, then run `ragvault doctor`.",
        )
    return matrix


def _batch(records: Sequence[VectorRecord], rows: Any) -> dict[str, Any]:
    return {
        "ids": [record.chunk_id for record in records],
        "embeddings": rows,
        "metadatas": [
            {
                "folder": record.folder,
                "source_type": record.source_type,
                "modified": float(record.modified),
            }
            for record in records
        ],
    }


def _where(
    folders: Collection[str] | None, since: float | None, until: float | None
) -> dict[str, Any] | None:
    parts: list[dict[str, Any]] = []
    if folders is not None:
        parts.append({"folder": {"$in": sorted(folders)}})
    if since is not None:
        parts.append({"modified": {"$gte": float(since)}})
    if until is not None:
        parts.append({"modified": {"$lte": float(until)}})
    if len(parts) > 1:
        return {"$and": parts}
    return parts[0] if parts else None
