"""One pass over the questions: each is searched, judged by the gate and, if wanted, answered.

Nothing is opened twice and no question is embedded twice: the stores and the model are those of
one container. Linear in the questions; what was found is reduced to values at once, so the
memory doesn't grow with the candidates.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache, partial

from ragvault.errors import ModelError, NoIndexError, QuestionError, UsageError
from ragvault.evaluation.dataset import Question
from ragvault.evaluation.judging import (
    QuestionResult,
    judge_answer,
    judge_printed,
    judge_ranking,
    ranking_of,
)
from ragvault.evaluation.summary import Evaluation
from ragvault.model import (
    AbstainReason,
    Abstention,
    Answer,
    AskResult,
    Request,
    Retrieval,
    StoredChunk,
    VaultInfo,
)
from ragvault.ports import Progress
from ragvault.service import search
from ragvault.service.ask import answer_of, ask
from ragvault.service.status import ollama_status
from ragvault.service.vaults import known_vaults
from ragvault.wiring import Container

SHOWN_PASSAGES = 3
_NOTICE_SHARE = 0.2


def vault_for(
    container: Container, wanted: str | None, questions: Sequence[Question], name: str
) -> VaultInfo:
    """The vault named, or the only one. ``name`` is the set's, for the messages.

    Raises NoIndexError where there is none to ask, UsageError for an unknown one, where one has to
    be named, and when a gold note isn't in it.
    """
    vault, *others = known_vaults(container, [] if wanted is None else [wanted])
    if others:
        names = ", ".join(one.name for one in (vault, *others))
        raise UsageError("There are several vaults.", f"Choose with --vault: {names}.")
    if not vault.chunks:
        raise NoIndexError(
            f"There are no notes to search in {vault.name}.", "Run `ragvault index`."
        )
    paths = container.catalog.file_states(vault.name)
    for question in questions:
        for gold in question.gold if question.answerable else ():
            if gold.file not in paths:
                raise UsageError(
                    f"{name}:{question.line}: the note {gold.file!r} is not in the vault "
                    f"'{vault.name}'.",
                    "Name the right vault with --vault, or index it again: `ragvault index`.",
                )
    return vault


def evaluate(
    container: Container,
    name: str,
    vault: VaultInfo,
    questions: Sequence[Question],
    *,
    now: datetime,
    progress: Progress,
    use_model: bool = False,
    gate: bool = True,
) -> Evaluation:
    """Ask every question of the set ``name`` of one vault. The notices are about gold that is
    nowhere, and those of the search that a fifth of the questions or more gave rise to, so about
    the index, not the question.

    ``use_model``: the model server writes the answers, where it is there. Without ``gate`` the
    questions are only ranked, several times faster: the gate judges quotes, and to choose these
    takes longer than to search.
    The container's history has to be off: these questions are nobody's. Raises UsageError for
    a question that can't be asked, and what a search raises.
    """
    use_model = use_model and ollama_status(container).problem is None
    started = time.perf_counter()
    results: list[QuestionResult] = []
    told: Counter[str] = Counter()
    progress.start(vault.name, len(questions), "questions")
    try:
        for question in questions:
            begun = time.perf_counter()
            request = Request(question.text, vaults=(vault.name,), use_model=use_model)
            try:
                retrieval, asked = _searched(container, request, now, gate=gate)
            except QuestionError as error:
                raise UsageError(
                    f"The question of line {question.line} can't be asked: {error.message}",
                    error.hint,
                ) from error
            told.update(set(retrieval.notices))
            result = _judged(question, retrieval, asked, gate=gate)
            results.append(replace(result, seconds=time.perf_counter() - begun))
            progress.advance(1)
    finally:
        progress.finish()
    seconds = time.perf_counter() - started
    often = [line for line, n in told.items() if n >= _NOTICE_SHARE * len(results)]
    passages = cache(partial(container.catalog.note_chunks, vault.name))
    nowhere = misplaced(questions, passages)
    try:
        model = container.embedder.model
    except ModelError:
        model = ""
    return Evaluation(name, vault, model, tuple(results), seconds, (*nowhere, *often))


def misplaced(
    questions: Sequence[Question], passages: Callable[[str], Sequence[StoredChunk]]
) -> tuple[str, ...]:
    """A notice of the gold headings that no passage (of a note, by its path) stands under, with
    its first example: a miss by them must not look like a fault of the search. Linear in the gold
    notes' passages."""
    nowhere = [
        f"(line {question.line}: {gold.heading!r} in {gold.file})"
        for question in questions
        for gold in (question.gold if question.answerable else ())
        if gold.heading is not None and not any(map(gold.is_in, passages(gold.file)))
    ]
    if not nowhere:
        return ()
    said = f"The questions name {len(nowhere):,} gold heading{'s' * (len(nowhere) > 1)} that no"
    return (f"{said} passage stands right under; each counts as a miss {nowhere[0]}.",)


def _searched(
    container: Container, request: Request, now: datetime, *, gate: bool
) -> tuple[Retrieval, AskResult | None]:
    if gate:
        result = answer_of(ask(container, request, now=now))
        if result.retrieval is not None:  # None: small talk, answered from no note
            return result.retrieval, result
    return search.search(container, request, 1, now=now).retrieval, None


def _judged(
    question: Question, retrieval: Retrieval, asked: AskResult | None, *, gate: bool
) -> QuestionResult:
    judgement, outcome = (asked.judgement, asked.outcome) if asked else (None, None)
    reason = str(outcome.reason) if isinstance(outcome, Abstention) else None
    values, mode, ranking = {}, None, ranking_of(retrieval)
    if isinstance(outcome, Answer) and outcome.mode == "none":  # small talk: no note answers
        reason = str(AbstainReason.NO_RELEVANT_CONTEXT)
    elif isinstance(outcome, Answer):
        values, mode = judge_answer(question, outcome, retrieval.hits), outcome.mode
    return QuestionResult(
        question=question,
        ranking=judge_ranking(question, ranking) if question.answerable else {},
        confidence=(judgement.confidence if judgement else 0.0) if gate else None,
        reason=reason,
        features=dict(judgement.features) if judgement else {},
        found=ranking.passages[:SHOWN_PASSAGES],
        answer_values=values,
        mode=mode,
        printed=judge_printed(question, asked) if asked else None,
    )
