"""One pass over the questions: each is searched, judged by the gate and, if wanted, answered.

Nothing is opened twice and no question is embedded twice: the stores and the model are those of
one container. Linear in the questions; what was found is reduced to values at once, so the
memory doesn't grow with the candidates.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from ragvault.errors import ModelError, QuestionError, UsageError
from ragvault.evaluation.dataset import Question
from ragvault.evaluation.judging import (
    judge_answer,
    judge_ranking,
    ranking_of,
    ranking_of_chunks,
)
from ragvault.evaluation.memo import remembering
from ragvault.evaluation.places import Notes
from ragvault.evaluation.results import BLEND, BM25, VECTOR, LegResult, Passage, QuestionResult
from ragvault.model import Abstention, Answer, Request, Retrieval, VaultInfo
from ragvault.service import asking, measuring, search
from ragvault.text import snippet

if TYPE_CHECKING:
    from ragvault.wiring import Container

LEG_DEPTH = 100  # passages that a leg ranks by itself
_NOTICE_SHARE = 0.2
FOUND = 3  # passages kept for the list of the worst questions


@dataclass(frozen=True, slots=True)
class RunOptions:
    """``legs`` are those to rank by, of LEGS. ``answers``: also answer; ``use_model``: with the
    model server, which has to be there (``health.server_is_there``). Without ``gate`` the questions
    are only ranked, several times faster: the gate takes a closer look at what it judges."""

    legs: tuple[str, ...] = (BLEND,)
    answers: bool = False
    use_model: bool = False
    gate: bool = True


@dataclass(frozen=True, slots=True)
class Run:
    """The results in the order of the questions. ``notices`` are the search's, each once: those
    that a fifth of the questions or more gave rise to, so about the index, not the question."""

    results: tuple[QuestionResult, ...]
    notices: tuple[str, ...]
    seconds: float


def run(
    container: Container,
    vault: VaultInfo,
    questions: Sequence[Question],
    options: RunOptions,
    *,
    now: datetime,
    advance: Callable[[], None] = lambda: None,
) -> Run:
    """Ask every question of one vault. ``advance`` is called after each.

    The container's answer log has to be off: these questions are nobody's. Raises UsageError for
    a question that can't be asked, and what a search raises.
    """
    with suppress(ModelError):  # no model: the search does without, and says so
        container.embedder = remembering(container.embedder)
    asker = _Asker(container, vault, options, now)
    started = time.perf_counter()
    results = []
    for question in questions:
        results.append(asker.ask(question))
        advance()
    often = [line for line, n in asker.notices.items() if n >= _NOTICE_SHARE * len(results)]
    return Run(tuple(results), tuple(often), time.perf_counter() - started)


class _Asker:
    """What one run keeps between its questions."""

    def __init__(
        self, container: Container, vault: VaultInfo, options: RunOptions, now: datetime
    ) -> None:
        self.container = container
        self.vault = vault
        self.options = options
        self.now = now
        self.notes = Notes(vault.path)
        self.notices: Counter[str] = Counter()

    def ask(self, question: Question) -> QuestionResult:
        started = time.perf_counter()
        try:
            retrieval, answer = self._searched(question)
        except QuestionError as error:
            raise UsageError(
                f"The question of line {question.line} can't be asked: {error.message}", error.hint
            ) from error
        self.notices.update(set(retrieval.notices))
        if not self.options.gate:
            legs = dict(self._legs(question, retrieval))
            seconds = time.perf_counter() - started
            found = _passages(retrieval)
            return QuestionResult(
                question, legs, 0.0, None, {}, found, seconds=seconds, gated=False
            )
        judged = measuring.judge(self.container, retrieval)
        reason = str(judged.outcome.reason) if isinstance(judged.outcome, Abstention) else None
        if isinstance(answer, Abstention):  # the gate let it pass and the answering stage didn't
            reason = str(answer.reason)
        values = (
            judge_answer(question, answer, retrieval.hits) if isinstance(answer, Answer) else {}
        )
        return QuestionResult(
            question=question,
            legs=dict(self._legs(question, retrieval)),
            confidence=judged.confidence,
            reason=reason,
            features=judged.features,
            found=_passages(retrieval),
            answer_values=values,
            mode=answer.mode if isinstance(answer, Answer) else None,
            seconds=time.perf_counter() - started,
            by_model=judged.by_model,
        )

    def _searched(self, question: Question) -> tuple[Retrieval, Answer | Abstention | None]:
        request = Request(question.text, vaults=(self.vault.name,))
        if not self.options.gate:
            return search.search(self.container, request, 1, now=self.now).retrieval, None
        if not self.options.answers:
            return search.retrieve(self.container, request, now=self.now, for_answer=True), None
        request = replace(request, use_model=self.options.use_model)
        asked = asking.answer_of(asking.ask(self.container, request, now=self.now))
        if asked.retrieval is None:  # small talk: it is answered, but from no note
            return search.retrieve(self.container, request, now=self.now, for_answer=True), None
        return asked.retrieval, asked.outcome

    def _legs(self, question: Question, retrieval: Retrieval) -> Iterable[tuple[str, LegResult]]:
        if not question.answerable:
            return
        rankings = {BLEND: ranking_of(retrieval)}
        if {BM25, VECTOR} & set(self.options.legs):
            legs = measuring.single_legs(
                self.container, retrieval.query, self.vault.name, LEG_DEPTH
            )
            rankings[BM25] = ranking_of_chunks(legs.by_keyword)
            if legs.by_vector is not None:
                rankings[VECTOR] = ranking_of_chunks(legs.by_vector)
        for leg in self.options.legs:
            if leg in rankings:
                yield leg, judge_ranking(question, rankings[leg], self.notes)


def _passages(retrieval: Retrieval) -> tuple[Passage, ...]:
    ranking = ranking_of(retrieval)
    finals = {hit.chunk.id: hit.scores.final for hit in retrieval.hits}
    return tuple(
        Passage(
            rel_path=stored.chunk.rel_path,
            heading_path=stored.chunk.heading_path,
            start_line=stored.chunk.start_line,
            end_line=stored.chunk.end_line,
            snippet=snippet(stored.chunk.text, 160),
            score=finals.get(stored.chunk.id),
        )
        for stored in ranking.passages[:FOUND]
    )
