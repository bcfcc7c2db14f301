"""The place that most likely holds the answer, where no words of it do for certain: what matches
best, for a person to read.

The first passage stands with the rest of its section, since that is what one would open and read;
of each other one its best lines. The same stands beneath an answer that isn't sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from ragvault.answering.context import Neighbours, joined
from ragvault.answering.quote import show
from ragvault.answering.quote.extract import Quote, extract
from ragvault.model import AbstainReason, Abstention, Detail, Evidence, Hit, Reference
from ragvault.text import one_line, snippet, strip_controls

_LONGEST = 2400  # characters of a section that is shown whole
_EXCERPT = 200  # characters of another passage's best lines
_EXCERPT_BENEATH = 96  # and beneath an answer, where it shall not push that off the screen


def point(
    question: str, evidence: Evidence, neighbours: Neighbours, today: date | None = None
) -> Abstention:
    """Where the first passage is, with what is shown of each, best first."""
    first = evidence.hits[0]
    section = " › ".join(map(one_line, first.chunk.heading_path))
    place = one_line(first.chunk.rel_path) + (f" › {section}" if section else "")
    shown = near(question, evidence, neighbours, today=today)
    return Abstention(
        AbstainReason.INSUFFICIENT_INFORMATION,
        evidence.confidence,
        f"{Abstention.LIKELY} {place}",
        nearest=tuple(one.hit for one in shown),
        passages=tuple(one.evidence for one in shown),
    )


def near(
    question: str,
    evidence: Evidence,
    neighbours: Neighbours,
    quoted: Sequence[Quote] = (),
    today: date | None = None,
) -> tuple[Reference, ...]:
    """What was found, to be read: the first passage whole, where more stands there than was
    ``quoted``, and the best lines of others that nothing was quoted from."""
    ids = dict.fromkeys(quote.hit.chunk.id for quote in quoted)
    found: list[Reference] = []
    hits = evidence.near or evidence.hits
    for number, hit in enumerate(hits):
        text = ""
        if not number:
            text = _section(hit, neighbours.get(hit.chunk.id, ()), hits)
            said = "\n".join((show.CUT, *hit.chunk.heading_path, *(q.shown for q in quoted)))
            text = text if any(line.strip() not in said for line in text.split("\n")) else ""
        elif hit.chunk.id not in ids:
            best = extract(question, [hit], detail=Detail.BRIEF, today=today)
            length = _EXCERPT_BENEATH if ids else _EXCERPT
            text = snippet(" ".join(map(_body, best)), length)
        if text or not ids:
            found.append(Reference(len(ids) + len(found) + 1, hit, snippet(text), text))
    return tuple(found)


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
