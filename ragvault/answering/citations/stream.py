"""A model's draft, sentence by sentence, with its citations resolved as it comes.

    stream = CitationStream(hits)
    for token in tokens:
        yield from stream.feed(token)
    yield from stream.close()
    result = stream.result()          # result.text is that of all Tokens, character by character

Nothing is shown before a statement whose citation resolves and whose chunk holds it; then all
that was held back, and from there each sentence as it is complete. The draft is read one
character at a time, so that the tokens' borders can't change anything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragvault.answering.check.support import content_stems, is_verbatim, unsupported
from ragvault.answering.check.uncertainty import is_uncertain
from ragvault.answering.citations.parse import Known, RawCitation, canonical, parse
from ragvault.answering.citations.resolve import Resolution, resolve
from ragvault.model import Citation, Cited, Hit, Token
from ragvault.text import sentence_spans, strip_controls, words

_FENCE_OPEN = re.compile(r"(?m)^[ \t]{0,3}(`{3,}|~{3,})[^\n`]*\n")
_MARKER = re.compile(r"(?:\s*(?:[-*+]|\d{1,3}[.)]|[a-z]\)|#{1,6}|>|\||\*\*)\s*)+")
_MIN_CLAIM = 3  # content words
_MOST_REPEATS = 3  # of a sentence; small models fall into saying one for ever
_LOOPING_WORDS = 3  # shorter ones may well recur: rows of a list, "yes"
# The prompt's own labels and a heading, said again, answer nothing.
_ECHO = re.compile(r"\s*(?:#{1,6}\s|(?:content|section|file|vault|chunk \d+)\s*:)", re.IGNORECASE)
_OPENERS = "[(【"
_CLOSERS = {"[": "]", "(": ")", "【": "】"}
_LABELS = ("file:", "source:", "section:")
_ENDED = re.compile(r"(?:[.!?…][\"'”’)\]*_`]*\s+|[。！？｡؟۔][」』”’)]*\s*|\n[^\n]{0,8})\S\Z")
_LOOKAHEAD = 600  # characters of an open bracket that may still become a citation
_BEFORE_REMOVED = re.compile(
    r"[ \t]*(?:\(\s*(?:see\s+)?|,?\s*\b(?:according to|as (?:stated|mentioned|noted) in"
    r"|sources?\s*:|see)\s*)?[ \t]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of the answer. ``text`` is it without citations; ``start`` and ``end`` place
    it in the answer's text; ``reasons`` say why its chunks don't hold it."""

    text: str
    start: int
    end: int
    cited: tuple[Hit, ...]
    reasons: tuple[str, ...]
    is_uncertain: bool


@dataclass(frozen=True, slots=True)
class CitedText:
    """The whole of a finished stream. ``text`` is empty when nothing may be shown.

    ``cited`` are the hits in order of first citation; ``uncertain`` is true when the draft
    admits that something isn't in the notes; ``substantial`` when it has a supported statement.
    """

    text: str
    citations: tuple[Citation, ...]
    cited: tuple[Hit, ...]
    statements: tuple[Statement, ...]
    uncertain: bool
    substantial: bool

    @property
    def unsupported(self) -> tuple[Statement, ...]:
        return tuple(s for s in self.statements if s.reasons)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence ready to be shown: its text, and its citations at offsets into that text."""

    text: str
    statement: str
    citations: tuple[Citation, ...]
    cited: tuple[Hit, ...]


class CitationStream:
    """Feed tokens, show what comes back. See the module's docstring."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self._hits = tuple(hits)
        self._known = Known(self._hits)
        self._buffer = ""
        self._waiting = False  # a sentence has ended, but a citation of it may follow
        self._held: list[_Piece] = []
        self._cited: dict[str, Hit] = {}  # by chunk id, in order of first citation
        self._gap = ""  # white space owed before the next piece
        self._length = 0
        self._statements: list[Statement] = []
        self._citations: list[Citation] = []
        self._texts: list[str] = []
        self._open = False  # something has been shown
        self._uncertain = False
        self._said: Counter[str] = Counter()

    @property
    def has_shown(self) -> bool:
        return self._open

    @property
    def is_looping(self) -> bool:
        """The draft says one sentence over and over: nothing more is to be expected of it."""
        return any(times > _MOST_REPEATS for times in self._said.values())

    def feed(self, token: str) -> list[Cited | Token]:
        """Take in some of the draft; what may be shown now. Linear in the draft, times the
        length of a sentence."""
        shown: list[Cited | Token] = []
        for char in token:
            self._buffer += char
            if self._may_split(char):
                shown += self._advance(final=False)
        return shown

    def close(self, *, cut_off: bool = False) -> list[Cited | Token]:
        """The draft has ended. With ``cut_off`` its last, incomplete sentence is dropped."""
        return self._advance(final=True, drop_last=cut_off)

    def result(self) -> CitedText:
        """What was shown, and what it rests on."""
        cited = tuple(self._cited.values())
        statements = tuple(self._checked(s, cited) for s in self._statements)
        return CitedText(
            text="".join(self._texts),
            citations=tuple(self._citations)
            if self._open
            else tuple(c for piece in self._held for c in piece.citations),
            cited=cited,
            statements=statements,
            uncertain=self._uncertain,
            substantial=self._open,
        )

    # -- splitting

    def _may_split(self, char: str) -> bool:
        """Whether a sentence may be complete now: this character is the first behind an end, or
        closes what was waited for."""
        if self._waiting and char in "\n])】":
            return True
        if char == "\n" and self._buffer.lstrip()[:3] in ("```", "~~~"):
            return True
        return not char.isspace() and (self._waiting or bool(_ENDED.search(self._buffer[-24:])))

    def _advance(self, *, final: bool, drop_last: bool = False) -> list[Cited | Token]:
        shown: list[Cited | Token] = []
        while True:
            end, self._waiting = _next_end(self._buffer, self._known, final=final)
            if end is None:
                break
            whole, self._buffer = self._buffer[:end], self._buffer[end:]
            if drop_last and not self._buffer and not _is_complete(whole):
                break
            shown += self._take(whole)
        return shown

    # -- showing

    def _take(self, source: str) -> list[Cited | Token]:
        piece = _render(strip_controls(source), self._hits, self._known)
        said = words(piece.statement)
        if len(said) >= _LOOPING_WORDS:
            self._said[" ".join(said)] += 1
            if self.is_looping:
                return []
        admits = _admits(piece)
        self._uncertain = self._uncertain or admits
        self._held.append(piece)
        if not self._open:
            if admits or not _answers(piece, self._basis(piece.cited)):
                return []
            self._open = True
        held, self._held = self._held, []
        return [shown for piece in held for shown in self._show(piece)]

    def _show(self, piece: _Piece) -> list[Cited | Token]:
        body = piece.text.rstrip()
        if not body.strip():
            self._gap = _widest(self._gap, piece.text) if self._length else ""
            self._citations += [_moved(c, self._length, 0) for c in piece.citations]
            return []
        lead = len(body) - len(body.lstrip(" \n")) if not self._length else 0
        body = body[lead:]
        start = self._length + len(self._gap)
        text = self._gap + body
        self._gap = piece.text[len(piece.text.rstrip()) :]
        self._length += len(text)
        self._texts.append(text)
        citations = [_moved(c, start - lead, self._length) for c in piece.citations]
        self._citations += citations
        if re.search(r"\w", piece.statement) and not _is_heading(piece.statement):
            self._statements.append(
                Statement(
                    piece.statement,
                    start,
                    self._length,
                    piece.cited,
                    (),
                    _admits(piece),
                )
            )
        return [*self._first_cited(piece.cited, citations), Token(text)]

    def _first_cited(self, hits: Sequence[Hit], citations: Sequence[Citation]) -> Iterator[Cited]:
        for hit in hits:
            if hit.chunk.id not in self._cited:
                self._cited[hit.chunk.id] = hit
                place = next(c.position for c in citations if c.chunk_id == hit.chunk.id)
                yield Cited(len(self._cited), hit, canonical(hit), place)

    def _basis(self, cited: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """The cited chunks, and those that the model read right before and after them in their
        section: a citation names the section, and a sentence may draw on two of its pieces."""
        beside = (h for h in self._hits if any(_adjoin(h, hit) for hit in cited))
        return tuple(dict.fromkeys((*cited, *beside)))

    def _checked(self, statement: Statement, cited: tuple[Hit, ...]) -> Statement:
        """An uncited sentence is held when the chunks that the answer cites hold it."""
        if statement.is_uncertain or (not statement.cited and _claims_nothing(statement.text)):
            return statement
        reasons = unsupported(statement.text, self._basis(statement.cited or cited))
        return Statement(
            statement.text, statement.start, statement.end, statement.cited, reasons, False
        )


def _is_complete(source: str) -> bool:
    """Whether a last piece is a whole sentence: it ends with a full stop or a citation."""
    text = source.rstrip()
    return bool(text) and text[-1] in '.!?…。！？])】"”'


def _admits(piece: _Piece) -> bool:
    """It says that the answer isn't there. What a note says so itself ("the totals are not
    included in this table") is quoted, not admitted."""
    return is_uncertain(piece.statement) and not is_verbatim(piece.statement, piece.cited)


def _adjoin(a: Hit, b: Hit) -> bool:
    """Neighbouring chunks of one section."""
    one, other = a.chunk, b.chunk
    return (
        (one.vault, one.rel_path, one.heading_path)
        == (other.vault, other.rel_path, other.heading_path)
    ) and abs(one.ordinal - other.ordinal) == 1


def _answers(piece: _Piece, basis: Sequence[Hit]) -> bool:
    """Whether it may begin an answer: it says something, and what it cites (``basis``) holds it."""
    statement = piece.statement
    if not piece.cited or _ECHO.match(statement):
        return False
    if _is_heading(statement) and len(content_stems(statement)) < 2:  # "In summary:"
        return False
    says_something = content_stems(statement) or re.search(r"\d", statement)
    return bool(says_something) and not unsupported(statement, basis)


def _claims_nothing(text: str) -> bool:
    """ "Sure!", "I hope this helps.": an uncited sentence of few words and no number."""
    return len(content_stems(text)) < _MIN_CLAIM and not re.search(r"\d", text)


def _is_heading(statement: str) -> bool:
    return bool(re.match(r"\s*#{1,6}\s", statement)) or statement.rstrip().endswith(":")


def _widest(gap: str, blank: str) -> str:
    """Of two runs of white space the one with more line ends, at most an empty line."""
    lines = max(gap.count("\n"), blank.count("\n"))
    return "\n" * min(lines, 2) if lines else (gap or blank)[:1]


def _moved(citation: Citation, offset: int, limit: int) -> Citation:
    position = citation.position + offset
    position = max(0, min(position, limit) if limit else offset)
    return Citation(citation.raw, position, citation.status, citation.chunk_id)


# --------------------------------------------------------------------------- sentence borders


def _next_end(buffer: str, known: Known, *, final: bool) -> tuple[int | None, bool]:
    """Where the first complete sentence ends, with its citations and white space; None while
    that can't be told. And whether it is waited for. A code fence is one piece."""
    if not buffer or (not final and not buffer.strip()):
        return None, False
    whole = len(buffer) if final else None
    fence = _FENCE_OPEN.search(buffer)
    if fence and not buffer[: fence.start()].strip():
        end = _fence_end(buffer, fence)
        if end is None:
            return whole, True
        return _with_citations(buffer, end, known, final=final), True
    limit = fence.start() if fence else len(buffer)
    masked = _mask(buffer[:limit], parse(buffer[:limit], known))
    end = _sentence_end(masked)
    if end is not None:
        return _with_citations(buffer, end, known, final=final), True
    return (limit if fence else whole), bool(fence)


def _fence_end(buffer: str, fence: re.Match[str]) -> int | None:
    mark = re.escape(fence.group(1))
    close = re.compile(rf"(?m)^[ \t]{{0,3}}{mark}[`~]*[ \t]*(?:\n|\Z)")
    match = close.search(buffer, fence.end())
    return match.end() if match else None


def _mask(text: str, citations: Sequence[RawCitation]) -> str:
    """The text with citations and code spans made a row of letters: no full stop in them ends
    a sentence."""
    chars = list(text)
    spans = [(c.start, c.end) for c in citations]
    spans += [m.span() for m in re.finditer(r"(?<!`)(`+)(?!`)[^\n]*?[^`\n]\1(?!`)", text)]
    for start, end in spans:
        chars[start:end] = "x" * (end - start)
    return "".join(chars)


def _sentence_end(masked: str) -> int | None:
    """The end of the first sentence that another one follows; a list marker is no sentence."""
    spans = sentence_spans(masked)
    for start, end in spans[:-1]:
        if not _MARKER.fullmatch(masked[start:end]) and not _in_bracket(masked[:end]):
            return end
    return None


def _in_bracket(text: str) -> bool:
    """An open bracket on the last line that may yet turn out to be a citation."""
    line = text[text.rfind("\n") + 1 :]
    opened = line.rfind("[")
    return (
        opened >= 0
        and "]" not in line[opened:]
        and len(line) - opened < _LOOKAHEAD
        and bool(re.match(r"\[\s*(?:\w+\s*:|chunk|$)", line[opened:], re.IGNORECASE))
    )


def _with_citations(buffer: str, end: int, known: Known, *, final: bool) -> int | None:
    """Extend a sentence over the citations right behind it, and over white space.

    "It is Go. [File: a.md]" cites the sentence before it. None while more has to come.
    """
    while True:
        rest = buffer[end:]
        body = rest.lstrip()
        gap = len(rest) - len(body)
        if not body:
            return len(buffer) if final else None
        length = _citation_length(body, known, final=final)
        if length is None:
            return None
        if length == 0 or (_starts_statement(body[length:]) and "\n" in rest[:gap]):
            return end + gap
        end += gap + length
        tail = re.match(r"[ \t]*[.;,](?=\s|$)", buffer[end:])
        end += tail.end() if tail else 0


def _starts_statement(after: str) -> bool:
    """On a line of its own a citation belongs to what precedes, unless words follow it there."""
    line = after.split("\n", 1)[0]
    return bool(re.search(r"\w", re.sub(r"\[[^\]]*\]", "", line)))


def _citation_length(body: str, known: Known, *, final: bool) -> int | None:
    """Length of the citation that the text starts with; 0: none; None: not yet known."""
    lowered = body[:16].lower()
    if body[0] in _OPENERS:
        line = body.split("\n", 1)[0]
        is_open = line.count(body[0]) > line.count(_CLOSERS[body[0]])
        if is_open and not final and len(line) == len(body) and len(body) < _LOOKAHEAD:
            return None
    elif any(lowered.startswith(label) or label.startswith(lowered) for label in _LABELS):
        if not final and "\n" not in body and len(body) < _LOOKAHEAD:
            return None
    else:
        return 0
    first = next(iter(parse(body, known)), None)
    return first.end if first is not None and first.start == 0 else 0


# --------------------------------------------------------------------------- rendering


def _render(source: str, hits: Sequence[Hit], known: Known) -> _Piece:
    """Put canonical citations for resolved ones, and take removed ones out without a trace."""
    raws = parse(source, known)
    statement = _without(source, raws)
    text, at = "", 0
    citations: list[Citation] = []
    cited: list[Hit] = []
    marks: dict[str, int] = {}  # canonical citations at the end of the text so far → place
    for start, end, group in _grouped(raws):
        between = source[at:start]
        if between.strip():
            marks = {}
        text, at = text + between, end
        found = [(raw, resolve(raw, hits, statement)) for raw in group]
        hits_here = list(dict.fromkeys(r.hit for _, r in found if r.hit is not None))
        new = [hit for hit in hits_here if canonical(hit) not in marks]
        if not new:
            text, skip = _closed_up(text, source[end:], is_repeated=bool(hits_here))
            at += skip
        for i, hit in enumerate(new):
            text += " " if i else ""
            marks[canonical(hit)] = len(text)
            text += canonical(hit)
        citations += [_citation(raw, resolved, marks, len(text)) for raw, resolved in found]
        cited += [hit for hit in hits_here if hit not in cited]
    text = _drop_empty_item(text + source[at:], source)
    if not text.strip():
        citations = [Citation(c.raw, 0, c.status, c.chunk_id) for c in citations]
    return _Piece(text, statement, tuple(citations), tuple(cited))


def _grouped(raws: Sequence[RawCitation]) -> list[tuple[int, int, list[RawCitation]]]:
    groups: list[tuple[int, int, list[RawCitation]]] = []
    for raw in raws:
        if groups and groups[-1][0] == raw.start:
            groups[-1][2].append(raw)
        else:
            groups.append((raw.start, raw.end, [raw]))
    return groups


def _citation(
    raw: RawCitation, resolved: Resolution, marks: Mapping[str, int], end: int
) -> Citation:
    hit = resolved.hit
    if hit is None:
        return Citation(raw.raw, end, resolved.status, None)
    return Citation(raw.raw, marks[canonical(hit)], resolved.status, hit.chunk.id)


def _closed_up(before: str, after: str, *, is_repeated: bool) -> tuple[str, int]:
    """The text before a citation that goes, and how much to skip behind it, so that no bracket,
    space, lead-in or second full stop is left over."""
    text = before.rstrip(" \t") if is_repeated else _BEFORE_REMOVED.sub("", before)
    opened = before.count("(") > text.count("(") or text.endswith("(")
    text = text.removesuffix("(").rstrip(" \t") if opened else text
    skip = 1 if opened and after.startswith(")") else 0
    if opened and not skip:  # words follow inside the parenthesis: it stays
        text = before.rstrip(" \t")
    rest = after[skip:]
    if text.endswith("\n") and rest[:1] in ("", "\n"):
        text = text.rstrip()
    if text.rstrip()[-1:] in (".", "!", "?") and rest[:1] in (".", ","):
        skip += 1
    if not text.strip():
        skip += len(rest) - len(rest.lstrip(" \t,"))
    return text, skip


def _drop_empty_item(text: str, source: str) -> str:
    """A list item that was nothing but a removed citation goes altogether."""
    if text != source and not re.search(r"\w", text) and re.search(r"\w", source):
        return text[len(text.rstrip("\n")) :]
    return text


def _without(source: str, raws: Sequence[RawCitation]) -> str:
    chars = list(source)
    for raw in raws:
        chars[raw.start : raw.end] = "\0" * (raw.end - raw.start)
    text = "".join(chars).replace("\0", "")
    text = re.sub(r"\(\s*\)|\[\s*\]", "", text)
    return re.sub(r"[ \t]+([.,;:!?])", r"\1", re.sub(r"[ \t]{2,}", " ", text)).strip()


__all__ = ["CitationStream", "CitedText", "Statement"]
