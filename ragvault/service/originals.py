"""The files that passages come from: where they are, and whether they still say the same.

What is quoted stands in the note now. A passage whose lines moved is cited by its new ones; one
that isn't in its file any more is not answered from.
"""

from __future__ import annotations

import difflib
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from urllib.parse import quote

from ragvault.answering.gate import nearest
from ragvault.config.settings import IndexSettings
from ragvault.formats.decoding import NotTextError, read_lines
from ragvault.ingest.paths import holds_nothing, printable
from ragvault.ingest.read import Content, ReadOutcome, Unreadable, read_note
from ragvault.ingest.walk import max_bytes
from ragvault.model import Chunk, DroppedBy, HeadingPath, Hit, NoteFile, Retrieval, VaultInfo
from ragvault.model.retrieval import NEAR
from ragvault.text import one_line, sentence_spans
from ragvault.wiring import Container

_is_there = os.path.exists  # False where one may not look: it is shown then as it was indexed
_NAMED = 3  # notes that changed, when it is said
_AROUND = 200  # characters on each side of a place that are read for a sentence's border
# What Obsidian leaves out of a heading when it makes a link to it.
_NOT_IN_ANCHORS = str.maketrans(dict.fromkeys("#|^:%[]\\", " "))


def on_disk(root: Path, rel_path: str) -> Path:
    """The note's real path: ``rel_path`` is NFC, and spells out bytes that aren't UTF-8; the name
    on disk may be NFD (Linux keeps it so), or such bytes.

    Looks into the folder only when nothing is there under that name; linear in its entries then.
    """
    if _is_there(root / rel_path):
        return root / rel_path
    place = root
    for name in Path(rel_path).parts:
        found = name
        if not _is_there(place / name):
            with suppress(OSError):  # gone since it was indexed: the link shows where it was
                names = (entry.name for entry in place.iterdir())
                same = (n for n in names if unicodedata.normalize("NFC", printable(n)) == name)
                found = next(same, name)
        place = place / found
    return place


class Links:
    """Where a place in a note is, and its link: ``obsidian://`` for an Obsidian vault, else
    ``file://``. ``mode`` is the setting ``output.links``.

    Obsidian's scheme: https://help.obsidian.md/Extending+Obsidian/Obsidian+URI (``open`` with
    ``vault``, the name of the vault's folder, and ``file``, the path in it, ``#`` and a heading
    after it).
    """

    def __init__(self, vaults: Iterable[VaultInfo], mode: str = "auto") -> None:
        self._vaults = {vault.name: vault for vault in vaults}
        self._mode = mode

    @classmethod
    def of(cls, container: Container) -> Links:
        """To the notes of the vaults that are known; none are where nothing is indexed."""
        return cls(container.vaults(), container.settings.output.links)

    @property
    def are_several(self) -> bool:
        """More than one vault is known: a path alone doesn't say which."""
        return len(self._vaults) > 1

    def path(self, vault: str, rel_path: str) -> Path | None:
        """The note's file. None when the vault isn't known."""
        info = self._vaults.get(vault)
        return None if info is None else on_disk(info.path, rel_path).absolute()

    def today(self, hit: Hit, kept: str | None = None) -> Path | None:
        """The file that a passage came from, where it is now or was when it was cited (``kept``);
        None where it is in neither place."""
        places = (self.path(hit.chunk.vault, hit.chunk.rel_path), Path(kept) if kept else None)
        return next((path for path in places if path is not None and _is_there(path)), None)

    def uri(self, vault: str, rel_path: str, heading_path: HeadingPath = ()) -> str | None:
        """None when links are off or the vault isn't known."""
        info = self._vaults.get(vault)
        if info is None or self._mode == "off":
            return None
        kind = self._mode if self._mode != "auto" else info.kind
        if kind in ("file", "folder"):
            return on_disk(info.path, rel_path).absolute().as_uri()
        place = _with_heading(rel_path, heading_path)
        # Obsidian knows a vault by its folder's name.
        return f"obsidian://open?vault={_quoted(info.path.name)}&file={_quoted(place)}"


def wikilink(hit: Hit) -> str:
    """``[[Folder/Note#Heading]]``, shown as the note's name."""
    place = _with_heading(hit.chunk.rel_path, hit.chunk.heading_path)
    return f"[[{one_line(place)}|{one_line(Path(hit.chunk.rel_path).stem)}]]"


def _with_heading(rel_path: str, heading_path: HeadingPath) -> str:
    file = rel_path.removesuffix(".md")
    if heading_path:
        file += "#" + " ".join(heading_path[-1].translate(_NOT_IN_ANCHORS).split())
    return file


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogateescape"), safe="")


class Originals:
    """What was found, held against the notes as they are: at today's lines, what is gone dropped.
    A vault or note that is out of reach is taken as it was indexed. Reads each note once."""

    def __init__(self, container: Container) -> None:
        self._roots = {vault.name: vault.path for vault in container.catalog.vaults()}
        self._is_away = cache(holds_nothing)
        self._read = cache(partial(_read, settings=container.settings.index))
        self._lines = cache(lambda path: _lines_of(self._read(path)) or [])
        self.changed: dict[tuple[str, str], None] = {}  # notes that are left out: vault, path

    def notices(self) -> list[str]:
        """Of the notes that changed."""
        names = ", ".join(one_line(name) for _, name in list(self.changed)[:_NAMED])
        if (more := len(self.changed) - _NAMED) > 0:
            names += f" and {more:,} more"
        said = f"Changed since it was indexed, and left out: {names}. Run `ragvault index`."
        return [said] if names else []

    def of(self, retrieval: Retrieval) -> Retrieval:
        """The retrieval of an answer: all that may be shown of it."""
        today: dict[str, Hit] = {}
        standing = 0
        for hit in sorted(retrieval.ranked, key=lambda hit: not hit.kept):
            if hit.kept or standing < NEAR:
                now = today[hit.chunk.id] = self.today(hit)
                standing += now.is_ranked
        shown = replace(retrieval, candidates=_as_today(retrieval, today))
        while unread := [hit for hit in nearest(shown) if hit.chunk.id not in today]:
            today.update((hit.chunk.id, self.today(hit)) for hit in unread)
            shown = replace(retrieval, candidates=_as_today(retrieval, today))
        beside = {
            key: tuple(
                now for now in map(self.today, value) if now.dropped_by is not DroppedBy.CHANGED
            )
            for key, value in retrieval.neighbours.items()
        }
        return replace(shown, neighbours=beside, notices=(*retrieval.notices, *self.notices()))

    def today(self, hit: Hit) -> Hit:
        """At its lines of today; dropped where it isn't in its file any more."""
        chunk = hit.chunk
        root = self._roots.get(chunk.vault)
        if root is None or self._is_away(root):
            return hit
        path = on_disk(root, chunk.rel_path)
        read = self._read(path)
        if isinstance(read, Unreadable) and read.is_note:
            return hit
        if isinstance(read, Content) and read.content_hash == hit.note.content_hash:
            return hit
        place = place_of(chunk, self._lines(path), whole=True)
        if place is None:
            self.changed[chunk.vault, chunk.rel_path] = None
            return replace(hit, dropped_by=DroppedBy.CHANGED)
        moved = replace(chunk, start_line=place[0], end_line=place[1])
        return replace(hit, stored=replace(hit.stored, chunk=moved))


def _as_today(retrieval: Retrieval, today: Mapping[str, Hit]) -> tuple[Hit, ...]:
    return tuple(today.get(hit.chunk.id, hit) for hit in retrieval.candidates)


def content_of(path: Path, settings: IndexSettings) -> Content | None:
    """A note's bytes; None for what was put in its place: a pipe, a link, more than may be read."""
    read = _read(path, settings)
    return read if isinstance(read, Content) else None


def _read(path: Path, settings: IndexSettings) -> ReadOutcome:
    return read_note(NoteFile(path.name, str(path), 0, 0), max_bytes(settings))


def _lines_of(read: ReadOutcome | None) -> list[str] | None:
    try:
        return read_lines(read.data)[0] if isinstance(read, Content) else None
    except NotTextError:
        return None


def place_of(chunk: Chunk, lines: Sequence[str], *, whole: bool = False) -> tuple[int, int] | None:
    """The first and last line, from 1, where the passage's text stands in the note now, the
    nearest to where it stood; None where it doesn't. ``whole``: not as a part of other sentences
    ("at nine" isn't what "at nineteen" says)."""
    text = "\n".join(lines)
    found = [
        text.count("\n", 0, match.start()) + 1
        for match in re.finditer(re.escape(chunk.text), text)
        if not whole or all(_is_border(text, at) for at in match.span())
    ]
    if not found:
        return None
    first = min(found, key=lambda line: abs(line - chunk.start_line))
    return first, first + chunk.text.count("\n")


def _is_border(text: str, at: int) -> bool:
    """Whether a line begins or ends there, or a sentence in it."""
    first, last = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    first, last = max(first, at - _AROUND), min(last if last >= 0 else len(text), at + _AROUND)
    around = text[first:last]
    borders = (border for span in sentence_spans(around) for border in span)
    is_edge = not text[first:at].strip() or not text[at:last].strip()
    return is_edge or at - first in borders


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that was cited, as its file has it today: ``lines`` are the file's (None: it
    can't be read), ``first..last`` those of the passage, from 1; (0, 0) where nothing of it is
    left. ``difference``: as in ``diff``, each line behind "-", "+" or a blank; empty where it is
    as it was."""

    path: Path | None
    lines: tuple[str, ...] | None
    first: int = 0
    last: int = 0
    difference: tuple[str, ...] = ()


def source_today(hit: Hit, path: Path | None, settings: IndexSettings) -> Source:
    """What has become of a passage. Linear in its file."""
    lines = _lines_of(content_of(path, settings)) if path is not None else None
    if lines is None:
        return Source(path, None)
    if place := place_of(hit.chunk, lines):
        return Source(path, tuple(lines), *place)
    cited = hit.chunk.text.split("\n")
    first, last = _what_is_left(cited, lines)
    today = lines[first - 1 : last] if first else []
    difference = difflib.unified_diff(cited, today, n=len(cited) + len(today), lineterm="")
    return Source(path, tuple(lines), first, last, tuple(difference)[3:])


def _what_is_left(cited: Sequence[str], lines: Sequence[str]) -> tuple[int, int]:
    """The lines, from 1, that the passage has become: around those that stayed as they were, else
    around the one that is most like its longest; (0, 0) where there is neither."""
    matcher = difflib.SequenceMatcher(None, cited, lines, autojunk=False)
    same = [
        (block.a, block.b, block.size)
        for block in matcher.get_matching_blocks()
        if any(line.strip() for line in cited[block.a : block.a + block.size])
    ]
    if not same:
        longest = max(range(len(cited)), key=lambda n: len(cited[n]))
        like = difflib.get_close_matches(cited[longest], lines, n=1)
        same = [(longest, lines.index(text), 1) for text in like]
    if not same:
        return 0, 0
    (a, b, _), (last_a, last_b, _) = same[0], same[-1]
    return max(0, b - a) + 1, min(len(lines), last_b + len(cited) - last_a)
