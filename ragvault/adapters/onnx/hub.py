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
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.adapters.facts import FactStore, remembered_sha256
from ragvault.adapters.models import DEFAULT_MODEL, Notify, Purpose, first_line
from ragvault.errors import ModelError

if TYPE_CHECKING:
    from ragvault.config.settings import EmbeddingSettings, RerankSettings

KNOWN = {
    (DEFAULT_MODEL, "onnx/model_qint8_avx512_vnni.onnx"): (
        "4278337fd0ff3c68bfb6291042cad8ab363e1d9fbc43dcb499fe91c871902474"
    ),
}
_REACH_TIMEOUT_S = 5.0


def onnx_candidates(machine: str, flags: frozenset[str]) -> tuple[str, ...]:
    """The hub's file names for a processor, best first, ending with what runs anywhere.

    Every int8 file runs on every processor; the choice is one of speed, and with AVX2 of
    precision too (without VNNI, int8 × int8 sums saturate: hence the unsigned, 7-bit one).
    """
    anywhere = ("onnx/model_quantized.onnx", "onnx/model_int8.onnx", "onnx/model.onnx")
    if machine.lower() in ("arm64", "aarch64"):
        return ("onnx/model_qint8_arm64.onnx", *anywhere)
    if "avx512_vnni" in flags:
        return ("onnx/model_qint8_avx512_vnni.onnx", "onnx/model_quint8_avx2.onnx", *anywhere)
    if "avx512f" in flags:
        return ("onnx/model_qint8_avx512.onnx", "onnx/model_quint8_avx2.onnx", *anywhere)
    return ("onnx/model_quint8_avx2.onnx", *anywhere)


def cpu_flags() -> frozenset[str]:
    """The processor's feature names; empty where there is no file that says (not Linux)."""
    try:
        cpu = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return frozenset()
    flags = re.search(r"^flags\s*:(.*)", cpu, re.MULTILINE)
    return frozenset(flags[1].split() if flags else ())


class Hub:
    """The repository that the settings name, through ``huggingface_hub``. All raise the purpose's
    error."""

    def __init__(
        self,
        wanted: EmbeddingSettings | RerankSettings,
        purpose: Purpose,
        facts: FactStore,
        notify: Notify,
    ) -> None:
        # Read when the module is imported. ragvault sends nothing but the requests for files.
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        import huggingface_hub

        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # failures are raised
        self._hub = huggingface_hub
        self._model = wanted.model
        self._download = wanted.download
        self._purpose = purpose
        self._facts = facts
        self._notify = notify
        self._reached = False

    def weights(self) -> tuple[Path, str]:
        """The .onnx file that suits this processor, and its name in the repository: any that is
        cached before any that isn't."""
        names = onnx_candidates(platform.machine(), cpu_flags())
        for find in (self._cached, self.file):
            for name in names:
                if (file := find(name)) is not None:
                    return file, name
        if not self._download:
            raise self._purpose.error(
                f"The {self._purpose.noun} {self._model} isn't on this machine, and the config "
                f"forbids downloading it ({self._purpose.section}.download: false).",
                self._purpose.remedy,
            )
        raise self._purpose.error(
            f"The hub's repository {self._model} holds no ONNX file that ragvault can use "
            f"(looked for {', '.join(names)}).",
            self._purpose.without_onnx,
        )

    def file(self, name: str) -> Path | None:
        """The file from the cache or the hub; None when the repository hasn't got it, or it isn't
        here and may not be fetched."""
        file = self._cached(name)
        return self._fetched(name) if file is None and self._download else file

    def companion(self, name: str) -> Path | None:
        """As ``file``, but the hub is asked only while it is asked for the model anyway: for a
        file that models of earlier versions were cached without."""
        return self.file(name) if self._reached else self._cached(name)

    def verified(self, file: Path, name: str) -> str:
        """The file's hash, after comparing it with all that is known of it."""
        actual = remembered_sha256(file, self._facts)
        pin = f"{self._model}/{name}"
        blob = file.resolve().name
        expected = {
            KNOWN.get((self._model, name)),
            self._facts.get("pins", pin),
            blob if re.fullmatch("[0-9a-f]{64}", blob) else None,
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

    def _cached(self, name: str) -> Path | None:
        try:
            found = self._hub.try_to_load_from_cache(self._model, name)
        except ValueError as error:  # HFValidationError: not a repository id
            raise self._failed(error) from error
        return Path(found) if isinstance(found, str) else None

    def _fetched(self, name: str) -> Path | None:
        from huggingface_hub import errors

        where = self._hub.constants.ENDPOINT
        self._reach(where)
        self._notify(f"Fetching {name} of the {self._purpose.noun} {self._model} from {where}")
        try:
            return Path(self._hub.hf_hub_download(self._model, name))
        except errors.LocalEntryNotFoundError as error:  # offline, or the hub out of reach
            raise self._failed(error) from error
        except errors.EntryNotFoundError:
            return None
        except Exception as error:  # HTTP, sockets, disk, validation: classes without a base
            raise self._failed(error) from error

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

    def _failed(self, error: Exception) -> ModelError:
        if self._hub.constants.HF_HUB_OFFLINE:
            reason = "the hub may not be asked (HF_HUB_OFFLINE is set)"
        else:
            reason = f"it can't be fetched: {first_line(error)}"
        return self._purpose.error(
            f"The {self._purpose.noun} {self._model} isn't on this machine, and {reason}.",
            self._purpose.remedy,
        )
