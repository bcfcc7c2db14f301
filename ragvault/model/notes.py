"""What indexing is about (files, notes, chunks, what a run reports), and what the stores hold and
give back: vaults, chunks with their notes, folders, filters."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HeadingPath: TypeAlias = tuple[str, ...]


class NoteFile(NamedTuple):
    """A file found by the walk.

    ``rel_path`` is POSIX, relative to the vault, NFC-normalised: the key everywhere.
    ``path`` is what the file system calls it: the one to open. ``ctime_ns`` is when anything of
    it last changed, which no program can set back.
    """

    rel_path: str
    path: str
    size: int
    mtime_ns: int
    ctime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that was not indexed, and why (a sentence without a full stop)."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Section:
    """The lines under one heading, up to the next heading of any level.

    ``start_line`` is the heading's own line (or the first line of the body for the part before
    the first heading, whose ``heading_path`` is empty). ``text`` is verbatim, heading included.
    """

    heading_path: HeadingPath
    start_line: int
    end_line: int
    text: str


BlockKind: TypeAlias = Literal[
    "heading", "paragraph", "list", "item", "quote", "callout", "table", "fence", "code",
    "html", "rule", "delimited", "text",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: ``first..last`` count from 0 in the lines that were read,
    inclusive, without blank lines at the end.

    A ``list`` has ``item`` children; those, and ``quote`` and ``callout`` (``> [!note]``), have the
    blocks in them as children, which cover all their lines (below eight levels they have none). The
    others have none. A ``table`` is its header, its
    rule, then a line a row; ``fence`` has its marks, ``code`` is indented; ``delimited`` is a
    comment or formula of several lines; ``text`` what is none of these.
    """

    kind: BlockKind
    first: int
    last: int
    children: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """A parsed note.

    ``frontmatter_text`` renders every human-readable frontmatter value as ``key: value`` lines;
    ``frontmatter_lines`` is its (first, last) line in the file, or None. ``date`` comes from the
    frontmatter, else the file name, else the modification time. ``lines`` are the file's own
    lines without line ends; ``blocks`` hold each that isn't blank, in order (the frontmatter's are
    those of plain Markdown: where it can be cut if it is too long). ``warnings`` are sentences for
    the user (bad UTF-8, broken YAML).
    """

    rel_path: str
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    date: float
    frontmatter_text: str
    frontmatter_lines: tuple[int, int] | None
    sections: tuple[Section, ...]
    lines: tuple[str, ...]
    blocks: tuple[Block, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a note that is found and cited as one.

    ``id`` is deterministic from vault, path, heading path, ordinal and text hash. ``ordinal``
    counts the chunks of one heading path (so that an edit elsewhere in the note moves no id);
    ``chunk_index`` counts those of the note from 0. ``text`` is the note's own lines
    ``start_line..end_line``, verbatim, or a part of one when a single line is longer than a
    chunk. ``embed_text`` is what the model reads: title, heading path, text. ``text_hash`` is
    the SHA-256 of ``embed_text``: the key of the embedding cache. The catalog doesn't store
    ``embed_text`` (it would double the texts): it is "" in a chunk that was read back.
    """

    id: str
    vault: str
    rel_path: str
    heading_path: HeadingPath
    ordinal: int
    chunk_index: int
    start_line: int
    end_line: int
    text: str
    embed_text: str
    text_hash: str

    @property
    def place(self) -> tuple[str, str, HeadingPath]:
        """The section that it is of: vault, path, heading path."""
        return self.vault, self.rel_path, self.heading_path


# What the catalog can keep: 1677 to 2262. A file system carries time stamps beyond it.
_NS_RANGE = (-(2**63), 2**63 - 1)


def kept_ns(mtime_ns: int) -> int:
    """A file's time stamp, within what the catalog can keep."""
    return min(max(mtime_ns, _NS_RANGE[0]), _NS_RANGE[1])


class FileState(NamedTuple):
    """What the catalog knows of a file: enough to tell whether it changed without opening it.

    ``fingerprint`` says how the note was cut when it was last written (length, format); another one
    than today's means "do it again", note by note, so an interrupted upgrade resumes.
    ``seen_ns`` is the wall clock when the content was last read: an mtime within 2 s of it is not
    trusted (a later write may carry the same time stamp; git's "racy" entries).
    """

    rel_path: str
    size: int
    mtime_ns: int
    content_hash: str
    fingerprint: str = ""
    seen_ns: int = 0


@dataclass(frozen=True, slots=True)
class NoteWrite:
    """One note with its chunks, ready to become visible in one transaction."""

    file: NoteFile
    content_hash: str
    note: Note
    chunks: tuple[Chunk, ...]
    fingerprint: str = ""
    seen_ns: int = 0


@dataclass(slots=True)
class IndexReport:
    """What ``index`` did to one vault; filled in as the run goes. ``renamed`` are pairs (old, new),
    in neither ``added`` nor ``removed``; ``chunks`` are all of the vault's now; ``spared`` are gone
    from the folder, and stay indexed: too many went at once."""

    name: str
    path: str
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    spared: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[Skipped] = field(default_factory=list)
    chunks: int = 0
    embedded: int = 0
    seconds: float = 0.0
    notices: list[str] = field(default_factory=list)
    dry_run: bool = False


# --------------------------------------------------------------------------- the stores

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

    @property
    def said_day(self) -> str:
        """As YYYY-MM-DD; "" where it says none."""
        return f"{self.day:%Y-%m-%d}" if self.says_its_day else ""


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
