"""One pass over the questions: each is searched, judged by the gate and, if wanted, answered.

Nothing is opened twice and no question is embedded twice: the stores and the model are those of
one container. Linear in the questions; what was found is reduced to values at once, so the
memory doesn't grow with the candidates. What it comes to, as figures with intervals, and as JSON.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from ragvault.errors import ModelError, NoIndexError, QuestionError, UsageError
from ragvault.evaluation import metrics
from ragvault.evaluation.dataset import Question
from ragvault.evaluation.judging import (
    ANSWER_MEASURES,
    RANKING_MEASURES,
    Printed,
    QuestionResult,
    curve,
    judge_answer,
    judge_printed,
    judge_ranking,
    ranking_of,
    shares,
)
from ragvault.evaluation.metrics import Estimate
from ragvault.model import (
    AbstainReason,
    Abstention,
    Answer,
    AskResult,
    Request,
    Retrieval,
    VaultInfo,
)
from ragvault.ports import Progress
from ragvault.service import search
from ragvault.service.ask import answer_of, ask
from ragvault.service.json_objects import picked
from ragvault.service.status import ollama_status
from ragvault.service.vaults import known_vaults
from ragvault.text import snippet
from ragvault.wiring import Container

Estimates = dict[str, Estimate]  # by the measure's name

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
) -> Evaluation:
    """Ask every question of the set ``name`` of one vault. The notices are those of the search that
    a fifth of the questions or more gave rise to, so about the index, not the question.

    ``use_model``: the model server writes the answers, where it is there.
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
                asked = answer_of(ask(container, request, now=now))
                if (retrieval := asked.retrieval) is None:  # small talk, answered from no note
                    retrieval = search.search(container, request, 1, now=now).retrieval
            except QuestionError as error:
                raise UsageError(
                    f"The question of line {question.line} can't be asked: {error.message}",
                    error.hint,
                ) from error
            told.update(set(retrieval.notices))
            result = _judged(question, retrieval, asked)
            results.append(replace(result, seconds=time.perf_counter() - begun))
            progress.advance(1)
    finally:
        progress.finish()
    seconds = time.perf_counter() - started
    often = [line for line, n in told.items() if n >= _NOTICE_SHARE * len(results)]
    try:
        model = container.embedder.model
    except ModelError:
        model = ""
    return Evaluation(name, vault, model, tuple(results), seconds, tuple(often))


def _judged(question: Question, retrieval: Retrieval, asked: AskResult) -> QuestionResult:
    judgement, outcome = asked.judgement, asked.outcome
    reason = str(outcome.reason) if isinstance(outcome, Abstention) else None
    values, mode, ranking = {}, None, ranking_of(retrieval)
    if isinstance(outcome, Answer) and outcome.mode == "none":  # small talk: no note answers
        reason = str(AbstainReason.NO_RELEVANT_CONTEXT)
    elif isinstance(outcome, Answer):
        values, mode = judge_answer(question, outcome, retrieval.hits), outcome.mode
    return QuestionResult(
        question=question,
        ranking=judge_ranking(question, ranking) if question.answerable else {},
        confidence=judgement.confidence if judgement else 0.0,
        reason=reason,
        features=dict(judgement.features) if judgement else {},
        found=ranking.passages[:SHOWN_PASSAGES],
        answer_values=values,
        mode=mode,
        printed=judge_printed(question, asked),
    )


@dataclass(frozen=True)
class Evaluation:
    """One run, whole: the set's ``name``, what it was asked of, and what came of it. ``model`` is
    the embedding model; "" when only a server knows it that can't be asked."""

    name: str
    vault: VaultInfo
    model: str
    results: tuple[QuestionResult, ...]
    seconds: float = 0.0
    notices: tuple[str, ...] = ()

    @property
    def printed(self) -> list[tuple[Question, Printed]]:
        """The questions that say what a right answer is, or have none, with what they got."""
        if all(r.question.right is None for r in self.results):
            return []  # not such a set
        return [(r.question, r.printed) for r in self.results if r.printed is not None]

    @property
    def answerable(self) -> int:
        return sum(r.question.answerable for r in self.results)

    @property
    def ranking(self) -> Estimates:
        return _means(RANKING_MEASURES, [r.ranking for r in self.results])

    @property
    def answers(self) -> Estimates:
        return _means(ANSWER_MEASURES, [r.answer_values for r in self.results])

    @property
    def modes(self) -> dict[str, int]:
        """How many answers were made in which way."""
        return dict(sorted(Counter(r.mode for r in self.results if r.mode is not None).items()))

    @property
    def refusals(self) -> Estimates:
        """The DECISION_MEASURES."""
        said = np.array([r.confidence for r in self.results], np.float64)
        good = np.array([r.question.answerable for r in self.results], bool)
        refused = np.array([r.reason is not None for r in self.results], bool)
        found = {
            "false_answers": metrics.mean_of(np.where(~good, ~refused, np.nan)),
            "false_refusals": metrics.mean_of(np.where(good, refused, np.nan)),
            "auroc": metrics.auroc_of(said, good),
        }
        return {name: one for name, one in found.items() if one is not None}


def _means(measures: Iterable[str], values: Sequence[Mapping[str, float]]) -> Estimates:
    """Of each measure that applies to some question; ``values`` has one mapping a question."""
    found = {}
    for measure in measures:
        column = np.array([one.get(measure, np.nan) for one in values], dtype=np.float64)
        if (estimate := metrics.mean_of(column)) is not None:
            found[measure] = estimate
    return found


def evaluation_object(evaluation: Evaluation) -> dict[str, Any]:
    """What ``eval run --json`` prints. Every share lies in 0..1; an estimate is an object of
    value, low, high (its 95 % interval; null for a single question) and n."""
    vault, asked, answerable = evaluation.vault, len(evaluation.results), evaluation.answerable
    return {
        "kind": "evaluation",
        "set": {
            "name": evaluation.name,
            "questions": asked,
            "answerable": answerable,
            "unanswerable": asked - answerable,
        },
        "vault": {"name": vault.name, "notes": vault.notes, "passages": vault.chunks},
        "model": evaluation.model,
        "ranking": evaluation.ranking,
        "abstention": evaluation.refusals,
        "printed": shares(evaluation.printed),
        "printed_curve": curve(evaluation.printed),
        "answers": evaluation.answers,
        "answer_modes": evaluation.modes,
        "seconds": evaluation.seconds,
        "notices": evaluation.notices,
        "questions": [_question(result) for result in evaluation.results],
    }


def _question(result: QuestionResult) -> dict[str, Any]:
    found = [
        {
            **picked(one.chunk, "rel_path heading_path start_line end_line"),
            "snippet": snippet(one.chunk.text, 160),
        }
        for one in result.found
    ]
    return {
        **picked(result.question, "id lang answerable"),
        "question": result.question.text,
        "answered": result.reason is None,
        **picked(result, "reason confidence features ranking answer_values mode printed seconds"),
        "found": found,
    }
