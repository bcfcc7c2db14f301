"""The sample output in README.md: made by running the commands, and compared with them.

    python -m tests.support.readme_output --write    # put today's output into README.md

What differs from machine to machine is masked in the comparison: times, and scores beyond their
first digit (another processor adds in another order).
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
BEGIN, END = "<!-- output:begin -->", "<!-- output:end -->"
# The demo's own commands (.ci/demo.sh); a test holds the two together.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("index", "tests/sample-vault"),
    ("ask", "--no-llm", "What did I decide about the backend?"),
    ("ask", "--no-llm", "What is the capital of Mongolia?"),
)


def as_typed(command: tuple[str, ...]) -> str:
    """The command line as a person types it."""
    return "$ ragvault " + " ".join(f'"{word}"' if " " in word else word for word in command)


def environment(index: Path) -> dict[str, str]:
    """A ragvault of its own: index and configuration in ``index``, no colour, 96 columns."""
    index.mkdir(parents=True, exist_ok=True)
    config = index / "config.yaml"
    config.write_text("index:\n  path: data\nembedding:\n  download: false\n", encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RAGVAULT_")}
    return {
        **kept,
        "RAGVAULT_CONFIG": str(config),
        "NO_COLOR": "1",
        "COLUMNS": "96",
        "PYTHONIOENCODING": "utf-8",
    }


def transcript() -> str:
    """The commands and what they print (both streams, as a terminal shows them)."""
    parts = []
    with tempfile.TemporaryDirectory(prefix="ragvault-readme-") as folder:
        variables = environment(Path(folder))
        for command in COMMANDS:
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
                raise RuntimeError(
                    f"{as_typed(command)} ended with {done.returncode}:\n{done.stdout}"
                )
            printed = "\n".join(map(folded, done.stdout.strip().splitlines()))
            parts.append(f"{as_typed(command)}\n{printed}".replace(str(ROOT), "~/ragvault"))
    return "\n\n".join(parts)


def folded(line: str, width: int = 92) -> str:
    """A line as a terminal of that width shows it: where output is no terminal, none is cut."""
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(line.strip(), width, initial_indent=indent, subsequent_indent=indent)


def masked(text: str) -> str:
    """``text`` without what may differ: durations, rates, the tail of decimals, paddings."""
    text = re.sub(r"\d+(?:\.\d+)? ?(?:ms|s|min)\b", "T", text)
    text = re.sub(r"\b0\.(\d)\d+", r"0.\1", text)
    text = re.sub(r"\b\d+ ?%", "N %", text)
    return re.sub(r"[ ─━]+", " ", text)


def shown(readme: str) -> str:
    """The transcript as README.md has it. Raises ValueError when the marks are missing."""
    body = readme[readme.index(BEGIN) + len(BEGIN) : readme.index(END)]
    return body.strip().removeprefix("```console").removesuffix("```").strip()


def written(readme: str, text: str) -> str:
    """``readme`` with ``text`` between the marks."""
    head, tail = readme[: readme.index(BEGIN) + len(BEGIN)], readme[readme.index(END) :]
    return f"{head}\n```console\n{text}\n```\n{tail}"


def main(argv: list[str]) -> int:
    text = transcript()
    if "--write" in argv:
        README.write_text(written(README.read_text(encoding="utf-8"), text), encoding="utf-8")
        return 0
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
