"""What is indexed, how much of what is on disk that is, and what it runs on. Nothing is loaded, no
note is opened.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from ragvault.config.profiles import model_named
from ragvault.errors import ModelError, RagvaultError
from ragvault.model import FileState, VaultInfo
from ragvault.wiring import Container

LOOKED_INTO = 20  # new files
LOOK_TIMEOUT_S = 0.2  # beyond what the answer itself took
PROBE_TIMEOUT_S = 2.0  # status must not hang on a server that doesn't answer


@dataclass(frozen=True, slots=True)
class Coverage:
    """Notes on disk against the index, by size and time of change. ``problem`` says why the folder
    could not be looked at."""

    current: int = 0
    changed: int = 0
    new: int = 0
    gone: int = 0
    problem: str | None = None

    @property
    def share(self) -> float:
        """0..1: how much of what is on disk is indexed as it is."""
        on_disk = self.current + self.changed + self.new
        return self.current / on_disk if on_disk else 1.0


@dataclass(frozen=True, slots=True)
class VaultStatus:
    """``vectors_in_step``: the vector store is known to hold this vault as the catalog does, by the
    configured model. ``changed_over`` of its notes have vectors of that one; None: no change of
    models is under way."""

    vault: VaultInfo
    coverage: Coverage
    vectors_in_step: bool
    changed_over: int | None = None


@dataclass(frozen=True, slots=True)
class OllamaStatus:
    """``problem`` says why nothing writes, ``hint`` what to do; None when a model does. ``model``:
    that one; None when none is named and the server has none. ``version`` is None when the
    server doesn't answer."""

    host: str
    model: str | None
    version: str | None = None
    models: tuple[str, ...] = ()
    problem: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """``model`` is the one that questions are read by, ``changing_to`` the configured one where
    that is another; ``source``: where its weights are, for people. ``fingerprint`` is None when
    the model can't be found; ``problem`` and ``hint`` say why, and what to do."""

    model: str
    fingerprint: str | None = None
    source: str | None = None
    changing_to: str | None = None
    problem: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """``size_bytes`` are those on disk by part."""

    index_path: Path
    config_file: Path | None
    vaults: tuple[VaultStatus, ...]
    embedding: EmbeddingStatus
    size_bytes: Mapping[str, int]
    ollama: OllamaStatus


def status(container: Container, config_file: Path | None) -> Status:
    """Quick: a walk of each vault, no model and no vector store loaded. Raises StoreError."""
    vaults, wanted = container.vaults(), None
    try:
        used, wanted = container.embedder, container.wanted_embedder.fingerprint
        changing = container.wanted_embedder.name if wanted != used.fingerprint else None
        embedding = EmbeddingStatus(used.name, used.fingerprint, used.source, changing)
    except ModelError as error:
        embedding = EmbeddingStatus(
            model_named(container.settings.embedding), problem=error.message, hint=error.hint
        )
    is_changing = embedding.changing_to is not None
    return Status(
        index_path=container.data_dir,
        config_file=config_file,
        vaults=tuple(
            _vault_status(container, vault, wanted, is_changing=is_changing) for vault in vaults
        ),
        embedding=embedding,
        size_bytes={"catalog": container.files.catalog_size(), "vectors": container.vectors.size()},
        ollama=ollama_status(container),
    )


def _vault_status(
    container: Container, vault: VaultInfo, wanted: str | None, *, is_changing: bool
) -> VaultStatus:
    from ragvault.ingest.write import watermark_of

    stored = container.vectors.stored_identity()
    in_step, changed_over = False, None
    if stored is not None and wanted is not None:
        watermark = container.catalog.vector_watermark(vault.name)
        in_step = watermark == watermark_of(stored, wanted)
    if is_changing and wanted is not None:
        changed_over = vault.notes - len(container.catalog.lacking(vault.name, wanted))
    return VaultStatus(vault, coverage(container, vault), in_step, changed_over)


def coverage(container: Container, vault: VaultInfo) -> Coverage:
    """Linear in the notes (a walk with one stat each). A few new files are opened: one that is no
    text, or is out of reach, is none that `index` could add."""
    from ragvault.ingest.paths import emptied, is_within
    from ragvault.ingest.read import Content, as_text, read_note
    from ragvault.ingest.walk import max_bytes, walk

    states: dict[str, FileState] = container.catalog.file_states(vault.name)
    try:
        found = walk(vault.path, container.settings.index)
        if found.is_empty and states:
            raise emptied(vault)
    except RagvaultError as error:
        return Coverage(problem=error.message)
    files = {f.rel_path: f for f in found.files}
    known = [(f, states[path]) for path, f in files.items() if path in states]
    new = [f for path, f in files.items() if path not in states]
    if len(new) <= LOOKED_INTO:
        limit = max_bytes(container.settings.index)
        new = [f for f in new if isinstance(as_text(read_note(f, limit)), Content)]
    current = sum((f.size, f.mtime_ns) == (s.size, s.mtime_ns) for f, s in known)
    return Coverage(
        current=current,
        changed=len(known) - current,
        new=len(new),
        gone=sum(not is_within(path, found.unreadable) for path in states.keys() - files.keys()),
    )


class VaultLook:
    """Looks through the folders of vaults while a question is answered from them. One that takes
    longer (a slow drive, a huge vault) is not waited for."""

    def __init__(self, container: Container, names: Sequence[str] = ()) -> None:
        """Begins to look. ``names``: of which vaults; all without."""
        self._container = container
        known = container.vaults()
        self._vaults = [vault for vault in known if not names or vault.name in names]
        self._found: dict[str, Coverage] = {}
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        for vault in self._vaults:
            with suppress(RagvaultError):  # what is wrong with the catalog, the search says
                self._found[vault.name] = coverage(self._container, vault)

    def notices(self, told: Collection[tuple[str, str]] = ()) -> list[str]:
        """What of the notes the answer can't know, a sentence for each vault; ``told``: notes,
        vault and path, that are said to have changed already."""
        self._thread.join(LOOK_TIMEOUT_S)
        told_of = Counter(vault for vault, _ in told)
        found = ((v, self._found.get(v.name, Coverage())) for v in self._vaults)
        return [said for v, how in found if (said := _lack(v, how, told_of[v.name]))]


def _lack(vault: VaultInfo, found: Coverage, told: int) -> str | None:
    if found.problem is not None:
        return f"{found.problem} It is answered from what was indexed of '{vault.name}'."
    if vault.embedded < vault.notes:
        more = f", {found.new:,} more not yet" if found.new else ""
        return (
            f"'{vault.name}' is indexed in part: {vault.embedded:,} of {vault.notes:,} notes have "
            f"vectors, the others are found by their words{more}; `ragvault index` goes on."
        )
    if (changed := found.new + found.changed + found.gone) > told:
        notes = "1 note has" if changed == 1 else f"{changed:,} notes have"
        return f"{notes} changed since '{vault.name}' was indexed; run `ragvault index`."
    return None


def ollama_status(container: Container) -> OllamaStatus:
    """Asks the server what it has, waiting no longer than ``PROBE_TIMEOUT_S`` for each reply."""
    settings, version = container.settings.ollama, None
    models: tuple[str, ...] = ()
    with closing(container.make_chat(max_wait_s=PROBE_TIMEOUT_S)) as chat:
        try:
            version, models = chat.version(), tuple(chat.models())
            model = chat.info(settings.model).name
            return OllamaStatus(chat.host, model, version, models)
        except ModelError as error:
            lack = error.message, error.hint
            return OllamaStatus(chat.host, settings.model, version, models, *lack)
