"""What a reply may cost: a server that never ends one, or sends a bomb, must not take the machine.

The server is asked for short answers, and this doesn't rest on its keeping to that. Each limit is
far beyond what an honest server sends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

# An embedding reply is one line: 64 texts of 4,096 numbers of 22 characters are 6 MB.
MOST_BYTES = 64_000_000
MOST_LINE = 1_000_000  # bytes of one part of a streamed answer
WHOLE_ANSWER = 10  # times ``timeout_s``, for all of a reply
# A token is some four characters, a run of spaces up to a hundred; a part holds a token or more.
CHARS_PER_TOKEN = 40
PARTS_PER_TOKEN = 4
SPARE_PARTS = 200


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
