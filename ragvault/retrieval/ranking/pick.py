"""From ranked candidates to hits: which are kept, and what dropped each of the others. Pure.

Nothing disappears here: a dropped candidate stays in the list with its rank and ``dropped_by``.
In this order: the trim to the best 200, the floors, what repeats a better one, and of the rest
the first k. No score and no rank is changed: what is shown is still sorted by ``final``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ragvault import text
from ragvault.formats.inline import says_nothing, without_html
from ragvault.model import DroppedBy, Hit
from ragvault.retrieval.ranking.blend import Candidate

# Most that are scored: what many scopes or other wordings propose beyond it is cut.
MAX_CANDIDATES = 200

# Folders and names of templates, which hold the words of all notes that are made from them.
_TEMPLATE = re.compile(
    r"(?:^|/)[^a-z/]*(?:templates|vorlagen|plantillas|mod[eè]les|modelli|modelos|sjablonen)/"
    r"|[ _-](?:template|vorlage)\.\w+$",
    re.IGNORECASE,
)
_TEMPLATE_TERM = re.compile(r"templat|vorlage|plantilla|mod[eè]l|sjablo", re.IGNORECASE)
_HEADING_LINE = re.compile(r"^#{1,6}\s.*$", re.MULTILINE)


def pick(
    ranked: Sequence[Candidate], *, k: int, min_vector: float, terms: Sequence[str] = ()
) -> tuple[Hit, ...]:
    """Every candidate as a Hit, in the order given; of those that no floor drops and that repeat
    no other, the first ``k`` are kept. ``terms`` are the question's.

    Measured and left out: folding what differs in a few words that are no facts. Of 1,709 questions
    over eleven sets it folded something for 14, all of two sets, and changed no figure of those."""
    trimmed = over_limit(ranked)
    wants_template = any(map(_TEMPLATE_TERM.match, terms))
    reasons: list[DroppedBy | None] = []
    first_of: dict[str, int] = {}  # by the text, but for case, width and white space
    doubles: list[set[str]] = [set() for _ in ranked]  # the notes that each stands for
    for i, candidate in enumerate(ranked):
        reason = _floor(candidate, min_vector, trimmed, wants_template)
        if reason is None:
            first = first_of.setdefault(" ".join(text.normalise(candidate.text).split()), i)
            if first != i:
                reason = DroppedBy.DUPLICATE
                note, kept = candidate.stored.note, ranked[first].stored.note
                vault = "" if note.vault == kept.vault else f"{note.vault}: "
                doubles[first] |= {f"{vault}{note.rel_path}"} - {kept.rel_path}
            elif reasons.count(None) >= k:
                reason = DroppedBy.RANK
        reasons.append(reason)
    return tuple(
        Hit(rank, one.stored, one.scores, reason, tuple(sorted(others)))
        for rank, (one, reason, others) in enumerate(zip(ranked, reasons, doubles, strict=True), 1)
    )


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
