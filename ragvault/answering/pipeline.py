"""From evidence to an answer with citations, or to an honest no.

1. Small talk (a greeting, thanks) gets its one line; nothing is cited.
2. An abstention of the gate passes through.
3. Without a chat model (``chat`` None) the extractive answer is given: step 8.
4. The prompt is packed to the model's context length, which the server is asked for; chunks
   beside the evidence's fill what is left.
5. The draft streams through ``CitationStream``: shown from its first held citation on.
6. A draft that cites nothing valid, and admits no uncertainty, is asked for once more with the
   firmer instruction; what admits it, and holds nothing else, is an abstention
   (insufficient_information).
7. What remains is the answer. Its confidence is the gate's, less half of it times the share of
   statements that no cited chunk holds; those are listed.
8. Otherwise, or when the server fails before anything is shown, the extractive answer: passages
   quoted from the evidence, marked ``mode: extractive``, with a notice that says why. With
   ``answer.fallback: none`` the error is raised instead, and a draft without a citation is an
   abstention.
A server that fails after something was shown leaves what is shown, marked as cut off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from ragvault.answering.check.support import coverage, is_verbatim
from ragvault.answering.check.uncertainty import INSUFFICIENT, admits
from ragvault.answering.citations.parse import canonical
from ragvault.answering.citations.stream import CitationStream, CitedText, Shown, Statement
from ragvault.answering.context import Neighbours
from ragvault.answering.prompt import build_prompt
from ragvault.answering.quote.extract import Embed, Quote, extract
from ragvault.config.settings import AnswerSettings, OllamaSettings
from ragvault.errors import ModelError
from ragvault.model import (
    AbstainReason,
    Abstention,
    Answer,
    ChatOptions,
    ChatUsage,
    Citation,
    CitationStatus,
    Detail,
    Evidence,
    GateOutcome,
    Hit,
    Intent,
    Prompt,
    Reference,
)
from ragvault.ports import ChatModel
from ragvault.text import sentence_spans, snippet, strip_controls

GREETING = "Hello! Ask me something about your notes."
THANKS = "You're welcome! Ask me anything else about your notes."
DEFAULT_CONTEXT = 4096  # tokens, for a server that doesn't say the model's context length
NO_USAGE = ChatUsage(None, None)

OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """One run of the answering stages. ``model`` is None when no model wrote the outcome;
    ``llm_ms`` and ``usage`` count all attempts. ``left_out`` are hits the prompt had no room
    for."""

    outcome: Answer | Abstention
    model: str | None = None
    llm_ms: float | None = None
    usage: ChatUsage = NO_USAGE
    notices: tuple[str, ...] = ()
    left_out: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A finished stream: what it holds, what it cost, and what cut it off: an error, or that it
    said one thing over and over."""

    cited: CitedText
    usage: ChatUsage
    ms: float
    error: ModelError | None = None
    looped: bool = False


def small_talk(intent: Intent) -> Answer:
    """The one line that a greeting or thanks is answered with."""
    text = THANKS if intent is Intent.THANKS else GREETING
    return Answer(text=text, mode="none", confidence=0.0)


def answer(
    question: str,
    gate_outcome: GateOutcome | None,
    *,
    chat: ChatModel | None,
    settings: AnswerSettings,
    ollama: OllamaSettings,
    detail: Detail = Detail.NORMAL,
    intent: Intent = Intent.QUESTION,
    embed: Embed | None = None,
    neighbours: Neighbours | None = None,
    on_text: OnText | None = None,
    today: date | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> AnswerRun:
    """Answer from the gate's outcome; the steps are in the module's docstring.

    ``gate_outcome`` None is for small talk, which has none. ``neighbours`` are the chunks around
    the evidence's, which may be answered from too. ``on_text`` gets the answer's text
    piece by piece, exactly what ``Answer.text`` holds in the end. Raises ModelError when
    ``settings.fallback`` is "none" and the model can't be had.
    """
    show = on_text or _show_nothing
    if intent in (Intent.GREETING, Intent.THANKS) or gate_outcome is None:
        said = small_talk(intent)
        show(said.text)
        return AnswerRun(said)
    if isinstance(gate_outcome, Abstention):
        return AnswerRun(gate_outcome)
    asker = _Asker(
        question,
        gate_outcome,
        settings,
        ollama,
        detail,
        embed,
        neighbours or {},
        show,
        today,
        clock,
    )
    if chat is None:
        return asker.quote(())
    return asker.ask(chat)


def _show_nothing(_: str) -> None:
    """For callers that want the answer only when it is whole."""


@dataclass(slots=True)
class _Asker:
    """One question on its way to the model. Collects what the attempts cost."""

    question: str
    evidence: Evidence
    settings: AnswerSettings
    ollama: OllamaSettings
    detail: Detail
    embed: Embed | None
    neighbours: Neighbours
    show: OnText
    today: date | None
    clock: Callable[[], float]
    usage: ChatUsage = NO_USAGE
    ms: float | None = None

    def ask(self, chat: ChatModel) -> AnswerRun:
        """Steps 4 to 8."""
        try:
            options = self._options(chat)
            prompt = self._prompt(options, firm=False)
            if not prompt.included:
                return self.quote((_no_room(options),), prompt)
            draft = self._draft(chat, prompt, options)
            if self._is_uncited(draft) and self.settings.retry_uncited:
                prompt = self._prompt(options, firm=True)
                draft = self._draft(chat, prompt, options)
        except ModelError as error:
            if self.settings.fallback == "none":
                raise
            return self.quote((_notice(error),))
        return self._conclude(draft, prompt)

    def _options(self, chat: ChatModel) -> ChatOptions:
        known = chat.info(self.ollama.model).context_length or DEFAULT_CONTEXT
        window = min(known, self.ollama.max_context)
        return ChatOptions(
            model=self.ollama.model,
            num_ctx=window,
            temperature=self.ollama.temperature,
            max_tokens=min(self.ollama.max_tokens, max(16, window // 3)),
        )

    def _prompt(self, options: ChatOptions, *, firm: bool) -> Prompt:
        return build_prompt(
            self.question,
            self.evidence.hits,
            settings=self.settings,
            context_tokens=options.num_ctx,
            answer_tokens=options.max_tokens,
            detail=self.detail,
            firm=firm,
            today=self.today,
            neighbours=self.neighbours,
        )

    def _draft(self, chat: ChatModel, prompt: Prompt, options: ChatOptions) -> _Draft:
        """Step 5. A failure after something was shown is kept beside it; else it is raised."""
        stream = CitationStream(prompt.included)
        started = self.clock()
        error: ModelError | None = None
        with chat.chat(prompt.messages, options) as tokens:
            try:
                for token in tokens:
                    self._emit(stream.feed(token))
                    if stream.is_looping:
                        break
                self._emit(stream.close(cut_off=stream.is_looping))
            except ModelError as failure:
                if not stream.has_shown:
                    raise
                error = failure
                self._emit(stream.close(cut_off=True))
            usage = tokens.usage
        self._count(usage, (self.clock() - started) * 1000)
        return _Draft(stream.result(), usage, self.ms or 0.0, error, stream.is_looping)

    def _emit(self, pieces: Sequence[Shown]) -> None:
        for piece in pieces:
            self.show(piece.text)

    def _count(self, usage: ChatUsage, ms: float) -> None:
        self.ms = (self.ms or 0.0) + ms
        self.usage = ChatUsage(
            _sum(self.usage.prompt_tokens, usage.prompt_tokens),
            _sum(self.usage.completion_tokens, usage.completion_tokens),
        )

    def _is_uncited(self, draft: _Draft) -> bool:
        return not draft.cited.substantial and not draft.cited.uncertain

    def _conclude(self, draft: _Draft, prompt: Prompt) -> AnswerRun:
        """Steps 6 to 8, after the last attempt."""
        notices = _left_out_notice(prompt)
        if draft.cited.substantial:
            if draft.error is not None:
                notices = (*notices, _notice(draft.error))
            return self._run(self._written(draft), prompt, notices)
        if draft.cited.uncertain or self.settings.fallback == "none":
            return self._run(_insufficient(self.evidence), prompt, notices)
        why = "The model cited none of the notes, so its text is not shown; quoted instead."
        return self.quote((*notices, why), prompt)

    def _run(
        self, outcome: Answer | Abstention, prompt: Prompt, notices: tuple[str, ...]
    ) -> AnswerRun:
        return AnswerRun(outcome, self.ollama.model, self.ms, self.usage, notices, prompt.left_out)

    def _written(self, draft: _Draft) -> Answer:
        """Step 7."""
        text = draft.cited
        claims = [s for s in text.statements if not s.is_uncertain]
        wrong = text.unsupported
        share = len(wrong) / len(claims) if claims else 0.0
        caveats = list(self.evidence.caveats)
        if text.uncertain or any(
            admits(s.text) and not is_verbatim(s.text, s.cited) for s in text.statements
        ):
            caveats.append("The notes answer only a part of the question.")
        if wrong:
            caveats.append(_unsupported_caveat(len(wrong), len(claims)))
        if draft.looped:
            caveats.append("The model began to repeat itself; its answer ends there.")
        if draft.error is not None:
            caveats.append("The answer was cut off.")
        return Answer(
            text=text.text,
            mode="llm",
            confidence=self.evidence.confidence * (1 - 0.5 * share),
            references=_references(text),
            citations=text.citations,
            unsupported=tuple(s.text for s in wrong),
            caveats=tuple(caveats),
        )

    def quote(self, notices: tuple[str, ...], prompt: Prompt | None = None) -> AnswerRun:
        """Step 8: the extractive answer, shown at once."""
        beside = (hit for found in self.neighbours.values() for hit in found)
        hits = (*self.evidence.hits, *beside)
        quotes = extract(self.question, hits, detail=self.detail, embed=self.embed)
        if not quotes:
            return AnswerRun(_insufficient(self.evidence), None, self.ms, self.usage, notices)
        said = compose(quotes, self.evidence)
        self.show(said.text)
        left_out = prompt.left_out if prompt else ()
        return AnswerRun(said, None, self.ms, self.usage, notices, left_out)


def compose(quotes: Sequence[Quote], evidence: Evidence) -> Answer:
    """The extractive answer: each passage with its citation, as a paragraph of its own."""
    text = ""
    citations: list[Citation] = []
    best: dict[str, tuple[Hit, str]] = {}
    for quote in quotes:
        mark = canonical(quote.hit)
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
    """Numbered in order of first citation, each with the sentences that hold what is said."""
    return tuple(
        Reference(marker, hit, _holding_snippet(hit, _first_claim(text.statements, hit)))
        for marker, hit in enumerate(text.cited, 1)
    )


def _first_claim(statements: Sequence[Statement], hit: Hit) -> str:
    return next((s.text for s in statements if hit in s.cited), "")


def _holding_snippet(hit: Hit, claim: str) -> str:
    """The chunk's text from the sentence on that holds the claim best."""
    text = hit.chunk.text
    spans = sentence_spans(text)
    if not claim or not spans:
        return snippet(text)
    start, _ = max(spans, key=lambda span: (_shared(claim, text[span[0] : span[1]]), -span[0]))
    return snippet(text[start:])


def _shared(claim: str, sentence: str) -> float:
    return coverage(claim, sentence) + 0.5 * coverage(sentence, claim)


def _insufficient(evidence: Evidence) -> Abstention:
    return Abstention(
        AbstainReason.INSUFFICIENT_INFORMATION,
        evidence.confidence,
        f"{INSUFFICIENT} in your notes to answer that.",
        nearest=evidence.hits,
    )


def _notice(error: ModelError) -> str:
    return f"{error.message.rstrip('.')}. {error.hint}".strip()


def _no_room(options: ChatOptions) -> str:
    return (
        f"The context length of {options.model} ({options.num_ctx} tokens) has no room for the "
        "notes; quoted instead. Raise ollama.max_context or use another model."
    )


def _left_out_notice(prompt: Prompt) -> tuple[str, ...]:
    count = len(prompt.left_out)
    if not count:
        return ()
    noun = "passage" if count == 1 else "passages"
    return (f"{count} {noun} did not fit into the model's context and were left out.",)


def _unsupported_caveat(wrong: int, claims: int) -> str:
    verb = "is" if wrong == 1 else "are"
    return f"{wrong} of {claims} statements {verb} not held by the notes cited; check them."


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a + (b or 0)


__all__ = ["AnswerRun", "answer", "compose", "small_talk"]
