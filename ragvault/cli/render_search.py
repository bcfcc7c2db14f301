"""``search`` on a terminal: rank, place, and the lines that match."""

from __future__ import annotations

import re

from ragvault.cli.citations_view import wrapped
from ragvault.cli.links import Links
from ragvault.cli.places import PlaceView
from ragvault.cli.session import Session
from ragvault.cli.terminal import Terminal
from ragvault.flows import finding
from ragvault.flows.finding import Found
from ragvault.text import normalise, sentence_spans, snippet, strip_controls, tokens

EXCERPT_CHARS = 220
_FRONTMATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
# The line under a table's header, and one that is drawn: nothing to read.
_DRAWN = re.compile(r"(?m)^(?=[^\n]*---)[ \t:|-]+(?:\n|\Z)")
_MARKUP = re.compile(
    r"</?(?:a|b|br|div|em|i|img|p|span|strong|sub|sup|table|tbody|td|th|thead|tr)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def print_found(session: Session, found: Found) -> None:
    """The passages listed, or what to do where there are none."""
    out = session.out
    if not found.hits:
        searched = strip_controls(found.retrieval.searched)
        out.print(
            out.style("Nothing found.", "bold") + (f" Searched: {searched}." * bool(searched))
        )
        arrow = out.symbol("→", "->")
        out.print(out.style(f"{arrow} Try other words, or drop a filter.", "dim"))
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
        for line in wrapped(text, min(out.width, 100) - len(indent)):
            out.print(indent + highlighted(line, terms, out))


def stems_of(terms: tuple[str, ...]) -> frozenset[str]:
    """A query's terms as the search compares them."""
    return frozenset(finding.stem(term) for term in terms)


def excerpt(text: str, terms: frozenset[str]) -> str:
    """A piece of a passage from the sentence on that holds most of the terms. Frontmatter and
    headings only where there is nothing else; rules of tables and HTML not at
    all."""
    text = _FRONTMATTER.sub("", text) or text
    for unread in (_DRAWN, _MARKUP):
        bare = unread.sub("", text)
        text = bare if bare.strip() else text
    spans = sentence_spans(text)
    if not spans:
        return snippet(text, EXCERPT_CHARS)
    bodies = [span for span in spans if not text[span[0] : span[1]].startswith("#")] or spans
    start, _ = max(bodies, key=lambda span: (_held(text[span[0] : span[1]], terms), -span[0]))
    return snippet(text[start:], EXCERPT_CHARS)


def _held(text: str, terms: frozenset[str]) -> int:
    return len(terms & {finding.stem(token) for token in tokens(text)})


def highlighted(line: str, terms: frozenset[str], out: Terminal) -> str:
    """The line with the words bold that match a term as the search compares them."""

    def bold(match: re.Match[str]) -> str:
        word = match.group()
        is_hit = bool(terms & {finding.stem(t) for t in (normalise(word), *tokens(word))})
        return out.style(word, "bold yellow") if is_hit else word

    return _WORD.sub(bold, line) if out.colour else line
