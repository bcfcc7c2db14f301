"""The test server itself, through the real client: what passes against it should pass on Ollama."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import ollama
import pytest

from tests.support.ollama_fixtures import OllamaHandle, scripted_ollama

SCRIPT = {
    "models": ["llama3.2", {"name": "embedder", "capabilities": ["embedding"]}],
    "replies": [{"when": "^ping", "steps": [{"text": "pong"}]}, "first", "second"],
}


@pytest.fixture(scope="module")
def server() -> Iterator[OllamaHandle]:
    with scripted_ollama(SCRIPT) as handle:
        yield handle


@pytest.fixture
def client(server: OllamaHandle) -> ollama.Client:
    server.play(SCRIPT)
    return ollama.Client(host=server.url, trust_env=False, timeout=20)


def test_it_is_alive(server: OllamaHandle) -> None:
    assert httpx.head(server.url, trust_env=False).status_code == 200
    assert httpx.get(server.url, trust_env=False).text == "Ollama is running"
    assert httpx.get(server.url + "/nothing", trust_env=False).status_code == 404
    assert httpx.get(server.url + "/api/chat", trust_env=False).status_code == 405
    bad = httpx.post(server.url + "/api/chat", content=b"{", trust_env=False)
    assert bad.status_code == 400 and "error" in bad.json()


def test_models_are_listed_shown_and_loaded(client: ollama.Client) -> None:
    assert [item.model for item in client.list().models] == ["llama3.2:latest", "embedder:latest"]
    assert client.show("llama3.2").capabilities == ["completion"]
    assert client.ps().models == []
    client.generate(model="llama3.2", prompt="ping")
    assert [item.model for item in client.ps().models] == ["llama3.2:latest"]


def test_replies_come_in_order_and_by_what_was_asked(client: ollama.Client) -> None:
    def ask(text: str) -> str | None:
        return client.chat(
            model="llama3.2", messages=[{"role": "user", "content": text}]
        ).message.content

    assert [ask("a"), ask("ping"), ask("b"), ask("c")] == ["first", "pong", "second", "second"]


def test_citations_are_filled_in_from_the_prompt(
    client: ollama.Client, server: OllamaHandle
) -> None:
    server.play({"replies": ["It is so {citation:2}."]})
    prompt = (
        "[Chunk 1]\n[Vault: v] File: a.md\nSection: # One\nContent: x\n\n"
        "[Chunk 2]\n[Vault: v] File: b/c.md\nSection: # Two > ## Three\nContent: y\n"
        "use the format '[File: filename.md, Section: section name]'"
    )
    reply = client.generate(model="llama3.2", prompt=prompt)
    assert reply.response == "It is so [File: b/c.md, Section: # Two > ## Three]."


def test_statements_are_taken_from_the_prompt_and_altered(
    client: ollama.Client, server: OllamaHandle
) -> None:
    """Else the checks of answers would run on statements that are neither true nor false."""
    server.play({"replies": ["{sentence:1} / {changed:1} / {changed:2}"]})
    prompt = (
        "[Chunk 1]\n[Vault: v] File: a, b.md\nSection: # One\nContent: Too short. The hall holds "
        "exactly 350 guests on most evenings.\n\n"
        "[Chunk 2]\n[Vault: v] File: c.md\nSection: # Two\nContent: Ann made soup for all of us."
        "\n\n--- End Context ---\n\nAnswer."
    )
    true, altered, added = client.generate(model="llama3.2", prompt=prompt).response.split(" / ")
    assert true == "The hall holds exactly 350 guests on most evenings."
    assert altered.startswith("The hall holds exactly ") and "350" not in altered
    assert added.startswith("Ann made soup for all of us after ")


def test_streaming_and_not_streaming_say_the_same(client: ollama.Client) -> None:
    parts = list(client.generate(model="llama3.2", prompt="ping pong", stream=True))
    whole = client.generate(model="llama3.2", prompt="ping pong")
    assert "".join(part.response for part in parts) == whole.response == "pong"
    assert parts[-1].done and parts[-1].eval_count == whole.eval_count == 1


@pytest.mark.parametrize("model", ["nothing", "embedder"])
def test_refusals_have_ollamas_status(client: ollama.Client, model: str) -> None:
    with pytest.raises(ollama.ResponseError) as caught:
        client.chat(model=model, messages=[{"role": "user", "content": "a"}])
    assert caught.value.status_code == (404 if model == "nothing" else 400)


def test_embeddings_are_unit_vectors_of_the_text(client: ollama.Client) -> None:
    rows = client.embed(model="embedder", input=["a", "b", "a"]).embeddings
    assert rows[0] == rows[2] != rows[1]
    assert sum(value * value for value in rows[0]) == pytest.approx(1)
