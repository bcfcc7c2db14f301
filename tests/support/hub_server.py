"""A server on loopback that speaks as much of the Hugging Face hub as fetching a file takes."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

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
                revision, _, name = self.path.partition("/resolve/")[2].partition("/")
                content = hub.files.get(name)
                if self.path.startswith("/api/models/"):
                    content = json.dumps(hub.described()).encode()
                if self.path == "/":
                    content = b""
                self.send_response(200 if content is not None else 404)
                if content is None:
                    self.send_header("X-Error-Code", "EntryNotFound")
                    content = b""
                else:
                    self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
                commit = COMMIT if revision == "main" else revision
                self.send_header("X-Repo-Commit", commit)
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

    def described(self) -> dict[str, Any]:
        """The repository, as the hub's API tells of it."""
        return {
            "id": "someone/model",
            "sha": COMMIT,
            "cardData": {"license": "mit"},
            "siblings": [
                {
                    "rfilename": name,
                    "size": len(content),
                    "lfs": {
                        "sha256": hashlib.sha256(content).hexdigest(),
                        "size": len(content),
                        "pointerSize": 130,
                    },
                }
                for name, content in self.files.items()
            ],
        }

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def hub_on_loopback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """huggingface_hub asks this server, and caches in ``folder``."""
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
    yield hub
    hub.stop()
