"""What both Ollama adapters share: the server, and the one table of what can go wrong with it.

A server that never ends a reply, or sends a bomb, must not take the machine. Each limit is far
beyond what an honest server sends.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from ragvault.adapters.models import first_line
from ragvault.errors import (
    ConfigError,
    ModelError,
    ModelMissingError,
    ModelServerError,
    NoModelServerError,
)

if TYPE_CHECKING:
    import httpx
    import ollama

    from ragvault.config.settings import OllamaSettings

# An embedding reply is one line: 64 texts of 4,096 numbers of 22 characters are 6 MB.
MOST_BYTES = 64_000_000
MOST_LINE = 1_000_000  # bytes of one part of a streamed answer
WHOLE_ANSWER = 10  # times ``timeout_s``, for all of a reply
# A token is some four characters, a run of spaces up to a hundred; a part holds a token or more.
CHARS_PER_TOKEN = 40
PARTS_PER_TOKEN = 4
SPARE_PARTS = 200
DEFAULT_PORT = 11434
_CONNECT_TIMEOUT_S = 2.0  # a server on this machine or its network answers at once, or is not there
_SLOW = "Raise `ollama.{}` in the config, or use a smaller model."
_NOT_OLLAMA = "Check `ollama.host` in the config: it should be Ollama's own address."


class ReplyTooLongError(Exception):
    """A reply went beyond one of the limits; the words say which."""


def guard(response: httpx.Response, timeout_s: float) -> None:
    """httpx's hook for a response that begins: bounds what is read of it. Raises
    ReplyTooLongError for a compressed one, which was not asked for: what it swells to isn't
    known before it has."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        raise ReplyTooLongError(f"sent a reply packed as {coding[:20]}, unasked")
    is_streamed = response.request.url.path.endswith("/api/chat") and response.is_success
    response.stream = _bounded(response, MOST_LINE if is_streamed else MOST_BYTES, timeout_s)


def transport(timeout_s: float) -> httpx.HTTPTransport:
    """httpx's own, for a reply that never begins: "100 Continue" for ever keeps every timeout, as
    each line of it comes in time. Its connections are closed then."""
    import httpx

    class Bounded(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            def cut() -> None:
                with suppress(Exception):  # httpcore's word that something was on its way
                    self.close()

            timer = threading.Timer(WHOLE_ANSWER * timeout_s, cut)
            timer.daemon = True
            timer.start()
            try:
                return super().handle_request(request)
            finally:
                timer.cancel()

    return Bounded()


def _bounded(response: httpx.Response, most_line: int, timeout_s: float) -> httpx.SyncByteStream:
    import httpx

    inner = response.stream
    assert isinstance(inner, httpx.SyncByteStream)
    source: httpx.SyncByteStream = inner

    class Bounded(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            total = line = 0
            started = line_began = time.monotonic()
            for block in source:
                now = time.monotonic()
                total += len(block)
                newline = block.rfind(b"\n")
                line = line + len(block) if newline < 0 else len(block) - newline - 1
                if total > MOST_BYTES or line > most_line:
                    raise ReplyTooLongError(f"sent over {min(most_line, total):,} bytes at once")
                if newline >= 0:
                    line_began = now
                if now - line_began > timeout_s:
                    raise httpx.ReadTimeout("a part took too long")
                if now - started > WHOLE_ANSWER * timeout_s:
                    raise ReplyTooLongError(f"went on for over {WHOLE_ANSWER * timeout_s:g} s")
                yield block

        def close(self) -> None:
            source.close()

    return Bounded()


def base_url(host: str) -> str:
    """``host`` as a URL: ``http://`` and port 11434 where they are left out, as Ollama does.

    A server's listen-on-everything address (0.0.0.0, ::) becomes loopback. Raises ConfigError.
    """
    bare = "://" not in host
    try:
        parts = urlsplit(f"http://{host}" if bare else host)
        port = parts.port
    except ValueError as error:
        raise _bad_host(host) from error
    name = parts.hostname or "127.0.0.1"
    if parts.scheme not in ("http", "https") or " " in name:
        raise _bad_host(host)
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    if port is None:
        port = DEFAULT_PORT if bare else {"http": 80, "https": 443}[parts.scheme]
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown}:{port}{parts.path.rstrip('/')}"


def _bad_host(host: str) -> ConfigError:
    return ConfigError(
        f"{host!r} (ollama.host) is not an address of an Ollama server.",
        "Write it as `http://127.0.0.1:11434`.",
    )


def is_loopback(url: str) -> bool:
    """True for this machine itself, where no proxy has any business."""
    name = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ipaddress.ip_address(name).is_loopback
    return name == "localhost" or name.endswith(".localhost")


class OllamaServer:
    """The connection to the server, made at its first use.

    ``timeout_s`` bounds each wait for what the server sends: to the first token, and between
    tokens; ``max_wait_s`` lowers it. On loopback the environment's proxies are ignored: notes must
    not leave through one.
    """

    def __init__(self, settings: OllamaSettings, max_wait_s: float = math.inf) -> None:
        self.url = base_url(settings.host)
        self._timeout_s = min(settings.timeout_s, max_wait_s)
        is_short = self._timeout_s < settings.timeout_s
        self._slow = _SLOW.format("assist_timeout_s" if is_short else "timeout_s")
        proxy = "no proxy" if is_loopback(self.url) else "a proxy that the environment names"
        # For people: which ways a request takes, and which it doesn't.
        self.route = f"redirects are refused, {proxy} is used"

    @cached_property
    def client(self) -> ollama.Client:
        import ollama

        return ollama.Client(host=self.url, **self._how())

    def get_json(self, path: str) -> Any:
        """GET what the client library has no method for (``/api/version``)."""
        import httpx

        with httpx.Client(**self._how()) as client:
            reply = client.get(self.url + path)
            reply.raise_for_status()
            return reply.json()

    def _how(self) -> dict[str, Any]:
        """How httpx is to speak to the server. A redirect is not followed: the prompt, with the
        notes' text, would go where nobody said that it may."""
        import httpx

        is_near = is_loopback(self.url)
        # With a transport of its own httpx takes none of the environment's proxies.
        own = transport(self._timeout_s) if is_near or not getproxies() else None
        return {
            "transport": own,
            "timeout": httpx.Timeout(self._timeout_s, connect=_CONNECT_TIMEOUT_S),
            "trust_env": not is_near,
            "follow_redirects": False,
            "headers": {"accept-encoding": "identity"},
            "event_hooks": {"response": [lambda reply: guard(reply, self._timeout_s)]},
        }

    def explain(self, error: Exception, model: str = "") -> ModelError:
        """ragvault's error for whatever was raised while ``model`` was asked: the table, most
        specific first. The client leaves httpx's to its caller, and of a reply that isn't Ollama's
        what comes of reading it (from ValueError to RecursionError)."""
        import httpx
        import ollama

        url = self.url
        if isinstance(error, ReplyTooLongError):
            return ModelServerError(
                f"The server at {url} {error}: no model answers so.",
                f"{_NOT_OLLAMA} Or use another model.",
            )
        if isinstance(error, ollama.ResponseError):
            return _refused(error.status_code, str(error.error), url, model)
        if isinstance(error, httpx.HTTPStatusError):
            return _refused(error.response.status_code, error.response.text, url, model)
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
            return NoModelServerError(f"Ollama can't be reached at {url}.")
        if isinstance(error, httpx.TimeoutException | TimeoutError):
            return ModelServerError(
                f"Ollama at {url} gave no answer within {self._timeout_s:g} s.", self._slow
            )
        if isinstance(error, httpx.ProxyError):
            return ModelServerError(
                f"The proxy on the way to Ollama at {url} refused: {first_line(error)}.",
                "Add the server to NO_PROXY, or correct HTTP_PROXY.",
            )
        if isinstance(error, httpx.HTTPError | httpx.StreamError):
            return ModelServerError(
                f"The connection to Ollama at {url} broke: {first_line(error)}.",
                "Look at Ollama's log, and run the command again.",
            )
        return ModelServerError(
            f"The server at {url} doesn't answer as Ollama does: {first_line(error)}.", _NOT_OLLAMA
        )

    def close(self) -> None:
        if (client := self.__dict__.pop("client", None)) is not None:
            client.close()


def same_model(one: str, other: str) -> bool:
    """Whether two names mean one model: a name without a tag (a port is none) means ``:latest``."""
    full = (
        f"{name}:latest" if ":" not in name.rpartition("/")[2] else name for name in (one, other)
    )
    return len(set(full)) == 1


def context_length(info: Any) -> int | None:
    """``llama.context_length`` and its like: the key starts with the architecture's name."""
    own = info.get(f"{info.get('general.architecture')}.context_length")
    lengths = [own, *(value for key, value in info.items() if key.endswith(".context_length"))]
    return next((int(value) for value in lengths if isinstance(value, int) and value > 0), None)


def _refused(status: int, reason: str, url: str, model: str) -> ModelError:
    reason = reason.strip().partition("\n")[0][:300].rstrip(" .")
    if 300 <= status < 400:
        return ModelServerError(
            f"The server at {url} sends requests on to another address, which is not followed.",
            "Set `ollama.host` in the config to the address itself, if it is one of yours.",
        )
    if status == 404 and model and "model" in reason.lower():
        return ModelMissingError(
            f"Ollama at {url} has no model {model!r}.", f"Pull it with `ollama pull {model}`."
        )
    if status == 404:
        return ModelServerError(f"The server at {url} is not Ollama: not found.", _NOT_OLLAMA)
    if "memory" in reason.lower():
        return ModelServerError(
            f"Ollama can't load the model {model!r}: {reason}.",
            "Use a smaller model, or lower `ollama.max_context` in the config.",
        )
    if status in (401, 403):
        return ModelServerError(f"The server at {url} denies access: {reason}.", _NOT_OLLAMA)
    what = "failed" if status >= 500 or status < 0 else "refused the request"
    return ModelServerError(
        f"Ollama at {url} {what}: {reason}.",
        f"Look at Ollama's log, try `ollama run {model}`, or name another model.",
    )
