"""What a cold process loads in which thread."""

from __future__ import annotations

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
