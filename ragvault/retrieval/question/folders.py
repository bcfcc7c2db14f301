"""The folders that a search looks at, best first, and what each place weighs.

After notes-engine-rag.md, "Folder Selection Pattern": named ones first, then ranked ones, with
position weights 1.0, 0.9, 0.8 … (at least 0.1). What ragvault does differently, so that a wrong
guess costs no recall: the whole vault is always searched too, unless the user limited the search
with ``--folder`` alone. With ``llm`` the chat model ranks the others (``candidates.expansion``).

Measured and left out: guessing folders by their names and their passages' mean vector. Of 925
questions over seven vaults it changed the first five passages of none, the first ten of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from ragvault.model import FolderInfo, FolderSelection, Scope
from ragvault.retrieval.context import Context

MIN_WEIGHT = 0.1
WEIGHT_STEP = 0.1
MAX_FOLDERS = 8  # named and chosen ones together


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
    """The scopes of the vector search, best first. With ``llm`` folders are ``ranked`` by the chat
    model: where it ranked none, every folder counts alike. Linear in the folders."""
    mode, folders = context.folder_mode, context.folders
    places = [place for found in context.named for place in _by_vault(found)]
    places += [[folder] for folder in ranked[: max(0, MAX_FOLDERS - len(places))]]
    scopes = [
        Scope(place[0].vault, tuple(folder.folder for folder in place), position_weight(i))
        for i, place in enumerate(places)
    ]
    if mode != "off" or not places:
        rest_weight = position_weight(len(scopes))
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


def _by_vault(found: Sequence[FolderInfo]) -> list[list[FolderInfo]]:
    """The folders of each vault are searched as one."""
    vaults = dict.fromkeys(folder.vault for folder in found)
    return [[folder for folder in found if folder.vault == vault] for vault in vaults]
