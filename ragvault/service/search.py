"""A question to its passages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ragvault.errors import UsageError
from ragvault.model import Hit, Request, Retrieval

if TYPE_CHECKING:
    from ragvault.wiring import Container


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A search's hits, best first, and the retrieval that they come from."""

    hits: tuple[Hit, ...]
    retrieval: Retrieval


def search(container: Container, request: Request, n: int, *, now: datetime) -> SearchResult:
    """The ``n`` best passages, without the floor that an answer needs. Raises as ``retrieve``."""
    from ragvault.retrieval.pipeline import ranked_hits

    retrieval = retrieve(container, request, now=now, for_answer=False)
    return SearchResult(ranked_hits(retrieval, n), retrieval)


def retrieve(
    container: Container, request: Request, *, now: datetime, for_answer: bool
) -> Retrieval:
    """Every candidate in rank order; nothing is answered or logged.

    ``for_answer``: with the gate's judgement, and what may be answered from beside the hits.
    Raises QuestionError for a question that can't be asked, NoIndexError, StoreError, ConfigError
    for a calibration that can't be used, and ModelError where the request insists on a model that
    isn't there.
    """
    from ragvault.retrieval import pipeline
    from ragvault.retrieval.context import EXACT_LIMIT
    from ragvault.retrieval.question.query import analyse
    from ragvault.service.calibration import gate_calibration

    store = container.settings.store
    asks_store = store.search == "chroma" or store.mode == "http"  # a server was set up to be asked
    deps = pipeline.Deps(
        catalog=container.catalog,
        embedder=lambda: container.embedder,
        vector_index=lambda: container.vectors,
        chat=lambda: container.chat,
        reranker=container.reranker(request.rerank),
        exact_limit=0 if asks_store else EXACT_LIMIT,
    )
    return pipeline.retrieve(
        request,
        query=analyse(request.question, now),
        deps=deps,
        settings=container.settings_in_force,
        now=now,
        calibration=(lambda: gate_calibration(container)) if for_answer else None,
    )


def period(
    since: str | None, until: str | None, now: datetime
) -> tuple[float | None, float | None]:
    """``--since`` and ``--until`` as seconds. Raises UsageError for what is no time."""
    from ragvault.retrieval.question.timehints import parse_when

    start = None if since is None else parse_when(since, now, False)
    end = None if until is None else parse_when(until, now, True)
    if start is not None and end is not None and start > end:
        raise UsageError(f"--since {since} is after --until {until}.", "Swap the two.")
    return start, end
