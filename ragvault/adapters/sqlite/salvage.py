"""What is left of a damaged catalog: the names of its vaults, and the file itself, kept."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path

from ragvault.adapters.sqlite.connection import os_error
from ragvault.model import VaultInfo

_COMPANIONS = ("", "-wal", "-shm")


def vaults_of(catalog: Path) -> list[VaultInfo]:
    """The vaults that a catalog names, as far as SQLite can still read them. Never raises for
    damage: nothing read is an empty list."""
    try:
        connection = sqlite3.connect(f"{catalog.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error:
        return []
    found: list[VaultInfo] = []
    try:
        for name, path, kind in connection.execute("SELECT name, path, kind FROM vault"):
            if isinstance(name, str) and isinstance(path, str) and isinstance(kind, str):
                found.append(VaultInfo(name, Path(path), kind))  # it may end early
    except sqlite3.Error:
        pass  # what came before the damage counts
    finally:
        connection.close()
    return found


def set_aside(catalog: Path) -> Path:
    """Rename the file, with what SQLite keeps beside it, to a name that is free. Raises
    StoreError."""
    for number in itertools.count(1):
        target = catalog.with_name(f"{catalog.name}.damaged-{number}")
        if not any(Path(f"{target}{end}").exists() for end in _COMPANIONS):
            break
    try:
        for end in _COMPANIONS:
            source = Path(f"{catalog}{end}")
            if source.exists():
                source.rename(f"{target}{end}")
    except OSError as error:
        raise os_error(error, catalog) from error
    return target
