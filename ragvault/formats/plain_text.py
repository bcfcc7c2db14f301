"""Plain text: paragraphs between blank lines, and nothing that has a meaning of its own."""

from __future__ import annotations

from collections.abc import Sequence

from ragvault.formats.dates import date_from_path
from ragvault.formats.decoding import read_lines, title_of
from ragvault.model import Block, Note, Section


def read_plain_text(rel_path: str, data: bytes | str, mtime: float) -> Note:
    """A text file as a note: one section without a heading, its paragraphs the blocks.

    The file's name is its title and tells its date, else ``mtime`` does. Raises NotTextError.
    Linear in the file.
    """
    lines, warnings = read_lines(data)
    blocks = paragraphs(lines)
    section = Section((), 1, len(lines), "\n".join(lines))
    date = date_from_path(rel_path)
    return Note(
        rel_path=rel_path,
        title=title_of("", rel_path),
        aliases=(),
        tags=(),
        date=mtime if date is None else date,
        frontmatter_text="",
        frontmatter_lines=None,
        sections=(section,) if blocks else (),
        lines=tuple(lines),
        blocks=blocks,
        warnings=warnings,
    )


def paragraphs(lines: Sequence[str], start: int = 0) -> tuple[Block, ...]:
    """What stands between blank lines in ``lines[start:]``."""
    blocks: list[Block] = []
    for at in range(start, len(lines)):
        if blocks and lines[at].strip() and blocks[-1].last == at - 1:
            blocks[-1] = Block("paragraph", blocks[-1].first, at)
        elif lines[at].strip():
            blocks.append(Block("paragraph", at, at))
    return tuple(blocks)
