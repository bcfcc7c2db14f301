"""Golden files: an input, a line of dashes, and what today's code makes of it, in one file.

    python -m tests.support.golden            show what differs; exit 1 if anything does
    python -m tests.support.golden --write    write today's output, after you have read that

A folder under tests/golden/ is a kind; its files' inputs are what ``KINDS`` says.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support import cited
from tests.support.chunking import chunked

FOLDER = Path(__file__).parents[1] / "golden"
RULE = "\n---------- expected ----------\n"


def chunks(note: str) -> str:
    """A note → its passages, at most 40 words and marks each: lines, heading path, text."""
    return "\n".join(
        f"## {chunk.start_line}–{chunk.end_line} {' > '.join(chunk.heading_path)}".rstrip()
        + f"\n{chunk.text}"
        for chunk in chunked(note)
    )


KINDS: dict[str, Callable[[str], str]] = {
    "chunks": chunks,
    "citations": cited.citations,
    "rendering": cited.rendering,
}


def cases() -> Iterator[tuple[str, Path]]:
    """(kind, file) of each."""
    for kind in sorted(KINDS):
        yield from ((kind, file) for file in sorted((FOLDER / kind).iterdir()))


def compared(kind: str, file: Path) -> tuple[str, str, str]:
    """Input, the expected output, and today's."""
    given, _, expected = file.read_text(encoding="utf-8").partition(RULE)
    return given, expected.rstrip("\n"), KINDS[kind](given).rstrip("\n")


def main(arguments: list[str]) -> int:
    differing = 0
    for kind, file in cases():
        given, expected, today = compared(kind, file)
        if expected == today:
            continue
        differing += 1
        name = str(file.relative_to(FOLDER))
        lines = difflib.unified_diff(
            expected.split("\n"), today.split("\n"), name, "today", lineterm="", n=2
        )
        print(*lines, sep="\n")
        if arguments == ["--write"]:
            file.write_text(f"{given}{RULE}{today}\n", encoding="utf-8")
    print(f"{differing} golden files differ" + (", written" if arguments and differing else ""))
    return int(bool(differing) and not arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
