"""Models of the hub: fetched from a server on loopback that speaks as much of it as that takes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragvault.adapters.models import EMBEDDING, FactStore
from ragvault.adapters.onnx.embedder import Head, OnnxEmbedder
from ragvault.adapters.onnx.model_files import (
    BUNDLED_TOKENIZER,
    ModelFiles,
    Offer,
    find_model,
    offer,
)
from ragvault.config import profiles
from ragvault.config.profiles import PROFILES, PinnedFile
from ragvault.config.settings import EmbeddingSettings, Settings
from ragvault.errors import EmbedderUnavailableError, ModelError
from ragvault.wiring import Container
from tests.support.hub_server import Hub, hub_on_loopback
from tests.support.tiny_onnx import write_model

pytestmark = pytest.mark.slow

GRAPH, WEIGHTS = "onnx/model_quantized.onnx", "onnx/model_quantized.onnx_data"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub_on_loopback(tmp_path / "cache", monkeypatch) as hub:
        yield hub


@pytest.fixture
def multilingual(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """The profile's row, with the hashes of files of a few bytes."""
    hub.files = {
        GRAPH: write_model(tmp_path / "tiny.onnx").read_bytes(),
        WEIGHTS: b"the weights",
        "tokenizer.json": BUNDLED_TOKENIZER.read_bytes(),
    }
    pinned = tuple(
        PinnedFile(path, len(data), hashlib.sha256(data).hexdigest())
        for path, data in hub.files.items()
    )
    monkeypatch.setitem(
        profiles.PROFILES, "multilingual", replace(PROFILES["multilingual"], files=pinned)
    )
    return hub


def get(name: str, *, torch: bool = False) -> Offer:
    wanted = offer(name, torch=torch)
    wanted.fetch(progress=False)
    return wanted


def find(**embedding: str) -> ModelFiles:
    return find_model(
        EMBEDDING,
        EmbeddingSettings.model_validate(embedding),
        FactStore(None),
        package="a_package_that_is_not_there",
    )


def test_a_profile_is_offered_without_asking_anybody(hub: Hub) -> None:
    made = offer("multilingual", torch=False)
    assert made.size == PROFILES["multilingual"].size == 329_781_810
    assert "Gemma" in made.licence
    assert made.source == f"{hub.url}/onnx-community/embeddinggemma-300m-ONNX"
    assert hub.asked == []


def test_a_profile_is_fetched_once_and_used_from_the_cache(multilingual: Hub) -> None:
    get("multilingual")
    multilingual.asked.clear()
    assert offer("multilingual", torch=False).missing == ()
    files = find(profile="embeddinggemma")
    assert files.name == "EmbeddingGemma-300M (quantized ONNX)"
    assert files.source.startswith("the hub's cache (")
    assert [file.name for file, _ in files.data] == ["model_quantized.onnx_data"]
    settings = Settings(embedding={"profile": "multilingual"})
    with Container(settings) as container:
        assert isinstance(container.embedder, OnnxEmbedder)
        assert container.embedder.prefixes.query == "task: search result | query: "
        assert container.embedder.embed_query("hello").shape == (3,)
    assert multilingual.asked == []


def test_a_download_that_was_broken_off_goes_on(multilingual: Hub) -> None:
    whole = dict(multilingual.files)
    del multilingual.files[WEIGHTS]
    with pytest.raises(ModelError, match="can't be fetched"):
        get("multilingual")
    with pytest.raises(EmbedderUnavailableError, match="isn't on this machine"):
        find(profile="multilingual")
    multilingual.files = whole
    multilingual.asked.clear()
    get("multilingual")
    assert not [line for line in multilingual.asked if GRAPH in line.split("_data")], "kept"
    assert find(profile="multilingual").model.read_bytes() == whole[GRAPH]


def test_a_file_that_is_not_the_pinned_one_is_not_kept(multilingual: Hub, tmp_path: Path) -> None:
    multilingual.files[WEIGHTS] = b"not weights"
    with pytest.raises(ModelError, match="not the file that ragvault expects"):
        get("multilingual")
    assert not [file for file in (tmp_path / "cache").rglob("*") if _holds(file, b"not weights")]
    with pytest.raises(EmbedderUnavailableError, match="isn't on this machine"):
        find(profile="multilingual")


def _holds(file: Path, data: bytes) -> bool:
    return file.is_file() and file.read_bytes() == data


@pytest.mark.parametrize("name", [GRAPH, WEIGHTS, "tokenizer.json"])
def test_a_cached_file_that_was_changed_is_refused(multilingual: Hub, name: str) -> None:
    get("multilingual")
    folder = offer("multilingual", torch=False).folder
    assert folder is not None
    (folder / name).resolve().write_bytes(b"other bytes")
    with pytest.raises(EmbedderUnavailableError, match="not the one that"):
        find(profile="multilingual")


def test_other_weights_beside_the_same_graph_are_another_model(tmp_path: Path) -> None:
    """Else an index would hold vectors of both."""
    file = write_model(tmp_path / "model.onnx")
    seen = set()
    for weights in (None, b"one", b"other"):
        if weights is not None:
            (tmp_path / "model.onnx_data").write_bytes(weights)
        seen.add(OnnxEmbedder(Settings(embedding={"path": str(file)})).fingerprint)
    assert len(seen) == 3


def test_what_an_earlier_version_fetched_by_itself_is_still_used(hub: Hub) -> None:
    name = "onnx/model_qint8_avx512_vnni.onnx"
    hub.files = {name: b"the weights"}
    import huggingface_hub

    huggingface_hub.hf_hub_download("sentence-transformers/all-MiniLM-L6-v2", name)
    files = find()
    assert files.model.read_bytes() == b"the weights"
    assert files.tokenizer == BUNDLED_TOKENIZER


@pytest.mark.parametrize(
    ("embedding", "command"),
    [
        ({}, "ragvault model get bundled` (23 MB)"),
        ({"profile": "multilingual"}, "ragvault model get multilingual` (330 MB)"),
        ({"model": "someone/model"}, "ragvault model get someone/model`"),
    ],
)
def test_a_model_that_is_nowhere_is_not_fetched_unasked(
    hub: Hub, embedding: dict[str, str], command: str
) -> None:
    hub.files = {"onnx/model.onnx": b"weights", "tokenizer.json": b"{}"}
    with pytest.raises(EmbedderUnavailableError, match="isn't on this machine") as caught:
        find(**embedding)
    assert command in caught.value.hint
    assert hub.asked == []


def test_a_hub_out_of_reach_is_one_sentence_with_the_remedy(hub: Hub) -> None:
    hub.stop()
    with pytest.raises(ModelError, match="can't be fetched") as caught:
        get("multilingual")
    assert "run the command again" in caught.value.hint


def test_offline_mode_is_respected(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE"):
        get("multilingual")
    assert hub.asked == []


def test_any_other_model_comes_with_what_it_says_of_itself(hub: Hub) -> None:
    hub.files = {
        "onnx/model.onnx": b"weights",
        "onnx/model.onnx_data": b"more weights",
        "onnx/model_O4.onnx": b"for a graphics card",
        "model.safetensors": b"for torch",
        "2_Dense/model.safetensors": b"dense",
        "tokenizer.json": b"{}",
        "1_Pooling/config.json": b'{"pooling_mode_cls_token": true}',
        "config_sentence_transformers.json": b'{"prompts": {"query": "q: "}}',
        "README.md": b"the card",
    }
    made = get("someone/other-model")
    assert made.licence == "mit"
    assert {file.path for file in made.missing} == set(hub.files) - {
        "onnx/model_O4.onnx",
        "model.safetensors",
        "README.md",
    }
    files = find(model="someone/other-model")
    assert Head(files.model).pooling == "cls"
    assert files.tokenizer.read_bytes() == b"{}"
    assert files.prompts is not None and b"q: " in files.prompts.read_bytes()
    assert files.name == "other-model (model ONNX)"


def test_sentence_transformers_gets_its_own_files(hub: Hub) -> None:
    hub.files = {"modules.json": b"[]", "model.safetensors": b"weights", "onnx/model.onnx": b"no"}
    assert {file.path for file in get("someone/model", torch=True).missing} == {
        "modules.json",
        "model.safetensors",
    }


def test_a_model_with_no_usable_file_names_what_was_looked_for(hub: Hub) -> None:
    hub.files = {"config.json": b"{}"}
    with pytest.raises(ModelError, match=r"holds no ONNX file.*model_quint8_avx2"):
        offer("someone/model", torch=False)


def test_not_a_repository_name(hub: Hub) -> None:
    with pytest.raises(ModelError):
        offer("no such/repo/at all", torch=False)
    with pytest.raises(EmbedderUnavailableError):
        find(model="no such/repo/at all")
