"""A model of EmbeddingGemma's layout, two layers of random weights, and the real one where it is.

``make test-models EMBEDDINGGEMMA=/path`` names the real one: google/embeddinggemma-300m as
sentence-transformers keeps it, in float32.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from ragvault.adapters.onnx import runtime
from ragvault.adapters.onnx.embedder import Head, OnnxEmbedder
from ragvault.config.settings import Settings
from ragvault.errors import EmbedderUnavailableError
from tests.support.gemma_onnx import (
    TINY,
    read_safetensors,
    tiny_weights,
    write_folder,
    write_graph,
    write_safetensors,
)

TEXTS = ["", "Mars", "Saturn, famous for its rings", "Jupiter has a red spot. " * 9]
WEIGHTS = tiny_weights()
PLANETS = [
    "Venus is often called Earth's twin because of its similar size and proximity.",
    "Mars, known for its reddish appearance, is often referred to as the Red Planet.",
    "Jupiter, the largest planet in our solar system, has a prominent red spot.",
    "Saturn, famous for its rings, is sometimes mistaken for the Red Planet.",
]


def at(folder: Path, **embedding: object) -> OnnxEmbedder:
    return OnnxEmbedder(Settings(embedding={"path": str(folder), **embedding}))


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pooling and dense layers in the graph, as a second output."""
    return write_folder(tmp_path_factory.mktemp("gemma") / "inside", WEIGHTS)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """The graph gives token vectors only; the rest is in the folder."""
    return write_folder(tmp_path / "outside", WEIGHTS, dense_inside=False)


def test_the_graphs_own_vector_and_the_folders_modules_agree(inside: Path, outside: Path) -> None:
    one, other = at(inside), at(outside)
    vectors = one.embed_documents(TEXTS)
    assert vectors.shape == (len(TEXTS), TINY["hidden_size"])
    assert vectors == pytest.approx(other.embed_documents(TEXTS), abs=1e-5)
    assert one.fingerprint != other.fingerprint


def test_a_table_in_int8_is_looked_up_before_it_becomes_floats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the hub's file is: EmbeddingGemma's table would be 805 MB at each run."""
    folder = as_in_the_cache(write_folder(tmp_path / "int8", WEIGHTS, int8_table=True))
    made = tmp_path / "looked-up-first.onnx"
    open_session = runtime.open_session

    def kept(model: str | bytes, **how: Any) -> Any:
        if isinstance(model, bytes):
            made.write_bytes(model)
        return open_session(model, **how)

    monkeypatch.setattr(runtime, "open_session", kept)
    vectors = at(folder).embed_documents(TEXTS)
    monkeypatch.setattr(runtime, "rows_first", lambda *_: None)
    assert (at(folder).embed_documents(TEXTS) == vectors).all(), "bit by bit the same"

    file = folder / "onnx" / "model.onnx"
    table = TINY["vocab_size"] * TINY["hidden_size"] * 4
    blobs = file.resolve().parent
    assert largest_output(file) == table
    assert largest_output(made, blobs) < table / 100


def as_in_the_cache(folder: Path) -> Path:
    """The graph and its data as the hub's cache has them: links to files named by their hash."""
    blobs = folder / "blobs"
    blobs.mkdir()
    for number, file in enumerate(sorted((folder / "onnx").iterdir())):
        file.symlink_to(file.rename(blobs / f"hash{number}"))
    return folder


def largest_output(file: Path, weights: Path | None = None) -> int:
    """Bytes that one node gives at a run of two tokens."""
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = f"{file}-profile"
    model: bytes | str = str(file)
    if weights is not None:
        folder, model = "session.model_external_initializers_file_folder_path", file.read_bytes()
        options.add_session_config_entry(folder, str(weights))
    session = onnxruntime.InferenceSession(model, options)
    ids = np.array([[101, 102]], np.int64)
    session.run(["sentence_embedding"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    events = json.loads(Path(session.end_profiling()).read_text())
    return max(int(event["args"].get("output_size", 0)) for event in events if "args" in event)


def test_without_its_dense_layers_the_vectors_are_others(outside: Path) -> None:
    """Else the test above would hold of layers that do nothing."""
    right = at(outside).embed_documents(TEXTS)
    (outside / "modules.json").unlink()
    assert np.abs(right - at(outside).embed_documents(TEXTS)).max() > 0.1


def test_a_dense_layers_weights_are_part_of_the_fingerprint(outside: Path) -> None:
    before = at(outside).fingerprint
    write_safetensors(outside / "3_Dense" / "model.safetensors", WEIGHTS["3_Dense"] * 2)
    assert at(outside).fingerprint != before


def test_a_dense_layer_may_end_in_tanh(outside: Path) -> None:
    (outside / "3_Dense" / "config.json").write_text('{"bias": false}')  # tanh is the default
    head = Head(outside / "onnx" / "model.onnx")
    tokens = np.random.default_rng(3).normal(size=(5, TINY["hidden_size"])).astype(np.float32)
    wide = WEIGHTS["2_Dense"].astype(np.float64) @ tokens.astype(np.float64).mean(axis=0)
    assert head.apply(tokens) == pytest.approx(np.tanh(WEIGHTS["3_Dense"] @ wide), abs=1e-9)


def test_questions_and_passages_have_the_folders_prefixes(inside: Path) -> None:
    bare = at(inside, query_prefix="", document_prefix="")
    asked = bare.embed_documents(["task: search result | query: red planet"])[0]
    told = bare.embed_documents(["title: none | text: red planet"])[0]
    assert at(inside).embed_query("red planet") == pytest.approx(asked, abs=1e-6)
    assert at(inside).embed_documents(["red planet"])[0] == pytest.approx(told, abs=1e-6)


def test_the_longest_input_is_the_folders(inside: Path, tmp_path: Path) -> None:
    before = "title: none | text: "
    prefix = at(inside).count_tokens([before])[0]
    assert at(inside).max_tokens == 64 - 2 - len(before) < 64 - 2 - prefix
    words = " ".join(["planet"] * (64 - 2 - prefix))
    whole, longer = at(inside).embed_documents([words, f"{words} unseen words"])
    assert longer == pytest.approx(whole, abs=1e-6)
    shorter = at(inside).embed_documents([words.removesuffix(" planet")])[0]
    assert np.abs(shorter - whole).max() > 1e-4


def test_a_vector_does_not_depend_on_what_it_is_embedded_with(inside: Path) -> None:
    embedder = at(inside, threads=3)
    together = embedder.embed_documents(TEXTS * 5)
    for index, text in enumerate(TEXTS * 5):
        assert (embedder.embed_documents([text])[0] == together[index]).all()


@pytest.mark.parametrize("left", [0, 100_000, None], ids=["empty", "cut off", "missing"])
def test_weights_that_came_only_half_are_one_sentence(tmp_path: Path, left: int | None) -> None:
    folder = write_folder(tmp_path / "half", WEIGHTS)
    data = folder / "onnx" / "model.onnx_data"
    if left is None:
        data.unlink()
    else:
        data.write_bytes(data.read_bytes()[:left])
    with pytest.raises(EmbedderUnavailableError, match=r"is incomplete: .* missing or was cut off"):
        at(folder).embed_query("Mars")


def test_a_dense_layer_that_came_only_half_is_one_sentence(outside: Path) -> None:
    file = outside / "2_Dense" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(EmbedderUnavailableError, match=r"2_Dense.*half copied"):
        at(outside).embed_query("Mars")
    file.unlink()
    with pytest.raises(EmbedderUnavailableError, match=r"model.safetensors can't be read"):
        at(outside).embed_query("Mars")


def test_modules_that_are_not_known_are_refused(outside: Path) -> None:
    modules = json.loads((outside / "modules.json").read_text())
    modules.insert(2, {"type": "sentence_transformers.models.LSTM", "path": "2_LSTM"})
    (outside / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(EmbedderUnavailableError, match="LSTM that ragvault's ONNX adapter"):
        at(outside).embed_query("Mars")


# ------------------------------------------------------------------------------ the real one


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = Path(os.environ.get("EMBEDDINGGEMMA", ""))
    if not (source / "model.safetensors").is_file():
        pytest.skip("EMBEDDINGGEMMA names no folder with EmbeddingGemma's weights")
    folder = tmp_path_factory.mktemp("real") / "embeddinggemma"
    (folder / "onnx").mkdir(parents=True)
    for name in ("tokenizer.json", "config_sentence_transformers.json"):
        (folder / name).symlink_to(source / name)
    weights = read_safetensors(source / "model.safetensors")
    for name in ("2_Dense", "3_Dense"):
        weights[name] = read_safetensors(source / name / "model.safetensors")["linear.weight"]
    write_graph(
        folder / "onnx" / "model.onnx", json.loads((source / "config.json").read_text()), weights
    )
    return folder


@pytest.mark.slow
def test_the_real_model_gives_the_cosines_on_its_card(real: Path) -> None:
    """https://huggingface.co/google/embeddinggemma-300m, "Usage"; it computes in bfloat16."""
    embedder = at(real)
    question = embedder.embed_query("Which planet is known as the Red Planet?")
    cosines = embedder.embed_documents(PLANETS) @ question
    assert cosines == pytest.approx([0.3011, 0.6359, 0.4930, 0.4889], abs=2e-3)
    assert embedder.embed_query("a").shape == (768,)
    assert embedder.max_tokens == 2048 - 2 - len("title: none | text: ")
