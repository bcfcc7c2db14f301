"""A server that answers /api/chat with whatever bytes a test says, for ever if need be; the rest
as Ollama would. As a context manager it yields its address."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

Reply = Callable[[], Iterable[bytes]]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n"


def part(text: str = "", **more: object) -> bytes:
    """A line of a streamed answer; ``more`` goes beside or into its message (``thinking``)."""
    message = {"role": "assistant", "content": text}
    if "thinking" in more:
        message["thinking"] = str(more.pop("thinking"))
    return json.dumps({"model": "m", "message": message, "done": False, **more}).encode() + b"\n"


@contextmanager
def hostile_server(reply: Reply, path: str = "/api/chat") -> Iterator[str]:
    """``reply`` gives the bytes that follow a request for ``path``, head included, or the rest of
    a head and body; the connection closes at their end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({"version": "0.12.0"} if "version" in self.path else _TAGS)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer({"model_info": {"llama.context_length": 4096}, "capabilities": []})

        def _answer(self, value: object) -> None:
            self.close_connection = True
            if self.path == path:
                blocks: Iterable[bytes] = reply()
            else:
                body = json.dumps(value).encode()
                blocks = [OK.replace(b"x-ndjson", b"json"), body]
            try:
                for block in blocks:
                    self.wfile.write(block)
                    self.wfile.flush()
            except OSError:
                pass  # the client has had enough

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

    server = Server(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


_TAGS = {"models": [{"model": "m:latest", "name": "m:latest"}]}
