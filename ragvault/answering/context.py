"""The context of the prompt: the evidence as blocks of text, as far as the model's window goes.

A hit's neighbours are the chunks before and after it in its own section. They fill what the hits
have left of the window and displace none; the lines that two chunks share are said once. Each
stays a chunk of its own for the citations. What notes hold is data: it can forge neither a block
nor a citation nor a model's control token. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ragvault.answering.citations.styles import CitationStyle, one_line, section_label
from ragvault.model import Chunk, Hit
from ragvault.text import sentence_spans, strip_controls, without_definitions

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
    that is too big alone is cut at a sentence. Neighbours get what is left."""
    room = _Room(tokens, chars, style)
    passages: list[Passage] = []
    cut: tuple[str, ...] = ()  # the first block, when it had to be cut
    for hit in hits:
        if len(passages) == MAX_CHUNKS:
            break
        passage = Passage(hit, (hit,))
        text = room.text(passage)
        if room.take(text, room.block(len(passages) + 1, hit, text)):
            passages.append(passage)
        elif not passages:  # else a smaller one may still fit
            left = room.tokens - estimate_tokens(room.block(1, hit, _ELLIPSIS)) - 2
            text = _cut(text, room.chars, left)
            if text:
                cut = (room.block(1, hit, text),)
                room.take(text, cut[0])
                passages.append(passage)

    whole = widen(passages[len(cut) :], neighbours, room.add)
    blocks = (room.block(i, p.hit, room.text(p)) for i, p in enumerate(whole, len(cut) + 1))
    beside = tuple(hit for p in whole for hit in p.hits if hit is not p.hit)
    return Packed(tuple(p.hit for p in passages), beside, (*cut, *blocks))


@dataclass
class _Room:
    """What is left of the window, in tokens and in characters of notes."""

    tokens: int
    chars: int
    style: CitationStyle

    def take(self, text: str, block: str) -> bool:
        return self._pay(estimate_tokens(block) + 2, len(text))

    def add(self, neighbour: Hit) -> bool:
        """Room for a neighbour's text; what it shares with the next one is counted twice."""
        text = self.style.guard(neutralise(neighbour.chunk.text))
        return self._pay(estimate_tokens(text) + 2, len(text) + 2)

    def text(self, passage: Passage) -> str:
        """Without the link definitions at its end: addresses, for which the window is too small."""
        lines = passage.text.split("\n")
        text = neutralise("\n".join(lines[: without_definitions(lines)])).strip("\n")
        return self.style.guard(text)

    def block(self, number: int, hit: Hit, text: str) -> str:
        chunk = hit.chunk
        return (
            f"{self.style.label(number)}\n"
            f"[Vault: {_name(chunk.vault)}] File: {_name(chunk.rel_path)}\n"
            f"Section: {_name(section_label(chunk.heading_path))}\n"
            f"Content: {text}"
        )

    def _pay(self, tokens: int, chars: int) -> bool:
        if tokens > self.tokens or chars > self.chars:
            return False
        self.tokens -= tokens
        self.chars -= chars
        return True


def _name(name: str) -> str:
    return one_line(without_control_tokens(name))


def _cut(text: str, max_chars: int, max_tokens: int) -> str:
    """The whole sentences that fit, and an ellipsis; "" when hardly anything would be left."""
    if max_tokens < _MIN_CUT_TOKENS:
        return ""
    end, tokens = 0, 0
    for start, stop in sentence_spans(text):
        tokens += estimate_tokens(text[min(end, start) : stop])
        if tokens > max_tokens or stop > max_chars - len(_ELLIPSIS):
            break
        end = stop
    if end == 0:  # one endless sentence: cut at a word
        end = _fitting(text, max_chars - len(_ELLIPSIS), max_tokens)
    return text[:end] + _ELLIPSIS


def _fitting(text: str, max_chars: int, max_tokens: int) -> int:
    low, high = 0, max(0, min(len(text), max_chars))
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    space = max(text.rfind(" ", 0, low), text.rfind("\n", 0, low))
    return space if space > low // 2 else low


# --------------------------------------------------------------------------- passages


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive chunks of one section, of which ``hit`` is the one that was found."""

    hit: Hit
    hits: tuple[Hit, ...]

    @property
    def text(self) -> str:
        text, last = self.hits[0].chunk.text, self.hits[0].chunk
        for hit in self.hits[1:]:
            text += _rest(text, last, hit.chunk)
            last = hit.chunk
        return text

    def adjoining(self, neighbours: Sequence[Hit]) -> tuple[Hit, ...]:
        """The next neighbour after it, and the one before it, where there are such: what follows
        explains more often than what precedes."""
        first, last = self.hits[0].chunk.ordinal, self.hits[-1].chunk.ordinal
        found = [n for n in neighbours if n.chunk.ordinal in (first - 1, last + 1)]
        return tuple(sorted(found, key=lambda n: -n.chunk.ordinal))

    def widened(self, neighbour: Hit) -> Passage:
        hits = sorted((*self.hits, neighbour), key=lambda n: n.chunk.ordinal)
        return Passage(self.hit, tuple(hits))


def widen(
    passages: Sequence[Passage], neighbours: Neighbours, fits: Callable[[Hit], bool]
) -> list[Passage]:
    """Each passage as wide as there is room for, the best hit's first, a neighbour at a time.

    ``fits`` says whether there is room for a neighbour, and counts it if so.
    """
    found = list(passages)
    for i, passage in enumerate(passages):
        left = list(neighbours.get(passage.hit.chunk.id, ()))
        while adjoining := found[i].adjoining(left):
            left.remove(adjoining[0])
            if fits(adjoining[0]):
                found[i] = found[i].widened(adjoining[0])
    return found


def _rest(text: str, last: Chunk, following: Chunk) -> str:
    """What a chunk adds to the text before it, with the line ends between the two."""
    gap = following.start_line - last.end_line
    if gap <= 0:
        shared = _shared(text, following.text)
        if shared or gap < 0:
            return following.text[shared:]
        return f" {following.text}"  # two pieces of one long line
    return "\n" * min(gap, 2) + following.text


def _shared(text: str, following: str) -> int:
    """How many characters the end of one text and the beginning of the next have in common."""
    for length in range(min(len(text), len(following)), _MIN_SHARED - 1, -1):
        if text.endswith(following[:length]):
            return length
    return 0


# --------------------------------------------------------------------------- text


def without_control_tokens(text: str) -> str:
    """Without control characters, a "·" in each token of a chat template."""
    text = strip_controls(text)
    return _CONTROL_TOKEN.sub(lambda m: f"{m.group()}·" if m.group() != ">" else "·>", text)


def neutralise(text: str) -> str:
    """A note's text as the prompt may hold it: readable, and unable to pass for the prompt.

    Control characters go; delimiters, chunk labels, citations and chat template tokens get a
    visible "·" in them. Ordinary text is unchanged.
    """
    text = without_control_tokens(text)
    text = _FORGED.sub(lambda m: f"{m.group()}·", text)
    return _BARE_HEADER.sub(lambda m: f"{m.group('indent')}·", text)


def estimate_tokens(text: str) -> int:
    """About how many tokens a chat model makes of the text, rather too many than too few.

    No tokenizer of the model is at hand. English runs at 4 to 5 characters a token with the
    tokenizers in use, code and tables at 2.5 to 3.5; some split every digit. So: letters a to z
    0.31 each (3.2 to a token), digits 1, signs 0.7, line ends 0.6; other Latin letters 0.8;
    all other scripts 1.3 a character, beyond the basic plane (emoji) 3. On prompts from three
    vaults that is 14 to 25 % more than SmolLM2's own count. Linear.
    """
    total = 0.0
    for char in text:
        code = ord(char)
        if code < 128:
            total += _ASCII_COST[code]
        elif code < 0x250:
            total += 0.8
        else:
            total += 1.3 if code < 0x10000 else 3.0
    return int(total) + 1


def _ascii_cost(char: str) -> float:
    if char.isalpha():
        return 1 / 3.2
    if char.isdigit():
        return 1.0
    return {" ": 0.1, "\n": 0.6, "\t": 0.5, ".": 0.5, ",": 0.5}.get(char, 0.7)


_ASCII_COST = tuple(_ascii_cost(chr(code)) for code in range(128))
