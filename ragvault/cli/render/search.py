"""``search`` on a terminal: rank, place, and the lines that match."""

from __future__ import annotations

import re

from ragvault.cli.render.layout import MAX_LINE, hanging, wrapped
from ragvault.cli.render.places import Links, PlaceView
from ragvault.cli.render.terminal import Terminal
from ragvault.cli.session import Session
from ragvault.service import search
from ragvault.service.search import SearchResult
from ragvault.text import normalise, sentence_spans, snippet, tokens

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


def print_found(session: Session, found: SearchResult) -> None:
    """The passages listed, or what to do where there are none."""
    out = session.out
    if not found.hits:
        out.print(out.style("Nothing found.", "bold"))
        if found.retrieval.searched:
            out.print(out.style(hanging(out, f"Searched: {found.retrieval.searched}.", 0), "dim"))
        out.print(out.style(f"{out.symbol('→', '->')} Try other words, or drop a filter.", "dim"))
        return
    vaults = session.container.catalog.vaults()
    links = Links(vaults, session.settings.output.links)
    view = PlaceView(out, links, show_vault=len(vaults) > 1)
    terms = stems_of(found.retrieval.query.terms)
    width = len(str(len(found.hits)))
    for number, hit in enumerate(found.hits, start=1):
        label = f"{number:>{width}}."
        view.print(label, hit)
        indent = " " * (len(label) + 1)
        text = excerpt(hit.chunk.text, terms)
        for line in wrapped(text, min(out.width, MAX_LINE) - len(indent)):
            out.print(indent + highlighted(line, terms, out))


def stems_of(terms: tuple[str, ...]) -> frozenset[str]:
    """A query's terms as the search compares them."""
    return frozenset(search.stem(term) for term in terms)


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
    return len(terms & {search.stem(token) for token in tokens(text)})


def highlighted(line: str, terms: frozenset[str], out: Terminal) -> str:
    """The line with the words bold that match a term as the search compares them."""

    def bold(match: re.Match[str]) -> str:
        word = match.group()
        is_hit = bool(terms & {search.stem(t) for t in (normalise(word), *tokens(word))})
        return out.style(word, "bold yellow") if is_hit else word

    return _WORD.sub(bold, line) if out.colour else line
