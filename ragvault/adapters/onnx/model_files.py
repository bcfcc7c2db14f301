"""The files that an ONNX model consists of, and where they lie beside each other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ragvault.adapters.facts import check_sha256
from ragvault.adapters.models import EMBEDDING, Purpose
from ragvault.errors import EmbedderUnavailableError

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
BUNDLED_TOKENIZER = Path(__file__).parent / "data" / "minilm-tokenizer.json"
BUNDLED_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model that is on this disk.

    ``sha256`` and ``tokenizer_sha256`` are what the files must have when they are loaded.
    ``pooling`` is "mean" or "cls".
    """

    name: str
    model: Path
    sha256: str
    tokenizer: Path
    tokenizer_sha256: str
    pooling: str = "mean"
    config: Path | None = None  # the model's config.json, where it was asked for

    def verify(self) -> None:
        """Read both files and compare. Raises EmbedderUnavailableError when one was changed."""
        check_sha256(self.model, self.sha256)
        check_sha256(self.tokenizer, self.tokenizer_sha256)


def beside(path: Path, name: str) -> Path | None:
    """A file that an exported model keeps with its .onnx file, or a folder up; None: neither."""
    places = (path.parent / name, path.parent.parent / name)
    return next((file for file in places if file.is_file()), None)


def pooling_of(file: Path | None) -> str:
    """ "cls" or "mean", from sentence-transformers' ``1_Pooling/config.json``; mean without one.

    Raises EmbedderUnavailableError for a pooling that isn't one of these two.
    """
    if file is None:
        return "mean"
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EmbedderUnavailableError(
            f"{file} can't be read: {error}.", EMBEDDING.remedy
        ) from error
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
