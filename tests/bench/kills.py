"""`kill -9` at random moments of `index`, then `index` again: is anything lost, is all found?

    python -m tests.bench.kills [KILLS] [STARTS] [SEED]       (300, 20, 1)

A vault goes round between states (edits, renames, deletions, new notes); each run is killed after a
random time or at a random step. After the next run, `verify` (which reads every note, passage and
vector), and in each of STARTS processes every passage is looked for by its own vector in Chroma.
Vectors are those of ``growth``: what counts here is whether they are kept, not whose they are.
Exit code 1 when anything was found or missed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import chromadb  # noqa: F401 - imported once, for all forks

from ragvault.model import collection_of
from ragvault.service.index import IndexRequest, index
from ragvault.service.upkeep import verify
from ragvault.wiring import Container
from tests.bench.growth import tiny_model
from tests.support.cli import SAMPLE_VAULT
from tests.support.forks import Fuse, forked, small_batches
from tests.support.stack import stack


def next_state(vault: Path, chance: random.Random) -> None:
    """Some notes edited, some deleted, some renamed, some come back."""
    for note in sorted(SAMPLE_VAULT.rglob("*.md")):
        mine = vault / note.relative_to(SAMPLE_VAULT)
        way = chance.random()
        if way < 0.15:
            mine.unlink(missing_ok=True)
        elif way < 0.3 or not mine.exists():
            mine.parent.mkdir(parents=True, exist_ok=True)
            mine.write_text(f"{note.read_text()}\n## Later\n\nNumber {chance.random()}.\n")
        elif way < 0.35:
            (vault / "Moved").mkdir(exist_ok=True)
            mine.rename(vault / "Moved" / f"{chance.randrange(9)} {mine.name}")
    for moved in sorted((vault / "Moved").glob("*.md"))[6:]:
        moved.unlink()


def opened(folder: Path) -> AbstractContextManager[Container]:
    return stack(folder, embedding={"path": str(tiny_model(folder.parent))})


def refresh(folder: Path, vault: Path) -> None:
    small_batches()
    with opened(folder) as container:
        list(index(container, IndexRequest((vault,), "v")))


def killed(folder: Path, vault: Path, at: float, step: int) -> None:
    """After ``at`` seconds, or with ``step`` at that step."""

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if step:
        Fuse(die, step, after=bool(step % 2))
    else:
        threading.Thread(target=lambda: (time.sleep(at), die()), daemon=True).start()
    refresh(folder, vault)


def look(folder: Path) -> list[str]:
    with opened(folder) as container:
        return [f"{one.kind} {one.count} {one.what}" for one in verify(container)]


def missed(folder: Path) -> list[int]:
    """Of how many passages how many aren't among the five nearest to their own vector."""
    with opened(folder) as container:
        (vault,), store = container.catalog.vaults(), container.vectors
        model = vault.fingerprint or ""
        own = container.catalog.vectors(model, container.catalog.chunk_ids("v"))
        store.sync_to(container.catalog.generation)
        key, count = collection_of("v", model), 0
        for chunk_id, vector in own.items():
            hits = store.query(key, vector, 5)
            is_found = any(hit.chunk_id == chunk_id for hit in hits)
            count += not is_found and not (len(hits) == 5 and hits[-1].score > 1 - 1e-4)
        return [len(own), count]


def main(kills: int, starts: int, seed: int) -> int:
    chance = random.Random(seed)
    total: dict[str, Any] = dict.fromkeys(("runs", "killed", "findings", "looked", "missed"), 0)
    with tempfile.TemporaryDirectory(prefix="ragvault-kills-") as place:
        vault, folder = Path(place) / "vault", Path(place) / "index"
        shutil.copytree(SAMPLE_VAULT, vault)
        began = time.monotonic()
        assert forked(lambda: refresh(folder, vault)) == (None, 0)
        seconds = 0.5 * (time.monotonic() - began)
        while total["killed"] < kills:
            next_state(vault, chance)
            at = chance.uniform(0.05, 1.0) * seconds
            step = chance.randint(1, 30) if chance.random() < 0.5 else 0
            _, died = forked(lambda at=at, step=step: killed(folder, vault, at, step))
            total["runs"] += 1
            total["killed"] += died == signal.SIGKILL
            began = time.monotonic()
            assert forked(lambda: refresh(folder, vault)) == (None, 0)
            seconds = 0.9 * seconds + 0.1 * (time.monotonic() - began)
            found, _ = forked(lambda: look(folder))
            total["findings"] += len(found)
            for _ in range(starts):
                (passages, lost), _ = forked(lambda: missed(folder))
                total["looked"] += passages
                total["missed"] += lost
            print(total, *found, flush=True)
    return 1 if total["findings"] or total["missed"] else 0


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(given + [300, 20, 1][len(given) :])))
