"""Folder selection: what the user named is obeyed, what was guessed costs nothing."""

from __future__ import annotations

from datetime import datetime

import pytest

from ragvault.config.settings import Settings
from ragvault.errors import UsageError
from ragvault.model import (
    Filter,
    FolderInfo,
    FolderSelection,
    Request,
)
from ragvault.retrieval.context import Context
from ragvault.retrieval.question.folders import (
    position_weight,
    rankable,
    select_folders,
    weight_of,
)
from ragvault.retrieval.question.query import analyse
from ragvault.retrieval.question.scope import folder_mode, limits_of, named_folders

NOW = datetime(2024, 5, 15, 10, 30)
SETTINGS = Settings()


FOLDERS = [
    FolderInfo(vault, path)
    for vault, path in (
        ("personal", ""),
        ("personal", "Projects"),
        ("personal", "Projects/API"),
        ("personal", "Recipes"),
        ("work", "meetings"),
        ("work", "Projects"),
    )
]


def context_of(request: Request) -> Context:
    return Context(
        request=request,
        query=analyse(request.question, NOW),
        deps=None,  # type: ignore[arg-type] - nothing is looked up
        settings=SETTINGS,
        now=NOW.timestamp(),
        vaults=(),
        folders=tuple(FOLDERS),
        named=tuple(named_folders(request, FOLDERS)),
        folder_mode=folder_mode(request, SETTINGS),
        where=Filter(vaults=("personal", "work")),
        of_time=None,
        k=5,
    )


def select(
    *named: str,
    mode: str | None = None,
    question: str = "which dough hydration is best?",
    ranked: tuple[FolderInfo, ...] = (),
) -> FolderSelection:
    request = Request(question, folders=named, folder_select=mode)
    return select_folders(context_of(request), ranked)


def limits(*named: str, mode: str | None = None) -> tuple[tuple[str, str], ...]:
    context = context_of(Request("which?", folders=named, folder_select=mode))
    return limits_of(context.named, context.folder_mode)


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


@pytest.mark.parametrize("mode", [None, "off"])
def test_every_vault_is_searched_whole(mode: str | None) -> None:
    found = select(mode=mode)
    assert [(s.vault, s.folders, s.weight) for s in found.scopes] == [
        ("personal", None, 1.0),
        ("work", None, 1.0),
    ]
    assert limits(mode=mode) == ()


def test_an_explicit_mode_puts_named_folders_first_and_searches_the_rest_too() -> None:
    ranked = (FOLDERS[4], FOLDERS[1])
    found = select("Recipes", mode="llm", ranked=ranked)
    assert found.selected == ("personal/Recipes", "work/meetings", "personal/Projects")
    assert [s.weight for s in found.scopes] == [1.0, 0.9, 0.8, 0.7, 0.7]
    assert limits("Recipes", mode="llm") == ()


def test_the_model_ranks_what_nobody_named_and_only_when_asked_to() -> None:
    context = context_of(Request("bread?", folders=("Recipes",), folder_select="llm"))
    assert "personal/Recipes" not in {f.qualified for f in rankable(context)}
    assert {"personal/Projects", "work/meetings"} <= {f.qualified for f in rankable(context)}
    assert rankable(context_of(Request("bread?"))) == []


def test_without_a_ranking_every_folder_counts_alike() -> None:
    found = select(mode="llm")
    assert [(s.vault, s.folders, s.weight) for s in found.scopes] == [
        ("personal", None, 1.0),
        ("work", None, 1.0),
    ]
