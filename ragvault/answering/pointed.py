"""The place that most likely holds the answer, where no words of it do for certain: the passages
that match best, whole and as people read them.

The first one stands with the rest of its section, since that is what one would open and read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ragvault.answering.context import Neighbours, joined
from ragvault.answering.quote import show
from ragvault.model import AbstainReason, Abstention, Evidence, Hit
from ragvault.text import one_line, strip_controls

MOST = 5  # passages
_LONGEST = 2400  # characters of a section that is shown whole


def point(evidence: Evidence, neighbours: Neighbours, confidence: float) -> Abstention:
    """The evidence's passages as they are shown, best first, and where the first one is."""
    shown = evidence.hits[:MOST]
    first = shown[0]
    section = " › ".join(map(one_line, first.chunk.heading_path))
    place = one_line(first.chunk.rel_path) + (f" › {section}" if section else "")
    return Abstention(
        AbstainReason.INSUFFICIENT_INFORMATION,
        confidence,
        f"This is most likely in {place}",
        nearest=shown,
        passages=(
            _section(first, neighbours.get(first.chunk.id, ())),
            *(_passage([hit]) for hit in shown[1:]),
        ),
    )


def _section(hit: Hit, beside: Sequence[Hit]) -> str:
    """The passage with those around it that are of its section, if that isn't too long."""
    around = sorted((hit, *beside), key=lambda one: one.chunk.ordinal)
    adjoin = all(b.chunk.ordinal - a.chunk.ordinal == 1 for a, b in pairwise(around))
    whole = _passage(around) if adjoin else ""
    return whole if 0 < len(whole) <= _LONGEST else _passage([hit])


def _passage(hits: Sequence[Hit]) -> str:
    return strip_controls(show.passage(joined(hits), hits[0].chunk.rel_path))
