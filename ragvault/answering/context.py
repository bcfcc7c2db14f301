"""The context of the prompt: the evidence as blocks of text, as far as the model's window goes.

A hit's neighbours are the chunks before and after it in its own section. They fill what the hits
have left of the window and displace none; the lines that two chunks share are said once. Each
stays a chunk of its own for the citations. What notes hold is data: it can forge neither a block
nor a citation nor a model's control token. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise, takewhile

from ragvault.answering.citations.styles import CitationStyle
from ragvault.model import Hit
from ragvault.text import one_line, sentence_spans, strip_controls, without_definitions

Neighbours = Mapping[str, Sequence[Hit]]  # by the hit's chunk id, in the order of the note

MAX_CHUNKS = 12
_ELLIPSIS = " […]"
_MIN_CUT_TOKENS = 48  # a piece of a chunk shorter than this helps nobody
_MIN_SHARED = 8  # characters: a shorter match of end and beginning is chance

# What a note may hold that looks like the prompt's own marks. "·" breaks each, visibly.
_FORGED = re.compile(
    r"-{3,}[ \t]*(?=(?:end[ \t]+)?(?:of[ \t]+)?context\b)"
    r"|[\[(【{][ \t]*(?=(?:chunk|citation|document|vault|file|source|n)[ \t]*[:#]?[ \t]*"
    r"(?:\d|(?<=:)[ \t]*\S|(?<=: )\S))",
    re.IGNORECASE | re.MULTILINE,
)
_CONTROL_TOKEN = re.compile(
    r"<(?=[|｜])|(?<=[|｜])>|<(?=/?s>|<SYS>>|</SYS>>|/?(?:start|end)_of_turn>|/?think>|bos>|eos>)"
    r"|\[(?=/?INST\])",
    re.IGNORECASE,
)
_BARE_HEADER = re.compile(
    r"(?P<indent>(?:^|(?<=\]))[ \t]*)(?=file[ \t]*:[ \t]*[^\n]*\n[ \t]*section[ \t]*:)", re.I | re.M
)


@dataclass(frozen=True, slots=True)
class Packed:
    """What of the evidence goes to the model: the hits that fit, the neighbours that fit beside
    them, and a block of text for each hit."""

    hits: tuple[Hit, ...]
    neighbours: tuple[Hit, ...]
    blocks: tuple[str, ...]


def pack(
    hits: Sequence[Hit], neighbours: Neighbours, *, tokens: int, chars: int, style: CitationStyle
) -> Packed:
    """The hits, best first, as far as there is room for them, at most MAX_CHUNKS. A first one
    that is too big alone is cut at a sentence. Neighbours get what is left, one after the other,
    the best hit's first; what two chunks share is counted twice there."""

    def takes(text: str, length: int) -> bool:
        """Whether there is room for the text with its ``length`` of a note; then that is gone."""
        nonlocal tokens, chars
        cost = estimate_tokens(text) + 2
        fits = cost <= tokens and length <= chars
        if fits:
            tokens, chars = tokens - cost, chars - length
        return fits

    found: list[Hit] = []
    cut = ""  # the first hit's text, when it had to be cut
    for hit in hits:
        if len(found) == MAX_CHUNKS:
            break
        text = _shown([hit], style)
        if takes(_block(len(found) + 1, hit, text, style), len(text)):
            found.append(hit)
        elif not found:  # else a smaller one may still fit
            frame = estimate_tokens(_block(1, hit, _ELLIPSIS, style)) + 2
            cut = _cut(text, chars, tokens - frame)
            if cut:
                takes(_block(1, hit, cut, style), len(cut))
                found.append(hit)

    blocks: list[str] = []
    beside: list[Hit] = []
    for number, hit in enumerate(found, 1):
        if cut and number == 1:
            blocks.append(_block(number, hit, cut, style))
            continue
        passage, left = [hit], list(neighbours.get(hit.chunk.id, ()))
        while near := [n for n in left if n.chunk.ordinal in _beside(passage)]:
            # What follows explains more often than what precedes.
            neighbour = max(near, key=lambda n: n.chunk.ordinal)
            left.remove(neighbour)
            text = style.guard(neutralise(neighbour.chunk.text))
            if takes(text, len(text) + 2):
                passage = sorted([*passage, neighbour], key=lambda n: n.chunk.ordinal)
        blocks.append(_block(number, hit, _shown(passage, style), style))
        beside += [n for n in passage if n is not hit]
    return Packed(tuple(found), tuple(beside), tuple(blocks))


def _beside(passage: Sequence[Hit]) -> tuple[int, int]:
    return passage[0].chunk.ordinal - 1, passage[-1].chunk.ordinal + 1


def _shown(passage: Sequence[Hit], style: CitationStyle) -> str:
    """Without the link definitions at its end: addresses, for which the window is too small."""
    lines = joined(passage).split("\n")
    return style.guard(neutralise("\n".join(lines[: without_definitions(lines)])).strip("\n"))


def _block(number: int, hit: Hit, text: str, style: CitationStyle) -> str:
    vault, path, *headings = (
        one_line(without_control_tokens(name))
        for name in (hit.chunk.vault, hit.chunk.rel_path, *hit.chunk.heading_path)
    )
    return style.block(number, vault, path, tuple(headings), text)


def _cut(text: str, max_chars: int, max_tokens: int) -> str:
    """The whole sentences that fit, or of an endless one the words, and an ellipsis; "" when
    hardly anything would be left."""
    if max_tokens < _MIN_CUT_TOKENS:
        return ""
    costs = accumulate(map(_tokens_of, text))
    fitting = sum(1 for _ in takewhile(lambda cost: cost < max_tokens, costs))
    fitting = max(0, min(fitting, max_chars - len(_ELLIPSIS)))
    end = max((stop for _, stop in sentence_spans(text) if stop <= fitting), default=0)
    if not end:
        space = max(text.rfind(" ", 0, fitting), text.rfind("\n", 0, fitting))
        end = space if space > fitting // 2 else fitting
    return text[:end] + _ELLIPSIS


def joined(passage: Sequence[Hit]) -> str:
    """The text of consecutive chunks of one section, as the note has it: what two of them share
    is said once."""
    text = passage[0].chunk.text
    for last, hit in pairwise(passage):
        following = hit.chunk.text
        gap = hit.chunk.start_line - last.chunk.end_line
        if gap > 0:
            text += "\n" * min(gap, 2) + following
            continue
        lengths = range(min(len(text), len(following)), _MIN_SHARED - 1, -1)
        shared = next((n for n in lengths if text.endswith(following[:n])), 0)
        if gap == 0 and not shared:  # two pieces of one long line
            text += " "
        text += following[shared:]
    return text


def without_control_tokens(text: str) -> str:
    """Without control characters, a "·" in each token of a chat template."""
    text = strip_controls(text)
    return _CONTROL_TOKEN.sub(lambda m: f"{m.group()}·" if m.group() != ">" else "·>", text)


def neutralise(text: str) -> str:
    """A note's text as the prompt may hold it: control characters go; delimiters, chunk labels,
    citations and chat template tokens get a visible "·" in them."""
    text = without_control_tokens(text)
    text = _FORGED.sub(lambda m: f"{m.group()}·", text)
    return _BARE_HEADER.sub(lambda m: f"{m.group('indent')}·", text)


def estimate_tokens(text: str) -> int:
    """About how many tokens a chat model makes of the text, rather too many than too few: on
    prompts from three vaults 14 to 25 % more than SmolLM2's own count. Linear."""
    return int(sum(map(_tokens_of, text))) + 1


@cache
def _tokens_of(char: str) -> float:
    """English runs at 4 to 5 characters a token with the tokenizers in use, code and tables at
    2.5 to 3.5; some split every digit."""
    code = ord(char)
    if code >= 128:
        return 0.8 if code < 0x250 else 1.3 if code < 0x10000 else 3.0
    if char.isalpha():
        return 1 / 3.2
    if char.isdigit():
        return 1.0
    return {" ": 0.1, "\n": 0.6, "\t": 0.5, ".": 0.5, ",": 0.5}.get(char, 0.7)
