"""What a cold process loads in which thread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.cli import Cli, make_vault

WATCH = """
import sys, threading
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print("numpy in", threading.current_thread().name, file=sys.stderr)
sys.meta_path.insert(0, Watch())
from ragvault.cli.main import run
run(["search", "pump"])
"""


def test_numpy_is_loaded_before_the_threads_that_need_it(tmp_path: Path) -> None:
    """Loading the model and opening the store both import it. Two threads that begin that at once
    get a half-made module, and the first question of the day ends in "something unexpected"."""
    cli = Cli(tmp_path)
    vault = make_vault(tmp_path / "notes", {"pump.md": "# Pump\n\nServiced in May.\n"})
    assert cli("index", str(vault)).code == 0
    done = subprocess.run(
        [sys.executable, "-c", WATCH],
        env=cli.environment(),
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "numpy in" in line] == [
        "numpy in MainThread"
    ]
