"""The piece of a passage that is shown for a question, and which of its words match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragvault.answering.quote import show
from ragvault.model import Chunk
from ragvault.text import ENGLISH, normalise, sentence_spans, snippet, stem, tokens

EXCERPT_CHARS = 220
# The mark of a list's next item, which a cut has left at the end.
_LONE_MARK = re.compile(r"\s(?:\d{1,3}[.)]|[-*+·])…?$")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Terms:
    """A query's terms as the search compares them: by their stems in its language."""

    stems: frozenset[str] = frozenset()
    language: str = ENGLISH

    @classmethod
    def of(cls, terms: Iterable[str], language: str) -> Terms:
        language = language or ENGLISH
        return cls(frozenset(stem(term, language) for term in terms), language)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each word that matches."""
        for match in _WORD.finditer(text):
            if self.held(match.group()):
                yield match.span()

    def held(self, text: str) -> int:
        """How many of the terms the text holds."""
        found = (normalise(text), *tokens(text))
        return len(self.stems & {stem(token, self.language) for token in found})


def excerpt(chunk: Chunk, terms: Terms) -> str:
    """A piece of a passage, as people read it, from the sentence on that holds most of the terms.
    Frontmatter and headings only where there is nothing else."""
    blocks = [
        (kind, text.replace("\n", " · ") if kind == "table" else text)
        for kind, _, text in show.blocks(chunk.text, chunk.rel_path)
    ]
    said = [text for kind, text in blocks if kind not in ("heading", "field")]
    text = "\n\n".join(said or [text for _, text in blocks]) or chunk.text
    spans = sentence_spans(text)
    start, _ = max(spans, key=lambda s: (terms.held(text[slice(*s)]), -s[0]), default=(0, 0))
    return _cut(text[start:])


def _cut(text: str) -> str:
    piece = snippet(text, EXCERPT_CHARS)
    is_whole = len(piece) >= len(" ".join(text.split()))
    return piece if is_whole else _LONE_MARK.sub(" …", piece)
