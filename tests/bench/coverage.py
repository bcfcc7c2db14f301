"""Is every line of a vault in its index? And is every file that isn't in it named?

    python -m tests.bench.coverage INDEX_FOLDER VAULT_NAME [INDEX.json]

Reads the vault's files afresh, with nothing of ragvault's parser, and the catalog as plain SQLite.
A note's body is all after its frontmatter. A line counts as covered when it stands in the text of
a chunk of that note (one longer than a chunk: when each of its words does; a word longer than a
chunk: when each stretch of 16 characters does). With the JSON of the ``index`` run, files that are
neither notes of the index nor named there are reported too. Exit code 1 when anything is missing.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NOTE_ENDINGS = (".md", ".markdown")
SHOWN = 20
LONG_WORD = 200  # characters: a window holds a shorter one whole


@dataclass
class Coverage:
    """Counts over a vault, and what was missed."""

    notes: int = 0
    chunks: int = 0
    lines: int = 0
    covered: int = 0
    missing: list[str] = field(default_factory=list)  # "path:line: text"
    unnamed: list[str] = field(default_factory=list)  # files neither indexed nor named

    @property
    def is_whole(self) -> bool:
        return not (self.missing or self.unnamed) and self.lines > 0


def note_files(root: Path) -> Iterator[Path]:
    """Every file that could be a note; hidden files and folders are no part of a vault."""
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".")]
        for name in names:
            if name.lower().endswith(NOTE_ENDINGS) and not name.startswith("."):
                yield Path(folder) / name


def body_lines(text: str) -> list[tuple[int, str]]:
    """(number, line) of each non-blank line after the frontmatter, if there is any."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    start = 0
    if lines and lines[0].rstrip() == "---":
        ends = (n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "..."))
        start = next(ends, -1) + 1
    return [(n, line) for n, line in enumerate(lines, 1) if n > start and line.strip()]


def is_covered(line: str, texts: list[str], whole: set[str]) -> bool:
    """``whole`` are all lines of all chunks; only a line that was cut needs the longer look."""
    if line in whole:
        return True
    joined = "\n".join(texts)
    return all(piece in joined for word in line.split() for piece in _pieces(word))


def _pieces(word: str) -> list[str]:
    """The word itself; one that had to be cut (64 characters are the smallest cut), in stretches
    that fit between two cuts."""
    if len(word) <= LONG_WORD:
        return [word]
    return [word[at : at + 16] for at in range(0, len(word), 16)]


def chunk_texts(catalog: Path, vault: str) -> tuple[Path, dict[str, list[str]]]:
    """The vault's folder, and the texts of each note's chunks in order, by path."""
    connection = sqlite3.connect(f"file:{catalog}?mode=ro", uri=True)
    row = connection.execute("SELECT id, path FROM vault WHERE name = ?", (vault,)).fetchone()
    if row is None:
        raise SystemExit(f"{catalog} holds no vault '{vault}'.")
    texts: dict[str, list[str]] = {}
    rows = connection.execute(
        "SELECT n.rel_path, c.text FROM note n LEFT JOIN chunk c ON c.note_id = n.id"
        " WHERE n.vault_id = ? ORDER BY n.rel_path, c.chunk_index",
        (row[0],),
    )
    for path, text in rows:
        texts.setdefault(path, []).append(text or "")
    connection.close()
    return Path(row[1]), texts


def measure(catalog: Path, vault: str, named: set[str] | None = None) -> Coverage:
    """Linear in the vault's text. ``named``: paths that the run said it skipped."""
    root, texts = chunk_texts(catalog, vault)
    found = Coverage(chunks=sum(len(part) for part in texts.values()))
    for file in sorted(note_files(root)):
        path = unicodedata.normalize("NFC", file.relative_to(root).as_posix())
        if path not in texts:
            is_named = any(path == n or path.startswith(n.rstrip("/") + "/") for n in named or ())
            if not is_named:
                found.unnamed.append(path)
            continue
        found.notes += 1
        mine = texts[path]
        whole = {line for text in mine for line in text.split("\n")}
        for number, line in body_lines(file.read_bytes().decode("utf-8", "replace")):
            found.lines += 1
            if is_covered(line, mine, whole):
                found.covered += 1
            else:
                found.missing.append(f"{path}:{number}: {line[:100]}")
    return found


def main(argv: list[str]) -> int:
    if len(argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    named: set[str] = set()
    if len(argv) == 3:
        reports = json.loads(Path(argv[2]).read_text(encoding="utf-8"))["vaults"]
        named = {entry["path"] for report in reports for entry in report["skipped"]}
    result = measure(Path(argv[0]) / "catalog.sqlite3", argv[1], named)
    print(
        f"{argv[1]}: {result.notes:,} notes, {result.chunks:,} chunks; "
        f"{result.covered:,} of {result.lines:,} lines reachable; "
        f"{len(named)} files named as skipped, {len(result.unnamed)} neither indexed nor named"
    )
    for entry in [*result.missing[:SHOWN], *result.unnamed[:SHOWN]]:
        print(f"  {entry}")
    return 0 if result.is_whole else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
