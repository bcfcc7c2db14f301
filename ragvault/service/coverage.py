"""How much of what is on disk the index holds as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragvault.errors import RagvaultError
from ragvault.model import FileState, VaultInfo

if TYPE_CHECKING:
    from ragvault.wiring import Container


@dataclass(frozen=True, slots=True)
class Coverage:
    """Notes on disk against the index, by size and time of change; no note is opened.

    ``problem`` says why the folder could not be looked at.
    """

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


def coverage(container: Container, vault: VaultInfo) -> Coverage:
    """Linear in the notes (a walk with one stat each)."""
    from ragvault.ingest.walk import walk

    try:
        files = {f.rel_path: f for f in walk(vault.path, container.settings.index).files}
    except RagvaultError as error:
        return Coverage(problem=error.message)
    states: dict[str, FileState] = container.catalog.file_states(vault.name)
    known = [(f, states[path]) for path, f in files.items() if path in states]
    current = sum((f.size, f.mtime_ns) == (s.size, s.mtime_ns) for f, s in known)
    return Coverage(
        current=current,
        changed=len(known) - current,
        new=len(files) - len(known),
        gone=len(states.keys() - files.keys()),
    )
