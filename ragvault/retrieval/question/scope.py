"""Where to look and how much to keep: vaults, tags and folders that the user named, and k."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import chain

from ragvault.config.settings import Settings
from ragvault.errors import NoIndexError, UsageError
from ragvault.model import (
    Breadth,
    Detail,
    Filter,
    FolderInfo,
    Query,
    Request,
    VaultInfo,
)
from ragvault.ports import Catalog

# Passages to answer from (notes-engine-rag.md, "Automatic K Selection").
K_MIN, K_USUAL, K_MAX = 3, 5, 8
_NEAREST = 3  # of what may have been meant
_SHOWN = 10  # of what there is

# What the detail asked for and the question's breadth add.
_BY_DETAIL = {Detail.BRIEF: -2, Detail.NORMAL: 0, Detail.DETAILED: 2}
_BY_BREADTH = {Breadth.NARROW: -1, Breadth.NORMAL: 0, Breadth.BROAD: 2}


def choose_k(request: Request, query: Query) -> int:
    """``K_USUAL``, moved by the detail asked for, the question's breadth and named folders, from
    ``K_MIN`` to ``K_MAX``; an explicit ``request.k`` is taken as it is."""
    if request.k is not None:
        return request.k
    wanted = K_USUAL + _BY_DETAIL[request.detail] + _BY_BREADTH[query.breadth]
    wanted -= bool(request.folders)
    return max(K_MIN, min(wanted, K_MAX))


def choose_vaults(request: Request, known: Sequence[VaultInfo]) -> list[VaultInfo]:
    """The vaults named, or all. Raises UsageError for an unknown one, NoIndexError when none has
    notes."""
    if not known:
        raise NoIndexError("Nothing is indexed yet.")
    by_name = {vault.name: vault for vault in known}
    unknown = [name for name in request.vaults if name not in by_name]
    if unknown:
        raise _unknown(f"There is no vault '{unknown[0]}'.", "vault", unknown[0], sorted(by_name))
    wanted = [by_name[name] for name in dict.fromkeys(request.vaults)] or list(known)
    if not any(vault.chunks for vault in wanted):
        names = ", ".join(vault.name for vault in wanted)
        raise NoIndexError(
            f"There are no notes to search in {names}.",
            "Put notes into the folder, then run `ragvault index`.",
        )
    return wanted


def searched_phrase(vaults: Sequence[VaultInfo], request: Request, where: Filter) -> str:
    """ "1,204 notes in 2 vaults", or the limits that the user set."""
    notes = sum(vault.notes for vault in vaults)
    place = vaults[0].name if len(vaults) == 1 else f"{len(vaults)} vaults"
    limits = []
    if where.folders:
        limits.append(f"folder {', '.join(request.folders)}")
    if where.tags:
        limits.append(f"tag {', '.join(where.tags)}")
    if where.since is not None:
        limits.append(f"since {_day(where.since)}")
    if where.until is not None:
        limits.append(f"until {_day(where.until)}")
    if limits:
        return f"notes in {place}, only {', '.join(limits)}"
    return f"{notes:,} {'note' if notes == 1 else 'notes'} in {place}"


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment).date().isoformat()


def known_tags(request: Request, catalog: Catalog, vaults: Collection[str]) -> tuple[str, ...]:
    """The request's tags without ``#``. Raises UsageError for one that neither a note of the
    vaults has nor a tag below it: an answer would otherwise say that the notes are silent."""
    wanted = tuple(tag.strip().lstrip("#").strip("/") for tag in request.tags)
    for tag in wanted:
        if catalog.count_chunks(Filter(vaults=tuple(vaults), tags=(tag,))):
            continue
        name, known = tag.casefold(), catalog.tags(vaults)
        if not any(other == name or other.startswith(f"{name}/") for other in known):
            raise _unknown(f"No note has the tag “{tag}”.", "tag", tag, known)
    return wanted


def _unknown(message: str, kind: str, wanted: str, names: Sequence[str]) -> UsageError:
    """Did you mean? With the names that look most like it, whole or without what is above the
    last or the first slash; or else what there is."""
    keys: dict[str, str] = {}
    for name in names:
        for key in (name, name.rpartition("/")[2], name.partition("/")[2]):
            keys.setdefault(key.casefold(), name)
    close = difflib.get_close_matches(wanted.casefold(), list(keys), n=5, cutoff=0.5)
    nearest = list(dict.fromkeys(keys[key] for key in close))[:_NEAREST]
    if nearest:
        return UsageError(message, f"Nearest {kind}s: {', '.join(nearest)}.")
    if not names:
        return UsageError(message, f"These notes have no {kind}s: leave `--{kind}` out.")
    more = " …" if len(names) > _SHOWN else ""
    return UsageError(message, f"{kind.capitalize()}s: {', '.join(names[:_SHOWN])}{more}.")


def folder_mode(request: Request, settings: Settings) -> str:
    """ "llm" or "off": the flag, else "off" beside ``--folder``, else the config."""
    if request.folder_select is not None:
        return request.folder_select
    return "off" if request.folders else settings.retrieval.folder_select


def named_folders(request: Request, folders: Sequence[FolderInfo]) -> list[list[FolderInfo]]:
    """For each ``--folder`` its folders (itself and what is below it), in the order given. Raises
    UsageError for a name that fits none."""
    return [_resolve(name, folders) for name in request.folders]


def limits_of(named: Iterable[Sequence[FolderInfo]], mode: str) -> tuple[tuple[str, str], ...]:
    """The (vault, folder) pairs outside which nothing is searched: those that were named where no
    other folder is to follow them; empty: no limit."""
    limits = chain(*named) if mode == "off" else ()
    return tuple(dict.fromkeys((folder.vault, folder.folder) for folder in limits))


def _resolve(name: str, folders: Sequence[FolderInfo]) -> list[FolderInfo]:
    wanted = name.replace("\\", "/").strip().removeprefix("./").strip("/")
    if wanted in ("", "."):
        found = [f for f in folders if not f.folder]
        if found:
            return found
    for fold in (str, str.casefold):
        key = fold(wanted)
        exact = [f for f in folders if key in (fold(f.folder), fold(f.qualified))]
        paths = ((f, (fold(f.folder), fold(f.qualified))) for f in folders if f not in exact)
        below = [f for f, names in paths if any(name.startswith(f"{key}/") for name in names)]
        if exact or below:
            return exact + below
    named = sorted(f.qualified for f in folders if f.folder)
    raise _unknown(f"No folder '{name}' is indexed.", "folder", wanted, named)
