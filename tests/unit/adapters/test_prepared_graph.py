"""The bundled model's optimised graph, kept beside the index: the same numbers, never trusted."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from ragvault.adapters.onnx import embedder as embedder_module, model_files
from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.config.settings import Settings

TEXTS = ["Water for green tea: 75 degrees", "", "Übermorgen um drei beim Zahnarzt"]


def embedded(index: Path | None) -> np.ndarray:
    facts = index / "facts.json" if index is not None else None
    return OnnxEmbedder(Settings(), facts).embed_documents(TEXTS)


def kept(index: Path) -> list[Path]:
    return sorted(path for path in index.iterdir() if path.name != "facts.json")


@pytest.fixture(autouse=True)
def vnni(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder_module, "has_vnni", lambda: True)


@pytest.fixture
def plain(vnni: None) -> np.ndarray:
    return embedded(None)


def test_the_vectors_are_the_same_and_the_model_is_not_read_again(
    tmp_path: Path, plain: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (embedded(tmp_path) == plain).all()
    (graph,) = kept(tmp_path)

    def unexpected(_files: object) -> None:
        raise AssertionError("the model's own file is read")

    monkeypatch.setattr(model_files.ModelFiles, "verify", unexpected)
    assert (embedded(tmp_path) == plain).all()
    assert kept(tmp_path) == [graph]


@pytest.mark.parametrize("damage", ["flip", "cut", "pipe", "other"])
def test_a_damaged_one_is_made_again(tmp_path: Path, plain: np.ndarray, damage: str) -> None:
    embedded(tmp_path)
    (graph,) = kept(tmp_path)
    whole = graph.read_bytes()
    if damage == "flip":
        graph.write_bytes(whole[:5_000_000] + bytes(512) + whole[5_000_512:])
    elif damage == "cut":
        graph.write_bytes(whole[: len(whole) // 2])
    elif damage == "pipe":
        graph.unlink()
        os.mkfifo(graph)
    else:  # of another version of the runtime
        graph.rename(graph.with_name(graph.name.replace("-1.", "-0.")))
    assert (embedded(tmp_path) == plain).all()
    (again,) = kept(tmp_path)
    assert again.stem[-8:] == f"{zlib.crc32(again.read_bytes()):08x}"
    assert again.stem[:-8] == graph.stem[:-8]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path, plain: np.ndarray) -> None:
    tmp_path.chmod(0o500)
    assert (embedded(tmp_path) == plain).all()


def test_a_folder_that_is_gone_costs_nothing(tmp_path: Path, plain: np.ndarray) -> None:
    assert (embedded(tmp_path / "gone") == plain).all()
