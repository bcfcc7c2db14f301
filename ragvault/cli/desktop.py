"""What the person's desktop does with a note (the editor at its line, Obsidian, or whatever opens
such a file), and its clipboard."""

from __future__ import annotations

import base64
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from ragvault.cli.session import Session
from ragvault.errors import RagvaultError, UsageError
from ragvault.model import Hit
from ragvault.service.originals import Links

# How editors are told the line, and the names of their programs.
_AT_LINE = {
    "+{line} {path}": "vi vim nvim view gvim mvim nvim-qt nano emacs emacsclient micro joe jed mg"
    " ne kak mcedit gedit gnome-text-editor",
    "{path}:{line}": "subl sublime_text hx helix zed",
    "--goto {path}:{line}": "code code-insiders codium vscodium cursor windsurf",
    "--line {line} {path}": "kate kwrite idea pycharm mate",
    "-n{line} {path}": "notepad++",
}

# What takes a text from its standard input, where its variable is set ("": on any machine).
_CLIPBOARDS = (
    ("", ("pbcopy",)),
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("clip.exe",)),
)


class OpenError(RagvaultError):
    """The program that should open a note couldn't."""

    type = "open"


def open_hit(session: Session, hit: Hit) -> None:
    """Open a passage that was just found. Raises as ``open_note``."""
    chunk, links = hit.chunk, Links.of(session.container)
    path = links.path(chunk.vault, chunk.rel_path)
    assert path is not None, "its vault was searched"
    session.out.flush()
    open_note(path, chunk.start_line, links.uri(*chunk.place))


def copy(session: Session, text: str) -> None:
    """Put a text into the clipboard, by a program of the desktop's, else by the terminal (OSC 52,
    which goes through ssh too); a notice where there is neither."""
    if "SSH_CONNECTION" not in os.environ:
        for variable, words in _CLIPBOARDS:
            program = shutil.which(words[0])
            if program is not None and (not variable or os.environ.get(variable)):
                encoding = "utf-16-le" if words[0] == "clip.exe" else "utf-8"
                data = text.encode(encoding, "replace")
                nowhere = subprocess.DEVNULL  # xclip stays, and would hold a pipe open
                done = subprocess.run(
                    [program, *words[1:]], input=data, stdout=nowhere, stderr=nowhere, check=False
                )
                if not done.returncode:
                    return
    terminal = next((one for one in (session.out, session.err) if one.is_tty), None)
    if terminal is None:
        session.notices(["There is no clipboard here: install wl-clipboard or xclip."])
        return
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode()
    terminal.print(f"\x1b]52;c;{encoded}\x07", end="")
    terminal.flush()


def open_note(path: Path, line: int, uri: str | None) -> None:
    """Open a note in ``$VISUAL`` or ``$EDITOR``, at a line where it is known how to say it; else
    by its link where that is Obsidian's; else with what the system opens such files with. Waits
    for an editor to end. Raises UsageError, OpenError."""
    editor = (os.environ.get("VISUAL") or os.environ.get("EDITOR") or "").strip()
    if not path.exists():
        raise UsageError(f"{path} isn't there any more.", "`ragvault index` follows what moved.")
    if editor:
        _run(_editor(editor, path, line), "Set $EDITOR to an editor that is installed.")
    else:
        target = uri if uri is not None and uri.startswith("obsidian:") else str(path)
        if os.name == "nt":
            os.startfile(target)  # type: ignore[attr-defined,unused-ignore]
        else:
            opener = "open" if sys.platform == "darwin" else "xdg-open"
            _run([opener, target], "Set $EDITOR to your editor: `export EDITOR=nano`.")


def _editor(command: str, path: Path, line: int) -> list[str]:
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError:  # a quote that isn't closed
        words = [command]
    name = Path(words[0].strip('"')).name.lower().removesuffix(".exe").removesuffix(".cmd")
    rest = next((told for told, names in _AT_LINE.items() if name in names.split()), "{path}")
    return [*words, *(word.format(path=path, line=line) for word in rest.split())]


def _run(words: list[str], hint: str) -> None:
    program = shutil.which(words[0])
    if program is None:
        raise UsageError(f"There is no program {words[0]!r}.", hint)
    sys.stdout.flush()
    code = subprocess.run([program, *words[1:]], check=False).returncode
    if code:
        raise OpenError(f"{words[0]} ended with {code}.", hint)
