"""The Ollama embedder when the server misbehaves, changes its model, or is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ragvault.adapters.ollama.embedder import OllamaEmbedder
from ragvault.config.settings import Settings
from ragvault.errors import EmbedderUnavailableError
from tests.support.ollama_fixtures import OllamaHandle, scripted_ollama

MODEL = {
    "name": "nomic-embed-text",
    "context_length": 2048,
    "capabilities": ["embedding"],
    "family": "nomic-bert",
}


@pytest.fixture(scope="module")
def shared() -> Iterator[OllamaHandle]:
    with scripted_ollama() as handle:
        yield handle


def embedder(
    server: OllamaHandle,
    facts: Path | None = None,
    model: str | None = "nomic-embed-text",
    **more: str,
) -> OllamaEmbedder:
    used = {"host": server.url, "embedding_model": model, "timeout_s": 20}
    return OllamaEmbedder(Settings(ollama=used, embedding=more), facts)


def test_what_the_server_says_of_its_model(shared: OllamaHandle) -> None:
    shared.play({"models": [MODEL], "embed": {"dimensions": 24}})
    made = embedder(shared)
    assert made.embed_query("a").shape == (24,)
    assert made.max_tokens == 2048 - 2 - 6, "what stands before a passage counts too"
    assert made.name == "nomic-embed-text (Ollama)"
    shared.play({"models": [{**MODEL, "context_length": 256}]})
    assert embedder(shared).max_tokens == 256 - 2 - 6


def test_a_model_reads_no_more_than_it_was_trained_on(shared: OllamaHandle) -> None:
    """Ollama serves all-minilm with 512 tokens; its card says 256."""
    shared.play({"models": [{**MODEL, "name": "all-minilm", "context_length": 512}]})
    assert embedder(shared, model="all-minilm").max_tokens == 254


def test_without_a_name_it_is_the_best_known_one_that_is_there(
    shared: OllamaHandle, tmp_path: Path
) -> None:
    def there(*names: str) -> None:
        shared.play({"models": [{**MODEL, "name": name} for name in names]})

    facts = tmp_path / "facts"
    there("llama3.2", "all-minilm:latest", "nomic-embed-text:latest", "aaa-embedder")
    made = embedder(shared, facts, model=None)
    made.embed_query("tides?")
    assert [item["body"]["model"] for item in shared.requests("/api/embed")] == [made.model]
    assert made.model == "nomic-embed-text:latest"
    there("all-minilm:latest", "embeddinggemma:latest", "nomic-embed-text:latest")
    assert embedder(shared, model=None).model == "embeddinggemma:latest"
    assert embedder(shared, facts, model=None).model == "nomic-embed-text:latest", (
        "pulling another model must not make every vector anew"
    )
    there("embeddinggemma:latest")
    assert embedder(shared, facts, model=None).model == "embeddinggemma:latest"


def test_without_a_name_and_none_that_is_known(shared: OllamaHandle) -> None:
    shared.play({"models": ["llama3.2", "aaa-embedder"]})
    with pytest.raises(EmbedderUnavailableError, match="no embedding model that") as caught:
        _ = embedder(shared, model=None).fingerprint
    assert "ollama pull embeddinggemma" in caught.value.hint


def test_with_the_server_down_the_chosen_model_stays(tmp_path: Path) -> None:
    with scripted_ollama({"models": [MODEL]}) as server:
        known = embedder(server, tmp_path / "facts", model=None).fingerprint
    assert embedder(server, tmp_path / "facts", model=None).fingerprint == known
    with pytest.raises(EmbedderUnavailableError, match="can't be reached"):
        _ = embedder(server, model=None).model


def test_a_large_index_goes_in_small_requests_in_order(shared: OllamaHandle) -> None:
    shared.play({"models": [MODEL]})
    texts = [f"text {number}" for number in range(70)]
    made = embedder(shared)
    matrix = made.embed_documents(texts)
    sent = [item["body"]["input"] for item in shared.requests("/api/embed")]
    assert [len(batch) for batch in sent] == [32, 32, 6]
    assert sent[0][0] == "search_document: text 0"
    assert np.array_equal(matrix[69], made.embed_documents(["text 69"])[0])


@pytest.mark.parametrize(
    ("model", "question", "passage"),
    [
        ("nomic-embed-text", "search_query: tides?", "search_document: The tide."),
        (
            "bge-large:335m",
            "Represent this sentence for searching relevant passages: tides?",
            "The tide.",
        ),
        ("jeffh/intfloat-multilingual-e5-base", "query: tides?", "passage: The tide."),
        (
            "embeddinggemma",
            "task: search result | query: tides?",
            "title: none | text: The tide.",
        ),
        ("somebody/new-model", "tides?", "The tide."),
    ],
)
def test_each_model_gets_the_text_that_it_was_trained_with(
    shared: OllamaHandle, model: str, question: str, passage: str
) -> None:
    shared.play({"models": [{**MODEL, "name": model}]})
    made = embedder(shared, model=model)
    made.embed_query("tides?")
    made.embed_documents(["The tide."])
    sent = [item["body"]["input"] for item in shared.requests("/api/embed")]
    assert sent == [[question], [passage]]


def test_prefixes_of_the_configuration_count_and_make_vectors_anew(shared: OllamaHandle) -> None:
    shared.play({"models": [MODEL]})
    bare = embedder(shared, query_prefix="", document_prefix="")
    bare.embed_query("tides?")
    bare.embed_documents(["The tide."])
    sent = [item["body"]["input"] for item in shared.requests("/api/embed")]
    assert sent == [["tides?"], ["The tide."]]
    assert bare.fingerprint != embedder(shared).fingerprint


def test_a_new_version_of_the_model_is_another_fingerprint(
    shared: OllamaHandle, tmp_path: Path
) -> None:
    """`ollama pull` may replace the weights under the same name."""
    shared.play({"models": [{**MODEL, "digest": "a" * 64}]})
    one = embedder(shared, tmp_path / "facts").fingerprint
    assert embedder(shared, tmp_path / "facts").fingerprint == one
    shared.play({"models": [{**MODEL, "digest": "b" * 64}]})
    assert embedder(shared, tmp_path / "facts").fingerprint != one


def test_with_the_server_down_the_index_stays_known(tmp_path: Path) -> None:
    """Else `status`, and a keyword search, would fail for want of a name."""
    with scripted_ollama({"models": [MODEL]}) as server:
        before = embedder(server, tmp_path / "facts")
        known = (before.fingerprint, before.max_tokens)
    after = embedder(server, tmp_path / "facts")
    assert (after.fingerprint, after.max_tokens) == known
    with pytest.raises(EmbedderUnavailableError, match="can't be reached") as caught:
        after.embed_query("hello")
    assert "ollama serve" in caught.value.hint
    with pytest.raises(EmbedderUnavailableError, match="can't be reached"):
        _ = embedder(server).fingerprint


def test_a_model_that_is_not_there_says_how_to_get_it(shared: OllamaHandle) -> None:
    shared.play({"models": ["llama3.2"]})
    with pytest.raises(EmbedderUnavailableError, match="'nomic-embed-text'") as caught:
        _ = embedder(shared).fingerprint
    assert "ollama pull nomic-embed-text" in caught.value.hint


def test_text_that_the_server_refuses_as_too_long_is_cut(shared: OllamaHandle) -> None:
    """Some versions of Ollama refuse it in spite of `truncate`."""
    shared.play({"models": [MODEL], "embed": {"max_chars": 100}})
    long = "abcdefghij" * 39
    bare = embedder(shared, document_prefix="")
    matrix = bare.embed_documents(["short", long])
    assert np.array_equal(matrix[1], bare.embed_documents([long[:97]])[0])
    assert np.array_equal(matrix[0], bare.embed_documents(["short"])[0])


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ({"status": 500, "error": "llama runner crashed"}, "llama runner crashed"),
        ({"vectors": [[1.0, 2.0]]}, "1 vectors for 2 texts"),
        ({"vectors": []}, "0 vectors for 2 texts"),
        ({"vectors": [[1.0, 2.0], [1.0]]}, "uneven"),
        ({"vectors": [[0.0, 0.0], [1.0, 0.0]]}, "no length"),
    ],
)
def test_a_wrong_answer_never_reaches_the_index(
    shared: OllamaHandle, rule: dict[str, object], what: str
) -> None:
    shared.play({"models": [MODEL], "embed": rule})
    with pytest.raises(EmbedderUnavailableError, match=what):
        embedder(shared).embed_documents(["one", "two"])


@pytest.mark.parametrize(
    "text",
    ["The budget review is on Thursday at the usual place. " * 5, "東京の天気は晴れです", "🦊🦊🦊"],
    ids=["english", "japanese", "emoji"],
)
def test_the_estimate_of_tokens_is_not_too_low(shared: OllamaHandle, text: str) -> None:
    """Compared with MiniLM's own count: too low, and the end of a chunk would be cut off."""
    from ragvault.adapters.onnx.embedder import OnnxEmbedder

    assert embedder(shared).count_tokens([text]) >= OnnxEmbedder(Settings()).count_tokens([text])
