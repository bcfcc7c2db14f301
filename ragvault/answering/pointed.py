"""The place that most likely holds the answer, where no words of it do for certain: what matches
best, for a person to read.

The first passage stands with the rest of its section, since that is what one would open and read;
each other one that comes about as near, as it would be quoted. What a model found its answer in
stands before them. Beneath an answer that isn't sure stand a few other places.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ragvault.answering.context import Neighbours, joined
from ragvault.answering.quote import show
from ragvault.answering.quote.extract import Quote, Reading, read
from ragvault.model import AbstainReason, Abstention, Detail, Evidence, Hit, Reference
from ragvault.text import one_line, snippet, strip_controls

_LONGEST = 2400  # characters of a section that is shown whole
# Of the first passage's score, for another to be shown: where the answer isn't there at all, as
# below UNLIKELY, what comes less near than the first hardly holds it either, and nobody reads nine
# places in vain.
_PLAUSIBLE, _CLOSE = 0.6, 0.8
UNLIKELY = 0.1
_FEW = 3  # places beside the first, there
_BENEATH = 4  # places beneath an answer


def point(
    question: str,
    evidence: Evidence,
    neighbours: Neighbours,
    reading: Reading | None = None,
    held: Hit | None = None,
) -> Abstention:
    """Where the first passage is, with what is shown of it and of each plausible one; the others
    stand behind them, for who wants more. ``held``: what a model says is in this one."""
    hits = evidence.near or evidence.hits
    tops = list({hit.chunk.place: hit for hit in (held or hits[0], hits[0])}.values())
    first = tops[0]
    section = " › ".join(map(one_line, first.chunk.heading_path))
    place = one_line(first.chunk.rel_path) + (f" › {section}" if section else "")
    least, most = (_CLOSE, _FEW) if evidence.confidence < UNLIKELY else (_PLAUSIBLE, len(hits))
    others = [hit for hit in hits if hit.chunk.id not in {top.chunk.id for top in tops}]
    likely = [hit for hit in others if hit.scores.final >= least * hits[0].scores.final][:most]
    quotes = (reading or read(question, likely)).of_each()
    shown = [hit for hit in likely if hit.chunk.id in quotes]
    rest = [hit for hit in others if hit not in shown]
    wholes = (_section(top, neighbours.get(top.chunk.id, ()), hits) for top in tops)
    return Abstention(
        AbstainReason.INSUFFICIENT_INFORMATION,
        evidence.confidence,
        f"{Abstention.LIKELY} {place}",
        nearest=(*tops, *shown, *rest),
        passages=(*wholes, *(body(quotes[hit.chunk.id]) for hit in shown)),
    )


def beside(
    question: str, evidence: Evidence, quoted: Sequence[Quote], reading: Reading | None = None
) -> tuple[Reference, ...]:
    """The plausible places that nothing was ``quoted`` from, each with its best lines; of a
    section one."""
    hits = evidence.near or evidence.hits
    seen = {q.hit.chunk.place for q in quoted}
    places: dict[object, Hit] = {}
    for hit in hits:
        place = hit.chunk.place
        if place not in seen and hit.scores.final >= _PLAUSIBLE * hits[0].scores.final:
            places.setdefault(place, hit)
    likely = list(places.values())[:_BENEATH]
    best = (reading or read(question, likely)).of_each(Detail.BRIEF)
    shown = [(hit, body(best[hit.chunk.id])) for hit in likely if hit.chunk.id in best]
    number = len({q.hit.chunk.id for q in quoted}) + 1
    return tuple(
        Reference(n, hit, snippet(text), text) for n, (hit, text) in enumerate(shown, number)
    )


def body(quote: Quote) -> str:
    """Without the names of its place, which stands above it."""
    names, dash, rest = quote.shown.partition(" —")
    place = {quote.hit.note.title, *quote.hit.chunk.heading_path, str(quote.hit.note.day)[:10]}
    return rest.strip() if dash and place.issuperset(names.split(" · ")) else quote.shown


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
