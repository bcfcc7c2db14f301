"""The files of an index folder, as files: whether they are there and sound, and all in one.

Beside the catalog lies ``vaults.json``, so that its loss isn't that of the folders that were in it.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from ragvault.adapters.backup import put_in_place, unpack, write_backup
from ragvault.adapters.files import VAULTS_NAME, atomic_write, reported, total_size
from ragvault.adapters.sqlite.history import HISTORY_NAME
from ragvault.adapters.sqlite.integrity import (
    CATALOG_NAME,
    COMPANIONS,
    has_content,
    page_problems,
    problems,
    problems_of,
)
from ragvault.model import VaultInfo


class IndexFiles:
    """What can be known of an index, and done with it, without opening it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.catalog = folder / CATALOG_NAME
        self._history = folder / HISTORY_NAME

    # -- what is wrong

    def is_catalog_gone(self) -> bool:
        """Whether vaults are remembered that no catalog holds."""
        return not has_content(self.catalog) and bool(self.vaults())

    def catalog_problems(self, *, quick: bool = False) -> list[str]:
        """What is wrong with the catalog, as sentences. Linear in it; see ``integrity``."""
        if self.is_catalog_gone():
            return ["the catalog is gone"]
        check = partial(page_problems, quick=True) if quick else problems
        return problems_of(self.catalog, check) if self.catalog.exists() else []

    def history_problems(self) -> list[str]:
        """What SQLite finds wrong with the history. Linear in it."""
        return problems_of(self._history, page_problems) if self._history.exists() else []

    # -- the vaults' folders

    def remember_vaults(self, vaults: Sequence[VaultInfo]) -> None:
        """Keep their names where the loss of the catalog doesn't reach. Raises StoreError."""
        file = self._folder / VAULTS_NAME
        rows = [{"name": v.name, "path": str(v.path), "kind": v.kind} for v in vaults]
        text = json.dumps(rows, indent=1)
        with suppress(OSError, ValueError):
            if file.read_text("ascii") == text:
                return
        atomic_write(file, text)

    def vaults(self) -> list[VaultInfo]:
        """What is remembered of them, whatever became of the catalog, as far as anything still
        names them. Never raises: nothing read is an empty list."""
        try:
            rows = json.loads((self._folder / VAULTS_NAME).read_bytes())
            return [VaultInfo(str(r["name"]), Path(str(r["path"])), str(r["kind"])) for r in rows]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return list(self._in_catalog())

    def _in_catalog(self) -> Iterator[VaultInfo]:
        """What comes before any damage."""
        uri = f"{self.catalog.absolute().as_uri()}?mode=ro"
        with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as opened:
            for row in opened.execute("SELECT name, path, kind FROM vault"):
                if all(isinstance(value, str) for value in row):
                    yield VaultInfo(row[0], Path(row[1]), row[2])

    # -- out of the way, and back

    def set_catalog_aside(self) -> tuple[Path | None, list[VaultInfo]]:
        """Rename the catalog, which nobody here has open. Returns its new name (None: it was gone)
        and the vaults that were in it, as far as they are known. Raises StoreError."""
        vaults = self.vaults()
        return _set_aside(self.catalog), vaults

    def set_history_aside(self) -> Path | None:
        """The same of the history."""
        return _set_aside(self._history)

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


def _set_aside(file: Path) -> Path | None:
    """Rename it, with what SQLite keeps beside it, to a name that is free; None when there is
    nothing to rename."""
    names = (f"{file}.damaged-{number}" for number in itertools.count(1))
    free = (name for name in names if not any(Path(name + end).exists() for end in COMPANIONS))
    target = next(free)
    there = [end for end in COMPANIONS if Path(f"{file}{end}").exists()]
    with reported(file):
        for end in there:
            Path(f"{file}{end}").rename(target + end)
    return Path(target) if there else None
