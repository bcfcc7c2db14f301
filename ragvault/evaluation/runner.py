"""One pass over the questions: each is searched, judged by the gate and, if wanted, answered.

Nothing is opened twice and no question is embedded twice: the stores and the model are those of
one container. Linear in the questions; what was found is reduced to values at once, so the
memory doesn't grow with the candidates.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING

from ragvault.errors import ModelError, NoIndexError, QuestionError, UsageError
from ragvault.evaluation.dataset import Question
from ragvault.evaluation.judging import (
    BLEND,
    BM25,
    VECTOR,
    QuestionResult,
    Ranking,
    Values,
    judge_answer,
    judge_ranking,
    ranking_of,
    ranking_of_chunks,
)
from ragvault.evaluation.places import Notes, notices
from ragvault.evaluation.printed import judge_printed
from ragvault.evaluation.summary import Evaluation, summarise
from ragvault.model import (
    AbstainReason,
    Abstention,
    Answer,
    AskResult,
    Filter,
    Query,
    Request,
    Retrieval,
    VaultInfo,
    collection_of,
)
from ragvault.service import search
from ragvault.service.ask import answer_of, ask
from ragvault.service.status import ollama_status
from ragvault.service.vaults import known_vaults

if TYPE_CHECKING:
    from ragvault.ports import Progress
    from ragvault.wiring import Container

ALONE_DEPTH = 100  # passages that a retriever ranks by itself
SHOWN_PASSAGES = 3
_NOTICE_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class RunOptions:
    """``each_retriever``: also rank by words alone and by meaning alone. ``use_model``: the model
    server writes the answers, where it is there. Without ``gate`` the questions are only ranked,
    several times faster: the gate judges quotes, and to choose these takes longer than to
    search."""

    each_retriever: bool = False
    use_model: bool = False
    gate: bool = True


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
    options: RunOptions,
    *,
    now: datetime,
    progress: Progress,
) -> Evaluation:
    """Ask every question of the set ``name`` of one vault. The notices are about gold that is
    nowhere, and those of the search that a fifth of the questions or more gave rise to, so about
    the index, not the question.

    The container's history has to be off: these questions are nobody's. Raises UsageError for
    a question that can't be asked, and what a search raises.
    """
    if options.use_model and ollama_status(container).problem is not None:
        options = replace(options, use_model=False)
    asker = _Asker(container, vault, options, now)
    started = time.perf_counter()
    results = []
    progress.start(vault.name, len(questions), "questions")
    try:
        for question in questions:
            results.append(asker.ask(question))
            progress.advance(1)
    finally:
        progress.finish()
    seconds = time.perf_counter() - started
    often = [line for line, n in asker.notices.items() if n >= _NOTICE_SHARE * len(results)]
    passages = cache(partial(container.catalog.note_chunks, vault.name))
    nowhere = notices(questions, passages, asker.notes)
    try:
        model = container.embedder.model
    except ModelError:
        model = ""
    summary = summarise(results)
    return Evaluation(name, vault, model, tuple(results), summary, seconds, (*nowhere, *often))


@dataclass
class _Asker:
    """What one run keeps between its questions."""

    container: Container
    vault: VaultInfo
    options: RunOptions
    now: datetime
    notices: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.notes = Notes(self.vault.path)

    def ask(self, question: Question) -> QuestionResult:
        started = time.perf_counter()
        try:
            retrieval, asked = self._searched(question)
        except QuestionError as error:
            raise UsageError(
                f"The question of line {question.line} can't be asked: {error.message}", error.hint
            ) from error
        self.notices.update(set(retrieval.notices))
        judgement = asked.judgement if asked else None
        outcome = asked.outcome if asked else None
        reason = str(outcome.reason) if isinstance(outcome, Abstention) else None
        values, mode = {}, None
        if isinstance(outcome, Answer) and outcome.mode == "none":  # small talk: no note answers
            reason = str(AbstainReason.NO_RELEVANT_CONTEXT)
        elif isinstance(outcome, Answer):
            values, mode = judge_answer(question, outcome, retrieval.hits), outcome.mode
        return QuestionResult(
            question=question,
            rankings=self._rankings(question, retrieval) if question.answerable else {},
            confidence=(judgement.confidence if judgement else 0.0) if self.options.gate else None,
            reason=reason,
            features=dict(judgement.features) if judgement else {},
            found=ranking_of(retrieval).passages[:SHOWN_PASSAGES],
            answer_values=values,
            mode=mode,
            seconds=time.perf_counter() - started,
            printed=judge_printed(question, asked) if asked else None,
        )

    def _searched(self, question: Question) -> tuple[Retrieval, AskResult | None]:
        request = Request(question.text, vaults=(self.vault.name,))
        if self.options.gate:
            asked = replace(request, use_model=self.options.use_model)
            result = answer_of(ask(self.container, asked, now=self.now))
            if result.retrieval is not None:  # None: small talk, answered from no note
                return result.retrieval, result
        return search.search(self.container, request, 1, now=self.now).retrieval, None

    def _rankings(self, question: Question, retrieval: Retrieval) -> dict[str, Values]:
        rankings = {BLEND: ranking_of(retrieval)}
        if self.options.each_retriever:
            rankings |= _alone(self.container, retrieval.query, self.vault.name)
        return {
            retriever: judge_ranking(question, ranking, self.notes)
            for retriever, ranking in rankings.items()
        }


def _alone(container: Container, query: Query, vault: str) -> dict[str, Ranking]:
    """The best of one vault by BM25 alone, and by the cosine alone where there is an embedding
    model: what the blend has to be better than. Raises StoreError."""
    catalog = container.catalog
    found = {BM25: catalog.lexical(query.terms, ALONE_DEPTH, Filter(vaults=(vault,)))}
    with suppress(ModelError):
        vector = container.embedder.embed_query(query.text)
        container.vectors.sync_to(catalog.generation)
        collection = collection_of(vault, container.embedder.fingerprint)
        found[VECTOR] = container.vectors.query(collection, vector, ALONE_DEPTH)
    stored = catalog.chunks({hit.chunk_id for hits in found.values() for hit in hits})
    return {
        retriever: ranking_of_chunks([stored[h.chunk_id] for h in hits if h.chunk_id in stored])
        for retriever, hits in found.items()
    }
