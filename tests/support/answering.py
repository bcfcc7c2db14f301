"""Hits and a scripted chat model for the tests of answering."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Sequence
from datetime import date
from typing import Any

from ragvault.answering.check.support import Embed
from ragvault.answering.page import AnswerRequest
from ragvault.answering.pipeline import AnswerRun
from ragvault.answering.prompt import build_prompt
from ragvault.answering.quote.extract import read
from ragvault.config.settings import AnswerSettings, OllamaSettings
from ragvault.errors import RagvaultError
from ragvault.model import (
    ChatOptions,
    ChatUsage,
    Chunk,
    Cited,
    Detail,
    Evidence,
    Hit,
    Message,
    ModelInfo,
    NoteInfo,
    Prompt,
    Quote,
    Scores,
    StoredChunk,
    Token,
)


def extract(
    question: str,
    hits: Sequence[Hit],
    *,
    detail: Detail = Detail.NORMAL,
    embed: Embed | None = None,
    today: date | None = None,
) -> list[Quote]:
    """What answers best of the passages."""
    return read(question, hits, embed=embed, today=today).quotes(detail)


def hit(
    rel_path: str,
    section: str = "",
    text: str = "",
    *,
    rank: int = 1,
    vault: str = "personal",
    title: str | None = None,
    date: float = 1_709_251_200.0,  # 2024-03-01
    mtime: float | None = None,
    ordinal: int = 0,
    first_line: int = 1,
) -> Hit:
    """A kept hit; ``section`` is the heading path joined by " > ". Without ``mtime`` its date is
    its file's."""
    path = tuple(section.split(" > ")) if section else ()
    digest = hashlib.sha256(f"{vault}/{rel_path}/{section}/{ordinal}/{text}".encode()).hexdigest()
    chunk = Chunk(
        digest[:32],
        vault,
        rel_path,
        path,
        ordinal,
        0,
        first_line,
        first_line + text.count("\n"),
        text,
        text,
        digest,
    )
    name = rel_path.rsplit("/", 1)[-1].removesuffix(".md") if title is None else title
    folder = rel_path.rsplit("/", 1)[0] if "/" in rel_path else ""
    note = NoteInfo(vault, rel_path, name, folder, (), (), date, date if mtime is None else mtime)
    scores = Scores(0.8, 0.8, None, 1.0, max(0.0, 0.9 - 0.05 * rank))
    return Hit(rank, StoredChunk(chunk, note), scores)


def evidence(*hits: Hit, confidence: float = 0.8) -> Evidence:
    return Evidence(tuple(hits), confidence)


def asked(question: str, found: Evidence, **more: Any) -> AnswerRequest:
    """A question with what may be answered from."""
    settings = {"settings": AnswerSettings(), "ollama": OllamaSettings(), **more}
    return AnswerRequest(question, found, **settings)


def prompt_for(
    question: str,
    hits: Sequence[Hit],
    *,
    window: int = 4096,
    answer_tokens: int = 500,
    model_cites: bool = True,
    **more: Any,
) -> Prompt:
    options = ChatOptions(None, window, 0.0, answer_tokens)
    request = asked(question, evidence(*hits), **more)
    return build_prompt(request, hits, options, model_cites=model_cites)


def finished(events: Generator[Cited | Token, None, AnswerRun]) -> tuple[AnswerRun, str]:
    """The run at the end of the events, and the text that was shown on the way."""
    shown = ""
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            return end.value, shown
        shown += event.text if isinstance(event, Token) else ""


class ScriptedStream:
    def __init__(self, tokens: Sequence[str], error: RagvaultError | None) -> None:
        self._tokens, self._error = tokens, error
        self.usage = ChatUsage(None, None)
        self.is_closed = False

    def __iter__(self) -> Iterator[str]:
        for count, token in enumerate(self._tokens, 1):
            self.usage = ChatUsage(100, count)
            yield token
        if self._error is not None:
            raise self._error

    def __enter__(self) -> ScriptedStream:
        return self

    def __exit__(self, *failure: object) -> None:
        self.is_closed = True


class ScriptedChat:
    """Answers with the given drafts in turn; a RagvaultError among them is raised instead.

    A draft is a string, or a pair (string, error raised after its last token).
    """

    def __init__(
        self,
        *drafts: str | RagvaultError | tuple[str, RagvaultError],
        context_length: int | None = 4096,
        token_length: int = 3,
        parameters: int | None = 8_000_000_000,
    ) -> None:
        self._drafts = list(drafts)
        self._context_length = context_length
        self._token_length = token_length
        self._parameters = parameters
        self.streams: list[ScriptedStream] = []
        self.asked: list[tuple[tuple[Message, ...], ChatOptions]] = []

    def info(self, model: str | None) -> ModelInfo:
        return ModelInfo(model or "llama3.2", self._context_length, self._parameters)

    def chat(self, messages: Sequence[Message], options: ChatOptions) -> ScriptedStream:
        self.asked.append((tuple(messages), options))
        draft = self._drafts.pop(0)
        if isinstance(draft, RagvaultError):
            raise draft
        text, error = draft if isinstance(draft, tuple) else (draft, None)
        n = self._token_length
        self.streams.append(
            ScriptedStream([text[i : i + n] for i in range(0, len(text), n)], error)
        )
        return self.streams[-1]

    def complete(self, messages: Sequence[Message], options: ChatOptions) -> str:
        return "".join(self.chat(messages, options))
