"""A question to its answer: make it whole with the conversation before it, find, decide, answer,
remember. And where a note stood in it."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from ragvault.answering import pipeline as answering
from ragvault.answering.check.support import Embed
from ragvault.answering.citations.styles import PARTLY, STYLES, UNSUPPORTED
from ragvault.answering.confidence import LEAST_TRUST
from ragvault.answering.gate import Decision, decide
from ragvault.answering.page import AnswerRequest
from ragvault.errors import ModelError, UsageError
from ragvault.model import (
    Abstention,
    Answer,
    AskEvent,
    AskResult,
    ChatOptions,
    Done,
    Evidence,
    Hit,
    Message,
    Request,
    Retrieval,
    Retrieved,
    Strategy,
    Turn,
    shown_confidence,
)
from ragvault.retrieval.question import followup
from ragvault.retrieval.question.query import clean
from ragvault.service.history import keep
from ragvault.service.originals import Originals
from ragvault.service.search import retrieve
from ragvault.service.status import VaultLook
from ragvault.service.vaults import find_note
from ragvault.text import one_line, snippet
from ragvault.wiring import Container

_TURNS = 10  # that a question is asked with, at most
_ANSWER_CHARS = 400  # of an answer that a later one is asked with
_MARKS = "|".join(map(re.escape, (PARTLY, UNSUPPORTED)))
_CITATION = re.compile(rf"\s*(?:\[File: [^\]]*\]|\[\d+\]|{_MARKS})")

AskEvents: TypeAlias = Generator[AskEvent, None, None]


def ask(container: Container, request: Request, *, now: datetime, look: bool = False) -> AskEvents:
    """Find, decide, answer, remember: the events of an answer in the making. With ``look`` the
    vaults are walked meanwhile, to say what changed.

    Closing the generator ends the model's stream; nothing is kept then. Raises as the stages
    do. A history that can't be written costs a notice, not the answer.
    """
    started = time.perf_counter()
    if not request.use_notes:
        yield from _by_model_alone(container, request, now, started)
        return
    vaults = VaultLook(container, request.vaults) if look else None
    sought = searched_for(container, request, now)
    asked = replace(request, question=sought or request.question)
    retrieval = retrieve(container, asked, now=now, for_answer=True)
    originals, decision = Originals(container), None
    if not retrieval.is_small_talk:
        retrieval = originals.of(retrieval)
        embed = _embed(container, retrieval)
        decision = decide(retrieval, detail=request.detail, embed=embed, today=now.date())
    query, outcome = retrieval.query, decision.outcome if decision else None
    hits = outcome.hits if isinstance(outcome, Evidence) else ()
    yield Retrieved(retrieval, hits, sought)
    run = yield from _answered(container, request, retrieval, decision, now)
    looked = vaults.notices(originals.changed) if vaults else ()
    result = _result(
        one_line(request.question) if sought else query.asked,
        run,
        started,
        retrieval=None if retrieval.is_small_talk else retrieval,
        notices=(*retrieval.notices, *run.notices, *looked),
        quotes=decision.quotes if decision else (),
        judgement=decision.judgement if decision else None,
        terms=query.terms,
        language=query.language,
    )
    yield Done(keep(container, result, now, request.session))


def _result(question: str, run: answering.AnswerRun, started: float, **more: Any) -> AskResult:
    return AskResult(
        question=question,
        outcome=run.outcome,
        model=run.model,
        llm_ms=run.spent.ms,
        total_ms=(time.perf_counter() - started) * 1000,
        usage=run.spent.usage,
        **more,
    )


def answer_of(events: Iterable[AskEvent]) -> AskResult:
    """The end of it, for a caller that shows nothing on the way."""
    return next(event.result for event in events if isinstance(event, Done))


def _embed(container: Container, retrieval: Retrieval) -> Embed | None:
    return container.embedder.embed_documents if retrieval.by_vector else None


def _answered(
    container: Container,
    request: Request,
    retrieval: Retrieval,
    decision: Decision | None,
    now: datetime,
) -> answering.AnswerEvents:
    if decision is None:
        return (yield from answering.small_talk(retrieval.query.intent))
    outcome = decision.outcome
    if isinstance(outcome, Abstention):
        return answering.AnswerRun(outcome)
    settings = container.settings
    # A list of tasks is whole, and in order: there is nothing to tell of it.
    is_told = outcome.hits and retrieval.strategy is not Strategy.TASKS
    # Of a script that the model can't read all words are near to each other.
    is_read = retrieval.vocabulary_trust >= LEAST_TRUST
    return (
        yield from answering.answer(
            AnswerRequest(
                question=retrieval.query.text,
                evidence=outcome,
                settings=settings.answer,
                ollama=settings.ollama,
                chat=container.chat if request.use_model and is_told else None,
                detail=request.detail,
                neighbours=retrieval.neighbours,
                quotes=decision.quotes,
                reading=decision.reading,
                today=now.date(),
                style=STYLES[settings.citations.style],
                min_confidence=settings.gate.min_confidence,
                earlier=request.earlier,
                embed=_embed(container, retrieval) if is_read else None,
                beneath=settings.output.evidence,
            )
        )
    )


def _by_model_alone(
    container: Container, request: Request, now: datetime, started: float
) -> AskEvents:
    question, chat, ollama = clean(request.question), container.chat, container.settings.ollama
    run = yield from answering.alone(question, chat, ollama, request.earlier, now.date())
    result = _result(question, run, started, retrieval=None)
    yield Done(keep(container, result, now, request.session))


def turn_of(document: Mapping[str, Any]) -> Turn:
    """What a later question may go on from, of an answer as ``ask --json`` prints it."""
    places = [*document["references"], *(one for one in document["nearest"] if "text" in one)]
    place = places[0] if places else None
    asked = document["meta"]["retrieval"].get("searched_for") or document["question"]
    said = snippet(_CITATION.sub("", document["answer"]), _ANSWER_CHARS)
    if place is None:
        return Turn(asked, said)
    title = " ".join((PurePosixPath(place["rel_path"]).stem, *place["heading_path"]))
    return Turn(asked, said, (place["vault"], place["rel_path"]), title)


def turns_of(container: Container, session: str) -> tuple[Turn, ...]:
    """The last turns of a session; one that is called by a number goes on from that answer."""
    kept = container.history.entries(session=session, limit=_TURNS)
    if len(kept) < _TURNS and session.isdecimal():
        first = container.history.entry(int(session))
        kept += [first] if first is not None and first.session is None else []
    return tuple(turn_of(entry.document) for entry in reversed(kept))


def last_session(container: Container) -> str:
    """That of the newest answer; its number where it has none. Raises UsageError."""
    newest = container.history.entries(limit=1)
    if not newest:
        raise UsageError("There is no answer to go on from.", "Ask without --continue.")
    return newest[0].session or str(newest[0].id)


def searched_for(container: Container, request: Request, now: datetime) -> str:
    """The question as it can be understood without the turns before it; "" where it can already.

    A model of 4 billion parameters or more writes it, if there is one and it is quick, else a rule
    does (``retrieval.question.followup``). Raises QuestionError and StoreError.
    """
    if not request.earlier:
        return ""
    question = clean(request.question)
    before = request.earlier[-1]
    catalog = container.catalog

    def likeness(named: str, others: Sequence[str]) -> list[float]:
        rows = container.embedder.embed_documents([named, *others])
        return [float(row @ rows[0]) for row in rows[1:]]

    def holds(phrase: str) -> bool:
        return before.note in catalog.notes_with(phrase, before.note[:1] if before.note else ())

    languages = tuple(catalog.languages(request.vaults))
    try:
        ruled = followup.whole(question, before, now, languages, likeness=likeness, holds=holds)
    except ModelError:  # of the embedding model: the search says so
        ruled = followup.whole(question, before, now, languages, holds=holds)
    if ruled == question:
        return ""
    if not request.use_model:
        return ruled
    return _by_model(container, question, request.earlier) or ruled


def _by_model(container: Container, question: str, earlier: Sequence[Turn]) -> str:
    """As a large model writes it; "" when there is none, or what it writes can't be used."""
    settings = container.settings.ollama
    with suppress(ModelError):
        info = container.chat.info(settings.model)
        if info.parameters is None or info.parameters < answering.SMALL_MODEL:
            return ""
        options = ChatOptions(info.name, settings.max_context, 0.0, followup.REWRITE_TOKENS)
        asked = Message("user", followup.asked_to_complete(question, earlier))
        said = container.assistant.complete([asked], options)
        return followup.completed(said, question, earlier)
    return ""


def why(container: Container, note: str, request: Request, *, now: datetime) -> str:
    """Where a note stood, and what dropped it, in one paragraph. ``note`` is its path or its name,
    with or without the extension. Asks without a model, and keeps nothing where the history is
    off. Raises UsageError for a note that isn't indexed or a name that several have, and as
    ``ask``."""
    vault, rel_path = find_note(container, note, request.vaults)
    result = answer_of(ask(container, request, now=now))
    retrieval = result.retrieval
    if retrieval is None:
        return "Nothing was looked for: that is no question."
    chunks = len(container.catalog.note_chunks(vault, rel_path))
    looked_at = retrieval.candidates
    found = [hit for hit in looked_at if hit.chunk.place[:2] == (vault, rel_path)]
    name, outcome = one_line(rel_path), _outcome(result)
    if not found:
        of = "its passage wasn't" if chunks == 1 else f"none of its {chunks:,} passages was"
        reason = f"{of} near enough in meaning, nor held enough of the question's words"
        if retrieval.query.phrases:
            reason = "it doesn't hold what you put in quotation marks"
        if retrieval.strategy is Strategy.RECENT:
            reason = "only the newest notes were, of the time that was asked for if any"
        if retrieval.strategy is Strategy.TASKS:
            reason = "it holds no task of those that were asked for"
        if request.folders or request.tags or request.since or request.until:
            reason += ", or it is outside the limits that you set"
        among = f"the passages that were looked at ({len(looked_at):,})"
        return f"{name} isn't among {among}: {reason}. {outcome}"
    return f"{name}: {_rank_of(found[0], len(looked_at))} {_fate(found, result)} {outcome}"


def _rank_of(hit: Hit, candidates: int) -> str:
    chunk, scores = hit.chunk, hit.scores
    section = f" (“{one_line(chunk.heading_path[-1])}”)" if chunk.heading_path else ""
    parts = [f"{scores.final:.2f}"]
    if scores.vector is not None:
        parts.append(f"by meaning {scores.vector:.2f}")
    if scores.lexical is not None:
        parts.append(f"by words {scores.lexical:.2f}")
    return (
        f"its best passage, from line {chunk.start_line}{section}, is number {hit.rank} of "
        f"{candidates:,}, with a score of {', '.join(parts)}."
    )


def _fate(found: list[Hit], result: AskResult) -> str:
    kept = [hit for hit in found if hit.kept]
    if not kept and found[0].dropped_by:
        return f"It was not kept: {found[0].dropped_by.description}."
    if not isinstance(result.outcome, Answer):
        return "It was kept."
    ids = {hit.chunk.id for hit in kept}
    if any(quote.hit.chunk.id in ids for quote in result.quotes):
        return "It was kept, and quoted."
    return "It was kept, but what it holds matches the question less than what was quoted."


def _outcome(result: AskResult) -> str:
    outcome = result.outcome
    sure = shown_confidence(outcome.confidence)
    if isinstance(outcome, Answer):
        return f"The answer is quoted from {_notes(r.hit for r in outcome.references)} ({sure})."
    if outcome.passages:
        pointed = _notes(outcome.nearest[: len(outcome.passages)])
        return f"Nothing was quoted as an answer ({sure}): `ask` points at {pointed}."
    return f"There was no answer ({sure})."


def _notes(hits: Iterable[Hit]) -> str:
    return ", ".join(dict.fromkeys(one_line(hit.chunk.rel_path) for hit in hits))
