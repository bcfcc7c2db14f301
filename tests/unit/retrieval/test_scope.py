"""Folder selection: what the user named is obeyed, what was guessed costs nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ragvault.config.settings import Settings
from ragvault.errors import ModelServerError, UsageError
from ragvault.model import (
    ChatOptions,
    Filter,
    FolderInfo,
    FolderSelection,
    Message,
    ModelInfo,
    Request,
)
from ragvault.ports import ChatStream
from ragvault.retrieval.context import Context, Deps
from ragvault.retrieval.question.folders import (
    EXAMPLE,
    parse_ranking,
    position_weight,
    select_folders,
    weight_of,
)
from ragvault.retrieval.question.query import analyse
from ragvault.retrieval.question.scope import limits_of
from tests.support.fakes import FakeCatalog, FakeEmbedder, FakeVectorIndex

NOW = datetime(2024, 5, 15, 10, 30)
SETTINGS = Settings()
NAMES = ["personal/Recipes", "personal/Work/API", "work/meetings"]


def folder(vault: str, path: str, *direction: float) -> FolderInfo:
    centroid = np.array(direction, dtype=np.float32) if direction else None
    return FolderInfo(vault, path, notes=2, chunks=4, centroid=centroid)


FOLDERS = [
    folder("personal", "", 0.6, 0.8),
    folder("personal", "Projects", 0.9, 0.43589),
    folder("personal", "Projects/API", 1.0, 0.0),
    folder("personal", "Recipes", 0.0, 1.0),
    folder("work", "meetings", 0.1, 0.99499),
    folder("work", "Projects", 0.8, 0.6),
]


class Chat:
    """Says what it is told to say; keeps what it was asked."""

    host = "http://localhost"

    def __init__(self, reply: str | Exception) -> None:
        self.reply = reply
        self.asked: list[Message] = []

    def version(self) -> str:
        return "1"

    def models(self) -> list[str]:
        return []

    def info(self, model: str) -> ModelInfo:
        return ModelInfo(model, None)

    def chat(self, messages: Sequence[Message], options: ChatOptions) -> ChatStream:
        raise AssertionError("ranking folders streams nothing")

    def complete(self, messages: Sequence[Message], options: ChatOptions) -> str:
        self.asked = list(messages)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def context_of(request: Request, chat: Chat | None = None) -> Context:
    deps = Deps(FakeCatalog(), FakeEmbedder, FakeVectorIndex)
    return Context(
        request=request,
        query=analyse(request.question, NOW),
        deps=deps if chat is None else replace(deps, chat=lambda: chat),
        settings=SETTINGS,
        now=NOW.timestamp(),
        vaults=(),
        folders=tuple(FOLDERS),
        where=Filter(vaults=("personal", "work")),
        of_time=None,
        k=5,
    )


def select(
    *named: str,
    mode: str | None = None,
    question: str = "which dough hydration is best?",
    vector: tuple[float, ...] | None = None,
    chat: Chat | None = None,
) -> FolderSelection:
    request = Request(question, folders=named, folder_select=mode)
    query_vector = None if vector is None else np.array(vector, dtype=np.float32)
    return select_folders(context_of(request, chat), query_vector)


def limits(*named: str, mode: str | None = None) -> tuple[tuple[str, str], ...]:
    return limits_of(Request("which?", folders=named, folder_select=mode), FOLDERS, SETTINGS)


def test_a_named_folder_limits_the_search_to_itself_and_what_is_below() -> None:
    assert limits("personal/Projects") == (("personal", "Projects"), ("personal", "Projects/API"))
    found = select("personal/Projects")
    assert [(s.vault, s.folders) for s in found.scopes] == [
        ("personal", ("Projects", "Projects/API"))
    ]
    assert found.mode == "off"


def test_a_folder_without_a_vault_is_looked_for_in_all() -> None:
    assert {vault for vault, _ in limits("Projects")} == {"personal", "work"}


@pytest.mark.parametrize(
    "name", ["projects/api", "Projects/API/", "./Projects/API", "Projects\\API"]
)
def test_case_and_slashes_are_forgiven(name: str) -> None:
    assert limits(name) == (("personal", "Projects/API"),)


def test_a_prefix_ends_at_a_folders_name() -> None:
    """ "Pro" is no folder: taking it for Projects would search what wasn't asked for."""
    with pytest.raises(UsageError) as caught:
        select("Pro")
    assert caught.value.exit_code == 2


def test_an_unknown_folder_names_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        select("Recipe")
    assert "Recipe" in caught.value.message
    assert "personal/Recipes" in caught.value.hint


def test_the_root_alone_can_be_named() -> None:
    assert limits(".") == (("personal", ""),)


def test_named_folders_weigh_by_position() -> None:
    found = select("Recipes", "meetings", "Projects/API")
    assert [s.weight for s in found.scopes] == [1.0, 0.9, 0.8]
    assert weight_of("work", "meetings", found.scopes) == 0.9


def test_weights_fall_to_a_tenth_and_no_further() -> None:
    assert [position_weight(i) for i in range(12)] == [
        1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1,
    ]  # fmt: skip


def test_off_searches_every_vault_whole() -> None:
    found = select(mode="off")
    assert [(s.vault, s.folders, s.weight) for s in found.scopes] == [
        ("personal", None, 1.0),
        ("work", None, 1.0),
    ]
    assert limits(mode="off") == ()


def test_auto_only_adds_places_and_every_place_weighs_alike() -> None:
    """A wrong guess must not push down the note that holds the answer."""
    found = select(vector=(1.0, 0.0))
    assert {s.weight for s in found.scopes} == {1.0}
    assert [s.vault for s in found.scopes if s.folders is None] == ["personal", "work"]
    assert found.selected[0] == "personal/Projects/API"


def test_auto_knows_a_folder_by_its_name_without_a_vector() -> None:
    found = select(question="what was said in the meeting?")
    assert found.selected == ("work/meetings",)


def test_auto_survives_centroids_of_another_model() -> None:
    """After a change of model, until the next index, the centroids have another length."""
    assert select(question="bread", vector=(1.0, 1.0, 1.0)).selected == ()


def test_an_explicit_mode_puts_named_folders_first_and_searches_the_rest_too() -> None:
    chat = Chat('["work/meetings", "personal/Projects"]')
    found = select("Recipes", mode="llm", chat=chat)
    assert found.selected == ("personal/Recipes", "work/meetings", "personal/Projects")
    assert [s.weight for s in found.scopes] == [1.0, 0.9, 0.8, 0.7, 0.7]
    assert limits("Recipes", mode="llm") == ()
    assert "personal/Recipes" not in chat.asked[-1].content  # it is chosen already


def test_the_model_is_told_to_leave_out_what_is_tangential() -> None:
    chat = Chat("[]")
    select(mode="llm", chat=chat)
    assert "DIRECTLY relevant" in chat.asked[-1].content
    assert "tangential" in chat.asked[-1].content


@pytest.mark.parametrize(
    "reply", ["I think recipes.", "", "[", '["invented"]', "{}", ModelServerError("It is down.")]
)
def test_a_model_that_fails_costs_a_notice_and_nothing_else(reply: str | Exception) -> None:
    context = context_of(Request("bread?", folder_select="llm"), Chat(reply))
    found = select_folders(context, None)
    assert [(s.vault, s.folders, s.weight) for s in found.scopes] == [
        ("personal", None, 1.0),
        ("work", None, 1.0),
    ]
    assert len(context.notices) == 1


def test_none_relevant_is_an_answer_not_a_failure() -> None:
    context = context_of(Request("bread?", folder_select="llm"), Chat("[]"))
    assert select_folders(context, None).selected == ()
    assert context.notices == []


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('["work/meetings"]', ["work/meetings"]),
        ('```json\n["work/meetings", "personal/Recipes"]\n```', NAMES[2:] + NAMES[:1]),
        ('json ["work/meetings"]', ["work/meetings"]),
        ('Sure! Here you are: ["Recipes"] Hope it helps [1].', ["personal/Recipes"]),
        ('["work/meetings", "work/meetings"]', ["work/meetings"]),
        ('["work/meetings", "made/up"]', ["work/meetings"]),
        ('["WORK/Meetings/"]', ["work/meetings"]),
        ('["work/meetings", "personal/Rec', ["work/meetings"]),
        ('["work/meetings",]', ["work/meetings"]),
        ('[{"folder": "work/meetings", "why": "x"}]', ["work/meetings"]),
        ('{"folders": ["work/meetings"]}', ["work/meetings"]),
        ('As [1] says: ["work/meetings"]', ["work/meetings"]),
        ('["Work/API"]', ["personal/Work/API"]),
        ("[]", []),
        ("none", None),
        ('["made/up"]', None),
        (EXAMPLE, None),  # copied from the prompt
        (json.dumps(NAMES), None),  # the whole list as it was given
        (json.dumps(NAMES[::-1]), NAMES[::-1]),
        ("[" * 100_000, None),
    ],
)
def test_replies_of_small_models_are_read(reply: str, expected: list[str] | None) -> None:
    assert parse_ranking(reply, NAMES) == expected


@given(st.text(alphabet='[]{}",:\\ abwork/meetings\n`1', max_size=200))
def test_no_reply_breaks_or_invents(reply: str) -> None:
    found = parse_ranking(reply, NAMES)
    assert found is None or (set(found) <= set(NAMES) and len(set(found)) == len(found))


@given(st.lists(st.sampled_from(NAMES), unique=True), st.text(max_size=30))
def test_an_array_inside_any_prose_is_found(wanted: list[str], prose: str) -> None:
    reply = f"{prose.replace('[', '(')}\n{json.dumps(wanted)}"
    assert parse_ranking(reply, NAMES) == (None if wanted == NAMES else wanted)
