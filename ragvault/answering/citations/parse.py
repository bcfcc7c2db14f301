"""Citations in a model's draft: found, and read with the names of its context in hand.

Asked for ``[File: a.md, Section: B]``, small models write it in many ways: other brackets, none,
another case, a chunk number, a wikilink, two in one bracket. ``parse`` knows the files and
sections of the context, so that names with commas, brackets and colons are read whole, the
longest first. ``resolve.resolve`` then finds the chunk. What is shown is always ``canonical``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragvault.model import HeadingPath, Hit
from ragvault.text import strip_controls

TOP = "(top)"  # the section of a chunk that stands before its note's first heading


@dataclass(frozen=True, slots=True)
class RawCitation:
    """A citation as it was written, at ``start..end`` of the draft.

    Several in one bracket share their place. ``number`` is N of "[Chunk N]".
    """

    raw: str
    start: int
    end: int
    file: str | None = None
    section: str | None = None
    number: int | None = None


def section_label(path: HeadingPath) -> str:
    """The section as the context shows it: ``# Meetings > ## Weekly Standup``."""
    return " > ".join(f"{'#' * min(i, 6)} {name}" for i, name in enumerate(path, 1)) or TOP


def canonical(hit: Hit) -> str:
    """``[File: rel_path, Section: A > B]``, the one form in which a citation is shown."""
    section = " > ".join(hit.chunk.heading_path) or TOP
    return f"[File: {one_line(hit.chunk.rel_path)}, Section: {one_line(section)}]"


def one_line(name: str) -> str:
    """A file or section name without line breaks and control characters, which names can hold."""
    return " ".join(strip_controls(name).split())


# --------------------------------------------------------------------------- parsing

_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "：": ":"}
)
_PAIRS = {"[": "]", "(": ")", "【": "】", "{": "}"}
_LABEL = re.compile(
    r"(?P<file>(?:source\s+)?(?:file\s*name|file|source|note|datei|quelle|fichier|archivo|fuente))"
    r"\s*:\s*|(?P<section>section|sec\.|heading|abschnitt|sección|seccion)\s*(?::|(?=[#\"']))\s*"
    r"|(?P<number>(?:chunk|citation|document|doc|source|note|passage|context)s?\s*#?\s*|n|\^|#)"
    r"(?=\d)|(?P<vault>vault\s*:\s*)|(?P<extra>(?:lines?|page|p\.)\s*:?\s*\d[\d\s–-]*)",
    re.IGNORECASE,
)
_NEXT_LABEL = re.compile(
    r"[\s\"']*(?:[,;|&]|\band\b|\n)\s*(?:file|source|section|chunk|heading|vault|lines?)\b",
    re.IGNORECASE,
)
_MD_END = re.compile(r"\.(?:md|markdown)(?![\w.-]*\w)", re.IGNORECASE)
_SEPARATOR = re.compile(r"(?:[\s,;|&]|\band\b|\bund\b|\bet\b|\by\b)+", re.I)
_LEAD = re.compile(r"(?:see(?: also)?|cf\.?|from|source|ref(?:erence)?|in)\s*:?\s+", re.IGNORECASE)
_AFTER_VAULT = re.compile(r"\]\s*(\[)?\s*(?=file\s*:)", re.IGNORECASE)
_WIKILINK = re.compile(r"!?\[\[([^\[\]|#\n]+)(?:#([^\[\]|\n]+))?(?:\|[^\[\]\n]*)?\]\]")
_BARE = re.compile(r"(?<![\w·\[(])(?:source\s+)?(?:file|source)\s*:\s*(?=[^\s\[(])", re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_CODE = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?[^`\n])\1(?!`)")
_WRAPPED = re.compile(r"[\[(]\s*(?:file|chunk|source)\b.*[\])]", re.IGNORECASE)
_MAX_LENGTH = 600  # of one citation, in characters


class _View:
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
        self.lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in self.text)
        self._places = [*kept, len(draft)]

    def at(self, index: int) -> int:
        """The place in the draft of a character of the text."""
        return self._places[index]

    def index(self, place: int) -> int:
        """The first character of the text at or behind a place in the draft."""
        return bisect_left(self._places, place)

    def value(self, start: int, end: int) -> str:
        return one_line(self.original[start:end].strip(" \"'`“”‘’"))

    def citation(self, start: int, end: int, item: RawCitation) -> RawCitation:
        a, b = self.at(start), self.at(end - 1) + 1
        return replace(item, raw=self.draft[a:b], start=a, end=b)


class Known:
    """The names that a context holds, as they may be written, longest first. Linear to build."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        files: set[str] = set()
        sections: set[str] = set()
        for hit in hits:
            path = hit.chunk.rel_path
            base = path.rsplit("/", 1)[-1]
            names = (path, f"{hit.chunk.vault}/{path}", base, _stemless(path), _stemless(base))
            files.update(one_line(name) for name in names)
            heading = hit.chunk.heading_path
            sections.update((section_label(heading), " > ".join(heading) or TOP))
            sections.update(name for h in heading for name in (h, f"# {h}"))
        forms = {
            f"[File: {one_line(h.chunk.rel_path)}, Section: {one_line(section)}]": (h, section)
            for h in hits
            for section in (
                " > ".join(h.chunk.heading_path) or TOP,
                section_label(h.chunk.heading_path),
            )
        }
        self.forms = sorted(forms.items(), key=lambda form: -len(form[0]))
        self.files = self._ordered(files)
        self.sections = self._ordered(sections)

    @staticmethod
    def _ordered(names: set[str]) -> list[str]:
        plain = {one_line(name).translate(_QUOTES).lower() for name in names}
        return sorted((n for n in plain if n), key=lambda n: (-len(n), n))


def _stemless(path: str) -> str:
    return re.sub(r"\.(?:md|markdown)$", "", path, flags=re.IGNORECASE)


def parse(draft: str, context: Known | Sequence[Hit] = ()) -> list[RawCitation]:
    """All citations of the draft, in order. Nothing inside a code fence or code span is one,
    unless the span is a citation and nothing else.

    Linear in the draft times the number of known names.
    """
    view = _View(draft)
    known = context if isinstance(context, Known) else Known(context)
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


def _citation_at(view: _View, known: Known, index: int) -> tuple[int, list[RawCitation]]:
    """(Where it ends, what it cites) of a citation that starts here; nothing cited: none does."""
    char = view.text[index]
    if char == "[":
        place = view.at(index)
        for form, (hit, section) in known.forms:  # as asked for: nothing to interpret
            if view.draft.startswith(form, place):
                item = RawCitation("", 0, 0, file=hit.chunk.rel_path, section=section)
                return view.index(place + len(form)), [item]
    wiki = _WIKILINK.match(view.text, index) if char in "[!" else None
    if wiki:
        return _wikilink(view, known, wiki)
    if char in _PAIRS:
        if index and (view.text[index - 1].isalnum() or view.text[index - 1] == "_"):
            strict = True  # values[1] is code, "(top)[File: …]" is not
        else:
            strict = False
        return _Reader(view, known, index + 1, _PAIRS[char], strict=strict).read()
    bare = _BARE.match(view.text, index) if char in "fFsS" else None
    if bare and (index == 0 or not view.text[index - 1].isalnum()):
        return _Reader(view, known, index, "", strict=True).read()
    return index, []


def _wikilink(view: _View, known: Known, match: re.Match[str]) -> tuple[int, list[RawCitation]]:
    """A wikilink is a citation where it can't be a word of the sentence: with a heading, in
    parentheses, or after the sentence's end."""
    name, heading = match.group(1).strip(), match.group(2)
    before = view.text[: match.start()].rstrip()
    apart = not before or before[-1] in ".!?(:;]。！？"
    if one_line(name).lower() not in known.files or not (heading or apart):
        return match.end(), []
    return match.end(), [RawCitation("", 0, 0, file=name, section=heading and heading.strip())]


class _Reader:
    """Reads one bracket (or one bare line) of labelled values."""

    def __init__(self, view: _View, known: Known, start: int, close: str, *, strict: bool) -> None:
        self.view, self.known, self.close, self.strict = view, known, close, strict
        self.text, self.at, self.start = view.text, start, start
        self.limit = min(len(self.text), start + _MAX_LENGTH)
        self.items: list[RawCitation] = []
        self.labelled = False

    def read(self) -> tuple[int, list[RawCitation]]:
        lead = _LEAD.match(self.text, self.at)
        if lead and not _LABEL.match(self.text, self.at):
            self.at = lead.end()
        while self.at < self.limit:
            if self.close and self.text[self.at] == self.close:
                return (self.at + 1, self.items) if self.items else (self.start, [])
            before = self.at
            if not self._separator() and not self._value():
                break
            if self.at == before:
                break
        return self._unclosed()

    def _separator(self) -> bool:
        match = _SEPARATOR.match(self.text, self.at, self.limit)
        if not match or (not self.close and "\n" in match.group() and not self._goes_on(match)):
            return False
        if self.close and match.group().count("\n") > 1:
            return False
        self.at = match.end()
        return True

    def _goes_on(self, match: re.Match[str]) -> bool:
        return bool(re.compile(r"section\b", re.I).match(self.text, match.end()))

    def _unclosed(self) -> tuple[int, list[RawCitation]]:
        """A labelled citation that the draft never closes ends with its line."""
        at_end = self.at >= len(self.text) or self.text[self.at] == "\n" or not self.close
        if self.items and self.labelled and at_end:
            end = self.at
            while end > self.start and self.text[end - 1] in " \n\t,;":
                end -= 1
            return end, self.items
        return self.start, []

    def _value(self) -> bool:
        label = _LABEL.match(self.text, self.at, self.limit)
        if not label:
            return self._unlabelled()
        self.at = label.end()
        kind = label.lastgroup
        if kind == "file":
            self.labelled = True
            return self._file(required=True)
        if kind == "section":
            self.labelled = True
            return self._section()
        if kind == "number":
            return self._number(bare=label.group().strip() in ("", "#"))
        if kind == "vault":
            return self._vault()
        return True

    def _vault(self) -> bool:
        """Steps over "Vault: name", and the brackets between it and the file it belongs to."""
        self.at = self._until(lambda i: self.text[i] in "],;\n)")
        follows = _AFTER_VAULT.match(self.text, self.at)
        if follows:
            self.at = follows.end()
            self.close = "]" if follows.group(1) else ""
        return True

    def _unlabelled(self) -> bool:
        if self.close == "" or self.strict:
            return False
        if self.text[self.at].isdigit():
            only_numbers = all(i.number is not None for i in self.items)
            return only_numbers and self.close != ")" and self._number(bare=True)
        if self._file(required=False):
            return True
        if self.items and self.items[-1].file and self.items[-1].section is None:
            return self._section()
        if self.items and self.items[-1].file:  # words after a complete citation: not ours
            self.at = self._until(lambda i: self.text[i] in (self.close, "\n"))
            return True
        return False

    def _number(self, *, bare: bool) -> bool:
        match = re.compile(r"(\d{1,3})(?!\d|[.,]\d|\s*[-–/:]\s*\d)").match(self.text, self.at)
        if not match or (bare and int(match.group(1)) > 99):
            return False
        self.at = match.end()
        follows = self.text[self.at : self.at + 1]
        if follows and not re.match(r"[\s,;|&\])】}:]", follows):
            return False
        if follows == ":":
            self.at += 1
        if any(item.file for item in self.items):
            return True  # "File: a.md, Chunk 2": the file says it already
        self.items.append(RawCitation("", 0, 0, number=int(match.group(1))))
        return True

    def _file(self, *, required: bool) -> bool:
        quote = self._quote()
        start = self.at
        end = self._known(self.known.files, start)
        if end is None:
            end = self._file_end(start, required=required)
        if end is None:
            self.at = start
            return False
        self.at = end
        self._close_quote(quote)
        self.items = [i for i in self.items if i.number is None]  # "[Chunk 1, File: …]"
        self._add(file=self.view.value(start, end))
        return True

    def _file_end(self, start: int, *, required: bool) -> int | None:
        stop = self._until(lambda i: self.text[i] in (self.close or "\n", "\n", ";", "|", '"'))
        end = _MD_END.search(self.text, start, stop)
        if end and (required or not re.search(r"[\[(:]", self.text[start : end.end()])):
            return end.end()
        if not required or not self.close:
            return None
        label = _NEXT_LABEL.search(self.text, start, stop)
        comma = self.text.find(",", start, stop)
        ends = [i for i in (label.start() if label else -1, comma, stop) if i > start]
        return min(ends) if ends else None

    def _section(self) -> bool:
        quote = self._quote()
        start = self.at
        end = self._known(self.known.sections, start)
        if end is None:
            end = self._section_end(start)
        name = self.view.value(start, end)
        self.at = end
        self._close_quote(quote)
        if self.items and self.items[-1].file and self.items[-1].section is None:
            self.items[-1] = replace(self.items[-1], section=name)
        else:
            self._add(file=self.items[-1].file if self.items else None, section=name)
        return True

    def _section_end(self, start: int) -> int:
        depth = 0
        for i in range(start, self.limit):
            char = self.text[i]
            if char == "\n" or (depth == 0 and char == self.close):
                return i
            if i > start and depth == 0 and _NEXT_LABEL.match(self.text, i):
                return i
            if not self.close and char in ".!?" and not self.text[i + 1 : i + 2].strip():
                return i
            if self.close and char == {"]": "[", ")": "(", "】": "【", "}": "{"}[self.close]:
                depth += 1
            elif char == self.close:
                depth -= 1
        return self.limit

    def _known(self, names: Sequence[str], start: int) -> int | None:
        """Where a known name that starts here, and is followed by an end, ends."""
        for name in names:
            end = start + len(name)
            if self.view.lower.startswith(name, start) and self._ends(end):
                return end
        return None

    def _ends(self, end: int) -> bool:
        rest = self.text[end : end + 40].lstrip(" \"'`")
        if not rest or rest[0] in (self.close or "\n") or rest[0] in "\n;|,":
            return True
        if not self.close:
            return rest[0] in ".!?)" or bool(_NEXT_LABEL.match(self.text, end))
        return bool(re.match(r"(?:section|file|chunk|and|§|#|>|:)", rest, re.IGNORECASE))

    def _quote(self) -> bool:
        while self.at < self.limit and self.text[self.at] in " *":
            self.at += 1
        if self.at < self.limit and self.text[self.at] in "\"'`<":
            self.at += 1
            return True
        return False

    def _close_quote(self, opened: bool) -> None:
        while opened and self.at < self.limit and self.text[self.at] in "\"'`>*":
            self.at += 1

    def _until(self, stop: Callable[[int], bool]) -> int:
        return next((i for i in range(self.at, self.limit) if stop(i)), self.limit)

    def _add(self, *, file: str | None = None, section: str | None = None) -> None:
        self.items.append(RawCitation("", 0, 0, file=file, section=section))
