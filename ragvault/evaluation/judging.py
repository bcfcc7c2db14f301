"""What one question comes to: its ranking against the gold places, its answer against both, and
what is printed against the patterns that a right answer matches: the score of a personal set
(evals/README.md).

A right answer may print a neighbouring line that the tempting wrong one matches, so ``right``
decides alone. Beneath what a model writes stand the lines that it rests on and the quotes: they
count as printed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from ragvault.evaluation import metrics
from ragvault.evaluation.dataset import Question, folded
from ragvault.model import (
    Abstention,
    Answer,
    AskResult,
    CitationStatus,
    DroppedBy,
    Hit,
    Retrieval,
    StoredChunk,
)
from ragvault.model.retrieval import Described
from ragvault.text import sentence_spans

Values = dict[str, float]  # by the measure's name

# The measures in the order in which they are shown, with the words for a person.
RANKING_MEASURES = {
    "ndcg@10": "nDCG@10",
    "mrr@10": "MRR@10",
    "recall@3": "recall@3",
    "recall@8": "recall@8",
    "precision@1": "precision@1",
    "precision@3": "precision@3",
    "precision@8": "precision@8",
    "file_hit@5": "note among the first 5",
    "section_hit@5": "section among the first 5",
}
DECISION_MEASURES = {
    "false_answers": "answered without an answer there",
    "false_refusals": "refused though the answer is there",
    "auroc": "AUROC of the confidence",
}
ANSWER_MEASURES = {
    "citation_valid": "citations that resolve",
    "citation_accuracy": "citations of the right place",
    "groundedness": "statements that the notes hold",
}
LABELS = {**RANKING_MEASURES, **DECISION_MEASURES, **ANSWER_MEASURES}


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """``ranking``: RANKING_MEASURES; empty for a question without an answer. ``reason`` is why it
    was refused, None when it was answered. ``found`` are the first passages. ``answer_values`` are
    the ANSWER_MEASURES that apply; ``mode`` is how the answer was made. ``printed`` is None where
    the set doesn't say what a right answer is.
    """

    question: Question
    ranking: Values
    confidence: float
    reason: str | None = None
    features: dict[str, float] = field(default_factory=dict)
    found: tuple[StoredChunk, ...] = ()
    answer_values: Values = field(default_factory=dict)
    mode: str | None = None
    seconds: float = 0.0
    printed: Printed | None = None


TOP_PASSAGES = 5  # what a person looks at, and an answer is usually made from


@dataclass(frozen=True, slots=True)
class Ranking:
    """The notes, best first by their best passage, and the first passages.

    ``places`` are these and those elsewhere where the text of one of them stands word for word,
    shown once. They count as shown: whoever wants what stands there has read it.
    """

    notes: tuple[str, ...]
    passages: tuple[StoredChunk, ...]
    places: tuple[StoredChunk, ...]


def ranking_of(retrieval: Retrieval) -> Ranking:
    """What a search lists (``Retrieval.ranked``), with the copies folded into each hit."""
    listed = [hit.stored for hit in retrieval.ranked]
    passages = tuple(listed[:TOP_PASSAGES])
    texts = {folded(stored.chunk.text) for stored in passages}
    folds = [hit.stored for hit in retrieval.candidates if hit.dropped_by is DroppedBy.DUPLICATE]
    copies = (stored for stored in folds if folded(stored.chunk.text) in texts)
    notes = [(hit.chunk.rel_path, *hit.duplicates) for hit in retrieval.ranked]
    return Ranking(tuple(dict.fromkeys(chain.from_iterable(notes))), passages, (*passages, *copies))


def judge_ranking(question: Question, ranking: Ranking) -> Values:
    """All measures that apply, each in 0..1: the section's only where gold says as much."""
    relevant = {gold.file for gold in question.gold}
    ranked = ranking.notes
    values = {
        "ndcg@10": metrics.ndcg(ranked, relevant, 10),
        "mrr@10": metrics.reciprocal_rank(ranked, relevant, 10),
        **{f"recall@{k}": metrics.recall(ranked, relevant, k) for k in (3, 8)},
        **{f"precision@{k}": metrics.precision(ranked, relevant, k) for k in (1, 3, 8)},
        "file_hit@5": float(any(p.chunk.rel_path in relevant for p in ranking.places)),
    }
    if any(gold.heading is not None or gold.line is not None for gold in question.gold):
        values["section_hit@5"] = float(question.is_in(ranking.places))
    return values


def judge_answer(question: Question, answer: Answer, hits: Sequence[Hit]) -> dict[str, float]:
    """``citation_valid``: citations that resolve, of all that were made. ``citation_accuracy``:
    those that resolve to a gold place (section if given, else note), of all that resolve; only
    for answerable questions. ``groundedness``: statements of a model that the notes hold."""
    values: dict[str, float] = {}
    cited = [c for c in answer.citations if c.status is not CitationStatus.REMOVED]
    if answer.citations:
        values["citation_valid"] = len(cited) / len(answer.citations)
    by_id = {hit.chunk.id: hit.stored for hit in hits}
    places = [by_id[c.chunk_id] for c in cited if c.chunk_id in by_id]
    if question.answerable and places:
        values["citation_accuracy"] = sum(question.is_in([p]) for p in places) / len(places)
    if (grounded := groundedness(answer)) is not None:
        values["groundedness"] = grounded
    return values


def groundedness(answer: Answer) -> float | None:
    """The share of a written answer's statements that the checks of the answering stage found
    supported. None for quotes, and where nothing is said."""
    statements = len(sentence_spans(_without_citations(answer).strip()))
    if answer.mode == "extractive" or not statements:
        return None
    return 1.0 - min(len(answer.unsupported), statements) / statements


def _without_citations(answer: Answer) -> str:
    text = answer.text
    for citation in answer.citations:
        text = text.replace(citation.raw, "")
    return text


FIRST = 10  # passages
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # of the curve


class Verdict(Described):
    """What a person got, in the order of preference, of a question with an answer; then without."""

    RIGHT = "right", "right answer printed"
    POINTED = "pointed", "right passage pointed at"
    ELSEWHERE = "elsewhere", "pointed elsewhere"
    REFUSED = "refused", "nothing, though it is there"
    WRONG_WARNED = "wrong_warned", "wrong, with a warning"
    WRONG = "wrong", "wrong, without one"
    NOTHING = "nothing", "rightly nothing"
    POINTED_NEAR = "pointed_near", "pointed at what is near"
    FALSE_WARNED = "false_warned", "answered, with a warning"
    FALSE = "false", "answered, without one"


OF_ANSWERABLE = tuple(Verdict)[:6]
OF_OTHERS = tuple(Verdict)[6:]


@dataclass(frozen=True, slots=True)
class Printed:
    """``quotes_right``: the quotes that were judged hold the answer, printed or not; ``warned``:
    the answer carries a caveat; ``confidence`` is that of the quotes. ``there``: the answer stands
    on the page, in an answer or in what is shown beside one; ``found``: among the ten passages
    that rank first."""

    verdict: Verdict
    warned: bool
    quotes_right: bool
    confidence: float
    there: bool = False
    found: bool = False


def judge_printed(question: Question, result: AskResult) -> Printed | None:
    """None for an answerable question that doesn't say what a right answer is."""
    right = question.right
    if question.answerable and right is None:
        return None
    outcome = result.outcome
    warned = isinstance(outcome, Answer) and bool(outcome.caveats)
    quotes = "\n".join(quote.shown for quote in result.quotes)
    verdict = _verdict(question, outcome, quotes, warned=warned)
    beside = (*outcome.references, *outcome.also) if isinstance(outcome, Answer) else ()
    first = [hit for hit in result.retrieval.hits if hit.is_ranked] if result.retrieval else []
    return Printed(
        verdict=verdict,
        warned=warned,
        quotes_right=matches(right, quotes),
        confidence=result.judgement.confidence if result.judgement else outcome.confidence,
        there=verdict in (Verdict.RIGHT, Verdict.POINTED)
        or matches(right, "\n".join(one.evidence for one in beside)),
        found=question.is_in(hit.stored for hit in first[:FIRST]),
    )


def _verdict(
    question: Question, outcome: Answer | Abstention, quotes: str, *, warned: bool
) -> Verdict:
    if isinstance(outcome, Answer):
        if not question.answerable:
            return Verdict.FALSE_WARNED if warned else Verdict.FALSE
        text = _without_citations(outcome)
        if outcome.mode == "llm":
            text = "\n".join((text, *(one.evidence for one in outcome.references), quotes))
        if matches(question.right, text):
            return Verdict.RIGHT
        return Verdict.WRONG_WARNED if warned else Verdict.WRONG
    if not outcome.passages:
        return Verdict.REFUSED if question.answerable else Verdict.NOTHING
    if not question.answerable:
        return Verdict.POINTED_NEAR
    # Of the others, only lines are shown.
    is_there = question.is_in(hit.stored for hit in outcome.nearest[:1])
    is_there = is_there or matches(question.right, "\n".join(outcome.passages))
    return Verdict.POINTED if is_there else Verdict.ELSEWHERE


def matches(pattern: str | None, text: str) -> bool:
    """Tables are shown without their bars, which a pattern over the notes may ask for."""
    flags = re.IGNORECASE | re.DOTALL
    both = (text, text.replace(" · ", " | "))
    return pattern is not None and any(re.search(pattern, one, flags) for one in both)


@dataclass(frozen=True, slots=True)
class Share:
    """``count`` of ``of`` questions."""

    label: str
    count: int
    of: int

    @property
    def value(self) -> float:
        return self.count / self.of


def shares(asked: Iterable[tuple[Question, Printed]]) -> list[Share]:
    """Every verdict over the questions that it can be of; the foreign ones apart."""
    pairs = list(asked)
    answerable = [one for q, one in pairs if q.answerable]
    near = [one for q, one in pairs if not q.answerable and not q.off_topic]
    foreign = [one for q, one in pairs if q.off_topic]
    right = [one for one in answerable if one.verdict is Verdict.RIGHT]
    listed = [one for one in answerable if one.found]
    there, sure = "right answer or right passage printed", "right answers without a warning"
    found = [
        *_verdicts("", answerable, OF_ANSWERABLE),
        Share(there, sum(one.there for one in answerable), len(answerable)),
        Share("the same, of those in the first ten", sum(o.there for o in listed), len(listed)),
        Share(sure, sum(not one.warned for one in right), len(right)),
        *_verdicts("no answer there: ", near, OF_OTHERS),
        *_verdicts("foreign: ", foreign, OF_OTHERS),
    ]
    return [one for one in found if one.of]


def _verdicts(prefix: str, some: Sequence[Printed], of: Sequence[Verdict]) -> list[Share]:
    counts = Counter(one.verdict for one in some)
    return [Share(f"{prefix}{one.description}", counts[one], len(some)) for one in of]


@dataclass(frozen=True, slots=True)
class Point:
    """What quoting from a confidence of ``threshold`` on comes to, as shares (None of none):
    ``right`` and ``wrong`` of the answerable questions, ``false`` of the others."""

    threshold: float
    right: float | None
    wrong: float | None
    false: float | None


def curve(
    asked: Iterable[tuple[Question, Printed]], thresholds: Sequence[float] = THRESHOLDS
) -> list[Point]:
    """The quotes' part of it, without a model, at each threshold."""
    pairs = list(asked)
    answerable, others = ([one for q, one in pairs if q.answerable is it] for it in (True, False))

    def share(some: Sequence[Printed], threshold: float, is_right: bool) -> float | None:
        said = (one for one in some if one.confidence >= threshold)
        return sum(one.quotes_right is is_right for one in said) / len(some) if some else None

    return [
        Point(
            threshold=at,
            right=share(answerable, at, True),
            wrong=share(answerable, at, False),
            false=share(others, at, False),
        )
        for at in thresholds
    ]


def calibrated(asked: Iterable[tuple[Question, Printed]], now: float) -> float:
    """The threshold, in hundredths from 0.05 to 0.95, from which on most quotes are right, each
    that isn't taken off; ``now`` where none is better by more than chance: of the quotes that lie
    between two thresholds the right and the others would differ by less than twice the root of
    their number (a sign test)."""
    said = [(one.confidence, 1 if q.answerable and one.quotes_right else -1) for q, one in asked]

    def gain(threshold: float) -> tuple[float, float]:
        low, high = sorted((threshold, now))
        between = [sign for confidence, sign in said if low <= confidence < high]
        won = sum(between) * (1 if threshold < now else -1)
        return (won if won >= 2 * len(between) ** 0.5 else 0.0), -abs(threshold - now)

    return max((now, *(n / 100 for n in range(5, 96))), key=gain)
