"""From the words of the command line to a ``Request``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ragvault.cli.options import FolderSelect
from ragvault.errors import QuestionError
from ragvault.model import Detail, Request

MAX_STDIN_CHARS = 100_000  # a question is limited far below this, in retrieval.max_question_chars


@dataclass(frozen=True)
class Limits:
    """The filters and ways of searching that ``ask`` and ``search`` share, as they were typed."""

    vaults: Sequence[str] | None = None
    folders: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    since: str | None = None
    until: str | None = None
    folder_select: FolderSelect | None = None
    expand: bool | None = None
    hyde: bool | None = None
    rerank: bool | None = None


def question_of(words: Sequence[str]) -> str:
    """The words joined, or standard input for a single ``-``."""
    if list(words) != ["-"]:
        return " ".join(words)
    if sys.stdin is None or sys.stdin.isatty():
        raise QuestionError(
            "There is no question on standard input.", 'Pipe it in: `echo "…" | ragvault ask -`.'
        )
    return sys.stdin.read(MAX_STDIN_CHARS)


def request_of(
    question: str,
    limits: Limits,
    now: datetime,
    *,
    k: int | None = None,
    detail: Detail = Detail.NORMAL,
) -> Request:
    """Raises UsageError for a time that can't be read, or a period that ends before it begins."""
    from ragvault.flows import finding

    since, until = finding.period(limits.since, limits.until, now)
    return Request(
        question=question,
        vaults=tuple(limits.vaults or ()),
        folders=tuple(limits.folders or ()),
        tags=tuple(limits.tags or ()),
        since=since,
        until=until,
        k=k,
        detail=detail,
        folder_select=None if limits.folder_select is None else str(limits.folder_select),
        expand=limits.expand,
        hyde=limits.hyde,
        rerank=limits.rerank,
    )
