"""What must hold for any Markdown whatever, with any tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from ragvault.config.settings import ChunkingSettings
from ragvault.formats.decoding import NotTextError
from ragvault.formats.markdown import read_markdown
from ragvault.ingest.chunk import chunk_note
from tests.support.chunking import (
    CharCounter,
    EstimateCounter,
    SuperadditiveCounter,
    WordCounter,
    nasty_markdown,
    parsed,
    uncovered_lines,
)

pytestmark = pytest.mark.slow

COUNTERS = [WordCounter(), CharCounter(), EstimateCounter(), SuperadditiveCounter()]
QUICK = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


def _parse(text: str):
    try:
        return parsed(text)
    except NotTextError:
        return None


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda c: type(c).__name__)
@QUICK
@given(text=nasty_markdown, window=st.sampled_from([12, 30, 60, 250]))
@example(text="a" * 89 + " \u00a0\n[a]: b/c.md 'C'\n", window=12)  # blanks before the links
def test_every_line_is_found_and_nothing_exceeds_the_window(text, window, counter):
    """A line in no chunk can't be found; text beyond the window is never read by the model."""
    if (note := _parse(text)) is None:
        return
    chunks = chunk_note(note, "v", counter, ChunkingSettings(), window)
    assert chunks
    assert uncovered_lines(note, chunks) == []
    for chunk, count in zip(
        chunks, counter.count_tokens([chunk.embed_text for chunk in chunks]), strict=True
    ):
        # one grapheme can't be cut: two letters of a flag, a family's emoji
        assert count <= window or len(chunk.text) <= 8


@QUICK
@given(text=nasty_markdown)
def test_the_same_note_gives_the_same_chunks_with_distinct_ids(text):
    """Otherwise each run would embed again, or one chunk would hide another."""
    if (note := _parse(text)) is None:
        return
    first = chunk_note(note, "v", WordCounter(), ChunkingSettings(), 30)
    assert chunk_note(note, "v", WordCounter(), ChunkingSettings(), 30) == first
    assert len({chunk.id for chunk in first}) == len(first)
    assert [chunk.chunk_index for chunk in first] == list(range(len(first)))
    places = [(chunk.start_line, chunk.end_line) for chunk in first]
    assert places == sorted(places)


@QUICK
@given(text=nasty_markdown)
def test_sections_partition_the_body(text):
    """A line under two headings, or none, would be cited wrongly."""
    if (note := _parse(text)) is None:
        return
    body = note.frontmatter_lines[1] if note.frontmatter_lines else 0
    at = body + 1
    for section in note.sections:
        if section.heading_path or at > body + 1:
            assert all(not line.strip() for line in note.lines[at - 1 : section.start_line - 1])
        assert section.text == "\n".join(note.lines[section.start_line - 1 : section.end_line])
        at = section.end_line + 1
    assert all(not line.strip() for line in note.lines[at - 1 :])


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=400))
def test_any_bytes_are_a_note_or_a_reason(data):
    """One bad file must not end the indexing of a vault."""
    try:
        note = read_markdown("a.md", data, 0.0)
    except NotTextError as problem:
        assert str(problem)
        return
    for chunk in chunk_note(note, "v", WordCounter(), ChunkingSettings(), 30):
        chunk.embed_text.encode("utf-8")
        chunk.text.encode("utf-8")
