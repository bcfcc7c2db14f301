"""A question to its answer: find, decide, answer, remember."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from ragvault.errors import StoreError
from ragvault.model import (
    Abstention,
    Answer,
    AskResult,
    GateOutcome,
    Hit,
    Intent,
    LoggedAnswer,
    Request,
    Retrieval,
)
from ragvault.service.calibration import gate_calibration
from ragvault.service.search import embed_of, retrieve

if TYPE_CHECKING:
    from ragvault.wiring import Container


@dataclass(frozen=True, slots=True)
class AskOptions:
    """``use_model`` False: quote the notes, ask no model. ``on_evidence`` is told the hits that
    may be cited, before any text; ``on_text`` gets the answer's text as it comes."""

    use_model: bool = True
    on_evidence: Callable[[Sequence[Hit]], None] | None = None
    on_text: Callable[[str], None] | None = None
    session: str | None = None


def ask(container: Container, request: Request, options: AskOptions, *, now: datetime) -> AskResult:
    """Find, decide, answer, remember. Raises as the stages do.

    A log that can't be written costs a notice, not the answer.
    """
    from ragvault.answering import pipeline as answering

    started = time.perf_counter()
    retrieval = retrieve(container, request, now=now, for_answer=True)
    query = retrieval.query
    is_small_talk = query.intent in (Intent.GREETING, Intent.THANKS)
    outcome = None if is_small_talk else _decide(container, retrieval)
    hits = outcome.hits if outcome is not None and not isinstance(outcome, Abstention) else ()
    if options.on_evidence is not None:
        options.on_evidence(hits)
    settings = container.settings
    neighbours = _beside(container, retrieval, hits)
    run = answering.answer(
        query.text,
        outcome,
        chat=container.chat if options.use_model and hits else None,
        settings=settings.answer,
        ollama=settings.ollama,
        detail=request.detail,
        intent=query.intent,
        embed=embed_of(container, retrieval),
        neighbours=neighbours,
        on_text=options.on_text,
        today=now.date(),
    )
    retrieval = _with_beside(retrieval, neighbours)
    result = AskResult(
        question=query.text,
        outcome=run.outcome,
        retrieval=None if is_small_talk else retrieval,
        id=uuid.uuid4().hex,
        model=run.model,
        llm_ms=run.llm_ms,
        total_ms=(time.perf_counter() - started) * 1000,
        usage=run.usage,
        notices=(*retrieval.notices, *run.notices),
    )
    return _logged(container, result, now, options.session)


def _decide(container: Container, retrieval: Retrieval) -> GateOutcome:
    from ragvault.retrieval.confidence.gate import decide

    return decide(retrieval, container.settings, gate_calibration(container))


def _beside(
    container: Container, retrieval: Retrieval, hits: Sequence[Hit]
) -> dict[str, tuple[Hit, ...]]:
    """The chunks around those that may be answered from, as ``answer.neighbours`` says. There are
    none to speak of around the first chunks of recent notes."""
    from ragvault.retrieval.candidates.neighbours import around

    wanted = container.settings.answer
    if not hits or retrieval.strategy == "recent":
        return {}
    return around(container.catalog, hits, retrieval.hits, wanted.neighbours, wanted.neighbours_for)


def _with_beside(retrieval: Retrieval, neighbours: Mapping[str, Sequence[Hit]]) -> Retrieval:
    """The neighbours that the search didn't find itself come after the candidates, for
    ``--debug`` and for whatever looks a cited chunk up."""
    known = {hit.chunk.id for hit in retrieval.hits}
    lent = [hit for beside in neighbours.values() for hit in beside if hit.chunk.id not in known]
    ranked = (replace(hit, rank=rank) for rank, hit in enumerate(lent, len(known) + 1))
    return replace(retrieval, hits=(*retrieval.hits, *ranked))


def _logged(
    container: Container, result: AskResult, now: datetime, session: str | None
) -> AskResult:
    if not container.settings.answer.log:
        return result
    try:
        container.catalog.log_answer(log_row(result, now, session))
    except StoreError as error:
        notice = f"The answer could not be kept in the log: {error.message}"
        return replace(result, notices=(*result.notices, notice))
    return result


def log_row(result: AskResult, now: datetime, session: str | None = None) -> LoggedAnswer:
    """What the answer log keeps of an answer."""
    outcome = result.outcome
    answer = outcome if isinstance(outcome, Answer) else None
    abstention = outcome if isinstance(outcome, Abstention) else None
    timings = result.retrieval.timings_ms if result.retrieval else {}
    return LoggedAnswer(
        id=result.id,
        asked_at=now.timestamp(),
        session=session,
        question=result.question,
        answer=answer.text if answer else "",
        abstain_reason=str(abstention.reason) if abstention else None,
        mode=answer.mode if answer else "none",
        model=result.model,
        confidence=outcome.confidence,
        citations=tuple(
            (
                reference.marker,
                reference.hit.chunk.id,
                reference.hit.chunk.vault,
                reference.hit.chunk.rel_path,
                " > ".join(reference.hit.chunk.heading_path),
                reference.hit.chunk.start_line,
                reference.hit.chunk.end_line,
                reference.snippet,
                reference.hit.scores.final,
            )
            for reference in (answer.references if answer else ())
        ),
        retrieval_ms=timings.get("total"),
        llm_ms=result.llm_ms,
        total_ms=result.total_ms,
        prompt_tokens=result.usage.prompt_tokens,
        completion_tokens=result.usage.completion_tokens,
    )


def citation_of(hit: Hit) -> str:
    """The canonical citation of a hit, as ``Answer.text`` holds it."""
    from ragvault.answering.citations.parse import canonical

    return canonical(hit)
