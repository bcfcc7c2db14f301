"""Chroma as a server, which several machines or indexes may share."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from ragvault.adapters.chroma.index import ChromaIndex, chroma_settings, import_chromadb
from ragvault.adapters.files import atomic_write, private_folder
from ragvault.config.settings import StoreSettings

NAMESPACE_NAME = "chroma-namespace"  # a file in the index folder
_CONNECT_TIMEOUT_S = 5.0


class HttpChroma(ChromaIndex):
    """``ports.VectorIndex`` for ``store.mode: http``. The index folder holds a name that tells its
    vectors from those of other installations on the same server."""

    def __init__(
        self, index_folder: Path, settings: StoreSettings, *, timeout_s: float = 60.0
    ) -> None:
        super().__init__(f"{settings.host}:{settings.port}", server=True)
        self._index_folder = index_folder
        self._at = settings
        self._timeout_s = timeout_s

    @property
    def _namespace(self) -> str:
        file = self._index_folder / NAMESPACE_NAME
        if not file.exists():
            private_folder(self._index_folder)
            atomic_write(file, uuid.uuid4().hex[:12])
        return file.read_text(encoding="ascii").strip()

    @property
    def identity(self) -> str:
        scheme = "https" if self._at.ssl else "http"
        return f"{scheme}://{self._at.host}:{self._at.port}/{self._namespace}"

    def stored_identity(self) -> str:
        return self.identity

    def size(self) -> int:
        return 0

    def sync_to(self, generation: int) -> None:
        """Nothing to do: the server has one index for everyone."""
        self._generation = generation

    def reset(self) -> None:
        """Deletes the collections of this namespace and leaves the others alone."""
        self.retain(())

    def _exists(self) -> bool:
        return True

    def _connect(self) -> Any:
        import socket  # not at the top: naming a store is part of a run that finds nothing to do

        # chromadb sets no time limit at all: an address that swallows packets would hang here.
        with socket.create_connection((self._at.host, self._at.port), timeout=_CONNECT_TIMEOUT_S):
            pass
        chromadb = import_chromadb()
        client = chromadb.HttpClient(
            host=self._at.host,
            port=self._at.port,
            ssl=self._at.ssl,
            headers=self._at.headers,
            settings=chroma_settings(),
        )
        session = getattr(getattr(client, "_server", None), "_session", None)
        if session is not None:
            session.timeout = self._timeout_s
        return client
