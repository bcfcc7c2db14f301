"""Where a sentence of a growing draft ends, with the citations that belong to it.

"It is Go. [File: a.md]" cites the sentence before it, so an end is known only when what follows
is. A code fence is one piece.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from ragvault.answering.citations.parse import PAIRS, CitedContext, parse
from ragvault.answering.citations.styles import RawCitation
from ragvault.text import sentence_spans

_FENCE_OPEN = re.compile(r"(?m)^[ \t]{0,3}(`{3,}|~{3,})[^\n`]*\n")
_MARKER = re.compile(r"\s*(?:(?:[-*+#>|]|\d{1,3}[.)]|[a-z]\))\s*)+")
# Of "am 3. Juni" the word is not yet whole.
_DAY = re.compile(r"\d\.\s+\w*\Z")
# Behind a sentence's end ("**It is so.** It …"), not a list's number ("**1.** It …").
_EMPHASIS_CLOSES = re.compile(r"(?<=[.!?…])(?<![*_]\d\.)(?<![*_]\d\d\.)[*_]{1,3}(?=\s|\Z)")
# What may be the line below a table's head.
_RULE = re.compile(r"\n?[-\t |:]+(\n|\Z)")
_LABELS = ("file:", "source:", "section:")
# For what an end waits: nothing (there is none yet), any text, or the end of an open bracket.
Waiting: TypeAlias = Literal["", "text", "bracket"]
LOOKAHEAD = 600  # characters of an open bracket that may still become a citation
_WINDOW = 4000  # of a draft that is looked at first: its sentences are shorter


def next_end(buffer: str, known: CitedContext, *, final: bool) -> tuple[int | None, Waiting]:
    """Where the first complete sentence ends, with its citations and white space; None while
    that can't be told, and what it waits for. A code fence is one piece. Linear in the sentence,
    whatever follows it."""
    window = _WINDOW
    while window < len(buffer):
        end, waiting = _next_end(buffer[:window], known, final=False)
        if end is not None and end <= window - 2 * LOOKAHEAD:
            return end, waiting
        window *= 2
    return _next_end(buffer, known, final=final)


def _next_end(buffer: str, known: CitedContext, *, final: bool) -> tuple[int | None, Waiting]:
    if not buffer or (not final and not buffer.strip()):
        return None, ""
    whole = len(buffer) if final else None
    fence = _FENCE_OPEN.search(buffer)
    if fence and not buffer[: fence.start()].strip():
        mark = re.escape(fence.group(1))
        closing = re.compile(rf"(?m)^[ \t]{{0,3}}{mark}[`~]*[ \t]*(?:\n|\Z)")
        closed = closing.search(buffer, fence.end())
        if closed is None:
            return whole, "text"
        return _with_citations(buffer, closed.end(), known, final=final)
    limit = fence.start() if fence else len(buffer)
    masked = _mask(buffer[:limit], parse(buffer[:limit], known))
    end = _sentence_end(masked)
    if end is not None:
        rule = _RULE.match(masked, end) if masked.lstrip()[:1] == "|" else None
        is_cut = _DAY.search(masked, max(0, end - 4)) or (rule and not rule[1])
        if is_cut and not final:
            return None, "text"
        if rule and "-" in rule[0]:
            end = rule.end()
        return _with_citations(buffer, end, known, final=final)
    return (limit, "text") if fence else (whole, "")


def _mask(text: str, citations: Sequence[RawCitation]) -> str:
    """The text with citations and code spans made a row of letters: no full stop in them ends
    a sentence; and the emphasis that closes behind one a row of quotation marks."""
    chars = list(_EMPHASIS_CLOSES.sub(lambda m: '"' * len(m[0]), text))
    spans = [(c.start, c.end) for c in citations]
    spans += [m.span() for m in re.finditer(r"(?<!`)(`+)(?!`)[^\n]*?[^`\n]\1(?!`)", text)]
    for start, end in spans:
        chars[start:end] = "x" * (end - start)
    return "".join(chars)


def _sentence_end(masked: str) -> int | None:
    """The end of the first sentence that another one follows; a list marker is no sentence."""
    spans = sentence_spans(masked)
    for start, end in spans[:-1]:
        if not _MARKER.fullmatch(masked[start:end]) and not _in_bracket(
            masked[max(0, end - 2 * LOOKAHEAD) : end]
        ):
            return end
    return None


def _in_bracket(text: str) -> bool:
    """An open bracket on the last line that may yet turn out to be a citation."""
    line = text[text.rfind("\n") + 1 :]
    opened = line.rfind("[")
    return (
        opened >= 0
        and "]" not in line[opened:]
        and len(line) - opened < LOOKAHEAD
        and bool(re.match(r"\[\s*(?:\w+\s*[:.]|chunk|$)", line[opened:], re.IGNORECASE))
    )


def _with_citations(
    buffer: str, end: int, known: CitedContext, *, final: bool
) -> tuple[int | None, Waiting]:
    """Extend a sentence over the citations right behind it, and over white space.

    "It is Go. [File: a.md]" cites the sentence before it. None while more has to come.
    """
    while True:
        rest = buffer[end:]
        body = rest.lstrip()
        gap = len(rest) - len(body)
        if not body:
            return (len(buffer) if final else None), "text"
        length = _citation_length(body, known, final=final)
        if length is None:
            return None, "bracket" if body[0] in PAIRS else "text"
        if length == 0 or (_starts_statement(body[length:]) and "\n" in rest[:gap]):
            return end + gap, "text"
        end += gap + length
        tail = re.match(r"[ \t]*[.;,](?=\s|$)", buffer[end:])
        end += tail.end() if tail else 0


def _starts_statement(after: str) -> bool:
    """On a line of its own a citation belongs to what precedes, unless words follow it there."""
    line = after.split("\n", 1)[0]
    return bool(re.search(r"\w", re.sub(r"\[[^\]]*\]", "", line)))


def _citation_length(body: str, known: CitedContext, *, final: bool) -> int | None:
    """Length of the citation that the text starts with; 0: none; None: not yet known."""
    lowered = body[:16].lower()
    if body[0] in PAIRS:
        line = body.split("\n", 1)[0]
        is_open = line.count(body[0]) > line.count(PAIRS[body[0]])
        if is_open and not final and len(line) == len(body) and len(body) < LOOKAHEAD:
            return None
    elif any(lowered.startswith(label) or label.startswith(lowered) for label in _LABELS):
        if not final and "\n" not in body and len(body) < LOOKAHEAD:
            return None
    else:
        return 0
    first = next(iter(parse(body, known)), None)
    return first.end if first is not None and first.start == 0 else 0
