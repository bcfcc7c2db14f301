"""How many processors this process may use: affinity mask and cgroup quota, not just the machine's.

A container that is limited to two of 64 cores must not start 64 threads.
"""

from __future__ import annotations

import math
import os
from pathlib import Path


def usable_cores() -> int:
    """At least 1; the smallest of machine, affinity mask and cgroup CPU quota (v1 and v2)."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = min(cores, len(os.sched_getaffinity(0)))
    quota = cgroup_quota(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))
    if quota is not None:
        cores = min(cores, math.ceil(quota))
    return max(1, cores)


def cgroup_quota(root: Path, membership: Path) -> float | None:
    """The tightest quota, in cores, of this process' group and the groups above it."""
    quotas = [_v1_quota(root / "cpu")]
    group = _v2_group(membership)
    folder = root / group
    while True:
        quotas.append(_v2_quota(folder / "cpu.max"))
        if folder == root or root not in folder.parents:
            break
        folder = folder.parent
    found = [quota for quota in quotas if quota is not None]
    return min(found) if found else None


def _v2_group(membership: Path) -> str:
    for line in _read(membership).splitlines():
        if line.startswith("0::"):
            return line[3:].lstrip("/")
    return ""


def _v2_quota(file: Path) -> float | None:
    fields = _read(file).split()
    if len(fields) != 2 or not (fields[0].isdigit() and fields[1].isdigit()):
        return None  # "max 100000": no limit
    return int(fields[0]) / int(fields[1]) if int(fields[1]) else None


def _v1_quota(folder: Path) -> float | None:
    quota = _read(folder / "cpu.cfs_quota_us").strip()
    period = _read(folder / "cpu.cfs_period_us").strip()
    if not (quota.isdigit() and period.isdigit()) or period == "0":
        return None  # -1: no limit
    return int(quota) / int(period)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:  # not Linux, or no such controller: no limit known
        return ""
