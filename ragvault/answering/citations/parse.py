"""Citations in a model's draft: found, and read with the names of its context in hand.

Asked for ``[File: a.md, Section: B]`` or ``[1]``, small models write it in many ways: other
brackets, none, another case, a chunk number, a wikilink, two in one bracket. ``parse`` reads all
of them, whatever was asked for; ``resolve`` then finds the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragvault.answering.citations.brackets import BracketReader, CitedContext, DraftView
from ragvault.answering.citations.styles import RawCitation, one_line
from ragvault.model import Hit

_PAIRS = {"[": "]", "(": ")", "【": "】", "{": "}"}
_WIKILINK = re.compile(r"!?\[\[([^\[\]|#\n]+)(?:#([^\[\]|\n]+))?(?:\|[^\[\]\n]*)?\]\]")
_BARE = re.compile(r"(?<![\w·\[(])(?:source\s+)?(?:file|source)\s*:\s*(?=[^\s\[(])", re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_CODE = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?[^`\n])\1(?!`)")
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
    code, skip = _code_spans(view.text)
    found: list[RawCitation] = []
    index = 0
    while index < len(view.text):
        if index in skip:
            index = skip[index]
            continue
        end, items = _citation_at(view, known, index)
        if not items:
            index = max(end, index + 1)
            continue
        start = index
        if index - 1 in code and code[index - 1] == end + 1:  # a code span around a citation
            start, end = index - 1, end + 1
        found.extend(view.citation(start, end, item) for item in items)
        index = end
    return found


def _code_spans(text: str) -> tuple[dict[int, int], dict[int, int]]:
    """(Spans that may wrap a citation, spans to step over), each start → end."""
    skip = {m.start(): m.end() for m in _FENCE.finditer(text)}
    plain = list(text)
    for start, end in skip.items():
        plain[start:end] = " " * (end - start)
    wraps: dict[int, int] = {}
    for match in _CODE.finditer("".join(plain)):
        if _WRAPPED.fullmatch(match.group(2).strip()):
            wraps[match.start()] = match.end()
        else:
            skip[match.start()] = match.end()
    return wraps, skip


def _citation_at(view: DraftView, known: CitedContext, index: int) -> tuple[int, list[RawCitation]]:
    """(Where it ends, what it cites) of a citation that starts here; nothing cited: none does."""
    char = view.text[index]
    # values[1] is code, "(top)[File: …]" is not.
    is_glued = index > 0 and (view.text[index - 1].isalnum() or view.text[index - 1] == "_")
    if char == "[":
        link = _LINK.match(view.text, index)
        if link and _is_link(link, view.text):
            return link.end(), _linked(link, known)
        place = view.at(index)
        for form, item in known.forms:  # as asked for: nothing to interpret
            if view.draft.startswith(form, place) and not (item.number and is_glued):
                return view.index(place + len(form)), [item]
    wiki = _WIKILINK.match(view.text, index) if char in "[!" else None
    if wiki:
        return _wikilink(view, known, wiki)
    if char in _PAIRS:
        return BracketReader(view, known, index + 1, _PAIRS[char], strict=is_glued).read()
    bare = _BARE.match(view.text, index) if char in "fFsS" else None
    if bare and (index == 0 or not view.text[index - 1].isalnum()):
        return BracketReader(view, known, index, "", strict=True).read()
    return index, []


def _is_link(match: re.Match[str], text: str) -> bool:
    """Not so "[1]: see a/b" in the middle of a line."""
    start = match.start()
    return not match.group("defined") or start == 0 or text[start - 1] == "\n"


def _linked(match: re.Match[str], known: CitedContext) -> list[RawCitation]:
    """A link with a number for its name, as a web page's footnotes are, cites nothing, except
    one to a note of the context: that note."""
    target = match.group("target") or match.group("defined")
    return [RawCitation("", 0, 0, file=target)] if target.lower() in known.files else []


def _wikilink(
    view: DraftView, known: CitedContext, match: re.Match[str]
) -> tuple[int, list[RawCitation]]:
    """A wikilink is a citation where it can't be a word of the sentence: with a heading, in
    parentheses, or after the sentence's end."""
    name, heading = match.group(1).strip(), match.group(2)
    before = view.text[: match.start()].rstrip()
    apart = not before or before[-1] in ".!?(:;]。！？"
    if one_line(name).lower() not in known.files or not (heading or apart):
        return match.end(), []
    return match.end(), [RawCitation("", 0, 0, file=name, section=heading and heading.strip())]
