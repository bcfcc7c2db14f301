"""What a cold process loads, and in which thread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import Cli, make_vault

WATCH = """
import sys, threading
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in ("numpy", "chromadb"):
            print(name, "in", threading.current_thread().name, file=sys.stderr)
sys.meta_path.insert(0, Watch())
from ragvault.cli.main import run
run(["search", "pump"])
"""


@pytest.mark.parametrize("search", ["auto", "chroma"])
def test_numpy_is_loaded_first_and_chroma_where_it_is_needed(tmp_path: Path, search: str) -> None:
    """Loading the model and opening the store both import numpy. Two threads that begin that at
    once get a half-made module, and the first question of the day ends in "something unexpected".
    Chroma, the dearest import of all, isn't loaded to search a small vault."""
    cli = Cli(tmp_path)
    vault = make_vault(tmp_path / "notes", {"pump.md": "# Pump\n\nServiced in May.\n"})
    assert cli("index", str(vault)).code == 0
    done = subprocess.run(
        [sys.executable, "-c", WATCH],
        env=cli.environment(RAGVAULT_STORE_SEARCH=search),
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr
    loaded = dict(line.split(" in ") for line in done.stderr.splitlines() if " in " in line)
    assert loaded["numpy"] == "MainThread"
    assert ("chromadb" in loaded) == (search == "chroma")


LOADED = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from ragvault.cli.main import run
run(["index"])
"""
NOT_NEEDED = {
    "numpy", "chromadb", "onnxruntime", "tokenizers", "markdown_it", "yaml.constructor",
    "ragvault.answering", "ragvault.retrieval", "ragvault.model.answers", "ragvault.formats.blocks",
}  # fmt: skip


def test_an_index_run_that_finds_nothing_to_do_loads_next_to_nothing(tmp_path: Path) -> None:
    """It runs from a timer, on each change of a branch, before each question: what it imports is
    most of what it costs."""
    cli = Cli(tmp_path)
    vault = make_vault(tmp_path / "notes", {"pump.md": "# Pump\n\nServiced in May.\n"})
    os.utime(vault / "pump.md", (1.7e9, 1.7e9))
    assert cli("index", str(vault)).code == 0
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        env=cli.environment(),
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert "1 unchanged" in done.stdout, done.stderr
    assert not NOT_NEEDED & set(done.stderr.split())
