"""One answer, or why there is none, and how sure: what goes to the model and what comes back, its
citations, how it is kept; and what ``ask`` yields while it is made, in this order:

    Retrieved               once: what was found, and which of it may be cited
    Drafted, Cited, Token   in turns: the answer's text, each citation's source before its text
      and Stated            and each statement of a model when it has been checked
    Done                    once: the whole result

An abstention has no Token: its message is in the result; a model that answers alone has no
Retrieved. A terminal, a JSON stream, an HTTP response and a chat draw the same events.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias

from ragvault.model.retrieval import Hit, Retrieval


class AbstainReason(StrEnum):
    """Why there is no answer; the names are those of the JSON."""

    NO_RELEVANT_CONTEXT = "no_relevant_context"
    INSUFFICIENT_INFORMATION = "insufficient_information"
    AMBIGUOUS_QUESTION = "ambiguous_question"


class Band(StrEnum):
    """Bands of the confidence: at least 0.8, 0.6, 0.4, or below."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    VERY_LOW = "very_low"

    @classmethod
    def of(cls, confidence: float) -> Band:
        if confidence >= 0.8:
            return cls.HIGH
        if confidence >= 0.6:
            return cls.MEDIUM
        return cls.LOW if confidence >= 0.4 else cls.VERY_LOW


def shown_confidence(confidence: float) -> str:
    """ "0.96" of 0.9557; but "0.39" of 0.397, which is in no higher band."""
    shown = round(confidence, 2)
    return f"{shown if Band.of(shown) is Band.of(confidence) else shown - 0.01:.2f}"


def sigmoid(logit: float) -> float:
    """1 / (1 + exp(−logit)), in 0..1 for any finite logit: of a confidence, and of a reranker."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    return math.exp(logit) / (1.0 + math.exp(logit))


@dataclass(frozen=True, slots=True)
class Judgement:
    """``confidence`` (0..1), made from ``features`` by the logistic of the name ``calibration``.
    ``topic`` (0..1): whether the notes treat of what is asked at all."""

    confidence: float
    topic: float
    features: Mapping[str, float]
    calibration: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The gate opened: these hits, best first, may be answered from. ``near``: the best of all
    that was found, kept or not, for who looks on where the answer isn't sure."""

    hits: tuple[Hit, ...]
    confidence: float
    caveats: tuple[str, ...] = ()
    near: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class Abstention:
    """An honest no. ``nearest`` is what came closest; ``searched`` what was looked through.

    With INSUFFICIENT_INFORMATION the place is likely known: ``passages`` are then what is shown of
    the first of ``nearest``, of the very first all of it.
    """

    LIKELY: ClassVar[str] = "This is most likely in"
    reason: AbstainReason
    confidence: float
    message: str
    nearest: tuple[Hit, ...] = ()
    searched: str = ""
    passages: tuple[str, ...] = ()

    @property
    def lead(self) -> str:
        """What a person reads before the first passage."""
        is_likely = Band.of(self.confidence) is not Band.VERY_LOW
        return self.LIKELY if is_likely else "Nothing here answers it for certain; nearest is"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: str  # "system" | "user" | "assistant"
    content: str


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """``model`` None: the server's best one. In tokens: ``num_ctx`` of prompt and answer together,
    ``max_tokens`` of the answer. With a JSON ``schema`` the answer is such an object, where the
    server keeps to it."""

    model: str | None
    num_ctx: int
    temperature: float
    max_tokens: int
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ChatUsage:
    """What the server counted; None where it didn't."""

    prompt_tokens: int | None
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that the server holds. ``context_length`` in tokens and ``parameters``, their
    number; None when it doesn't say."""

    name: str
    context_length: int | None
    parameters: int | None = None
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """``included``: the hits in the context, in order; ``left_out``: those that didn't fit."""

    messages: tuple[Message, ...]
    included: tuple[Hit, ...]
    left_out: tuple[Hit, ...]


class CitationStatus(StrEnum):
    """As the model wrote it, spelt right, put on the passage that holds the statement instead of
    another, put in where it wrote none, or taken out since it names nothing that was sent."""

    EXACT = "exact"
    REPAIRED = "repaired"
    MOVED = "moved"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation that the answer makes. ``position`` is its offset in the answer's text (for a
    removed one, where it stood)."""

    raw: str
    position: int
    status: CitationStatus
    chunk_id: str | None


@dataclass(frozen=True, slots=True)
class Reference:
    """A cited chunk, numbered in order of first citation. ``evidence``: the words of the note
    that hold what is said of it, whole; "" where the answer itself says them."""

    marker: int
    hit: Hit
    snippet: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """``text`` carries the citations as ``citations.style`` says: ``[File: …, Section: …]``, or
    ``[1]`` with the reference's marker.

    ``mode`` is "llm", "extractive", "model" (not from the notes) or "none" (small talk).
    ``also`` is what else would have been printed without the model, and beside quotes that aren't
    sure what else was found. ``statements``: all that a model said, shown or not.
    """

    text: str
    mode: str
    confidence: float
    references: tuple[Reference, ...] = ()
    citations: tuple[Citation, ...] = ()
    caveats: tuple[str, ...] = ()
    also: tuple[Reference, ...] = ()
    statements: tuple[Stated, ...] = ()

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The statements whose numbers, names or words no chunk holds, shown or not."""
        return tuple(one.text for one in self.statements if one.verdict == "unsupported")


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation. ``parts``: stretches of the note, word for word, in order; ``shown``: the same
    as people read it, with what names its subject before it.

    ``share``: the probability (0..1) that it holds the answer if anything here does; ``cosine``:
    of its best unit to the question, None without an embedder; ``is_line``: it stands with its like
    as a line of a list, in the order that they come in."""

    hit: Hit
    parts: tuple[str, ...]
    shown: str
    share: float = 0.0
    cosine: float | None = None
    is_line: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.parts)


@dataclass(frozen=True, slots=True)
class AskResult:
    """All of one ``ask``. ``terms`` are the question's, as the search compares them: by their stems
    in ``language``. ``id`` is its number in the history; None: it isn't kept. ``quotes`` are what
    was judged, printed or not, best first; ``judgement`` is None where no scores were judged."""

    question: str
    outcome: Answer | Abstention
    retrieval: Retrieval | None
    model: str | None
    llm_ms: float | None
    total_ms: float
    usage: ChatUsage
    notices: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    judgement: Judgement | None = None
    terms: tuple[str, ...] = ()
    language: str = "en"
    id: int | None = None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An answer as it is kept. ``asked_at`` in seconds since 1970. ``document`` is what
    ``ask --json`` prints, with the whole text of each passage (``passage``). ``turn`` counts the
    answers of a ``session`` from 1; it and ``id`` are given by the history."""

    asked_at: float
    document: Mapping[str, Any]
    session: str | None = None
    id: int = 0
    turn: int | None = None


# --------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The search is over. ``hits``: those that may be answered from, best first; none where the
    answer is an abstention or small talk. ``searched_for``: the question as the conversation made
    it whole; "" where it stood alone."""

    retrieval: Retrieval
    hits: tuple[Hit, ...]
    searched_for: str = ""


@dataclass(frozen=True, slots=True)
class Cited:
    """A reference gets its first citation, in the Token that follows.

    ``marker`` counts references from 1, ``text`` is the citation as the answer's text holds it,
    ``position`` its offset there.
    """

    marker: int
    hit: Hit
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer's text, settled, to be shown as it is; all of them make up
    ``Answer.text``. ``mode`` is that of the answer, "extractive" in one piece."""

    text: str
    mode: str = "llm"


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement of the model has been held against the notes. ``verdict``: "supported", "partly"
    (in other words), "unsupported", "uncited" (it claims nothing) or "admission" (that it doesn't
    know); ``is_shown``: it is in the answer's text; ``cited``: the chunks that hold it."""

    text: str
    verdict: str
    is_shown: bool
    cited: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Drafted:
    """All that the model has written and that hasn't been checked yet, in place of the Drafted
    before: what is shown of it may have to go again."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The end."""

    result: AskResult


Written: TypeAlias = Cited | Token | Stated | Drafted
AskEvent: TypeAlias = Retrieved | Written | Done
