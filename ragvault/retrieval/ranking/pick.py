"""From ranked candidates to hits: which are kept, and what dropped each of the others. Pure.

Nothing disappears here: a dropped candidate stays in the list with its rank and ``dropped_by``.
In this order: the trim to the best 200, the floors, what repeats a better one, and of the rest
the first k. No score and no rank is changed: what is shown is still sorted by ``final``.

Chunks of one note that overlap are no duplicates of each other: the better one comes first, the
other may follow.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from ragvault import text
from ragvault.formats.inline import says_nothing, without_html
from ragvault.model import DroppedBy, Hit
from ragvault.retrieval.ranking.blend import Candidate

# Most that are scored: what many scopes or other wordings propose beyond it is cut.
MAX_CANDIDATES = 200
SAME = 0.98  # share of the words of two texts that stand alike in both: near-duplicates
COMPARED = 20  # candidates: each with each
MIN_WORDS = 20  # a shorter text is a duplicate only when it is the same

# Texts of other lengths, or other nearness to the question, are not compared at all: it spares
# most of them the look at their words.
_LENGTHS = 0.85  # of the shorter text to the longer
_COSINES = 0.1

# Folders and names of templates, which hold the words of all notes that are made from them.
_TEMPLATE = re.compile(
    r"(?:^|/)[^a-z/]*(?:templates|vorlagen|plantillas|mod[eè]les|modelli|modelos|sjablonen)/"
    r"|[ _-](?:template|vorlage)\.\w+$",
    re.IGNORECASE,
)
_TEMPLATE_TERM = re.compile(r"templat|vorlage|plantilla|mod[eè]l|sjablo", re.IGNORECASE)
_HEADING_LINE = re.compile(r"^#{1,6}\s.*$", re.MULTILINE)

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NEGATIONS = frozenset(
    """no not never none neither nor without kein keine keinen nicht nie ohne ne pas jamais sin
    nunca""".split()
)


def pick(
    ranked: Sequence[Candidate], *, k: int, min_vector: float, terms: Sequence[str] = ()
) -> tuple[Hit, ...]:
    """Every candidate as a Hit, in the order given; of those that no floor drops and that repeat
    no other, the first ``k`` are kept. ``terms`` are the question's, for telling near-duplicates
    from different facts."""
    trimmed = over_limit(ranked)
    wants_template = any(map(_TEMPLATE_TERM.match, terms))
    reasons = [_floor(c, min_vector, trimmed, wants_template) for c in ranked]
    doubles = _fold(ranked, reasons, terms)
    hits: list[Hit] = []
    for i, candidate in enumerate(ranked):
        reason = reasons[i]
        if reason is None and sum(hit.kept for hit in hits) >= k:
            reason = DroppedBy.RANK
        others = tuple(sorted(set(doubles.get(i, ())) - {candidate.stored.note.rel_path}))
        kept = reason is None
        hits.append(Hit(i + 1, candidate.stored, candidate.scores, kept, reason, others))
    return tuple(hits)


def over_limit(candidates: Sequence[Candidate]) -> frozenset[str]:
    """Ids beyond the best ``MAX_CANDIDATES`` by weighted cosine (notes-engine-rag.md, step 4)."""
    ranked = sorted(candidates, key=lambda c: (-c.weighted_cosine, c.id))
    return frozenset(c.id for c in ranked[MAX_CANDIDATES:])


def _floor(
    candidate: Candidate, min_vector: float, trimmed: Collection[str], wants_template: bool
) -> DroppedBy | None:
    """``min_vector`` spares what the word search found."""
    if candidate.id in trimmed:
        return DroppedBy.MAX_CANDIDATES
    if not wants_template and is_template(candidate.stored.note.rel_path):
        return DroppedBy.TEMPLATE
    if "</" in candidate.text and _is_drawn(candidate.text):
        return DroppedBy.UNREADABLE
    cosine = candidate.scores.vector
    too_far = cosine is not None and cosine < min_vector
    if too_far and not candidate.by_keyword:
        return DroppedBy.MIN_VECTOR
    return None


def is_template(rel_path: str) -> bool:
    """What other notes are made from."""
    return _TEMPLATE.search(rel_path) is not None


def _is_drawn(passage: str) -> bool:
    """HTML below the headings, and no text in it."""
    body = _HEADING_LINE.sub("", passage)
    return not says_nothing(body) and says_nothing(without_html(body, drawn=False))


# --------------------------------------------------------------------------- duplicates


def _fold(
    ranked: Sequence[Candidate], reasons: list[DroppedBy | None], terms: Sequence[str]
) -> dict[int, list[str]]:
    """Mark what repeats a better one; the notes that each of those stands for."""
    first_of: dict[str, int] = {}
    doubles: dict[int, list[str]] = {}
    for i, candidate in enumerate(ranked):
        if reasons[i] is not None:
            continue
        # the same but for case, width and white space
        first = first_of.setdefault(" ".join(text.normalise(candidate.text).split()), i)
        if first != i:
            reasons[i] = DroppedBy.DUPLICATE
            doubles.setdefault(first, []).append(candidate.stored.note.rel_path)
    rest = [i for i, reason in enumerate(reasons) if reason is None]
    for i, first in near_duplicates([ranked[i] for i in rest], terms).items():
        twin, first = rest[i], rest[first]
        reasons[twin] = DroppedBy.DUPLICATE
        path = ranked[twin].stored.note.rel_path
        doubles.setdefault(first, []).extend((path, *doubles.pop(twin, ())))
    return doubles


def near_duplicates(candidates: Sequence[Candidate], terms: Sequence[str]) -> dict[int, int]:
    """index → the better-ranked one that it repeats, for chunks of different notes, among the
    first ``COMPARED``: what is listed, not what could be."""
    asked = {text.stem(term) for term in terms}
    first_of: dict[int, int] = {}
    for i, candidate in enumerate(candidates[:COMPARED]):
        better = (j for j in range(i) if j not in first_of)
        twin = next((j for j in better if _are_twins(candidate, candidates[j], asked)), None)
        if twin is not None:
            first_of[i] = twin
    return first_of


def _are_twins(one: Candidate, other: Candidate, asked: Collection[str]) -> bool:
    """Hardly a word differs, and none that is a fact: no number, no name (a capital), no negation,
    no word of the question. A template filled in twice is two notes."""
    shorter, longer = sorted((len(one.text), len(other.text)))
    apart = abs((one.scores.vector or 0.0) - (other.scores.vector or 0.0))
    if one.note == other.note or shorter < _LENGTHS * longer or apart > _COSINES:
        return False
    here, there = _words_of(one.text), _words_of(other.text)
    # At most so many words stand alike: it spares nearly all pairs the look at their order.
    shared = (Counter(here) & Counter(there)).total()
    if min(len(here), len(there)) < MIN_WORDS or 2 * shared < SAME * (len(here) + len(there)):
        return False
    matcher = SequenceMatcher(None, here, there, autojunk=False)
    if matcher.ratio() < SAME:
        return False
    changes = (places for kind, *places in matcher.get_opcodes() if kind != "equal")
    differing = (word for a, b, c, d in changes for word in (*here[a:b], *there[c:d]))
    return not any(_is_fact(word, asked) for word in differing)


def _words_of(passage: str) -> list[str]:
    return text.tokens(passage) if text.is_unspaced(passage) else _WORD.findall(passage)


def _is_fact(word: str, asked: Collection[str]) -> bool:
    lowered = text.normalise(word)
    is_negation = lowered in _NEGATIONS or lowered.endswith(("n't", "n’t"))
    is_name = word[0].isupper() or any(map(str.isdigit, word))
    return is_negation or is_name or text.stem(lowered) in asked
