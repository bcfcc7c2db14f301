"""The folders that a search looks at, best first, and what each place weighs.

After notes-engine-rag.md, "Folder Selection Pattern": named ones first, then ranked ones, with
position weights 1.0, 0.9, 0.8 … (at least 0.1). What ragvault does differently, so that a wrong
guess costs no recall: the whole vault is always searched too, unless the user limited the search
with ``--folder`` alone. With ``auto`` the likely folders only add candidates; they carry the same
weight as everything else. With ``llm`` the chat model ranks them (``candidates.assist``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from ragvault.model import FolderInfo, FolderSelection, Query, Scope
from ragvault.retrieval.context import Context
from ragvault.text import stem, stems

MIN_WEIGHT = 0.1
WEIGHT_STEP = 0.1
# ``auto`` adds at most this many scopes: each is one more vector search.
AUTO_SCOPES = 3
# Named and chosen folders together.
MAX_FOLDERS = 8


def position_weight(position: int) -> float:
    """1.0, 0.9, 0.8 …, at least 0.1."""
    return max(MIN_WEIGHT, round(1.0 - WEIGHT_STEP * position, 10))


def rankable(context: Context) -> list[FolderInfo]:
    """The folders that the model is to rank: with ``llm`` those that nobody named."""
    if context.folder_mode != "llm":
        return []
    taken = {folder.qualified for folder in chain(*context.named)}
    return [f for f in context.folders if f.folder and f.qualified not in taken]


def select_folders(context: Context, ranked: Sequence[FolderInfo] = ()) -> FolderSelection:
    """The scopes of the vector search, best first.

    With ``llm`` they are ``ranked`` by the chat model: where it ranked none, every folder counts
    alike. Linear in the folders.
    """
    mode, folders = context.folder_mode, context.folders
    places = [place for found in context.named for place in _by_vault(found)]
    guessed = ranked
    if mode == "auto":
        taken = {folder for place in places for folder in place}
        rest = [folder for folder in folders if folder not in taken]
        guessed = _by_name(context.query, rest)
    weighted = bool(places) or mode == "llm"
    places += [[folder] for folder in guessed[: max(0, MAX_FOLDERS - len(places))]]
    scopes = [
        Scope(
            place[0].vault,
            tuple(folder.folder for folder in place),
            position_weight(i) if weighted else 1.0,
        )
        for i, place in enumerate(places)
    ]
    if mode != "off" or not places:
        rest_weight = position_weight(len(scopes)) if weighted else 1.0
        scopes += [Scope(vault, None, rest_weight) for vault in context.where.vaults]
    topmost = (min(place, key=lambda f: (f.folder.count("/"), f.folder)) for place in places)
    selected = tuple(folder.qualified for folder in topmost)
    available = tuple(folder.qualified for folder in folders)
    return FolderSelection(mode, selected, available, tuple(scopes))


def weight_of(vault: str, folder: str, scopes: Sequence[Scope]) -> float:
    """The weight of a chunk's place: the best of the scopes that hold it."""
    weights = [
        scope.weight
        for scope in scopes
        if scope.vault == vault and (scope.folders is None or folder in scope.folders)
    ]
    return max(weights, default=MIN_WEIGHT)


def _by_name(query: Query, folders: Sequence[FolderInfo]) -> list[FolderInfo]:
    """Those whose path shares most words with the question, ties by name. (Nearness to the mean of
    a folder's vectors changed no ranking of four sets.) The root of a vault is no guess."""
    asked = {stem(term) for term in query.terms}
    shared = [(len(asked & stems(f.folder)), f) for f in folders if f.folder]
    likely = sorted((-count, f.qualified, f) for count, f in shared if count)
    return [folder for _, _, folder in likely[:AUTO_SCOPES]]


def _by_vault(found: Sequence[FolderInfo]) -> list[list[FolderInfo]]:
    """The folders of each vault are searched as one."""
    vaults = dict.fromkeys(folder.vault for folder in found)
    return [[folder for folder in found if folder.vault == vault] for vault in vaults]
