"""What a vault can be asked about: headings, definitions, dates, names and quantities in it.

Rules, no model. They are picky rather than complete: a question made from half a sentence
measures nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from ragvault.model import StoredChunk
from ragvault.text import STOPWORDS, is_unspaced, sentence_spans, tokens


class Kind(StrEnum):
    """What a question asks for."""

    HEADING = "heading"
    DEFINITION = "definition"
    DATE = "date"
    NAME = "name"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Find:
    """Something to ask about. ``key`` is the entity as it is written; ``sentence`` is where it
    stands ("" for a heading).

    ``detail``: the verb of a definition ("is", "was", "means" …, with " who" behind it for a
    person), the sort of unit of a number, the section's own heading where ``key`` is the note's
    title; else "".
    """

    kind: Kind
    key: str
    place: StoredChunk
    sentence: str = ""
    detail: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for finds that one question would ask for."""
        heading = self.detail if self.kind is Kind.HEADING else ""
        return str(self.kind), _folded(self.key), _folded(heading)


@dataclass
class Harvest:
    """All finds of a vault, and what is needed to tell what is in no note."""

    finds: list[Find] = field(default_factory=list)
    vocabulary: set[str] = field(default_factory=set)
    dates: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    chunks: list[StoredChunk] = field(default_factory=list)

    @classmethod
    def of(cls, passages: Iterable[StoredChunk]) -> Harvest:
        """From all passages of a vault. Linear in their text."""
        harvest = cls()
        for stored in passages:
            harvest._add(stored)
        return harvest

    def _add(self, stored: StoredChunk) -> None:
        text = stored.chunk.text
        note = stored.note
        said = " ".join((note.title, *stored.chunk.heading_path, *note.aliases, *note.tags, text))
        self.vocabulary.update(tokens(said))
        self.dates.update(_folded(found) for found in _DATE.findall(said))
        self.numbers.update(_folded(m.group()) for m in _NUMBER.finditer(said))
        if "template" in stored.chunk.rel_path.lower():  # placeholders: nothing is known there
            return
        self.chunks.append(stored)
        self.finds += _headings(stored)
        for sentence in prose(text):
            self.finds += _definitions(sentence, stored)
            self.finds += _dates(sentence, stored)
            self.finds += _names(sentence, stored)
            self.finds += _numbers(sentence, stored)

    def unique(self, most_notes: int = 1) -> dict[Kind, list[Find]]:
        """By kind, the finds whose key stands in at most so many notes, each key once."""
        notes: dict[tuple[str, ...], set[str]] = {}
        for find in self.finds:
            place = find.place.chunk.rel_path
            notes.setdefault(find.identity, set()).add(place)
        kept: dict[Kind, list[Find]] = {kind: [] for kind in Kind}
        seen: set[tuple[str, ...]] = set()
        for find in self.finds:
            key = find.identity
            if key not in seen and len(notes[key]) <= most_notes:
                seen.add(key)
                kept[find.kind].append(find)
        return kept

    def lacks(self, text: str) -> bool:
        """Whether some content word of a text stands in no note."""
        content = [word for word in tokens(text) if word not in STOPWORDS]
        return any(word not in self.vocabulary for word in content)


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


# --------------------------------------------------------------------------- prose

_FENCE = re.compile(
    r"^(?P<mark>`{3,}|~{3,}).*?(?:^(?P=mark)[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL
)
_FRONT = re.compile(r"\A---[ \t]*\n.*?(?:^(?:---|\.\.\.)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_NO_PROSE = re.compile(r"^\s*(?:#{1,6}\s|\||>|<|%%|!\[|\$\$|---)")
_MARKUP = (
    (re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)|!\[\[[^\]\n]*\]\]|\[\^[^\]\n]*\]|<[^>\n]{1,200}>"), ""),
    (re.compile(r"\[\[(?:[^\]|\n]*\|)?([^\]\n]*)\]\]"), r"\1"),
    (re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)"), r"\1"),
    (re.compile(r"(\*\*|__|\*|`|~~|==)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
)
_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[.\]\s+)?")
_LENGTH = (25, 300)  # characters of a sentence that one can ask about


def prose(text: str) -> Iterator[str]:
    """Whole sentences of a passage, without frontmatter, code, tables, quotations and marks."""
    text = _FENCE.sub("", _FRONT.sub("", text))
    lines = [line for line in text.split("\n") if not _NO_PROSE.match(line)]
    text = "\n".join(lines)
    for start, end in sentence_spans(text):
        sentence = _LIST_MARK.sub("", text[start:end])
        for pattern, replacement in _MARKUP:
            sentence = pattern.sub(replacement, sentence)
        sentence = " ".join(sentence.split())
        if _LENGTH[0] <= len(sentence) <= _LENGTH[1]:
            yield sentence


# --------------------------------------------------------------------------- headings

_GENERIC = frozenset(
    """
    abstract acknowledgements appendix background bibliography body changelog comments conclusion
    conclusions contents content date details discussion example examples faq footnotes general
    history home index info information intro introduction log links links list misc more next
    note notes other overview questions readme reading references related resources results see
    setup sources status summary tags tasks things todo todos topics untitled usage
    """.split()
)


def _headings(stored: StoredChunk) -> Iterator[Find]:
    """The section's own heading, where it says what the section is about."""
    if not stored.chunk.heading_path:
        return
    heading = _plain(stored.chunk.heading_path[-1])
    content = [w for w in tokens(heading) if w not in STOPWORDS and not w.isdigit()]
    dense = is_unspaced(heading)  # two or three characters say there what a word says here
    has_body = len(stored.chunk.text) > len(heading) + (15 if dense else 40)
    wordy = len(content) > (24 if dense else 8) or len(heading) > 80
    if not content or wordy or not has_body or _DATE.fullmatch(heading.strip()):
        return
    if all(word in _GENERIC for word in content) or (
        len(content) == 1 and len(heading) < (2 if dense else 4)
    ):
        return
    title = _plain(stored.note.title)
    if len(content) > 1 or heading.lower() == title.lower():
        yield Find(Kind.HEADING, heading, stored)
    elif title and _DATE.search(title) is None:  # "Method": of what?
        yield Find(Kind.HEADING, title, stored, detail=heading)


def _plain(heading: str) -> str:
    for pattern, replacement in _MARKUP:
        heading = pattern.sub(replacement, heading)
    return " ".join(heading.replace("#", " ").split()).rstrip(":.")


# --------------------------------------------------------------------------- definitions

_NO_TERM = frozenset(
    """
    this that these those it its there here he she they we i you what which who when where why how
    one some most many all both each every any another other such and but or so if as after before
    my our your his her their the a an in on at for with from to of by not no yes then now today
    also
    """.split()
)
_DEFINES = re.compile(
    r"^(?P<article>The |A |An )?(?P<term>[^\W\d_][\w'’./+-]*(?: [\w'’./+-]+){0,3})"
    r" (?P<verb>is|are|was|were|means|stands for|refers to)"
    r" (?P<rest>(?:a|an|the|one of|any|another)\b|(?<=means )|(?<=stands for )|(?<=refers to ))"
)
_PERSON = re.compile(
    r"^(?:a|an|the|one of) (?:[\w'’-]+ ){0,4}?(?:actor|actress|architect|artist|author|baker"
    r"|colleague|composer|designer|developer|doctor|director|engineer|founder|friend|king|lawyer"
    r"|manager|neighbour|neighbor|novelist|painter|philosopher|player|poet|politician|president"
    r"|professor|programmer|queen|scientist|singer|teacher|writer)\b"
)


def _definitions(sentence: str, stored: StoredChunk) -> Iterator[Find]:
    match = _DEFINES.match(sentence)
    if match is None:
        return
    term = match["term"]
    words = tokens(term)
    if not words or words[0] in _NO_TERM or all(w in STOPWORDS or w in _GENERIC for w in words):
        return
    shouts = len(words) > 1 and any(w.isupper() and len(w) > 3 for w in term.split())
    if shouts or len(term) < 3 or len(words) > 4 or words[-1] in STOPWORDS:
        return
    after = sentence[match.start("rest") :]
    is_person = match["verb"] in ("is", "was") and term[0].isupper() and _PERSON.match(after)
    article = (match["article"] or "").lower()
    detail = match["verb"] + (" who" if is_person and not article else "")
    yield Find(Kind.DEFINITION, article + term, stored, sentence, detail)


# --------------------------------------------------------------------------- dates

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:(?:1[89]|20)\d\d-\d\d-\d\d|\d{{1,2}} (?:{_MONTH})(?: (?:1[89]|20)\d\d)?"
    rf"|(?:{_MONTH}) \d{{1,2}}, (?:1[89]|20)\d\d|(?:{_MONTH}) (?:1[89]|20)\d\d)\b"
)


def _dates(sentence: str, stored: StoredChunk) -> Iterator[Find]:
    """The sentence's only date, if it says more than that."""
    found = _DATE.findall(sentence)
    if len(found) == 1 and len(sentence) > len(found[0]) + 20:
        yield Find(Kind.DATE, found[0], stored, sentence)


# --------------------------------------------------------------------------- names

_NAME = re.compile(
    r"(?<=[a-z,;)] )(?P<name>[A-Z][a-zà-ÿ]{1,20}(?: (?:[A-Z]\.|(?:van|von|de|da|di|al) ?))?"
    r"(?: [A-Z][a-zà-ÿ]{2,20}){1,2})\b(?!['’-])"
)


def _names(sentence: str, stored: StoredChunk) -> Iterator[Find]:
    """Capitalised words inside a sentence. Headings in title case aren't sentences."""
    words = sentence.split()
    capitals = sum(word[:1].isupper() for word in words)
    if capitals > len(words) / 2:
        return
    for match in _NAME.finditer(sentence):
        name = match["name"]
        if not any(w in STOPWORDS for w in tokens(name)) and not _DATE.search(name):
            yield Find(Kind.NAME, name, stored, sentence)


# --------------------------------------------------------------------------- quantities

_UNITS = {
    **dict.fromkeys("minutes hours days weeks months years seconds ms".split(), "time"),
    **dict.fromkeys("euros dollars pounds".split(), "money"),
    **dict.fromkeys("kg g grams".split(), "weight"),
    **dict.fromkeys("km miles metres meters".split(), "distance"),
    **dict.fromkeys("percent %".split(), "share"),
    **dict.fromkeys("MB GB KB TB".split(), "size"),
    **dict.fromkeys("°C degrees".split(), "heat"),
}
_NUMBER = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})*(?:\.\d+)?[ \u00a0]?"
    r"(?:" + "|".join(re.escape(unit) for unit in _UNITS) + r")(?!\w)"
)


def _numbers(sentence: str, stored: StoredChunk) -> Iterator[Find]:
    found = [match.group() for match in _NUMBER.finditer(sentence)]
    if len(found) == 1 and len(sentence) > len(found[0]) + 20:
        unit = re.sub(r"^[\d.,\s]+", "", found[0])
        yield Find(Kind.NUMBER, found[0], stored, sentence, _UNITS[unit])


def is_latin(text: str) -> bool:
    """Whether English words around a key would read as one sentence with it."""
    return not is_unspaced(text) and all(not c.isalpha() or ord(c) < 0x250 for c in text)
