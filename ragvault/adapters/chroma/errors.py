"""What Chroma, its Rust core and its HTTP client raise, as ragvault's errors: one table.

Matched by class name, over the chain of causes, so that nothing of Chroma is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ragvault.adapters.files import Translation, access_hint, disk_is_full
from ragvault.adapters.models import first_line
from ragvault.errors import (
    DiskFullError,
    IndexBusyError,
    RagvaultError,
    StoreDamagedError,
    StoreError,
)

_DAMAGED = Translation(StoreDamagedError, "The vector store {place} is damaged ({detail}).")
_FULL = Translation(DiskFullError, "The disk is full: the vector store {place} can't grow.")
_BUSY = Translation(IndexBusyError, "Another process is writing the vector store {place}.")
_DENIED = Translation(StoreError, "The vector store {place} can't be read or written ({detail}).")
_REJECTED = Translation(
    StoreError,
    "The vector store {place} refused the vectors ({detail}).",
    "If the embedding model was changed, run `ragvault index --full`.",
)
_GONE = Translation(
    StoreDamagedError, "The vector store {place} has lost what was asked for ({detail})."
)
_AUTH = Translation(
    StoreError,
    "The Chroma server {place} refused access ({detail}).",
    "Check store.headers in the config.",
)
_UNREACHABLE = Translation(
    StoreError,
    "The Chroma server {place} can't be reached ({detail}).",
    "Start it (`chroma run`), check store.host and store.port in the config, or set"
    " `store.mode: persistent`.",
)
_UNKNOWN = Translation(
    StoreError,
    "The vector store {place} failed ({detail}).",
    "Run `ragvault repair` to rebuild it.",
)

# The Rust core reports nearly everything as InternalError; its words tell what it was.
_BY_MESSAGE = (
    (r"\(code: 13\)|disk is full|no space left|os error 28|\b122\)", _FULL),
    (r"\(code: (?:5|6|261|517)\)|database is locked", _BUSY),
    (r"\(code: (?:3|8|14|23|\d*08|\d*14)\)|read-?only|permission denied|unable to open", _DENIED),
    (
        r"\(code: (?:11|26)\)|malformed|not a database|hnsw|pickle|finding id|getting embedding"
        r"|no such table|migration|corrupt|log store",
        _DAMAGED,
    ),
)
# By the name of a class or of one of its bases, the nearest first; tests hold it to
# chromadb.errors and httpx.
BY_CLASS: dict[str, Translation] = {
    "InvalidDimensionException": _REJECTED,
    "InvalidArgumentError": _REJECTED,
    "ChromaAuthError": _AUTH,
    "AuthorizationError": _AUTH,
    "NotFoundError": _GONE,
    "InternalError": _DAMAGED,
    "ChromaError": _UNKNOWN,
    "HTTPError": _UNREACHABLE,  # httpx: its transport errors and time-outs
    "InvalidURL": _UNREACHABLE,
    "StreamError": _UNREACHABLE,
    "CookieConflict": _UNREACHABLE,
    "gaierror": _UNREACHABLE,
    "ConnectionError": _UNREACHABLE,
    "TimeoutError": _UNREACHABLE,
    "PermissionError": _DENIED,
    "PanicException": _DAMAGED,  # a panic of the Rust core; derives from BaseException
}


def translate(error: BaseException, place: str, *, server: bool) -> RagvaultError:
    """The ragvault error for one raised by Chroma at ``place`` (a folder, or host:port)."""
    known = ((_row(link, server), link) for link in _chain(error))
    row, link = next(((row, link) for row, link in known if row), (_UNKNOWN, error))
    if row in (_DAMAGED, _UNKNOWN) and not server and disk_is_full(Path(place)):
        row = _FULL  # Chroma's compaction says only that it could not apply its log
    hint = access_hint(Path(place).parent) if row is _DENIED and not server else row.hint
    return row.kind(row.message.format(place=place, detail=first_line(link)), hint)


def _row(link: BaseException, server: bool) -> Translation | None:
    names = (kind.__name__ for kind in type(link).__mro__)
    row = next(filter(None, map(BY_CLASS.get, names)), None)
    if server:  # what is wrong behind it is not for this machine's `index --full`
        return _UNKNOWN if row is _DAMAGED else row
    # A log that can't be read is called an invalid argument.
    vague = (None, _DAMAGED, _REJECTED, _UNKNOWN)
    said = (told for pattern, told in _BY_MESSAGE if re.search(pattern, str(link), re.I))
    return next(said, row) if row in vague else row


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The innermost cause first: Chroma's client wraps what happened into a vague ValueError."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or link.__context__
    return reversed(links)
