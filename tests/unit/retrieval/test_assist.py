"""What a model is asked before the search: one call, and whatever it writes the search goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from ragvault.errors import ModelServerError
from ragvault.model import Request, Retrieval
from ragvault.retrieval.candidates import expansion as assist
from ragvault.retrieval.candidates.expansion import ranking, terms_of, wordings
from tests.support.answering import ScriptedChat
from tests.support.search_index import SearchIndex, source

QUESTION = "How do I back up the database?"
LISTED = ["v/Kitchen", "v/Ops", "v/Travel"]
WRITTEN = {
    "folders": ["v/Ops"],
    "expand": ["How to dump the tables?", "Where are backups?"],
    "hyde": "Run pg_dump nightly.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchIndex]:
    made = SearchIndex.fake(tmp_path_factory.mktemp("index"))
    notes = {
        "Ops/a.md": "Run pg_dump nightly.",
        "Kitchen/b.md": "Knead the dough.",
        "Travel/c.md": "The train to Denmark takes a day.",
    }
    made.add("v", [source(path, text) for path, text in notes.items()])
    yield made
    made.close()


def asked(index: SearchIndex, chat: ScriptedChat | None, *wanted: str) -> Retrieval:
    deps = index.deps if chat is None else replace(index.deps, chat=lambda: chat)
    mode = "llm" if "folders" in wanted else "off"
    request = Request(
        QUESTION, expand="expand" in wanted, hyde="hyde" in wanted, folder_select=mode
    )
    return index.search(request, deps=deps)


def test_all_three_are_asked_for_in_one_call_with_a_schema(index: SearchIndex) -> None:
    """Three calls of a small model took 46 s before the first word."""
    chat = ScriptedChat(json.dumps(WRITTEN))
    found = asked(index, chat, "folders", "expand", "hyde")
    assert found.expansions == (
        ("expand", "How to dump the tables?"),
        ("expand", "Where are backups?"),
        ("hyde", "Run pg_dump nightly."),
    )
    assert found.folder_selection.selected == ("v/Ops",)
    assert found.notices == ()
    [(messages, options)] = chat.asked
    assert QUESTION in messages[-1].content
    assert "DIRECTLY relevant" in messages[-1].content
    assert options.temperature == 0.0
    schema = options.schema or {}
    assert schema["required"] == ["folders", "expand", "hyde"]
    assert schema["properties"]["folders"]["items"]["enum"] == LISTED
    assert [name for name, _ in found.hits[0].scores.terms][-2:] == ["expand", "hyde"]


def test_only_what_is_wanted_is_asked_for(index: SearchIndex) -> None:
    chat = ScriptedChat('{"hyde": "Run pg_dump nightly."}')
    asked(index, chat, "hyde")
    assert list((chat.asked[0][1].schema or {})["properties"]) == ["hyde"]
    assert "v/Kitchen" not in chat.asked[0][0][-1].content
    nothing = ScriptedChat()
    found = asked(index, nothing)
    assert (found.expansions, found.notices, nothing.asked) == ((), (), [])


def test_a_server_that_is_down_or_slow_costs_a_notice(index: SearchIndex) -> None:
    """Without Ollama the plain search has to be made, and said to be."""
    down = ModelServerError("Ollama can't be reached.", "Start it.")
    found = asked(index, ScriptedChat(down), "folders", "expand", "hyde")
    assert found.expansions == ()
    assert len(found.notices) == 1
    assert "can't be reached" in found.notices[0]
    assert "searched without" in found.notices[0]
    assert found.hits == asked(index, None).hits


@pytest.mark.parametrize(
    "reply",
    ["", "I think v/Ops.", "[]", "null", '{"expand": ["half', "{}", "[" * 100_000, '{"hyde": 3}'],
)
def test_an_unusable_reply_costs_a_notice_for_each(index: SearchIndex, reply: str) -> None:
    found = asked(index, ScriptedChat(reply), "folders", "expand", "hyde")
    assert found.expansions == ()
    assert found.folder_selection.selected == ()
    assert len(found.notices) == 3
    assert found.hits == asked(index, None).hits


def test_what_can_be_used_of_a_reply_is(index: SearchIndex) -> None:
    chat = ScriptedChat(json.dumps({**WRITTEN, "folders": ["v/Made up"]}))
    found = asked(index, chat, "folders", "expand", "hyde")
    assert len(found.expansions) == 3
    assert found.folder_selection.selected == ()
    assert found.notices == ("The model wrote no ranking of the folders; searched without.",)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["v/Ops"], ["v/Ops"]),
        (["v/Travel", "v/Ops", "v/Travel"], ["v/Travel", "v/Ops"]),
        ([], []),  # none is relevant
        (LISTED[::-1], LISTED[::-1]),
        (LISTED[:2], LISTED[:2]),  # may be so by chance
        (LISTED, None),  # the listing as it was given
        (["v/Ops", "v/Made up"], None),
        (["ops"], None),
        ([{"folder": "v/Ops"}], None),
        ("v/Ops", None),
        (None, None),
    ],
)
def test_a_ranking_that_ranks_nothing_or_invents_counts_as_none(
    said: object, expected: list[str] | None
) -> None:
    assert ranking(said, LISTED) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["How to dump the tables?", " how to dump\nthe tables "], ("How to dump the tables?",)),
        ([QUESTION, "how do i back up the database", "Dumps?"], ("Dumps?",)),
        (["half \udfff a tail"], ("half a tail",)),
        (["", "...", 3, None, "\x1b"], ()),
        ("Dumps?", ()),
        (None, ()),
    ],
)
def test_wordings_are_what_can_be_searched_for(said: object, expected: tuple[str, ...]) -> None:
    assert wordings(said, QUESTION) == expected


@given(st.lists(st.text(max_size=400)))
def test_any_reply_gives_a_few_usable_wordings(said: list[str]) -> None:
    found = wordings(said, QUESTION)
    assert len(found) <= assist.VARIANTS
    for wording in found:
        assert 0 < len(wording) <= assist.MAX_VARIANT_CHARS
        assert "\n" not in wording
        assert "\x1b" not in wording
        assert terms_of(wording)
