"""The picture of a session in the README: python -m tests.support.recording

Runs the program on the sample vault, at a terminal, with the tests' scripted model, and draws what
it printed. Nothing is made up but what the model says.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.support.cli import ROOT, SAMPLE_VAULT, Cli, indexed
from tests.support.ollama_fixtures import CHAT_MODEL, scripted_ollama

PICTURE = ROOT / "docs" / "recording.svg"
WIDTH = 100
_WHY = "Why did we move the Tidepool backend from Postgres to SQLite?"
_DEBUG_LINES = 22
# What isn't settled is drawn and taken away again.
_DRAFT = re.compile(r"(?:\r?\n)?\x1b\[2m[^\x1b]*\x1b\[0m\r\x1b\[2K(?:\x1b\[1A\x1b\[\d+G)?")
_LINK = re.compile(r"\x1b\]8;[^\x1b]*\x1b\\")
SESSIONS: tuple[tuple[tuple[str, ...], str, int | None], ...] = (
    (("ask", _WHY), "", None),
    (("ask", "--no-llm", "What is the capital of Mongolia?"), "", None),
    (("ask", "--no-llm", "--debug", "Which buoys will send water temperature?"), "", _DEBUG_LINES),
    (("chat", "--no-llm"), "Who is Priya Raman?\nand what share does she get?\n/sources\n", None),
)


def printed(cli: Cli, arguments: tuple[str, ...], typed: str, host: str) -> str:
    """What a run shows at a terminal of 100 columns, notices aside."""
    end, other = pty.openpty()
    env = cli.environment(
        TERM="xterm-256color", COLUMNS=str(WIDTH), LINES="60", RAGVAULT_OLLAMA_HOST=host
    )
    with subprocess.Popen(
        cli.command(*arguments),
        env=env,
        cwd=cli.folder,
        stdin=subprocess.PIPE,
        stdout=other,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(other)
        assert process.stdin is not None
        process.stdin.write(typed.encode())
        process.stdin.close()
        shown = b""
        while True:
            try:
                read = os.read(end, 65536)
            except OSError:  # how a terminal ends on Linux
                break
            if not read:
                break
            shown += read
    os.close(end)
    text = shown.decode().replace("\r\n", "\n")
    return _LINK.sub("", _DRAFT.sub("", text)).rstrip()


def main() -> None:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder, scripted_ollama() as server:
        cli = indexed(Path(folder), SAMPLE_VAULT)
        said = "{sentence:1} {citation:1} The move was paid for by a grant of 9,000 euros."
        server.play({"models": [CHAT_MODEL], "replies": [said]})
        for arguments, typed, most in SESSIONS:
            shown = printed(cli, arguments, typed, server.url).split("\n")
            words = " ".join(f'"{word}"' if " " in word else word for word in arguments)
            console.print(Text(f"$ ragvault {words}", "bold green"))
            cut = shown[:most] + (["…"] if most and len(shown) > most else [])
            console.print(Text.from_ansi("\n".join(cut)), end="\n\n", soft_wrap=True)
    picture = console.export_svg(title="ragvault")
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # none is fetched
    PICTURE.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n", "utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1000} KB", file=sys.stderr)


if __name__ == "__main__":
    main()
