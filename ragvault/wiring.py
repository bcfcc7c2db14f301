"""Settings → objects. The only place that knows which adapter stands behind a port, and the only
one that reads the environment.

Each object is built when it is first asked for, and imports its libraries then: a command pays
for what it uses.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragvault.config_file import LoadedSettings


def load_settings(
    config: Path | None = None, flags: Mapping[str, object] | None = None
) -> LoadedSettings:
    """Settings from file, environment and ``flags`` (dotted key → value, None: not given)."""
    from ragvault import config_file

    return config_file.load(config, os.environ, flags)


def locate_config(config: Path | None = None) -> tuple[Path, bool]:
    """The configuration file in force, and whether it was named rather than the default."""
    from ragvault import config_file

    return config_file.locate(config, os.environ)
