"""Citations in a model's draft: found, and read with the names of its context in hand.

Asked for ``[File: a.md, Section: B]`` or ``[1]``, small models write it in many ways: other
brackets, none, another case, a chunk number, a wikilink, two in one bracket. ``parse`` reads all
of them, whatever was asked for; ``render`` then finds the chunk. Names with commas, brackets and
colons are read whole: the longest known name that fits is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from ragvault.answering.citations.styles import (
    FILE_SECTION,
    STYLES,
    TOP,
    CitationStyle,
    RawCitation,
    section_label,
)
from ragvault.formats import READERS
from ragvault.model import Hit
from ragvault.text import one_line

_EXTENSION = f"(?:{'|'.join(extension[1:] for extension in READERS)})"
_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "：": ":"}
)
_LABEL = re.compile(
    r"(?P<file>(?:source\s+)?(?:file\s*name|file|source|note|datei|quelle|fichier|archivo|fuente))"
    r"\s*:\s*|(?P<section>section|sec\.|heading|abschnitt|sección|seccion)\s*(?::|(?=[#\"']))\s*"
    r"|(?P<number>(?:chunk|citation|document|doc|source|note|passage|context|ref"
    r"(?:erence|s?\.)?|quelle)[sn]?\s*#?\s*|n|\^|#)"
    r"(?=\d)|(?P<vault>vault\s*:\s*[^\],;\n)]*)"
    r"|(?P<extra>(?:lines?|page|p\.)\s*:?\s*\d[\d\s–-]*)",
    re.IGNORECASE,
)
_NEXT_LABEL = (
    r"[\s\"']*(?:[,;|&]|\band\b|\n)\s*(?:file|source|section|chunk|heading|vault|lines?)\b"
)
_NUMBER = re.compile(
    r"(\d{1,3})(?!\d|[.,]\d|\s*[-–/:]\s*\d)(?:(?=[\s,;|&\])】}])|\Z|:)"  # not 1.5, 2024, 1-3
)
_SEPARATOR = re.compile(r"(?:[\s,;|&]|\band\b|\bund\b|\bet\b|\by\b)+", re.I)
_SECTION_FOLLOWS = re.compile(r"section\b", re.I)
_LEAD = re.compile(r"(?:see(?: also)?|cf\.?|from|source|ref(?:erence)?|in)\s*:?\s+", re.IGNORECASE)
_AFTER_VAULT = re.compile(r"\]\s*(\[)?\s*(?=file\s*:)", re.IGNORECASE)
_OPEN_QUOTE = re.compile(r"[ *]*([\"'`<])?")
_CLOSE_QUOTE = re.compile(r"[\"'`>*]*")
_OPENERS = {"]": "[", ")": "(", "】": "【", "}": "{"}
_MAX_LENGTH = 600  # of one citation, in characters


class DraftView:
    """The draft with escapes dropped and quotes made plain, and where each character was."""

    def __init__(self, draft: str) -> None:
        kept = [
            i
            for i, c in enumerate(draft)
            if not (c == "\\" and i + 1 < len(draft) and draft[i + 1] in "_*[]()#<>`&-.")
        ]
        self.draft = draft
        self.original = "".join(draft[i] for i in kept)
        self.text = self.original.translate(_QUOTES)
        self._places = kept

    def value(self, start: int, end: int) -> str:
        return one_line(self.original[start:end].strip(" \"'`“”‘’"))

    def citation(self, start: int, end: int, item: RawCitation) -> RawCitation:
        """The citation at its place in the draft."""
        a, b = self._places[start], self._places[end - 1] + 1
        return replace(item, raw=self.draft[a:b], start=a, end=b)


class CitedContext:
    """What may be cited: the hits of the prompt, in its order; patterns of the names of their
    files and sections as they may be written; the styles' own ``forms``, longest first.
    ``style`` is the one asked for."""

    def __init__(self, hits: Sequence[Hit], style: CitationStyle = FILE_SECTION) -> None:
        self.hits, self.style = tuple(hits), style
        self._texts = [squeezed(style.guard(hit.chunk.text)) for hit in hits]
        files: set[str] = set()
        sections: set[str] = set()
        for hit in hits:
            path = hit.chunk.rel_path
            base = path.rsplit("/", 1)[-1]
            files.update(
                (path, f"{hit.chunk.vault}/{path}", base, _stemless(path), _stemless(base))
            )
            heading = hit.chunk.heading_path
            sections.update((section_label(heading), " > ".join(heading) or TOP))
            sections.update(name for h in heading for name in (h, f"# {h}"))
        forms = {form: raw for style in STYLES.values() for form, raw in style.forms(hits).items()}
        self.forms = sorted(forms.items(), key=lambda form: -len(form[0]))
        self.file, self.section = _any_of(files, r"[§#>:]"), _any_of(sections, "(?!)")

    def holds(self, text: str) -> bool:
        """Whether squeezed text stands so in a note, as the prompt showed it."""
        return any(text in own for own in self._texts)


def _any_of(names: Iterable[str], end: str) -> re.Pattern[str]:
    """The longest of the names that something follows which can end a name, such as ``end``."""
    plain = {one_line(name).translate(_QUOTES) for name in names} - {""}
    known = "|".join(map(re.escape, sorted(plain, key=lambda n: (-len(n), n)))) or "(?!)"
    ends = rf"\Z|[\])】}}\n;|,]|[.!?](?!\w)|section|file|chunk|and|{end}"
    return re.compile(rf"(?:{known})(?=[ \"'`]*(?:{ends}))", re.IGNORECASE)


def squeezed(text: str) -> str:
    """Without white space and case."""
    return "".join(text.split()).casefold()


def _stemless(path: str) -> str:
    return re.sub(rf"\.{_EXTENSION}$", "", path, flags=re.IGNORECASE)


@cache
def _unknown_file(close: str, *, is_labelled: bool) -> re.Pattern[str]:
    """A name that the context doesn't have: up to its extension, or, where a label says that it
    is a file and a bracket that it ends, up to the next label, comma or the like."""
    stops = rf"{re.escape(close)}\n;|\""
    none = "" if is_labelled else r"\[(:"
    pattern = rf"[^{stops}{none}]*?\.{_EXTENSION}(?![\w.-]*\w)"
    if is_labelled and close:
        pattern += rf"|[^{stops},]+?(?={_NEXT_LABEL}|[{stops},]|\Z)"
    return re.compile(pattern, re.IGNORECASE)


@cache
def _unknown_section(close: str) -> re.Pattern[str]:
    """Up to the bracket's end, the next label or, without a bracket, the sentence's end; brackets
    within are its own."""
    if not close:
        return re.compile(rf"[^\n]+?(?=[.!?](?:\s|\Z)|\n|{_NEXT_LABEL}|\Z)", re.IGNORECASE)
    opened, closed = re.escape(_OPENERS[close]), re.escape(close)
    inner = rf"[^\n{opened}{closed}]"
    return re.compile(
        rf"(?:{inner}|{opened}{inner}*{closed})+?(?=\n|{closed}|{_NEXT_LABEL}|\Z)", re.IGNORECASE
    )


class BracketReader:
    """Reads from ``start`` on to ``close``, or to the end of the line where that is "".

    ``strict``: only labelled values count, since the bracket stands where text may have one.
    """

    def __init__(
        self, view: DraftView, known: CitedContext, start: int, close: str, *, strict: bool
    ) -> None:
        self.view, self.known, self.close, self.strict = view, known, close, strict
        self.text, self.at, self.start = view.text, start, start
        self.limit = min(len(self.text), start + _MAX_LENGTH)
        self.items: list[RawCitation] = []
        self.labelled = False

    def read(self) -> tuple[int, list[RawCitation]]:
        """(Where it ends, what it cites); nothing cited: it is no citation."""
        lead = _LEAD.match(self.text, self.at)
        if lead and not _LABEL.match(self.text, self.at):
            self.at = lead.end()
        while self.at < self.limit:
            if self.close and self.text[self.at] == self.close:
                return (self.at + 1, self.items) if self.items else (self.start, [])
            before = self.at
            found = self._separator() or self._value()
            if not found or self.at == before:
                break
        # A labelled citation that the draft never closes ends with its line.
        at_end = self.at >= len(self.text) or self.text[self.at] == "\n" or not self.close
        if self.items and self.labelled and at_end:
            return self.start + len(self.text[self.start : self.at].rstrip(" \n\t,;")), self.items
        return self.start, []

    def _separator(self) -> bool:
        match = _SEPARATOR.match(self.text, self.at, self.limit)
        if match is None:
            return False
        breaks = match.group().count("\n")
        if self.close and breaks > 1:
            return False
        if not self.close and breaks and not _SECTION_FOLLOWS.match(self.text, match.end()):
            return False
        self.at = match.end()
        return True

    def _value(self) -> bool:
        """Steps over one value with its label; False where there is none."""
        label = _LABEL.match(self.text, self.at, self.limit)
        if label is None:
            return bool(self.close) and not self.strict and self._unlabelled()
        self.at = label.end()
        if label.lastgroup in ("file", "section"):
            self.labelled = True
            return self._file(is_labelled=True) if label["file"] else self._section()
        if label.lastgroup == "number":
            return self._number(most=999 if label.group().strip(" #") else 99)
        if label.lastgroup == "vault":  # the brackets between it and the file it belongs to
            follows = _AFTER_VAULT.match(self.text, self.at)
            if follows:
                self.at = follows.end()
                self.close = "]" if follows.group(1) else ""
        return True

    def _unlabelled(self) -> bool:
        last = self.items[-1] if self.items else None
        if self.text[self.at].isdigit():
            only_numbers = all(i.number is not None for i in self.items)
            return only_numbers and self.close != ")" and self._number(most=99)
        if self._file(is_labelled=False):
            return True
        if last is None or not last.file:
            return False
        if last.section is None:
            return self._section()
        # Words after a complete citation: not ours.
        rest = self.text[self.at : self.limit]
        self.at += len(re.split(rf"[{re.escape(self.close)}\n]", rest, maxsplit=1)[0])
        return True

    def _number(self, *, most: int) -> bool:
        match = _NUMBER.match(self.text, self.at)
        if not match or int(match.group(1)) > most:
            return False
        self.at = match.end()
        if not any(item.file for item in self.items):  # "File: a.md, Chunk 2" says it already
            self.items.append(RawCitation(number=int(match.group(1))))
        return True

    def _file(self, *, is_labelled: bool) -> bool:
        name = self._name(self.known.file, _unknown_file(self.close, is_labelled=is_labelled))
        if name is None:
            return False
        self.items = [i for i in self.items if i.number is None]  # "[Chunk 1, File: …]"
        self.items.append(RawCitation(file=name))
        return True

    def _section(self) -> bool:
        name = self._name(self.known.section, _unknown_section(self.close))
        if name is None:
            return False
        last = self.items[-1] if self.items else None
        if last and last.file and last.section is None:
            self.items[-1] = replace(last, section=name)
        else:
            self.items.append(RawCitation(file=last.file if last else None, section=name))
        return True

    def _name(self, *patterns: re.Pattern[str]) -> str | None:
        """The name that starts here, in quotes or not, by the first pattern that fits."""
        quote = _OPEN_QUOTE.match(self.text, self.at, self.limit)
        assert quote is not None, "it matches nothing, too"
        found = (pattern.match(self.text, quote.end(), self.limit) for pattern in patterns)
        match = next(filter(None, found), None)
        if match is None:
            return None
        closing = _CLOSE_QUOTE.match(self.text, match.end(), self.limit) if quote.group(1) else None
        self.at = closing.end() if closing else match.end()
        return self.view.value(*match.span())


PAIRS = {"[": "]", "(": ")", "【": "】", "{": "}"}
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
            return link.end(), [RawCitation(file=target)] if is_note else []
        for form, item in known.forms:  # as asked for: nothing to interpret
            if view.original.startswith(form, index) and not (item.number and is_glued):
                return index + len(form), [item]
    wiki = _WIKILINK.match(view.text, index) if char in "[!" else None
    if wiki:
        return wiki.end(), _linked(wiki, known, view.text[:index].rstrip())
    if char in PAIRS:
        return BracketReader(view, known, index + 1, PAIRS[char], strict=is_glued).read()
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
    return [RawCitation(file=name, section=heading and heading.strip())]
