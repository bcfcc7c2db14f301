"""A source has to open: the link leads to the note, whatever its name."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given, strategies as st

from ragvault.model import VaultInfo
from ragvault.service.originals import Links, on_disk

NAMES = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="/\\"), min_size=1
).filter(lambda name: name.strip(". ") != "")


def link(vault: Path, mode: str, rel_path: str, *headings: str) -> str:
    uri = Links([VaultInfo("v", vault, "folder")], mode).uri("v", rel_path, headings)
    assert uri is not None
    return uri


def test_obsidian_vault_opens_in_obsidian_at_the_heading(tmp_path: Path) -> None:
    links = Links([VaultInfo("mine", tmp_path / "My Notes", "obsidian")])
    uri = links.uri("mine", "work/a & b.md", ("Top", "Q1: plan"))
    assert uri == "obsidian://open?vault=My%20Notes&file=work%2Fa%20%26%20b%23Q1%20plan"


def test_other_vault_opens_the_file(tmp_path: Path) -> None:
    links = Links([VaultInfo("mine", tmp_path, "folder")])
    assert links.uri("mine", "a b.md", ("Top",)) == (tmp_path / "a b.md").as_uri()


@pytest.mark.parametrize(("mode", "scheme"), [("obsidian", "obsidian"), ("file", "file")])
def test_setting_wins_over_the_kind_of_vault(tmp_path: Path, mode: str, scheme: str) -> None:
    for kind in ("obsidian", "folder"):
        uri = Links([VaultInfo("v", tmp_path, kind)], mode).uri("v", "a.md")
        assert uri is not None and uri.startswith(f"{scheme}:")


def test_no_link_when_off_or_for_a_vault_that_is_gone(tmp_path: Path) -> None:
    assert Links([VaultInfo("v", tmp_path, "folder")], "off").uri("v", "a.md") is None
    assert Links([]).uri("v", "a.md") is None


def test_name_that_the_disk_spells_in_nfd_is_found(tmp_path: Path) -> None:
    """On Linux an NFD name (from a Mac) is another file than its NFC form."""
    folder, name = (unicodedata.normalize("NFD", text) for text in ("Café", "Ärger.md"))
    (tmp_path / folder).mkdir()
    (tmp_path / folder / name).write_text("x")
    found = on_disk(tmp_path, unicodedata.normalize("NFC", f"{folder}/{name}"))
    assert found.read_text() == "x"


def test_note_that_is_gone_still_has_a_link(tmp_path: Path) -> None:
    assert link(tmp_path, "file", "gone/Ä.md").startswith("file://")


@given(NAMES, NAMES, st.lists(NAMES, max_size=2))
def test_every_obsidian_link_reads_back(vault: str, name: str, headings: list[str]) -> None:
    """A `&`, `#`, `%` or emoji in a name must not cut the link short."""
    uri = link(Path("/") / vault, "obsidian", f"{name}.md", *headings)
    parts = parse_qs(urlsplit(uri).query, keep_blank_values=True, strict_parsing=True)
    assert parts["vault"] == [vault]
    assert parts["file"][0].startswith(name)
    assert uri.isascii() and not any(c.isspace() or ord(c) < 32 for c in uri)


@given(NAMES)
def test_every_file_link_reads_back(name: str) -> None:
    uri = link(Path("/notes"), "file", f"{name}.md")
    assert uri.isascii()
    assert unquote(urlsplit(uri).path).endswith(f"{name}.md")
    assert not urlsplit(uri).query and not urlsplit(uri).fragment
