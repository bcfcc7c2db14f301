"""Chat with a model that Ollama serves, through Ollama's own client library; what a reasoning model
thinks is kept out, however it is cut up."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from ragvault.adapters.models import encodable
from ragvault.adapters.ollama.client import (
    CHARS_PER_TOKEN,
    PARTS_PER_TOKEN,
    SPARE_PARTS,
    OllamaServer,
    ReplyTooLongError,
    context_length,
)
from ragvault.errors import ModelError, ModelMissingError, ModelServerError, ModelStreamError
from ragvault.model import ChatOptions, ChatUsage, Message, ModelInfo

if TYPE_CHECKING:
    import ollama

    from ragvault.config.settings import OllamaSettings

_LISTED = 8  # models named in an error
_LAPTOP_BYTES = 10_000_000_000  # of a model's file: what 16 GB of memory can run beside the rest
_MOST_TOKENS = 2**31


class OllamaChat:
    """The server that the section ``ollama`` names. Connects at the first call, and waits for it,
    also for a whole answer, no longer than ``max_wait_s``. With ``think`` a reasoning model may
    reason first (which is slower, is never shown, and eats into ``max_tokens``); else it is asked
    not to.
    """

    def __init__(self, settings: OllamaSettings, max_wait_s: float = math.inf) -> None:
        self._server = OllamaServer(settings, max_wait_s)
        self.host, self.route = self._server.url, self._server.route
        self.max_wait_s = max_wait_s
        self._keep_alive = settings.keep_alive
        self._think = settings.think
        self._seed = {} if settings.seed is None else {"seed": settings.seed}
        self._infos: dict[str | None, ModelInfo] = {}

    def version(self) -> str:
        try:
            return encodable(str(self._server.get_json("/api/version")["version"]))[:80]
        except Exception as error:
            raise self._server.explain(error) from error

    def models(self) -> list[str]:
        """Names with their tags, sorted. Raises ModelServerError."""
        try:
            listed = self._server.client.list().models
        except Exception as error:
            raise self._server.explain(error) from error
        return sorted(encodable(item.model) for item in listed if item.model)

    def info(self, model: str | None) -> ModelInfo:
        """Of the model, or of the server's best one. Remembered for the life of this object."""
        if model not in self._infos:
            info = self._best() if model is None else self._shown(model)
            self._infos[model] = self._infos[info.name] = info
        return self._infos[model]

    def _shown(self, model: str) -> ModelInfo:
        if not model.strip():  # the client library would refuse it, in pydantic's words
            raise ModelMissingError(
                "No chat model is named.",
                "Name one as `ollama.model` in the config, or with `--model`.",
            )
        try:
            reply = self._server.client.show(model)
        except Exception as error:
            raise self.explain(error, model) from error
        about = reply.modelinfo or {}
        count = about.get("general.parameter_count")
        return ModelInfo(
            name=model,
            context_length=context_length(about),
            parameters=count if isinstance(count, int) else None,
            capabilities=tuple(str(item) for item in reply.capabilities or ()),
        )

    def _best(self) -> ModelInfo:
        """The chat model to write with where none is named: one that is in memory now, else the
        largest that a laptop can run, else the smallest; the newest of equals."""
        try:
            listed = list(self._server.client.list().models)
            loaded = {item.model for item in self._server.client.ps().models}
        except Exception as error:
            raise self._server.explain(error) from error

        def rank(item: ollama.ListResponse.Model) -> tuple[bool, bool, int, float]:
            size = int(item.size or 0)
            fits = size <= _LAPTOP_BYTES
            when = item.modified_at.timestamp() if item.modified_at else 0.0
            return item.model in loaded, fits, size if fits else -size, when

        for item in sorted(listed, key=rank, reverse=True):
            info = self._shown(item.model.removesuffix(":latest")) if item.model else None
            if info is not None and (not info.capabilities or "completion" in info.capabilities):
                return info
        raise ModelMissingError(
            f"Ollama at {self.host} has no model that writes.",
            "Pull one, such as `ollama pull llama3.2`.",
        )

    def chat(self, messages: Sequence[Message], options: ChatOptions) -> OllamaStream:
        """The request goes out when the stream is iterated, which raises ModelMissingError,
        ModelServerError, or, once text has come, ModelStreamError."""
        return OllamaStream(self, messages, options)

    def complete(self, messages: Sequence[Message], options: ChatOptions) -> str:
        """Raises as ``chat`` does."""
        with self.chat(messages, options) as stream:
            return "".join(stream)

    def close(self) -> None:
        self._server.close()

    def request(
        self, messages: Sequence[Message], options: ChatOptions
    ) -> Generator[ollama.ChatResponse]:
        """The server's parts."""
        # A model that can't think refuses `think: true`; all take `think: false`.
        think = self._think and "thinking" in self.info(options.model).capabilities
        model = (options.model or "").strip() or self.info(options.model).name
        yield from self._server.client.chat(
            model=model,
            messages=[{"role": item.role, "content": encodable(item.content)} for item in messages],
            stream=True,
            think=think,
            format=dict(options.schema) if options.schema else None,
            options={
                "num_ctx": options.num_ctx,
                "temperature": options.temperature,
                "num_predict": options.max_tokens,
                **self._seed,
            },
            keep_alive=self._keep_alive,
        )

    def explain(self, error: Exception, model: str) -> ModelError:
        """ragvault's error; for a missing model, with the names of those that are there."""
        explained = self._server.explain(error, model)
        with suppress(ModelError):  # the server may go away in between: the first error holds
            if isinstance(explained, ModelMissingError) and (names := self.models()):
                more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
                explained.hint = f"{explained.hint[:-1]}, or use one it has: "
                explained.hint += f"{', '.join(names[:_LISTED])}{more}."
        return explained


class OllamaStream:
    """One answer, token by token; iterate it once. Leaving it early ends the generation too."""

    def __init__(self, chat: OllamaChat, messages: Sequence[Message], options: ChatOptions) -> None:
        self._chat = chat
        self._model = options.model or ""
        self._most_chars = options.max_tokens * CHARS_PER_TOKEN
        self._most_parts = options.max_tokens * PARTS_PER_TOKEN + SPARE_PARTS
        self.usage = ChatUsage(prompt_tokens=None, completion_tokens=None)
        self._tokens = self._read(messages, options)

    def __iter__(self) -> Iterator[str]:
        return self._tokens

    def __enter__(self) -> OllamaStream:
        return self

    def __exit__(self, *failure: object) -> None:
        self._tokens.close()

    def _read(self, messages: Sequence[Message], options: ChatOptions) -> Generator[str]:
        """Visible text, reasoning (``message.thinking``) left out. Raises ModelStreamError once
        some has come."""
        has_shown = done = False
        visible = ThinkingFilter()
        count = chars = 0
        ends = time.monotonic() + self._chat.max_wait_s
        try:
            try:
                # Closing them closes the connection, on which Ollama stops.
                with closing(self._chat.request(messages, options)) as parts:
                    for part in parts:
                        text = encodable(part.message.content or "")
                        if time.monotonic() > ends:
                            raise TimeoutError
                        count += 1
                        chars += len(text) + len(part.message.thinking or "")
                        if count > self._most_parts or chars > self._most_chars:
                            raise ReplyTooLongError("goes on beyond the length that was asked for")
                        if part.done:
                            done = True
                            self.usage = ChatUsage(
                                prompt_tokens=_counted(part.prompt_eval_count),
                                completion_tokens=_counted(part.eval_count),
                            )
                        if shown := visible.feed(text):
                            has_shown = True
                            yield shown
            except ModelError:
                raise
            except Exception as error:
                raise self._chat.explain(error, self._model) from error
            if not done:
                raise ModelServerError(
                    f"Ollama at {self._chat.host} ended its answer in the middle.",
                    "Look at Ollama's log, and run the command again.",
                )
            if rest := visible.finish():
                yield rest
        except ModelServerError as error:
            if not has_shown:
                raise
            raise ModelStreamError(error.message, error.hint) from error


def _counted(tokens: int | None) -> int | None:
    """A count that can be one."""
    return tokens if tokens is not None and 0 <= tokens < _MOST_TOKENS else None


_TAG = re.compile(r"(`?</?think(?:ing)?>)", re.IGNORECASE)


class ThinkingFilter:
    """Feed it tokens, print what it returns; call ``finish`` at the end for what it held back.

    A block that is never closed is dropped to its end. A closing tag without an opening one is
    dropped. Tags in backticks are text. White space after a block that began the output goes too.
    """

    def __init__(self) -> None:
        self._held = ""
        self._is_inside = False
        self._is_after = False  # a block, or a closing tag
        self._has_shown = False  # more than white space

    def feed(self, text: str) -> str:
        self._held += text
        return self._drain(_settled(self._held))

    def finish(self) -> str:
        return self._drain(len(self._held))

    def _drain(self, count: int) -> str:
        """What is visible of the first ``count`` characters that are held."""
        text, self._held = self._held[:count], self._held[count:]
        shown = []
        for part in _TAG.split(text):
            if part.lower() in ("<think>", "<thinking>"):
                self._is_inside = True
            elif part.lower() in ("</think>", "</thinking>"):
                self._is_inside, self._is_after = False, True
            elif not self._is_inside:
                shown.append(part.lstrip() if self._is_after and not self._has_shown else part)
                self._has_shown = self._has_shown or bool(part.strip())
        return "".join(shown)


def _settled(text: str) -> int:
    """How many characters can't become part of a tag, or of the backtick before one."""
    start = text.rfind("<")
    end = text[start:].lower() if start >= 0 else "no tag"
    if any(tag.startswith(end) for tag in ("<thinking>", "</thinking>")):
        return start - (text[start - 1 : start] == "`")
    return len(text) - text.endswith("`")
