"""Settings → objects. The only place that knows which adapter stands behind a port, and the only
one that reads the environment.

Each object is built when it is first asked for, and imports its libraries then: a command pays
for what it uses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragvault.adapters.files import IndexLock
    from ragvault.adapters.ollama.chat import OllamaChat
    from ragvault.adapters.sqlite.catalog import SqliteCatalog
    from ragvault.config.file import LoadedSettings
    from ragvault.config.settings import Settings
    from ragvault.model import VaultInfo
    from ragvault.ports import Embedder, Reranker, VectorIndex

Notify = Callable[[str], None]

CATALOG_NAME = "catalog.sqlite3"
VECTORS_NAME = "chroma"
FACTS_NAME = "facts.json"
NAMESPACE_NAME = "chroma-namespace"


def load_settings(
    config: Path | None = None, flags: Mapping[str, object] | None = None
) -> LoadedSettings:
    """Settings from file, environment and ``flags`` (dotted key → value, None: not given)."""
    from ragvault.config import file as config_file

    return config_file.load(config, os.environ, flags)


def locate_config(config: Path | None = None) -> tuple[Path, bool]:
    """The configuration file in force, and whether it was named rather than the default."""
    from ragvault.config import file as config_file

    return config_file.locate(config, os.environ)


def index_folder(settings: Settings) -> Path:
    """Where the index lives: ``index.path``, else the platform's data folder."""
    if settings.index.path is not None:
        return Path(settings.index.path).expanduser()
    import platformdirs

    return platformdirs.user_data_path("ragvault", appauthor=False)


class Container:
    """What a command works with, each built at its first use and closed in reverse order.

    ``notify`` is told, in a line, of what takes long (a model that is fetched). Use as a context
    manager.
    """

    def __init__(self, settings: Settings, notify: Notify = lambda _line: None) -> None:
        self.settings = settings
        self.data_dir = index_folder(settings)
        self._notify = notify
        self._closers: list[Callable[[], None]] = []
        self._reranker: Reranker | None = None

    # -- stores

    @cached_property
    def catalog(self) -> SqliteCatalog:
        """The catalog that is there. Raises NoIndexError when nothing was ever indexed."""
        return self._kept(self.make_catalog(self.data_dir, create=False))

    @cached_property
    def new_catalog(self) -> SqliteCatalog:
        """The catalog, made when there is none."""
        from ragvault.adapters.files import private_folder

        private_folder(self.data_dir)
        return self._kept(self.make_catalog(self.data_dir))

    def set_catalog_aside(self) -> tuple[Path, list[VaultInfo]]:
        """Take a damaged catalog out of the way: it is renamed, not deleted (the answer log is in
        it), and the next use makes a new one. Returns its new name and the vaults that could
        still be read from it. The caller holds the lock. Raises StoreError."""
        from ragvault.adapters.sqlite.catalog import set_aside, vaults_of

        opened = self.__dict__.pop("catalog", None), self.__dict__.pop("new_catalog", None)
        for catalog in opened:
            if catalog is not None:
                self._closers.remove(catalog.close)
                catalog.close()
        file = self.data_dir / CATALOG_NAME
        vaults = vaults_of(file)
        return set_aside(file), vaults

    def make_catalog(self, folder: Path, *, create: bool = True) -> SqliteCatalog:
        """A catalog in any folder; the caller closes it."""
        from ragvault.adapters.sqlite.catalog import SqliteCatalog
        from ragvault.adapters.sqlite.connection import os_error

        try:
            return SqliteCatalog(folder / CATALOG_NAME, create=create)
        except OSError as error:  # a folder above it that may not be entered
            raise os_error(error, folder) from error

    def _kept(self, catalog: SqliteCatalog) -> SqliteCatalog:
        self._closers.append(catalog.close)
        return catalog

    def sizes(self) -> tuple[tuple[str, int], ...]:
        """Bytes on disk: of the catalog, and of the vector store. Linear in its files."""
        from ragvault.adapters.files import folder_size

        folder = self.data_dir
        catalog = sum(file.stat().st_size for file in folder.glob(f"{CATALOG_NAME}*"))
        return (("catalog", catalog), ("vectors", folder_size(folder / VECTORS_NAME)))

    def try_writing(self) -> None:
        """Write and remove a small file in the index folder, if it is there. Raises StoreError."""
        from ragvault.adapters.files import atomic_write

        if self.data_dir.is_dir():
            probe = self.data_dir / ".doctor"
            atomic_write(probe, "ok")
            probe.unlink()

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vector store, as ``store.mode`` says. Nothing is opened yet."""
        store = self.settings.store
        index: VectorIndex
        if store.mode == "http":
            from ragvault.adapters.chroma.stores import HttpChroma

            index = HttpChroma(
                store.host,
                store.port,
                ssl=store.ssl,
                headers=store.headers,
                namespace=self._namespace(),
            )
        else:
            from ragvault.adapters.chroma.stores import PersistentChroma

            index = PersistentChroma(self.data_dir / VECTORS_NAME)
        self._closers.append(index.close)
        return index

    def stored_identity(self) -> str | None:
        """The vector store's identity without opening it; None when there is none, or none
        that is whole."""
        from ragvault.adapters.chroma.stores import server_identity, sound_identity

        store = self.settings.store
        if store.mode == "http":
            return server_identity(
                store.host, store.port, ssl=store.ssl, namespace=self._namespace()
            )
        return sound_identity(self.data_dir / VECTORS_NAME)

    def _namespace(self) -> str:
        """Tells this index apart from others on the same Chroma server: random, made once."""
        from ragvault.adapters.files import atomic_write, private_folder

        file = self.data_dir / NAMESPACE_NAME
        if not file.exists():
            import uuid

            private_folder(self.data_dir)
            atomic_write(file, uuid.uuid4().hex[:12])
        return file.read_text(encoding="ascii").strip()

    def lock(self) -> IndexLock:
        """The writer's lock on the index folder."""
        from ragvault.adapters.files import IndexLock

        return IndexLock(self.data_dir, timeout_s=self.settings.index.lock_timeout_s)

    # -- models

    @cached_property
    def embedder(self) -> Embedder:
        embedder = self._make_embedder()
        self._closers.append(embedder.close)
        return embedder

    def _make_embedder(self) -> Embedder:
        wanted = self.settings.embedding
        path = Path(wanted.path).expanduser() if wanted.path else None
        facts = self._facts_file()
        if wanted.backend == "ollama":
            from ragvault.adapters.ollama.embedder import OllamaEmbedder

            server = self.settings.ollama
            return OllamaEmbedder(
                host=server.host,
                model=server.embedding_model,
                timeout_s=server.timeout_s,
                keep_alive=server.keep_alive,
                query_prefix=wanted.query_prefix,
                document_prefix=wanted.document_prefix,
                cache_file=facts,
            )
        local: type[SentenceTransformersEmbedder | OnnxEmbedder]
        if wanted.backend == "sentence-transformers":
            from ragvault.adapters.torch.embedder import SentenceTransformersEmbedder

            local = SentenceTransformersEmbedder
        else:
            from ragvault.adapters.onnx.embedder import OnnxEmbedder

            local = OnnxEmbedder
        return local(
            model=wanted.model,
            path=path,
            threads=wanted.threads,
            query_prefix=wanted.query_prefix,
            document_prefix=wanted.document_prefix,
            download=wanted.download,
            cache_file=facts,
            notify=self._notify,
        )

    def _facts_file(self) -> Path | None:
        """None before the first index: a dry run then leaves nothing behind."""
        return self.data_dir / FACTS_NAME if self.data_dir.is_dir() else None

    def reranker(self, wanted: bool | None = None) -> Reranker | None:
        """The configured one. ``wanted`` (--rerank) asks for the ONNX one where none is
        configured; with ``wanted`` False there is none."""
        backend = self.settings.rerank.backend
        if backend == "none" and wanted:
            backend = "onnx"
        if backend == "none" or wanted is False:
            return None
        if self._reranker is None:
            self._reranker = self._make_reranker(backend)
            self._closers.append(self._reranker.close)
        return self._reranker

    def _make_reranker(self, backend: str) -> Reranker:
        wanted = self.settings.rerank
        path = Path(wanted.path).expanduser() if wanted.path else None
        if backend == "late-interaction":
            from ragvault.adapters.onnx.late_interaction import LateInteraction

            return LateInteraction(lambda: self.embedder)
        if backend == "cross-encoder":
            from ragvault.adapters.torch.cross_encoder import CrossEncoderReranker

            return CrossEncoderReranker(
                model=wanted.model,
                path=path,
                threads=self.settings.embedding.threads,
                download=wanted.download,
                notify=self._notify,
            )
        from ragvault.adapters.onnx.cross_encoder import OnnxCrossEncoder

        return OnnxCrossEncoder(
            model=wanted.model,
            path=path,
            threads=self.settings.embedding.threads,
            download=wanted.download,
            cache_file=self._facts_file(),
            notify=self._notify,
        )

    @cached_property
    def chat(self) -> OllamaChat:
        chat = self.make_chat()
        self._closers.append(chat.close)
        return chat

    def make_chat(self, max_wait_s: float = float("inf")) -> OllamaChat:
        """The model server, waiting for it no longer than so; the caller closes it."""
        from ragvault.adapters.ollama.chat import OllamaChat

        server = self.settings.ollama
        return OllamaChat(
            host=server.host,
            timeout_s=min(server.timeout_s, max_wait_s),
            keep_alive=server.keep_alive,
            think=server.think,
        )

    # -- life

    def close(self) -> None:
        """Close what was opened, last first. Each is closed even if one before it fails."""
        failure: BaseException | None = None
        while self._closers:
            try:
                self._closers.pop()()
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def __enter__(self) -> Container:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        try:
            self.close()
        except Exception:
            if error is None:  # else the first failure is the one to report
                raise
