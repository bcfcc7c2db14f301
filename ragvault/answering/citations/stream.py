"""A model's draft, sentence by sentence, each held against the notes as it comes.

    stream = CitationStream(hits, style)
    for token in tokens:
        yield from stream.feed(token)
    yield from stream.close()
    result = stream.result()          # result.text is that of all Tokens, character by character

ragvault attributes, the model needn't: a statement that cites the chunk that holds it stays as it
is; one that cites none, or another, gets the citation of the chunk that holds it best; what no
chunk holds is struck. Nothing is shown before a statement that is held; then what leads to it, and
from there each sentence as it is complete. The draft is read one character at a time, so that the
tokens' borders can't change anything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ragvault.answering.check.support import (
    BEFORE_NOUN,
    Embed,
    content_words,
    coverage,
    evidence_text,
    is_partly,
    is_verbatim,
    unsupported,
)
from ragvault.answering.check.uncertainty import is_uncertain
from ragvault.answering.citations.parse import CitedContext
from ragvault.answering.citations.render import Sentence, read, render
from ragvault.answering.citations.sentences import LOOKAHEAD, Waiting, next_end
from ragvault.answering.citations.styles import FILE_SECTION, PARTLY, CitationStyle, Marks
from ragvault.errors import ModelError
from ragvault.model import Citation, Cited, Hit, Stated, Token, Written
from ragvault.text import stem, strip_controls, tokens, words

_MIN_CLAIM = 2  # content words
_TABLE_HEAD = re.compile(r"[^\n]*\n(?=.*-)[-\t |:]+")
_MOST_REPEATS = 3  # of a sentence; small models fall into saying one for ever
# What is this long, in characters, and has no end is looked through again when it has grown so.
_LONG, _GROWTH = 500, 1.5
_LOOPING_WORDS = 3  # shorter ones may well recur: rows of a list, "yes"
_SENTENCE_WORDS = 6  # from here on nothing is told by saying it again
# The prompt's own labels, a heading or the question, said again, answer nothing; nor do numbers of
# a list alone.
_ECHO = re.compile(
    r"\s*+(?:#{1,6}\s|(?:content|section|file|vault|chunk \d+)\s*:|(?:\d{1,3}[.)]\s*){3,}\Z"
    r"|[^\n]*[?？؟]\s*\Z)",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\s*(?:#{1,6}\s+)?(?:\d{1,3}[.)]\s+)?")  # of a heading or list item
_NARROW = str.maketrans("［］", "[]")
_ENDED = re.compile(r"(?:[.!?…][\"'”’)\]*_`]*\s+|[。！？｡؟۔][」』”’)]*\s*|\n[^\n]{0,8})\S\Z")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of the draft, without its citations. ``cited`` are the chunks that it stands
    on; ``reasons`` say why no chunk holds it. ``is_struck``: it isn't in the text; ``leads``: it
    only announces what follows; ``holder``: what it is to cite instead of what it does;
    ``is_partly``: the chunks hold its values and names, in other words."""

    text: str
    cited: tuple[Hit, ...]
    reasons: tuple[str, ...] = ()
    is_uncertain: bool = False
    is_struck: bool = False
    leads: bool = False
    holder: Hit | None = None
    is_partly: bool = False

    @property
    def settled(self) -> Stated:
        held = "partly" if self.is_partly else "supported"
        claim = held if self.cited else "uncited"
        verdict = "admission" if self.is_uncertain else "unsupported" if self.reasons else claim
        return Stated(self.text, verdict, not self.is_struck, self.cited)


@dataclass(frozen=True, slots=True)
class CitedText:
    """The whole of a finished stream; its text is empty when no statement is supported.

    ``cited`` are the hits in order of first citation; ``uncertain`` is true when the draft
    admits that something isn't in the notes.
    """

    text: str
    citations: tuple[Citation, ...]
    cited: tuple[Hit, ...]
    statements: tuple[Statement, ...]
    uncertain: bool

    @property
    def unsupported(self) -> tuple[Statement, ...]:
        return tuple(s for s in self.statements if s.reasons)

    @property
    def checked(self) -> tuple[Stated, ...]:
        return tuple(statement.settled for statement in self.statements)


@dataclass
class CitationStream:
    """Feed tokens, show what comes back. See the module's docstring.

    ``question`` decides between chunks that hold a statement equally. With ``strike`` a statement
    that no chunk holds is left out, else it is shown with ``doubt`` behind it and listed. ``embed``
    helps with words that the chunks lack.
    """

    hits: Sequence[Hit]
    style: CitationStyle = FILE_SECTION
    question: str = ""
    strike: bool = True
    embed: Embed | None = None
    doubt: str = ""

    def __post_init__(self) -> None:
        self._context = CitedContext(self.hits, self.style)
        self._marks = Marks(self.style)
        self._buffer = ""
        self._tried = 0  # length of the buffer when it was last found to hold no whole sentence
        self._waiting: Waiting = ""  # a sentence has ended, but a citation of it may follow
        self._held: list[tuple[Sentence, Statement]] = []
        self._cited: dict[str, Hit] = {}  # by chunk id, in order of first citation
        self._gap = ""  # white space owed before the next piece
        self._statements: list[Statement] = []
        self._citations: list[Citation] = []
        self._text = ""
        self.has_shown = False
        self._uncertain = False
        self._said: Counter[str] = Counter()

    @property
    def draft(self) -> str:
        """What was fed and isn't settled."""
        return "".join((*(sentence.source for sentence, _ in self._held), self._buffer))

    @property
    def is_looping(self) -> bool:
        """The draft says one sentence over and over: nothing more is to be expected of it."""
        return any(times > _MOST_REPEATS for times in self._said.values())

    def feed(self, token: str) -> list[Written]:
        """Take in some of the draft; what may be shown now. Linear in the draft."""
        shown: list[Written] = []
        for char in token.translate(_NARROW):
            self._buffer += char
            if self._may_split(char):
                shown += self._advance(final=False)
        return shown

    def close(self, *, cut_off: bool = False) -> list[Written]:
        """The draft has ended. With ``cut_off`` its last, incomplete sentence is dropped."""
        return self._advance(final=True, drop_last=cut_off)

    def result(self) -> CitedText:
        """What was shown, and what it rests on; where nothing was, all that was said."""
        held = () if self._text else (replace(said, is_struck=True) for _, said in self._held)
        return CitedText(
            text=self._text,
            citations=tuple(self._citations),
            cited=tuple(self._cited.values()),
            statements=(*self._statements, *held),
            uncertain=self._uncertain,
        )

    # -- splitting

    def _may_split(self, char: str) -> bool:
        """Whether a sentence may be complete now: this character is the first behind an end, or
        closes what was waited for."""
        if len(self._buffer) > _LONG and len(self._buffer) < self._tried * _GROWTH:
            return False
        if self._waiting and char in "\n])】":
            return True
        if self._waiting == "bracket" and len(self._buffer) < self._tried + LOOKAHEAD:
            return False
        if char == "\n" and self._buffer[:_LONG].lstrip()[:3] in ("```", "~~~"):
            return True
        may_end = self._waiting or _ENDED.search(self._buffer[-24:])
        return not char.isspace() and bool(may_end)

    def _advance(self, *, final: bool, drop_last: bool = False) -> list[Written]:
        shown: list[Written] = []
        while True:
            end, self._waiting = next_end(self._buffer, self._context, final=final)
            self._tried = len(self._buffer) if end is None else 0
            if end is None:
                break
            whole, self._buffer = self._buffer[:end], self._buffer[end:]
            if drop_last and not self._buffer and not _is_complete(whole):
                break
            shown += self._take(whole)
        return shown

    # -- settling

    def _take(self, source: str) -> list[Written]:
        """Settle a whole sentence; what may be shown now."""
        sentence = read(strip_controls(source), self._context)
        said = words(_MARKER.sub("", sentence.statement, count=1))
        if len(said) >= _LOOPING_WORDS:
            self._said[" ".join(said)] += 1
            if self.is_looping:
                return []
        gap = _widest(self._gap, source[len(source.rstrip()) :]) if self._text else ""
        if self._said[" ".join(said)] > 1 and len(said) >= _SENTENCE_WORDS:
            self._gap = gap
            return []
        statement = self._settled(sentence)
        self._uncertain = self._uncertain or statement.is_uncertain
        if statement.is_struck:
            self._statements.append(statement)
            self._gap = gap
            return [statement.settled]
        self._held.append((sentence, statement))
        if statement.leads or not (self.has_shown or _answers(statement)):
            return []  # until something follows that it belongs to
        self.has_shown = True
        held, self._held = self._held, []
        return [shown for piece in held for shown in self._show(*piece)]

    def _settled(self, sentence: Sentence) -> Statement:
        """With the chunks that hold it: those that it cites, else the one that holds it best."""
        text, cited = sentence.statement, sentence.cited
        if is_uncertain(text) and not is_verbatim(text, cited):
            return Statement(text, cited, is_uncertain=True)
        if _is_heading(text) or (not cited and _claims_nothing(text)):
            leads = _is_heading(text) and not cited
            said = _MARKER.sub("", text, count=1)
            reasons = unsupported(said, self._context.hits) if re.search(r"\d", said) else ()
            struck = self.strike and bool(reasons)
            return Statement(text, cited, reasons, is_struck=struck, leads=leads)
        reasons = self._reasons(text, cited)
        if not reasons:
            return self._held_by(text, cited)
        holder = self._holder(text)
        if holder is not None:
            return self._held_by(text, (holder,), holder)
        so_far = tuple(self._cited.values())
        if not cited and so_far and not unsupported(text, self._basis(so_far)):  # it sums up
            return self._held_by(text, so_far)
        return Statement(text, cited, reasons, is_struck=self.strike)

    def _held_by(self, text: str, cited: tuple[Hit, ...], holder: Hit | None = None) -> Statement:
        return Statement(text, cited, holder=holder, is_partly=is_partly(text, self._basis(cited)))

    def _reasons(self, text: str, cited: tuple[Hit, ...]) -> tuple[str, ...]:
        try:
            return self._unsupported(text, cited, self.embed)
        except ModelError:  # of the embedding model: the draft goes on without it
            self.embed = None
            return self._unsupported(text, cited)

    def _unsupported(
        self, text: str, cited: tuple[Hit, ...], embed: Embed | None = None
    ) -> tuple[str, ...]:
        """Why these chunks don't hold it; also that it speaks of what another note is called by,
        and these don't: "the boiler was serviced in August" of the car's service."""
        basis = self._basis(cited)
        reasons = unsupported(text, basis, embed)
        if reasons or not basis:
            return reasons
        titles = {stem(word) for hit in self._context.hits for word in tokens(hit.note.title)}
        called = [word for word in content_words(text) if stem(word) in titles]
        if not called:
            return ()
        held = {stem(word) for hit in basis for word in tokens(evidence_text(hit))}
        return tuple(f"{word} is of another note" for word in called if stem(word) not in held)

    def _holder(self, statement: str) -> Hit | None:
        """The chunk of the context that holds the statement; of several the one that says it word
        for word, then the one that is most about the question, then the first. Between two
        languages no words are compared: there it takes a name or a number in common. By meaning
        only the likeliest is looked at."""
        has_number = bool(re.search(r"\d", statement))
        asked = f"{self.question} {statement}"
        likely = sorted(
            (h for h in self._context.hits if has_number or coverage(statement, evidence_text(h))),
            key=lambda h: (is_verbatim(statement, (h,)), coverage(asked, evidence_text(h))),
            reverse=True,
        )
        holding = (h for h in likely if not self._unsupported(statement, (h,)))
        by_meaning = (h for h in likely[:1] if not self._reasons(statement, (h,)))
        return next(chain(holding, by_meaning), None)

    # -- showing

    def _show(self, sentence: Sentence, said: Statement) -> list[Written]:
        piece = render(sentence, self._marks, said.holder)
        body = piece.text.rstrip()
        if not body.strip():
            self._gap = _widest(self._gap, piece.text) if self._text else ""
            self._citations += [_moved(c, len(self._text), 0) for c in piece.citations]
            return []
        lead = len(body) - len(body.lstrip(" \n")) if not self._text else 0
        body = body[lead:]
        if mark := PARTLY if said.is_partly else self.doubt if said.reasons else "":
            gap = "\n" if body.endswith(("```", "~~~", "|")) else " "
            body = re.sub(r"([.!?]?)\Z", rf"{gap}{mark}\1", body, count=1)
        start = len(self._text) + len(self._gap)
        text = self._gap + body
        self._gap = piece.text[len(piece.text.rstrip()) :]
        self._text += text
        citations = [_moved(c, start - lead, len(self._text)) for c in piece.citations]
        self._citations += citations
        is_statement = bool(re.search(r"\w", said.text)) and not _is_heading(said.text)
        self._statements += [said] * is_statement
        first = [hit for hit in piece.cited if hit.chunk.id not in self._cited]
        self._cited |= {hit.chunk.id: hit for hit in first}
        places = {c.chunk_id: c.position for c in reversed(citations)}
        marks = self._marks
        return [
            *(Cited(marks.number(h), h, marks.text(h), places[h.chunk.id]) for h in first),
            Token(text),
            *([said.settled] if is_statement else []),
        ]

    def _basis(self, cited: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """The cited chunks, and those that the model read right before and after them in their
        section: a citation names the section, and a sentence may draw on two of its pieces."""
        beside = (h for h in self._context.hits if any(_adjoin(h, hit) for hit in cited))
        return tuple(dict.fromkeys((*cited, *beside)))


def _is_complete(source: str) -> bool:
    """Whether a last piece is a whole sentence: it ends with a full stop or a citation."""
    text = source.rstrip()
    return bool(text) and text[-1] in '.!?…。！？])】"”'


def _adjoin(a: Hit, b: Hit) -> bool:
    """Neighbouring chunks of one section."""
    one, other = a.chunk, b.chunk
    return one.place == other.place and abs(one.ordinal - other.ordinal) == 1


def _answers(statement: Statement) -> bool:
    """Whether it may begin an answer: it says something, and a chunk holds it."""
    text = statement.text
    if statement.is_uncertain or statement.reasons or not statement.cited or _ECHO.match(text):
        return False
    if _is_heading(text) and len(content_words(text)) < 2:  # "In summary:"
        return False
    return bool(content_words(text) or re.search(r"\d", text))


def _claims_nothing(text: str) -> bool:
    """ "Sure!", "This is the answer.", a table's head: an uncited sentence with one word that says
    something, no number and no name ("Lead: Lena")."""
    if re.search(r"\d", text):
        return False
    if _TABLE_HEAD.fullmatch(text.strip()):
        return True
    names = (
        word[0] != "I" and not BEFORE_NOUN.search(text[: word.start()].rstrip())
        for word in list(re.finditer(r"\w+", text))[1:]
        if word[0][0].isupper()
    )
    return len(content_words(text)) < _MIN_CLAIM and not any(names)


def _is_heading(statement: str) -> bool:
    return bool(re.match(r"\s*#{1,6}\s", statement)) or statement.rstrip().endswith(":")


def _widest(gap: str, blank: str) -> str:
    """Of two runs of white space the one with more line ends, at most an empty line."""
    lines = max(gap.count("\n"), blank.count("\n"))
    return "\n" * min(lines, 2) if lines else (gap or blank)[:1]


def _moved(citation: Citation, offset: int, limit: int) -> Citation:
    position = citation.position + offset
    return replace(citation, position=max(0, min(position, limit) if limit else offset))
