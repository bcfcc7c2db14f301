"""A model's draft, sentence by sentence, with its citations resolved as it comes.

    stream = CitationStream(hits)
    for token in tokens:
        for shown in stream.feed(token):
            print(shown.text, end="")
    for shown in stream.close():
        print(shown.text, end="")
    result = stream.result()          # result.text is what was printed, character by character

Nothing is shown before a statement whose citation resolves and whose chunk holds it; then all
that was held back, and from there each sentence as it is complete. The draft is read one
character at a time, so that the tokens' borders can't change anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragvault.answering.citations import RawCitation, canonical, parse
from ragvault.answering.resolve import Resolution, resolve
from ragvault.answering.support import unsupported
from ragvault.answering.uncertainty import is_uncertain
from ragvault.model import Citation, CitationStatus, Hit
from ragvault.text import sentence_spans, strip_controls

_FENCE_OPEN = re.compile(r"(?m)^[ \t]{0,3}(`{3,}|~{3,})[^\n`]*\n")
_MARKER = re.compile(r"(?:\s*(?:[-*+]|\d{1,3}[.)]|[a-z]\)|#{1,6}|>|\||\*\*)\s*)+")
_OPENERS = "[(【"
_CLOSERS = {"[": "]", "(": ")", "【": "】"}
_LABELS = ("file:", "source:", "section:")
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
class Shown:
    """A piece of text that is to be shown now, as it is."""

    text: str


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
    is_code: bool


class CitationStream:
    """Feed tokens, show what comes back. See the module's docstring."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self._hits = tuple(hits)
        self._buffer = ""
        self._held: list[_Piece] = []
        self._pieces: list[_Piece] = []
        self._gap = ""  # white space owed before the next piece
        self._length = 0
        self._statements: list[Statement] = []
        self._citations: list[Citation] = []
        self._texts: list[str] = []
        self._open = False  # something has been shown
        self._uncertain = False

    @property
    def has_shown(self) -> bool:
        return self._open

    def feed(self, token: str) -> list[Shown]:
        """Take in some of the draft; what may be shown now. Linear, but for open brackets."""
        shown: list[Shown] = []
        for char in token:
            self._buffer += char
            if char == "\n" or char in "])】" or not char.isspace():
                shown += self._advance(final=False) if self._may_split(char) else []
        return shown

    def close(self, *, cut_off: bool = False) -> list[Shown]:
        """The draft has ended. With ``cut_off`` its last, incomplete sentence is dropped."""
        return self._advance(final=True, drop_last=cut_off)

    def result(self) -> CitedText:
        """What was shown, and what it rests on."""
        cited = tuple(dict.fromkeys(hit for piece in self._pieces for hit in piece.cited))
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
        """Whether this character can complete a sentence: it follows one, or ends a line."""
        before = self._buffer[-2:-1]
        return char in "\n])】" or not before or before.isspace() or before in "。！？｡؟۔”』」"

    def _advance(self, *, final: bool, drop_last: bool = False) -> list[Shown]:
        shown: list[Shown] = []
        while True:
            end = _next_end(self._buffer, self._hits, final=final)
            if end is None:
                break
            whole, self._buffer = self._buffer[:end], self._buffer[end:]
            if drop_last and not self._buffer and not _is_complete(whole):
                break
            shown += self._take(whole)
        return shown

    # -- showing

    def _take(self, source: str) -> list[Shown]:
        piece = _render(strip_controls(source), self._hits)
        admits = is_uncertain(piece.statement)
        self._uncertain = self._uncertain or admits
        self._held.append(piece)
        if not self._open:
            opens = piece.cited and not admits and not unsupported(piece.statement, piece.cited)
            if not opens:
                return []
            self._open = True
        held, self._held = self._held, []
        return [shown for piece in held for shown in self._show(piece)]

    def _show(self, piece: _Piece) -> list[Shown]:
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
        self._pieces.append(piece)
        self._citations += [_moved(c, start - lead, self._length) for c in piece.citations]
        if re.search(r"\w", piece.statement) and not _is_heading(piece.statement):
            self._statements.append(
                Statement(
                    piece.statement,
                    start,
                    self._length,
                    piece.cited,
                    (),
                    is_uncertain(piece.statement),
                )
            )
        return [Shown(text)]

    def _checked(self, statement: Statement, cited: tuple[Hit, ...]) -> Statement:
        """An uncited sentence is held when the chunks that the answer cites hold it."""
        if statement.is_uncertain:
            return statement
        reasons = unsupported(statement.text, statement.cited or cited)
        return Statement(
            statement.text, statement.start, statement.end, statement.cited, reasons, False
        )


def _is_complete(source: str) -> bool:
    """Whether a last piece is a whole sentence: it ends with a full stop or a citation."""
    text = source.rstrip()
    return bool(text) and text[-1] in '.!?…。！？])】"”'


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


def _next_end(buffer: str, hits: Sequence[Hit], *, final: bool) -> int | None:
    """Where the first complete sentence ends, its citations and white space with it.

    None while that can't be told. A code fence is one piece.
    """
    if not buffer or (not final and not buffer.strip()):
        return None
    fence = _FENCE_OPEN.search(buffer)
    if fence and not buffer[: fence.start()].strip():
        end = _fence_end(buffer, fence)
        if end is None:
            return len(buffer) if final else None
        return _with_citations(buffer, end, hits, final=final)
    limit = fence.start() if fence else len(buffer)
    citations = parse(buffer[:limit], hits)
    masked = _mask(buffer[:limit], citations)
    end = _sentence_end(masked)
    if end is None:
        if fence:
            return limit
        return len(buffer) if final else None
    return _with_citations(buffer, end, hits, final=final)


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


def _with_citations(buffer: str, end: int, hits: Sequence[Hit], *, final: bool) -> int | None:
    """Extend a sentence over the citations right behind it, and over white space.

    "It is Go. [File: a.md]" cites the sentence before it. None while more has to come.
    """
    while True:
        rest = buffer[end:]
        body = rest.lstrip()
        gap = len(rest) - len(body)
        if not body:
            return len(buffer) if final else None
        length = _citation_length(body, hits, final=final)
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


def _citation_length(body: str, hits: Sequence[Hit], *, final: bool) -> int | None:
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
    first = next(iter(parse(body, hits)), None)
    return first.end if first is not None and first.start == 0 else 0


# --------------------------------------------------------------------------- rendering


def _render(source: str, hits: Sequence[Hit]) -> _Piece:
    """Put canonical citations for resolved ones, and take removed ones out without a trace."""
    raws = parse(source, hits)
    statement = _without(source, raws)
    out: list[str] = []
    citations: list[Citation] = []
    cited: list[Hit] = []
    at = 0
    for start, end, group in _grouped(raws):
        found = [(raw, resolve(raw, hits, statement)) for raw in group]
        out.append(source[at:start])
        text = "".join(out)
        marks, text = _marks(found, text)
        out = [text]
        for raw, resolution, mark in marks:
            place = len("".join(out))
            citations.append(_citation(raw, resolution, place))
            out.append(mark)
            if resolution.hit is not None and resolution.hit not in cited:
                cited.append(resolution.hit)
        at = end
        if not any(resolution.hit for _, resolution in found):
            at += _debris_after(text, source[end:])
    out.append(source[at:])
    text = _drop_empty_item("".join(out), source)
    return _Piece(text, statement, tuple(citations), tuple(cited), source.lstrip()[:3] == "```")


def _grouped(raws: Sequence[RawCitation]) -> list[tuple[int, int, list[RawCitation]]]:
    groups: list[tuple[int, int, list[RawCitation]]] = []
    for raw in raws:
        if groups and groups[-1][0] == raw.start:
            groups[-1][2].append(raw)
        else:
            groups.append((raw.start, raw.end, [raw]))
    return groups


def _marks(
    found: Sequence[tuple[RawCitation, Resolution]], before: str
) -> tuple[list[tuple[RawCitation, Resolution, str]], str]:
    """The text of each citation of one bracket, and the text before it without debris."""
    resolved = [resolution.hit for _, resolution in found if resolution.hit is not None]
    if not resolved:
        before = _BEFORE_REMOVED.sub("", before)
    marks: list[tuple[RawCitation, Resolution, str]] = []
    seen: set[str] = set()
    for raw, resolution in found:
        mark = canonical(resolution.hit) if resolution.hit is not None else ""
        repeated = mark in seen or (bool(mark) and before.rstrip().endswith(mark))
        marks.append((raw, resolution, "" if repeated else ((" " if seen else "") + mark)))
        if mark:
            seen.add(mark)
    if marks and not any(mark for _, _, mark in marks):
        before = before.rstrip(" \t")
    return marks, before


def _citation(raw: RawCitation, resolution: Resolution, position: int) -> Citation:
    hit = resolution.hit
    return Citation(raw.raw, position, resolution.status, hit.chunk.id if hit else None)


def _debris_after(before: str, after: str) -> int:
    """How much to skip behind a removed citation: its closing parenthesis, a second full stop."""
    skip = 0
    if after.startswith(")") and before.count("(") < before.count(")") + 1:
        skip = 1
    rest = after[skip:]
    if before.rstrip()[-1:] in ".!?" and rest[:1] == ".":
        skip += 1
    if not before and rest[:1] == " ":
        skip += 1
    return skip


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


__all__ = ["CitationStatus", "CitationStream", "CitedText", "Shown", "Statement"]
