"""From the words of the command line to a ``Request``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

from ragvault.cli.options import Filters, Ways
from ragvault.errors import QuestionError
from ragvault.model import Detail, Request

MAX_STDIN_CHARS = 100_000  # a question is limited far below this, in retrieval.max_question_chars


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
    filters: Filters,
    ways: Ways,
    now: datetime,
    *,
    k: int | None = None,
    detail: Detail = Detail.NORMAL,
) -> Request:
    """Raises UsageError for a time that can't be read, or a period that ends before it begins."""
    from ragvault.service import finding

    since, until = finding.period(filters.since, filters.until, now)
    return Request(
        question=question,
        vaults=tuple(filters.vault or ()),
        folders=tuple(filters.folder or ()),
        tags=tuple(filters.tag or ()),
        since=since,
        until=until,
        k=k,
        detail=detail,
        folder_select=None if ways.folder_select is None else str(ways.folder_select),
        expand=ways.expand,
        hyde=ways.hyde,
        rerank=ways.rerank,
    )
