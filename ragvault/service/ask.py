"""A question to its answer: find, decide, answer, remember."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from ragvault.model import (
    Abstention,
    AskEvent,
    AskResult,
    Done,
    Evidence,
    Quotation,
    Request,
    Retrieval,
    Retrieved,
)
from ragvault.service.history import keep
from ragvault.service.search import retrieve

if TYPE_CHECKING:
    from ragvault.answering.gate import Decision
    from ragvault.answering.pipeline import AnswerEvents
    from ragvault.service.status import VaultLook
    from ragvault.wiring import Container

AskEvents: TypeAlias = Generator[AskEvent, None, None]


def ask(
    container: Container, request: Request, *, now: datetime, look: VaultLook | None = None
) -> AskEvents:
    """Find, decide, answer, remember: the events of an answer in the making, with what ``look``
    has to say of the vaults.

    Closing the generator ends the model's stream; nothing is kept then. Raises as the stages
    do. A history that can't be written costs a notice, not the answer.
    """
    started = time.perf_counter()
    retrieval = retrieve(container, request, now=now, for_answer=True)
    if not retrieval.is_small_talk:
        from ragvault.service.originals import as_it_stands

        roots = {vault.name: vault.path for vault in container.catalog.vaults()}
        retrieval = as_it_stands(retrieval, roots)
    query = retrieval.query
    decision = None if retrieval.is_small_talk else _decided(container, retrieval, request, now)
    outcome = decision.outcome if decision else None
    hits = outcome.hits if isinstance(outcome, Evidence) else ()
    yield Retrieved(retrieval, hits)
    run = yield from _answered(container, request, retrieval, decision, now)
    quotes = decision.quotes if decision else ()
    result = AskResult(
        question=query.asked,
        outcome=run.outcome,
        retrieval=None if retrieval.is_small_talk else retrieval,
        model=run.model,
        llm_ms=run.spent.ms,
        total_ms=(time.perf_counter() - started) * 1000,
        usage=run.spent.usage,
        notices=(*retrieval.notices, *run.notices, *(look.notices() if look else ())),
        quotes=tuple(Quotation(q.hit, q.shown, q.share, q.cosine) for q in quotes),
        judgement=decision.judgement if decision else None,
        terms=query.terms,
    )
    yield Done(keep(container, result, now, request.session))


def answer_of(events: Iterable[AskEvent]) -> AskResult:
    """The end of it, for a caller that shows nothing on the way."""
    result = None
    for event in events:
        if isinstance(event, Done):
            result = event.result
    assert result is not None, "ask ends with Done or raises"
    return result


def _decided(
    container: Container, retrieval: Retrieval, request: Request, now: datetime
) -> Decision:
    from ragvault.answering.gate import decide

    return decide(
        retrieval.findings,
        retrieval.neighbours,
        detail=request.detail,
        embed=container.embedder.embed_documents if retrieval.by_vector else None,
        today=now.date(),
    )


def _answered(
    container: Container,
    request: Request,
    retrieval: Retrieval,
    decision: Decision | None,
    now: datetime,
) -> AnswerEvents:
    from ragvault.answering import pipeline as answering
    from ragvault.answering.citations.styles import STYLES

    if decision is None:
        return (yield from answering.small_talk(retrieval.query.intent))
    outcome = decision.outcome
    if isinstance(outcome, Abstention):
        return answering.AnswerRun(outcome)
    settings = container.settings
    return (
        yield from answering.answer(
            answering.AnswerRequest(
                question=retrieval.query.text,
                evidence=outcome,
                settings=settings.answer,
                ollama=settings.ollama,
                chat=container.chat if request.use_model and outcome.hits else None,
                detail=request.detail,
                neighbours=retrieval.neighbours,
                quotes=decision.quotes,
                today=now.date(),
                style=STYLES[settings.citations.style],
                min_confidence=settings.gate.min_confidence,
            )
        )
    )
