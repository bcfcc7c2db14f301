"""Many passages, one message: near-duplicates, maximal marginal relevance, passages of one note.

All of it decides which candidates are *kept*; no score and no rank is changed by it, so what is
shown is still sorted by ``final`` and what is passed over says why:

    duplicate    another note's chunk says the same in the same words
    note_limit   its note is there already, ``retrieval.max_per_note`` times
    mmr          it says what a better one says: λ·final − (1 − λ)·(its greatest cosine to one
                 that is kept) is below that of others (Carbonell & Goldstein 1998)

Pure. Chunks of one note that overlap are no duplicates of each other: the better one comes first,
the other may follow.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

from ragvault import text
from ragvault.model import NoteInfo, Scores
from ragvault.retrieval.ranking.blend import Candidate
from ragvault.retrieval.ranking.overlap import stem

if TYPE_CHECKING:
    from ragvault.model import Vector

Ranked = tuple[Candidate, Scores]

NOTE_LIMIT = "note_limit"
MMR = "mmr"

SHINGLE = 3  # words
SAME = 0.9  # Jaccard of two texts' shingles from which they are near-duplicates
COMPARED = 20  # candidates: their shingles cost two tenths of a millisecond each
MIN_WORDS = 20  # a shorter text is a duplicate only when it is the same
# What MMR looks at, in multiples of k: further down everything is different, and unrelated.
MMR_DEPTH = 4
# Fewer notes than that: an answer has to come from few, and a limit for each would cost it.
FEW_NOTES = 20

_LENGTHS = 0.85  # of the shorter text to the longer
_COSINES = 0.1
_Key = tuple[tuple[str, str], int, float | None]

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NEGATIONS = frozenset(
    """no not never none neither nor without kein keine keinen nicht nie ohne ne pas jamais sin
    nunca""".split()
)


@dataclass(frozen=True, slots=True)
class Diversity:
    """How the kept passages are spread.

    ``mmr_lambda`` 1 and ``max_per_note`` 0 are off. ``vectors`` are the candidates' own, by chunk
    id (unit length); a candidate without one is like no other. ``unlimited`` are the notes
    (vault, rel_path) that ``max_per_note`` doesn't hold for.
    """

    mmr_lambda: float = 1.0
    max_per_note: int = 0
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    unlimited: frozenset[tuple[str, str]] = frozenset()


def place(candidate: Candidate) -> tuple[str, str]:
    """The candidate's note."""
    return candidate.stored.note.vault, candidate.stored.note.rel_path


# --------------------------------------------------------------------------- what is kept


def choose(ranked: Sequence[Ranked], eligible: Sequence[int], k: int, how: Diversity) -> list[int]:
    """Which of ``eligible`` (indices, best first) are kept: at most ``k``, in rank order.

    With fewer than ``k`` left by the limit for a note, the best that it passed over fill up.
    """
    if how.mmr_lambda >= 1.0:
        chosen = _limited(ranked, eligible, k, how)
    else:
        chosen = _marginal(ranked, eligible[: max(k, MMR_DEPTH * k)], k, how)
    if len(chosen) < k:
        taken = set(chosen)
        chosen += [i for i in eligible if i not in taken][: k - len(chosen)]
    return sorted(chosen)


def why_not(
    ranked: Sequence[Ranked], index: int, chosen: Collection[int], how: Diversity
) -> str | None:
    """What passed over a candidate that ranks above one that is kept; None when only its rank."""
    if not chosen or index > max(chosen):
        return None
    own = place(ranked[index][0])
    same = sum(place(ranked[i][0]) == own for i in chosen)
    if 0 < how.max_per_note <= same and own not in how.unlimited:
        return NOTE_LIMIT
    return MMR


def _is_full(candidate: Candidate, counts: Counter[tuple[str, str]], how: Diversity) -> bool:
    note = place(candidate)
    return 0 < how.max_per_note <= counts[note] and note not in how.unlimited


def _limited(
    ranked: Sequence[Ranked], eligible: Sequence[int], k: int, how: Diversity
) -> list[int]:
    chosen: list[int] = []
    counts: Counter[tuple[str, str]] = Counter()
    for i in eligible:
        if len(chosen) == k:
            break
        candidate = ranked[i][0]
        if not _is_full(candidate, counts, how):
            counts[place(candidate)] += 1
            chosen.append(i)
    return chosen


def _marginal(
    ranked: Sequence[Ranked], eligible: Sequence[int], k: int, how: Diversity
) -> list[int]:
    """Greedy; equal values in order of rank. Linear in k times the eligible."""
    chosen: list[int] = []
    counts: Counter[tuple[str, str]] = Counter()
    nearest = dict.fromkeys(eligible, 0.0)  # the greatest cosine to what is chosen
    share = how.mmr_lambda
    while nearest and len(chosen) < k:
        best = max(
            nearest, key=lambda i: (share * ranked[i][1].final - (1.0 - share) * nearest[i], -i)
        )
        del nearest[best]
        candidate = ranked[best][0]
        if _is_full(candidate, counts, how):
            continue
        counts[place(candidate)] += 1
        chosen.append(best)
        vector = how.vectors.get(candidate.id)
        if vector is None:
            continue
        for i in nearest:
            other = how.vectors.get(ranked[i][0].id)
            if other is not None:
                nearest[i] = max(nearest[i], float(vector @ other))
    return chosen


# ---------------------------------------------------------------------- the note asked for


def asked_for(question: str, candidates: Sequence[Candidate]) -> frozenset[tuple[str, str]]:
    """The notes among the candidates' that a question names."""
    notes = {place(candidate): candidate.stored.note for candidate in candidates}
    return frozenset(key for key, note in notes.items() if names(question, note))


def names(question: str, note: NoteInfo) -> bool:
    """Whether a question asks for this very note: by its file ("todo.md", "[[Todo]]"), or by a
    title of two words or more. One word is too often just a subject."""
    asked = f" {' '.join(text.words(question))} "
    stem_of_file = note.rel_path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    for name in (note.title, stem_of_file, *note.aliases):
        words = text.words(name.replace("_", " "))
        if len(words) > 1 and f" {' '.join(words)} " in asked:
            return True
    lowered = question.casefold()
    marked = (f"[[{name.casefold()}]]" for name in (note.title, stem_of_file, *note.aliases))
    return note.rel_path.rsplit("/", 1)[-1].casefold() in lowered or any(
        mark in lowered for mark in marked
    )


# --------------------------------------------------------------------------- duplicates


def near_duplicates(
    ranked: Sequence[Ranked], eligible: Sequence[int], terms: Sequence[str]
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
    asked = {stem(term) for term in terms}
    for i in _comparable(ranked, eligible[:COMPARED]):
        shingles = _shingles(ranked[i][0].stored.chunk.text)
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


def _comparable(ranked: Sequence[Ranked], indices: Sequence[int]) -> list[int]:
    """Those with a possible twin: in another note, about as long, about as near to the question.
    It spares the shingles of most."""
    keys = [(place(c), len(c.stored.chunk.text), c.vector) for c in (ranked[i][0] for i in indices)]
    return [i for i, key in zip(indices, keys, strict=True) if any(_alike(key, k) for k in keys)]


def _alike(one: _Key, other: _Key) -> bool:
    if one[0] == other[0] or min(one[1], other[1]) < _LENGTHS * max(one[1], other[1]):
        return False
    return one[2] is None or other[2] is None or abs(one[2] - other[2]) <= _COSINES


def _shingles(value: str) -> frozenset[int] | None:
    words = value.lower().split()
    if len(words) < MIN_WORDS and text.is_unspaced(value):
        words = text.tokens(value)
    if len(words) < MIN_WORDS:
        return None
    return frozenset(map(hash, zip(*(words[n:] for n in range(SHINGLE)), strict=False)))


def _are_twins(
    ranked: Sequence[Ranked],
    i: int,
    j: int,
    one: frozenset[int],
    other: frozenset[int],
    asked: Collection[str],
) -> bool:
    if place(ranked[i][0]) == place(ranked[j][0]):
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
        if stem(lowered) in asked:
            return True
    return False
