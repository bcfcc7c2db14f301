"""A note opens at its line in whatever editor its owner uses."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
from pathlib import Path
from typing import cast

import pytest

from ragvault.cli.desktop import OpenError, copy, open_note
from ragvault.cli.render.terminal import Terminal
from ragvault.cli.session import Session
from ragvault.errors import UsageError

SCRIPT = f"""#!{sys.executable}
import json, os, sys
with open(os.environ["CALLED"], "w") as file:
    json.dump([os.path.basename(sys.argv[0]), *sys.argv[1:], sys.stdin.read()], file)
sys.exit(int(os.environ.get("ENDS", 0)))
"""


class Desk:
    """A desktop whose programs write down how they were called."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, patch
        (folder / "bin").mkdir()
        patch.setenv("PATH", str(folder / "bin"))
        patch.setenv("CALLED", str(folder / "called"))
        for name in ("VISUAL", "EDITOR", "SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY"):
            patch.delenv(name, raising=False)
        patch.setattr("sys.stdin", io.StringIO())

    def has(self, *programs: str) -> None:
        for name in programs:
            file = self.folder / "bin" / name
            file.write_text(SCRIPT)
            file.chmod(0o755)

    @property
    def called(self) -> list[str]:
        return cast(list[str], json.loads((self.folder / "called").read_text()))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    if os.name != "posix":
        pytest.skip("the programs are scripts")
    return Desk(tmp_path, monkeypatch)


@pytest.fixture
def note(tmp_path: Path) -> Path:
    file = tmp_path / "My note.md"
    file.write_text("one\ntwo\n")
    return file


@pytest.mark.parametrize(
    ("editor", "expected"),
    [
        ("vim", ["vim", "+7", "NOTE"]),
        ("nano -w", ["nano", "-w", "+7", "NOTE"]),
        ("emacsclient -c", ["emacsclient", "-c", "+7", "NOTE"]),
        ("code --wait", ["code", "--wait", "--goto", "NOTE:7"]),
        ("hx", ["hx", "NOTE:7"]),
        ("subl", ["subl", "NOTE:7"]),
        ("micro", ["micro", "+7", "NOTE"]),
        ("kate", ["kate", "--line", "7", "NOTE"]),
        ("typora", ["typora", "NOTE"]),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_words(
    desk: Desk, note: Path, editor: str, expected: list[str]
) -> None:
    desk.has(expected[0])
    desk.patch.setenv("EDITOR", editor)
    open_note(note, 7, "obsidian://open?vault=v")
    assert desk.called[:-1] == [word.replace("NOTE", str(note)) for word in expected]


def test_visual_goes_before_editor(desk: Desk, note: Path) -> None:
    desk.has("vi", "nano")
    desk.patch.setenv("EDITOR", "vi")
    desk.patch.setenv("VISUAL", "nano")
    open_note(note, 1, None)
    assert desk.called[0] == "nano"


@pytest.mark.parametrize("uri", ["obsidian://open?vault=v&file=My%20note", "file:///x", None])
def test_without_an_editor_obsidian_or_the_system_opens_it(
    desk: Desk, note: Path, uri: str | None
) -> None:
    desk.has("xdg-open")
    desk.patch.setenv("EDITOR", " ")
    desk.patch.setattr("sys.platform", "linux")
    open_note(note, 1, uri)
    target = uri if uri is not None and uri.startswith("obsidian") else str(note)
    assert desk.called[:2] == ["xdg-open", target]


def test_what_can_not_be_opened_is_said_in_a_sentence(desk: Desk, note: Path) -> None:
    desk.patch.setenv("EDITOR", 'ed "unclosed')
    with pytest.raises(UsageError, match="no program"):
        open_note(note, 1, None)
    with pytest.raises(UsageError, match="isn't there any more"):
        open_note(note.with_name("gone.md"), 1, None)
    desk.has("vi")
    desk.patch.setenv("EDITOR", "vi")
    desk.patch.setenv("ENDS", "3")
    with pytest.raises(OpenError, match="vi ended with 3"):
        open_note(note, 1, None)


class Screen:
    def __init__(self, *, is_tty: bool) -> None:
        self.out = self.err = Terminal(io.StringIO(), is_tty, False, True, 80)
        self.said: list[str] = []

    def notices(self, lines: list[str]) -> None:
        self.said += lines


def copied(screen: Screen, text: str) -> str:
    copy(cast(Session, screen), text)
    return cast(io.StringIO, screen.out.stream).getvalue()


def test_the_desktops_clipboard_takes_the_text(desk: Desk) -> None:
    desk.has("xclip")
    desk.patch.setenv("DISPLAY", ":0")
    assert copied(Screen(is_tty=True), "straße") == ""
    assert desk.called == ["xclip", "-selection", "clipboard", "straße"]


def test_else_the_terminal_takes_it_also_through_ssh(desk: Desk) -> None:
    expected = f"\x1b]52;c;{base64.b64encode('straße'.encode()).decode()}\x07"
    assert copied(Screen(is_tty=True), "straße") == expected
    desk.has("pbcopy")
    desk.patch.setenv("SSH_CONNECTION", "1")
    assert copied(Screen(is_tty=True), "straße") == expected


def test_no_clipboard_is_said_and_costs_nothing(desk: Desk) -> None:
    screen = Screen(is_tty=False)
    assert copied(screen, "x") == ""
    assert "no clipboard" in screen.said[0]
