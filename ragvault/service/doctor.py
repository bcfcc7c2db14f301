"""Every part of the installation tried for real, each failure with its remedy."""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ragvault.errors import NoIndexError, RagvaultError
from ragvault.model import ChatOptions, Message, Prefixes
from ragvault.service.models import advice
from ragvault.service.status import ollama_status
from ragvault.service.upkeep import Kind, check_catalog, check_vectors
from ragvault.wiring import Container

LOW_SPACE_BYTES = 500_000_000


class State(StrEnum):
    """How it went: WARNING where ragvault works without that part."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One part, tried: what was found, and what to do where it isn't as it should be."""

    name: str
    state: State
    detail: str
    remedy: str | None = None


def is_well(checks: Iterable[Check]) -> bool:
    """Whether no part that is needed failed."""
    return all(check.state is not State.FAILED for check in checks)


def examine(container: Container, config_file: Path | None) -> Iterator[Check]:
    """Every part tried for real, one after the other; a part that fails stops no other."""
    yield Check("Configuration", State.OK, str(config_file or "defaults, no file"))
    is_ollama_needed = container.settings.answer.fallback == "none"
    parts: list[tuple[str, Callable[[Container], str], State]] = [
        ("Python", _check_python, State.FAILED),
        ("Index folder", _check_folder, State.FAILED),
        ("Privacy", _check_privacy, State.WARNING),
        ("Writer's lock", _check_lock, State.FAILED),
        ("Catalog", _check_catalog, State.FAILED),
        ("Embedding model", _check_embedder, State.FAILED),
        ("Languages", _check_languages, State.WARNING),
        ("Vector store", _check_vectors, State.FAILED),
        ("Vault folders", _check_vaults, State.FAILED),
        ("Ollama", _check_ollama, State.FAILED if is_ollama_needed else State.WARNING),
    ]
    for name, check, bad in parts:
        try:
            yield Check(name, State.OK, check(container))
        except NoIndexError as error:
            yield Check(name, State.WARNING, error.message, error.hint)
        except RagvaultError as error:
            yield Check(name, bad, error.message, error.hint)
        except OSError as error:
            place = error.filename or container.data_dir
            said = f"{place} can't be used: {error.strerror or error}."
            yield Check(name, bad, said, "Check its permissions.")


def _check_python(_: Container) -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"{platform.python_version()} with SQLite {sqlite3.sqlite_version} on {system}"


def _check_folder(container: Container) -> str:
    container.try_writing()
    place = folder = container.data_dir
    while not place.exists() and place != place.parent:
        place = place.parent
    if not os.access(place, os.W_OK):
        raise RagvaultError(
            f"{folder} can't be written.",
            "Check its permissions, or set index.path to a folder of yours.",
        )
    free = shutil.disk_usage(place).free
    if free < LOW_SPACE_BYTES:
        raise RagvaultError(
            f"Only {free / 1e6:,.0f} MB are free at {folder}.",
            "Free some space; an index of 10,000 notes takes about 200 MB.",
        )
    return f"{folder}, {free / 1e9:,.1f} GB free"


def _check_privacy(container: Container) -> str:
    """0.1 left files that others on the machine can read where the folder was there before."""
    if os.name != "posix" or not container.data_dir.is_dir():
        return "nothing is written yet, or this system keeps no permissions"
    folder = container.data_dir
    # A folder that others may not enter keeps them from what is in it.
    if folder.stat().st_mode & 0o077:
        for path in (folder, *folder.rglob("*")):
            if not path.is_symlink() and path.stat().st_mode & 0o077:
                raise RagvaultError(
                    f"Others on this machine may look at {path}, and the index holds your notes'"
                    " text.",
                    f"Run `chmod -R go= {shlex.quote(str(folder))}`.",
                )
    return "only you can read the index"


def _check_lock(container: Container) -> str:
    # To take it would make the folder.
    with container.lock() if container.data_dir.is_dir() else nullcontext():
        return "free"


def _check_catalog(container: Container) -> str:
    for found in check_catalog(container):
        raise RagvaultError(f"The catalog is damaged: {found.what}.", found.remedy)
    vaults = container.catalog.vaults()
    notes, chunks = sum(v.notes for v in vaults), sum(v.chunks for v in vaults)
    names = ", ".join(vault.name for vault in vaults) or "no vault"
    return f"sound; {notes:,} notes, {chunks:,} passages ({names})"


def _check_embedder(container: Container) -> str:
    embedder = container.wanted_embedder
    matrix = embedder.embed_documents(["The harbour opens at six.", "Bread needs a hot oven."])
    query = embedder.embed_query("When does the harbour open?")
    near, far = query @ matrix[0], query @ matrix[1]
    if not near > far:
        raise RagvaultError(
            f"{embedder.name} doesn't tell related from unrelated text.",
            "Its file may be damaged, or of another model: reinstall it or choose another.",
        )
    form = _described(embedder.prefixes)
    place = f"{embedder.name} from {embedder.source}"
    return f"{place}, {len(query)} dimensions, embeds as it should; {form}"


def _check_languages(container: Container) -> str:
    if (given := advice(container)) is not None:
        raise RagvaultError(*given)
    return "the embedding model fits the notes"


def _described(prefixes: Prefixes) -> str:
    """What the model is given, and who says so."""
    if prefixes.source is None:
        return (
            "not a model that ragvault knows, so it is given bare text (if it was trained with "
            "prefixes, set embedding.query_prefix and embedding.document_prefix)"
        )
    says = {
        "configuration": "as the configuration says",
        "model": "as its own folder says",
        "family": "as its family was trained",
    }[prefixes.source]
    if not prefixes.query and not prefixes.document:
        return f"given bare text, {says}"
    query, document = (
        json.dumps(text, ensure_ascii=False) for text in (prefixes.query, prefixes.document)
    )
    return f"{query} before questions, {document} before passages, {says}"


def _check_vectors(container: Container) -> str:
    vaults = container.catalog.vaults()
    for vault in vaults:
        for found in check_vectors(container, vault):
            what = found.what if found.kind is Kind.DAMAGED else f"{found.count:,} {found.what}"
            raise RagvaultError(f"'{vault.name}': {what}.", found.remedy)
    return f"opens and answers; {sum(v.chunks for v in vaults):,} vectors, as many as passages"


def _check_vaults(container: Container) -> str:
    from ragvault.ingest.paths import check_vault_path

    vaults = container.catalog.vaults()
    for vault in vaults:
        check_vault_path(vault.path, container.data_dir, vaults)
    return ", ".join(str(vault.path) for vault in vaults) or "none yet"


def _check_ollama(container: Container) -> str:
    seen = ollama_status(container)
    if seen.problem is not None:
        raise RagvaultError(f"{seen.problem} Answers are quoted from the notes.", seen.hint)
    options = ChatOptions(model=seen.model, num_ctx=512, temperature=0.0, max_tokens=16)
    container.chat.complete([Message("user", "Say: ready")], options)
    return f"{seen.version} at {seen.host}, {seen.model} writes; {container.chat.route}"
