"""A server that speaks Ollama's HTTP API, as a process of its own, for tests.

    python tests/support/ollama_server.py --script FILE|-   replays what the script says
    python tests/support/ollama_server.py --real            SmolLM2-135M behind it, and MiniLM

It prints ``PORT n`` on stdout when it is ready and ends when its stdin does, so a killed test run
leaves no server behind. The script is JSON; every key is optional:

    {"version": "0.12.0",
     "models": [{"name": "llama3.2:latest", "context_length": 8192, "capabilities": ["completion"],
                 "digest": "…", "parameters": "…"}],
     "replies": [reply, …],       for /api/chat and /api/generate: one a request, the last repeats
     "embed": {"dimensions": 16, "max_chars": 5000, "status": 500, "error": "…", "vectors": [[…]]},
     "down": ["/api/tags", …]}    paths that answer 500

A reply is a string, or {"steps": [step, …], "status": 200, "when": "regex", "done": {…} or false}.
One with "when" answers each request whose last message matches it. A step is one of
{"text": "…"}, {"chunks": ["…", …]}, {"thinking": "…"}, {"error": "…"} (an error object in the
stream), {"disconnect": true}, {"stall": true} (until the client goes or POST /_release),
{"delay_s": 0.1}, {"raw": "…"} (a line as it is). In text, ``{citation:2}`` becomes the
``[File: …, Section: …]`` of the second block of the context in the prompt, ``{sentence:2}`` a
sentence of that block, ``{changed:2}`` the same with another number, and ``{last}`` the last
message. ``GET /_requests`` lists what was asked: {"method", "path", "body", "finished"}
("finished" false: the client hung up, or the script cut the connection).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import select
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a file: the repository's root is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.ollama_replies import Gone, Model, Refusal, Script

_WHEN = "2026-01-01T00:00:00.000000Z"


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, backend: Any) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.backend = backend
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.ends = threading.Condition(self.lock)
        self.released = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    # ------------------------------------------------------------------ dispatch

    def do_HEAD(self) -> None:
        self._dispatch()

    def do_GET(self) -> None:
        self._dispatch()

    def do_POST(self) -> None:
        self._dispatch()

    def _dispatch(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/_"):
            self._control(raw)
            return
        entry: dict[str, Any] = {"method": self.command, "path": self.path}
        with self.server.lock:
            self.server.requests.append(entry)
        try:
            routes = {
                ("HEAD", "/"): self._alive,
                ("GET", "/"): self._alive,
                ("HEAD", "/api/version"): self._version,
                ("GET", "/api/version"): self._version,
                ("HEAD", "/api/tags"): self._tags,
                ("GET", "/api/tags"): self._tags,
                ("GET", "/api/ps"): self._ps,
                ("POST", "/api/show"): self._show,
                ("POST", "/api/chat"): self._chat,
                ("POST", "/api/generate"): self._generate,
                ("POST", "/api/embed"): self._embed,
            }
            route = routes.get((self.command, self.path))
            if route is None:
                allowed = any(path == self.path for _, path in routes)
                text = "405 method not allowed" if allowed else "404 page not found"
                self._send(int(text[:3]), text.encode(), "text/plain")
                return
            if self.path in self.server.backend.down:
                raise Refusal(500, "scripted failure")
            route(self._body(raw, entry))
            self._end(entry, True)
        except Refusal as refusal:
            self._end(entry, True)
            if self._streaming:
                self._line(json.dumps({"error": refusal.reason}))
                self._chunk(b"")
            else:
                self._json(refusal.status, {"error": refusal.reason})
        except (Gone, ConnectionError):
            self._end(entry, False)
            self.close_connection = True

    def _end(self, entry: dict[str, Any], finished: bool) -> None:
        with self.server.ends:
            entry["finished"] = finished
            self.server.ends.notify_all()

    def _body(self, raw: bytes, entry: dict[str, Any]) -> dict[str, Any]:
        if self.command != "POST":
            return {}
        if not raw:
            raise Refusal(400, "missing request body")
        try:
            body = json.loads(raw)
        except ValueError as error:
            raise Refusal(400, f"invalid character in request: {error}") from error
        if not isinstance(body, dict):
            raise Refusal(400, "json: cannot unmarshal into Go value")
        entry["body"] = body
        return body

    def _control(self, raw: bytes) -> None:
        server = self.server
        if self.path == "/_requests":
            with server.lock:
                self._json(200, server.requests)
        elif self.path.startswith("/_ended?"):
            self._json(200, {"early": self._ended_early(self.path.partition("?")[2])})
        elif self.path == "/_release":
            server.released.set()
            self._json(200, {})
        elif self.path == "/_script":
            server.backend = Script(json.loads(raw))
            with server.lock:
                server.requests.clear()
            self._json(200, {})
        else:
            self._json(404, {"error": "no such control"})

    def _ended_early(self, path: str) -> bool:
        """Whether the client hung up on its last request to ``path``; waits for its end."""
        with self.server.lock:
            asked = [item for item in self.server.requests if item["path"] == path]
            self.server.ends.wait_for(lambda: "finished" in asked[-1], timeout=30)
        return asked[-1].get("finished") is False

    # ------------------------------------------------------------------ small endpoints

    def _alive(self, _body: dict[str, Any]) -> None:
        self._send(200, b"Ollama is running", "text/plain; charset=utf-8")

    def _version(self, _body: dict[str, Any]) -> None:
        self._json(200, {"version": self.server.backend.version})

    def _tags(self, _body: dict[str, Any]) -> None:
        self._json(200, {"models": [self._listed(m) for m in self.server.backend.models]})

    def _ps(self, _body: dict[str, Any]) -> None:
        loaded = [m for m in self.server.backend.models if m.loaded]
        more = {"expires_at": _WHEN, "size_vram": 0}
        self._json(200, {"models": [{**self._listed(m), **more} for m in loaded]})

    @staticmethod
    def _listed(model: Model) -> dict[str, Any]:
        return {
            "name": model.name,
            "model": model.name,
            "modified_at": _WHEN,
            "size": model.size,
            "digest": model.digest,
            "details": model.details(),
        }

    def _show(self, body: dict[str, Any]) -> None:
        model = self.server.backend.find(body.get("model") or body.get("name"))
        family = model.family
        info: dict[str, Any] = {
            "general.architecture": family,
            "general.parameter_count": model.parameter_count,
        }
        if model.context_length is not None:
            info[f"{family}.context_length"] = model.context_length
        reply = {
            "license": "",
            "modelfile": f"FROM {model.name}",
            "parameters": model.parameters,
            "template": "{{ .Prompt }}",
            "details": model.details(),
            "model_info": info,
            "capabilities": list(model.capabilities),
            "modified_at": _WHEN,
        }
        self._json(200, reply)

    # ------------------------------------------------------------------ writing text

    def _chat(self, body: dict[str, Any]) -> None:
        messages = body.get("messages") or []
        self._write_text(body, messages, _as_message)

    def _generate(self, body: dict[str, Any]) -> None:
        messages = [{"role": "user", "content": body.get("prompt") or ""}]
        if body.get("system"):
            messages.insert(0, {"role": "system", "content": body["system"]})
        self._write_text(body, messages, _as_response)

    def _write_text(self, body: dict[str, Any], messages: list[Any], shape: Any) -> None:
        started = time.monotonic_ns()
        model = self.server.backend.find(body.get("model"))
        model.must("completion", f'"{body["model"]}" does not support chat')
        if body.get("think"):
            model.must("thinking", f'"{body["model"]}" does not support thinking')
        base = {"model": body["model"], "created_at": _WHEN}
        if not messages or not any(item.get("content") for item in messages):
            self._json(200, {**base, **shape("", ""), "done": True, "done_reason": "load"})
            return
        model.loaded = True
        parts = self.server.backend.reply(body, messages, self._wait)
        stream = body.get("stream", True)
        text, thinking, final = "", "", None
        for kind, value in parts:
            if kind == "final":
                final = {**base, **shape("", ""), "done": True, **value}
                final["total_duration"] = time.monotonic_ns() - started
            elif not stream:
                text += value if kind == "text" else ""
                thinking += value if kind == "thinking" else ""
                if kind == "error":
                    raise Refusal(500, value)
            else:
                self._stream_part(kind, value, base, shape)
        if stream:
            if final is not None:
                self._line(json.dumps(final))
            self._chunk(b"")
        elif final is not None:
            self._json(200, {**final, **shape(text, thinking)})

    def _stream_part(self, kind: str, value: str, base: dict[str, Any], shape: Any) -> None:
        if kind == "raw":
            self._line(value)
        elif kind == "error":
            self._line(json.dumps({"error": value}))
        else:
            text, thinking = (value, "") if kind == "text" else ("", value)
            self._line(json.dumps({**base, **shape(text, thinking), "done": False}))

    def _embed(self, body: dict[str, Any]) -> None:
        model = self.server.backend.find(body.get("model"))
        given = body.get("input")
        if given is None:
            given = []
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise Refusal(400, "invalid input type")
        vectors, tokens = self.server.backend.embed(body, texts)
        model.loaded = True
        self._json(
            200,
            {
                "model": body["model"],
                "embeddings": vectors,
                "total_duration": 1,
                "load_duration": 1,
                "prompt_eval_count": tokens,
            },
        )

    # ------------------------------------------------------------------ the wire

    def _wait(self, seconds: float | None) -> None:
        """Wait for the time, or for POST /_release. Raises Gone when the client hangs up."""
        until = math.inf if seconds is None else time.monotonic() + seconds
        while True:
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise Gone
            if time.monotonic() >= until:
                return
            if self.server.released.wait(0.02):
                self.server.released.clear()
                return

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _json(self, status: int, document: Any) -> None:
        self._send(status, json.dumps(document).encode(), "application/json; charset=utf-8")

    _streaming = False

    def _line(self, text: str) -> None:
        if not self._streaming:
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self._streaming = True
        self._chunk(text.encode() + b"\n")

    def _chunk(self, data: bytes) -> None:
        if not self._streaming:  # nothing was streamed: an empty body
            self._send(200, b"", "application/x-ndjson")
            return
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()
        if not data:
            self._streaming = False

    def log_message(self, *_args: Any) -> None:
        """Quiet: what was asked is in /_requests."""


def _as_message(text: str, thinking: str) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text, **_thought(thinking)}}


def _as_response(text: str, thinking: str) -> dict[str, Any]:
    return {"response": text, **_thought(thinking)}


def _thought(thinking: str) -> dict[str, Any]:
    return {"thinking": thinking} if thinking else {}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--script", help="a JSON file, or - for stdin's first line")
    parser.add_argument("--real", action="store_true")
    options = parser.parse_args()
    if options.real:
        from tests.support.ollama_real import RealModels

        backend: Any = RealModels()
    elif options.script == "-":
        backend = Script(json.loads(sys.stdin.readline()))
    else:
        backend = Script(json.loads(Path(options.script).read_text(encoding="utf-8")))
    server = Server(backend)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    print(f"PORT {server.server_address[1]}", flush=True)
    server.serve_forever()


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
