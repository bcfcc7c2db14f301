"""The folders that a search looks at, best first, and what each place weighs.

After notes-engine-rag.md, "Folder Selection Pattern": named ones first, then ranked ones, with
position weights 1.0, 0.9, 0.8 … (at least 0.1). What ragvault does differently, so that a wrong
guess costs no recall: the whole vault is always searched too, unless the user limited the search
with ``--folder`` alone. With ``auto`` the likely folders only add candidates; they carry the same
weight as everything else.

With ``llm`` the chat model is asked: only DIRECTLY relevant folders, a JSON array. Small models
wrap it in fences, begin with "json", stop in the middle or invent names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragvault.errors import ModelError
from ragvault.model import ChatOptions, FolderInfo, FolderSelection, Message, Query, Scope
from ragvault.retrieval.context import Context
from ragvault.retrieval.question.scope import folder_mode, named_folders
from ragvault.text import share_of

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
# The listing has to leave room in a small context window.
MAX_LISTED = 150
MAX_ANSWER_TOKENS = 300
MAX_REPLY_CHARS = 20_000  # of a model that runs wild
# So many names in the order of the listing, and all of them: a copy. Two may be so by chance.
_COPY = 3

SYSTEM = (
    "You select folders of a notes vault for a search. Reply with a JSON array of folder names "
    "and nothing else."
)
INSTRUCTION = """Question: {question}

Folders:
{folders}

Rank the folders that are DIRECTLY relevant to the question, most relevant first. Exclude folders \
that are only tangentially related. Use the names exactly as listed. Reply with a JSON array of \
strings, for example {example}. If none is directly relevant, reply with []."""
# None of the listed names: what a small model copies from here has to be known for a copy.
EXAMPLE = '["one/folder", "another/folder"]'

_ARRAY = re.compile(r'\[\s*(?=["{\]])')  # the beginning of one, of strings or objects
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')  # a whole one, also in an array that is cut off


def position_weight(position: int) -> float:
    """1.0, 0.9, 0.8 …, at least 0.1."""
    return max(MIN_WEIGHT, round(1.0 - WEIGHT_STEP * position, 10))


def select_folders(context: Context, query_vector: Vector | None) -> FolderSelection:
    """The scopes of the vector search, best first.

    ``auto`` ranks by similarity to ``query_vector`` (None: by name alone), ``llm`` asks the chat
    model; when that fails, every folder counts alike and a notice says why. Linear in the folders.
    Raises UsageError (see ``named_folders``).
    """
    request, folders = context.request, context.folders
    mode = folder_mode(request, context.settings)
    places = [place for found in named_folders(request, folders) for place in _by_vault(found)]
    taken = {folder for place in places for folder in place}
    rest = [folder for folder in folders if folder not in taken]
    guessed: list[FolderInfo] = []
    if mode == "llm":
        guessed = _by_model(context, rest)
    elif mode == "auto":
        guessed = _by_similarity(context.query, rest, query_vector)
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


def _by_similarity(
    query: Query, folders: Sequence[FolderInfo], query_vector: Vector | None
) -> list[FolderInfo]:
    """The likeliest folders: cosine to the centroid, plus words shared with the name. The root of a
    vault is no guess: it says nothing."""
    scored: list[tuple[float, str, FolderInfo]] = []
    for folder in folders:
        if not folder.folder:
            continue
        name = NAME_WEIGHT if share_of(query.terms, folder.folder) > 0 else 0.0
        cosine = 0.0
        centroid = folder.centroid
        if query_vector is not None and centroid is not None and len(centroid) == len(query_vector):
            cosine = float(centroid @ query_vector)
        if name or cosine >= MIN_CENTROID:
            scored.append((-(cosine + name), folder.qualified, folder))
    return [folder for _, _, folder in sorted(scored, key=lambda item: item[:2])[:AUTO_SCOPES]]


def _by_vault(found: Sequence[FolderInfo]) -> list[list[FolderInfo]]:
    """The folders of each vault are searched as one."""
    vaults = dict.fromkeys(folder.vault for folder in found)
    return [[folder for folder in found if folder.vault == vault] for vault in vaults]


# --------------------------------------------------------------------------- by the model


def _by_model(context: Context, folders: Sequence[FolderInfo]) -> list[FolderInfo]:
    """The model's ranking; none and a notice where it gives none that can be read."""
    by_name = {folder.qualified: folder for folder in folders if folder.folder}
    if not by_name:
        return []
    listed = list(by_name)[:MAX_LISTED]
    prompt = INSTRUCTION.format(
        question=context.query.text, folders="\n".join(f"- {n}" for n in listed), example=EXAMPLE
    )
    settings = context.settings.ollama
    options = ChatOptions(
        model=settings.model,
        num_ctx=settings.max_context,
        temperature=0.0,
        max_tokens=MAX_ANSWER_TOKENS,
    )
    messages = [Message("system", SYSTEM), Message("user", prompt)]
    try:
        names = parse_ranking(context.deps.chat().complete(messages, options), listed)
    except ModelError as error:
        context.notices.append(
            f"The model could not rank the folders ({error.message}); all were searched."
        )
        return []
    if names is None:
        context.notices.append(
            "The model gave no list of folders that can be used; all were searched."
        )
    return [by_name[name] for name in names or ()]


def parse_ranking(reply: str, names: Sequence[str]) -> list[str] | None:
    """The folders that a reply names, in its order, each once; invented ones dropped.

    Reads the strings of the first array in it, whole or cut off. None: there is no array, or it
    held names and all were invented, or it is the whole list as it was given: a copy ranks
    nothing.
    """
    array = _ARRAY.search(reply[:MAX_REPLY_CHARS])
    if array is None:
        return None
    rest = reply[array.start() : MAX_REPLY_CHARS]
    try:
        whole, _ = json.JSONDecoder(strict=False).raw_decode(rest)
        rest = json.dumps(whole)
    except (ValueError, RecursionError):  # cut off, or with a comment in it
        rest = rest.partition("]")[0]
    said = [str(json.loads(found, strict=False)) for found in _STRING.findall(rest)]
    found = dict.fromkeys(name for item in said if (name := _match(item, names)) is not None)
    is_copy = len(found) >= _COPY and list(found) == list(names)
    return None if is_copy or (said and not found) else list(found)


def _match(said: str, names: Sequence[str]) -> str | None:
    wanted = said.strip().strip("/").casefold()
    whole = [name for name in names if name.casefold() == wanted]
    # Without the vault's name, if only one folder is called so.
    bare = [name for name in names if name.casefold().partition("/")[2] == wanted]
    if whole:
        return whole[0]
    return bare[0] if wanted and len(bare) == 1 else None
