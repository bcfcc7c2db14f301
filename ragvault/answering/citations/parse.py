"""Citations in a model's draft: found, and read with the names of its context in hand.

Asked for ``[File: a.md, Section: B]`` or ``[1]``, small models write it in many ways: other
brackets, none, another case, a chunk number, a wikilink, two in one bracket. ``parse`` reads all
of them, whatever was asked for; ``resolve`` then finds the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragvault.answering.citations.brackets import BracketReader, CitedContext, DraftView
from ragvault.answering.citations.styles import RawCitation
from ragvault.model import Hit
from ragvault.text import one_line

_PAIRS = {"[": "]", "(": ")", "【": "】", "{": "}"}
# What any citation begins with; the first brackets of a long row are looked at no further.
_START = re.compile(r"!|([\[(【{])(?!\1\1\1)|(?<!\w)[fs](?=[io])", re.IGNORECASE)
_WIKILINK = re.compile(r"!?\[\[([^\[\]|#\n]+)(?:#([^\[\]|\n]+))?(?:\|[^\[\]\n]*)?\]\]")
_BARE = re.compile(r"(?<![\w·\[(])(?:source\s+)?(?:file|source)\s*:\s*(?=[^\s\[(])", re.IGNORECASE)
_CODE = re.compile(
    r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)"  # a fence
    r"|(?<!`)(`+)(?!`)(?P<span>[^\n]*?[^`\n])\2(?!`)",
    re.MULTILINE | re.DOTALL,
)
_WRAPPED = re.compile(r"[\[(]\s*(?:file|chunk|source)\b.*[\])]", re.IGNORECASE)
# "[1](url)", and "[1]: url" on a line of its own.
_LINK = re.compile(
    r"\[\^?\d{1,3}\](?:\((?P<target>[^()\s]+)\)"
    r"|:[ \t]+(?P<defined><[^>\n]*>|\w+:\S+|\S*/\S*))"
)


def parse(draft: str, context: CitedContext | Sequence[Hit] = ()) -> list[RawCitation]:
    """All citations of the draft, in order. Nothing inside a code fence or code span is one,
    unless the span is a citation and nothing else.

    Linear in the draft times the number of known names.
    """
    view = DraftView(draft)
    known = context if isinstance(context, CitedContext) else CitedContext(context)
    around: dict[int, int] = {}  # code spans around a citation: start → end
    skip: dict[int, int] = {}  # all other code
    for match in _CODE.finditer(view.text):
        is_citation = match["span"] and _WRAPPED.fullmatch(match["span"].strip())
        (around if is_citation else skip)[match.start()] = match.end()
    found: list[RawCitation] = []
    done = 0
    for index in sorted({match.start() for match in _START.finditer(view.text)} | skip.keys()):
        if index < done:
            continue
        if index in skip:
            done = skip[index]
            continue
        end, items = _citation_at(view, known, index)
        done = end
        if not items:
            continue
        start = index
        if around.get(index - 1) == end + 1:
            start, end = index - 1, end + 1
        found.extend(view.citation(start, end, item) for item in items)
    return found


def _citation_at(view: DraftView, known: CitedContext, index: int) -> tuple[int, list[RawCitation]]:
    """(Where it ends, what it cites) of a citation that starts here; nothing cited: none does."""
    char = view.text[index]
    # values[1] is code, "(top)[File: …]" is not.
    is_glued = index > 0 and (view.text[index - 1].isalnum() or view.text[index - 1] == "_")
    if char == "[":
        link = _LINK.match(view.text, index)
        # Not so "[1]: see a/b" in the middle of a line.
        if link and not (link["defined"] and view.text[index - 1 : index] not in ("", "\n")):
            target = link["target"] or link["defined"]
            # A number that names a link cites nothing, as on web pages, but for a note's link.
            is_note = known.file.fullmatch(target)
            return link.end(), [RawCitation("", 0, 0, file=target)] if is_note else []
        for form, item in known.forms:  # as asked for: nothing to interpret
            if view.original.startswith(form, index) and not (item.number and is_glued):
                return index + len(form), [item]
    wiki = _WIKILINK.match(view.text, index) if char in "[!" else None
    if wiki:
        return wiki.end(), _linked(wiki, known, view.text[:index].rstrip())
    if char in _PAIRS:
        return BracketReader(view, known, index + 1, _PAIRS[char], strict=is_glued).read()
    if char in "fFsS" and not is_glued and _BARE.match(view.text, index):
        return BracketReader(view, known, index, "", strict=True).read()
    return index, []


def _linked(wiki: re.Match[str], known: CitedContext, before: str) -> list[RawCitation]:
    """A wikilink is a citation where it can't be a word of the sentence: with a heading, in
    parentheses, or after the sentence's end."""
    name, heading = wiki.group(1).strip(), wiki.group(2)
    apart = not before or before[-1] in ".!?(:;]。！？"
    if not known.file.fullmatch(one_line(name)) or not (heading or apart):
        return []
    return [RawCitation("", 0, 0, file=name, section=heading and heading.strip())]
