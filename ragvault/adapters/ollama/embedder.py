"""Embeddings from a model that Ollama serves."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.adapters.facts import FactStore
from ragvault.adapters.models import Notify, PrefixedEmbedder, encodable, unit_rows
from ragvault.adapters.ollama.client import OllamaServer, context_length, failures, same_model
from ragvault.adapters.prefixes import prefixes_for
from ragvault.errors import EmbedderUnavailableError, ModelMissingError

if TYPE_CHECKING:
    from ragvault.config.settings import Settings
    from ragvault.model import Matrix, Prefixes

_BATCH = 32  # texts a request: bounds the reply, and how long Ctrl-C waits
_WINDOW = 512  # tokens, however much longer the model's context is: more in a vector finds nothing
_BLANK = "-"  # sent in place of a text without any token, for which models give no vector


class OllamaEmbedder(PrefixedEmbedder):
    """The model ``ollama.embedding_model`` of the server at ``ollama.host``.

    The fingerprint holds the digest that the server names, so pulling a new version of the model
    re-indexes. With the server down it is the last one known, from the file ``facts``: what is
    indexed stays usable, only embedding fails. All methods raise EmbedderUnavailableError when
    server or model can't be had.
    """

    def __init__(
        self,
        settings: Settings,
        facts: Path | None = None,
        _notify: Notify = lambda _line: None,
    ) -> None:
        super().__init__(settings.embedding)
        self._server = OllamaServer(settings.ollama)
        self._url = self._server.url
        self._model = settings.ollama.embedding_model
        self._keep_alive = settings.ollama.keep_alive
        self._facts = FactStore(facts)
        self._fact_key = f"{self._url} {self._model}"
        self._lock = threading.RLock()
        self._digest: str | None = None

    # ------------------------------------------------------------------ what it is

    @property
    def name(self) -> str:
        return f"{self._model} (Ollama)"

    @property
    def fingerprint(self) -> str:
        digest = self._known_digest()
        whole = self._hashed(digest, str(_WINDOW))
        return f"ollama-{digest[:8]}-{self.max_tokens}-{whole}"

    @property
    def dimensions(self) -> int:
        return int(self._request([_BLANK]).shape[1])

    @property
    def max_tokens(self) -> int:
        """In the server's tokens; ``count_tokens`` estimates them."""
        key = self._known_digest()
        known = self._facts.get("context", key)
        if known is None or not known.isdigit():
            known = str(self._context_length())
            self._facts.put("context", key, known)
        return max(16, min(int(known), _WINDOW) - 2)

    def _find_prefixes(self) -> Prefixes:
        return prefixes_for(self._wanted, self._model)

    def _known_digest(self) -> str:
        """The server's digest of the model, asked once a process; the last known if it is down."""
        with self._lock:
            if self._digest is None:
                try:
                    self._digest = self._served_digest()
                    self._facts.put("ollama", self._fact_key, self._digest)
                except EmbedderUnavailableError:
                    self._digest = self._facts.get("ollama", self._fact_key)
                    if self._digest is None:
                        raise
            return self._digest

    def _served_digest(self) -> str:
        try:
            listed = self._server.client().list().models
        except failures() as error:
            raise self._unavailable(error) from error
        for item in listed:
            if item.model and same_model(item.model, self._model):
                return item.digest or item.model
        raise EmbedderUnavailableError(
            f"Ollama at {self._url} has no embedding model {self._model!r}.",
            f"Pull it with `ollama pull {self._model}`.",
        )

    def _context_length(self) -> int:
        try:
            info = self._server.client().show(self._model).modelinfo or {}
        except failures() as error:
            raise self._unavailable(error) from error
        return context_length(info) or _WINDOW

    # ------------------------------------------------------------------ embedding

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
            return np.zeros((0, self.dimensions), np.float32)
        sent = [encodable(text) if text.strip() else _BLANK for text in texts]
        parts = [self._request(sent[i : i + _BATCH]) for i in range(0, len(sent), _BATCH)]
        return np.concatenate(parts)

    def _request(self, texts: Sequence[str]) -> Matrix:
        """One request; texts that the server refuses as too long go again, cut shorter."""
        import ollama

        try:
            reply = self._server.client().embed(
                model=self._model, input=list(texts), truncate=True, keep_alive=self._keep_alive
            )
        except ollama.ResponseError as error:
            if "context length" not in str(error.error) or max(map(len, texts)) < 64:
                raise self._unavailable(error) from error
            return self._one_by_one(texts)
        except failures() as error:
            raise self._unavailable(error) from error
        return self._checked(reply.embeddings, len(texts))

    def _one_by_one(self, texts: Sequence[str]) -> Matrix:
        """Some versions of Ollama refuse long input instead of cutting it, as they were asked."""
        import numpy as np

        if len(texts) == 1:
            return self._request([texts[0][: len(texts[0]) // 2]])
        return np.concatenate([self._request([text]) for text in texts])

    def _checked(self, rows: Sequence[Sequence[float]], expected: int) -> Matrix:
        """Unit rows, after checks of count, width and finiteness."""
        width = len(rows[0]) if rows else 0
        if len(rows) != expected or not width or any(len(row) != width for row in rows):
            raise self._bad(f"gave {len(rows)} vectors for {expected} texts, or uneven ones")
        return unit_rows(rows, self._bad)

    def _unavailable(self, error: Exception) -> EmbedderUnavailableError:
        known = self._server.explain(error, self._model)
        hint = known.hint
        if not isinstance(known, ModelMissingError) and "ollama serve" in hint:
            hint = "Start Ollama with `ollama serve`, or set `embedding.backend: onnx`."
        return EmbedderUnavailableError(known.message, hint)

    def _bad(self, what: str) -> EmbedderUnavailableError:
        return EmbedderUnavailableError(
            f"The embedding model {self._model!r} of Ollama at {self._url} {what}.",
            "Pull it again, or use another embedding model (ollama.embedding_model).",
        )
