"""Source formats: a file's bytes → a ``Note`` with its sections, and its blocks with their lines.

A further format is a module with a reader (``ports.NoteReader``) and a line in ``READERS``. Which
files are notes is the setting ``index.extensions``.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from pkgutil import resolve_name
from typing import cast

from ragvault.ports import NoteReader

# Extension → where its reader is: text, so that who asks for one doesn't import the others.
READERS = {
    ".md": "ragvault.formats.markdown:read_markdown",
    ".markdown": "ragvault.formats.markdown:read_markdown",
    ".txt": "ragvault.formats.plain_text:read_plain_text",
}


def reader_for(rel_path: str) -> NoteReader:
    """The reader of a file, by its extension, whatever its case; what no reader is named for is
    read as Markdown."""
    place = READERS.get(PurePosixPath(rel_path).suffix.lower(), READERS[".md"])
    return cast("NoteReader", resolve_name(place))
