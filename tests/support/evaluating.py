"""Passages made by hand, for the tests of the evaluation."""

from __future__ import annotations

from ragvault.model import Chunk, NoteInfo, StoredChunk


def passage(
    rel_path: str,
    heading_path: tuple[str, ...] = (),
    text: str = "text",
    *,
    lines: tuple[int, int] = (1, 1),
    title: str | None = None,
) -> StoredChunk:
    key = f"{rel_path}/{'/'.join(heading_path)}/{lines}/{text}"
    chunk = Chunk(key, "v", rel_path, heading_path, 0, 0, *lines, text, "", key)
    name = rel_path.rsplit("/", 1)[-1].removesuffix(".md") if title is None else title
    return StoredChunk(chunk, NoteInfo("v", rel_path, name, "", (), (), 0.0, 0.0))
