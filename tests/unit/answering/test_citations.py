"""Any name can be cited and no draft breaks the reader. How models write citations, and what is
made of each, is in tests/golden/citations."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from ragvault.answering.citations.parse import parse
from ragvault.answering.citations.render import resolve
from ragvault.answering.citations.styles import canonical
from tests.support.answering import hit

HITS = (
    hit("projects/meeting-notes.md", "Meetings > Weekly Standup", "We meet on Monday."),
    hit("a, b [draft] 🎉.md", "Notes: one, two [x] > Sub (old)", "Odd names.", rank=2),
    hit("top.md", "", "Before any heading.", rank=3, title="Top of the hill"),
    hit("Tom's “best” notes.md", "What's new?", "Quotes.", rank=4),
)


def test_unicode_forms_of_a_name_are_the_same_name() -> None:
    note = hit("Café.md", "Menü", "Kaffee.")
    (raw,) = parse("[File: Cafe\u0301.md, Section: Menu\u0308]", (note,))
    assert resolve(raw, (note,)).hit == note


def test_a_name_with_line_breaks_or_escapes_is_cited_on_one_clean_line() -> None:
    assert canonical(hit("a\nb\x1b[31m.md", "C", "x")) == "[File: a b.md, Section: C]"


NAME = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cf", "Co", "Cn")),
    min_size=1,
    max_size=20,
).map(lambda s: " ".join(s.replace("/", "-").replace("\\", "-").replace("`", "'").split()))


@settings(max_examples=150, deadline=None)
@given(NAME.filter(bool), NAME.filter(bool))
def test_any_file_and_section_name_survives_the_round_trip(name: str, section: str) -> None:
    """The canonical form must always lead back to its chunk, whatever people name their notes."""
    note = hit(f"notes/{name}.md", section.replace(" > ", " ") or "x", "Text.")
    text = f"It is so {canonical(note)}. And more."
    raws = parse(text, (note,))
    assert [resolve(raw, (note,)).hit for raw in raws][:1] == [note]
    assert text[raws[0].start : raws[0].end] == canonical(note)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_no_draft_breaks_the_parser_and_places_are_true(text: str) -> None:
    for raw in parse(text, HITS):
        assert text[raw.start : raw.end] == raw.raw
        resolve(raw, HITS, text)


def test_a_bracket_that_a_blank_line_breaks_off_is_no_citation() -> None:
    assert parse("[top.md, Introduction\n\nAnd more.", HITS) == []
