"""What is printed of an answer: quotations of the notes, or what a model wrote with the words of
the notes beneath it. A model's page holds whatever would have been printed without one.

Where no words answer for certain, the place that most likely holds the answer is printed: its
passage with the rest of its section, since that is what one would open and read; the next ones that
come about as near, as they would be quoted. Which come first, what is quoted of them says, better
than their rank. What a model found its answer in stands before them. Beneath an answer that isn't
sure stand a few other places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ragvault.answering.check.support import Embed, coverage, is_verbatim, place_text
from ragvault.answering.check.values import find_numbers
from ragvault.answering.citations.styles import FILE_SECTION, PARTLY, CitationStyle, Marks
from ragvault.answering.context import Neighbours, joined
from ragvault.answering.quote import show
from ragvault.answering.quote.extract import Reading, read
from ragvault.config.settings import AnswerSettings, OllamaSettings
from ragvault.model import (
    AbstainReason,
    Abstention,
    Answer,
    Citation,
    CitationStatus,
    Detail,
    Evidence,
    Hit,
    Quote,
    Reference,
    Turn,
)
from ragvault.ports import ChatModel
from ragvault.text import one_line, snippet, strip_controls

if TYPE_CHECKING:
    from ragvault.answering.citations.stream import CitedText, Statement

_LONGEST = 2400  # characters of a section that is shown whole
_PLAUSIBLE = 0.5  # of the first passage's score, for another to be shown where nothing answers
# Places beside the first, as they would be quoted. Where the answer isn't there at all, as below
# UNLIKELY, nobody reads them in vain: by their best line.
_BESIDE = 4
UNLIKELY = 0.1
_BENEATH = 3  # places beneath an answer


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A question with what may be answered from.

    ``neighbours`` are the chunks around the evidence's, which may be answered from too. ``chat``
    None: quote the notes, which is ``quotes``, out of ``reading``; ``today`` is told to the model.
    Evidence of less than ``min_confidence`` isn't quoted as an answer: it is pointed at.
    ``earlier``: the turns of the conversation before, which prove nothing. ``embed``: of words.
    ``beneath``: when the notes' words stand beneath their source (``output.evidence``).
    """

    question: str
    evidence: Evidence
    settings: AnswerSettings
    ollama: OllamaSettings
    chat: ChatModel | None = None
    detail: Detail = Detail.NORMAL
    neighbours: Neighbours = field(default_factory=dict)
    quotes: Sequence[Quote] = ()
    reading: Reading | None = None
    today: date | None = None
    style: CitationStyle = FILE_SECTION
    min_confidence: float = 0.0
    earlier: Sequence[Turn] = ()
    embed: Embed | None = None
    beneath: str = "auto"

    @property
    def is_pointed(self) -> bool:
        """Too little for an answer, whoever writes it."""
        return self.evidence.confidence < self.min_confidence


def point(request: AnswerRequest, held: Hit | None = None) -> Abstention:
    """Where the likeliest passage is, with what is shown of it and of the next ones; the others
    stand behind them, for who wants more. ``held``: what a model says is in this one."""
    evidence, neighbours = request.evidence, request.neighbours
    hits = evidence.near or evidence.hits
    likely = {h.chunk.id: h for h in hits if h.scores.final >= _PLAUSIBLE * hits[0].scores.final}
    reading = request.reading or read(request.question, tuple(likely.values()))
    lines = reading.of_each(Detail.BRIEF)
    places = [likely[chunk] for chunk in lines if chunk in likely]
    best = places[0] if places else hits[0]
    tops = list({hit.chunk.place: hit for hit in (held or best, best)}.values())
    first = tops[0]
    section = " › ".join(map(one_line, first.chunk.heading_path))
    place = one_line(first.chunk.rel_path) + (f" › {section}" if section else "")
    quotes = lines if evidence.confidence < UNLIKELY else reading.of_each()
    shown = [hit for hit in places if hit not in tops][:_BESIDE]
    rest = [hit for hit in hits if hit not in (*tops, *shown)]
    wholes = (_section(top, neighbours.get(top.chunk.id, ()), hits) for top in tops)
    return Abstention(
        AbstainReason.INSUFFICIENT_INFORMATION,
        evidence.confidence,
        f"{Abstention.LIKELY} {place}",
        nearest=(*tops, *shown, *rest),
        passages=(*wholes, *(body(quotes[hit.chunk.id]) for hit in shown)),
    )


def beside(request: AnswerRequest) -> tuple[Reference, ...]:
    """The plausible passages that none of the quotes is from, each with its best lines; what
    answers best first."""
    ids = {quote.hit.chunk.id for quote in request.quotes}
    hits = request.evidence.near or request.evidence.hits
    others = {hit.chunk.id: hit for hit in hits if hit.chunk.id not in ids}
    reading = request.reading or read(request.question, hits)
    page = "\n".join(quote.shown for quote in request.quotes)
    shown = [
        (others[chunk], text)
        for chunk, quote in reading.of_each(Detail.BRIEF).items()
        if chunk in others and not _says(page, text := body(quote))
    ]
    return tuple(
        Reference(n, hit, snippet(text), text)
        for n, (hit, text) in enumerate(shown[:_BENEATH], len(ids) + 1)
    )


def body(quote: Quote) -> str:
    """Without the names of its place, which stands above it."""
    names, dash, rest = quote.shown.partition(" —")
    hit = quote.hit
    stem = PurePosixPath(hit.chunk.rel_path).stem
    place = {stem, *hit.chunk.heading_path, str(hit.note.day)[:10]}
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


_ELSEWHERE = "Another passage matches the question better; what it says is shown too."

_OTHER_VALUE = "Another passage has another value; it is shown too."


def quoted(request: AnswerRequest) -> Answer:
    """The extractive answer: each quotation with its citation, as a paragraph of its own; those of
    one section together, in its order. Lines of a list stay as they come, without a gap."""
    text = ""
    quotes, evidence, marks = request.quotes, request.evidence, Marks(request.style)
    citations: list[Citation] = []
    best: dict[str, tuple[Hit, str]] = {}
    is_list = any(quote.is_line for quote in quotes)
    was_line = False
    for quote in quotes if is_list else _by_section(quotes):
        mark = marks.text(quote.hit)
        body = quote.shown
        is_fenced = body.endswith(("```", "~~~"))
        gap = "\n" if was_line and quote.is_line else "\n\n"
        was_line = quote.is_line
        text += (gap if text else "") + body + ("\n" if is_fenced else " ")
        citations.append(Citation(mark, len(text), CitationStatus.EXACT, quote.hit.chunk.id))
        text += mark
        best.setdefault(quote.hit.chunk.id, (quote.hit, body))
    references = tuple(
        Reference(marker, hit, snippet(body)) for marker, (hit, body) in enumerate(best.values(), 1)
    )
    return Answer(
        text=text,
        mode="extractive",
        confidence=evidence.confidence,
        references=references,
        citations=tuple(citations),
        caveats=evidence.caveats,
    )


def _by_section(quotes: Sequence[Quote]) -> list[Quote]:
    sections: dict[object, list[Quote]] = {}
    for quote in quotes:
        sections.setdefault(quote.hit.chunk.place, []).append(quote)
    return [
        quote
        for of_one in sections.values()
        for quote in sorted(of_one, key=lambda quote: quote.hit.chunk.start_line)
    ]


def written(request: AnswerRequest, text: CitedText) -> Answer:
    """A draft that something is left of, with its references, its caveats and what of the
    confidence remains; ``also`` is what would be printed without the model and isn't yet: where it
    and the quotes disagree, both are seen."""
    from ragvault.answering.check.uncertainty import admits

    evidence, quotes = request.evidence, request.quotes
    claims = [s for s in text.statements if not s.is_uncertain]
    wrong = text.unsupported
    partly = sum(s.is_partly for s in claims)
    share = (len(wrong) + 0.5 * partly) / len(claims) if claims else 0.0
    references = _references(request, text)
    shown = " ".join(s.text for s in text.statements if not s.is_struck)  # no citations between
    page = "\n".join((text.text, shown, *(one.evidence for one in references)))
    rest = [quote for quote in quotes if not _says(page, body(quote))]
    more = [Reference(0, quote.hit, snippet(quote.shown), body(quote)) for quote in rest]
    if evidence.caveats:
        more += [one for one in beside(request) if not _says(page, one.evidence)]
    also = tuple(replace(one, marker=n) for n, one in enumerate(more, len(references) + 1))
    caveats = list(evidence.caveats)
    if rest and rest[0] == quotes[0] and rest[0].hit not in text.cited:
        caveats.append(_ELSEWHERE)
    elif any(_has_other_value(quote, said) for quote in rest for said in text.statements):
        caveats.append(_OTHER_VALUE)
    if text.uncertain or any(
        admits(s.text) and not is_verbatim(s.text, s.cited) for s in text.statements
    ):
        caveats.append("The notes answer only a part of the question.")
    if partly:
        caveats.append(f"What is marked {PARTLY} stands there in other words: compare its source.")
    if wrong and request.settings.unsupported != "keep":
        struck = wrong[0].is_struck
        noun = "statement" if len(wrong if struck else claims) == 1 else "statements"
        left_out = f"{len(wrong)} {noun} left out: not in your notes."
        kept = f"{len(wrong)} of {len(claims)} {noun}: not in the notes cited; check the notes."
        caveats.append(left_out if struck else kept)
    return Answer(
        text=text.text,
        mode="llm",
        confidence=evidence.confidence * (1 - 0.5 * share),
        references=tuple(
            replace(one, evidence="") if request.beneath == "off" else one for one in references
        ),
        citations=text.citations,
        caveats=tuple(caveats),
        also=also,
        statements=text.checked,
    )


def _references(request: AnswerRequest, text: CitedText) -> tuple[Reference, ...]:
    """Numbered in order of first citation, each with the words of its chunk that hold what is
    said of it: as it would be quoted without the model, where that holds it."""
    references: list[Reference] = []
    for marker, hit in enumerate(text.cited, 1):
        said = " ".join(s.text for s in text.statements if hit in s.cited)
        best = read(f"{request.question} {said}", [hit]).quotes(Detail.BRIEF)[:1]
        quoted_of = [quote for quote in request.quotes if quote.hit == hit]
        wholes = [q for one in best for q in quoted_of if _holds(q.shown, body(one))]
        shown = next(iter((*wholes, *best)), None)
        words = body(shown) if shown else ""
        beneath = words if request.beneath == "always" or not _says(said, words) else ""
        references.append(Reference(marker, hit, snippet(shown.shown if shown else ""), beneath))
    return tuple(references)


def _has_other_value(quote: Quote, said: Statement) -> bool:
    """A line of another passage has all the statement's words, and other numbers: last year's rate
    beside this year's."""
    values = _values(said.text)
    if not values or quote.hit in said.cited:
        return False
    of = f"\n{place_text(quote.hit)}"
    return any(
        (there := _values(line)) and not there & values and coverage(said.text, line + of) == 1
        for line in quote.shown.split("\n")
    )


def _values(text: str) -> frozenset[float]:
    return frozenset().union(*(number.values for number in find_numbers(text)))


def _holds(text: str, words: str) -> bool:
    """Each line, and each piece that a mark of what is left out parts."""
    return all(_says(text, piece) for piece in re.split(rf"\n|{re.escape(show.CUT)}", words))


def _says(text: str, words: str) -> bool:
    """Word for word."""
    said = re.escape(" ".join(words.split()).casefold())
    return not said or bool(re.search(rf"(?<!\w){said}(?!\w)", " ".join(text.split()).casefold()))
