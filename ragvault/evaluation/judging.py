"""What one question comes to: its ranking against the gold places, its answer against both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from ragvault.evaluation import metrics
from ragvault.evaluation.dataset import Question
from ragvault.evaluation.metrics import Span
from ragvault.evaluation.places import Notes, chunk_span, folded, gold_span, in_section
from ragvault.evaluation.printed import Printed
from ragvault.model import (
    Answer,
    CitationStatus,
    DroppedBy,
    Hit,
    Retrieval,
    StoredChunk,
)
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
    "span_recall@5": "span recall, first 5",
    "span_precision@5": "span precision, first 5",
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
    """``ranking``: RANKING_MEASURES; empty for a question without an answer.
    ``confidence`` is None where the gate was left out; ``reason`` is why it was refused, None when
    it was answered. ``found`` are the first passages. ``answer_values`` are the ANSWER_MEASURES
    that apply; ``mode`` is how the answer was made. ``printed`` is None where the set doesn't say
    what a right answer is.
    """

    question: Question
    ranking: Values
    confidence: float | None
    reason: str | None = None
    features: dict[str, float] = field(default_factory=dict)
    found: tuple[StoredChunk, ...] = ()
    answer_values: Values = field(default_factory=dict)
    mode: str | None = None
    seconds: float = 0.0
    printed: Printed | None = None


# --------------------------------------------------------------------------- rankings

TOP_PASSAGES = 5  # what a person looks at, and an answer is usually made from


@dataclass(frozen=True, slots=True)
class Ranking:
    """The notes, best first by their best passage, and the first passages.

    ``copies`` are the places elsewhere where the text of one of them stands word for word, shown
    once. They count as shown: whoever wants what stands there has read it.
    """

    notes: tuple[str, ...]
    passages: tuple[StoredChunk, ...]
    copies: tuple[StoredChunk, ...] = ()

    @property
    def places(self) -> tuple[StoredChunk, ...]:
        return (*self.passages, *self.copies)


def ranking_of(retrieval: Retrieval) -> Ranking:
    """What a search lists (``Retrieval.ranked``), with the copies folded into each hit."""
    listed = [hit.stored for hit in retrieval.ranked]
    passages = tuple(listed[:TOP_PASSAGES])
    texts = {folded(stored.chunk.text) for stored in passages}
    folds = [hit.stored for hit in retrieval.candidates if hit.dropped_by is DroppedBy.DUPLICATE]
    copies = tuple(stored for stored in folds if folded(stored.chunk.text) in texts)
    notes = [(hit.chunk.rel_path, *hit.duplicates) for hit in retrieval.ranked]
    return Ranking(tuple(dict.fromkeys(chain.from_iterable(notes))), passages, copies)


def judge_ranking(question: Question, ranking: Ranking, notes: Notes) -> Values:
    """All measures that apply, each in 0..1: section and span measures only where gold says as
    much."""
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
        hit = any(in_section(p, gold) for p in ranking.places for gold in question.gold)
        values["section_hit@5"] = float(hit)
    spans = span_values(question, ranking.places, notes)
    if spans is not None:
        values["span_recall@5"], values["span_precision@5"] = spans
    return values


def span_values(
    question: Question, passages: Sequence[StoredChunk], notes: Notes
) -> tuple[float, float] | None:
    """(recall, precision) of the passages' characters; None where gold has no span that its note
    still holds."""
    wanted: dict[str, list[Span]] = {}
    for gold in question.gold:
        note = notes[gold.file] if gold.span else None
        span = gold_span(note, gold) if note else None
        if span is not None:
            wanted.setdefault(gold.file, []).append(span)
    if not wanted:
        return None
    found: dict[str, list[Span]] = {}
    for passage in passages:
        note = notes[passage.chunk.rel_path]
        if note is not None:
            span = chunk_span(note, passage.chunk)
            found.setdefault(passage.chunk.rel_path, []).append(span)
    return metrics.span_scores(wanted, found)


# --------------------------------------------------------------------------- answers


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
        right = [any(in_section(place, gold) for gold in question.gold) for place in places]
        values["citation_accuracy"] = sum(right) / len(right)
    grounded = groundedness(answer)
    if grounded is not None:
        values["groundedness"] = grounded
    return values


def groundedness(answer: Answer) -> float | None:
    """The share of a written answer's statements that the checks of the answering stage found
    supported. None for quotes, and where nothing is said."""
    text = answer.text
    for citation in answer.citations:
        text = text.replace(citation.raw, "")
    statements = len(sentence_spans(text.strip()))
    if answer.mode == "extractive" or not statements:
        return None
    return 1.0 - min(len(answer.unsupported), statements) / statements
