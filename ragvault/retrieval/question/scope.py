"""Where to look: the folders that the user named, and those that the question points at.

After notes-engine-rag.md, "Folder Selection Pattern": named folders first, then ranked ones,
with position weights 1.0, 0.9, 0.8 … (at least 0.1). What ragvault does differently, so that a
wrong guess costs no recall: the whole vault is always searched too, unless the user limited the
search with ``--folder`` alone. With ``auto`` the likely folders only add candidates; they carry
the same weight as everything else.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragvault.config.settings import Settings
from ragvault.errors import ModelError, UsageError
from ragvault.model import FolderInfo, FolderSelection, Query, Request, Scope
from ragvault.ports import ChatModel
from ragvault.retrieval.question.folder_ranking import ask_model
from ragvault.retrieval.ranking.overlap import share

if TYPE_CHECKING:
    from ragvault.model import Vector

MIN_WEIGHT = 0.1
WEIGHT_STEP = 0.1
# ``auto`` adds at most this many scopes: each is one more vector search.
AUTO_SCOPES = 3
# The name says more than the centroid does: one word of the question in it is worth this cosine.
NAME_WEIGHT = 0.3
# Named and chosen folders together.
MAX_FOLDERS = 8
# A folder with no word in common has to be at least this close.
MIN_CENTROID = 0.25


def position_weight(position: int) -> float:
    """1.0, 0.9, 0.8 …, at least 0.1."""
    return max(MIN_WEIGHT, round(1.0 - WEIGHT_STEP * position, 10))


@dataclass(frozen=True, slots=True)
class _Group:
    """Folders of one vault that are searched as one."""

    vault: str
    folders: tuple[str, ...]
    label: str


def folder_mode(request: Request, settings: Settings) -> str:
    """ "auto", "llm" or "off": the flag, else "off" beside ``--folder``, else the config."""
    if request.folder_select is not None:
        return request.folder_select
    return "off" if request.folders else settings.retrieval.folder_select


def named_folders(request: Request, folders: Sequence[FolderInfo]) -> list[list[FolderInfo]]:
    """For each ``--folder`` its folders (itself and what is below it), in the order given.

    Raises UsageError for a name that fits none. Linear in the folders.
    """
    return [_resolve(name, folders) for name in request.folders]


def limits_of(
    request: Request, folders: Sequence[FolderInfo], settings: Settings
) -> tuple[tuple[str, str], ...]:
    """The (vault, folder) pairs outside which nothing is searched: those of ``--folder`` where no
    other folder is to follow them; empty: no limit. Raises UsageError (see ``named_folders``)."""
    named = named_folders(request, folders)
    if folder_mode(request, settings) != "off":
        return ()
    return tuple(dict.fromkeys((f.vault, f.folder) for found in named for f in found))


def select_folders(
    request: Request,
    query: Query,
    folders: Sequence[FolderInfo],
    query_vector: Vector | None,
    chat: ChatModel | None,
    settings: Settings,
    vaults: Sequence[str],
) -> FolderSelection:
    """The scopes of the vector leg, best first.

    ``vaults`` are the names searched; ``folders`` all of theirs. ``auto`` ranks by similarity to
    ``query_vector`` (None: by name alone), ``llm`` asks ``chat``; when that fails, every folder
    counts alike and a notice says why. Linear in the folders. Raises UsageError (see
    ``named_folders``).
    """
    mode = folder_mode(request, settings)
    named = [group for found in named_folders(request, folders) for group in _groups(found)]
    available = tuple(f.qualified for f in folders)
    if mode == "off":
        return _limited(named, available, vaults)
    taken = {(group.vault, folder) for group in named for folder in group.folders}
    rest = [f for f in folders if (f.vault, f.folder) not in taken]
    notices: tuple[str, ...] = ()
    if mode == "llm":
        ranked, notices = _by_model(query, rest, chat, settings)
    else:
        ranked = rank_by_similarity(query, rest, query_vector, AUTO_SCOPES)
    ranked = ranked[: max(0, MAX_FOLDERS - len(named))]
    guesses = [_Group(f.vault, (f.folder,), f.qualified) for f in ranked]
    weighted = bool(named) or mode == "llm"
    scopes = [
        Scope(group.vault, group.folders, position_weight(i) if weighted else 1.0)
        for i, group in enumerate([*named, *guesses])
    ]
    rest_weight = position_weight(len(scopes)) if weighted else 1.0
    scopes += [Scope(vault, None, rest_weight) for vault in vaults]
    selected = tuple(group.label for group in (*named, *guesses))
    return FolderSelection(mode, selected, available, tuple(scopes), notices)


def weight_of(vault: str, folder: str, scopes: Sequence[Scope]) -> float:
    """The weight of a chunk's place: the best of the scopes that hold it."""
    weights = [
        scope.weight
        for scope in scopes
        if scope.vault == vault and (scope.folders is None or folder in scope.folders)
    ]
    return max(weights, default=MIN_WEIGHT)


def rank_by_similarity(
    query: Query, folders: Sequence[FolderInfo], query_vector: Vector | None, n: int
) -> list[FolderInfo]:
    """The ``n`` likeliest folders: cosine to the centroid, plus words shared with the name.

    The root of a vault is no guess: it says nothing. Linear in the folders.
    """
    scored: list[tuple[float, str, FolderInfo]] = []
    for folder in folders:
        if not folder.folder:
            continue
        name = NAME_WEIGHT if share(query.terms, folder.folder) > 0 else 0.0
        cosine = 0.0
        centroid = folder.centroid
        if query_vector is not None and centroid is not None and len(centroid) == len(query_vector):
            cosine = float(centroid @ query_vector)
        if name or cosine >= MIN_CENTROID:
            scored.append((-(cosine + name), folder.qualified, folder))
    return [folder for _, _, folder in sorted(scored, key=lambda item: item[:2])[:n]]


def _limited(
    named: Sequence[_Group], available: tuple[str, ...], vaults: Sequence[str]
) -> FolderSelection:
    if not named:
        return FolderSelection("off", (), available, tuple(Scope(vault) for vault in vaults))
    scopes = tuple(
        Scope(group.vault, group.folders, position_weight(i)) for i, group in enumerate(named)
    )
    return FolderSelection("off", tuple(g.label for g in named), available, scopes)


def _by_model(
    query: Query, folders: Sequence[FolderInfo], chat: ChatModel | None, settings: Settings
) -> tuple[list[FolderInfo], tuple[str, ...]]:
    by_name = {f.qualified: f for f in folders if f.folder}
    if not by_name:
        return [], ()
    if chat is None:
        return [], ("No chat model: every folder was searched alike.",)
    try:
        names = ask_model(query.text, list(by_name), chat, settings.ollama)
    except ModelError as error:
        return [], (f"The model could not rank the folders ({error.message}); all were searched.",)
    if names is None:
        return [], ("The model gave no list of folders that can be used; all were searched.",)
    return [by_name[name] for name in names], ()


def _groups(found: Sequence[FolderInfo]) -> list[_Group]:
    """One group a vault; it is called by its topmost folder."""
    by_vault: dict[str, list[FolderInfo]] = {}
    for folder in found:
        by_vault.setdefault(folder.vault, []).append(folder)
    return [
        _Group(
            vault,
            tuple(f.folder for f in members),
            min(members, key=lambda f: (f.folder.count("/"), f.folder)).qualified,
        )
        for vault, members in by_vault.items()
    ]


def _resolve(name: str, folders: Sequence[FolderInfo]) -> list[FolderInfo]:
    wanted = name.replace("\\", "/").strip().removeprefix("./").strip("/")
    if wanted in ("", "."):
        found = [f for f in folders if not f.folder]
        if found:
            return found
    for fold in (str, str.casefold):
        key = fold(wanted)
        exact = [f for f in folders if key in (fold(f.folder), fold(f.qualified))]
        below = [
            f
            for f in folders
            if f not in exact
            and (fold(f.folder).startswith(f"{key}/") or fold(f.qualified).startswith(f"{key}/"))
        ]
        if exact or below:
            return exact + below
    raise _unknown(name, wanted, folders)


def _unknown(name: str, wanted: str, folders: Sequence[FolderInfo]) -> UsageError:
    """Names the folders that look most like it, whole or by their last component."""
    by_key: dict[str, str] = {}
    for folder in folders:
        if folder.folder:
            for key in (folder.folder, folder.qualified, folder.folder.rsplit("/", 1)[-1]):
                by_key.setdefault(key.casefold(), folder.qualified)
    close = difflib.get_close_matches(wanted.casefold(), list(by_key), n=5, cutoff=0.5)
    nearest = list(dict.fromkeys(by_key[key] for key in close))[:3]
    if nearest:
        return UsageError(f"No folder '{name}' is indexed.", f"Nearest: {', '.join(nearest)}.")
    shown = ", ".join(sorted(f.qualified for f in folders if f.folder)[:10])
    hint = f"Folders: {shown}." if shown else "The vault has no folders: leave `--folder` out."
    return UsageError(f"No folder '{name}' is indexed.", hint)
