"""Which vaults a request is about, and the phrase that says what was searched."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ragvault.errors import NoIndexError
from ragvault.model import Filter, Request, VaultInfo


def choose_vaults(request: Request, known: Sequence[VaultInfo]) -> list[VaultInfo]:
    """The vaults named, or all. Raises NoIndexError when one is unknown or none has notes."""
    if not known:
        raise NoIndexError("Nothing is indexed yet.")
    by_name = {vault.name: vault for vault in known}
    unknown = [name for name in request.vaults if name not in by_name]
    if unknown:
        raise NoIndexError(
            f"There is no vault '{unknown[0]}'.",
            f"Known: {', '.join(sorted(by_name))}. Add one with `ragvault index PATH --name NAME`.",
        )
    wanted = [by_name[name] for name in dict.fromkeys(request.vaults)] or list(known)
    if not any(vault.chunks for vault in wanted):
        names = ", ".join(vault.name for vault in wanted)
        raise NoIndexError(
            f"There are no notes to search in {names}.",
            "Put notes into the folder, then run `ragvault index`.",
        )
    return wanted


def searched_phrase(vaults: Sequence[VaultInfo], request: Request, where: Filter) -> str:
    """ "1,204 notes in 2 vaults", with the limits that the user set."""
    notes = sum(vault.notes for vault in vaults)
    place = vaults[0].name if len(vaults) == 1 else f"{len(vaults)} vaults"
    phrase = f"{notes:,} {'note' if notes == 1 else 'notes'} in {place}"
    limits = []
    if where.folders:
        limits.append(f"folder {', '.join(request.folders)}")
    if where.tags:
        limits.append(f"tag {', '.join(where.tags)}")
    if where.since is not None:
        limits.append(f"since {_day(where.since)}")
    if where.until is not None:
        limits.append(f"until {_day(where.until)}")
    return f"{phrase}, only {', '.join(limits)}" if limits else phrase


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment).date().isoformat()
