"""The answer without a model: sentences quoted word for word from the evidence.

Each passage (a sentence, a list item with the line that leads into it, a table row with its
header, a whole code fence) is scored by how much of the question it holds, weighted by how rare
each word is among the passages, with the words of its heading path counting half; by the cosine
to the question when an embedder is at hand; by its hit's rank and its place in the chunk; and by
whether it has the form that such a question asks for (a definition, a date, a number, steps).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from ragvault.answering.prompt import neutralise
from ragvault.answering.support import content_stems
from ragvault.answering.values import find_dates
from ragvault.model import Detail, Hit
from ragvault.text import sentence_spans, strip_controls

if TYPE_CHECKING:
    from ragvault.model import Matrix

Embed: TypeAlias = "Callable[[Sequence[str]], Matrix]"

_LIMIT = {Detail.BRIEF: 1, Detail.NORMAL: 3, Detail.DETAILED: 5}
_KEEP = 0.65  # of the best score: what else is worth quoting
_MAX_EMBEDDED = 32  # passages, the best by words; more would cost more than they help
_MAX_CODE_LINES = 30
_SAME = 0.7  # word overlap (Jaccard) above which two passages say the same

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:\s|$)|^\s*(?:={3,}|-{3,}|\*{3,}|_{3,})\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_QUOTE = re.compile(r"^\s*(?:>\s*)+(?:\[![\w-]+\][+-]?\s*)?")
_FIELD = re.compile(r"^\s*(?:[\w -]+:(?:\s|$)|-\s|#|[\]}\"'])")
_DULL_FIELD = re.compile(
    r"^(?:title|alias(?:es)?|tags?|date|created|updated|css\w*)\s*:", re.IGNORECASE
)
_KEY_ALONE = re.compile(r"^[\w -]+:\s*$")
_TAGS = re.compile(r"(?:#[^\s#]+\s*)+|(?:!?\[\[[^\]]*\]\]\s*)+")
# Where a link leads, as editors write it below a note. A footnote ("[^1]: …") is text.
_LINK_DEFINITION = re.compile(r"^ {0,3}\[(?!\^)[^\]\n]+\]:\s*\S")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")
_RULE_ROW = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")
_DEFINITION = re.compile(
    r"\b(?:is|are|was|means|refers to|stands for|ist|sind|bedeutet|es|son|est|sont)\b"
    r"|^[^:.]{2,40}:\s",
    re.IGNORECASE,
)
_ASKS_DEFINITION = re.compile(
    r"^\s*(?:what(?:'s|’s| is| are| was| does .* mean)|was ist|qué es|qu'est-ce|define\b)", re.I
)
_ASKS_DATE = re.compile(r"\b(?:when|what (?:date|day|year|time)|wann|cuándo|quand)\b", re.I)
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|long|old|far|big|often)\b|\bwie ?viele?\b", re.I)
_ASKS_STEPS = re.compile(r"\b(?:how (?:do|to|can|did|does|should)|steps?|command|code)\b", re.I)


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage. ``parts`` are verbatim pieces of the chunk, in order, a line or more each."""

    hit: Hit
    parts: tuple[str, ...]
    start: int  # where it stands in the chunk's text
    kind: str  # "sentence" | "item" | "row" | "code" | "field" | "links"
    score: float = 0.0

    @property
    def text(self) -> str:
        return "\n".join(self.parts)


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
    passages = [quote for hit in hits for quote in passages_of(hit)]
    safe = [quote for quote in passages if neutralise(quote.text) == strip_controls(quote.text)]
    passages = safe or [_defused(quote) for quote in passages]
    if not passages:
        return []
    scored = _score_words(question, passages)
    if embed is not None:
        scored = _add_meaning(question, scored, embed)
    return _choose(scored, _LIMIT[detail], [hit.chunk.id for hit in hits])


def _defused(quote: Quote) -> Quote:
    """A passage that imitates a citation is quoted only when there is nothing else."""
    return replace(quote, parts=tuple(neutralise(part) for part in quote.parts))


# --------------------------------------------------------------------------- passages


def passages_of(hit: Hit) -> list[Quote]:
    """The chunk's text as passages; headings, rules and link definitions left out."""
    lines = hit.chunk.text.split("\n")
    starts = _line_starts(lines)
    found: list[Quote] = []
    index = _take_frontmatter(hit, lines, starts, found)
    while index < len(lines):
        index = _take(hit, lines, starts, index, found)
    if not found and hit.chunk.text.strip():
        only_links = any(_LINK_DEFINITION.match(line) for line in lines)
        kind = "links" if only_links else "sentence"
        found.append(Quote(hit, (hit.chunk.text.strip(),), 0, kind))
    return found


def _line_starts(lines: Sequence[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _take_frontmatter(
    hit: Hit, lines: Sequence[str], starts: Sequence[int], found: list[Quote]
) -> int:
    """A passage for each field that says something; the line after the frontmatter."""
    if lines[0].rstrip() != "---" or "---" not in (line.rstrip() for line in lines[1:]):
        return 0
    end = next(j for j in range(1, len(lines)) if lines[j].rstrip() == "---")
    if not all(not line.strip() or _FIELD.match(line) for line in lines[1:end]):
        return 0
    key = ""
    for j in range(1, end):
        is_item = lines[j].lstrip().startswith("- ")
        if not is_item:
            key = lines[j].rstrip()
        if not re.search(r"\w", lines[j]) or _DULL_FIELD.match(key):
            continue
        if not _KEY_ALONE.match(lines[j]):
            # '- "[[Japan]]"' says something only below its "loc:".
            lead = (key,) if is_item and _KEY_ALONE.match(key) else ()
            found.append(Quote(hit, (*lead, lines[j].strip()), starts[j], "field"))
    return end + 1


def _take(hit: Hit, lines: Sequence[str], starts: Sequence[int], i: int, found: list[Quote]) -> int:
    """Append the passages of the block that starts at line ``i``; the line after it."""
    line = lines[i]
    fence = _FENCE.match(line)
    if fence:
        end = next(
            (j for j in range(i + 1, len(lines)) if lines[j].strip().startswith(fence.group(1))),
            len(lines) - 1,
        )
        if end - i <= _MAX_CODE_LINES and any(lines[j].strip() for j in range(i + 1, end)):
            found.append(Quote(hit, ("\n".join(lines[i : end + 1]),), starts[i], "code"))
        return end + 1
    if not line.strip() or _HEADING.match(line) or _LINK_DEFINITION.match(line):
        return i + 1
    if _TABLE.match(line):
        return _take_table(hit, lines, starts, i, found)
    end = _paragraph_end(lines, i)
    lead = _lead_in(lines, i) if _ITEM.match(line) else None
    text = "\n".join(lines[i:end])
    marker = _ITEM.match(text) or _QUOTE.match(text)
    offset = marker.end() if marker else 0
    if lead is not None:
        found.append(Quote(hit, (lead, text.strip("\n")), starts[i], "item"))
        return end
    for start, stop in sentence_spans(text[offset:]):
        sentence = text[offset:][start:stop]
        if re.search(r"\w", sentence):
            kind = "item" if marker else "sentence"
            found.append(Quote(hit, (sentence,), starts[i] + offset + start, kind))
    return end


def _paragraph_end(lines: Sequence[str], i: int) -> int:
    j = i + 1
    while j < len(lines) and lines[j].strip():
        if _ITEM.match(lines[j]) or _HEADING.match(lines[j]) or _FENCE.match(lines[j]):
            break
        if _LINK_DEFINITION.match(lines[j]):
            break
        if _TABLE.match(lines[j]) or bool(_QUOTE.match(lines[j])) != bool(_QUOTE.match(lines[i])):
            break
        j += 1
    return j


def _lead_in(lines: Sequence[str], i: int) -> str | None:
    """The line that ends with a colon before the list that line ``i`` belongs to."""
    j = i - 1
    while j >= 0 and (not lines[j].strip() or _ITEM.match(lines[j]) or lines[j][:1] in " \t"):
        if not lines[j].strip() and j + 1 < i and not _ITEM.match(lines[j + 1]):
            return None
        j -= 1
    if j < 0 or _HEADING.match(lines[j]) or not lines[j].rstrip().endswith(":"):
        return None
    return lines[j].strip()


def _take_table(
    hit: Hit, lines: Sequence[str], starts: Sequence[int], i: int, found: list[Quote]
) -> int:
    """A passage for each row, with the header and its rule when the table has them."""
    end = i
    while end < len(lines) and _TABLE.match(lines[end]):
        end += 1
    has_header = end - i > 2 and bool(_RULE_ROW.match(lines[i + 1]))
    header = (lines[i], lines[i + 1]) if has_header else ()
    found.extend(
        Quote(hit, (*header, lines[j]), starts[j], "row")
        for j in range(i + len(header), end)
        if re.search(r"\w", lines[j])
    )
    return end


# --------------------------------------------------------------------------- scores


def _score_words(question: str, passages: Sequence[Quote]) -> list[Quote]:
    wanted = set(content_stems(question))
    bags = [set(content_stems(p.parts[-1])) for p in passages]
    counts = Counter(stem for bag in bags for stem in bag)
    weight = {w: math.log(1 + (len(bags) + 1) / (1 + counts[w])) for w in wanted}
    total = sum(weight.values()) or 1.0
    best = max((p.hit.scores.final for p in passages), default=1.0) or 1.0
    scored: list[Quote] = []
    for passage, bag in zip(passages, bags, strict=True):
        place = set(
            content_stems(
                " ".join(
                    (*passage.parts[:-1], passage.hit.note.title, *passage.hit.chunk.heading_path)
                )
            )
        )
        own = sum(weight[w] for w in wanted & bag)
        inherited = sum(weight[w] for w in (wanted & place) - bag)
        score = (own + 0.5 * inherited) / total
        score += 0.25 * passage.hit.scores.final / best
        score += 0.05 / (1 + passage.start / 200)
        score += _form_bonus(question, passage)
        if (len(bag) < 3 and not own) or _TAGS.fullmatch(passage.text.strip()):
            score *= 0.6  # "See below." answers nothing
        if passage.kind == "links":
            score *= 0.2  # quoted only when there is nothing else
        scored.append(replace(passage, score=score))
    return scored


def _form_bonus(question: str, passage: Quote) -> float:
    text = passage.parts[-1]
    if passage.kind == "field" and not (_ASKS_DATE.search(question) and find_dates(text)):
        return -0.1  # prose says it better, where it does
    if _ASKS_DATE.search(question):
        return 0.15 if find_dates(text) or re.search(r"\b(?:19|20)\d\d\b", text) else 0.0
    if _ASKS_NUMBER.search(question):
        return 0.15 if re.search(r"\d", text) else 0.0
    if _ASKS_STEPS.search(question):
        return 0.12 if passage.kind in ("code", "item") or "`" in text else 0.0
    if _ASKS_DEFINITION.search(question):
        return 0.1 if _DEFINITION.search(text[:160]) else 0.0
    return -0.05 if passage.kind == "code" else 0.0


def _add_meaning(question: str, passages: Sequence[Quote], embed: Embed) -> list[Quote]:
    """Add half the cosine to the question, for the best passages by words and each hit's first."""
    order = sorted(range(len(passages)), key=lambda i: -passages[i].score)[:_MAX_EMBEDDED]
    texts = [" ".join((*passages[i].hit.chunk.heading_path, passages[i].text)) for i in order]
    vectors = embed([question, *texts])
    cosines = vectors[1:] @ vectors[0]
    scored = list(passages)
    for i, cosine in zip(order, cosines, strict=True):
        share = 0.0 if passages[i].kind == "links" else 0.5
        scored[i] = replace(passages[i], score=passages[i].score + share * float(cosine))
    return scored


def _choose(passages: Sequence[Quote], limit: int, order: Sequence[str]) -> list[Quote]:
    ranked = sorted(passages, key=lambda p: (-p.score, order.index(p.hit.chunk.id), p.start))
    chosen: list[Quote] = []
    for passage in ranked:
        if len(chosen) == limit or passage.score < _KEEP * ranked[0].score:
            break
        if not any(_says_the_same(passage, other) for other in chosen):
            chosen.append(passage)
    return _merged(chosen)


def _merged(quotes: Sequence[Quote]) -> list[Quote]:
    """Rows of one table under one header, items of one list under one lead-in."""
    merged: list[Quote] = []
    for quote in quotes:
        head = quote.parts[:-1]
        for i, other in enumerate(merged):
            same = other.hit == quote.hit and other.parts[: len(head)] == head
            if same and (head or quote.kind == other.kind == "row"):
                rows = sorted({*other.parts[len(head) :], quote.parts[-1]}, key=_place_in(quote))
                merged[i] = replace(other, parts=(*head, *rows))
                break
        else:
            merged.append(quote)
    return merged


def _place_in(quote: Quote) -> Callable[[str], int]:
    return quote.hit.chunk.text.find


def _says_the_same(a: Quote, b: Quote) -> bool:
    if " ".join(a.parts[-1].split()) in " ".join(b.parts[-1].split()):
        return True
    left, right = set(content_stems(a.parts[-1])), set(content_stems(b.parts[-1]))
    return bool(left | right) and len(left & right) > _SAME * len(left | right)
