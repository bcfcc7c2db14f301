"""Plain text: found as it stands, and nothing in it is taken for markup."""

from __future__ import annotations

import pytest

from ragvault.config.settings import ChunkingSettings
from ragvault.formats import reader_for
from ragvault.formats.decoding import NotTextError
from ragvault.formats.plain_text import read_plain_text
from ragvault.ingest.chunk import chunk_note
from ragvault.model import Note
from tests.support.chunking import WordCounter, uncovered_lines

TEXT = "Minutes\r\n# not a heading\r\n\r\n\r\nWe met at ten.\r\nAnna wrote #this down.\r\n"


def read(text: str, rel_path: str = "work/2024-03-01 minutes.txt", mtime: float = 5.0) -> Note:
    return read_plain_text(rel_path, text.encode(), mtime)


def test_paragraphs_are_blocks_and_nothing_is_markup() -> None:
    note = read(TEXT)
    assert [(b.kind, b.first, b.last) for b in note.blocks] == [
        ("paragraph", 0, 1),
        ("paragraph", 4, 5),
    ]
    assert [section.heading_path for section in note.sections] == [()]
    assert note.tags == ()


def test_title_and_date_are_the_file_names() -> None:
    note = read(TEXT)
    assert note.title == "2024-03-01 minutes"
    assert note.date == 1709294400.0  # noon UTC of that day
    assert read(TEXT, "minutes.txt").date == 5.0


def test_a_long_text_is_cut_between_paragraphs() -> None:
    text = "\n\n".join(" ".join([f"word{i}"] * 30) for i in range(5))
    note = read(text)
    chunks = chunk_note(note, "v", WordCounter(), ChunkingSettings(), 70)  # type: ignore[arg-type]
    assert [(c.start_line, c.end_line) for c in chunks] == [(1, 3), (5, 7), (9, 9)]
    assert uncovered_lines(note, chunks) == []


def test_an_empty_text_is_found_by_its_name() -> None:
    note = read("\n\n")
    (chunk,) = chunk_note(note, "v", WordCounter(), ChunkingSettings(), 40)  # type: ignore[arg-type]
    assert chunk.embed_text == note.title


def test_binary_is_refused() -> None:
    with pytest.raises(NotTextError):
        read_plain_text("a.txt", b"a\0b", 0)


def test_the_extension_chooses_the_reader() -> None:
    """One that has no reader of its own is Markdown, as it was when there was no other."""
    assert reader_for("a/B.TXT") is read_plain_text
    assert reader_for("a.md") is reader_for("a.markdown") is reader_for("a.qmd")
    assert reader_for("a.md") is not read_plain_text
