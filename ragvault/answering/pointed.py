"""The place that most likely holds the answer, where no words of it do for certain: what matches
best, for a person to read.

The first passage stands with the rest of its section, since that is what one would open and read;
of each other one its best lines. Beneath an answer that isn't sure stand a few other places.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from ragvault.answering.context import Neighbours, joined
from ragvault.answering.quote import show
from ragvault.answering.quote.extract import Quote, extract
from ragvault.formats.inline import only_points
from ragvault.model import AbstainReason, Abstention, Detail, Evidence, Hit, Reference
from ragvault.text import one_line, snippet, strip_controls

_LONGEST = 2400  # characters of a section that is shown whole
_EXCERPT = 200  # characters of another passage's best lines
_BENEATH = 4  # places beneath an answer,
_EXCERPT_BENEATH = 72  # with so many characters of each: they shall not push that off the screen


def point(
    question: str, evidence: Evidence, neighbours: Neighbours, today: date | None = None
) -> Abstention:
    """Where the first passage is, with what is shown of each, best first."""
    first = evidence.hits[0]
    section = " › ".join(map(one_line, first.chunk.heading_path))
    place = one_line(first.chunk.rel_path) + (f" › {section}" if section else "")
    hits = evidence.near or evidence.hits
    whole = _section(hits[0], neighbours.get(hits[0].chunk.id, ()), hits)
    others = (extract(question, [hit], detail=Detail.BRIEF, today=today) for hit in hits[1:])
    passages = (whole, *(snippet(" ".join(map(_body, best)), _EXCERPT) for best in others))
    return Abstention(
        AbstainReason.INSUFFICIENT_INFORMATION,
        evidence.confidence,
        f"{Abstention.LIKELY} {place}",
        nearest=tuple(hits),
        passages=passages,
    )


def beside(
    question: str, evidence: Evidence, quoted: Sequence[Quote], today: date | None = None
) -> tuple[Reference, ...]:
    """The nearest places that nothing was ``quoted`` from, each with its best line; of a section
    one, and none that only leads elsewhere."""
    seen = {(q.hit.chunk.rel_path, q.hit.chunk.heading_path) for q in quoted}
    places: list[tuple[Hit, str]] = []
    for hit in evidence.near or evidence.hits:
        place = (hit.chunk.rel_path, hit.chunk.heading_path)
        if place in seen or len(places) == _BENEATH:
            continue
        seen.add(place)
        best = extract(question, [hit], detail=Detail.BRIEF, today=today)
        if not all(only_points(part) for quote in best for part in quote.parts):
            places.append((hit, snippet(_body(best[0]), _EXCERPT_BENEATH)))
    first = len({q.hit.chunk.id for q in quoted}) + 1
    return tuple(Reference(n, hit, text, text) for n, (hit, text) in enumerate(places, first))


def _body(quote: Quote) -> str:
    """Without the names of its place, which stands above it."""
    names, dash, body = quote.shown.partition(" —")
    place = {quote.hit.note.title, *quote.hit.chunk.heading_path, str(quote.hit.note.day)[:10]}
    return body.strip() if dash and place.issuperset(names.split(" · ")) else quote.shown


def _section(hit: Hit, beside: Sequence[Hit], found: Sequence[Hit]) -> str:
    """The passage with those around it that are of its section, if that isn't too long. A mark
    stands where the section goes on, as in another passage that was ``found``."""
    around = sorted((hit, *beside), key=lambda one: one.chunk.ordinal)
    adjoin = all(b.chunk.ordinal - a.chunk.ordinal == 1 for a, b in pairwise(around))
    whole = _passage(around) if adjoin else ""
    shown = around if 0 < len(whole) <= _LONGEST else [hit]
    last = shown[-1].chunk
    place = (last.vault, last.rel_path, last.heading_path, last.ordinal + 1)
    rest = (one.chunk for one in (*beside, *found))
    goes_on = any((c.vault, c.rel_path, c.heading_path, c.ordinal) == place for c in rest)
    return "\n".join((_passage(shown), *[show.CUT] * goes_on))


def _passage(hits: Sequence[Hit]) -> str:
    return strip_controls(show.passage(joined(hits), hits[0].chunk.rel_path))
