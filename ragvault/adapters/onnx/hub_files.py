"""Models in ONNX form from the Hugging Face hub: its local cache first, then a download.

The hub keeps one quantised file a kind of processor. What arrives is compared with the hash in
``KNOWN`` (the default model), with the hash that the hub names (large files: their ETag, which the
cache uses as the blob's name), and with the hash at first use, which ``facts`` remembers.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from ragvault.adapters.facts import FactStore, remembered_sha256
from ragvault.adapters.models import EMBEDDING, RERANKING, Notify, Purpose, first_line
from ragvault.adapters.onnx.model_files import (
    BUNDLED_TOKENIZER,
    BUNDLED_TOKENIZER_SHA256,
    DEFAULT_MODEL,
    ModelFiles,
    pooling_of,
)
from ragvault.errors import ModelError

KNOWN = {
    (DEFAULT_MODEL, "onnx/model_qint8_avx512_vnni.onnx"): (
        "4278337fd0ff3c68bfb6291042cad8ab363e1d9fbc43dcb499fe91c871902474"
    ),
}
_POOLING_FILE = "1_Pooling/config.json"
_REACH_TIMEOUT_S = 5.0
_SHA256 = re.compile(r"[0-9a-f]{64}")


def find(model: str, *, download: bool, facts: FactStore, notify: Notify) -> ModelFiles:
    """``model`` is a hub id that has ONNX files. Raises EmbedderUnavailableError."""
    hub = _Hub(model, facts, EMBEDDING)
    file, name = _weights(hub, download, notify)
    pooling_file = None
    tokenizer, tokenizer_sha256 = BUNDLED_TOKENIZER, BUNDLED_TOKENIZER_SHA256
    if model != DEFAULT_MODEL:
        tokenizer = hub.need("tokenizer.json", download, notify)
        tokenizer_sha256 = hub.verified(tokenizer, "tokenizer.json")
        pooling_file = hub.optional(_POOLING_FILE, download, notify)
    return ModelFiles(
        name=_short_name(model, name),
        model=file,
        sha256=hub.verified(file, name),
        tokenizer=tokenizer,
        tokenizer_sha256=tokenizer_sha256,
        pooling=pooling_of(pooling_file),
    )


def find_pair_model(model: str, *, download: bool, facts: FactStore, notify: Notify) -> ModelFiles:
    """A model that reads two texts at once: weights, tokenizer, config. Raises
    RerankerUnavailableError when the repository lacks one of the first two, or can't be had."""
    hub = _Hub(model, facts, RERANKING)
    file, name = _weights(hub, download, notify)
    tokenizer = hub.need("tokenizer.json", download, notify)
    return ModelFiles(
        name=_short_name(model, name),
        model=file,
        sha256=hub.verified(file, name),
        tokenizer=tokenizer,
        tokenizer_sha256=hub.verified(tokenizer, "tokenizer.json"),
        config=hub.optional("config.json", download, notify),
    )


def _short_name(model: str, file: str) -> str:
    return f"{model.rpartition('/')[2]} ({Path(file).stem.removeprefix('model_')} ONNX)"


def _weights(hub: _Hub, download: bool, notify: Notify) -> tuple[Path, str]:
    """The .onnx file that suits this processor, and its name in the repository."""
    wanted = onnx_candidates(platform.machine(), cpu_flags())
    for name in wanted:
        if (file := hub.cached(name)) is not None:
            return file, name
    if not download:
        raise hub.forbidden()
    return hub.first_fetched(wanted, notify)


def onnx_candidates(machine: str, flags: frozenset[str]) -> tuple[str, ...]:
    """The hub's file names for a processor, best first, ending with what runs anywhere.

    Every int8 file runs on every processor; the choice is one of speed, and with AVX2 of
    precision too (without VNNI, int8 × int8 sums saturate: hence the unsigned, 7-bit one).
    """
    anywhere = ("onnx/model_quantized.onnx", "onnx/model_int8.onnx", "onnx/model.onnx")
    if machine.lower() in ("arm64", "aarch64"):
        return ("onnx/model_qint8_arm64.onnx", *anywhere)
    if "avx512_vnni" in flags or "avx512vnni" in flags:
        return ("onnx/model_qint8_avx512_vnni.onnx", "onnx/model_quint8_avx2.onnx", *anywhere)
    if "avx512f" in flags:
        return ("onnx/model_qint8_avx512.onnx", "onnx/model_quint8_avx2.onnx", *anywhere)
    return ("onnx/model_quint8_avx2.onnx", *anywhere)


def cpu_flags() -> frozenset[str]:
    """The processor's feature names, lower case; empty where the system doesn't say (Windows)."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split("\n"):
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].lower().split())
    except OSError:
        pass  # not Linux
    if platform.system() != "Darwin" or platform.machine() == "arm64":
        return frozenset()
    command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.features", "machdep.cpu.leaf7_features"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(done.stdout.lower().split())


class _Hub:
    """One repository of the hub, through ``huggingface_hub``."""

    def __init__(self, model: str, facts: FactStore, purpose: Purpose) -> None:
        # Read when the module is imported. ragvault sends nothing but the requests for files.
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        try:
            import huggingface_hub
        except ImportError as error:
            raise purpose.error(
                f"The package huggingface-hub, which downloads the {purpose.noun}, is missing.",
                purpose.remedy,
            ) from error
        self._hub = huggingface_hub
        self._model = model
        self._facts = facts
        self._purpose = purpose
        self._reached = False
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # failures are raised

    def forbidden(self) -> ModelError:
        return self._purpose.error(
            f"The {self._purpose.noun} {self._model} isn't on this machine, and the config "
            f"forbids downloading it ({self._purpose.section}.download: false).",
            self._purpose.remedy,
        )

    def first_fetched(self, names: tuple[str, ...], notify: Notify) -> tuple[Path, str]:
        for name in names:
            file = self.optional(name, True, notify)
            if file is not None:
                return file, name
        raise self._purpose.error(
            f"The hub's repository {self._model} holds no ONNX file that ragvault can use "
            f"(looked for {', '.join(names)}).",
            self._purpose.without_onnx,
        )

    def need(self, name: str, download: bool, notify: Notify) -> Path:
        file = self.optional(name, download, notify)
        if file is None:
            raise self._purpose.error(
                f"The {self._purpose.noun} {self._model} lacks its {name}.", self._purpose.remedy
            )
        return file

    def optional(self, name: str, download: bool, notify: Notify) -> Path | None:
        """The file from the cache or the hub; None when the repository hasn't got it."""
        file = self.cached(name)
        if file is not None or not download:
            return file
        where = self._hub.constants.ENDPOINT
        self._reach(where)
        notify(f"Fetching {name} of the {self._purpose.noun} {self._model} from {where}")
        return self._translated(lambda: self._hub.hf_hub_download(self._model, name))

    def _reach(self, endpoint: str) -> None:
        """Ask once whether the hub can be reached: its client would try for half a minute."""
        if self._reached:
            return
        if self._hub.constants.HF_HUB_OFFLINE:
            raise self._failed(ConnectionError("offline"))
        import httpx

        try:
            httpx.head(endpoint, timeout=_REACH_TIMEOUT_S)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failed(error) from error
        self._reached = True

    def cached(self, name: str) -> Path | None:
        try:
            found = self._hub.try_to_load_from_cache(self._model, name)
        except ValueError as error:  # HFValidationError: not a repository id
            raise self._failed(error) from error
        return Path(found) if isinstance(found, str) else None

    def _translated(self, fetch: Callable[[], str]) -> Path | None:
        from huggingface_hub import errors

        try:
            return Path(fetch())
        except errors.LocalEntryNotFoundError as error:  # offline, or the hub out of reach
            raise self._failed(error) from error
        except errors.EntryNotFoundError:
            return None
        except Exception as error:  # HTTP, sockets, disk, validation: classes without a base
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> ModelError:
        if self._hub.constants.HF_HUB_OFFLINE:
            reason = "the hub may not be asked (HF_HUB_OFFLINE is set)"
        else:
            reason = f"it can't be fetched: {first_line(error)}"
        return self._purpose.error(
            f"The {self._purpose.noun} {self._model} isn't on this machine, and {reason}.",
            self._purpose.remedy,
        )

    def verified(self, file: Path, name: str) -> str:
        """The file's hash, after comparing it with all that is known of it."""
        actual = remembered_sha256(file, self._facts)
        pin = f"{self._model}/{name}"
        blob = file.resolve().name
        expected = {
            KNOWN.get((self._model, name)),
            self._facts.get("pins", pin),
            blob if _SHA256.fullmatch(blob) else None,
        } - {None}
        if expected - {actual}:
            raise self._purpose.error(
                f"The model file {file} is not what it was, or not what the hub names: "
                f"its SHA-256 is {actual[:12]}….",
                "Delete it and run the command again. If its publisher replaced it on purpose, "
                f"delete the pin {pin!r} in {self._facts.path or 'the fact file'} too.",
            )
        self._facts.put("pins", pin, actual)
        return actual
