"""Where ``ragvault eval`` may write, checked before minutes of asking are spent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.errors import UsageError

if TYPE_CHECKING:
    from ragvault.cli.session import Session

_HINT = "Name another file."


def check_target(session: Session, target: Path | None) -> None:
    """Raises UsageError for a file that can't be written, and for a note of a vault."""
    if target is None:
        return
    where = target.resolve()
    reason = _refused(where)
    if reason is not None:
        raise UsageError(f"{target} can't be written: {reason}.", _HINT)
    if where.suffix.lower() in session.settings.index.extensions:
        for vault in session.container.catalog.vaults():
            if where.is_relative_to(vault.path.resolve()):
                raise UsageError(
                    f"{target} would be a note of the vault '{vault.name}', and ragvault writes "
                    "none.",
                    _HINT,
                )


def _refused(where: Path) -> str | None:
    """What a write would fail with, as far as it can be told without one."""
    if where.is_dir():
        return "it is a folder"
    if not where.parent.is_dir():
        return f"there is no folder {where.parent}"
    if not os.access(where if where.exists() else where.parent, os.W_OK):
        return "permission denied"
    return None
