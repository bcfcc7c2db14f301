"""Source formats: a file's bytes → a ``Note`` with its sections, and its blocks with their lines.

    decoding      bytes → lines (byte order marks, stray bytes; binary files are refused)
    markdown      Markdown with frontmatter, as Obsidian and its kin write it
    blocks        its block structure (headings, lists, tables, fences …), by markdown-it-py
    frontmatter   its YAML
    inline        its #tags, and a heading's text without markup
    plain_text    paragraphs between blank lines
    dates         when a note is from: in words, in fields, in its path

A further format is a module with a reader (``ports.NoteReader``), named in ``reader_for``. Which
files are notes is the setting ``index.extensions``.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from ragvault.ports import NoteReader


def reader_for(rel_path: str) -> NoteReader:
    """The reader of a file, by its extension, whatever its case; what no reader is named for is
    read as Markdown. Imported here: who needs a note's blocks alone doesn't pay for the YAML."""
    if PurePosixPath(rel_path).suffix.lower() == ".txt":
        from ragvault.formats.plain_text import read_plain_text

        return read_plain_text
    from ragvault.formats.markdown import read_markdown

    return read_markdown
