"""Embeddings from a model that Ollama serves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ragvault.adapters.families import best_known, family_of
from ragvault.adapters.models import PrefixedEmbedder, encodable, unit_rows
from ragvault.adapters.ollama.client import OllamaServer, context_length, same_model
from ragvault.config.profiles import PROFILES
from ragvault.config.settings import Settings
from ragvault.errors import EmbedderUnavailableError, ModelMissingError
from ragvault.model import Matrix

_BATCH = 32  # texts a request: bounds the reply, and how long Ctrl-C waits
_WINDOW = 512  # tokens, for a model that neither ragvault nor the server knows the context of
_BLANK = "-"  # sent in place of a text without any token, for which models give no vector


class OllamaEmbedder(PrefixedEmbedder):
    """The model ``ollama.embedding_model`` of the server at ``ollama.host``; where none is named,
    the profile's, or, where the profile has none there, the best that the server has of those
    that ragvault knows. That one stays as long as the server has it: one that is pulled later
    must not make every vector anew.

    The fingerprint holds the digest that the server names, so pulling a new version of the model
    re-indexes. With the server down it is the last one known, from the file ``facts``: what is
    indexed stays usable, only embedding fails. All methods raise EmbedderUnavailableError when
    server or model can't be had.
    """

    def __init__(self, settings: Settings, facts: Path | None = None) -> None:
        super().__init__(settings, facts)
        self._server = OllamaServer(settings.ollama)
        self._url = self._server.url
        self.source = f"Ollama at {self._url}"
        self._named = settings.ollama.embedding_model
        self._served = PROFILES[settings.embedding.profile].served
        self._keep_alive = settings.ollama.keep_alive

    @property
    def name(self) -> str:
        return f"{self.model} (Ollama)"

    @cached_property
    def model(self) -> str:
        if self._named is not None:
            return self._named
        key = f"{self._url} {self._served or 'best'}"
        chosen = self._facts.get("ollama-model", key)
        try:
            there = [item.model for item in self._listed() if self._may_be(item.model)]
        except EmbedderUnavailableError:
            if chosen is None:
                raise
            return chosen
        if chosen not in there:
            chosen = best_known(there)
        if chosen is None:
            raise EmbedderUnavailableError(
                f"Ollama at {self._url} has no "
                f"{self._served or 'embedding model that ragvault knows'}.",
                f"Pull it with `ollama pull {self._served or 'embeddinggemma'}`, or name another "
                "as `ollama.embedding_model`.",
            )
        self._facts.put("ollama-model", key, chosen)
        return chosen

    def _may_be(self, name: str | None) -> bool:
        """Whether a model of the server is one to choose: the profile's, with any tag, where it
        has one there."""
        base = (name or "").rpartition("/")[2].partition(":")[0]
        return base == self._served if self._served else bool(name)

    @property
    def fingerprint(self) -> str:
        digest, window = self._digest, str(self._window)
        return f"ollama-{digest[:8]}-{window}-{self._hashed(digest, window)}"

    @property
    def max_tokens(self) -> int:
        """In the server's tokens; ``count_tokens`` estimates them."""
        prefix = self.count_tokens([self.prefixes.document])[0]
        return max(16, self._window - 2 - prefix)

    @cached_property
    def _window(self) -> int:
        """The longest input in tokens: what the model was trained on, at most what it is served
        with."""
        known = self._facts.get("context", self._digest)
        if known is None or not known.isdigit():
            known = str(self._context_length())
            self._facts.put("context", self._digest, known)
        family = family_of(self.model)
        return min(int(known), family.window if family else int(known))

    @cached_property
    def _digest(self) -> str:
        """The server's digest of the model, asked once a process; the last known if it is down."""
        key = f"{self._url} {self.model}"
        try:
            digest = self._served_digest()
        except EmbedderUnavailableError:
            if (known := self._facts.get("ollama", key)) is None:
                raise
            return known
        self._facts.put("ollama", key, digest)
        return digest

    def _listed(self) -> Sequence[Any]:
        """What the server has, each with its name and digest."""
        try:
            listed: Sequence[Any] = self._server.client.list().models
        except Exception as error:
            raise self._unavailable(error) from error
        return listed

    def _served_digest(self) -> str:
        for item in self._listed():
            if item.model and same_model(item.model, self.model):
                return str(item.digest or item.model)
        raise EmbedderUnavailableError(
            f"Ollama at {self._url} has no embedding model {self.model!r}.",
            f"Pull it with `ollama pull {self.model}`.",
        )

    def _context_length(self) -> int:
        model = self.model
        try:
            info = self._server.client.show(model).modelinfo or {}
        except Exception as error:
            raise self._unavailable(error) from error
        return context_length(info) or _WINDOW

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """An estimate, mostly too high: Ollama has no endpoint that counts.

        A token for each three ASCII characters, and one for each other one: English prose has
        about 4.5 characters a token, code 3, and Chinese or emoji near one token each.
        """
        counts = []
        for text in texts:
            ascii_only = len(text.encode("ascii", "ignore"))
            counts.append(math.ceil(ascii_only / 3) + len(text) - ascii_only)
        return counts

    def close(self) -> None:
        self._server.close()

    def _embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        if not texts:
            return np.zeros((0, 0), np.float32)
        sent = [encodable(text) if text.strip() else _BLANK for text in texts]
        parts = [self._request(sent[i : i + _BATCH]) for i in range(0, len(sent), _BATCH)]
        return np.concatenate(parts)

    def _request(self, texts: Sequence[str]) -> Matrix:
        """One request; texts that the server refuses as too long go again, cut shorter."""
        import ollama

        model = self.model
        try:
            reply = self._server.client.embed(
                model=model, input=list(texts), truncate=True, keep_alive=self._keep_alive
            )
        except ollama.ResponseError as error:
            if "context length" not in str(error.error) or max(map(len, texts)) < 64:
                raise self._unavailable(error) from error
            return self._one_by_one(texts)
        except Exception as error:
            raise self._unavailable(error) from error
        rows = reply.embeddings
        width = len(rows[0]) if rows else 0
        if len(rows) != len(texts) or not width or any(len(row) != width for row in rows):
            raise self._bad(f"gave {len(rows)} vectors for {len(texts)} texts, or uneven ones")
        return unit_rows(rows, self._bad)

    def _one_by_one(self, texts: Sequence[str]) -> Matrix:
        """Some versions of Ollama refuse long input instead of cutting it, as they were asked."""
        import numpy as np

        if len(texts) == 1:
            return self._request([texts[0][: len(texts[0]) // 2]])
        return np.concatenate([self._request([text]) for text in texts])

    def _unavailable(self, error: Exception) -> EmbedderUnavailableError:
        known = self._server.explain(error, self._named or self.__dict__.get("model", ""))
        hint = known.hint
        if not isinstance(known, ModelMissingError) and "ollama serve" in hint:
            hint = "Start Ollama with `ollama serve`, or set `embedding.profile: bundled`."
        return EmbedderUnavailableError(known.message, hint)

    def _bad(self, what: str) -> EmbedderUnavailableError:
        return EmbedderUnavailableError(
            f"The embedding model {self.model!r} of Ollama at {self._url} {what}.",
            "Pull it again, or use another embedding model (ollama.embedding_model).",
        )
