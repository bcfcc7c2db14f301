"""From a cosine and a BM25 to one score. Pure.

    final = (1 − r)·(w·vector·folder + (1 − w)·lexical) + r·recency

``vector`` is the cosine, below 0 counted as 0; ``lexical`` BM25 over this query's best BM25;
``recency`` halves with each half-life. ``w`` is the embedding model's weight: how
far its cosines can be relied on, beside the words. Without vectors it is 0. ``r`` is 0.25 where a
time is asked for (auroranotes-rag.md), else 0.

A model that doesn't know the question's words (another language than its own) is trusted less:
``w`` shrinks to the share of the question that it can read, by ``trust_of``.

Measured and left out, with all-MiniLM: shares for the whole note, other weights in long notes and
a bonus for words in headings (seven sets, each left out in turn: within .002 on the mean, and each
loses on a set that it wasn't chosen on); weights for title and heading in BM25, powers of IDF, and
dropping words that only frame a question (four sets: no gain). ``make tune`` tries the weights.

A score's ``terms`` are the summands of ``final``, so what ``--debug`` shows is what was sorted
by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ragvault.config.settings import RetrievalSettings
from ragvault.model import Scores, StoredChunk

# The weight of a cosine. On five sets of documentation and articles it serves all-MiniLM,
# EmbeddingGemma and a static model within .008 of the weight that is best for each on the others.
WEIGHT = 0.7
RECENCY = 0.25  # r: less, and a note that says the words often outranks the day asked for
HALF_LIFE_DAYS = 30.0
TRUST_FROM = 0.55
TRUST_FULL = 0.8
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What question sets told of an embedding model: ``weight`` is w, ``background`` (0..1) the
    cosine that unrelated questions reach, about the median over the sets."""

    weight: float
    background: float


# By what a model's name holds. On personal notes the cosines of a strong model gain .03 to .06 of
# reciprocal rank.
MEASURED = {"all-minilm": Measured(WEIGHT, 0.25), "embeddinggemma": Measured(0.9, 0.2)}


def measured(model: str) -> Measured | None:
    lowered = model.lower()
    return next((row for name, row in MEASURED.items() if name in lowered), None)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk on its way through the ranking. ``by_keyword``: the word search proposed it."""

    stored: StoredChunk
    scores: Scores
    by_keyword: bool

    @property
    def id(self) -> str:
        return self.stored.chunk.id

    @property
    def text(self) -> str:
        return self.stored.chunk.text

    @property
    def weighted_cosine(self) -> float:
        return max(0.0, self.scores.vector or 0.0) * self.scores.folder_weight

    def scored(self, terms: Sequence[tuple[str, float]], scores: Scores | None = None) -> Candidate:
        """With these terms, which ``final`` is exactly the ``sum`` of; the rest of the scores as
        they are, or those of ``scores``."""
        final = sum(value for _, value in terms)
        made = replace(scores or self.scores, terms=tuple(terms), final=final)
        return replace(self, scores=made)


# From when to when, in seconds: the question's own time ("last week"), or from a moment on without
# an end, from which age counts back.
Window = tuple[float, float]


def recency_of(date: float, window: Window) -> float:
    """0..1: 1 within the window, halving with each half-life outside of it; of a short one with
    each quarter of its length (at least a day): of "yesterday", what is a month old is as far off
    as what is a year old."""
    quarter = max(1.0, (window[1] - window[0]) / _DAY_S / 4)
    days = max(0.0, window[0] - date, date - window[1]) / _DAY_S
    return float(0.5 ** (days / min(HALF_LIFE_DAYS, quarter)))


def trust_of(vocabulary_share: float) -> float:
    """0..1: none below a share of 0.55, full from 0.8 on.

    Measured with all-MiniLM (English), 1st to 99th percentile of a set's questions: English .87
    to 1, German .86 to 1, Chinese 0 to .54, Arabic 0 to .21.
    """
    return min(1.0, max(0.0, (vocabulary_share - TRUST_FROM) / (TRUST_FULL - TRUST_FROM)))


def vector_weight(settings: RetrievalSettings, model: str) -> float:
    """w for an embedding model, by its name or hub id."""
    if settings.weight_vector is not None:
        return settings.weight_vector
    row = measured(model)
    return row.weight if row else WEIGHT


def score_all(
    candidates: Sequence[Candidate], weight: float, window: Window | None = None
) -> list[Candidate]:
    """Blended with ``weight`` for the vectors, 0..1, the rest for the words; with a ``window``
    the date counts too."""
    best = max((c.scores.bm25 or 0.0 for c in candidates), default=0.0)
    share = 1.0 if window is None else 1.0 - RECENCY

    def scored(candidate: Candidate) -> Candidate:
        lexical = (candidate.scores.bm25 or 0.0) / best if best > 0 else 0.0
        recency = recency_of(candidate.stored.note.date, window) if window else None
        terms = [
            ("vector", share * weight * candidate.weighted_cosine),
            ("lexical", share * (1.0 - weight) * lexical),
        ]
        if recency is not None:
            terms.append(("recency", RECENCY * recency))
        return candidate.scored(terms, replace(candidate.scores, lexical=lexical, recency=recency))

    return best_first(map(scored, candidates))


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """By ``final``; equal scores in order of chunk id."""
    return sorted(candidates, key=lambda c: (-c.scores.final, c.id))
