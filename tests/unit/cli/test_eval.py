"""Where an evaluation may write: a path that can't be, after an hour of asking, costs the hour;
one that is a note costs the note."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ragvault.cli.commands.eval import eval_session
from ragvault.cli.commands.eval_run import check_target
from ragvault.config.settings import Settings
from ragvault.errors import Interrupted, UsageError
from ragvault.model import VaultInfo


@pytest.fixture
def session(tmp_path: Path) -> Any:
    notes = tmp_path / "notes"
    notes.mkdir()
    catalog = SimpleNamespace(vaults=lambda: [VaultInfo("mine", notes, "folder", 1, 1)])
    return SimpleNamespace(settings=Settings(), container=SimpleNamespace(catalog=catalog))


def test_file_that_can_be_written(session: Any, tmp_path: Path) -> None:
    check_target(session, None)
    check_target(session, tmp_path / "page.html")
    check_target(session, tmp_path / "notes" / "page.html")  # the owner's wish, and no note
    check_target(session, tmp_path / "elsewhere.md")
    assert not list(tmp_path.glob("page*"))  # looked at, not made


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("notes", "it is a folder"),
        ("none/page.html", "there is no folder"),
        ("notes/Home.md", "would be a note of the vault 'mine'"),
        ("none/../notes/new.MD", "would be a note of the vault 'mine'"),
    ],
)
def test_place_that_is_refused(session: Any, tmp_path: Path, place: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        check_target(session, tmp_path / place)
    assert caught.value.hint == "Name another file."


def test_link_to_a_note_is_that_note(session: Any, tmp_path: Path) -> None:
    note = tmp_path / "notes" / "Home.md"
    note.write_text("mine", encoding="utf-8")
    (tmp_path / "page.html").symlink_to(note)
    with pytest.raises(UsageError, match="would be a note"):
        check_target(session, tmp_path / "page.html")


def test_interrupted_evaluation_promises_no_resuming() -> None:
    """ "It goes on where it stopped" is true of ``index`` only: an hour would be waited for."""
    with pytest.raises(Interrupted) as caught, eval_session(None):
        raise KeyboardInterrupt
    assert caught.value.exit_code == 130
    assert "--limit" in caught.value.hint and "goes on" not in caught.value.hint
