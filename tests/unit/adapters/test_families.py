"""What is put before a question and a passage: a model that lacks it finds less, silently."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragvault.adapters.families import OWN_FILE, family_of, prefixes_for
from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER
from ragvault.adapters.onnx.tokenizer import Tokenizer
from ragvault.adapters.torch_embedder import SentenceTransformersEmbedder
from ragvault.config.settings import EmbeddingSettings, RetrievalSettings, Settings
from ragvault.errors import EmbedderUnavailableError
from ragvault.model import Prefixes
from ragvault.retrieval.ranking.blend import vector_weight
from tests.support.tiny_onnx import write_model

SEARCH = "Represent this sentence for searching relevant passages: "
WEB = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
UNKNOWN = Prefixes("", "", None)


def of(name: str, own: Path | None = None, **settings: str) -> Prefixes:
    return prefixes_for(EmbeddingSettings.model_validate(settings), name, own)


@pytest.mark.parametrize(
    ("names", "query", "document"),
    [
        (
            "embeddinggemma:300m google/embeddinggemma-300m "
            "onnx-community/embeddinggemma-300m-ONNX",
            "task: search result | query: ",
            "title: none | text: ",
        ),
        (
            "nomic-embed-text nomic-embed-text:v1.5 nomic-ai/nomic-embed-text-v1 "
            "nomic-embed-text-v2-moe hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q4_K_M",
            "search_query: ",
            "search_document: ",
        ),
        ("mxbai-embed-large:335m mixedbread-ai/mxbai-embed-large-v1", SEARCH, ""),
        ("snowflake-arctic-embed:137m Snowflake/snowflake-arctic-embed-m-v1.5", SEARCH, ""),
        ("snowflake-arctic-embed2:568m Snowflake/snowflake-arctic-embed-m-v2.0", "query: ", ""),
        ("bge-large bge-large:335m BAAI/bge-small-en-v1.5 BAAI/bge-base-en", SEARCH, ""),
        ("BAAI/bge-large-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("bge-m3:567m BAAI/bge-m3", "", ""),
        (
            "intfloat/e5-base-v2 intfloat/multilingual-e5-small jeffh/intfloat-e5-base-v2:f32",
            "query: ",
            "passage: ",
        ),
        ("intfloat/multilingual-e5-large-instruct", WEB + " ", ""),
        ("Alibaba-NLP/gte-Qwen2-1.5B-instruct", WEB + " ", ""),
        ("thenlper/gte-large Alibaba-NLP/gte-multilingual-base", "", ""),
        ("qwen3-embedding:0.6b Qwen/Qwen3-Embedding-8B", WEB, ""),
        (
            "jinaai/jina-embeddings-v3",
            "Represent the query for retrieving evidence documents: ",
            "Represent the document for retrieval: ",
        ),
        ("jina/jina-embeddings-v2-base-de granite-embedding:278m all-minilm:latest", "", ""),
        ("paraphrase-multilingual sentence-transformers/all-MiniLM-L12-v2", "", ""),
        ("/models/bge-small-en-v1.5/onnx/model.onnx C:\\models\\bge-small-en-v1.5", SEARCH, ""),
    ],
)
def test_a_known_family_gets_what_its_card_asks_for(names: str, query: str, document: str) -> None:
    for name in names.split():
        assert of(name) == Prefixes(query, document, "family"), name


@pytest.mark.parametrize(
    ("names", "pooling", "window"),
    [
        ("google/embeddinggemma-300m embeddinggemma:latest", "mean", 2048),
        ("nomic-ai/nomic-embed-text-v1 nomic-embed-text", "mean", 8192),
        ("nomic-embed-text-v2-moe", "mean", 512),
        ("mxbai-embed-large Snowflake/snowflake-arctic-embed-m-v1.5", "cls", 512),
        ("Snowflake/snowflake-arctic-embed-m-long", "cls", 2048),
        ("snowflake-arctic-embed2 bge-m3 Alibaba-NLP/gte-multilingual-base", "cls", 8192),
        ("BAAI/bge-large-zh-v1.5 bge-large ibm-granite/granite-embedding-30m-english", "cls", 512),
        ("intfloat/multilingual-e5-large-instruct intfloat/e5-base-v2", "mean", 512),
        ("thenlper/gte-large", "mean", 512),
        ("intfloat/e5-mistral-7b-instruct", "last", 4096),
        ("qwen3-embedding:0.6b Alibaba-NLP/gte-Qwen2-7B-instruct", "last", 32768),
        ("jinaai/jina-embeddings-v3 jina/jina-embeddings-v2-base-de", "mean", 8192),
        ("ibm-granite/granite-embedding-small-english-r2", "cls", 8192),
        ("sentence-transformers/all-MiniLM-L6-v2 all-minilm all-minilm:22m", "mean", 256),
        ("all-minilm:33m sentence-transformers/all-MiniLM-L12-v2", "mean", 128),
        ("paraphrase-multilingual", "mean", 128),
    ],
)
def test_a_known_family_is_pooled_and_cut_as_it_was_trained(
    names: str, pooling: str, window: int
) -> None:
    for name in names.split():
        row = family_of(name)
        assert row is not None and (row.pooling, row.window) == (pooling, window), name


@pytest.mark.parametrize(
    "name",
    [
        "someone/new-embedder",
        "BAAI/bge-reranker-base",
        "BAAI/bge-en-icl",
        "deepset-mxbai-embed-de-large-v1",
        "embeddinggemma-2",
        "jina-embeddings-v4",
        "nomic-embed-text-v3",
    ],
)
def test_a_model_that_nobody_knows_is_bare(name: str) -> None:
    assert of(name) == UNKNOWN


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"query": "q: ", "document": "d: "}, ("q: ", "d: ")),
        ({"query": "q: ", "passage": "p: "}, ("q: ", "p: ")),
        ({"retrieval.query": "q: ", "retrieval.passage": "p: "}, ("q: ", "p: ")),
        ({"query": "q: "}, ("q: ", "")),
    ],
)
def test_what_the_model_says_itself_is_better_than_its_family(
    tmp_path: Path, said: dict[str, str], expected: tuple[str, str]
) -> None:
    own = tmp_path / OWN_FILE
    own.write_text(json.dumps({"prompts": said, "default_prompt_name": None}))
    assert of("intfloat/e5-base-v2", own) == Prefixes(*expected, "model")


def test_a_default_prompt_is_for_both_sides(tmp_path: Path) -> None:
    own = tmp_path / OWN_FILE
    own.write_text('{"prompts": {"any": "a: ", "query": "q: "}, "default_prompt_name": "any"}')
    assert of("someone/model", own) == Prefixes("q: ", "a: ", "model")


@pytest.mark.parametrize(
    "content",
    [
        '{"prompts": {"query": "", "document": ""}}',
        '{"prompts": {"query": 3}}',
        '{"prompts": null}',
        "[]",
        "{",
    ],
)
def test_a_model_that_says_nothing_itself_is_of_its_family(tmp_path: Path, content: str) -> None:
    own = tmp_path / OWN_FILE
    own.write_text(content)
    assert of("intfloat/e5-base-v2", own) == Prefixes("query: ", "passage: ", "family")
    assert of("someone/model", own) == UNKNOWN


def test_a_path_that_tells_nothing_is_of_the_profile_that_was_chosen() -> None:
    gemma = Prefixes("task: search result | query: ", "title: none | text: ", "family")
    assert of("/data/x.onnx", path="/data/x.onnx", profile="multilingual") == gemma
    assert of("/data/x.onnx", path="/data/x.onnx") == UNKNOWN
    assert of("someone/x", model="someone/x", profile="multilingual") == UNKNOWN


def test_a_prefix_that_is_set_counts_also_an_empty_one() -> None:
    e5 = "intfloat/e5-base-v2"
    assert of(e5, query_prefix="", document_prefix="") == Prefixes("", "", "configuration")
    assert of(e5, query_prefix="ask: ") == Prefixes("ask: ", "passage: ", "configuration")


def onnx(file: Path, **more: Any) -> OnnxEmbedder:
    return OnnxEmbedder(Settings(embedding={"path": str(file), **more}))


def test_a_folder_in_onnx_form_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    file = write_model(tmp_path / "onnx" / "model.onnx")
    plain = onnx(file)
    vectors = [plain.embed_query("query: hello"), plain.embed_query("passage: hello")]
    assert plain.prefixes == UNKNOWN
    own = {"prompts": {"query": "query: ", "document": "passage: "}}
    (tmp_path / OWN_FILE).write_text(json.dumps(own))
    trained = onnx(file)
    assert np.array_equal(trained.embed_query("hello"), vectors[0])
    assert np.array_equal(trained.embed_documents(["hello"])[0], vectors[1])
    assert trained.fingerprint != plain.fingerprint, "else old and new vectors are compared"
    bare = onnx(file, query_prefix="", document_prefix="")
    assert bare.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("name", "question", "passage", "pooled"),
    [
        ("nomic-embed-text-v1.5", "search_query: tides?", "search_document: tide", "mean"),
        ("bge-small-en-v1.5", f"{SEARCH}tides?", "tide", "cls"),
        ("e5-base-v2", "query: tides?", "passage: tide", "mean"),
        ("Qwen3-Embedding-0.6B", f"{WEB}tides?", "tide", "last"),
    ],
)
def test_a_folder_in_onnx_form_is_used_as_its_family_was_trained(
    tmp_path: Path, name: str, question: str, passage: str, pooled: str
) -> None:
    """The stand-in's vector for a token is (id, 1, 1): it shows which tokens came, and which
    count."""
    (tmp_path / name).mkdir()
    made = onnx(write_model(tmp_path / name / "model.onnx"))
    tokenizer = Tokenizer(BUNDLED_TOKENIZER)
    for vector, text in (
        (made.embed_query("tides?"), question),
        (made.embed_documents(["tide"])[0], passage),
    ):
        ids = tokenizer.encode(text, 512)
        counted = {"mean": sum(ids) / len(ids), "cls": ids[0], "last": ids[-1]}[pooled]
        expected = np.array([counted, 1.0, 1.0]) / np.linalg.norm([counted, 1.0, 1.0])
        assert vector == pytest.approx(expected, abs=1e-6)
    row = family_of(name)
    assert row is not None
    assert made.max_tokens == row.window - 2 - len(row.document.encode())


def test_a_folder_of_any_name_is_what_the_profile_beside_it_says(tmp_path: Path) -> None:
    """Prefixes and the weight of its cosine both go by it."""
    (tmp_path / "weights").mkdir()
    path = str(write_model(tmp_path / "weights" / "model.onnx"))
    made = onnx(Path(path), profile="multilingual")
    assert made.prefixes.query == "task: search result | query: "
    assert vector_weight(RetrievalSettings(), made.model) == 0.9
    assert onnx(Path(path)).model == path


def test_a_folder_of_sentence_transformers_is_read_without_torch(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]")
    (tmp_path / OWN_FILE).write_text('{"prompts": {"query": "query: ", "document": "passage: "}}')
    made = SentenceTransformersEmbedder(Settings(embedding={"path": str(tmp_path)}))
    assert made.prefixes == Prefixes("query: ", "passage: ", "model")


def test_a_missing_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "modules.json").write_text("[]")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    made = SentenceTransformersEmbedder(Settings(embedding={"path": str(tmp_path)}))
    with pytest.raises(EmbedderUnavailableError, match="not installed") as caught:
        made.embed_query("a")
    assert "pip install 'ragvault[sentence-transformers]'" in caught.value.hint
