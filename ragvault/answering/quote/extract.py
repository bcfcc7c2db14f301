"""The answer without a model: passages quoted word for word from the evidence.

Each passage (see ``passages``) is scored by how much of the question it holds, weighted by how
rare each word is among the passages, with the words of its heading path counting half; by the
cosine to the question when an embedder is at hand; by its hit's rank and its place in the chunk;
and by whether it has the form that such a question asks for (a definition, a date, a number,
steps). What was chosen is then made readable: a sentence that begins with "it" or "this" brings
the one before it, neighbours are joined, and pieces of one list stand together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ragvault.answering.check.support import content_stems
from ragvault.answering.check.values import find_dates
from ragvault.answering.context import neutralise
from ragvault.answering.quote.passages import Lists, Quote, passages_of, says_only_links
from ragvault.model import Detail, Hit
from ragvault.text import strip_controls

if TYPE_CHECKING:
    from ragvault.model import Matrix

Embed: TypeAlias = "Callable[[Sequence[str]], Matrix]"

_LIMIT = {Detail.BRIEF: 1, Detail.NORMAL: 3, Detail.DETAILED: 5}
_KEEP = 0.7  # of the best score: what else is worth quoting
_MEANING = 0.5  # of the cosine to the question, beside at most 1 for its words
_RANK = 0.5  # of the hit's final score, over the best one's
_MAX_EMBEDDED = 32  # passages, the best by words; more would cost more than they help
_SAME = 0.7  # word overlap (Jaccard) above which two passages say the same
_MAX_WITH_BEFORE = 400  # characters of a sentence with the one that it refers to

_TAGS = re.compile(r"(?:#[^\s#]+\s*)+")
_DEFINITION = re.compile(
    r"\b(?:is|are|was|were|means?|refers? to|stands for|ist|sind|war|bedeutet|es|son|est|sont)\b"
    r"|^[^:.]{2,40}:\s|是|指",
    re.IGNORECASE,
)
_ASKS_DEFINITION = re.compile(
    r"^\s*(?:what(?:'s|’s| is| are| was| were| does .* mean)\b|who (?:is|was)\b|was (?:ist|sind)\b"
    r"|qué es\b|qu'est-ce\b|define\b)",
    re.I,
)
_ASKS_DATE = re.compile(
    r"\b(?:when|(?:what|which) (?:date|day|month|year|time)|wann|cuándo|quand)\b"
    r"|什么时候|何时|哪一?年|متى",
    re.I,
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|far|big|often)\b|\bwie ?(?:viele?|lange?|hoch)\b"
    r"|\bcu[áa]nt|\bcombien\b|多少|几|^كم\b",
    re.I,
)
_ASKS_STEPS = re.compile(
    r"\b(?:how (?:do|to|can|did|does|should)|steps?|commands?|code|directions|instructions)\b", re.I
)
_TEMPLATE = re.compile(r"\btemplates?\b", re.IGNORECASE)
# Keys that order notes or belong to a program; quoted where the question names them.
_WEAK_FIELD = re.compile(
    r"^\s*(?:categor\w+|type|class|status|cover\w*|image|thumbnail|banner|icon|url|uri|link|source"
    r"|permalink|slug|u?u?id|\w*id|isbn\w*|references?|publish|draft|up|next|prev\w*|related|parent"
    r"|share[.\w]*|name|layout)\s*:",
    re.IGNORECASE,
)
_NOTE_DATE = re.compile(r"^\s*(?:date|created|updated|modified|last\w*)\b[\w -]*:", re.IGNORECASE)
_REFERS = re.compile(
    r"(?:It|Its|This|These|That|Those|They|Their|He|His|She|Her|Both|Such|Er|Sie|Diese\w?|Dies"
    r"|Dabei|Dadurch)\b|[他她它这]"
)


def extract(
    question: str,
    hits: Sequence[Hit],
    *,
    detail: Detail = Detail.NORMAL,
    embed: Embed | None = None,
) -> list[Quote]:
    """One to five passages that answer best, the best first.

    Not empty when any hit has text. ``embed`` gives unit rows for texts; without it the words
    alone decide. Linear in the hits' text.
    """
    lists = Lists(bool(_ASKS_STEPS.search(question)), frozenset(content_stems(question)))
    passages = [quote for hit in hits for quote in passages_of(hit, lists)]
    safe = [quote for quote in passages if neutralise(quote.text) == strip_controls(quote.text)]
    passages = safe or [_defused(quote) for quote in passages]
    if not passages:
        return []
    scored = _score_words(question, passages)
    if embed is not None:
        scored = _add_meaning(question, scored, embed)
    chosen = _choose(scored, _LIMIT[detail], [hit.chunk.id for hit in hits])
    return _readable(chosen, safe)


def _defused(quote: Quote) -> Quote:
    """A passage that imitates a citation is quoted only when there is nothing else."""
    return replace(quote, parts=tuple(neutralise(part) for part in quote.parts))


# --------------------------------------------------------------------------- scores


def _score_words(question: str, passages: Sequence[Quote]) -> list[Quote]:
    wanted = set(content_stems(question))
    bags = [set(content_stems(_said(p))) for p in passages]
    counts = Counter(stem for bag in bags for stem in bag)
    weight = {w: math.log(1 + (len(bags) + 1) / (1 + counts[w])) for w in wanted}
    total = sum(weight.values()) or 1.0
    best = max((p.hit.scores.final for p in passages), default=1.0) or 1.0
    scored: list[Quote] = []
    for passage, bag in zip(passages, bags, strict=True):
        lead = passage.parts[: passage.lead] if passage.kind != "field" else ()
        place = set(
            content_stems(
                " ".join((*lead, passage.hit.note.title, *passage.hit.chunk.heading_path))
            )
        )
        own = sum(weight[w] for w in wanted & bag)
        inherited = sum(weight[w] for w in (wanted & place) - bag)
        # A field speaks of the note that the title names, a whole list of what stands above it.
        share = 0.9 if passage.kind in ("field", "list") else 0.5
        score = (own + share * inherited) / total
        score += _RANK * passage.hit.scores.final / best
        score += 0.05 / (1 + passage.start / 200)
        score += _form_bonus(question, passage)
        scored.append(replace(passage, score=score * _weight(question, passage, bag, own)))
    return scored


def _said(passage: Quote) -> str:
    """What counts as the passage's own words; a field's key is what it says."""
    return passage.text if passage.kind == "field" else passage.own


def _weight(question: str, passage: Quote, bag: set[str], own: float) -> float:
    """A factor for what hardly answers anything, however many words it shares."""
    text = passage.own.strip()
    factor = 1.0
    if passage.kind == "links":
        factor = 0.2  # quoted only when there is nothing else
    elif passage.kind in ("pointer", "cut"):
        factor = 0.5
    elif (len(bag) < 3 and not own) or _TAGS.fullmatch(text):
        factor = 0.6  # "See below." answers nothing
    elif passage.kind in ("sentence", "item") and text.endswith((":", "：")):
        factor = 0.6  # it only announces
    elif passage.kind == "field" and says_only_links(text.partition(":")[2] or text):
        factor = 0.9 if "[[" in text else 0.5  # an address; a wikilink is a name
    is_date = passage.kind == "field" and bool(find_dates(text))
    if is_date and _NOTE_DATE.match(text) and not _ASKS_DATE.search(question):
        factor = 0.4  # the date of the note, which stands beside its citation
    elif passage.kind == "field" and not (is_date and _ASKS_DATE.search(question)):
        key = set(content_stems(passage.text.partition(":")[0]))
        is_asked = bool(key & set(content_stems(question)))
        factor *= (
            0.75 if not own else 0.7 if _WEAK_FIELD.match(passage.text) and not is_asked else 1
        )
    if _TEMPLATE.search(passage.hit.chunk.rel_path) and not _TEMPLATE.search(question):
        factor *= 0.6
    return factor


def _form_bonus(question: str, passage: Quote) -> float:
    text = passage.parts[-1]
    if _ASKS_DATE.search(question):
        has_date = find_dates(text) or re.search(r"\b(?:1\d|20)\d\d\b", text)
        return 0.15 if has_date else -0.1 * (passage.kind == "field")
    if passage.kind == "field":
        return -0.1  # prose says it better, where it does
    if _ASKS_NUMBER.search(question):
        return 0.15 if re.search(r"\d", text) else 0.0
    if _ASKS_STEPS.search(question):
        return 0.12 if passage.kind in ("code", "item", "list") or "`" in text else 0.0
    if passage.kind == "code":
        return -0.05
    if _ASKS_DEFINITION.search(question):
        return _definition_bonus(question, text)
    return 0.0


def _definition_bonus(question: str, text: str) -> float:
    """Most for a sentence that begins with what is to be defined: "Foam is …"."""
    verb = _DEFINITION.search(text[:160])
    if verb is None:
        return 0.0
    named = set(content_stems(question))
    before = set(content_stems(text[: verb.start() or verb.end()]))
    return 0.25 if named and named <= before and len(before) <= len(named) + 2 else 0.1


def _add_meaning(question: str, passages: Sequence[Quote], embed: Embed) -> list[Quote]:
    """Add half the cosine to the question, for the best passages by words and each hit's first."""
    order = sorted(range(len(passages)), key=lambda i: -passages[i].score)[:_MAX_EMBEDDED]
    texts = [" ".join((*passages[i].hit.chunk.heading_path, passages[i].text)) for i in order]
    vectors = embed([question, *texts])
    cosines = vectors[1:] @ vectors[0]
    scored = list(passages)
    for i, cosine in zip(order, cosines, strict=True):
        share = _MEANING * {"links": 0.0, "pointer": 0.5}.get(passages[i].kind, 1.0)
        scored[i] = replace(passages[i], score=passages[i].score + share * float(cosine))
    return scored


# --------------------------------------------------------------------------- choice


def _choose(passages: Sequence[Quote], limit: int, order: Sequence[str]) -> list[Quote]:
    ranked = sorted(passages, key=lambda p: (-p.score, order.index(p.hit.chunk.id), p.start))
    chosen: list[Quote] = []
    for passage in ranked:
        if len(chosen) == limit or passage.score < _KEEP * ranked[0].score:
            break
        if not any(_says_the_same(passage, other) for other in chosen):
            chosen.append(passage)
    return chosen


def _says_the_same(a: Quote, b: Quote) -> bool:
    if " ".join(a.parts[-1].split()) in " ".join(b.parts[-1].split()):
        return True
    left, right = set(content_stems(a.parts[-1])), set(content_stems(b.parts[-1]))
    return bool(left | right) and len(left & right) > _SAME * len(left | right)


# --------------------------------------------------------------------------- reading


def _readable(chosen: Sequence[Quote], passages: Sequence[Quote]) -> list[Quote]:
    """The chosen passages as a person would copy them out of the note."""
    with_before = [_with_before(quote, passages) for quote in chosen]
    return _merged(with_before)


def _with_before(quote: Quote, passages: Sequence[Quote]) -> Quote:
    """A sentence that refers to the one before it, together with that one."""
    if quote.kind != "sentence" or not _REFERS.match(quote.text.lstrip("*_\"'“„")):
        return quote
    for other in passages:
        if other.hit is quote.hit and other.kind == "sentence" and other.end < quote.start:
            joined = _joined(other, quote)
            if joined is not None and len(joined.text) <= _MAX_WITH_BEFORE:
                return joined
    return quote


def _joined(first: Quote, second: Quote) -> Quote | None:
    """Two sentences of a chunk as one passage, when only white space of one paragraph is between
    them, or the second lies in the first."""
    if first.hit != second.hit or (first.kind, second.kind) != ("sentence", "sentence"):
        return None
    text = first.hit.chunk.text
    gap = text[first.end : second.start]
    if gap.strip() or "\n\n" in gap:
        return None
    end = max(first.end, second.end)
    score = max(first.score, second.score)
    return replace(first, parts=(text[first.start : end],), end=end, score=score)


def _merged(quotes: Sequence[Quote]) -> list[Quote]:
    """Neighbouring sentences as one; rows of one table under one header, items of one list under
    one lead-in, fields of one note, each in the order of the note."""
    merged: list[Quote] = []
    for quote in quotes:
        for i, other in enumerate(merged):
            both = _together(other, quote)
            if both is not None:
                merged[i] = both
                break
        else:
            merged.append(quote)
    return merged


def _together(a: Quote, b: Quote) -> Quote | None:
    if a.hit != b.hit or a.kind != b.kind:
        return None
    first, second = sorted((a, b), key=lambda quote: quote.start)
    if a.kind == "sentence":
        return _joined(first, second)
    if a.kind == "field":
        parts = list(dict.fromkeys((*first.parts, *second.parts)))
        return replace(first, parts=tuple(parts), end=second.end, lead=0)
    head = a.parts[: a.lead]
    if a.kind in ("item", "row") and b.parts[: b.lead] == head:
        if not head and a.kind == "item":
            return _whole_items(first, second)
        rows = sorted({*a.parts[a.lead :], *b.parts[b.lead :]}, key=a.hit.chunk.text.find)
        return replace(first, parts=(*head, *rows), end=second.end)
    return None


def _whole_items(first: Quote, second: Quote) -> Quote:
    """Two items with their marks, each in its line; of two that overlap the longer."""
    if second.start < first.end:
        return max(first, second, key=lambda quote: quote.end - quote.start)
    text = first.hit.chunk.text
    parts: list[str] = []
    for quote in (first, second):
        if len(quote.parts) > 1 or "\n" in quote.text:
            parts += quote.parts
            continue
        start = text.rfind("\n", 0, quote.start) + 1
        parts.append(text[start : quote.end])
    return replace(first, parts=tuple(dict.fromkeys(parts)), end=second.end)


__all__ = ["Embed", "Quote", "extract", "passages_of"]
