"""Notes and chunks made by hand, for tests of the stores."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragvault.model import Chunk, Note, NoteFile, NoteWrite, Section

if TYPE_CHECKING:
    from ragvault.model import HeadingPath, Vector

DAY = 86_400.0
MTIME_NS = 1_700_000_000_000_000_000


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def note_write(
    vault: str,
    rel_path: str,
    sections: Sequence[tuple[HeadingPath, str]],
    *,
    title: str | None = None,
    aliases: tuple[str, ...] = (),
    tags: tuple[str, ...] = (),
    date: float = MTIME_NS / 1e9,
    mtime_ns: int = MTIME_NS,
    first_line: int = 1,
    frontmatter: str = "",
) -> NoteWrite:
    """One chunk a section, ids made as the chunker makes them."""
    title = rel_path if title is None else title
    chunks: list[Chunk] = []
    ordinals: dict[HeadingPath, int] = {}
    line = first_line
    for index, (heading_path, text) in enumerate(sections):
        embed_text = "\n".join((title, *heading_path, text))
        ordinal = ordinals.get(heading_path, 0)
        ordinals[heading_path] = ordinal + 1
        key = "\0".join((vault, rel_path, "\1".join(heading_path), str(ordinal), sha(embed_text)))
        last = line + text.count("\n")
        chunks.append(
            Chunk(
                id=sha(key)[:32],
                vault=vault,
                rel_path=rel_path,
                heading_path=heading_path,
                ordinal=ordinal,
                chunk_index=index,
                start_line=line,
                end_line=last,
                text=text,
                embed_text=embed_text,
                text_hash=sha(embed_text),
            )
        )
        line = last + 1
    parts = tuple(Section(c.heading_path, c.start_line, c.end_line, c.text) for c in chunks)
    note = Note(rel_path, title, aliases, tags, date, frontmatter, None, parts, (), ())
    file = NoteFile(rel_path, str(Path("/vault") / rel_path), 100, mtime_ns)
    content_hash = sha(repr(sections))
    return NoteWrite(file, content_hash, note, tuple(chunks), "index-1", mtime_ns + 5)


def vector_of(text_hash: str, dimensions: int = 8) -> Vector:
    """A unit vector that depends on nothing but the hash."""
    rng = np.random.default_rng(list(sha(text_hash).encode()))
    vector = rng.standard_normal(dimensions)
    unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit


def vectors_of(writes: Sequence[NoteWrite], dimensions: int = 8) -> Mapping[str, Vector]:
    return {
        chunk.text_hash: vector_of(chunk.text_hash, dimensions)
        for write in writes
        for chunk in write.chunks
    }
