"""Starts the Ollama test server as a process and stops it, whatever happens."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.ollama_real import why_not

# A chat model as the server lists it: the one that ragvault asks for by default.
CHAT_MODEL = {"name": "llama3.2:latest", "context_length": 8192, "capabilities": ["completion"]}

_SERVER = Path(__file__).with_name("ollama_server.py")
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class OllamaHandle:
    """A running server. ``url`` is what to put into ``ollama.host``."""

    url: str
    process: subprocess.Popen[str]

    def requests(self, path: str | None = None) -> list[dict[str, Any]]:
        """What was asked so far, oldest first; of one path, or of all."""
        listed: list[dict[str, Any]] = self._call("/_requests")
        return [item for item in listed if path is None or item["path"] == path]

    def ended_early(self, path: str) -> bool:
        """Whether the client hung up on its last request to ``path`` (waits until it is known)."""
        query = f"/_ended?{path}"
        return bool(self._call(query)["early"])

    def play(self, script: Mapping[str, Any]) -> None:
        """Go on with another script, and forget the requests."""
        self._call("/_script", script)

    def release(self) -> None:
        """End a stall."""
        self._call("/_release", {})

    def stop(self) -> None:
        """As when Ollama crashes: connections break, the port refuses."""
        self.process.kill()
        self.process.wait()

    def _call(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data)
        with _DIRECT.open(request, timeout=30) as reply:
            return json.load(reply)


@contextmanager
def scripted_ollama(script: Mapping[str, Any] | None = None) -> Iterator[OllamaHandle]:
    """A server that replays ``script`` (its form is described in ollama_server)."""
    with _running(["--script", "-"], json.dumps(script or {}) + "\n") as handle:
        yield handle


@contextmanager
def real_server() -> Iterator[OllamaHandle]:
    """A server in front of SmolLM2-135M and MiniLM. Skips the test where they aren't installed."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with _running(["--real"], "") as handle:
        yield handle


@contextmanager
def embedding_server() -> Iterator[OllamaHandle]:
    """The real server for embeddings only: MiniLM, whether or not a chat model is installed."""
    with _running(["--real"], "") as handle:
        yield handle


@pytest.fixture(scope="session")
def real_ollama() -> Iterator[OllamaHandle]:
    """One real server for the whole run; mark tests that use it ``llm``."""
    with real_server() as handle:
        yield handle


@contextmanager
def _running(arguments: list[str], stdin: str) -> Iterator[OllamaHandle]:
    process = subprocess.Popen(
        [sys.executable, str(_SERVER), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(stdin)
        process.stdin.flush()
        line = process.stdout.readline()  # comes when the port is open
        assert line.startswith("PORT "), f"the Ollama test server did not start: {line!r}"
        yield OllamaHandle(f"http://127.0.0.1:{line.split()[1]}", process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
