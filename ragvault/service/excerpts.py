"""The piece of a passage that is shown for a question, and which of its words match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ragvault.text import normalise, sentence_spans, snippet, stem, tokens

EXCERPT_CHARS = 220
_FRONTMATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
# The line under a table's header, and one that is drawn: nothing to read.
_DRAWN = re.compile(r"(?m)^(?=[^\n]*---)[ \t:|-]+(?:\n|\Z)")
# A row of a table: its cells. What it is closed by would stand beside the next row's beginning.
_ROW = re.compile(r"(?m)^[ \t]*\|[ \t]*(.*?)[ \t]*\|[ \t]*$")
# The mark of a list's next item, which a cut has left at the end.
_LONE_MARK = re.compile(r"\s(?:\d{1,3}[.)]|[-*+·])…?$")
_MARKUP = re.compile(
    r"</?(?:a|b|br|div|em|i|img|p|span|strong|sub|sup|table|tbody|td|th|thead|tr)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def stems_of(terms: Iterable[str]) -> frozenset[str]:
    """A query's terms as the search compares them."""
    return frozenset(stem(term) for term in terms)


def excerpt(text: str, terms: frozenset[str]) -> str:
    """A piece of a passage from the sentence on that holds most of the terms. Frontmatter and
    headings only where there is nothing else; HTML and the rules and edges of tables not at
    all."""
    text = _FRONTMATTER.sub("", text) or text
    for unread in (_DRAWN, _MARKUP):
        bare = unread.sub("", text)
        text = bare if bare.strip() else text
    text = _ROW.sub(r"\1 ·", text)
    spans = sentence_spans(text)
    if not spans:
        return _cut(text)
    bodies = [span for span in spans if not text[span[0] : span[1]].startswith("#")] or spans
    start, _ = max(bodies, key=lambda span: (_held(text[span[0] : span[1]], terms), -span[0]))
    return _cut(text[start:])


def _cut(text: str) -> str:
    piece = snippet(text, EXCERPT_CHARS)
    whole = len(piece) >= len(" ".join(text.split()))
    return _LONE_MARK.sub("" if whole else " …", piece)


def _held(text: str, terms: frozenset[str]) -> int:
    return len(terms & {stem(token) for token in tokens(text)})


def matching_words(text: str, terms: frozenset[str]) -> Iterator[tuple[int, int]]:
    """(start, end) of each word that matches one of the stems as the search compares them."""
    for match in _WORD.finditer(text):
        word = match.group()
        if terms & {stem(t) for t in (normalise(word), *tokens(word))}:
            yield match.span()
