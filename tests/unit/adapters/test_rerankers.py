"""The rerankers' files and failures."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ragvault.adapters.onnx.cross_encoder import OnnxCrossEncoder
from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER, offer
from ragvault.config.settings import IndexSettings, RerankSettings, Settings
from ragvault.errors import ModelError
from ragvault.model import sigmoid
from ragvault.wiring import Container
from tests.support.cross_encoders import export_bert, write_bert, write_table_model
from tests.support.hub_server import Hub, hub_on_loopback
from tests.support.note_texts import PASSAGES, QUESTIONS
from tests.support.tiny_onnx import write_pair_model

MODEL = "someone/a-reranker"
WEIGHTS_FILE = "onnx/model_quint8_avx2.onnx"  # what a processor with AVX2 is given


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub_on_loopback(tmp_path / "cache", monkeypatch) as hub:
        yield hub


def onnx_at(path: Path) -> OnnxCrossEncoder:
    return OnnxCrossEncoder(Settings(rerank={"path": str(path)}))


# ------------------------------------------------------------------------ ONNX cross-encoder


def test_the_question_is_told_from_the_passage(tmp_path: Path) -> None:
    """Token types say which is which: without them a passage is scored by the question's words."""
    reranker = OnnxCrossEncoder(
        Settings(rerank={"path": str(write_table_model(tmp_path / "tiny"))})
    )
    scores = reranker.rerank("dough dough dough", ["dough", "tomato", "router"])
    assert scores == pytest.approx([sigmoid(2.0), 0.5, sigmoid(-1.5)])


def test_a_model_without_token_types_is_run_too(tmp_path: Path) -> None:
    """RoBERTa has none."""
    inputs = ("input_ids", "attention_mask")
    folder = write_pair_model(tmp_path / "tiny", {}, otherwise=0.1, inputs=inputs)
    (score,) = onnx_at(folder).rerank("one two", ["three four five"])
    assert score == pytest.approx(sigmoid(0.1 * (2 + 3 + 3))), "words and three specials"


@pytest.mark.parametrize(("config", "tokens"), [(None, 512), ({"max_position_embeddings": 64}, 64)])
def test_a_pair_is_cut_to_the_models_positions(
    tmp_path: Path, config: dict[str, int] | None, tokens: int
) -> None:
    """One token too many and the model fails, and with it the search's order."""
    folder = write_pair_model(
        tmp_path / "tiny", {}, otherwise=0.01, inputs=("input_ids", "attention_mask")
    )
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    reranker = onnx_at(folder)
    long = "word " * 2000
    for question, passage in (("word", long), (long, "word " * 300), (long, long)):
        assert reranker.rerank(question, [passage]) == pytest.approx([sigmoid(0.01 * tokens)])


def test_roberta_counts_its_positions_from_two(tmp_path: Path) -> None:
    folder = write_pair_model(
        tmp_path / "tiny", {}, otherwise=0.01, inputs=("input_ids", "attention_mask")
    )
    config = {"max_position_embeddings": 66, "model_type": "xlm-roberta"}
    (folder / "config.json").write_text(json.dumps(config))
    (score,) = onnx_at(folder).rerank("word", ["word " * 2000])
    assert score == pytest.approx(sigmoid(0.64))


def test_the_usual_file_is_taken_from_a_folder_with_several(tmp_path: Path) -> None:
    """An export leaves model.onnx beside its quantised forms."""
    folder = write_table_model(tmp_path / "tiny")
    (folder / "model_O2.onnx").write_bytes(b"damaged")
    assert len(onnx_at(folder).rerank("a", ["b"])) == 1


def no_folder(folder: Path) -> Path:
    return folder


def no_tokenizer(folder: Path) -> Path:
    return write_pair_model(folder, {}, tokenizer=False)


def two_files(folder: Path) -> Path:
    write_table_model(folder)
    (folder / "a.onnx").write_bytes(b"")
    (folder / "model.onnx").rename(folder / "b.onnx")
    return folder


def damaged(folder: Path) -> Path:
    write_table_model(folder)
    (folder / "model.onnx").write_bytes(b"no model")
    return folder


def damaged_tokenizer(folder: Path) -> Path:
    write_table_model(folder)
    (folder / "tokenizer.json").write_text("{}")
    return folder


def damaged_config(folder: Path) -> Path:
    write_table_model(folder)
    (folder / "config.json").write_text("[")
    return folder


def two_outputs(folder: Path) -> Path:
    return write_pair_model(folder, {}, outputs=2)


def other_inputs(folder: Path) -> Path:
    return write_pair_model(folder, {}, inputs=("input_ids", "pixels"))


def not_a_number(folder: Path) -> Path:
    return write_pair_model(folder, {}, otherwise=math.nan)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (no_folder, "doesn't exist"),
        (no_tokenizer, "no tokenizer.json"),
        (two_files, "more than one .onnx file: a.onnx, b.onnx"),
        (damaged, "can't be loaded"),
        (damaged_tokenizer, "tokenizer"),
        (damaged_config, "config.json can't be read"),
        (two_outputs, "gives 2 numbers a pair"),
        (other_inputs, "inputs that ragvault doesn't know: \\['pixels'\\]"),
        (not_a_number, "not a number"),
    ],
)
def test_a_model_that_will_not_do_is_a_sentence_and_a_step(tmp_path: Path, make, says: str) -> None:
    reranker = onnx_at(make(tmp_path / "model"))
    with pytest.raises(ModelError, match=says) as caught:
        reranker.rerank("question", ["passage"])
    assert caught.value.hint


def test_nothing_is_loaded_for_no_passages(tmp_path: Path) -> None:
    assert onnx_at(tmp_path / "missing").rerank("question", []) == []


# -------------------------------------------------------------------------------- from the hub


def served(hub: Hub, folder: Path) -> bytes:
    write_table_model(folder)
    weights = (folder / "model.onnx").read_bytes()
    hub.files = {
        WEIGHTS_FILE: weights,
        "tokenizer.json": BUNDLED_TOKENIZER.read_bytes(),
        "config.json": b'{"max_position_embeddings": 512}',
    }
    return weights


def got() -> None:
    offer(MODEL, torch=False).fetch(progress=False)


def test_a_model_of_the_hub_is_used_from_its_cache(hub: Hub, tmp_path: Path) -> None:
    served(hub, tmp_path / "tiny")
    got()
    hub.asked.clear()
    reranker = OnnxCrossEncoder(Settings(rerank={"model": MODEL}))
    assert reranker.rerank("a", ["dough"]) == pytest.approx([sigmoid(2.0)])
    assert hub.asked == []


def test_nothing_is_fetched_unasked(hub: Hub, tmp_path: Path) -> None:
    served(hub, tmp_path / "tiny")
    with pytest.raises(ModelError, match="isn't on this machine") as caught:
        OnnxCrossEncoder(Settings(rerank={"model": MODEL})).rerank("a", ["b"])
    assert f"ragvault model get {MODEL}" in caught.value.hint
    assert "rerank.path" in caught.value.hint
    assert hub.asked == []


def test_other_weights_under_the_same_name_are_refused(hub: Hub, tmp_path: Path) -> None:
    """The cache keeps them under their hash."""
    weights = served(hub, tmp_path / "tiny")
    got()
    facts = tmp_path / "facts.json"
    OnnxCrossEncoder(Settings(rerank={"model": MODEL}), facts=facts).rerank("a", ["b"])
    blob = next((tmp_path / "cache").rglob(f"blobs/{hashlib.sha256(weights).hexdigest()}"))
    blob.write_bytes(weights + b"more")
    with pytest.raises(ModelError, match="not the one that"):
        OnnxCrossEncoder(Settings(rerank={"model": MODEL}), facts=facts).rerank("a", ["b"])


@pytest.mark.torch
@pytest.mark.slow
def test_scores_are_those_of_sentence_transformers(tmp_path: Path) -> None:
    """The same model without torch ranks the same."""
    pytest.importorskip("onnx", reason="torch exports with it")
    folder = export_bert(write_bert(tmp_path / "bert"))
    import sentence_transformers
    import torch

    reference = sentence_transformers.CrossEncoder(str(folder), activation_fn=torch.nn.Sigmoid())
    questions = ["how long does the dough rest?", QUESTIONS[0]]
    texts = [*PASSAGES[:6], "", "dough", "a long one " * 400]
    for question in questions:
        expected = reference.predict([(question, text) for text in texts])
        scores = onnx_at(folder).rerank(question, texts)
        assert np.abs(np.subtract(scores, expected)).max() < 1e-3
        assert np.std(scores) > 0.01, "a model that tells them apart"


# ------------------------------------------------------------------------------------ the rest


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_logit_has_a_place(logit: float) -> None:
    assert 0.0 <= sigmoid(logit) <= 1.0
    assert sigmoid(logit) + sigmoid(-logit) == pytest.approx(1.0)


def test_onnxruntime_reports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would send what it runs to its makers."""
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    onnx_at(write_table_model(tmp_path / "tiny")).rerank("a", ["b"])
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"


@pytest.mark.parametrize(
    ("backend", "wanted", "kind"),
    [
        ("none", None, None),
        ("none", True, OnnxCrossEncoder),
        ("onnx", None, OnnxCrossEncoder),
        ("onnx", False, None),
    ],
)
def test_which_reranker_a_search_gets(
    tmp_path: Path, backend: str, wanted: bool | None, kind: type | None
) -> None:
    used = Settings(index=IndexSettings(path=str(tmp_path)), rerank=RerankSettings(backend=backend))
    with Container(used) as container:
        got = container.reranker(wanted)
        assert got is None if kind is None else isinstance(got, kind)
        assert container.reranker(wanted) is got, "loaded once"
