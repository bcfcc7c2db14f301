"""Tags that limit a search: a slip is named, a parent tag is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.errors import UsageError
from ragvault.model import Request, VaultInfo
from ragvault.retrieval.question.scope import known_tags
from tests.support.samples import note_write


def tagged(folder: Path, *tags: str) -> SqliteCatalog:
    """A catalog whose one note has these tags."""
    catalog = SqliteCatalog(folder / f"{len(tags)}-{tags[0] if tags else 'none'}".replace("/", "-"))
    catalog.add_vault(VaultInfo("notes", Path("/vault"), "folder"))
    catalog.commit("notes", [note_write("notes", "a.md", [((), "one")], tags=tags)], [])
    return catalog


def test_a_parent_of_nested_tags_is_a_tag(tmp_path: Path) -> None:
    """`--tag project` finds what is tagged project/apollo; it mustn't be refused."""
    catalog = tagged(tmp_path, "project/apollo")
    assert known_tags(Request("q", tags=("#Project/",)), catalog, ()) == ("Project",)
    with pytest.raises(UsageError):
        known_tags(Request("q", tags=("proj",)), catalog, ())


def test_the_hint_says_what_there_is(tmp_path: Path) -> None:
    def hint(*names: str, tag: str) -> str:
        with pytest.raises(UsageError) as caught:
            known_tags(Request("q", tags=(tag,)), tagged(tmp_path, *names), ())
        return caught.value.hint

    assert hint("project/apollo", "else", tag="apolo") == "Nearest tags: project/apollo."
    assert hint("one", "two", tag="zzzz") == "Tags: one, two."
    assert hint(tag="x") == "These notes have no tags: leave `--tag` out."


def test_without_a_tag_nothing_is_looked_up() -> None:
    assert known_tags(Request("q"), None, ()) == ()  # type: ignore[arg-type]
