"""Whatever way a model writes a citation, it opens the right chunk; an invented one never does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from ragvault.answering.citations.parse import parse
from ragvault.answering.citations.resolve import resolve
from ragvault.answering.citations.styles import canonical, section_label
from ragvault.model import CitationStatus, Hit
from tests.support.answering import hit

EXACT, REPAIRED, REMOVED = CitationStatus.EXACT, CitationStatus.REPAIRED, CitationStatus.REMOVED

WEEKLY = hit("projects/meeting-notes.md", "Meetings > Weekly Standup", "We meet on Monday.")
DAILY = hit("projects/meeting-notes.md", "Meetings > Daily Standup", "Daily at ten.", rank=2)
EMOJI = hit("a, b [draft] 🎉.md", "Notes: one, two [x] > Sub (old)", "Odd names.", rank=3)
TOP = hit("top.md", "", "Before any heading.", rank=4, title="Top of the hill")
SNAKE = hit("my_file_name.md", "Intro", "Underscores.", rank=5)
ALPHA = hit("x/log.md", "Alpha", "Cats sleep all day.", rank=6)
BETA = hit("y/log.md", "Beta", "Dogs bark at night.", rank=7)
QUOTED = hit("Tom's “best” notes.md", "What's new?", "Quotes.", rank=8)
YEARS = hit("daily/2024-03-01.md", "Log", "First of March.", rank=9)
YEARS_2 = hit("daily/2024-03-02.md", "Log", "Second of March.", rank=10)
HITS = (WEEKLY, DAILY, EMOJI, TOP, SNAKE, ALPHA, BETA, QUOTED, YEARS, YEARS_2)


def found(text: str, sentence: str = "") -> list[tuple[CitationStatus, Hit | None]]:
    return [(r.status, r.hit) for r in (resolve(raw, HITS, sentence) for raw in parse(text, HITS))]


@pytest.mark.parametrize("wanted", HITS, ids=lambda h: h.chunk.rel_path)
def test_the_asked_for_form_is_exact_with_and_without_heading_marks(wanted: Hit) -> None:
    marked = f"[File: {wanted.chunk.rel_path}, Section: {section_label(wanted.chunk.heading_path)}]"
    assert found(canonical(wanted)) == [(EXACT, wanted)]
    assert found(f"It is so {marked}.") == [(EXACT, wanted)]


@pytest.mark.parametrize(
    "text",
    [
        "[file: meeting-notes.md; section: weekly standup]",
        "[File:projects/meeting-notes.md Section:Weekly Standup]",
        "[File: meeting-notes, Section: Weekly Standup]",
        "[FILE: PROJECTS/MEETING-NOTES.MD, SECTION: MEETINGS > WEEKLY STANDUP]",
        "(File: projects/meeting-notes.md, Section: Weekly Standup)",
        "[projects/meeting-notes.md, Section: Weekly Standup]",
        "[meeting-notes.md, Weekly Standup]",
        "[File: notes/meeting-notes.md, Section: Weekly Standup]",
        "[File: personal/projects/meeting-notes.md, Section: Weekly Standup]",
        "[File: `meeting-notes.md`, Section: `Weekly Standup`]",
        "[File: “meeting-notes.md”, Section: “Weekly Standup”]",
        "[File: meeting-notes.md, Section: ## Weekly Standup]",
        "[File: meeting-notes.md, Section: Meeting Notes > Meetings > Weekly Standup]",
        "[File: meetingnotes.md, Section: Weekly Standupp]",
        "[Vault: personal] File: projects/meeting-notes.md, Section: Weekly Standup",
        "[[meeting-notes#Weekly Standup]]",
        "【File: meeting-notes.md, Section: Weekly Standup】",
        "[File: meeting-notes.md, Section: Weekly Standup, lines 3-5]",
        "[Source: meeting-notes.md, Section: Weekly Standup]",
        "[Chunk 1, File: meeting-notes.md, Section: Weekly Standup]",
        "[File: meeting-notes.md, Section: Weekly Standup",
        "We meet. File: meeting-notes.md, Section: # Meetings > ## Weekly Standup.",
        "File: projects/meeting-notes.md\nSection: # Meetings > ## Weekly Standup",
        "[File: meeting\\-notes.md, Section: Weekly Standup]",
        "[Chunk 1]",
        "[1]",
        "[Citation 1]",
        "[N1]",
        "[Source 1]",
        "[^1]",
        "(Chunk 1)",
    ],
)
def test_the_forms_that_small_models_write_are_repaired(text: str) -> None:
    assert found(text) == [(REPAIRED, WEEKLY)]


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("[File: meeting-notes.md, Section: Weekly Standup; File: top.md]", [WEEKLY, TOP]),
        ("[File: meeting-notes.md, Section: Daily Standup, File: top.md]", [DAILY, TOP]),
        ("[1, 2]", [WEEKLY, DAILY]),
        ("[Chunks 1 and 4]", [WEEKLY, TOP]),
        ("[1][4]", [WEEKLY, TOP]),
        ("[Chunk 1] and [File: top.md]", [WEEKLY, TOP]),
    ],
)
def test_several_citations_in_one_bracket_all_count(text: str, hits: list[Hit]) -> None:
    assert [h for _, h in found(text)] == hits


@pytest.mark.parametrize(
    "text",
    [
        "[File: invented.md, Section: Nope]",
        "[File: meeting-notes.md, Section: Quarterly Budget]",
        "[Chunk 99]",
        "[0]",
        "[File: daily/2024-03-03.md, Section: Log]",
        "(Source: https://example.com/page)",
    ],
)
def test_what_is_not_in_the_context_is_removed(text: str) -> None:
    assert all(pair == (REMOVED, None) for pair in found(text))


def test_dates_in_file_names_are_never_taken_for_typos() -> None:
    assert found("[File: 2024-03-02.md, Section: Log]") == [(REPAIRED, YEARS_2)]
    assert found("[File: 2024-03-04.md, Section: Log]") == [(REMOVED, None)]


@pytest.mark.parametrize(
    "text",
    [
        "values[1] is the second",
        "in [2024] it was",
        "- [x] done\n- [ ] not done",
        "see [the site](https://example.com)",
        "`rows[1]` and `[2]`",
        "```py\nrows = [1]\n[File: top.md]\n```",
        "I use [[top]] every day",
        "the range [1-3] and [1, 200]",
        "a list (1) of (2) things",
        "Note: this is no citation. Source code: none.",
        "the file: see below",
    ],
)
def test_ordinary_text_is_not_mistaken_for_a_citation(text: str) -> None:
    assert parse(text, HITS) == []


def test_a_bare_file_name_in_two_folders_goes_by_section_then_by_the_sentence() -> None:
    assert found("[File: log.md, Section: Beta]", "whatever") == [(REPAIRED, BETA)]
    assert found("[File: log.md]", "Dogs bark at night") == [(REPAIRED, BETA)]
    assert found("[File: log.md]", "Cats sleep all day") == [(REPAIRED, ALPHA)]


def test_of_several_chunks_of_a_section_the_one_that_holds_the_sentence_is_cited() -> None:
    first = hit("long.md", "Story", "The fox runs through the wood.", ordinal=0)
    second = hit("long.md", "Story", "A bear sleeps in the cave.", ordinal=1, rank=2)
    (raw,) = parse("[File: long.md, Section: Story]", (first, second))
    result = resolve(raw, (first, second), "The bear is asleep in its cave")
    assert (result.status, result.hit) == (EXACT, second)


def test_a_wrong_section_is_repaired_only_when_the_file_holds_the_sentence() -> None:
    text = "[File: top.md, Section: Geography]"
    assert found(text, "It stands before any heading") == [(REPAIRED, TOP)]
    assert found(text, "Penguins live in Antarctica") == [(REMOVED, None)]


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
