"""A model server that isn't one, or has gone mad: every reply ends, in an error that is told."""

from __future__ import annotations

import gzip
import itertools
import json
import time
from collections.abc import Iterable, Iterator

import pytest

from ragvault.adapters.ollama.chat import OllamaChat
from ragvault.config.settings import OllamaSettings
from ragvault.errors import ModelServerError, ModelStreamError
from ragvault.model import ChatOptions, Message
from tests.support.hostile_server import OK, Reply, hostile_server, part

OPTIONS = ChatOptions(model="m", num_ctx=512, temperature=0.0, max_tokens=16)


def lines(*each: bytes) -> Reply:
    return lambda: [OK, *each]


def endless(*each: bytes) -> Reply:
    return lambda: itertools.chain([OK], itertools.cycle(each))


def dripping() -> Iterator[bytes]:
    yield OK
    while True:
        time.sleep(0.05)
        yield b" "


def bomb() -> Iterable[bytes]:
    body = gzip.compress(bytes(50_000_000))
    return [OK[:-2] + b"Content-Encoding: gzip\r\n\r\n", body]


def counting(count: str) -> bytes:
    whole = part("hello", done=True, prompt_eval_count=7)
    return whole.replace(b": 7", b": " + count.encode())


HOSTILE: dict[str, Reply] = {
    "text without end": endless(part("word ")),
    "reasoning without end": endless(part(thinking="hm ")),
    "a <think> without end": lambda: itertools.chain(
        [OK, part("<think>")], itertools.repeat(part("hm "))
    ),
    "empty parts without end": endless(part("")),
    "one byte at a time, no line": dripping,
    "a line without end": endless(b"x" * 65536),
    "white space without end": endless(b"\n" * 65536),
    "a bomb": bomb,
    "100,000 brackets": lines(b"[" * 100_000 + b"\n"),
    "a count of 5,000 digits": lines(counting("9" * 5000)),
    "not UTF-8": lines(b'{"message": "\xff\xfe"}\n'),
    "a list": lines(b"[1, 2]\n"),
    "null": lines(b"null\n"),
    "NaN": lines(b'{"message": NaN}\n'),
    "nothing": lines(),
    "no HTTP at all": lambda: [b"hello\r\n\r\n"],
    "half a chunk": lambda: [OK[:-2] + b"Transfer-Encoding: chunked\r\n\r\nFFFF\r\nabc"],
    "a chunk of no size": lambda: [OK[:-2] + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nabc"],
    "a wrong length": lambda: [OK[:-2] + b"Content-Length: 999\r\n\r\n" + part("hello")],
    "two lengths": lambda: [OK[:-2] + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}"],
    "a header of a megabyte": lambda: [OK[:-2] + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n"],
    "100 Continue without end": lambda: itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "redirects to itself": lambda: [
        b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /api/chat\r\nContent-Length: 0\r\n\r\n"
    ],
    "an error without end": lambda: itertools.chain(
        [b"HTTP/1.1 500 Oh\r\n\r\n"], itertools.repeat(b"x" * 65536)
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_every_hostile_reply_ends_and_is_told(name: str) -> None:
    """Each ran for ever, took gigabytes, or was "something unexpected"."""
    began = time.monotonic()
    with hostile_server(HOSTILE[name]) as host:
        chat = OllamaChat(OllamaSettings(host=host, timeout_s=0.5))
        with pytest.raises(ModelServerError) as caught:
            chat.complete([Message("user", "?")], OPTIONS)
        chat.close()
    assert time.monotonic() - began < 60
    assert caught.value.message.endswith(".") and caught.value.hint
    assert len(caught.value.message) < 500


def test_what_came_before_the_limit_is_kept() -> None:
    with hostile_server(endless(part("word "))) as host:
        chat = OllamaChat(OllamaSettings(host=host, timeout_s=0.5))
        came: list[str] = []
        with pytest.raises(ModelStreamError):
            came.extend(chat.chat([Message("user", "?")], OPTIONS))
        chat.close()
    assert "".join(came).startswith("word word")


@pytest.mark.parametrize("count", ["99999999999999999999999", "-1", "null"])
def test_a_count_that_is_none_is_left_out(count: str) -> None:
    """SQLite takes 64 bits: keeping the answer in the log failed."""
    with hostile_server(lines(counting(count))) as host:
        chat = OllamaChat(OllamaSettings(host=host, timeout_s=5))
        with chat.chat([Message("user", "?")], OPTIONS) as stream:
            assert "".join(stream) == "hello"
        assert stream.usage.prompt_tokens is None
        chat.close()


def test_half_a_character_is_shown_as_one_that_is_not_known() -> None:
    with hostile_server(lines(part("a \ud800 b"), part("", done=True))) as host:
        chat = OllamaChat(OllamaSettings(host=host, timeout_s=5))
        assert chat.complete([Message("user", "?")], OPTIONS) == "a ? b"
        chat.close()


def test_a_redirect_is_not_followed() -> None:
    """The prompt holds the notes' text: it goes where the settings say and nowhere else."""
    asked: list[str] = []

    def elsewhere() -> Iterable[bytes]:
        asked.append("elsewhere")
        return [OK, part("hello", done=True)]

    with hostile_server(elsewhere, "/other") as other:
        head = f"HTTP/1.1 307 Away\r\nLocation: {other}/other\r\nContent-Length: 0\r\n\r\n"
        with hostile_server(lambda: [head.encode()]) as host:
            chat = OllamaChat(OllamaSettings(host=host, timeout_s=5))
            with pytest.raises(ModelServerError, match="another address"):
                chat.complete([Message("user", "?")], OPTIONS)
            chat.close()
    assert asked == []


def test_a_bomb_for_a_version_is_not_opened() -> None:
    reply = [OK[:-2] + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(json.dumps({}).encode())]
    with hostile_server(lambda: reply, "/api/version") as host:
        chat = OllamaChat(OllamaSettings(host=host, timeout_s=5))
        with pytest.raises(ModelServerError):
            chat.version()
