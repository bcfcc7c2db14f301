"""The same 60 commands with two versions of ragvault: what differs in what they print.

    python -m tests.bench.same_output OLD NEW [VAULT ...]

``OLD`` and ``NEW`` are ``ragvault`` executables. Each runs every command on its own copy of each
vault (default: the sample vault), with an index of its own, no model server, and 80 columns; the
second half of the run uses the index that OLD made, so an index of the older version is read by
the newer one. Times, ids, sizes and versions are blotted out. Prints a diff for each command that
differs and ends with 1 if any does: for checking that a change of structure changes nothing that
a person or a script sees.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "sample-vault"
QUESTIONS = (
    "What did I decide about the backend?",
    "router password",
    "how do I restore a backup",
    "What did I write last week?",
    "Who joined in 2023?",
    "wikilinks and backlinks",
    "What is the capital of Mongolia?",
    "hello",
    "thanks",
    "the",
    "recipe for bread",
    "Wie lange dauert das?",
)
BLOTS = (
    (re.compile(r'"(id|asked_at)": "[^"]*"'), r'"\1": "…"'),
    (re.compile(r'"([a-z_]*(?:_ms|seconds|indexed_at|bytes|size))": [\d.e+-]+'), r'"\1": 0'),
    (re.compile(r'("timings_ms": )\{[^}]*\}'), r"\1{}"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|min|KB|MB|kB|B)\b"), "<n>"),
    (re.compile(r"\b(?:just now|\d+ (?:seconds?|minutes?) ago)\b"), "<ago>"),
    (
        re.compile(r"(?m)^((?:embed|vector|lexical|blend|total|recent)\b.*?)[\d.]+"),
        r"\1<n>",
    ),
    (re.compile(r"\b0\.\d+\.\d+\S*"), "<version>"),
)


def commands(vault: Path) -> Iterator[tuple[str, ...]]:
    """All that is run, in order; the first makes the index."""
    yield ("ask", "anything")  # no index yet
    yield ("index", str(vault), "--dry-run")
    yield ("index", str(vault))
    yield ("index", str(vault))
    yield ("index", "--json")
    yield ("--help",)
    for name in ("index", "ask", "search", "status", "doctor", "vault", "config"):
        yield (name, "--help")
    for question in QUESTIONS:
        yield ("ask", "--no-llm", question)
        yield ("search", "--json", question)
    for question in QUESTIONS[:5]:
        yield ("ask", "--no-llm", "--json", "--debug", question)
        yield ("ask", "--no-llm", "--debug", question)
    yield ("search", "--debug", "backup")
    yield ("search", "--files", "-n", "5", "password")
    yield ("search", "--json", "--since", "2024-01-01", "plan")
    yield ("ask", "--no-llm", "--detail", "brief", "-k", "3", QUESTIONS[0])
    yield ("ask", "--no-llm", "--folder", "nowhere", QUESTIONS[0])
    yield ("ask", "--no-llm", "--tag", "nosuchtag", QUESTIONS[0])
    yield ("ask", "--no-llm", "--vault", "nosuch", QUESTIONS[0])
    yield ("ask", "--no-llm", "--since", "someday", QUESTIONS[0])
    yield ("ask", "--json", "")
    yield ("ask", "--jsn", "x")
    yield ("serach", "x")
    yield ("search", "--json", "zzzzqqq")
    yield ("status",)
    yield ("vault", "list")

    yield ("vault", "remove", "nosuch")
    yield ("index", str(vault / "nosuch"))
    yield ("config", "path")
    yield ("config", "check")


def run(program: str, args: tuple[str, ...], folder: Path) -> str:
    """stdout, stderr and exit code of one command, blotted."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("RAGVAULT_")},
        "HOME": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder / "home/.config"),
        "XDG_DATA_HOME": str(folder / "home/.local"),
        "RAGVAULT_INDEX_PATH": str(folder / "index"),
        "RAGVAULT_OLLAMA_HOST": "http://127.0.0.1:9",
        "COLUMNS": "80",
        "PYTHONPATH": "",
    }
    done = subprocess.run(
        [program, *args],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    text = f"exit {done.returncode}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}"
    text = text.replace(str(folder), "<folder>")
    for pattern, replacement in BLOTS:
        text = pattern.sub(replacement, text)
    return text


def compare(old: str, new: str, vault: Path) -> tuple[int, int]:
    """Commands that were run, and those that differ; prints the differences."""
    count = differing = 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch) / name / "same" for name in ("old", "new")]
        for folder in folders:
            shutil.copytree(vault, folder / "notes", symlinks=True)
        for args in commands(Path("notes")):
            before, after = (
                run(program, args, folder)
                for program, folder in zip((old, new), folders, strict=True)
            )
            count += 1
            if before != after:
                differing += 1
                print(f"\n=== {vault.name}: ragvault {' '.join(args)}")
                print(
                    *difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=1),
                    sep="\n",
                )
        for question in QUESTIONS:
            args = ("search", "--json", question)
            # In OLD's folder: from here on NEW reads what OLD made.
            before, after = (run(program, args, folders[0]) for program in (old, new))
            count += 1
            if before != after:
                differing += 1
                print(f"\n=== {vault.name}, index of the older version: {question}")
        kept = run(new, ("index", "--json"), folders[0])
        if '"embedded": 0' not in kept:
            differing += 1
            print(f"\n=== {vault.name}: the newer version embeds again\n{kept}")
    return count, differing


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    totals = [
        compare(sys.argv[1], sys.argv[2], Path(vault).resolve())
        for vault in sys.argv[3:] or [str(SAMPLE)]
    ]
    ran, differing = (sum(column) for column in zip(*totals, strict=True))
    print(f"{ran} commands, {differing} differ")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
