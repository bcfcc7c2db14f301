"""The sample output in README.md: made by running the commands, and compared with them.

    python -m tests.support.readme_output --write    # put today's output into README.md

What differs from machine to machine is masked in the comparison (``masked``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
# The demo's own commands (.ci/demo.sh); a test holds the two together.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("index", "tests/sample-vault"),
    ("ask", "--no-llm", "What did I decide about the backend?"),
    ("ask", "--no-llm", "What is the capital of Mongolia?"),
)
DEBUG_COMMAND = ("ask", "--no-llm", "--debug", "Which buoys will send water temperature?")
DEBUG_ROWS = 3  # of the candidates; README shows that many


def as_typed(command: tuple[str, ...]) -> str:
    """The command line as a person types it."""
    return "$ ragvault " + " ".join(f'"{word}"' if " " in word else word for word in command)


def environment(index: Path) -> dict[str, str]:
    """A ragvault of its own: index and configuration in ``index``, no colour, 100 columns."""
    index.mkdir(parents=True, exist_ok=True)
    config = index / "config.yaml"
    config.write_text("index:\n  path: data\nembedding:\n  download: false\n", encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RAGVAULT_")}
    return {
        **kept,
        "RAGVAULT_CONFIG": str(config),
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "PYTHONIOENCODING": "utf-8",
    }


def transcripts() -> tuple[str, str]:
    """What the demo's commands print, and the debug part of DEBUG_COMMAND."""
    with tempfile.TemporaryDirectory(prefix="ragvault-readme-") as folder:
        variables = environment(Path(folder))
        demo = "\n\n".join(_folded(_printed(command, variables)) for command in COMMANDS)
        typed, _, debug = _printed(DEBUG_COMMAND, variables).partition("\n")
    lines = debug[debug.index("\nDebug\n") :].strip().splitlines()[1:]
    last = next(n for n, line in enumerate(lines) if "fate" in line) + DEBUG_ROWS
    return demo, "\n".join([typed, "", *lines[: last + 1], "  …"])


def _printed(command: tuple[str, ...], variables: dict[str, str]) -> str:
    """The command line and both its streams, as a terminal shows them."""
    done = subprocess.run(
        [sys.executable, "-m", "ragvault", *command],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{as_typed(command)} ended with {done.returncode}:\n{done.stdout}")
    return f"{as_typed(command)}\n{done.stdout.strip()}".replace(str(ROOT), "~/ragvault")


def _folded(text: str, width: int = 100) -> str:
    """Long lines broken as a terminal breaks them: where there is none, ragvault breaks none."""
    return "\n".join(
        line
        if len(line) <= width or line.startswith((" ", "$"))
        else "\n".join(textwrap.wrap(line, width, subsequent_indent="│ " * line.startswith("│ ")))
        for line in map(str.rstrip, text.splitlines())
    )


def masked(text: str) -> str:
    """``text`` without what may differ: times, dates, scores (another processor rounds
    differently), and where lines are broken."""
    text = re.sub(r"\d+(?:\.\d+)? ?(?:ms|s|min)\b", "T", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d\b", "D", text)
    text = re.sub(r"\b[01]\.\d+", "N", text)
    return " ".join(text.split())


def shown(readme: str, name: str = "output") -> str:
    """The block ``name`` as README.md has it. Raises ValueError when its marks are missing."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    body = readme[readme.index(begin) + len(begin) : readme.index(end)]
    return body.strip().removeprefix("```console").removesuffix("```").strip()


def written(readme: str, name: str, text: str) -> str:
    """``readme`` with ``text`` as its block ``name``."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    head, tail = readme[: readme.index(begin) + len(begin)], readme[readme.index(end) :]
    return f"{head}\n```console\n{text}\n```\n{tail}"


def main(argv: list[str]) -> int:
    demo, debug = transcripts()
    if "--write" in argv:
        text = README.read_text(encoding="utf-8")
        text = written(written(text, "output", demo), "debug", debug)
        README.write_text(text, encoding="utf-8")
    else:
        print(f"{demo}\n\n{debug}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
