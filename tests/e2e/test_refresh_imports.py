"""A refresh that finds nothing to do loads no model, no vector store and no parser."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("chromadb", "onnxruntime", "tokenizers", "numpy", "ollama", "torch", "watchdog", "yaml")

RUN = f"""
import sys
from ragvault.cli.main import run
try:
    run()
except SystemExit as done:
    assert not done.code, done.code
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""


def index(tmp_path: Path, *words: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RAGVAULT_")}
    (tmp_path / "config.yaml").touch()
    done = subprocess.run(
        [sys.executable, "-c", RUN, "index", *words],
        capture_output=True,
        text=True,
        check=True,
        env={**kept, "RAGVAULT_INDEX_PATH": str(tmp_path / "index"), "COLUMNS": "80"},
    )
    return done.stderr


def test_a_refresh_with_nothing_to_do_imports_nothing_heavy(tmp_path: Path) -> None:
    """Else each `ragvault index` costs seconds to learn that nothing changed."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(3):
        note = vault / f"{number}.md"
        note.write_text(f"# Note {number}\n\nText.\n")
        os.utime(note, (1_600_000_000, 1_600_000_000))
    assert "'chromadb', 'onnxruntime'" in index(tmp_path, str(vault))
    assert index(tmp_path).strip().splitlines()[-1] == "[]"
