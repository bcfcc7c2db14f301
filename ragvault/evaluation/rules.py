"""What a vault can be asked about, by rules: headings, definitions, fields, dates and quantities.

Picky rather than complete: a question made from half a sentence measures nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ragvault.model import StoredChunk
from ragvault.text import is_unspaced, sentence_spans, stopwords, tokens


@dataclass(frozen=True, slots=True)
class Find:
    """Something to ask about. ``kind`` is the rule's name; ``shapes`` are questions with "{}" in
    the place of ``key``, the entity as it is written; ``answer`` says it, "" where a whole section
    does."""

    kind: str
    key: str
    shapes: tuple[str, ...]
    place: StoredChunk
    answer: str = ""

    @property
    def identity(self) -> str:
        """Equal for finds that one question would ask for."""
        return f"{self.kind}:{self.shapes[0].replace('{}', self.key)}".lower()


@dataclass
class Finds:
    """All finds of a vault, its words, and its passages but those of templates."""

    every: list[Find] = field(default_factory=list)
    vocabulary: set[str] = field(default_factory=set)
    passages: list[StoredChunk] = field(default_factory=list)

    def lacks(self, text: str) -> bool:
        """Whether some content word of a text stands in no note."""
        return any(w not in self.vocabulary for w in tokens(text) if w not in stopwords())

    def in_one_note(self) -> dict[str, list[Find]]:
        """The finds by identity: each in one note, perhaps in several of its sections."""
        found: dict[str, list[Find]] = {}
        for one in self.every:
            found.setdefault(one.identity, []).append(one)
        return {
            identity: same
            for identity, same in found.items()
            if len({one.place.chunk.rel_path for one in same}) == 1
        }


def find_all(passages: Iterable[StoredChunk]) -> Finds:
    """From all passages of a vault. Linear in their text."""
    found = Finds()
    for stored in passages:
        note, text = stored.note, stored.chunk.text
        said = (note.title, *stored.chunk.heading_path, *note.aliases, *note.tags, text)
        found.vocabulary.update(tokens(" ".join(said)))
        if "template" in stored.chunk.rel_path.lower():  # placeholders: nothing is known there
            continue
        found.passages.append(stored)
        found.every += _headings(stored)
        for sentence in prose(text):
            for rule in (_fields, _definitions, _dates, _quantities):
                found.every += rule(sentence, stored)
    return found


def is_latin(text: str) -> bool:
    """Whether English words around a key would read as one sentence with it."""
    return not is_unspaced(text) and all(not c.isalpha() or ord(c) < 0x250 for c in text)


# --------------------------------------------------------------------------- prose

_NO_TEXT = re.compile(  # frontmatter and code
    r"\A---[ \t]*\n.*?(?:^(?:---|\.\.\.)[ \t]*$|\Z)"
    r"|^(?P<mark>`{3,}|~{3,}).*?(?:^(?P=mark)[`~]*\s*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_NO_PROSE = re.compile(r"^\s*(?:#{1,6}\s|\||>|<|%%|!\[|\$\$|---)")
_MARKUP = (
    (re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)|!\[\[[^\]\n]*\]\]|\[\^[^\]\n]*\]|<[^>\n]{1,200}>"), ""),
    (re.compile(r"\[\[(?:[^\]|\n]*\|)?([^\]\n]*)\]\]"), r"\1"),
    (re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)"), r"\1"),
    (re.compile(r"(\*\*|__|\*|`|~~|==)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
)
_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[.\]\s+)?")


def prose(text: str) -> Iterator[str]:
    """Whole sentences of a passage, without frontmatter, code, tables, quotations and marks."""
    lines = [line for line in _NO_TEXT.sub("", text).split("\n") if not _NO_PROSE.match(line)]
    text = "\n".join(lines)
    for start, end in sentence_spans(text):
        sentence = _plain(_LIST_MARK.sub("", text[start:end]))
        if len(sentence) <= 300:  # longer: a list or a table that is none of Markdown's
            yield sentence


def _plain(text: str) -> str:
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


# --------------------------------------------------------------------------- the rules

_YEAR = r"(?:1[89]|20)\d\d"
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:{_YEAR}-\d\d-\d\d|\d{{1,2}} (?:{_MONTH}) {_YEAR}|(?:{_MONTH}) \d{{1,2}}, {_YEAR}"
    rf"|(?:{_MONTH}) {_YEAR})\b"
)
_GENERIC = frozenset(
    """
    abstract acknowledgements appendix background bibliography body changelog comments conclusion
    conclusions contents content date details discussion example examples faq footnotes general
    history home index info information intro introduction log links link list misc more next
    note notes other overview questions readme reading references related resources results see
    setup source sources status summary tags tasks things todo todos topics untitled usage
    """.split()
)


def _headings(stored: StoredChunk) -> Iterator[Find]:
    """The section's own heading, where it says what the section is about."""
    heading, title = (
        _plain(text).replace("#", " ").strip(" :.")
        for text in ((stored.chunk.heading_path or ("",))[-1], stored.note.title)
    )
    content = [word for word in tokens(heading) if word not in stopwords() and not word.isdigit()]
    dense = is_unspaced(heading)  # two or three characters say there what a word says here
    has_body = len(stored.chunk.text) > len(heading) + (15 if dense else 40)
    if not has_body or len(heading) > 80 or len(heading) < (2 if dense else 4):
        return
    if all(word in _GENERIC for word in content) or _DATE.fullmatch(heading):
        return
    if len(content) == 1 and heading.lower() != title.lower():  # "Method": of what?
        if title and not _DATE.search(title):
            shapes = (f"What does {{}} say about {heading}?", f"{{}}: what about {heading}?")
            readable = is_latin(title + heading)
            yield Find("heading", title, shapes if readable else (f"{{}} {heading}?",), stored)
    elif heading.endswith("?") or not is_latin(heading):
        yield Find("heading", heading.rstrip("?"), ("{}?",), stored)
    elif heading.lower().startswith("how to "):
        yield Find("heading", heading[7:], ("How do I {}?",), stored)
    else:
        shapes = ("What do my notes say about {}?", "Where did I write about {}?")
        yield Find("heading", heading, (*shapes, "What did I note on {}?"), stored)


_FIELD = re.compile(r"(?P<name>[A-Z][a-z]{2,}(?: [a-z]{2,}){0,2})::? (?P<value>[^.!?]{2,60})")


def _fields(line: str, stored: StoredChunk) -> Iterator[Find]:
    """ "Phone: 555 0199" in the note of a person or a thing; not who said what in a meeting."""
    match, title = _FIELD.fullmatch(line), stored.note.title
    if match is None or not is_latin(title) or _DATE.search(title) or ":" in title:
        return
    name = match["name"].lower()
    if title.endswith("day") or any(w in _GENERIC or w in stopwords() for w in tokens(name)):
        return
    verb = "are" if name.endswith("s") else "is"
    shapes = (f"What {verb} the {name} of {{}}?", f"{{}}: what {verb} the {name}?")
    yield Find("field", title, shapes, stored, match["value"])


_DEFINES = re.compile(
    r"(?P<term>(?:(?:The|An?) )?[^\W\d_][\w'’/+-]*(?: [\w'’/+-]+){0,3}) (?:"
    r"(?P<verb>is|are|was|were) (?:an?|the|one of|any|another) "
    r"|(?P<means>means|stands for|refers to) )"
)
_POINTS = frozenset("one some many another yes today every everything also".split())  # at what?


def _definitions(sentence: str, stored: StoredChunk) -> Iterator[Find]:
    match = _DEFINES.match(sentence)
    if match is None:
        return
    term = re.sub(r"^(?:The|An?) ", lambda m: m[0].lower(), match["term"])
    words = tokens(re.sub("^(?:the|an?) ", "", term))
    if not words or words[0] in _POINTS or {words[0], words[-1]} & stopwords() or len(term) < 4:
        return
    if all(word in stopwords() or word in _GENERIC for word in words):
        return
    shape = f"What {match['verb']} {{}}?"
    if match["means"]:
        shape = f"What does {{}} {match['means'].replace('s ', ' ').rstrip('s')}?"
    yield Find("definition", term, (shape,), stored, sentence)


def _dates(sentence: str, stored: StoredChunk) -> Iterator[Find]:
    """The sentence's only date, if it says more than that."""
    found = _DATE.findall(sentence)
    if len(found) == 1 and len(sentence) > len(found[0]) + 20:
        on = "in" if found[0][0].isalpha() and "," not in found[0] else "on"
        shapes = (f"What happened {on} {{}}?", "What did I write down for {}?")
        yield Find("date", found[0], shapes, stored, sentence)


_QUANTITY = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})*(?:\.\d+)?[ \u00a0]?(?:minutes|hours|days|weeks|months|years"
    r"|seconds|ms|euros|dollars|pounds|kg|g|grams|km|miles|metres|meters|percent|%|[KMGT]B|°C"
    r"|degrees)(?!\w)"
)


def _quantities(sentence: str, stored: StoredChunk) -> Iterator[Find]:
    found = _QUANTITY.findall(sentence)
    if len(found) == 1 and len(sentence) > len(found[0]) + 20:
        shapes = ("Where did I note {}?", "What did I write about {}?")
        yield Find("quantity", found[0], shapes, stored, sentence)
