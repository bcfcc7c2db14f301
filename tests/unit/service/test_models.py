"""When another embedding model is advised: with numbers, once, and never to who chose one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragvault.config.settings import Settings
from ragvault.service.index import IndexRequest, index
from ragvault.service.models import advice, advice_once
from ragvault.wiring import Container
from tests.support.cli import NO_SERVER, make_vault
from tests.support.ollama_fixtures import scripted_ollama

pytestmark = pytest.mark.slow

ENGLISH = "The boiler was serviced in March, and the man said that it will last for years."
GERMAN = "Die Heizung wurde im März gewartet, und der Mann sagte, dass sie noch Jahre hält."


@pytest.fixture(autouse=True)
def _no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    yield


def indexed(
    folder: Path, german: int, english: int, host: str = NO_SERVER, **more: Any
) -> Container:
    notes = {f"g{i}.md": f"# Notiz {i}\n\n{GERMAN}" for i in range(german)}
    notes |= {f"e{i}.md": f"# Note {i}\n\n{ENGLISH}" for i in range(english)}
    container = Container(
        Settings(index={"path": str(folder / "index")}, ollama={"host": host}, embedding=more or {})
    )
    if not (folder / "notes").exists():
        vault = make_vault(folder / "notes", notes)
        for _ in index(container, IndexRequest((vault,))):
            pass
    return container


def test_many_notes_in_another_language_are_said_once(tmp_path: Path) -> None:
    with indexed(tmp_path, german=3, english=5) as container:
        line = advice_once(container)
        assert line is not None
        assert line.startswith("38% of your notes are German; the bundled model reads English.")
        assert "`ragvault model get multilingual`" in line
        assert "`ragvault config set embedding.profile multilingual`" in line
        assert "about 1 min for these notes" in line
        assert advice_once(container) is None
        assert advice(container) is not None, "doctor says it always"
    with indexed(tmp_path, german=3, english=5) as container:
        assert advice_once(container) is None, "another day"


def test_a_few_notes_in_another_language_are_no_reason(tmp_path: Path) -> None:
    with indexed(tmp_path, german=1, english=7) as container:
        assert advice(container) is None


def test_an_ollama_that_has_the_model_is_a_reason(tmp_path: Path) -> None:
    gemma = {"name": "embeddinggemma:latest", "context_length": 2048}
    with (
        scripted_ollama({"models": [gemma]}) as server,
        indexed(tmp_path, german=0, english=3, host=server.url) as container,
    ):
        given = advice(container)
        assert given is not None
        assert f"Ollama at {server.url}" in given[0]
        assert "model get" not in given[1]


def test_who_chose_a_model_is_left_alone(tmp_path: Path) -> None:
    with indexed(tmp_path, german=3, english=1):
        pass
    with indexed(tmp_path, german=3, english=1, profile="multilingual") as container:
        assert advice(container) is None
    with indexed(tmp_path, german=3, english=1, model="someone/model") as container:
        assert advice(container) is None
