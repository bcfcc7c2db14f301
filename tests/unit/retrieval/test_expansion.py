"""Other wordings and HyDE: whatever a model writes, the search goes on and explains itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ragvault.errors import ModelServerError
from ragvault.model import Request, Retrieval
from ragvault.retrieval.candidates import expansion
from ragvault.retrieval.candidates.expansion import (
    apply,
    between,
    parse_passage,
    parse_variants,
)
from tests.support.answering import ScriptedChat
from tests.support.search_index import SearchIndex, source
from tests.unit.retrieval.test_pick import entry

QUESTION = "How do I back up the database?"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("How to dump the tables?\nWhere are backups made?", 2),
        ("1. How to dump the tables?\n2) Where are backups made?", 2),
        ("- **How to dump the tables?**\n* “Where are backups made?”", 2),
        ("Sure! Here are two:\n\nHow to dump the tables?\nWhere are backups made?", 2),
        ('["How to dump the tables?", "Where are backups made?"]', 2),
        ('```json\n["How to dump the tables?",\n "Where are backups made?"]\n```', 2),
        ("Question 1: How to dump the tables?\nQ2: Where are backups made?", 2),
        ("How to dump the tables?\nhow to dump the tables", 1),
        (f"{QUESTION}\nhow do i back up the database\nHow to dump the tables?", 1),
        ("", 0),
        ("\n\n...\n---\n", 0),
        ("x" * 5000, 0),
    ],
)
def test_wordings_are_read_however_they_are_written(reply: str, expected: int) -> None:
    """A model's numbering or small talk as a search would find the wrong notes."""
    found = parse_variants(reply, QUESTION)
    assert len(found) == expected
    if expected == 2:
        assert found == ("How to dump the tables?", "Where are backups made?")


@given(st.text(max_size=400))
def test_any_reply_gives_a_few_usable_wordings(reply: str) -> None:
    found = parse_variants(reply, QUESTION)
    assert len(found) <= expansion.VARIANTS
    for wording in found:
        assert wording.strip() == wording
        assert 0 < len(wording) <= expansion.MAX_VARIANT_CHARS
        assert "\n" not in wording
        assert "\x1b" not in wording
        assert expansion.terms_of(wording)
    assert len(parse_passage(reply)) <= expansion.MAX_PASSAGE_CHARS


def test_half_a_character_is_left_out() -> None:
    """The search, and not only the wording, would fail over it."""
    assert parse_passage("half \udfff a tail") == "half  a tail"


def test_a_passage_loses_its_introduction() -> None:
    assert parse_passage("Here is a passage:\n\nRun pg_dump nightly.\nKeep a week.") == (
        "Run pg_dump nightly. Keep a week."
    )
    assert parse_passage("Run pg_dump nightly.") == "Run pg_dump nightly."
    assert parse_passage(" \n …") == ""


# --------------------------------------------------------------------------- asking


@pytest.fixture(scope="module")
def index() -> SearchIndex:
    made = SearchIndex.fake()
    made.add("v", [source("a.md", "Run pg_dump nightly."), source("b.md", "Knead the dough.")])
    return made


def asked(
    index: SearchIndex, chat: ScriptedChat | None, *, expand: bool = True, hyde: bool = True
) -> Retrieval:
    deps = index.deps if chat is None else replace(index.deps, chat=lambda: chat)
    return index.search(Request(QUESTION, expand=expand, hyde=hyde), deps=deps)


def test_both_are_asked_for_and_the_question_is_in_the_prompt(index: SearchIndex) -> None:
    chat = ScriptedChat("How to dump the tables?\nWhere are backups?", "Run pg_dump nightly.")
    found = asked(index, chat)
    assert found.expansions == (
        ("expand", "How to dump the tables?"),
        ("expand", "Where are backups?"),
        ("hyde", "Run pg_dump nightly."),
    )
    assert found.notices == ()
    assert all(QUESTION in messages[-1].content for messages, _ in chat.asked)
    assert all(options.temperature == 0.0 for _, options in chat.asked)
    assert [name for name, _ in found.hits[0].scores.terms][-2:] == ["expand", "hyde"]


def test_off_asks_nothing(index: SearchIndex) -> None:
    chat = ScriptedChat()
    found = asked(index, chat, expand=False, hyde=False)
    assert (found.expansions, found.notices, chat.asked) == ((), (), [])


def test_a_server_that_is_down_costs_a_notice(index: SearchIndex) -> None:
    """Without Ollama the plain search has to be made, and said to be."""
    down = ModelServerError("Ollama can't be reached.", "Start it.")
    found = asked(index, ScriptedChat(down))
    assert found.expansions == ()
    assert len(found.notices) == 1
    assert "can't be reached" in found.notices[0]
    assert "searched without" in found.notices[0]
    assert found.hits == asked(index, None, expand=False, hyde=False).hits
    half = asked(index, ScriptedChat("How to dump the tables?", down))
    assert [kind for kind, _ in half.expansions] == ["expand"]
    assert "HyDE" in half.notices[0]


def test_an_unusable_reply_costs_a_notice(index: SearchIndex) -> None:
    found = asked(index, ScriptedChat("...", "\n"))
    assert found.expansions == ()
    assert len(found.notices) == 2


# --------------------------------------------------------------------------- fusing


def test_what_the_wordings_agree_on_rises_and_says_why() -> None:
    ranked = [entry("a", 0.60), entry("b", 0.58), entry("c", 0.57)]
    moved = apply(ranked, {"expand": [("c", "b"), ("c",)], "hyde": [()]})
    assert [candidate.id for candidate, _ in moved] == ["c", "b", "a"]
    best = moved[0][1]
    assert best.terms[-1] == ("expand", 0.0)
    assert best.final == 0.57
    assert moved[2][1].terms[-1][1] < 0


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
    st.lists(st.lists(st.sampled_from([f"{i:02}" for i in range(25)])), max_size=5),
)
def test_terms_add_up_and_nothing_is_lifted(finals: list[float], lists: list[list[str]]) -> None:
    """--debug explains every score; an invented wording opens no gate."""
    ranked = [entry(f"{i:02}", f) for i, f in enumerate(sorted(finals, reverse=True))]
    before = {candidate.id: scores.final for candidate, scores in ranked}
    found = [tuple(ids) for ids in lists]
    moved = apply(ranked, {"expand": found, "hyde": found})
    for candidate, scores in moved:
        assert scores.final == sum(value for _, value in scores.terms)
        floor = (1 - expansion.WEIGHT) ** 2 * before[candidate.id]
        assert floor - 1e-9 <= scores.final <= before[candidate.id]
    values = [scores.final for _, scores in moved]
    assert values == sorted(values, reverse=True)
    assert len(moved) == len(ranked)


def test_the_middle_of_two_vectors_has_length_one() -> None:
    one, other = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)
    middle = between(one, other)
    assert middle.dtype == np.float32
    assert middle == pytest.approx([0.5**0.5, 0.5**0.5])
    assert (between(one, -one) == one).all()
