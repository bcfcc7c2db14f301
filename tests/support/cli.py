"""Runs ragvault as a person does: a process of its own, with its own index and configuration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import warm

ROOT = Path(__file__).resolve().parents[2]
SAMPLE_VAULT = ROOT / "tests" / "sample-vault"
# A port that nothing listens on: reserved, and refused at once.
NO_SERVER = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Run:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as the one JSON object that it has to be."""
        return json.loads(self.out)


@dataclass
class Cli:
    """A ragvault with an index under ``folder``. ``env`` adds to the environment."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def index_path(self) -> Path:
        return self.folder / "index"

    def environment(self, **extra: str) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("RAGVAULT_", "_RAGVAULT")) and name not in ("COLUMNS", "LINES")
        }
        return {
            **kept,
            "HOME": str(self.folder / "home"),
            "USERPROFILE": str(self.folder / "home"),
            "XDG_CONFIG_HOME": str(self.folder / "home" / ".config"),
            "XDG_DATA_HOME": str(self.folder / "home" / ".local"),
            "PYTHONPATH": str(ROOT),
            "PYTHONIOENCODING": "utf-8",
            "RAGVAULT_INDEX_PATH": str(self.index_path),
            "RAGVAULT_OLLAMA_HOST": NO_SERVER,
            **self.env,
            **extra,
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "ragvault", *arguments]

    def __call__(self, *arguments: str, stdin: str | None = None, **env: str) -> Run:
        variables = self.environment(**env)
        if warm.can_run(variables):
            return Run(*warm.warm().run(arguments, self.folder, variables, stdin or ""))
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=variables,
            input=stdin or "",
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=150,
        )
        return Run(done.returncode, done.stdout, done.stderr)


def indexed(folder: Path, vault: Path, *options: str) -> Cli:
    """A ragvault that has indexed a vault."""
    cli = Cli(folder)
    run = cli("index", str(vault), *options)
    assert run.code == 0, run.err
    return cli


def make_vault(folder: Path, notes: dict[str, str]) -> Path:
    """A folder of notes; keys are paths in it."""
    for name, text in notes.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder
