"""What the search asks a model for, asked of a real small one: it may write nonsense, it may not
cost the search."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from ragvault.model import Request
from ragvault.service.search import search
from ragvault.wiring import Container
from tests.support.ollama_fixtures import OllamaHandle, real_ollama
from tests.support.ollama_real import CHAT_MODEL
from tests.support.stack import stack

__all__ = ["real_ollama"]  # the fixture
pytestmark = [pytest.mark.llm, pytest.mark.slow]
VAULT = Path(__file__).parents[1] / "sample-vault"
NOW = datetime(2024, 12, 1, 12)
QUESTIONS = (
    "What did I decide about the backend?",
    "Which buoys will send water temperature?",
    "大阪で何を食べた？",
)


@pytest.fixture(scope="module")
def container(
    tmp_path_factory: pytest.TempPathFactory, real_ollama: OllamaHandle
) -> Iterator[Container]:
    ollama = {"host": real_ollama.url, "model": CHAT_MODEL}
    with stack(tmp_path_factory.mktemp("real"), VAULT, ollama=ollama) as container:
        yield container


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_real_small_model_costs_no_search(container: Container, question: str) -> None:
    """Each thing it is asked for is used, or a notice says that it couldn't be; the note that a
    plain search finds first is still found, and every score is still the sum of its terms."""
    plain = search(container, Request(question, folder_select="off"), 10, now=NOW)
    asked = Request(question, expand=True, hyde=True, folder_select="llm")
    found = search(container, asked, 10, now=NOW)
    assert plain.hits[0].chunk.id in {hit.chunk.id for hit in found.hits}
    for hit in found.hits:
        assert sum(value for _, value in hit.scores.terms) == pytest.approx(hit.scores.final)
    retrieval = found.retrieval
    unused = {"expand", "hyde"} - {kind for kind, _ in retrieval.expansions}
    assert retrieval.notices or not unused  # all of it is one call
    folders = retrieval.folder_selection
    assert set(folders.selected) <= set(folders.available)
