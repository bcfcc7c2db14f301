"""The vector store on Chroma: `ports.VectorIndex`, embedded or as a server.

One collection a vault; a vector's id is its chunk's. Nothing here is the truth: what is lost or
damaged is rebuilt from the catalog's embedding cache. Chroma takes most of a second to import,
so that happens at the first real use, and neither for an empty store nor to name one.

Nothing is sent anywhere: chromadb 1.5 has no product telemetry left (its client's ``capture`` is
empty), OpenTelemetry runs only with an endpoint, which is set to none here whatever the
environment says, and no embedding function is given, so no model is ever fetched.
"""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragvault.adapters.chroma.files import STORE_FILE, damage
from ragvault.adapters.chroma.index import ChromaIndex, collection_name
from ragvault.adapters.sqlite.connection import os_error
from ragvault.errors import RagvaultError, StoreDamagedError, StoreError

__all__ = [
    "HttpChroma",
    "PersistentChroma",
    "collection_name",
    "persistent_identity",
    "server_identity",
    "sound_identity",
]

_ID_FILE = "store-id"
_CONNECT_TIMEOUT_S = 5.0
_SPELLINGS = itertools.count(1)
_LOOK_AGAIN_S = (0.05, 0.3)  # another process may be saving its vectors just now


def persistent_identity(folder: Path) -> str | None:
    """The identity of the store in ``folder``, without opening it; None when there is none."""
    if not (folder / STORE_FILE).exists():
        return None
    try:
        name = (folder / _ID_FILE).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return f"persistent:{name}" if name else None


def sound_identity(folder: Path) -> str | None:
    """As ``persistent_identity``, and None when the store's files show damage too: what is there
    is not the store that was left."""
    return None if damage(folder) else persistent_identity(folder)


def server_identity(host: str, port: int, *, ssl: bool = False, namespace: str = "") -> str:
    """The identity of the store on a Chroma server, without connecting to it."""
    return f"{'https' if ssl else 'http'}://{host}:{port}/{namespace}"


class PersistentChroma(ChromaIndex):
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
                if self._folder.is_dir() and not self._folder.is_symlink():
                    shutil.rmtree(self._folder)
                else:
                    self._folder.unlink(missing_ok=True)
            except OSError as error:
                raise os_error(error, self._folder) from error

    def _exists(self) -> bool:
        return self._client is not None or (
            (self._folder / STORE_FILE).exists() or self._folder.is_file()
        )

    def _connect(self) -> Any:
        self._refuse_damage()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if persistent_identity(self._folder) is None:
                self._write_identity()
        except OSError as error:
            raise os_error(error, self._folder) from error
        chromadb = _import_chromadb()
        # chromadb keeps one system for each spelling of a path, also one that failed to start,
        # and hands it out again. So each instance, and each try after a failure, has its own.
        path = os.path.join(self._folder, *(["."] * self._spelling))  # noqa: PTH118 - a Path drops dots
        try:
            client = chromadb.PersistentClient(path=path, settings=_settings())
        except BaseException:
            self._spelling = next(_SPELLINGS)
            raise
        self._opened_identity = persistent_identity(self._folder)
        return client

    def _refuse_damage(self) -> None:
        problem = damage(self._folder)
        for pause in _LOOK_AGAIN_S:
            if problem is None:
                return
            time.sleep(pause)
            problem = damage(self._folder)
        if problem is not None:
            raise StoreDamagedError(
                f"The vector store {self._place} is damaged ({problem}).",
                "Run `ragvault index`: it is rebuilt, nothing is embedded again.",
            )

    def _prove(self, collection: Any) -> None:
        """Read the oldest vector: where the segment's content is garbage, this fails, while
        ``query`` quietly finds something else."""
        collection.get(limit=1, include=["embeddings"])

    def _write_identity(self) -> None:
        temporary = self._folder / f"{_ID_FILE}.{os.getpid()}"
        temporary.write_text(os.urandom(16).hex(), encoding="ascii")
        temporary.replace(self._folder / _ID_FILE)


class HttpChroma(ChromaIndex):
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
            with self.translated():
                for collection in _own_collections(client, self._namespace):
                    client.delete_collection(collection.name)

    def _exists(self) -> bool:
        return True

    def _connect(self) -> Any:
        import socket  # not at the top: naming a store is part of a run that finds nothing to do

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


def _own_collections(client: Any, namespace: str) -> list[Any]:
    found: list[Any] = []
    page = 100
    for offset in itertools.count(0, page):
        part = client.list_collections(limit=page, offset=offset)
        found += [c for c in part if (c.metadata or {}).get("ragvault_namespace") == namespace]
        if len(part) < page:
            break
    return found
