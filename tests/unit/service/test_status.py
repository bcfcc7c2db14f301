"""What is wrong with the model that writes, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragvault.config.settings import Settings
from ragvault.service.status import OllamaStatus, ollama_status
from ragvault.wiring import Container
from tests.support.hostile_server import hostile_server


def status_of(host: str, folder: Path) -> OllamaStatus:
    settings = Settings(index={"path": str(folder)}, ollama={"host": host})
    with Container(settings) as container:
        return ollama_status(container)


@pytest.mark.parametrize("path", ["/api/version", "/api/tags"])
def test_another_server_is_called_one_whatever_it_answers(path: str, tmp_path: Path) -> None:
    """`status` ended with a traceback; to start Ollama wouldn't help."""
    said = b'HTTP/1.1 404 Not Found\r\n\r\n{"error": "no such model route"}'
    with hostile_server(lambda: [said], path) as host:
        seen = status_of(host, tmp_path)
    assert seen.version is None and "is not Ollama" in (seen.problem or "")
    assert "ollama.host" in (seen.hint or "") and "ollama serve" not in (seen.hint or "")


def test_where_none_runs_it_is_to_be_started(tmp_path: Path) -> None:
    assert "ollama serve" in (status_of("http://127.0.0.1:9", tmp_path).hint or "")
