"""Each name that a configuration may use leads to an adapter, whose library is not loaded yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ragvault.config.profiles import EMBEDDERS, RERANKERS, VECTOR_STORES
from ragvault.config.settings import EmbeddingSettings, IndexSettings, Settings, StoreSettings
from ragvault.wiring import Container


def settings(folder: Path, **sections: object) -> Settings:
    return Settings(index=IndexSettings(path=str(folder)), **sections)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", VECTOR_STORES)
def test_a_store_is_made_without_opening_it(tmp_path: Path, mode: str) -> None:
    """`status` and an index run that finds nothing to do would wait for its library, or for a
    server that isn't there."""
    used = settings(tmp_path / "index", store=StoreSettings(mode=mode))
    with Container(used) as container:
        assert container.vectors.size() == 0
        container.vectors.stored_identity()
        assert container.vectors is container.vectors


@pytest.mark.parametrize("backend", EMBEDDERS)
def test_an_embedder_is_made_without_its_model(tmp_path: Path, backend: str) -> None:
    used = settings(tmp_path / "index", embedding=EmbeddingSettings(backend=backend))
    with Container(used) as container:
        assert container.embedder is container.embedder


def test_no_backend_loads_its_library_when_it_is_imported() -> None:
    """Each command would pay for all of them."""
    modules = [place.partition(":")[0] for place in tables()]
    code = f"import {', '.join(modules)}, sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"chromadb", "onnxruntime", "tokenizers", "torch", "ollama", "huggingface_hub"}
    assert not heavy & set(run.stdout.split())


def tables() -> list[str]:
    return [*VECTOR_STORES.values(), *EMBEDDERS.values(), *RERANKERS.values()]
