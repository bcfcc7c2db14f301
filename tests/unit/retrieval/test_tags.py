"""Tags that limit a search: a slip is named, a parent tag is none."""

from __future__ import annotations

import pytest

from ragvault.errors import UsageError
from ragvault.model import Request
from ragvault.retrieval.question.scope import known_tags
from tests.support.fakes import FakeCatalog


class Tags(FakeCatalog):
    """A catalog whose notes have these tags."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = list(names)

    def tags(self, vaults: object = ()) -> list[str]:
        return self.names


def test_a_parent_of_nested_tags_is_a_tag() -> None:
    """`--tag project` finds what is tagged project/apollo; it mustn't be refused."""
    catalog = Tags("project/apollo")
    assert known_tags(Request("q", tags=("#Project/",)), catalog, ()) == ("Project",)
    with pytest.raises(UsageError):
        known_tags(Request("q", tags=("proj",)), catalog, ())


def test_the_hint_says_what_there_is() -> None:
    def hint(*names: str, tag: str) -> str:
        with pytest.raises(UsageError) as caught:
            known_tags(Request("q", tags=(tag,)), Tags(*names), ())
        return caught.value.hint

    assert hint("project/apollo", "else", tag="apolo") == "Nearest tags: project/apollo."
    assert hint("one", "two", tag="zzzz") == "Tags: one, two."
    assert hint(tag="x") == "These notes have no tags: leave `--tag` out."


def test_without_a_tag_nothing_is_looked_up() -> None:
    assert known_tags(Request("q"), None, ()) == ()  # type: ignore[arg-type]
