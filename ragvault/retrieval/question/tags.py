"""The tags that limit a search, and what is said of one that no note has."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from ragvault.errors import UsageError
from ragvault.model import Request
from ragvault.ports import NoteStore

_NEAREST = 3
_SHOWN = 10


def known_tags(request: Request, catalog: NoteStore, vaults: Collection[str]) -> tuple[str, ...]:
    """The request's tags without ``#``. Raises UsageError for one that neither a note of the
    vaults has nor a tag below it: an answer would otherwise say that the notes are silent."""
    wanted = tuple(tag.strip().lstrip("#").strip("/") for tag in request.tags)
    if not wanted:
        return ()
    known = catalog.tags(vaults)
    for tag in wanted:
        name = tag.casefold()
        if not any(other == name or other.startswith(f"{name}/") for other in known):
            raise _unknown(tag, known)
    return wanted


def _unknown(tag: str, known: Sequence[str]) -> UsageError:
    by_key: dict[str, str] = {}
    for other in known:
        for key in (other, other.rsplit("/", 1)[-1]):
            by_key.setdefault(key, other)
    close = difflib.get_close_matches(tag.casefold(), list(by_key), n=5, cutoff=0.5)
    nearest = list(dict.fromkeys(by_key[key] for key in close))[:_NEAREST]
    if nearest:
        hint = f"Nearest tags: {', '.join(nearest)}."
    elif known:
        hint = f"Tags: {', '.join(known[:_SHOWN])}{' …' if len(known) > _SHOWN else ''}."
    else:
        hint = "These notes have no tags: leave `--tag` out."
    return UsageError(f"No note has the tag “{tag}”.", hint)
