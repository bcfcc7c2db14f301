"""How many processors may be used: a limited container must not start a thread for each core."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragvault.adapters import models as cores
from ragvault.adapters.models import cgroup_quota, usable_cores


def group(root: Path, path: str, maximum: str) -> None:
    folder = root / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu.max").write_text(maximum)


def quota(root: Path, membership: str) -> float | None:
    (root / "self").write_text(membership)
    return cgroup_quota(root, root / "self")


def test_no_limit(tmp_path: Path) -> None:
    assert quota(tmp_path, "0::/user.slice\n") is None
    group(tmp_path, "user.slice", "max 100000\n")
    assert quota(tmp_path, "0::/user.slice\n") is None


def test_the_tightest_group_above_counts(tmp_path: Path) -> None:
    group(tmp_path, "a", "150000 100000\n")
    group(tmp_path, "a/b", "400000 100000\n")
    assert quota(tmp_path, "1:name=systemd:/\n0::/a/b\n") == 1.5


@pytest.mark.parametrize(("limit", "expected"), [(None, 8), (2.5, 3), (0.2, 1), (64.0, 8)])
def test_a_part_of_a_core_is_a_core_and_never_none(
    monkeypatch: pytest.MonkeyPatch, limit: float | None, expected: int
) -> None:
    monkeypatch.setattr(cores.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)
    monkeypatch.setattr(cores, "cgroup_quota", lambda *_: limit)
    assert usable_cores() == expected
