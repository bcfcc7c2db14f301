"""From ranked candidates to hits: which are kept, and what dropped each of the others. Pure.

Nothing disappears here: a dropped candidate stays in the list with its rank and ``dropped_by``.
In this order: the trim to the best 200, the floors, what repeats a better one, and of the rest
the first k, or those that maximal marginal relevance chooses. No score and no rank is changed:
what is shown is still sorted by ``final``.

Chunks of one note that overlap are no duplicates of each other: the better one comes first, the
other may follow.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence
from math import ceil

from ragvault import text
from ragvault.model import DroppedBy, Hit, Scores
from ragvault.retrieval.ranking.blend import Candidate, Scored

# Most that are scored: what many scopes or other wordings propose beyond it is cut.
MAX_CANDIDATES = 200
SHINGLE = 3  # words
SAME = 0.9  # Jaccard of two texts' shingles from which they are near-duplicates
COMPARED = 20  # candidates: their shingles cost two tenths of a millisecond each
MIN_WORDS = 20  # a shorter text is a duplicate only when it is the same
# What MMR looks at, in multiples of k: further down everything is different, and unrelated.
MMR_DEPTH = 4

_LENGTHS = 0.85  # of the shorter text to the longer
_COSINES = 0.1
_Key = tuple[tuple[str, str], int, float | None]

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NEGATIONS = frozenset(
    """no not never none neither nor without kein keine keinen nicht nie ohne ne pas jamais sin
    nunca""".split()
)


def pick(
    ranked: Sequence[Scored],
    *,
    k: int,
    min_vector: float,
    min_final: float | None,
    terms: Sequence[str] = (),
    mmr_lambda: float = 1.0,
) -> tuple[Hit, ...]:
    """Every candidate as a Hit, in the order given; of those that no floor drops and that repeat
    no other, ``k`` are kept: the first, or with ``mmr_lambda`` below 1 as ``spread``.

    ``min_final`` None applies no such floor; ``terms`` are the question's, for telling near-
    duplicates from different facts. Linear in the candidates.
    """
    trimmed = over_limit([candidate for candidate, _ in ranked])
    reasons = [_floor(c, s, min_vector, min_final, trimmed) for c, s in ranked]
    doubles = _fold(ranked, reasons, terms)
    eligible = [i for i, reason in enumerate(reasons) if reason is None]
    chosen = set(spread(ranked, eligible, k, mmr_lambda))
    last = max(chosen, default=-1)
    hits = []
    for i, (candidate, scores) in enumerate(ranked):
        reason = reasons[i]
        if reason is None and i not in chosen:
            reason = DroppedBy.MMR if i < last else DroppedBy.RANK
        others = tuple(sorted(set(doubles.get(i, ())) - {candidate.stored.note.rel_path}))
        hits.append(Hit(i + 1, candidate.stored, scores, reason is None, reason, others))
    return tuple(hits)


# --------------------------------------------------------------------------- floors


def over_limit(candidates: Sequence[Candidate]) -> frozenset[str]:
    """Ids beyond the best ``MAX_CANDIDATES`` by weighted cosine (notes-engine-rag.md, step 4)."""
    ranked = sorted(candidates, key=lambda c: (-c.weighted_cosine, c.id))
    return frozenset(c.id for c in ranked[MAX_CANDIDATES:])


def _floor(
    candidate: Candidate,
    scores: Scores,
    min_vector: float,
    min_final: float | None,
    trimmed: Collection[str],
) -> DroppedBy | None:
    """``min_vector`` spares what the word search found; a reranker's score lifts nothing over
    ``min_final``, nor under it."""
    if candidate.id in trimmed:
        return DroppedBy.MAX_CANDIDATES
    too_far = candidate.cosine is not None and candidate.cosine < min_vector
    if too_far and not candidate.by_keyword:
        return DroppedBy.MIN_VECTOR
    if min_final is not None and scores.blend < min_final:
        return DroppedBy.MIN_FINAL
    return None


# --------------------------------------------------------------------------- spreading


def spread(
    ranked: Sequence[Scored], eligible: Sequence[int], k: int, mmr_lambda: float
) -> list[int]:
    """Which of ``eligible`` (indices, best first) are kept: at most ``k``, in rank order.

    Greedy: λ·final − (1 − λ)·(the greatest cosine to one that is kept), equal values in order of
    rank (Carbonell & Goldstein 1998). A candidate without an embedding is like no other. Linear
    in k times the eligible.
    """
    if mmr_lambda >= 1.0:
        return list(eligible[:k])
    chosen: list[int] = []
    # the greatest cosine to what is chosen
    nearest = dict.fromkeys(eligible[: max(k, MMR_DEPTH * k)], 0.0)
    while nearest and len(chosen) < k:
        best = max(
            nearest,
            key=lambda i: (mmr_lambda * ranked[i][1].final - (1.0 - mmr_lambda) * nearest[i], -i),
        )
        del nearest[best]
        chosen.append(best)
        vector = ranked[best][0].embedding
        if vector is None:
            continue
        for i in nearest:
            other = ranked[i][0].embedding
            if other is not None:
                nearest[i] = max(nearest[i], float(vector @ other))
    return sorted(chosen)


# --------------------------------------------------------------------------- duplicates


def _fold(
    ranked: Sequence[Scored], reasons: list[DroppedBy | None], terms: Sequence[str]
) -> dict[int, list[str]]:
    """Mark what repeats a better one; the notes that each of those stands for."""
    first_of: dict[str, int] = {}
    doubles: dict[int, list[str]] = {}
    for i, (candidate, _) in enumerate(ranked):
        if reasons[i] is not None:
            continue
        first = first_of.setdefault(_same_text_key(candidate), i)
        if first != i:
            reasons[i] = DroppedBy.DUPLICATE
            doubles.setdefault(first, []).append(candidate.stored.note.rel_path)
    rest = [i for i, reason in enumerate(reasons) if reason is None]
    for i, first in near_duplicates(ranked, rest, terms).items():
        reasons[i] = DroppedBy.DUPLICATE
        doubles.setdefault(first, []).extend(
            (ranked[i][0].stored.note.rel_path, *doubles.pop(i, ()))
        )
    return doubles


def _same_text_key(candidate: Candidate) -> str:
    """Equal for chunks whose text differs at most in case, width and white space."""
    folded = " ".join(text.normalise(candidate.stored.chunk.text).split())
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()


def near_duplicates(
    ranked: Sequence[Scored], eligible: Sequence[int], terms: Sequence[str]
) -> dict[int, int]:
    """index → the better-ranked one that it repeats, for chunks of different notes, among the
    first ``COMPARED``: what is listed, not what could be.

    Two texts are near-duplicates when the Jaccard similarity of their word triples is at least
    ``SAME`` and what differs is no fact: no number, no name (a capital), no negation, no word of
    the question. A template filled in twice is two notes.

    The pairs come from the prefix filter (Chaudhuri et al. 2006; Bayardo et al. 2007): in any
    fixed order of all shingles, two sets that are similar enough share one among the first few of
    both. Exact, and about linear in the text.
    """
    by_shingle: dict[int, list[int]] = {}
    sets: dict[int, frozenset[int]] = {}
    first_of: dict[int, int] = {}
    asked = {text.stem(term) for term in terms}
    for i in _comparable(ranked, eligible[:COMPARED]):
        shingles = shingles_of(ranked[i][0].stored.chunk.text)
        if shingles is None:
            continue
        # Any order does, also one that differs from process to process as hashes of texts do.
        prefix = sorted(shingles)[: len(shingles) - ceil(SAME * len(shingles)) + 1]
        seen = sorted({j for shingle in prefix for j in by_shingle.get(shingle, ())})
        twin = next((j for j in seen if _are_twins(ranked, i, j, shingles, sets[j], asked)), None)
        if twin is not None:
            first_of[i] = twin
            continue
        sets[i] = shingles
        for shingle in prefix:
            by_shingle.setdefault(shingle, []).append(i)
    return first_of


def _comparable(ranked: Sequence[Scored], indices: Sequence[int]) -> list[int]:
    """Those with a possible twin: in another note, about as long, about as near to the question.
    It spares the shingles of most."""
    found = (ranked[i][0] for i in indices)
    keys = [(c.note, len(c.stored.chunk.text), c.cosine) for c in found]
    return [i for i, key in zip(indices, keys, strict=True) if any(_alike(key, k) for k in keys)]


def _alike(one: _Key, other: _Key) -> bool:
    if one[0] == other[0] or min(one[1], other[1]) < _LENGTHS * max(one[1], other[1]):
        return False
    return one[2] is None or other[2] is None or abs(one[2] - other[2]) <= _COSINES


def shingles_of(value: str) -> frozenset[int] | None:
    """The hashes of its word triples; None for a text too short to be compared by them."""
    words = value.lower().split()
    if len(words) < MIN_WORDS and text.is_unspaced(value):
        words = text.tokens(value)
    if len(words) < MIN_WORDS:
        return None
    return frozenset(map(hash, zip(*(words[n:] for n in range(SHINGLE)), strict=False)))


def _are_twins(
    ranked: Sequence[Scored],
    i: int,
    j: int,
    one: frozenset[int],
    other: frozenset[int],
    asked: Collection[str],
) -> bool:
    if ranked[i][0].note == ranked[j][0].note:
        return False
    if min(len(one), len(other)) < SAME * max(len(one), len(other)):
        return False
    if len(one & other) < SAME * len(one | other):
        return False
    return not _facts_differ(ranked[i][0].stored.chunk.text, ranked[j][0].stored.chunk.text, asked)


def _facts_differ(one: str, other: str, asked: Collection[str]) -> bool:
    here, there = Counter(_WORD.findall(one)), Counter(_WORD.findall(other))
    for word in (here - there) + (there - here):
        lowered = text.normalise(word)
        is_fact = any(char.isdigit() for char in word) or word[0].isupper()
        if is_fact or lowered in _NEGATIONS or lowered.endswith(("n't", "n’t")):
            return True
        if text.stem(lowered) in asked:
            return True
    return False
