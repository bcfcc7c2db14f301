"""From evidence to an answer with citations, or to an honest no, as a generator of events.

1. Without a chat model the extractive answer is given: step 6.
2. The prompt is packed to the model's context length, which the server is asked for; chunks
   beside the evidence's fill what is left.
3. The draft streams through ``CitationStream``: shown from its first held citation on.
4. A draft that cites nothing valid, and admits no uncertainty, is asked for once more with the
   firmer instruction; what admits it, and holds nothing else, is an abstention that points at
   the likeliest passages (``pointed``).
5. What remains is the answer. Its confidence is the gate's, less half of it times the share of
   statements that no cited chunk holds; those are listed.
6. Otherwise, or when the server fails before anything is shown, the extractive answer: passages
   quoted from the evidence, marked ``mode: extractive``, with a notice that says why; where they
   hardly answer, the passages are pointed at instead. With
   ``answer.fallback: none`` the error is raised instead, and a draft without a citation is an
   abstention.
A server that fails after something was shown leaves what is shown, marked as cut off. A caller
that closes the generator ends the model's stream.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TypeAlias

from ragvault.answering.check.support import coverage, is_verbatim
from ragvault.answering.check.uncertainty import admits
from ragvault.answering.citations.stream import CitationStream, CitedText
from ragvault.answering.citations.styles import FILE_SECTION, CitationStyle, Marks
from ragvault.answering.context import Neighbours
from ragvault.answering.pointed import point
from ragvault.answering.prompt import build_prompt
from ragvault.answering.quote.extract import Embed, Quote, extract
from ragvault.config.settings import AnswerSettings, OllamaSettings
from ragvault.errors import ModelError
from ragvault.model import (
    Abstention,
    Answer,
    ChatOptions,
    ChatUsage,
    Citation,
    CitationStatus,
    Cited,
    Detail,
    Evidence,
    Hit,
    Intent,
    Prompt,
    Reference,
    Token,
)
from ragvault.ports import ChatModel
from ragvault.text import sentence_spans, snippet, strip_controls

GREETING = "Hello! Ask me something about your notes."
THANKS = "You're welcome! Ask me anything else about your notes."
NO_USAGE = ChatUsage(None, None)
DEFAULT_CONTEXT = 4096  # tokens, for a server that doesn't say the model's context length


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A question with what may be answered from.

    ``neighbours`` are the chunks around the evidence's, which may be answered from too. ``chat``
    None: quote the notes. ``embed`` helps to choose the quotations; ``today`` is told to the
    model. Quotations of less than ``min_confidence`` aren't shown as an answer.
    """

    question: str
    evidence: Evidence
    settings: AnswerSettings
    ollama: OllamaSettings
    chat: ChatModel | None = None
    detail: Detail = Detail.NORMAL
    neighbours: Neighbours = field(default_factory=dict)
    embed: Embed | None = None
    today: date | None = None
    style: CitationStyle = FILE_SECTION
    min_confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What the attempts at the model cost together; None where nothing was counted."""

    ms: float | None = None
    usage: ChatUsage = NO_USAGE

    def plus(self, ms: float, usage: ChatUsage) -> Spent:
        def total(a: int | None, b: int | None) -> int | None:
            return b if a is None else a + (b or 0)

        prompt = total(self.usage.prompt_tokens, usage.prompt_tokens)
        completion = total(self.usage.completion_tokens, usage.completion_tokens)
        return Spent((self.ms or 0.0) + ms, ChatUsage(prompt, completion))


NOTHING = Spent()


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """One run of the answering stages. ``model`` is None when no model wrote the outcome;
    ``spent`` counts all attempts."""

    outcome: Answer | Abstention
    model: str | None = None
    spent: Spent = NOTHING
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A finished stream: what it holds, and what cut it off: an error, or that it said one thing
    over and over."""

    cited: CitedText
    spent: Spent
    error: ModelError | None = None
    is_looping: bool = False


AnswerEvents: TypeAlias = Generator[Cited | Token, None, AnswerRun]


def small_talk(intent: Intent) -> AnswerEvents:
    """The one line that a greeting or thanks is answered with; nothing is cited."""
    text = THANKS if intent is Intent.THANKS else GREETING
    yield Token(text, "none")
    return AnswerRun(Answer(text=text, mode="none", confidence=0.0))


def answer(request: AnswerRequest) -> AnswerEvents:
    """Answer from the evidence; the steps are in the module's docstring. The generator's value
    is the outcome with what it cost.

    Raises ModelError when ``settings.fallback`` is "none" and the model can't be had.
    """
    if request.chat is None:
        return (yield from _quoted(request))
    spent = NOTHING
    try:
        options = _options(request.chat, request.ollama)
        prompt = _prompt(request, options)
        if not prompt.included:
            no_room = (
                f"The context length of {options.model} ({options.num_ctx} tokens) has no room for "
                "the notes; quoted instead. Raise ollama.max_context or use another model."
            )
            return (yield from _quoted(request, (no_room,)))
        draft = yield from _drafted(request, prompt, options, spent)
        if not draft.cited.substantial and not draft.cited.uncertain:
            spent = draft.spent
            prompt = _prompt(request, options, firm=True)
            draft = yield from _drafted(request, prompt, options, spent)
    except ModelError as error:
        if request.settings.fallback == "none":
            raise
        return (yield from _quoted(request, (_notice(error),), spent))
    return (yield from _concluded(request, draft, prompt))


def _options(chat: ChatModel, ollama: OllamaSettings) -> ChatOptions:
    known = chat.info(ollama.model).context_length or DEFAULT_CONTEXT
    window = min(known, ollama.max_context)
    return ChatOptions(
        model=ollama.model,
        num_ctx=window,
        temperature=ollama.temperature,
        max_tokens=min(ollama.max_tokens, max(16, window // 3)),
    )


def _prompt(request: AnswerRequest, options: ChatOptions, *, firm: bool = False) -> Prompt:
    return build_prompt(
        request.question,
        request.evidence.hits,
        settings=request.settings,
        context_tokens=options.num_ctx,
        answer_tokens=options.max_tokens,
        detail=request.detail,
        firm=firm,
        today=request.today,
        neighbours=request.neighbours,
        style=request.style,
    )


def _drafted(
    request: AnswerRequest, prompt: Prompt, options: ChatOptions, spent: Spent
) -> Generator[Cited | Token, None, _Draft]:
    """Ask the model and show what may be shown. A failure after something was shown is kept
    beside it; else it is raised."""
    assert request.chat is not None
    stream = CitationStream(prompt.included, request.style)
    started = time.perf_counter()
    error: ModelError | None = None
    with request.chat.chat(prompt.messages, options) as tokens:
        try:
            for token in tokens:
                yield from stream.feed(token)
                if stream.is_looping:
                    break
            yield from stream.close(cut_off=stream.is_looping)
        except ModelError as failure:
            if not stream.has_shown:
                raise
            error = failure
            yield from stream.close(cut_off=True)
        usage = tokens.usage
    spent = spent.plus((time.perf_counter() - started) * 1000, usage)
    return _Draft(stream.result(), spent, error, stream.is_looping)


def _concluded(request: AnswerRequest, draft: _Draft, prompt: Prompt) -> AnswerEvents:
    """The last attempt's draft as the answer, as an abstention, or replaced by quotations."""
    notices: tuple[str, ...] = ()
    if count := len(prompt.left_out):
        noun = "passage" if count == 1 else "passages"
        notices = (f"{count} {noun} did not fit into the model's context and were left out.",)
    model = request.ollama.model
    if draft.cited.substantial:
        if draft.error is not None:
            notices = (*notices, _notice(draft.error))
        return AnswerRun(_written(draft, request.evidence), model, draft.spent, notices)
    if draft.cited.uncertain or request.settings.fallback == "none":
        return AnswerRun(_pointed(request), model, draft.spent, notices)
    why = "The model cited none of the notes, so its text is not shown; quoted instead."
    return (yield from _quoted(request, (*notices, why), draft.spent))


def _written(draft: _Draft, evidence: Evidence) -> Answer:
    """The draft with its references, its caveats and what of the confidence remains."""
    text = draft.cited
    claims = [s for s in text.statements if not s.is_uncertain]
    wrong = text.unsupported
    share = len(wrong) / len(claims) if claims else 0.0
    caveats = list(evidence.caveats)
    if text.uncertain or any(
        admits(s.text) and not is_verbatim(s.text, s.cited) for s in text.statements
    ):
        caveats.append("The notes answer only a part of the question.")
    if wrong:
        verb = "is" if len(wrong) == 1 else "are"
        caveats.append(
            f"{len(wrong)} of {len(claims)} statements {verb} not held by the notes cited; "
            "check them."
        )
    if draft.is_looping:
        caveats.append("The model began to repeat itself; its answer ends there.")
    if draft.error is not None:
        caveats.append("The answer was cut off.")
    return Answer(
        text=text.text,
        mode="llm",
        confidence=evidence.confidence * (1 - 0.5 * share),
        references=_references(text),
        citations=text.citations,
        unsupported=tuple(s.text for s in wrong),
        caveats=tuple(caveats),
    )


def _quoted(
    request: AnswerRequest, notices: tuple[str, ...] = (), spent: Spent = NOTHING
) -> AnswerEvents:
    """The extractive answer, shown at once."""
    beside = (hit for found in request.neighbours.values() for hit in found)
    hits = (*request.evidence.hits, *beside)
    quotes = extract(request.question, hits, detail=request.detail, embed=request.embed)
    if not quotes or request.evidence.confidence < request.min_confidence:
        return AnswerRun(_pointed(request), None, spent, notices)
    said = compose(quotes, request.evidence, request.style)
    for reference in said.references:
        first = next(c for c in said.citations if c.chunk_id == reference.hit.chunk.id)
        yield Cited(reference.marker, reference.hit, first.raw, first.position)
    yield Token(said.text, said.mode)
    return AnswerRun(said, None, spent, notices)


def compose(
    quotes: Sequence[Quote], evidence: Evidence, style: CitationStyle = FILE_SECTION
) -> Answer:
    """The extractive answer: each passage with its citation, as a paragraph of its own."""
    text = ""
    marks = Marks(style)
    citations: list[Citation] = []
    best: dict[str, tuple[Hit, str]] = {}
    for quote in quotes:
        mark = marks.text(quote.hit)
        body = strip_controls(quote.text).strip("\n")
        text += ("\n\n" if text else "") + body + ("\n" if quote.kind in ("code", "row") else " ")
        citations.append(Citation(mark, len(text), CitationStatus.EXACT, quote.hit.chunk.id))
        text += mark
        best.setdefault(quote.hit.chunk.id, (quote.hit, body))
    references = tuple(
        Reference(marker, hit, snippet(body)) for marker, (hit, body) in enumerate(best.values(), 1)
    )
    return Answer(
        text=text,
        mode="extractive",
        confidence=evidence.confidence,
        references=references,
        citations=tuple(citations),
        caveats=evidence.caveats,
    )


def _references(text: CitedText) -> tuple[Reference, ...]:
    """Numbered in order of first citation, each with its chunk's text from the sentence on that
    best holds what is said of it first."""
    references: list[Reference] = []
    for marker, hit in enumerate(text.cited, 1):
        claim = next((s.text for s in text.statements if hit in s.cited), "")
        note = hit.chunk.text
        spans = sentence_spans(note) if claim else []

        def closeness(span: tuple[int, int], claim: str = claim, note: str = note) -> float:
            sentence = note[slice(*span)]
            return coverage(claim, sentence) + 0.5 * coverage(sentence, claim)

        start, _ = max(spans, key=closeness, default=(0, 0))
        references.append(Reference(marker, hit, snippet(note[start:])))
    return tuple(references)


def _pointed(request: AnswerRequest) -> Abstention:
    return point(request.evidence, request.neighbours, request.evidence.confidence)


def _notice(error: ModelError) -> str:
    return f"{error.message.rstrip('.')}. {error.hint}".strip()


__all__ = ["AnswerRequest", "AnswerRun", "answer", "compose", "small_talk"]
