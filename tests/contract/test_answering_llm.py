"""A real small model invents freely; whatever it writes, the outcome is typed, and each citation
that is shown leads to a chunk that was in its context."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragvault.adapters.ollama.chat import OllamaChat
from ragvault.answering.citations.parse import parse
from ragvault.answering.citations.styles import canonical
from ragvault.answering.page import AnswerRequest
from ragvault.answering.pipeline import answer
from ragvault.config.settings import AnswerSettings, OllamaSettings
from ragvault.model import Abstention, Answer, CitationStatus
from tests.support.answering import evidence, extract, finished, hit
from tests.support.ollama_fixtures import OllamaHandle, real_server
from tests.support.ollama_real import CHAT_MODEL

pytestmark = [pytest.mark.llm, pytest.mark.slow]

HITS = (
    hit(
        "work/backend.md",
        "Backend > Decision",
        "We chose Go for the backend on 2024-03-01. It costs 1,500 dollars a month.",
    ),
    hit("people/team.md", "Team", "Alice leads the project. Bob writes the docs.", rank=2),
    hit("top.md", "", "Deploys run every 20 minutes.", rank=3),
)


@pytest.fixture(scope="module")
def server() -> Iterator[OllamaHandle]:
    with real_server() as handle:
        yield handle


@pytest.mark.parametrize(
    "question",
    [
        "Which language did we choose for the backend?",
        "Who leads the project?",
        "How often do deploys run?",
        "What is the airspeed of a swallow?",
    ],
)
def test_every_run_ends_in_a_valid_outcome_with_resolvable_citations(
    server: OllamaHandle, question: str
) -> None:
    settings = OllamaSettings(host=server.url, model=CHAT_MODEL, max_context=2048, max_tokens=120)
    request = AnswerRequest(
        question=question,
        evidence=evidence(*HITS),
        quotes=extract(question, HITS),
        chat=OllamaChat(settings),
        settings=AnswerSettings(),
        ollama=settings,
    )
    run, shown = finished(answer(request))
    if isinstance(run.outcome, Abstention):
        assert shown == ""
        return
    result = run.outcome
    assert isinstance(result, Answer)
    assert result.text == shown
    assert result.references
    known = {h.chunk.id: canonical(h) for h in HITS}
    for citation in result.citations:
        if citation.status is CitationStatus.REMOVED:
            assert citation.chunk_id is None
        else:
            assert citation.chunk_id is not None
            assert result.text.startswith(known[citation.chunk_id], citation.position)
    forms = set(known.values())
    assert all(raw.raw in forms for raw in parse(result.text, HITS))
    assert {c.chunk_id for c in result.citations if c.chunk_id} == {
        r.hit.chunk.id for r in result.references
    }
