"""What the test server says: the models it has, and replies from a script."""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.taken import blocks, changed, sentence_of

Wait = Callable[[float | None], None]


class Refusal(Exception):
    """An answer with an HTTP status and Ollama's ``{"error": …}``."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Gone(Exception):
    """The connection is to be cut, or the client has hung up."""


@dataclass
class Model:
    name: str
    context_length: int | None = 8192
    capabilities: tuple[str, ...] = ("completion",)
    digest: str = ""
    family: str = "llama"
    parameters: str = ""
    parameter_count: int = 8_000_000_000
    size: int = 1_000_000
    loaded: bool = False

    def __post_init__(self) -> None:
        self.name = self.name if ":" in self.name else f"{self.name}:latest"
        self.digest = self.digest or hashlib.sha256(self.name.encode()).hexdigest()
        self.capabilities = tuple(self.capabilities)

    def details(self) -> dict[str, Any]:
        return {
            "parent_model": "",
            "format": "gguf",
            "family": self.family,
            "families": [self.family],
            "parameter_size": f"{self.parameter_count / 1e9:.1f}B",
            "quantization_level": "Q4_1",
        }

    def must(self, capability: str, otherwise: str) -> None:
        if capability not in self.capabilities:
            raise Refusal(400, otherwise)


class Models:
    """What both kinds of server share."""

    version = "0.12.0"
    down: frozenset[str] = frozenset()
    models: list[Model]

    def find(self, name: str | None) -> Model:
        if not name:
            raise Refusal(400, "model is required")
        tagged = name if ":" in name else f"{name}:latest"
        for model in self.models:
            if model.name == tagged:
                return model
        raise Refusal(404, f"model '{name}' not found")


class Script(Models):
    """Replies from a script (see ollama_server)."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.version = script.get("version", self.version)
        self.down = frozenset(script.get("down", ()))
        listed = script.get("models", [{"name": "llama3.2:latest"}])
        self.models = [Model(**({"name": m} if isinstance(m, str) else m)) for m in listed]
        replies = [_normal(reply) for reply in script.get("replies", ["A scripted reply."])]
        self._matching = [reply for reply in replies if "when" in reply]
        self._in_order = [reply for reply in replies if "when" not in reply]
        self._embed = script.get("embed", {})
        self._next = 0
        self._lock = threading.Lock()

    def reply(
        self, body: dict[str, Any], messages: list[dict[str, Any]], wait: Wait
    ) -> Iterator[tuple[str, Any]]:
        """(kind, value) pairs; kind is text, thinking, raw, error or final."""
        reply = self._choose(messages)
        if reply.get("status", 200) != 200:
            raise Refusal(reply["status"], reply.get("error", "scripted failure"))
        return _play(reply, messages, wait)

    def _choose(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        last = str(messages[-1].get("content", ""))
        for reply in self._matching:
            if re.search(reply["when"], last, re.DOTALL):
                return reply
        if not self._in_order:
            raise Refusal(500, "no reply in the script matches")
        with self._lock:
            reply = self._in_order[min(self._next, len(self._in_order) - 1)]
            self._next += 1
        return reply

    def embed(self, body: dict[str, Any], texts: list[str]) -> tuple[list[list[float]], int]:
        """Vectors made from a hash of each text, or those of the script."""
        rule = self._embed
        if rule.get("status", 200) != 200:
            raise Refusal(rule["status"], rule.get("error", "scripted failure"))
        longest = rule.get("max_chars")
        if longest is not None and any(len(text) > longest for text in texts):
            raise Refusal(400, "the input length exceeds the context length")
        vectors = rule.get("vectors")
        if vectors is None:
            vectors = [hashed_vector(text, rule.get("dimensions", 16)) for text in texts]
        return vectors, sum(len(text.split()) for text in texts)


def _normal(reply: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(reply, str):
        return {"steps": [{"text": reply}]}
    return reply


def _play(
    reply: dict[str, Any], messages: list[dict[str, Any]], wait: Wait
) -> Iterator[tuple[str, Any]]:
    prompt = "\n".join(str(item.get("content", "")) for item in messages)
    count = 0
    for step in reply.get("steps", []):
        if "text" in step:
            for word in re.findall(
                r"\s*\S+\s*$|\s*\S+|\s+", filled(step["text"], prompt, messages)
            ):
                count += 1
                yield "text", word
        elif "chunks" in step:
            for chunk in step["chunks"]:
                count += 1
                yield "text", filled(chunk, prompt, messages)
        elif "disconnect" in step:
            raise Gone
        elif "stall" in step:
            wait(None)
        elif "delay_s" in step:
            wait(step["delay_s"])
        else:
            kind = next(iter(step))  # thinking, raw or error
            yield kind, step[kind]
    done = reply.get("done", {})
    if done is not False:
        yield "final", {**_statistics(len(prompt) // 4, count), **done}


def filled(text: str, prompt: str, messages: list[dict[str, Any]]) -> str:
    """``{citation:n}``, ``{sentence:n}``, ``{changed:n}`` and ``{last}`` filled in from the
    prompt."""
    sent = blocks(prompt)

    def taken(match: re.Match[str]) -> str:
        block = sent[min(int(match[2]), len(sent)) - 1]  # fewer were sent: the last
        if match[1] == "citation":
            return f"[File: {block.file}, Section: {block.section}]"
        return sentence_of(block.content) if match[1] == "sentence" else changed(block.content)

    text = re.sub(r"\{(citation|sentence|changed):(\d+)\}", taken, text)
    return text.replace("{last}", str(messages[-1].get("content", "")))


def _statistics(prompt_tokens: int, tokens: int, reason: str = "stop") -> dict[str, Any]:
    return {
        "done_reason": reason,
        "load_duration": 1,
        "prompt_eval_count": prompt_tokens,
        "prompt_eval_duration": 1,
        "eval_count": tokens,
        "eval_duration": 1,
    }


def hashed_vector(text: str, dimensions: int) -> list[float]:
    """A unit vector that depends on the text alone."""
    digest = hashlib.shake_256(text.encode("utf-8", "replace")).digest(dimensions * 2)
    raw = [int.from_bytes(digest[i : i + 2], "big") / 32768 - 1 for i in range(0, len(digest), 2)]
    length = math.sqrt(sum(value * value for value in raw)) or 1.0
    return [value / length for value in raw]
