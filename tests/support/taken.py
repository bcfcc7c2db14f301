"""Statements taken from the prompt, for a scripted server: true ones, and ones with a fault.

Kept apart from ragvault's own reading of sentences and numbers, so that the two can disagree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BLOCK = re.compile(
    r"\[(?:Chunk )?\d+\]\n\[Vault: [^\n]*\] File: (?P<file>[^\n]*)\nSection: (?P<section>[^\n]*)\n"
    r"Content: (?P<content>.*?)(?=\n\n\[(?:Chunk )?\d+\]\n|\n\n--- End Context ---|\Z)",
    re.DOTALL,
)
# From a capital to a full stop, with nothing in it that could be an abbreviation or markup.
_SENTENCE = re.compile(r"(?:^|\n|(?<=[.!?]) )([A-Z][^.!?\n\[\]|`*_#<>\"“”:]{30,240}\.)(?=\s|$)")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"(?<![\w.,:/-])\d{1,6}(?![\w.,:/-]*\d)(?!\w)")


@dataclass(frozen=True)
class Block:
    """A passage of the context, with the names by which it is to be cited."""

    file: str
    section: str
    content: str


def blocks(prompt: str) -> list[Block]:
    """The passages of the context, in order."""
    return [
        Block(match["file"], match["section"].strip(), match["content"])
        for match in _BLOCK.finditer(prompt)
    ]


def sentence_of(content: str) -> str:
    """A whole sentence of a block, one with a number rather than another; where it has none
    (tables, lists), its longest line, without marks."""
    found = [match[1] for match in _SENTENCE.finditer(content)]
    if found:
        return next((sentence for sentence in found if _NUMBER.search(sentence)), found[0])
    lines = [line.strip(" #>*-|\t") for line in content.split("\n")]
    line = max(lines, key=lambda line: len(_WORDS.findall(line)))
    pieces = re.split(r"(?<=[.!?]) +", line)
    whole = [piece for piece in pieces if 30 < len(piece) < 400 and len(_WORDS.findall(piece)) > 4]
    return whole[0] if whole else " ".join(line.split()[:40])


def changed(content: str) -> str:
    """A sentence of a block with another number; where it has none, with a count that the block
    doesn't give."""
    sentence = sentence_of(content)
    match = _NUMBER.search(sentence)
    if match is None:
        return f"{sentence.rstrip('.')} after {_unused('4711', content)} attempts."
    return sentence[: match.start()] + _unused(match[0], content) + sentence[match.end() :]


def _unused(number: str, content: str) -> str:
    """Another number of as many digits that stands nowhere in the block."""
    for step in range(1, 10_000):
        other = str((int(number) + 7 * step) % 10 ** len(number)).rjust(len(number), "1")
        if other not in content:
            return other
    raise AssertionError(f"every number like {number} is in the block")
