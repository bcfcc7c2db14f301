"""From a cosine and a BM25 to one score. Pure.

    final = 0.75·vector·folder + 0.25·lexical                  notes-engine-rag.md: 0.7, 0.3
    final = 0.6·vector·folder + 0.25·lexical + 0.15·recency    with time, auroranotes-rag.md
    final = (0.25·lexical + 0.15·recency) / 0.4                without vectors

``vector`` is the cosine, below 0 counted as 0; ``lexical`` BM25 over this query's best BM25,
plus a small bonus for words of the question in the heading path, at most 1; ``recency`` halves
with each half-life. In both, the whole note has a share, because a short note is mostly about
one thing and says it in more than one passage:

    vector  = (1 − 0.3·g)·cosine + 0.3·g·mean cosine of the note's chunks
    lexical = (1 − 0.7·g)·BM25/best + 0.7·g·BM25 of the note/best note
    g       = min(1, 12 / chunks of the note)

The passages of a long note are all about its subject; which of them it is, words tell better. So
the weight that the note's mean loses there goes to ``lexical``: 0.75 becomes 0.75·(1 − 0.3·(1 − g))
and 0.25 what is missing to 1.

A model that doesn't know the question's words (another language than its own) is trusted less:
its weight goes to ``lexical``, by ``trust_of`` the share of the question that it can read.

A score's ``terms`` are the summands of ``final``, so what ``--debug`` shows is what was sorted
by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ragvault.config.settings import RetrievalSettings
from ragvault.model import Scores, StoredChunk
from ragvault.text import share_of

if TYPE_CHECKING:
    from ragvault.model import Vector

NOTE_SHARE_VECTOR = 0.3  # of the vector score: the mean of the whole note's
NOTE_SHARE_LEXICAL = 0.7  # of the word score: BM25 of the whole note
NOTE_CHUNKS = 12  # in longer notes both shares shrink
HEADING_BONUS = 0.05
TRUST_FROM = 0.55
TRUST_FULL = 0.8
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk with each retriever's exact raw score.

    ``cosine`` None: it has no embedding, or no query vector could be had. ``bm25`` 0: no term of
    the question is in it. ``by_keyword``: the word search proposed it. ``note_cosine``,
    ``note_lexical`` (relative to the best note) and ``note_share`` (g) are the whole note's; None
    counts the chunk alone. ``embedding`` (unit length) is the chunk's own, where it has one.
    """

    stored: StoredChunk
    cosine: float | None
    bm25: float
    folder_weight: float
    by_keyword: bool
    note_cosine: float | None = None
    note_lexical: float | None = None
    note_share: float = 0.0
    embedding: Vector | None = field(default=None, compare=False, repr=False)

    @property
    def id(self) -> str:
        return self.stored.chunk.id

    @property
    def text(self) -> str:
        return self.stored.chunk.text

    @property
    def note(self) -> tuple[str, str]:
        """Which note it is of: vault and path."""
        return self.stored.note.vault, self.stored.note.rel_path

    @property
    def weighted_cosine(self) -> float:
        """As the trim to ``max_candidates`` sorts it."""
        return max(0.0, self.cosine or 0.0) * self.folder_weight


Scored: TypeAlias = tuple[Candidate, Scores]


@dataclass(frozen=True, slots=True)
class Weights:
    """What each score counts for; ``recency`` 0 leaves the date out of it."""

    vector: float
    lexical: float
    recency: float


TIMED = Weights(0.6, 0.25, 0.15)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """What recency is measured against.

    A question's own time ("last week") is a window: 1 inside, halving with the distance from
    it. Otherwise (``since`` None) age counts back from ``until``.
    """

    since: float | None
    until: float
    half_life_days: float

    @classmethod
    def of_question(cls, since: float, until: float, half_life_days: float) -> TimeWindow:
        """With a quarter of its length as half-life (at least a day), if that is shorter: of
        "yesterday", what is a month old is as far off as what is a year old."""
        quarter = max(1.0, (until - since) / _DAY_S / 4)
        return cls(since, until, min(half_life_days, quarter))

    def recency(self, date: float) -> float:
        """0..1, 1 inside the window (or at ``until``)."""
        ahead = date - self.until if self.since is not None else 0.0
        behind = (self.until if self.since is None else self.since) - date
        days = max(0.0, ahead, behind) / _DAY_S
        return float(0.5 ** (days / self.half_life_days))


def trust_of(vocabulary_share: float) -> float:
    """0..1: none below a share of 0.55, full from 0.8 on.

    Measured with all-MiniLM (English), 1st to 99th percentile of a set's questions: English .87
    to 1, German .86 to 1, Chinese 0 to .54, Arabic 0 to .21.
    """
    return min(1.0, max(0.0, (vocabulary_share - TRUST_FROM) / (TRUST_FULL - TRUST_FROM)))


def choose_weights(
    settings: RetrievalSettings, *, timed: bool, has_vectors: bool, trust: float = 1.0
) -> Weights:
    """The weights of the formula that applies (see the module's docstring). What ``trust`` takes
    from the vectors goes to the words."""
    if has_vectors:
        full = Weights(settings.weight_vector, settings.weight_lexical, 0.0)
        full = TIMED if timed else full
    else:
        total = TIMED.lexical + TIMED.recency
        full = Weights(0.0, TIMED.lexical / total, TIMED.recency / total)
    vector = full.vector * trust
    return Weights(vector, full.lexical + (full.vector - vector), full.recency)


def note_share_of(chunks: int) -> float:
    """g of a note of so many chunks: a long note is about many things."""
    return min(1.0, NOTE_CHUNKS / chunks) if chunks else 0.0


def score_all(
    candidates: Sequence[Candidate], *, terms: Sequence[str], weights: Weights, window: TimeWindow
) -> list[Scored]:
    """Every candidate with its scores, best first."""
    best = max((c.bm25 for c in candidates), default=0.0)
    return best_first((c, _score(c, terms, best, weights, window)) for c in candidates)


def _score(
    candidate: Candidate,
    terms: Sequence[str],
    best_bm25: float,
    weights: Weights,
    window: TimeWindow,
) -> Scores:
    """One candidate's scores. ``final`` is exactly ``sum`` of its terms' contributions."""
    own_bm25 = candidate.bm25 / best_bm25 if best_bm25 > 0 else 0.0
    by_note = in_note = moved = 0.0
    if candidate.cosine is not None and candidate.note_cosine is not None:
        by_note = NOTE_SHARE_VECTOR * candidate.note_share
        moved = weights.vector * NOTE_SHARE_VECTOR * (1.0 - candidate.note_share)
    if candidate.note_lexical is not None:
        in_note = NOTE_SHARE_LEXICAL * candidate.note_share
    for_vector, for_lexical = weights.vector - moved, weights.lexical + moved
    note_bm25 = in_note * (candidate.note_lexical or 0.0)
    weighted_note = max(0.0, candidate.note_cosine or 0.0) * candidate.folder_weight
    relative_bm25 = (1.0 - in_note) * own_bm25 + note_bm25
    in_headings = share_of(terms, " ".join(candidate.stored.chunk.heading_path))
    lexical = min(1.0, relative_bm25 + HEADING_BONUS * in_headings)
    bonus = lexical - relative_bm25
    recency = None
    contributions = [
        ("vector", for_vector * (1.0 - by_note) * candidate.weighted_cosine),
        ("note_vector", for_vector * by_note * weighted_note),
        ("lexical", for_lexical * (1.0 - in_note) * own_bm25),
        ("note_lexical", for_lexical * note_bm25),
        ("heading", for_lexical * bonus),
    ]
    if weights.recency > 0:
        recency = window.recency(candidate.stored.note.date)
        contributions.append(("recency", weights.recency * recency))
    return Scores(
        vector=candidate.cosine,
        lexical=lexical,
        recency=recency,
        folder_weight=candidate.folder_weight,
        final=sum(value for _, value in contributions),
        bm25=candidate.bm25,
        heading_bonus=bonus,
        terms=tuple(contributions),
        note_vector=candidate.note_cosine,
        note_lexical=candidate.note_lexical,
        note_share=candidate.note_share,
    )


def best_first(scored: Iterable[Scored]) -> list[Scored]:
    """By ``final``; equal scores in order of chunk id."""
    return sorted(scored, key=lambda pair: (-pair[1].final, pair[0].id))
