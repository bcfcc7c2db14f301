"""One bracket of a draft, or one bare line of labels, read with the context's names in hand.

Names with commas, brackets and colons are read whole: the longest known name that fits is taken.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace

from ragvault.answering.citations.styles import (
    FILE_SECTION,
    STYLES,
    TOP,
    CitationStyle,
    RawCitation,
    one_line,
    section_label,
)
from ragvault.model import Hit

_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "：": ":"}
)
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


class CitedContext:
    """What may be cited: the hits of the prompt, in its order, and their names as they may be
    written, beside the styles' own forms, each longest first. ``style`` is the one asked for."""

    def __init__(self, hits: Sequence[Hit], style: CitationStyle = FILE_SECTION) -> None:
        self.hits, self.style = tuple(hits), style
        self._texts = [squeezed(style.guard(hit.chunk.text)) for hit in hits]
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
        forms = {form: raw for style in STYLES.values() for form, raw in style.forms(hits).items()}
        self.forms = sorted(forms.items(), key=lambda form: -len(form[0]))
        self.files = self._ordered(files)
        self.sections = self._ordered(sections)

    def holds(self, text: str) -> bool:
        """Whether squeezed text stands so in a note, as the prompt showed it."""
        return any(text in own for own in self._texts)

    @staticmethod
    def _ordered(names: set[str]) -> list[str]:
        plain = {one_line(name).translate(_QUOTES).lower() for name in names}
        return sorted((n for n in plain if n), key=lambda n: (-len(n), n))


def squeezed(text: str) -> str:
    """Without white space and case."""
    return "".join(text.split()).casefold()


def _stemless(path: str) -> str:
    return re.sub(r"\.(?:md|markdown)$", "", path, flags=re.IGNORECASE)


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
