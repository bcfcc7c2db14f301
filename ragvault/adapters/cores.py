"""How many processors this process may use: affinity mask and cgroup quota, not just the machine's.

A container that is limited to two of 64 cores must not start 64 threads.
"""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from pathlib import Path


def usable_cores() -> int:
    """At least 1; the smallest of machine, affinity mask and cgroup (v2) CPU quota."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = min(cores, len(os.sched_getaffinity(0)))
    quota = cgroup_quota(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))
    return max(1, min(cores, math.ceil(quota)) if quota is not None else cores)


def cgroup_quota(root: Path, membership: Path) -> float | None:
    """The tightest quota, in cores, of this process' group and the groups above it."""
    quotas: list[float] = []
    with suppress(OSError, UnicodeError):  # not Linux: no limit known
        own = re.search(r"^0::/*(.*)$", membership.read_text(), re.MULTILINE)
        folder = root / (own[1] if own else "")
        for group in (folder, *folder.parents):
            with suppress(OSError, ValueError):  # not a group, or "max": no limit
                quota, period = map(int, (group / "cpu.max").read_text().split())
                quotas.append(quota / period)
    return min(quotas, default=None)
