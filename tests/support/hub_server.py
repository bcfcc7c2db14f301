"""A server on loopback that speaks as much of the Hugging Face hub as fetching a file takes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ragvault.adapters.onnx import hub as onnx_hub

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """``files`` by path in the repository; ``asked`` the requests."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                hub.asked.append(f"{self.command} {self.path}")
                content = hub.files.get(self.path.partition("/resolve/main/")[2])
                if content is None:
                    content = hub.files.get(self.path.partition(f"/resolve/{COMMIT}/")[2])
                self.send_response(200 if content is not None else 404)
                if content is None:
                    self.send_header("X-Error-Code", "EntryNotFound")
                    content = b""
                else:
                    self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(content)

            do_GET = do_HEAD  # noqa: N815

            def log_message(self, *_args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def hub_on_loopback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """huggingface_hub asks this server, caches in ``folder``, on a processor with AVX2."""
    from huggingface_hub import constants

    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    hub = Hub()
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        hub.url + "/{repo_id}/resolve/{revision}/{filename}",
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(onnx_hub, "cpu_flags", lambda: frozenset({"avx2"}))
    monkeypatch.setattr(onnx_hub.platform, "machine", lambda: "x86_64")
    yield hub
    hub.stop()
