"""What stands beside the best hit, from the files to the prompt and the citation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from ragvault.model import Answer, AskResult, Request
from ragvault.service.ask import answer_of, ask
from tests.support.cli import make_vault
from tests.support.ollama_fixtures import CHAT_MODEL, OllamaHandle, scripted_ollama
from tests.support.stack import stack

NOW = datetime(2024, 5, 15, 10, 30)
TOPICS = ("anchor", "bilge", "compass", "dinghy", "engine", "fender", "galley", "hatch")
LINES = [
    f"Before winter the {topic} is checked by hand, cleaned with fresh water, dried in the sun "
    f"for a day, and packed into its own box with a label that says who did it and when."
    for topic in TOPICS * 4
]
LAST = "The harbour master keeps the spare key under number forty-two."
SCRIPT = {
    "models": [CHAT_MODEL],
    "replies": [{"steps": [{"text": "The spare key is under number forty-two {citation:1}."}]}],
}


@pytest.fixture(scope="module")
def server() -> Iterator[OllamaHandle]:
    with scripted_ollama(SCRIPT) as handle:
        yield handle


def asked(vault: Path, index: Path, server: OllamaHandle, reach: int) -> tuple[AskResult, str]:
    server.play(SCRIPT)
    ollama = {"host": server.url}
    # One hit to answer from, so that what stands beside it can come in by this way only.
    sections = {"ollama": ollama, "answer": {"neighbours": reach}}
    with stack(index, vault, **sections) as container:
        question = "How is the dinghy checked before winter?"
        result = answer_of(ask(container, Request(question, k=1), now=NOW))
    return result, server.requests("/api/chat")[0]["body"]["messages"][-1]["content"]


def test_the_neighbour_is_in_the_prompt_and_the_citation_opens_at_its_lines(
    tmp_path: Path, server: OllamaHandle
) -> None:
    """A section that was cut between a question's two halves is answered whole, and the link
    goes to the half that says it."""
    filler = {f"other{i}.md": f"# Day {i}\n\nRain, {i} mm.\n" for i in range(5)}
    text = "# Winter\n\n" + "\n\n".join(LINES[:9]) + f"\n\n{LAST}\n"
    vault = make_vault(tmp_path / "vault", {"winter.md": text, **filler})
    with_neighbours, prompt = asked(vault, tmp_path / "index", server, 5)
    assert LAST in prompt
    assert all(prompt.count(line) == LINES[:9].count(line) for line in set(LINES[:9]))
    answer = with_neighbours.outcome
    assert isinstance(answer, Answer)
    assert answer.mode == "llm"
    cited = answer.references[0].hit.chunk
    assert LAST in cited.text
    lines = text.split("\n")[cited.start_line - 1 : cited.end_line]
    assert LAST in lines
    assert answer.unsupported == ()
    assert with_neighbours.retrieval is not None
    kept = {hit.chunk.id for hit in with_neighbours.retrieval.kept}
    assert cited.id not in kept
    without, prompt = asked(vault, tmp_path / "index", server, 0)
    assert LAST not in prompt
    assert without.retrieval is not None
