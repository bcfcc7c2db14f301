"""What the stores hold and give back: vaults, chunks with their notes, folders, filters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ragvault.model.notes import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Named in words, so that an index run that finds nothing to do doesn't load numpy.
Vector: TypeAlias = "NDArray[np.float32]"  # shape (dimensions,), unit length
Matrix: TypeAlias = "NDArray[np.float32]"  # shape (n, dimensions), rows of unit length


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What an embedder puts before a question and before a passage. ``source`` says who knows
    them: "configuration", "model" (its own folder), "family" (a known one); None: nobody does."""

    query: str
    document: str
    source: str | None


@dataclass(frozen=True, slots=True)
class VaultInfo:
    """A remembered vault. ``kind`` is "obsidian" (it has an .obsidian folder) or "folder".

    ``embedded`` of its ``notes`` have all their vectors, of the model in force. ``fingerprint`` is
    that of the model whose vectors were last whole; None: they never were.
    """

    name: str
    path: Path
    kind: str
    notes: int = 0
    chunks: int = 0
    indexed_at: float | None = None
    fingerprint: str | None = None
    embedded: int = 0


@dataclass(frozen=True, slots=True)
class NoteInfo:
    """The note that a chunk belongs to, as the catalog knows it. ``folder`` is "" at the root;
    ``content_hash`` the SHA-256 of the file that was indexed ("": not known)."""

    vault: str
    rel_path: str
    title: str
    folder: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    date: float
    mtime: float
    content_hash: str = ""

    @property
    def day(self) -> datetime | None:
        """``date`` by the calendar, in UTC; None where it is 0, a note that nothing dates, and
        outside the years 1 to 9999: a file system can carry any time stamp."""
        try:
            return datetime.fromtimestamp(self.date, UTC) if self.date else None
        except (ValueError, OverflowError, OSError):
            return None

    @property
    def says_its_day(self) -> bool:
        """``date`` stands in the note or its name: it is not its file's time."""
        return self.day is not None and abs(self.date - self.mtime) > 1


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A visible chunk joined with its note."""

    chunk: Chunk
    note: NoteInfo


@dataclass(frozen=True, slots=True)
class FolderInfo:
    """A folder that holds notes."""

    vault: str
    folder: str

    @property
    def qualified(self) -> str:
        """``vault/folder``, or ``vault`` for the root."""
        return f"{self.vault}/{self.folder}" if self.folder else self.vault


@dataclass(frozen=True, slots=True)
class Filter:
    """Hard limits on what may be found. Empty means no limit.

    ``folders`` are exact (vault, folder) pairs; ``tags`` match a note that has any of them or a
    tag nested below; ``since``/``until`` bound the note's date, inclusive. ``notes`` are the only
    ones, ``not_notes`` those left out, as (vault, path) pairs.
    """

    vaults: tuple[str, ...] = ()
    folders: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    notes: frozenset[tuple[str, str]] | None = None
    not_notes: frozenset[tuple[str, str]] = frozenset()

    @property
    def is_empty(self) -> bool:
        """True when nothing but the vault is limited."""
        limits = (self.since, self.until, self.notes)
        named = self.folders or self.tags or self.not_notes
        return not named and all(limit is None for limit in limits)


def collection_of(vault: str, fingerprint: str) -> str:
    """The vector store's name for a vault's vectors of one model: those of two never meet."""
    return f"{vault}|{fingerprint}"


@dataclass(frozen=True, slots=True)
class ScoredId:
    """A chunk id with one retriever's raw score: cosine in -1..1, or BM25 > 0, larger is better."""

    chunk_id: str
    score: float
