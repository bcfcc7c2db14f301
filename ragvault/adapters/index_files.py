"""The files of an index folder, as files: whether they are there and sound, and all in one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from ragvault.adapters.backup import put_in_place, unpack, write_backup
from ragvault.adapters.files import total_size
from ragvault.adapters.sqlite.history import HISTORY_NAME
from ragvault.adapters.sqlite.integrity import (
    CATALOG_NAME,
    has_content,
    page_problems,
    problems,
    problems_of,
    quick_problems,
    remember_vaults,
    set_aside,
    vaults_of,
)
from ragvault.model import VaultInfo


class IndexFiles:
    """What can be known of an index, and done with it, without opening it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.catalog = folder / CATALOG_NAME
        self._history = folder / HISTORY_NAME

    def is_catalog_gone(self) -> bool:
        """Whether vaults are remembered that no catalog holds."""
        return not has_content(self.catalog) and bool(vaults_of(self.catalog))

    def catalog_problems(self, *, quick: bool = False) -> list[str]:
        """What is wrong with the catalog, as sentences. Linear in it; see ``integrity``."""
        if self.is_catalog_gone():
            return ["the catalog is gone"]
        check = quick_problems if quick else problems
        return problems_of(self.catalog, check) if self.catalog.exists() else []

    def history_problems(self) -> list[str]:
        """What SQLite finds wrong with the history. Linear in it."""
        return problems_of(self._history, page_problems) if self._history.exists() else []

    def vaults(self) -> list[VaultInfo]:
        """What is remembered of them, whatever became of the catalog. Never raises."""
        return vaults_of(self.catalog)

    def remember_vaults(self, vaults: Sequence[VaultInfo]) -> None:
        """Keep their names where the loss of the catalog doesn't reach. Raises StoreError."""
        remember_vaults(self.catalog, vaults)

    def set_catalog_aside(self) -> tuple[Path | None, list[VaultInfo]]:
        """Rename the catalog, which nobody here has open. Returns its new name (None: it was gone)
        and the vaults that were in it, as far as they are known. Raises StoreError."""
        vaults = vaults_of(self.catalog)
        return set_aside(self.catalog), vaults

    def set_history_aside(self) -> Path | None:
        """The same of the history."""
        return set_aside(self._history)

    def catalog_size(self) -> int:
        """Bytes, with its log."""
        return total_size(self._folder.glob(f"{CATALOG_NAME}*"))

    def write_backup(self, target: Path) -> int:
        """See ``backup``; returns the file's bytes."""
        return write_backup(self._folder, target)

    def restore(self, source: Path) -> Path | None:
        """Take over the index that a backup holds. Returns where the one before it is now. The
        caller holds the lock. Raises UsageError, StoreError."""
        place = unpack(source, self._folder)
        try:
            return put_in_place(place, self._folder)
        finally:
            shutil.rmtree(place, ignore_errors=True)
