"""Settings → objects. The only place that knows which adapter stands behind a port, and the only
one that reads the environment.

Each object is built when it is first asked for, and imports its libraries then: a command pays
for what it uses.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from ragvault.config.profiles import EMBEDDERS, PROFILES, RERANKERS, VECTOR_STORES
from ragvault.errors import EmbedderUnavailableError, NoIndexError, StoreError, UsageError

if TYPE_CHECKING:
    from ragvault.adapters.index_files import IndexFiles
    from ragvault.adapters.models import FactStore
    from ragvault.adapters.ollama.chat import OllamaChat
    from ragvault.adapters.onnx.model_files import Offer
    from ragvault.adapters.sqlite.catalog import SqliteCatalog
    from ragvault.adapters.sqlite.history import SqliteHistory
    from ragvault.config.file import LoadedSettings
    from ragvault.config.settings import Settings
    from ragvault.model import VaultInfo
    from ragvault.ports import Embedder, Reranker, TokenCounter, VectorIndex

FACTS_NAME = "facts.json"
_NOT_THE_MODEL = {"threads"}  # of the section ``embedding``: how, not which


def load_settings(config: Path | None = None) -> LoadedSettings:
    """Settings from file and environment."""
    from ragvault.config import file as config_file

    return config_file.load(config, os.environ)


def locate_config(config: Path | None = None) -> tuple[Path, bool]:
    """The configuration file in force, and whether it was named rather than the default."""
    from ragvault.config import file as config_file

    return config_file.locate(config, os.environ)


def write_file(target: Path, text: str, remedy: str) -> None:
    """A file that a person asked for, whole or not at all; its folder is made, its permissions
    stay. Raises UsageError, with the remedy, when it can't be written."""
    from ragvault.adapters.files import replace_file

    target = target.resolve()  # a link to a file kept elsewhere stays a link
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if (is_there := target.exists()) and not target.is_file():  # /dev/null, as root
            raise OSError("it is there, and is no file")
        mode = target.stat().st_mode & 0o777 if is_there else 0o600
        replace_file(target, text.encode(), mode)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{target} can't be written: {reason}.", remedy) from error


def embedder_settings(settings: Settings) -> str:
    """All settings that say which embedder is built, as JSON: what the catalog keeps of it."""
    chosen = settings.embedding.model_dump(mode="json", exclude=_NOT_THE_MODEL)
    return json.dumps({**chosen, "ollama": settings.ollama.embedding_model}, sort_keys=True)


class Container:
    """What a command works with, each built at its first use and closed in reverse order: a
    context manager."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        if settings.index.path is not None:
            self.data_dir = Path(settings.index.path).expanduser()
        else:
            import platformdirs

            self.data_dir = platformdirs.user_data_path("ragvault", appauthor=False)
        self._opened = ExitStack()
        self._reranker: Reranker | None = None
        self._embedders: dict[str, Embedder] = {}

    def change(self, section: str, **values: object) -> None:
        """Settings of a section that hold from now on, whatever is configured."""
        changed = getattr(self.settings, section).model_copy(update=values)
        self.settings = self.settings.model_copy(update={section: changed})

    # -- stores

    @cached_property
    def catalog(self) -> SqliteCatalog:
        """The catalog that is there. Raises NoIndexError when nothing was ever indexed."""
        try:
            return self._opened.enter_context(
                closing(self.make_catalog(self.data_dir, create=False))
            )
        except NoIndexError:
            if self.files.is_catalog_gone():
                raise NoIndexError(
                    f"{self.files.catalog} is gone.",
                    "Run `ragvault index`: the folders that were in it are indexed again.",
                ) from None
            raise

    def vaults(self) -> list[VaultInfo]:
        """Those that are indexed; none where nothing is."""
        with suppress(NoIndexError):
            return self.catalog.vaults()
        return []

    @property
    def new_catalog(self) -> SqliteCatalog:
        """The catalog, made when there is none."""
        from ragvault.adapters.files import private_folder

        if "catalog" not in self.__dict__:
            private_folder(self.data_dir)
            self.make_catalog(self.data_dir).close()
        return self.catalog

    @cached_property
    def files(self) -> IndexFiles:
        """The index folder's files, unopened."""
        from ragvault.adapters.index_files import IndexFiles

        return IndexFiles(self.data_dir)

    def set_catalog_aside(self) -> tuple[Path | None, list[VaultInfo]]:
        """Take a damaged catalog out of the way: the next use makes a new one. The caller holds
        the lock. See ``IndexFiles``."""
        if (opened := self.__dict__.pop("catalog", None)) is not None:
            with suppress(StoreError):
                opened.close()
        return self.files.set_catalog_aside()

    def make_catalog(self, folder: Path, *, create: bool = True) -> SqliteCatalog:
        """A catalog in any folder; the caller closes it."""
        from ragvault.adapters.sqlite.catalog import SqliteCatalog
        from ragvault.adapters.sqlite.integrity import CATALOG_NAME

        return SqliteCatalog(folder / CATALOG_NAME, create=create)

    @cached_property
    def history(self) -> SqliteHistory:
        """The answers that were given. Its file is made by the first."""
        from ragvault.adapters.sqlite.history import HISTORY_NAME, SqliteHistory

        return self._opened.enter_context(closing(SqliteHistory(self.data_dir / HISTORY_NAME)))

    def set_history_aside(self) -> Path | None:
        """Rename a damaged history; the next answer begins a new one. Raises StoreError."""
        self.history.close()
        return self.files.set_history_aside()

    def try_writing(self) -> None:
        """Write and remove a small file in the index folder, if it is there. Raises StoreError."""
        from ragvault.adapters.files import atomic_write

        if self.data_dir.is_dir():
            probe = self.data_dir / ".doctor"
            atomic_write(probe, "ok")
            probe.unlink()

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vector store that ``store.mode`` names, which is opened at its first use."""
        store = self.settings.store
        index: VectorIndex = resolve_name(VECTOR_STORES[store.mode])(self.data_dir, store)
        return self._opened.enter_context(closing(index))

    def lock(self) -> AbstractContextManager[None]:
        """The writer's lock on the index folder."""
        from ragvault.adapters.files import index_lock

        return index_lock(self.data_dir, timeout_s=self.settings.index.lock_timeout_s)

    @property
    def facts(self) -> FactStore:
        """What takes long to find out, and what was said once."""
        from ragvault.adapters.models import FactStore

        return FactStore(self._facts_file())

    # -- models

    @property
    def settings_in_force(self) -> Settings:
        """With the embedding model that the index is searched by: while it changes over to the
        configured one, that is the one before. The configured one, too, where it isn't known or is
        of a version that had other settings."""
        today = self.settings
        own = {name: getattr(today.embedding, name) for name in _NOT_THE_MODEL}
        try:
            kept = (self.catalog.embedder_in_force() or ("", ""))[1]
            if kept in ("", embedder_settings(today)):
                return today
            values = json.loads(kept)
            ollama = today.ollama.model_copy(update={"embedding_model": values.pop("ollama")})
            embedding = type(today.embedding).model_validate({**values, **own})
        except (NoIndexError, ValueError, KeyError):  # pydantic's ValidationError is a ValueError
            return today
        return today.model_copy(update={"embedding": embedding, "ollama": ollama})

    @property
    def cores(self) -> int:
        """How many threads embed."""
        from ragvault.adapters.models import usable_cores

        return self.settings.embedding.threads or usable_cores()

    @property
    def embedder(self) -> Embedder:
        """That of the vectors that questions are compared with."""
        in_force = self._fingerprints(lambda catalog: catalog.embedder_in_force() or ())[:1]
        wanted = self.__dict__.get("wanted_embedder")
        if wanted is not None and in_force == (wanted.fingerprint,):
            return cast("Embedder", wanted)
        return self._embedder(self.settings_in_force, in_force)

    @cached_property
    def wanted_embedder(self) -> Embedder:
        """The configured one, which ``index`` makes vectors with."""
        return self._embedder(self.settings, self._fingerprints(lambda c: c.embedders()))

    def _fingerprints(self, read: Callable[[SqliteCatalog], Sequence[str]]) -> tuple[str, ...]:
        with suppress(NoIndexError):
            return tuple(read(self.catalog))
        return ()

    def _embedder(self, settings: Settings, known: Sequence[str]) -> Embedder:
        made = json.dumps([embedder_settings(settings), *sorted(known)])
        if made not in self._embedders:
            kind = resolve_name(EMBEDDERS[self._backend_of(settings)])
            embedder: Embedder = kind(settings, self._facts_file())
            embedder.keep_to(known)
            self._embedders[made] = self._opened.enter_context(closing(embedder))
        return self._embedders[made]

    @cached_property
    def counter(self) -> TokenCounter:
        """What passages are measured by, whatever model embeds them."""
        from ragvault.adapters.onnx.tokenizer import PassageCounter

        return PassageCounter()

    def _backend_of(self, settings: Settings) -> str:
        """What runs the embedding model. Left to ragvault, it is Ollama where the files are not
        on this disk and it has the profile's model (or had, when it can't be asked now)."""
        from ragvault.adapters.onnx.model_files import is_here

        wanted = settings.embedding
        if wanted.backend != "auto":
            return wanted.backend
        if PROFILES[wanted.profile].served is None or is_here(wanted):
            return "onnx"
        served = resolve_name(EMBEDDERS["ollama"])(settings, self._facts_file())
        try:
            return "ollama" if served.model else "onnx"
        except EmbedderUnavailableError:
            return "onnx"
        finally:
            served.close()

    def model_on_hub(self, name: str) -> Offer:
        """What it takes to fetch a profile's model, or that of a hub id, for what is configured
        to run it. Raises ModelError."""
        from ragvault.adapters.onnx import model_files as hub

        is_reranker = name == self.settings.rerank.model
        torch = self.settings.embedding.backend == "sentence-transformers" and not is_reranker
        return hub.offer(name, torch=torch)

    def where_model_is(self, profile: str) -> str | None:
        """For people: where a profile's model is; None: nowhere on this machine."""
        with Container(self.settings) as other:
            other.change("embedding", profile=profile, backend="auto", path=None, model=None)
            other.change("ollama", embedding_model=None)
            try:
                return other.wanted_embedder.source
            except EmbedderUnavailableError:
                return None

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
            made: Reranker = resolve_name(RERANKERS[backend])(self.settings, self._facts_file())
            self._reranker = self._opened.enter_context(closing(made))
        return self._reranker

    @cached_property
    def chat(self) -> OllamaChat:
        return self._opened.enter_context(closing(self.make_chat()))

    @cached_property
    def assistant(self) -> OllamaChat:
        """The same for what helps the search, which waits less long."""
        wait_s = self.settings.ollama.assist_timeout_s
        return self._opened.enter_context(closing(self.make_chat(wait_s)))

    def make_chat(self, max_wait_s: float = float("inf")) -> OllamaChat:
        """The model server, waiting for it no longer than so; the caller closes it."""
        from ragvault.adapters.ollama.chat import OllamaChat

        return OllamaChat(self.settings.ollama, max_wait_s)

    # -- life

    def close(self) -> None:
        """Close what was opened, last first. Each is closed even if one before it fails."""
        self._opened.close()

    def __enter__(self) -> Container:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        try:
            self.close()
        except Exception:
            if error is None:  # else the first failure is the one to report
                raise
