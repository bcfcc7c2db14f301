"""The models behind the options that are timed: servers for Ollama's part, and cross-encoders of
the default reranker's size. Nothing is downloaded; what can't be had here is left out by name."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ragvault.adapters.ollama.chat import OllamaChat
from ragvault.config.settings import OllamaSettings, RerankSettings, Settings
from ragvault.wiring import Container
from tests.support import cross_encoders
from tests.support.ollama_fixtures import OllamaHandle, real_server, scripted_ollama
from tests.support.ollama_real import CHAT_MODEL, why_not

# What cross-encoder/ms-marco-MiniLM-L-6-v2 is, but for its weights: those are random here.
MINILM_L6 = cross_encoders.Size(
    hidden=384, layers=6, heads=12, intermediate=1536, positions=512, spread=0.02
)
_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class ChatServer:
    """A model server as ragvault sees it, and the process that its work is done in."""

    handle: OllamaHandle
    chat: OllamaChat
    model: str
    is_real: bool

    def cpu(self) -> float:
        """Seconds of processor time that the model has taken; 0 for a script, and where Linux's
        /proc is missing."""
        if not self.is_real:
            return 0.0
        try:
            text = Path(f"/proc/{self.handle.process.pid}/stat").read_text(encoding="ascii")
        except OSError:
            return 0.0
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def script(self, question: str, passage: str, folders: Sequence[str]) -> None:
        """What a good model might write when asked for all three."""
        wordings = [f"{lead} {question.rstrip('?')}?" for lead in ("Tell me:", "In short,", "Why,")]
        written = {"folders": [*folders], "expand": wordings, "hyde": passage}
        self.handle.play({"replies": [json.dumps(written)]})


@contextmanager
def scripted(settings: Settings) -> Iterator[ChatServer]:
    """A server that answers at once: what is timed is ragvault's own part."""
    with scripted_ollama() as handle, _chat(handle) as chat:
        yield ChatServer(handle, chat, settings.ollama.model, is_real=False)


@contextmanager
def real() -> Iterator[ChatServer]:
    """SmolLM2-135M on one core."""
    with real_server() as handle, _chat(handle) as chat:
        yield ChatServer(handle, chat, CHAT_MODEL, is_real=True)


def why_no_real_model() -> str | None:
    """Why there is no real model here, or None."""
    return why_not()


@contextmanager
def _chat(handle: OllamaHandle) -> Iterator[OllamaChat]:
    chat = OllamaChat(OllamaSettings(host=handle.url, timeout_s=_TIMEOUT_S))
    try:
        yield chat
    finally:
        chat.close()


# --------------------------------------------------------------------------- rerankers


def why_no_cross_encoders() -> str | None:
    """Which packages for building them are missing, or None."""
    needed = ("torch", "transformers", "sentence_transformers", "onnx")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    return f"{', '.join(missing)} not installed" if missing else None


def reranker_settings(folder: Path, size: cross_encoders.Size) -> dict[str, RerankSettings]:
    """By row, where it can be built: a cross-encoder as torch exports it, and with int8 weights (as
    the hub's file for most processors is)."""
    if why_no_cross_encoders():
        return {}
    built = folder / "cross-encoder"
    cross_encoders.write_bert(built, size=size)
    cross_encoders.export_bert(built)
    int8 = _quantised(built, folder / "cross-encoder int8")
    return {
        "rerank: onnx, int8": RerankSettings(backend="onnx", path=str(int8)),
        "rerank: onnx, float32": RerankSettings(backend="onnx", path=str(built)),
    }


def reranking(base: Settings, wanted: RerankSettings) -> Container:
    """A container for nothing but its reranker; the caller closes it."""
    return Container(base.model_copy(update={"rerank": wanted}))


def _quantised(built: Path, target: Path) -> Path:
    import logging
    import shutil

    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.getLogger().setLevel(logging.ERROR)  # it recommends a step that changes nothing here
    target.mkdir()
    quantize_dynamic(built / "model.onnx", target / "model.onnx", weight_type=QuantType.QInt8)
    for name in ("tokenizer.json", "config.json"):
        shutil.copyfile(built / name, target / name)
    return target
