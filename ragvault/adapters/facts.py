"""Facts about models that take long to find out: hashes of their files, digests, dimensions.

One JSON file beside the index, a cache: lost, damaged, unwritable or overwritten by another
process, everything is found out afresh.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from pathlib import Path

from ragvault.adapters.files import atomic_write, private_folder
from ragvault.errors import EmbedderUnavailableError, StoreError

_VERSION = 2
_MAX_FACTS = 512  # the oldest go first, so that replaced files don't pile up


class FactStore:
    """(kind, key) → value, all strings. ``path`` None keeps them in memory only."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._facts: dict[str, str] | None = None

    def get(self, kind: str, key: str) -> str | None:
        if self._facts is None:
            self._facts = self._read()
        return self._facts.get(f"{kind} {key}")

    def put(self, kind: str, key: str, value: str) -> None:
        if self.get(kind, key) == value:
            return
        # Others may have written since; and what could not be written is still true.
        facts = self._read() | (self._facts or {})
        facts.pop(f"{kind} {key}", None)
        facts[f"{kind} {key}"] = value
        self._facts = dict(list(facts.items())[-_MAX_FACTS:])
        if self.path is not None:
            # A read-only or full disk costs the cache, not the command.
            with suppress(StoreError):
                private_folder(self.path.parent)
                document = {"version": _VERSION, "facts": self._facts}
                atomic_write(self.path, json.dumps(document, indent=1))

    def _read(self) -> dict[str, str]:
        if self.path is None or not self.path.is_file():  # a pipe would be waited for
            return {}
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # absent or damaged: a cache starts empty
            return {}
        known = document.get("facts") if isinstance(document, dict) else None
        if not isinstance(known, dict) or document.get("version") != _VERSION:
            return {}
        return {key: str(value) for key, value in known.items()}


# --------------------------------------------------------------------------- hashes of files


def remembered_sha256(file: Path, facts: FactStore, expected: str | None = None) -> str:
    """The file's SHA-256: the remembered one when size and modification time are unchanged.

    Raises EmbedderUnavailableError when it can't be read, or isn't ``expected``.
    """
    try:
        status = file.stat()
    except OSError as error:
        raise _unreadable(file, error) from error
    key = f"{file.resolve()}|{status.st_size}|{status.st_mtime_ns}"
    digest = facts.get("sha256", key)
    if digest is None or not re.fullmatch("[0-9a-f]{64}", digest):
        digest = sha256_of(file)
        facts.put("sha256", key, digest)
    _compare(file, expected or digest, digest)
    return digest


def sha256_of(file: Path) -> str:
    """Linear in the file's size (22 MB take 15 to 80 ms)."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from error


def check_sha256(file: Path, expected: str) -> None:
    """Raises EmbedderUnavailableError for a file with another hash. Linear in its size."""
    _compare(file, expected, sha256_of(file))


def _compare(file: Path, expected: str, actual: str) -> None:
    if actual != expected:
        raise EmbedderUnavailableError(
            f"The model file {file} is not the one that ragvault expects: "
            f"SHA-256 {actual[:12]}…, expected {expected[:12]}….",
            "The file is damaged or was replaced: delete it and install or download it again.",
        )


def _unreadable(file: Path, error: OSError) -> EmbedderUnavailableError:
    return EmbedderUnavailableError(
        f"The model file {file} can't be read: {error.strerror or error}.",
        "Look at its permissions, or delete it and install or download the model again.",
    )
