"""Timing of whole processes, fairly: what is compared runs in turn, and medians are compared."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Run:
    """One finished process: wall time in seconds, peak resident memory in MB, its stdout."""

    seconds: float
    peak_mb: float
    stdout: str


@dataclass(frozen=True)
class Ratio:
    """``ours`` over ``base``, medians of seconds. ``limit`` is the most that was promised."""

    name: str
    reading: str
    ours: tuple[float, ...]
    base: tuple[float, ...]
    limit: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        return median(self.ours) / median(self.base)


@dataclass(frozen=True)
class Peak:
    """Peak resident memory while indexing ``chunks`` chunks, in MB."""

    name: str
    reading: str
    chunks: int
    peak_mb: float
    limit_mb: float | None = None
    note: str = ""


@dataclass
class Bench:
    """A ragvault of its own in ``folder``: nothing of the user's is read or touched."""

    folder: Path
    python: str = sys.executable

    def environment(self, index: Path) -> dict[str, str]:
        """The environment of a command that keeps its index in ``index``."""
        index.mkdir(parents=True, exist_ok=True)
        config = index.parent / f"{index.name}.yaml"
        config.write_text(f"index:\n  path: {index}\n", encoding="utf-8")
        kept = {k: v for k, v in os.environ.items() if not k.startswith("RAGVAULT_")}
        return {**kept, "RAGVAULT_CONFIG": str(config), "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}

    def ragvault(self, index: Path, *arguments: str, ok: tuple[int, ...] = (0,)) -> Run:
        command = [self.python, "-m", "ragvault", *arguments]
        return run(command, self.environment(index), ok=ok)

    def script(self, name: str, *arguments: str) -> Run:
        path = Path(__file__).with_name("comparators") / name
        return run([self.python, str(path), *arguments], {**os.environ, "PYTHONPATH": str(ROOT)})


def run(command: Sequence[str], environment: Mapping[str, str], ok: tuple[int, ...] = (0,)) -> Run:
    """Run to the end; raises RuntimeError with its stderr for an exit code outside ``ok``."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        stdout, stderr = process.communicate()
    seconds = time.perf_counter() - began
    if process.returncode not in ok:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{stderr}")
    return Run(seconds, 0.0, stdout)


def run_with_peak(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Run:
    """As ``run``, with the peak memory of that one process (its output goes to ``log``)."""
    began = time.perf_counter()
    with log.open("wb") as output:
        actions = [
            (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, output.fileno(), 2),
        ]
        pid = os.posix_spawn(command[0], list(command), environment, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - began
    text = log.read_text(encoding="utf-8", errors="replace")
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{text}")
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB elsewhere
    return Run(seconds, usage.ru_maxrss * unit / 1e6, text)


def alternate(
    ours: Callable[[], float], bases: Sequence[Callable[[], float]], repeats: int
) -> tuple[tuple[float, ...], list[tuple[float, ...]]]:
    """Seconds of ``ours`` and of each base, run in turn: what slows the machine slows them all."""
    mine: list[float] = []
    others: list[list[float]] = [[] for _ in bases]
    for _ in range(repeats):
        mine.append(ours())
        for seconds, base in zip(others, bases, strict=True):
            seconds.append(base())
    return tuple(mine), [tuple(seconds) for seconds in others]
