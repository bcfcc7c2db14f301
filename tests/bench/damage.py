"""Damage to each file of the index: what is said, and whether the command that it names mends it.

    python -m tests.bench.damage [KIND…]

Each kind in a process of its own (a fork: this one imports everything first): questions,
``doctor``, the first command that any of them named, then questions and ``verify``. BAD is a
signal, an exception that isn't ragvault's, "a bug", another ranking than that of the sound index
without a word, or anything found after the command. Exit code 1 when there is one.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import chromadb  # noqa: F401 - imported once, for all forks

from ragvault.errors import RagvaultError
from ragvault.model import Request
from ragvault.service.doctor import State, examine
from ragvault.service.index import IndexRequest, index
from ragvault.service.search import search
from ragvault.service.upkeep import repair, verify
from ragvault.wiring import Container
from tests.support.cli import make_vault
from tests.support.forks import forked
from tests.support.stack import stack

PAGE = 4096
FEW, MANY = 24, 1100  # the latter above Chroma's 1,000, so that a segment is saved
THINGS = "winch ferry lantern anchor buoy crane harbour ladder mooring net pilot quay".split()
Damage = Callable[[Path], Any]


QUESTIONS = [f"what was done to the {THINGS[i * 7 % 12]} of day {i}?" for i in (3, 11, 22)]


def notes(count: int) -> dict[str, str]:
    return {
        f"{THINGS[i % 12]}/{i}.md": f"# Day {i}\n\nThe {THINGS[i * 7 % 12]} of day {i} was oiled.\n"
        for i in range(count)
    }


def flip(share: float) -> Damage:
    def do(file: Path) -> None:
        content = bytearray(file.read_bytes())
        start = int(share * max(0, len(content) - 512))
        content[start : start + 512] = bytes(255 - byte for byte in content[start : start + 512])
        file.write_bytes(content)

    return do


def random_page(share: float) -> Damage:
    def do(file: Path) -> None:
        content = bytearray(file.read_bytes())
        start = int(share * (len(content) // PAGE)) * PAGE
        content[start : start + PAGE] = random.Random(share).randbytes(PAGE)
        file.write_bytes(content)

    return do


def swapped_pages(one: float, other: float) -> Damage:
    def do(file: Path) -> None:
        content = bytearray(file.read_bytes())
        a, b = (int(share * (len(content) // PAGE)) * PAGE for share in (one, other))
        content[a : a + PAGE], content[b : b + PAGE] = content[b : b + PAGE], content[a : a + PAGE]
        file.write_bytes(content)

    return do


def replaced(make: Callable[[Path], object]) -> Damage:
    def do(file: Path) -> None:
        file.unlink()
        make(file)

    return do


def altered(statement: str) -> Damage:
    def do(file: Path) -> None:
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute(statement).rowcount
            connection.commit()

    return do


def kinds(index_folder: Path) -> Iterator[tuple[str, str, Damage]]:
    """(path below the index, what, how)."""
    files = sorted(p for p in index_folder.rglob("*") if p.is_file() and "lock" not in p.name)
    for at, file in enumerate(files):
        rel, other = file.relative_to(index_folder).as_posix(), files[at - 1]
        yield rel, "removed", Path.unlink
        yield rel, "emptied", lambda p: p.write_bytes(b"")
        yield (
            rel,
            "cut to .6",
            lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size * 6 // 10]),
        )
        yield rel, "512 bytes flipped at .5", flip(0.5)
        yield rel, f"swapped with {other.name}", lambda p, other=other: shutil.copy(other, p)
        yield rel, "a folder in its place", replaced(Path.mkdir)
        yield rel, "a pipe in its place", replaced(os.mkfifo)
    for share in (0.0, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 0.999):
        yield "catalog.sqlite3", f"512 bytes flipped at {share}", flip(share)
        yield "catalog.sqlite3", f"random page at {share}", random_page(share)
    for one, two in ((0.1, 0.2), (0.3, 0.31), (0.5, 0.9), (0.6, 0.61)):
        yield "catalog.sqlite3", f"pages at {one} and {two} swapped", swapped_pages(one, two)
    for what in (
        "UPDATE chunk SET text = replace(text, 'oiled', 'sold')",
        "UPDATE chunk SET heading_path = '[\"Night\"]' WHERE rowid = 12",
        "UPDATE chunk SET start_line = 77",
        "UPDATE embedding SET vector = zeroblob(768)",
        "DELETE FROM chunk WHERE rowid = 12",
        "UPDATE fts_1_content SET c2 = 'x' WHERE id = 12",
    ):
        yield "catalog.sqlite3", what, altered(what)
    for what in (  # as another version of Chroma leaves it, or as nobody does
        "INSERT INTO migrations SELECT dir, 99, '00099-later.sqlite.sql', sql, hash FROM migrations"
        " WHERE dir = 'sysdb' AND version = 1",
        "UPDATE migrations SET hash = 'x'",
        "DELETE FROM collections",
        "UPDATE embeddings SET embedding_id = 'x' || embedding_id",
    ):
        yield "chroma/chroma.sqlite3", what, altered(what)
    yield "chroma", "removed", shutil.rmtree
    yield "chroma", "a file in its place", lambda p: (shutil.rmtree(p), p.write_text("no folder"))


def ranking(container: Container, said: list[str]) -> list[list[str]] | None:
    """The three best notes of each question; None when an error is said instead."""
    found = []
    for question in QUESTIONS:
        try:
            result = search(container, Request(question), 3, now=datetime(2026, 1, 1))
        except RagvaultError as error:
            said.append(f"{error.message} {error.hint}")
            return None
        found.append([hit.note.rel_path for hit in result.hits])
        said.extend(result.retrieval.notices)
    return found


def one(folder: Path, mode: str, right: list[list[str]]) -> list[str]:
    """What is bad about this kind; what was said and done is printed."""
    signal.alarm(600)  # what hangs is bad too
    bad: list[str] = []
    said: list[str] = []
    options = {"store": {"search": mode}}
    with stack(folder, **options) as container:
        before = ranking(container, said)
    if before not in (None, right) and not said:
        bad.append(f"another ranking in silence: {before}")
    with stack(folder, **options) as container:
        said += [
            f"{check.name}: {check.detail} {check.remedy}"
            for check in examine(container, None)
            if check.state is not State.OK and check.name not in ("Ollama", "Privacy")
        ]
    command = next(iter(re.findall(r"`ragvault ([^`]+)`", " ".join(said))), None)
    print("   said:", said[0][:180] if said else "nothing", "| command:", command)
    if any("a bug in ragvault" in sentence for sentence in said):
        bad.append("called a bug")
    with stack(folder, **options) as container:
        if command == "repair":
            list(repair(container))
        elif command is not None:
            list(index(container, IndexRequest(full="--full" in command)))
    with stack(folder, **options) as container:
        if (after := ranking(container, said)) != right:
            bad.append(f"not mended: {after}")
        bad += [f"still {found.kind} {found.what}" for found in verify(container)]
    return bad


def main(only: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="ragvault-damage-") as place:
        work = Path(place) / "work"
        bases = {}
        for count in (FEW, MANY):
            base = bases[count] = Path(place) / str(count)

            def build(base: Path = base, count: int = count) -> list[list[str]] | None:
                vault = make_vault(base.with_name(f"notes-{count}"), notes(count))
                with stack(base, vault) as container:
                    return ranking(container, [])

            right, died = forked(build)
            assert right and not died, right
            base.with_name(f"right-{count}").write_text(json.dumps(right))
        run = worse = 0
        for file, what, do in kinds(bases[MANY]):
            if only and not any(word in f"{file} {what}" for word in only):
                continue
            base = bases[FEW if "catalog" in file else MANY]  # whose files have these names
            right = json.loads(base.with_name(f"right-{base.name}").read_text())
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(base, work)
            do(work / file)
            mode = "chroma" if "chroma" in file else "auto"
            bad, died = forked(lambda mode=mode, right=right: one(work, mode, right))
            bad = [f"signal {died}"] if died else [bad] if isinstance(bad, str) else bad
            run, worse = run + 1, worse + bool(bad)
            print("BAD" if bad else "ok ", file, what, *bad, flush=True)
    print(f"{run} kinds of damage, {worse} bad")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
