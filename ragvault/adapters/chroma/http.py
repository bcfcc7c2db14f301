"""Chroma as a server, which several machines or indexes may share."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragvault.adapters.chroma.index import ChromaIndex, chroma_settings, import_chromadb
from ragvault.adapters.files import atomic_write, private_folder

if TYPE_CHECKING:
    from ragvault.config.settings import StoreSettings

NAMESPACE_NAME = "chroma-namespace"  # a file in the index folder
_CONNECT_TIMEOUT_S = 5.0


class HttpStore:
    """``ports.VectorStore`` for ``store.mode: http``."""

    def __init__(self, settings: StoreSettings, index_folder: Path) -> None:
        self._settings = settings
        self._index_folder = index_folder

    def stored_identity(self) -> str:
        return self.open().identity

    def open(self) -> HttpChroma:
        at = self._settings
        return HttpChroma(
            at.host, at.port, ssl=at.ssl, headers=at.headers, namespace=self._namespace()
        )

    def size(self) -> int:
        return 0

    def _namespace(self) -> str:
        """Tells this index apart from others on the same server: random, made once."""
        file = self._index_folder / NAMESPACE_NAME
        if not file.exists():
            private_folder(self._index_folder)
            atomic_write(file, uuid.uuid4().hex[:12])
        return file.read_text(encoding="ascii").strip()


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
        return f"{'https' if self._ssl else 'http'}://{self._host}:{self._port}/{self._namespace}"

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
        chromadb = import_chromadb()
        client = chromadb.HttpClient(
            host=self._host,
            port=self._port,
            ssl=self._ssl,
            headers=self._headers,
            settings=chroma_settings(),
        )
        session = getattr(getattr(client, "_server", None), "_session", None)
        if session is not None:
            session.timeout = self._timeout_s
        return client


def _own_collections(client: Any, namespace: str) -> list[Any]:
    found: list[Any] = []
    page = 100
    for offset in itertools.count(0, page):
        part = client.list_collections(limit=page, offset=offset)
        found += [c for c in part if (c.metadata or {}).get("ragvault_namespace") == namespace]
        if len(part) < page:
            break
    return found
