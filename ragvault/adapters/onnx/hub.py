"""Models from the Hugging Face hub: what its local cache holds, and downloads on a person's word.

What arrives is compared with the hash that ``config.profiles`` pins, else with the one that the
hub names. A cached file is compared again when it is used: the cache keeps large files under
their hash.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragvault.adapters.models import first_line, sha256_of
from ragvault.config.profiles import PROFILES, PinnedFile
from ragvault.errors import ModelError

# The files that run anywhere, the smallest first.
ONNX_FILES = tuple(
    f"{folder}{name}.onnx"
    for name in ("model_quantized", "model_int8", "model_quint8_avx2", "model")
    for folder in ("onnx/", "")
)
_SMALL = re.compile(r"(\d+_\w+/)?[^/]+\.(json|txt|model)")
_WEIGHTS = re.compile(r"(\d+_\w+/)?[^/]+\.safetensors")
_NEWEST = "main"
# Read when its library is imported. ragvault sends nothing but the requests for files.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
_REACH_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be fetched: ``missing`` are the files that aren't in the cache. ``folder``
    is where they are, once all are; ``source`` the hub's page."""

    model: str
    revision: str
    licence: str
    files: tuple[PinnedFile, ...]
    missing: tuple[PinnedFile, ...]
    folder: Path | None
    source: str

    @property
    def size(self) -> int:
        return sum(file.size for file in self.missing)


def cached(model: str, names: Iterable[str], revision: str = _NEWEST) -> Path | None:
    """The folder in the hub's cache that holds all ``names`` of a repository; None: none does.
    (Its layout is documented; its own look-up believes for ever that a file isn't there which
    the hub once lacked.)"""
    from huggingface_hub import constants

    repository = Path(constants.HF_HUB_CACHE, f"models--{model.replace('/', '--')}")
    try:
        if revision == _NEWEST:
            revision = (repository / "refs" / revision).read_text(encoding="utf-8").strip()
        folder = repository / "snapshots" / revision
        return folder if all((folder / name).is_file() for name in names) else None
    except (OSError, ValueError):  # ValueError: what no file can be called
        return None


def cached_profile(name: str) -> Path | None:
    """The folder of a profile's files, or of what 0.1 fetched for it."""
    row = PROFILES[name]
    whole = cached(row.repository, [file.path for file in row.files], row.revision)
    return whole or (cached_model(row.repository) if name == "bundled" else None)


def cached_model(model: str) -> Path | None:
    names = (*ONNX_FILES, "onnx/model_qint8_avx512_vnni.onnx", "onnx/model_qint8_arm64.onnx")
    return next((folder for name in names if (folder := cached(model, [name]))), None)


def offer(name: str, *, torch: bool) -> Offer:
    """What ``name`` (a profile, or a hub id, whose files the hub is asked for) takes; ``torch``:
    as sentence-transformers reads it. Raises ModelError."""
    from huggingface_hub import constants

    row = PROFILES.get(name)
    if row is not None and not torch:
        model, revision, licence, files = row.repository, row.revision, row.licence, row.files
    else:
        model = row.original if row is not None else name
        revision = _NEWEST
        licence, files = _listed(model, torch=torch)
    here = [file for file in files if cached(model, [file.path], revision) is not None]
    missing = tuple(file for file in files if file not in here)
    folder = None if missing else cached(model, [file.path for file in files], revision)
    source = f"{constants.ENDPOINT}/{model}"
    return Offer(model, revision, licence, files, missing, folder, source)


def fetch(wanted: Offer, *, progress: bool) -> None:
    """Download what is missing; broken off, the next one goes on there. Raises ModelError."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars

    (enable_progress_bars if progress else disable_progress_bars)()
    for file in wanted.missing:
        with _failures(wanted.model):
            path = hf_hub_download(wanted.model, file.path, revision=wanted.revision)
        actual = sha256_of(Path(path)) if file.sha256 else ""
        if actual != file.sha256:
            Path(path).resolve().unlink()
            raise ModelError(
                f"{file.path} of {wanted.model} is not the file that ragvault expects: its "
                f"SHA-256 is {actual[:12]}…, not {file.sha256[:12]}….",
                "It was deleted. Try again later; if it goes on, report it to ragvault.",
            )


def _listed(model: str, *, torch: bool) -> tuple[str, tuple[PinnedFile, ...]]:
    from huggingface_hub import HfApi, constants

    with _failures(model):
        info = HfApi(constants.ENDPOINT).model_info(model, files_metadata=True)
        there = {
            item.rfilename: PinnedFile(
                item.rfilename, int(item.size or 0), item.lfs.sha256 if item.lfs else ""
            )
            for item in info.siblings or ()
        }
    card: Any = info.card_data or {}
    names = [name for name in there if _SMALL.fullmatch(name)]
    weights = [name for name in there if _WEIGHTS.fullmatch(name)]
    if torch:
        names += weights or [name for name in there if name == "pytorch_model.bin"]
    else:
        graph = next((name for name in ONNX_FILES if name in there), None)
        if graph is None:
            raise ModelError(
                f"The hub's repository {model} holds no ONNX file that ragvault can use (looked "
                f"for {', '.join(ONNX_FILES)}).",
                "Use another model; for embedding also `backend: sentence-transformers`.",
            )
        dense = [name for name in weights if "/" in name]
        names += [graph, *(name for name in there if name.startswith(f"{graph}_data")), *dense]
    licence = str(card.get("license") or "as its page on the hub says")
    return licence, tuple(there[name] for name in names)


@contextmanager
def _failures(model: str) -> Iterator[None]:
    """Whatever the hub's client raises inside comes out as a ModelError."""
    import httpx
    from huggingface_hub import constants

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # failures are raised
    if constants.HF_HUB_OFFLINE:
        raise ModelError(f"{model} can't be fetched: HF_HUB_OFFLINE is set.", "Unset it.")
    try:
        httpx.head(constants.ENDPOINT, timeout=_REACH_TIMEOUT_S)  # its client tries half a minute
        yield
    except Exception as error:  # HTTP, sockets, disk, validation: classes without a base
        raise ModelError(
            f"{model} can't be fetched: {first_line(error)}.",
            "Look at the connection and run the command again: what has come is kept.",
        ) from error
