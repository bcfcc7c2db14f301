"""kill -9 at a random moment of `index`; the next `index` must end as a clean run does.

    RAGVAULT_KILLS=50 pytest tests/e2e/test_kill.py -s

More kills, the same test. The vault goes round between states (edits, renames, deletions, new
notes, another chunk size), so that each killed run has a bit of everything to do. Every other kill
comes after a random time; the rest are aimed: at a random call of one of the steps that write, a
few milliseconds into it, where a random time would rarely hit.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

KILLS = int(os.environ.get("RAGVAULT_KILLS", "3"))
SEED = int(os.environ.get("RAGVAULT_KILL_SEED", "20240229"))
SAMPLE = Path(__file__).parents[1] / "sample-vault"
DUMP = Path(__file__).parents[1] / "support" / "dump_index.py"
LONG_AGO = 1_600_000_000

# Small batches: as many moments between two transactions as a large vault has. And a run can be
# told to kill itself so many seconds after the n-th call of a step begins.
INDEX = """
import functools, os, signal, sys, threading, time
import ragvault.ingest.sync as sync, ragvault.ingest.write as write
sync.Sync = functools.partial(sync.Sync, batch_chunks=8)
write.EMBED_SLICE, write.STORE_SLICE = 6, 8
from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.adapters.chroma.index import ChromaIndex

def aim(owner, name, left, delay):
    step = getattr(owner, name)
    def die():
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGKILL)
    def aimed(*arguments, **options):
        nonlocal left
        left -= 1
        if left == 0:
            threading.Thread(target=die, daemon=True).start()
        return step(*arguments, **options)
    setattr(owner, name, aimed)

target = os.environ.get("RAGVAULT_TEST_KILL")
if target:
    name, call, delay = target.split(":")
    owner = ChromaIndex if hasattr(ChromaIndex, name) else SqliteCatalog
    aim(owner, name, int(call), float(delay))
from ragvault.cli.main import run
run()
"""
# Steps that write, with the longest wait into them in seconds (what one takes on a slow disk).
STEPS = {
    "upsert": 0.03,
    "delete": 0.02,
    "commit": 0.02,
    "store_vectors": 0.01,
    "set_vector_watermark": 0.005,
    "finish_vault": 0.01,
    "prune_vectors": 0.005,
}


class State:
    """One content of the vault, with the settings that go with it."""

    def __init__(self, name: str, folder: Path, env: Mapping[str, str]) -> None:
        self.name = name
        self.folder = folder
        self.env = env
        self.clean: dict[str, Any] = {}
        self.seconds = 0.0

    def install(self, vault: Path) -> None:
        """Make the vault this state, note by note, mtimes included."""
        wanted = {p.relative_to(self.folder) for p in self.folder.rglob("*") if p.is_file()}
        for path in list(vault.rglob("*")):
            if path.is_file() and path.relative_to(vault) not in wanted:
                path.unlink()
        for rel in wanted:
            (vault / rel).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.folder / rel, vault / rel)


def environment(index: Path, state: State) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RAGVAULT_")}
    config = index.parent / "config.yaml"
    config.write_text("{}\n")
    return {
        **kept,
        "RAGVAULT_CONFIG": str(config),
        "RAGVAULT_INDEX_PATH": str(index),
        **state.env,
    }


def start(
    index: Path, vault: Path, state: State, *options: str, aimed: str = ""
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", INDEX, "index", str(vault), "--name", "v", *options],
        env={**environment(index, state), "RAGVAULT_TEST_KILL": aimed},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def complete(index: Path, vault: Path, state: State) -> None:
    process = start(index, vault, state)
    out, err = process.communicate()
    assert process.returncode == 0, (out + err).decode()


def dumped(index: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(DUMP), str(index)],
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(DUMP.parents[2])},
    )
    assert done.returncode == 0, done.stderr.decode()
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def make_states(tmp: Path) -> list[State]:
    first = tmp / "first"
    shutil.copytree(SAMPLE, first)
    for note in sorted(first.rglob("*.md"))[::2]:
        note.unlink()
    for number, note in enumerate(sorted(first.rglob("*.md"))):
        os.utime(note, (LONG_AGO + number, LONG_AGO + number))
    second = tmp / "second"
    shutil.copytree(first, second)
    notes = sorted(second.rglob("*.md"))
    for number, note in enumerate(notes):
        if number % 3 == 0:
            text = note.read_text()
            note.write_text(text + f"\n## Addition {number}\n\nWritten later, by hand {number}.\n")
            os.utime(note, (LONG_AGO + 5000 + number, LONG_AGO + 5000 + number))
        elif number % 7 == 1:
            note.unlink()
        elif number % 7 == 2:
            (second / "Moved").mkdir(exist_ok=True)
            note.rename(second / "Moved" / note.name)
        elif number % 7 == 3:
            os.utime(note, (LONG_AGO + 9000 + number, LONG_AGO + 9000 + number))
    return [
        State("first", first, {}),
        State("second", second, {}),
        State("first, small chunks", first, {"RAGVAULT_CHUNKING_MAX_TOKENS": "48"}),
    ]


def differences(seen: dict[str, Any], clean: dict[str, Any]) -> list[str]:
    """Which parts of two dumps differ, and in how many entries."""
    found = [f"problems: {seen['problems']}"] if seen["problems"] else []
    mine, right = seen["vaults"]["v"], clean["vaults"]["v"]
    parts = [part for part in right if mine[part] != right[part]]
    return [*found, *(f"{part}: {_some(mine[part], right[part])}" for part in parts)]


def _some(mine: Any, right: Any) -> str:
    if isinstance(right, dict):
        keys = [k for k in {*mine, *right} if mine.get(k) != right.get(k)]
        return f"{len(keys)} entries, such as {[(k, mine.get(k), right.get(k)) for k in keys[:2]]}"
    return f"{str(mine)[:300]} instead of {str(right)[:300]}"


def kill_one(
    chance: random.Random,
    index: Path,
    vault: Path,
    state: State,
    options: tuple[str, ...],
    *,
    aimed: bool,
) -> tuple[str, bool]:
    """Start a run and kill it; when that was, and whether the run was still going."""
    if aimed:
        step = chance.choice(list(STEPS))
        call = 1 if step in ("finish_vault", "prune_vectors") else chance.randint(1, 3)
        moment = f"{step}:{call}:{chance.uniform(0, STEPS[step]):.4f}"
        process = start(index, vault, state, *options, aimed=moment)
        process.communicate()
        return f"at {moment}", process.returncode == -signal.SIGKILL
    process = start(index, vault, state, *options)
    delay = chance.uniform(0.15, 0.95) * state.seconds
    try:
        process.communicate(timeout=delay)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"after {delay:.2f} s", True
    return f"over before {delay:.2f} s", False


@pytest.mark.slow
@pytest.mark.timeout(120 + 60 * KILLS)
@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_killed_runs_are_completed_to_what_a_clean_run_gives(tmp_path: Path) -> None:
    """A power cut must cost time, never notes, and never leave wrong ones."""
    chance = random.Random(SEED)
    vault = tmp_path / "vault"
    vault.mkdir()
    states = make_states(tmp_path)
    for state in states:
        state.install(vault)
        began = time.monotonic()
        complete(tmp_path / state.name, vault, state)
        state.seconds = time.monotonic() - began
        state.clean = dumped(tmp_path / state.name)
        assert state.clean["vaults"]["v"]["is_in_step"]
        assert state.clean["vaults"]["v"]["lost"] == []
    index = tmp_path / "index"
    number = cut = 0
    while cut < KILLS:  # a run that was over before its moment came is checked too, not counted
        assert number < 3 * KILLS + 3, "the runs end before they can be killed"
        if number % 5 == 0:
            shutil.rmtree(index, ignore_errors=True)
        state = states[number % len(states)]
        state.install(vault)
        options = ("--full",) if index.exists() and chance.random() < 0.2 else ()
        moment, was_cut = kill_one(chance, index, vault, state, options, aimed=number % 2 == 1)
        cut += was_cut
        complete(index, vault, state)
        found = differences(dumped(index), state.clean)
        number += 1
        print(f"run {number}: {state.name} {options} {moment}: {found or 'same'}", flush=True)
        assert not found
    print(f"{cut} of {number} runs were killed")
