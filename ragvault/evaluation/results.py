"""What one question came to, and the names of the measures."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragvault.evaluation.dataset import Question
from ragvault.model import HeadingPath

BLEND, BM25, VECTOR = "blend", "bm25", "vector"
LEGS = (BLEND, BM25, VECTOR)

RANKING_MEASURES = (
    "ndcg@10",
    "mrr@10",
    "recall@3",
    "recall@8",
    "precision@1",
    "precision@3",
    "precision@8",
    "file_hit@5",
    "section_hit@5",
    "span_recall@5",
    "span_precision@5",
)
ANSWER_MEASURES = ("citation_valid", "citation_accuracy", "groundedness", "answer_words")

RANK_DEPTH = 50  # a gold note that ranks lower counts as not found in the curves


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that was found, as a report shows it."""

    rel_path: str
    heading_path: HeadingPath
    start_line: int
    end_line: int
    snippet: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class LegResult:
    """One ranking of one answerable question.

    ``ranks`` are the gold notes' ranks (1-based) among the notes, up to RANK_DEPTH; ``relevant``
    is how many gold notes there are. ``values`` holds the measures that apply, each in 0..1.
    """

    ranks: tuple[int, ...]
    relevant: int
    values: dict[str, float]

    def recall(self, k: int) -> float:
        return sum(rank <= k for rank in self.ranks) / self.relevant


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """``legs`` is empty for a question without an answer. ``reason`` is why it was refused, None
    when it was answered. ``answer_values`` are the ANSWER_MEASURES that apply; ``mode`` is how
    the answer was made, None when none was asked for. Where the gate was left out, ``gated`` is
    false, and confidence, reason and features say nothing. ``by_model`` is false where the
    confidence isn't that of the embedding model's calibration (it couldn't read the question)."""

    question: Question
    legs: dict[str, LegResult]
    confidence: float
    reason: str | None
    features: dict[str, float]
    found: tuple[Passage, ...] = ()
    answer_values: dict[str, float] = field(default_factory=dict)
    mode: str | None = None
    seconds: float = 0.0
    gated: bool = True
    by_model: bool = True

    @property
    def answered(self) -> bool:
        return self.reason is None
