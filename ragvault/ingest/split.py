"""Cutting a section that is longer than the window: where, and with how much overlap. Pure.

The section is taken apart only as far as needed: blocks; of a block that alone is too long its
items, rows or lines; of such a line its sentences, then words, then runs of graphemes. These
atoms are then packed into pieces of similar size that end, where possible, between blocks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil

from ragvault.formats.decoding import ENDLESS
from ragvault.formats.inline import says_nothing
from ragvault.model import Block, Note
from ragvault.ports import TokenCounter
from ragvault.text import sentence_spans

# A word that the tokenizer doesn't know may be one token however long it is (base64, hex): so
# many characters count as one token at least, and no chunk grows without bound.
CHARS_PER_TOKEN = 16

# How good a place is to cut: between blocks, at a sentence's end, … The numbers only rank.
_BLOCK, _SENTENCE, _LINE, _WORD, _RUN, _GLUED = 6.0, 3.0, 2.0, 1.0, 0.0, -6.0
_STRENGTH_WEIGHT = 0.06  # of one such step, against a piece's distance from the ideal size

_WORDS = re.compile(r"\s*[^\s，、；：・]+[，、；：・]*\s*|\s*[，、；：・]+\s*")
_ENDS_SENTENCE = re.compile(r"[.!?…。！？｡؟۔:][\"'”’」』)\]*_]*\s*$")
_SEGMENT = 4_000  # characters of a line that are looked at together
_RUN_LENGTH = 64  # characters
_MAX_GRAPHEME = 40  # characters; Unicode's stream-safe text has at most 30 marks in a row


@dataclass(frozen=True, slots=True)
class Piece:
    """From column ``start`` of line ``first`` to column ``end`` (exclusive) of line ``last``.

    Lines count from 0 in the note. ``repeat`` is the opening of the fence or table that the piece
    starts inside of, to be put before it in what is embedded.
    """

    first: int
    start: int
    last: int
    end: int
    repeat: str = ""


@dataclass(frozen=True, slots=True)
class _Atom:
    """Text that stays together. ``strength`` says how good a cut before it is; ``depth`` in how
    many items and quotes its block stands."""

    piece: Piece
    strength: float
    block: Block | None = None
    depth: int = 0
    grain: float = _LINE  # what it is at most: a line, a sentence, a word or a run
    cost: int = 0


def costs_of(counter: TokenCounter, texts: Sequence[str], enough: int) -> list[int]:
    """Tokens of each text. What is longer than ``enough`` tokens for its characters alone isn't
    counted: more is not asked."""
    floors = [ceil(len(text) / CHARS_PER_TOKEN) for text in texts]
    pairs = zip(texts, floors, strict=True)
    counts = iter(counter.count_tokens([text for text, floor in pairs if floor <= enough]))
    return [max(next(counts), floor) if floor <= enough else floor for floor in floors]


def split_lines(
    note: Note,
    place: tuple[int, int],
    counter: TokenCounter,
    *,
    budget: int,
    overlap: int,
    lead: tuple[int, int] | None = None,
) -> list[Piece]:
    """Pieces of at most ``budget`` tokens that cover every non-blank line of ``place`` (first and
    last, from 0), in order. ``lead`` is (last line, cost) of frontmatter at the start that stays
    whole. A line is cut only when it alone exceeds the budget, a word only when it alone does.
    Neighbours share up to ``overlap`` tokens of whole atoms. Linear in the lines, and in a piece's
    atoms.
    """
    budget = max(1, budget)
    first, last = place
    lines = note.lines
    atoms: list[_Atom] = []
    if lead is not None:
        end, cost = lead
        atoms.append(_Atom(Piece(first, 0, end, len(lines[end])), _BLOCK, cost=cost))
        first = end + 1
    body = _block_atoms(_within(note.blocks, first, last, lines), lines, "", 0)
    atoms.extend(_fitting(body, lines, counter, budget))
    repeats = sorted({atom.piece.repeat for atom in atoms})
    repeat_costs = dict(zip(repeats, costs_of(counter, repeats, budget), strict=True))
    # An opening that leaves no room for the rest isn't repeated.
    atoms = [
        replace(atom, piece=replace(atom.piece, repeat=""))
        if repeat_costs[atom.piece.repeat] > budget // 4
        else atom
        for atom in atoms
    ]
    ranges = _pack(
        [atom.cost for atom in atoms],
        [atom.strength for atom in atoms],
        [repeat_costs[atom.piece.repeat] for atom in atoms],
        budget,
        overlap,
    )
    ends = ((atoms[i].piece, atoms[j - 1].piece) for i, j in ranges)
    return [Piece(head.first, head.start, tail.last, tail.end, head.repeat) for head, tail in ends]


def _fitting(
    atoms: list[_Atom], lines: Sequence[str], counter: TokenCounter, budget: int
) -> list[_Atom]:
    """Take apart what is too long until all fits: one count a round, few rounds. An atom that
    was not counted yet has no cost."""
    while texts := [piece_text(atom.piece, lines) for atom in atoms if not atom.cost]:
        costs = iter(costs_of(counter, texts, budget))
        fitting: list[_Atom] = []
        for atom in atoms:
            if atom.cost:
                fitting.append(atom)
                continue
            cost = next(costs)
            parts = _parts(atom, lines, budget) if cost > budget else []
            fitting.extend(parts or [replace(atom, cost=max(1, cost))])
        atoms = fitting
    return atoms


def piece_text(piece: Piece, lines: Sequence[str]) -> str:
    """The piece's own text, verbatim."""
    if piece.first == piece.last:
        return lines[piece.first][piece.start : piece.end]
    parts = list(lines[piece.first : piece.last + 1])
    parts[0] = parts[0][piece.start :]
    parts[-1] = parts[-1][: piece.end]
    return "\n".join(parts)


def _within(blocks: Sequence[Block], first: int, last: int, lines: Sequence[str]) -> list[Block]:
    """The blocks of some lines. A block that goes on beyond them ends with them: the lines after
    it, such as link definitions right below a paragraph, are not to be cut."""
    found: list[Block] = []
    for block in blocks[bisect_left(blocks, first, key=lambda b: b.last) :]:
        if block.first > last:
            break
        if block.last > last:
            end = last
            while not lines[end].strip():
                end -= 1
            children = tuple(_within(block.children, block.first, end, lines))
            block = Block(block.kind, block.first, end, children)
        found.append(block)
    return found


def _block_atoms(
    blocks: Iterable[Block], lines: Sequence[str], repeat: str, depth: int
) -> list[_Atom]:
    atoms: list[_Atom] = []
    previous: Block | None = None
    for block in _without_lists(blocks):
        strength = max(_SENTENCE + 0.5, _BLOCK - depth)
        if previous is not None:
            if previous.kind == "heading" or _is_empty(block, lines):
                strength = _GLUED
            elif lines[previous.last].rstrip().endswith((":", "：")):
                strength = _SENTENCE  # what the line announces
        piece = Piece(block.first, 0, block.last, len(lines[block.last]), repeat)
        atoms.append(_Atom(piece, strength, block, depth))
        previous = block
    return atoms


def _without_lists(blocks: Iterable[Block]) -> Iterator[Block]:
    """Items stand beside other blocks: a list is cut where a text is."""
    for block in blocks:
        if block.kind == "list":
            yield from _without_lists(block.children)
        else:
            yield block


def _is_empty(block: Block, lines: Sequence[str]) -> bool:
    """A comment, an anchor, an embed, link definitions. A paragraph of one full stop is left where
    it is: it costs nothing, and nothing would be found by it."""
    text = "\n".join(lines[block.first : block.last + 1])
    is_text = block.kind in ("paragraph", "html", "text") and re.search(r"\w", text) is not None
    return is_text and says_nothing(text)


def _parts(atom: _Atom, lines: Sequence[str], budget: int) -> list[_Atom]:
    """The next smaller atoms of one that is too long; none when it can't be cut."""
    piece = atom.piece
    if atom.block is not None and atom.block.children:
        block, depth = atom.block, atom.depth + 1
        children = list(_without_lists(block.children))
        while len(children) == 1 and children[0].children:
            block, depth = children[0], depth + 1  # a quote in a quote: the same lines
            children = list(_without_lists(block.children))
        repeat = lines[block.first] if block.kind == "callout" else piece.repeat
        parts = _block_atoms(children, lines, repeat, depth)
    elif atom.block is not None and piece.first < piece.last:
        parts = list(_line_atoms(atom.block, lines, piece.repeat))
    elif piece.end - piece.start > ENDLESS:  # sentences, let alone words, would fill the memory
        stretches = _stretches(lines[piece.first][: piece.end], piece.start, 2 * budget)
        parts = [_Atom(replace(piece, start=a, end=b), _WORD) for a, b in stretches]
    else:
        text = lines[piece.first][piece.start : piece.end]
        parts = []
        cuts = ((_SENTENCE, _sentences), (_WORD, _words), (_RUN, _runs))
        for finer, spans in cuts[{_LINE: 0, _SENTENCE: 1}.get(atom.grain, 2) :]:
            found = list(spans(text))
            if len(found) > 1 or (found and found[0] != (0, len(text))):
                at = piece.start
                parts = [
                    _Atom(replace(piece, start=at + a, end=at + b), finer, grain=finer)
                    for a, b in found
                ]
                break
    if parts:
        first = replace(parts[0].piece, repeat=piece.repeat)
        parts[0] = replace(parts[0], strength=atom.strength, piece=first)
    return parts


def _line_atoms(block: Block, lines: Sequence[str], repeat: str) -> Iterator[_Atom]:
    """A block's lines; the opening of a fence or table stays with the next, its end with the
    last. A cut inside a paragraph is better after a line that ends a sentence."""
    opening = {"fence": 1, "table": 2}.get(block.kind, 0)
    if opening:
        repeat = "\n".join(lines[block.first : block.first + opening])
    blank = False
    for at in range(block.first, block.last + 1):
        if not lines[at].strip():
            blank = True
            continue
        if block.first < at <= block.first + opening or (
            opening == 1 and at == block.last and lines[at].strip()[:3] in ("```", "~~~")
        ):
            strength = _GLUED
        elif blank or block.kind == "table" or _ENDS_SENTENCE.search(lines[at - 1][-200:]):
            strength = _SENTENCE
        else:
            strength = _LINE
        inside = at >= block.first + max(1, opening)
        piece = Piece(at, 0, at, len(lines[at]), repeat if inside else "")
        yield _Atom(piece, strength)
        blank = False


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Spans that cover all of a line but white space at their ends."""
    for at, end in _stretches(text, 0, _SEGMENT):
        for a, b in sentence_spans(text[at:end]):
            yield at + a, at + b


def _stretches(text: str, at: int, size: int) -> Iterator[tuple[int, int]]:
    """Spans of at most ``size`` characters from ``at`` on, cut at spaces where there are any."""
    while at < len(text):
        end = min(len(text), at + size)
        if end < len(text) and (space := text.rfind(" ", at, end)) > at:
            end = space + 1
        if text[at:end].strip():
            yield at, end
        at = end


def _words(text: str) -> Iterator[tuple[int, int]]:
    for match in _WORDS.finditer(text):
        word = match.group()
        start = match.start() + len(word) - len(word.lstrip())
        if word.strip():
            yield start, match.start() + len(word.rstrip())


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Runs of whole graphemes: 64 characters long, of a shorter text an eighth."""
    from wcwidth import iter_graphemes

    length = _RUN_LENGTH if len(text) > 2 * _RUN_LENGTH else max(1, len(text) // 8)
    start = end = 0
    for grapheme in iter_graphemes(text):
        for at in range(0, len(grapheme), _MAX_GRAPHEME):
            if end - start >= length:
                yield start, end
                start = end
            end += len(grapheme[at : at + _MAX_GRAPHEME])
    yield start, end


def _pack(
    costs: Sequence[int],
    strengths: Sequence[float],
    repeat_costs: Sequence[int],
    budget: int,
    overlap: int,
) -> list[tuple[int, int]]:
    """Ranges of atoms (start, end exclusive) that each cost at most ``budget`` where possible.

    Each end is the best trade between a good place to cut and the size that would make all
    remaining pieces alike. The next piece goes back over whole atoms of at most ``overlap``.
    """
    total = [0, *accumulate(costs)]
    count = len(costs)
    ranges: list[tuple[int, int]] = []
    start = fresh = 0
    while fresh < count:
        room = budget - repeat_costs[start]
        rest = total[count] - total[start]
        if rest <= room:
            ranges.append((start, count))
            break
        target = rest / ceil(rest / max(1, budget - overlap))
        end, best = 0, float("-inf")
        for j in range(fresh + 1, count):
            size = total[j] - total[start]
            if size > room:
                break
            score = _STRENGTH_WEIGHT * strengths[j] - abs(size - target) / budget
            if score >= best:
                end, best = j, score
        if not end:
            if start < fresh:
                start = fresh  # the overlap left no room
                continue
            end = fresh + 1
        ranges.append((start, end))
        fresh, before = end, start
        start = end
        while start - 1 > before and total[end] - total[start - 1] <= overlap:
            start -= 1
    return ranges
