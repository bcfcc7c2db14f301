"""What Chroma, its Rust core and its HTTP client raise, as ragvault's errors: one table.

Matched by class name, over the chain of causes, so that nothing of Chroma is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragvault.adapters.files import CHECK_FOLDER, disk_is_full
from ragvault.adapters.models import first_line
from ragvault.errors import (
    DiskFullError,
    IndexBusyError,
    RagvaultError,
    StoreDamagedError,
    StoreError,
)


@dataclass(frozen=True, slots=True)
class Translation:
    """``message`` is formatted with {place} and {detail}; ``hint`` None is the class's own."""

    kind: type[RagvaultError]
    message: str
    hint: str | None = None


_DAMAGED = Translation(StoreDamagedError, "The vector store {place} is damaged ({detail}).")
_FULL = Translation(DiskFullError, "The disk is full: the vector store {place} can't grow.")
_BUSY = Translation(IndexBusyError, "Another process is writing the vector store {place}.")
_DENIED = Translation(
    StoreError,
    "The vector store {place} can't be read or written ({detail}).",
    CHECK_FOLDER,
)
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
_LIMITED = Translation(
    StoreError, "The Chroma server {place} is at its limit ({detail}).", "Try again later."
)
_VERSION = Translation(
    StoreError,
    "The vector store {place} and the installed chromadb don't go together ({detail}).",
    "Reinstall ragvault, or rebuild with `ragvault index --full`.",
)
_UNKNOWN = Translation(StoreError, "The vector store {place} failed ({detail}).")

# The Rust core reports nearly everything as InternalError; its words tell what it was.
BY_MESSAGE: tuple[tuple[re.Pattern[str], Translation], ...] = (
    (re.compile(r"\(code: 13\)|disk is full|no space left|os error 28|\b122\)", re.I), _FULL),
    (re.compile(r"\(code: (?:5|6|261|517)\)|database is locked", re.I), _BUSY),
    (
        re.compile(
            r"\(code: (?:3|8|14|23|\d*08|\d*14)\)|read-?only|permission denied|unable to open", re.I
        ),
        _DENIED,
    ),
    (
        re.compile(
            r"\(code: (?:11|26)\)|malformed|not a database|hnsw|pickle|finding id|getting embedding"
            r"|no such table|migration|corrupt",
            re.I,
        ),
        _DAMAGED,
    ),
)
# By the name of a class or of one of its bases; tests hold it to chromadb.errors and httpx.
BY_CLASS: dict[str, Translation] = {
    "InvalidDimensionException": _REJECTED,
    "IDAlreadyExistsError": _REJECTED,
    "DuplicateIDError": _REJECTED,
    "InvalidArgumentError": _REJECTED,
    "InvalidUUIDError": _REJECTED,
    "BatchSizeExceededError": _REJECTED,
    "UniqueConstraintError": _REJECTED,
    "ChromaAuthError": _AUTH,
    "AuthorizationError": _AUTH,
    "NotFoundError": _GONE,
    "InvalidHTTPVersion": _VERSION,
    "VersionMismatchError": _VERSION,
    "RateLimitError": _LIMITED,
    "QuotaError": _LIMITED,
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
    row, detail = _find(error, server)
    if row in (_DAMAGED, _UNKNOWN) and not server and disk_is_full(Path(place)):
        row = _FULL  # Chroma's compaction says only that it could not apply its log
    return row.kind(row.message.format(place=place, detail=detail), row.hint)


def _find(error: BaseException, server: bool) -> tuple[Translation, str]:
    chain = list(_chain(error))
    for link in chain:
        named = (
            BY_CLASS[kind.__name__] for kind in type(link).__mro__ if kind.__name__ in BY_CLASS
        )
        row = next(named, None)
        if row is None:
            continue
        if row in (_DAMAGED, _UNKNOWN):
            # What is wrong behind a server is not for this machine's `index --full`.
            row = _UNKNOWN if server else _by_message(link) or row
        return row, first_line(link)
    for link in chain:
        row = None if server else _by_message(link)
        if row is not None:
            return row, first_line(link)
    return _UNKNOWN, first_line(error)


def _by_message(error: BaseException) -> Translation | None:
    return next((row for pattern, row in BY_MESSAGE if pattern.search(str(error))), None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The innermost cause first: Chroma's client wraps what happened into a vague ValueError."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or link.__context__
    return reversed(links)
