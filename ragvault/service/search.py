"""A question to its passages."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from ragvault.errors import UsageError
from ragvault.model import Hit, Request, Retrieval

if TYPE_CHECKING:
    from ragvault.answering.quote.extract import Embed
    from ragvault.config.settings import Settings
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

    ``for_answer``: with what an answer is decided on, so that the gate can judge it. Raises
    QuestionError for a question that can't be asked, NoIndexError, StoreError, and ModelError
    where the request insists on a model that isn't there.
    """
    from ragvault.retrieval import pipeline
    from ragvault.retrieval.question.query import analyse

    settings = container.settings
    query = analyse(request.question, now)
    wants_model = _wants_model(request, settings)
    deps = pipeline.Deps(
        catalog=container.catalog,
        embedder=lambda: container.embedder,
        vector_index=lambda: container.vectors,
        chat=container.chat if wants_model else None,
        reranker=container.reranker(request.rerank),
    )
    started = time.perf_counter()
    retrieval = pipeline.retrieve(
        request, query=query, deps=deps, settings=settings, now=now, for_answer=for_answer
    )
    if for_answer:
        retrieval = _looked_closer(container, retrieval)
    # The parts run side by side: their sum is not the time that went by.
    timings = {**retrieval.timings_ms, "total": (time.perf_counter() - started) * 1000}
    return replace(retrieval, timings_ms=timings)


def _wants_model(request: Request, settings: Settings) -> bool:
    """Whether the search itself, not only the answer, is to ask the chat model."""
    retrieval = settings.retrieval
    by_model = (request.folder_select or retrieval.folder_select) == "llm"
    expand = retrieval.expand if request.expand is None else request.expand
    hyde = retrieval.hyde if request.hyde is None else request.hyde
    return by_model or expand or hyde


def _looked_closer(container: Container, retrieval: Retrieval) -> Retrieval:
    """With the closeness that the gate goes by, where the search had an embedding model that can
    read the question: otherwise the gate goes by the words, and the look would be for nothing."""
    from ragvault.retrieval.confidence.calibration import LEAST_TRUST
    from ragvault.retrieval.confidence.closeness import measure

    embed = embed_of(container, retrieval)
    hits = [h for h in retrieval.hits if h.is_ranked]
    if embed is None or not hits or retrieval.vector_trust < LEAST_TRUST:
        return retrieval
    started = time.perf_counter()
    closeness = measure(retrieval.query.sought, hits, container.embedder)
    timings = {**retrieval.timings_ms, "closeness": (time.perf_counter() - started) * 1000}
    return replace(retrieval, closeness=closeness, timings_ms=timings)


def embed_of(container: Container, retrieval: Retrieval) -> Embed | None:
    """The embedder for choosing quotations; None where the search had to do without it."""
    if "embed" not in retrieval.timings_ms or retrieval.strategy == "keyword_recency":
        return None
    return container.embedder.embed_documents


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
