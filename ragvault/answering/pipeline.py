"""From evidence to an answer with citations, or to an honest no, as a generator of events.

1. Without a chat model the extractive answer is given: step 5.
2. The prompt is packed to the model's context length, which the server is asked for; chunks
   beside the evidence's fill what is left. A small model is only asked to answer.
3. The draft streams through ``CitationStream``, which gives each statement the citation of the
   chunk that holds it and strikes what none holds; shown from the first held statement on.
4. What remains is the answer, with the notes' own words that each source holds, and whatever
   would have been printed without the model and isn't among them. Its confidence is the gate's,
   less half of it times the share of statements that no chunk holds.
5. Otherwise, or when the server fails before anything is shown, the extractive answer: passages
   quoted from the evidence, marked ``mode: extractive``, with a caveat or notice that says why. A
   model that finds no answer is one voice: it takes away nothing that was found without it. With
   ``answer.fallback: none`` the error is raised instead, and a draft that nothing holds is an
   abstention.
6. Where the passages hardly answer, they are pointed at (``page``). A small model isn't asked
   then, nor any where they don't answer at all; what a larger one says isn't shown, but what it
   rests on stands first: there a model that lies would be believed as readily as one that doesn't.
A server that fails after something was shown leaves what is shown, marked as cut off. A caller
that closes the generator ends the model's stream.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

from ragvault.answering.page import UNLIKELY, AnswerRequest, beside, point, quoted, written
from ragvault.answering.prompt import alone_messages, build_prompt
from ragvault.config.settings import OllamaSettings
from ragvault.errors import ModelError, ModelServerError, NoModelServerError
from ragvault.model import (
    Abstention,
    Answer,
    ChatOptions,
    ChatUsage,
    Cited,
    Drafted,
    Intent,
    ModelInfo,
    Prompt,
    Token,
    Turn,
    Written,
)
from ragvault.ports import ChatModel
from ragvault.text import strip_controls

if TYPE_CHECKING:
    from ragvault.answering.citations.stream import CitedText

GREETING = "Hello! Ask me something about your notes."
THANKS = "You're welcome! Ask me anything else about your notes."
NO_USAGE = ChatUsage(None, None)
NOT_FROM_NOTES = "Not from your notes: the model said this by itself, and nothing was checked."
NO_ANSWER = "The model found no answer in these passages."
# Parameters: a smaller one, or one that doesn't say, is only asked to answer.
SMALL_MODEL = 4_000_000_000
DEFAULT_CONTEXT = 4096  # tokens, for a server that doesn't say the model's context length


@dataclass(frozen=True, slots=True)
class Spent:
    """What the model cost; None where nothing was counted."""

    ms: float | None = None
    usage: ChatUsage = NO_USAGE


NOTHING = Spent()


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """One run of the answering stages. ``model`` is None when no model wrote the outcome;
    ``spent`` is what was spent on one, too, whose draft isn't shown."""

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


_START_OR_ASK_NOTES = "Start Ollama with `ollama serve`, or ask your notes: without --no-rag."
AnswerEvents: TypeAlias = Generator[Written, None, AnswerRun]


def small_talk(intent: Intent) -> AnswerEvents:
    """The one line that a greeting or thanks is answered with; nothing is cited."""
    text = THANKS if intent is Intent.THANKS else GREETING
    yield Token(text, "none")
    return AnswerRun(Answer(text=text, mode="none", confidence=0.0))


def alone(
    question: str, chat: ChatModel, ollama: OllamaSettings, earlier: Sequence[Turn], today: date
) -> AnswerEvents:
    """What the model says of itself, with no note before it, marked so. Raises ModelError."""
    try:
        info = chat.info(ollama.model)
    except NoModelServerError as error:
        raise NoModelServerError(error.message, _START_OR_ASK_NOTES) from error
    started = time.perf_counter()
    text = ""
    with chat.chat(alone_messages(question, earlier, today), _options(info, ollama)) as tokens:
        for token in tokens:
            piece = strip_controls(token if text else token.lstrip())
            text += piece
            yield Token(piece, "model")
        usage = tokens.usage
    if not text.strip():
        raise ModelServerError(f"{info.name} wrote nothing.", "Ask again, or use another model.")
    spent = Spent((time.perf_counter() - started) * 1000, usage)
    return AnswerRun(Answer(text, "model", 0.0, caveats=(NOT_FROM_NOTES,)), info.name, spent)


def answer(request: AnswerRequest) -> AnswerEvents:
    """Answer from the evidence; the steps are in the module's docstring. The generator's value
    is the outcome with what it cost.

    Raises ModelError when ``settings.fallback`` is "none" and the model can't be had.
    """
    hopeless = request.is_pointed and request.evidence.confidence < UNLIKELY
    if request.chat is None or hopeless:
        return (yield from _quoted(request))
    try:
        info = request.chat.info(request.ollama.model)
        is_small = (info.parameters or 0) < SMALL_MODEL
        if is_small and request.is_pointed:
            return (yield from _quoted(request))
        options = _options(info, request.ollama)
        prompt = _prompt(request, options, is_small=is_small)
        if not prompt.included:
            no_room = (
                f"The context length of {info.name} ({options.num_ctx} tokens) has no room for "
                "the notes; quoted instead. Raise ollama.max_context or use another model."
            )
            return (yield from _quoted(request, notices=(no_room,)))
        draft = yield from _drafted(request, prompt, options)
    except ModelError as error:
        if request.settings.fallback == "none":
            raise
        is_usual = isinstance(error, NoModelServerError) and not request.ollama.is_chosen
        return (yield from _quoted(request, notices=() if is_usual else (_notice(error),)))
    return (yield from _concluded(request, draft, prompt, info.name))


def _options(info: ModelInfo, ollama: OllamaSettings) -> ChatOptions:
    window = min(info.context_length or DEFAULT_CONTEXT, ollama.max_context)
    return ChatOptions(
        model=info.name,
        num_ctx=window,
        temperature=ollama.temperature,
        max_tokens=min(ollama.max_tokens, max(16, window // 3)),
    )


def _prompt(request: AnswerRequest, options: ChatOptions, *, is_small: bool) -> Prompt:
    """Of the passages found, and of those that would be quoted without the model."""
    citing = request.settings.citing
    quoted_of = (quote.hit for quote in request.quotes if quote.hit.is_ranked)
    passages = (*request.evidence.hits, *quoted_of)
    hits = tuple({hit.chunk.id: hit for hit in passages}.values())
    model_cites = citing == "model" or (citing == "auto" and not is_small)
    return build_prompt(request, hits, options, model_cites=model_cites)


def _drafted(
    request: AnswerRequest, prompt: Prompt, options: ChatOptions
) -> Generator[Written, None, _Draft]:
    """Ask the model and show what may be shown. A failure after something was shown is kept
    beside it; else it is raised."""
    from ragvault.answering.citations.stream import CitationStream
    from ragvault.answering.citations.styles import UNSUPPORTED

    assert request.chat is not None
    stream = CitationStream(
        prompt.included,
        request.style,
        request.question,
        strike=request.settings.unsupported == "drop",
        embed=request.embed,
        doubt=UNSUPPORTED if request.settings.unsupported == "mark" else "",
    )
    started = time.perf_counter()
    error: ModelError | None = None
    with request.chat.chat(prompt.messages, options) as tokens:
        try:
            for token in tokens:
                settled = stream.feed(token)
                if not request.is_pointed:
                    yield from settled
                    yield Drafted(stream.draft)
                if stream.is_looping:
                    break
            settled = stream.close(cut_off=stream.is_looping)
        except ModelError as failure:
            if not stream.has_shown:
                raise
            error = failure
            settled = stream.close(cut_off=True)
        if not request.is_pointed:
            yield from settled
        usage = tokens.usage
    spent = Spent((time.perf_counter() - started) * 1000, usage)
    return _Draft(stream.result(), spent, error, stream.is_looping)


def _concluded(request: AnswerRequest, draft: _Draft, prompt: Prompt, model: str) -> AnswerEvents:
    """The draft as the answer, or replaced by quotations."""
    notices: tuple[str, ...] = ()
    if count := len(prompt.left_out):
        noun = "passage" if count == 1 else "passages"
        notices = (f"{count} {noun} did not fit into the model's context and were left out.",)
    if request.is_pointed:
        held = draft.cited.cited[:1]
        notices += (f"{model} finds it in the first of these places.",) * len(held)
        if draft.error is not None:
            notices += (_notice(draft.error),)
        return AnswerRun(point(request, *held), None, draft.spent, notices)
    if draft.cited.text:
        if draft.error is not None:
            notices = (*notices, _notice(draft.error))
        said = written(request, draft.cited)
        ends = ["The model began to repeat itself; its answer ends there."] * draft.is_looping
        ends += ["The answer was cut off."] * (draft.error is not None)
        said = replace(said, caveats=(*said.caveats, *ends))
        return AnswerRun(said, model, draft.spent, notices)
    if request.settings.fallback == "none":
        return AnswerRun(point(request), model, draft.spent, notices)
    if draft.cited.uncertain:
        return (yield from _quoted(request, (NO_ANSWER,), notices, draft))
    why = "Nothing that the model wrote stands in the notes, so it is not shown; quoted instead."
    return (yield from _quoted(request, (), (*notices, why), draft))


def _quoted(
    request: AnswerRequest,
    caveats: tuple[str, ...] = (),
    notices: tuple[str, ...] = (),
    draft: _Draft | None = None,
) -> AnswerEvents:
    """The extractive answer, shown at once; in place of a ``draft``, with what was in that."""
    spent = draft.spent if draft else NOTHING
    if not request.quotes or request.is_pointed:
        return AnswerRun(point(request), None, spent, notices)
    said = quoted(request)
    if said.caveats:  # not sure: who reads on finds what else there is
        said = replace(said, also=beside(request))
    said = replace(said, caveats=(*said.caveats, *caveats))
    if draft is not None:
        said = replace(said, statements=draft.cited.checked)
    for reference in said.references:
        first = next(c for c in said.citations if c.chunk_id == reference.hit.chunk.id)
        yield Cited(reference.marker, reference.hit, first.raw, first.position)
    yield Token(said.text, said.mode)
    return AnswerRun(said, None, spent, notices)


def _notice(error: ModelError) -> str:
    return f"{error.message.rstrip('.')}. {error.hint}".strip()
