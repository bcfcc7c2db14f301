"""A chunk's text as passages that can be quoted: each whole, readable alone, word for word.

A sentence; a list item, with the line that leads into its list; a short list as a whole, where
the question asks for its kind; a table row with its header; a code fence with the sentence that
announces it; a field of the frontmatter below its key. Headings, rules and link definitions are
none. What holds nothing but a link to what says it is a "pointer"; nothing but embeds, images or
addresses, "links": quoted only where there is nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragvault.answering.check.support import content_stems
from ragvault.model import Hit
from ragvault.text import is_link_definition, sentence_spans

_MAX_CODE_LINES = 30
_MAX_LIST = 600  # characters of a list that is quoted whole
_MAX_STEPS = 1_500  # and of one whose items are steps

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:\s|$)|^\s*(?:={3,}|-{3,}|\*{3,}|_{3,})\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_NUMBERED = re.compile(r"^\s*\d{1,3}[.)]\s")
_QUOTE = re.compile(r"^\s*(?:>\s*)+(?:\[![\w-]+\][+-]?\s*)?")
_FIELD = re.compile(r"^\s*(?:[\w -]+:(?:\s|$)|-\s|#|[\]}\"'])")
_DULL_FIELD = re.compile(r"^(?:title|alias(?:es)?|tags?|css\w*)\s*:", re.IGNORECASE)
_KEY_ALONE = re.compile(r"^[\w -]+:\s*$")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")
_RULE_ROW = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")
# A fence that only names a file to be put there (mdBook), or holds comments and nothing else.
_INCLUDE = re.compile(r"^\s*(?:\{\{#.*\}\}|<!--.*-->)?\s*$")
_NAMED_LINK = re.compile(r"(?<!!)\[(?:\[[^\[\]\n]*\w[^\[\]\n]*\]\]|[^\[\]\n]*\w[^\[\]\n]*\][(\[])")
_LINK = re.compile(
    r"!?\[\[[^\[\]\n]*\]\]|!?\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*+\]"
    r"(?:\([^()\n]*\)|\[[^\[\]\n]*\])|<?\bhttps?://\S+|<[^<>\n]+>|<!--.*?-->"
)
_HTML = re.compile(r"\s*(?:</?[a-zA-Z!]|[\w-]+=\"[^\"\n]*\"[ />])")  # or a tag's cut-off end
_TAG = re.compile(r"<[^<>]*>|^[^<>]*>")
_HTML_WORDS = 4
_POINTING = frozenset("see also examples example e g more at and or the in for here read".split())


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage. ``parts`` are verbatim pieces of the chunk, in order, a line or more each; the
    first ``lead`` of them stand there to make the rest readable. It lies within
    ``start..end`` of the chunk's text."""

    hit: Hit
    parts: tuple[str, ...]
    start: int
    kind: str  # sentence, item, list, row, code, cut (code cut off), field, pointer, links
    score: float = 0.0
    end: int = 0
    lead: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.parts)

    @property
    def own(self) -> str:
        """Without what only leads into it."""
        return "\n".join(self.parts[self.lead :])


@dataclass(frozen=True, slots=True)
class Lists:
    """Which lists are quoted whole: numbered ones when ``steps`` are asked for; any below a
    heading or lead that ``named`` (stems of the question) speak of."""

    steps: bool = False
    named: frozenset[str] = frozenset()


def passages_of(hit: Hit, lists: Lists | None = None) -> list[Quote]:
    """The chunk's passages in order; not empty when it has text. Linear in the text."""
    reader = _Reader(hit, lists or Lists())
    index = reader.frontmatter() or reader.rest_of_code()
    while index < len(reader.lines):
        index = reader.block(index)
    found = reader.found
    text = hit.chunk.text
    if not found and text.strip():
        only_links = all(_says_nothing(line) for line in reader.lines)
        kind = "links" if only_links else "sentence"
        found.append(Quote(hit, (text.strip(),), 0, kind, end=len(text)))
    return found


def says_only_links(text: str) -> bool:
    """Links, embeds, images and addresses, with hardly a word around them."""
    if _LINK.search(text) is None:
        return False
    rest = re.findall(r"[^\W\d_]+", _LINK.sub(" ", text).casefold())
    return all(word in _POINTING for word in rest)


def _kind(text: str, otherwise: str) -> str:
    if not says_only_links(text):
        return otherwise
    return "pointer" if _NAMED_LINK.search(text) else "links"


def _says_nothing(line: str) -> bool:
    return not re.search(r"\w", line) or is_link_definition(line) or _kind(line, "") == "links"


class _Reader:
    """One chunk, read block by block; ``found`` are its passages so far."""

    def __init__(self, hit: Hit, lists: Lists) -> None:
        self.hit = hit
        self.text = hit.chunk.text
        self.lists = lists
        self.lines = self.text.split("\n")
        self.found: list[Quote] = []
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def _add(self, kind: str, parts: tuple[str, ...], start: int, end: int, lead: int = 0) -> None:
        self.found.append(Quote(self.hit, parts, start, kind, end=end, lead=lead))

    def _end(self, line: int) -> int:
        """Where a line ends in the text."""
        return self._starts[line + 1] - 1

    # -- frontmatter

    def frontmatter(self) -> int:
        """A passage for each field that says something; the line after the frontmatter."""
        lines = self.lines
        if lines[0].rstrip() != "---" or "---" not in (line.rstrip() for line in lines[1:]):
            return 0
        end = next(j for j in range(1, len(lines)) if lines[j].rstrip() == "---")
        if not all(not line.strip() or _FIELD.match(line) for line in lines[1:end]):
            return 0
        key, key_line = "", 0
        for j in range(1, end):
            is_item = lines[j].lstrip().startswith("- ")
            if not is_item:
                key, key_line = lines[j].rstrip(), j
            value = lines[j] if is_item else lines[j].partition(":")[2]
            if _DULL_FIELD.match(key) or not re.search(r"\w", value):
                continue
            if not _KEY_ALONE.match(lines[j]):
                # '- "[[Japan]]"' says something only below its "loc:".
                lead = (key,) if is_item and _KEY_ALONE.match(key) else ()
                start = self._starts[key_line if lead else j]
                parts = (*lead, lines[j].strip())
                self._add("field", parts, start, self._end(j), len(lead))
        return end + 1

    # -- blocks

    def rest_of_code(self) -> int:
        """A chunk may begin inside a fence that was too long for one: the line after its end."""
        fences = [i for i, line in enumerate(self.lines) if _FENCE.match(line)]
        if len(fences) % 2 == 0:
            return 0
        end = fences[0]
        is_bare = self.lines[end].strip().strip("`~") == ""
        if not is_bare or end == 0 or not self.lines[end - 1].strip():
            return 0  # an opening stands below a blank line, or names its language
        if end <= _MAX_CODE_LINES:
            self._add("cut", ("\n".join(self.lines[:end]),), 0, self._end(end - 1))
        return end + 1

    def block(self, i: int) -> int:
        """Append the passages of the block that starts at line ``i``; the line after it."""
        line = self.lines[i]
        if _FENCE.match(line):
            return self._fence(i)
        if not line.strip() or _HEADING.match(line) or is_link_definition(line):
            return i + 1
        if _TABLE.match(line):
            return self._table(i)
        if _ITEM.match(line):
            whole = self._list(i)
            return whole if whole is not None else self._item(i)
        return self._paragraph(i)

    def _fence(self, i: int) -> int:
        lines = self.lines
        mark = lines[i].strip()[:3]
        ends = (j for j in range(i + 1, len(lines)) if lines[j].strip().startswith(mark))
        end = next(ends, len(lines))
        inner = lines[i + 1 : end]
        if len(inner) < _MAX_CODE_LINES and not all(_INCLUDE.match(line) for line in inner):
            lead = self._announced(i)
            # One that was cut off is quoted without its opening, which nothing would close.
            code = lines[i : end + 1] if end < len(lines) else inner
            parts = ((lead,) if lead else ()) + ("\n".join(code),)
            kind = "code" if end < len(lines) else "cut"
            self._add(
                kind, parts, self._starts[i], self._end(min(end, len(lines) - 1)), len(parts) - 1
            )
        return end + 1

    def _announced(self, i: int) -> str | None:
        """The sentence before line ``i`` that ends with a colon, and so speaks of what follows."""
        last = self.found[-1] if self.found else None
        if last is None or last.kind not in ("sentence", "item") or last.lead:
            return None
        is_next = not self.text[last.end : self._starts[i]].strip()
        return last.parts[-1] if is_next and last.text.rstrip().endswith((":", "：")) else None

    def _table(self, i: int) -> int:
        """A passage for each row, with the header and its rule when the table has them."""
        lines = self.lines
        end = i
        while end < len(lines) and _TABLE.match(lines[end]):
            end += 1
        has_header = end - i > 2 and bool(_RULE_ROW.match(lines[i + 1]))
        header = (lines[i], lines[i + 1]) if has_header else ()
        for j in range(i + len(header), end):
            if re.search(r"\w", lines[j]):
                start = self._starts[j]
                self._add("row", (*header, lines[j]), start, self._end(j), len(header))
        return end

    def _list(self, i: int) -> int | None:
        """The list that starts at line ``i`` as one passage, and the line after it; None when
        it isn't one that the question wants whole."""
        lines = self.lines
        end = i
        while end < len(lines) and (
            _ITEM.match(lines[end])
            or (lines[end].strip() and lines[end][:1] in " \t")
            or (not lines[end].strip() and end + 1 < len(lines) and _ITEM.match(lines[end + 1]))
        ):
            end += 1
        is_numbered = bool(_NUMBERED.match(lines[i]))
        if is_numbered != all(_NUMBERED.match(x) for x in lines[i:end] if _is_top_item(x)):
            return None
        items = sum(_is_top_item(line) for line in lines[i:end])
        whole = "\n".join(lines[i:end]).rstrip()
        lead = self._lead_in(i)
        steps = self.lists.steps and is_numbered and len(whole) <= _MAX_STEPS
        named = self._is_named(lead) and len(whole) <= _MAX_LIST
        links = sum(_kind(line, "") != "" for line in lines[i:end])
        if items < 2 or not (steps or named) or 2 * links > items:
            return None
        parts = ((lead,) if lead else ()) + (whole,)
        self._add("list", parts, self._starts[i], self._end(end - 1), len(parts) - 1)
        return end

    def _is_named(self, lead: str | None) -> bool:
        """The question speaks of what leads into the list, or of a heading above it that isn't
        the note's title."""
        title = set(content_stems(self.hit.note.title))
        for place in (lead or "", *self.hit.chunk.heading_path):
            stems = set(content_stems(place))
            if stems - title and 2 * len(stems & self.lists.named) >= len(stems):
                return True
        return False

    def _item(self, i: int) -> int:
        end = self._paragraph_end(i)
        text = "\n".join(self.lines[i:end])
        if (lead := self._lead_in(i)) is not None:
            kind = _kind(text, "item")
            self._add(
                "item" if kind == "pointer" else kind,  # what is led into may be a list of links
                (lead, text.strip("\n")), self._starts[i], self._end(end - 1), 1,
            )  # fmt: skip
            return end
        marker = _ITEM.match(text)
        self._sentences(i, text, marker.end() if marker else 0, "item")
        return end

    def _paragraph(self, i: int) -> int:
        end = self._paragraph_end(i)
        text = "\n".join(self.lines[i:end])
        if _HTML.match(text) and len(re.findall(r"\w+", _TAG.sub(" ", text))) < _HTML_WORDS:
            self._add("links", (text.strip(),), self._starts[i], self._end(end - 1))
            return end
        marker = _QUOTE.match(text)
        kind = "item" if marker else "sentence"
        self._sentences(i, text, marker.end() if marker else 0, kind)
        return end

    def _sentences(self, i: int, text: str, offset: int, kind: str) -> None:
        for start, stop in sentence_spans(text[offset:]):
            sentence = text[offset + start : offset + stop]
            if re.search(r"\w", sentence):
                at = self._starts[i] + offset + start
                self._add(_kind(sentence, kind), (sentence,), at, at + len(sentence))

    def _paragraph_end(self, i: int) -> int:
        lines = self.lines
        j = i + 1
        while j < len(lines) and lines[j].strip():
            if _ITEM.match(lines[j]) or _HEADING.match(lines[j]) or _FENCE.match(lines[j]):
                break
            if is_link_definition(lines[j]) or _TABLE.match(lines[j]):
                break
            if bool(_QUOTE.match(lines[j])) != bool(_QUOTE.match(lines[i])):
                break
            j += 1
        return j

    def _lead_in(self, i: int) -> str | None:
        """The sentence that ends with a colon before the list that line ``i`` belongs to."""
        lines = self.lines
        j = i - 1
        while j >= 0 and (not lines[j].strip() or _ITEM.match(lines[j]) or lines[j][:1] in " \t"):
            if not lines[j].strip() and j + 1 < i and not _ITEM.match(lines[j + 1]):
                return None
            j -= 1
        if j < 0 or _HEADING.match(lines[j]) or not lines[j].rstrip().endswith((":", "：")):
            return None
        first = j
        while first > 0 and lines[first - 1].strip() and not self._opens(first - 1):
            first -= 1
        paragraph = "\n".join(lines[first : j + 1])
        start, end = sentence_spans(paragraph)[-1]
        return paragraph[start:end]

    def _opens(self, i: int) -> bool:
        """The line is no part of a paragraph that goes on below it."""
        return any(pattern.match(self.lines[i]) for pattern in (_ITEM, _HEADING, _TABLE, _FENCE))


def _is_top_item(line: str) -> bool:
    return bool(_ITEM.match(line)) and line[:1] not in " \t"
