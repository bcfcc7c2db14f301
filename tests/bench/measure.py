"""Timing of whole processes, fairly: what is compared runs in turn, and medians are compared."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Cost:
    """What a piece of work took, in seconds: by the clock, and of processor time (user + system,
    all threads). Where others use the machine too, the second is the one to compare."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Run:
    """One finished process: its cost, peak resident memory in MB, its stdout."""

    cost: Cost
    peak_mb: float
    stdout: str


@dataclass(frozen=True)
class Ratio:
    """``ours`` over ``base``, medians of both. ``limit`` is the most that was promised."""

    name: str
    reading: str
    ours: tuple[Cost, ...]
    base: tuple[Cost, ...]
    limit: float | None = None
    note: str = ""

    @property
    def wall(self) -> float:
        """The ratio of the medians by the clock."""
        return median_of(self.ours).wall / median_of(self.base).wall

    @property
    def cpu(self) -> float:
        """The same of processor time."""
        return median_of(self.ours).cpu / median_of(self.base).cpu


def median_of(costs: Sequence[Cost]) -> Cost:
    """Each figure's own median."""
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))


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
        return {**environment(), "RAGVAULT_CONFIG": str(config), "NO_COLOR": "1"}

    def ragvault(self, index: Path, *arguments: str, ok: tuple[int, ...] = (0,)) -> Run:
        command = [self.python, "-m", "ragvault", *arguments]
        return run(command, self.environment(index), ok=ok)

    def script(self, name: str, *arguments: str) -> Run:
        path = Path(__file__).with_name("comparators") / name
        return run([self.python, str(path), *arguments], environment())


def environment() -> dict[str, str]:
    """What both sides run in. Byte code is kept, as it is for an installed program: else each run
    would compile ragvault's modules again, and the comparators' libraries not."""
    dropped = ("PYTHONDONTWRITEBYTECODE",)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("RAGVAULT_") and name not in dropped
    }
    return {**kept, "PYTHONPATH": str(ROOT)}


def run(command: Sequence[str], environment: Mapping[str, str], ok: tuple[int, ...] = (0,)) -> Run:
    """Run to the end; raises RuntimeError with what it said for an exit code outside ``ok``.

    ``wait4`` tells of this one process; its output goes to files, so that no reader's work and no
    full pipe is measured.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        files = [
            (os.POSIX_SPAWN_DUP2, out.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, err.fileno(), 2),
        ]
        began = time.perf_counter()
        pid = os.posix_spawn(command[0], list(command), environment, file_actions=files)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - began
        stdout, stderr = (_text(file) for file in (out, err))
    code = os.waitstatus_to_exitcode(status)
    if code not in ok:
        raise RuntimeError(f"{' '.join(command)} ended with {code}:\n{stderr}")
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB elsewhere
    cost = Cost(wall, usage.ru_utime + usage.ru_stime)
    return Run(cost, usage.ru_maxrss * unit / 1e6, stdout)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def alternate(
    ours: Callable[[], Cost], bases: Sequence[Callable[[], Cost]], repeats: int
) -> tuple[tuple[Cost, ...], list[tuple[Cost, ...]]]:
    """Costs of ``ours`` and of each base, run in turn: what slows the machine slows them all."""
    mine: list[Cost] = []
    others: list[list[Cost]] = [[] for _ in bases]
    for _ in range(repeats):
        mine.append(ours())
        for costs, base in zip(others, bases, strict=True):
            costs.append(base())
    return tuple(mine), [tuple(costs) for costs in others]
