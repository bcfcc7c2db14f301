"""Eight processes that ask while one indexes and one watches.

    python -m tests.bench.readers [MINUTES] [READERS]         (10, 8)

Every note says which edition it is in, twice, in two sections. BAD is an answer that isn't there,
an exception, a note of which two editions are shown at once, or a passage twice. Exit code 1 then.
"""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

import chromadb  # noqa: F401 - imported once, for all forks

from ragvault.errors import IndexBusyError
from ragvault.model import Request, VaultInfo
from ragvault.service.index import IndexRequest, index, watch
from ragvault.service.search import search
from tests.support.stack import stack

NOTES = 60
EDITION = re.compile(r"note (\d+), edition (\d+)")


def write(vault: Path, number: int, edition: int) -> None:
    says = f"This is note {number}, edition {edition}."
    text = f"# Winch {number}\n\n{says}\n\n## Repairs\n\nThe quay winch was oiled. {says}\n"
    part = vault / f".{number}.part"
    part.write_text(text)
    part.replace(vault / f"{number}.md")


def reader(folder: Path, until: float, seed: int) -> Counter[str]:
    chance, seen = random.Random(seed), Counter[str]()
    while time.time() < until:
        mode = chance.choice(["auto", "chroma"])
        with stack(folder, store={"search": mode}) as container:
            for _ in range(chance.randint(1, 20)):
                number = chance.randrange(NOTES)
                try:
                    question = Request(f"which edition is winch note {number}?")
                    hits = search(container, question, 10, now=datetime(2026, 1, 1)).hits
                except Exception as error:
                    seen[f"BAD {type(error).__name__}: {str(error)[:120]}"] += 1
                    continue
                editions: dict[str, set[str]] = {}
                for hit in hits:
                    for note, edition in EDITION.findall(hit.chunk.text):
                        editions.setdefault(note, set()).add(edition)
                ids = [hit.chunk.id for hit in hits]
                seen["asked"] += 1
                seen["BAD empty"] += not hits
                seen["BAD twice"] += len(ids) != len(set(ids))
                seen["BAD mixed"] += any(len(of) > 1 for of in editions.values())
    return seen


def indexer(folder: Path, vault: Path, until: float) -> Counter[str]:
    """Edits some notes and indexes, now and then all of it."""
    chance, seen, edition = random.Random(0), Counter[str](), 1
    while time.time() < until:
        edition += 1
        for number in chance.sample(range(NOTES), 6):
            write(vault, number, edition)
        time.sleep(chance.uniform(0, 8))  # sometimes the watcher is the first to see it
        with stack(folder, index={"lock_timeout_s": 60}) as container:
            try:
                list(index(container, IndexRequest(full=edition % 10 == 0)))
                seen["indexed"] += 1
            except IndexBusyError:
                seen["busy"] += 1
            except Exception as error:
                seen[f"BAD {type(error).__name__}: {str(error)[:120]}"] += 1
    return seen


def watcher(folder: Path, vault: Path, until: float) -> Counter[str]:
    seen = Counter[str]()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, max(1.0, until - time.time()))

    def told(line: str) -> None:
        fine = ("still being written", "is followed again", "Stopped; all notes")
        if not any(words in line for words in fine):
            seen[f"BAD watcher: {line[:120]}"] += 1

    with stack(folder) as container:
        info = VaultInfo("notes", vault, "folder")
        watch(container, [info], lambda _: seen.update(["watched"]), told)
    return seen


def main(minutes: float, readers: int) -> int:
    with tempfile.TemporaryDirectory(prefix="ragvault-readers-") as place:
        vault, folder = Path(place) / "notes", Path(place) / "index"
        vault.mkdir()
        for number in range(NOTES):
            write(vault, number, 1)
        until = [0.0]

        def first() -> Counter[str]:
            with stack(folder, vault):
                return Counter()

        def all_of() -> list[tuple[str, int]]:
            until[0] = time.time() + 60 * minutes
            roles = [lambda n=n: reader(folder, until[0], n) for n in range(readers)]
            roles += [lambda: indexer(folder, vault, until[0])]
            roles += [lambda: watcher(folder, vault, until[0])]
            pids = []
            for number, role in enumerate(roles):
                if not (pid := os.fork()):
                    try:
                        lines = [f"{count} {what}" for what, count in role().items() if count]
                    except BaseException as error:
                        lines = [f"1 BAD {type(error).__name__}: {error}"]
                    (Path(place) / f"seen-{number}").write_text("\n".join(lines))
                    os._exit(0)
                pids.append(pid)
            ended = [os.waitpid(pid, 0)[1] for pid in pids]
            total = Counter[str]({"BAD signal": sum(os.WIFSIGNALED(status) for status in ended)})
            for number in range(len(roles)):
                for line in (Path(place) / f"seen-{number}").read_text().splitlines():
                    count, _, what = line.partition(" ")
                    total[what] += int(count)
            return [(what, count) for what, count in total.items() if count]

        from tests.support.forks import forked

        assert forked(lambda: list(first())) == ([], 0)
        told, _ = forked(all_of)
    print(dict(told))
    return int(any(what.startswith("BAD") for what, _ in told))


if __name__ == "__main__":
    words = [float(word) for word in sys.argv[1:]]
    sys.exit(main(words[0] if words else 10, int(words[1]) if len(words) > 1 else 8))
