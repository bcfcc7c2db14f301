"""The default embedder: a BERT-like sentence model in ONNX Runtime, without torch.

One text a run, no padding: measured on two cores that is 1.4 times as fast as padded batches of
32, and a text's vector can't depend on what it was embedded with. Pooling is the mean over all
tokens, specials included, then L2 (sentence-transformers' ``1_Pooling`` of all-MiniLM-L6-v2).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragvault.adapters.cores import usable_cores
from ragvault.adapters.facts import FactStore
from ragvault.adapters.models import EMBEDDING, Notify, PrefixedEmbedder, unit_rows
from ragvault.adapters.onnx.find import find_embedder
from ragvault.adapters.onnx.model_files import DEFAULT_MODEL, ModelFiles
from ragvault.adapters.onnx.runtime import Session, SideBySide
from ragvault.adapters.onnx.tokenizer import Tokenizer

if TYPE_CHECKING:
    from ragvault.config.settings import Settings
    from ragvault.model import Matrix, Vector

_ARITHMETIC = "l2/1"  # change it when the arithmetic below changes: it is fingerprinted
_SLICE = 512  # texts tokenised at a time: bounds memory whatever the caller hands over


class OnnxEmbedder(PrefixedEmbedder):
    """Embeds on this machine's processor. Thread-safe; loads its model at the first embedding.

    ``window`` is the longest input in tokens, specials included (the model card says 256; the
    model itself takes 512). ``cache_file`` is where file hashes are remembered; ``notify`` is
    told in one line what is downloaded from where. All methods but ``close`` raise
    EmbedderUnavailableError when the model can't be found, loaded or run.
    """

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        path: Path | None = None,
        threads: int = 0,
        window: int = 256,
        query_prefix: str = "",
        document_prefix: str = "",
        download: bool = True,
        cache_file: Path | None = None,
        notify: Notify = lambda _line: None,
    ) -> None:
        if not 8 <= window <= 512:
            raise ValueError(f"window must be 8..512 tokens, not {window}")
        super().__init__(query_prefix, document_prefix)
        self._model = model
        self._path = path
        self._side_by_side = SideBySide(threads or usable_cores())
        self._window = window
        self._download = download
        self._facts = FactStore(cache_file)
        self._notify = notify
        self._lock = threading.RLock()
        self._files: ModelFiles | None = None
        self._tokenizer: Tokenizer | None = None
        self._session: _SentenceModel | None = None

    @classmethod
    def from_settings(cls, settings: Settings, facts: Path | None, notify: Notify) -> OnnxEmbedder:
        """As the section ``embedding`` says; see ``config.backends``."""
        wanted = settings.embedding
        return cls(
            model=wanted.model,
            path=Path(wanted.path) if wanted.path else None,
            threads=wanted.threads,
            query_prefix=wanted.query_prefix,
            document_prefix=wanted.document_prefix,
            download=wanted.download,
            cache_file=facts,
            notify=notify,
        )

    # ------------------------------------------------------------------ what it is

    @property
    def files(self) -> ModelFiles:
        """Where the model is; downloads it when it is nowhere else and that is allowed."""
        with self._lock:
            if self._files is None:
                self._files = find_embedder(
                    self._model,
                    self._path,
                    download=self._download,
                    facts=self._facts,
                    notify=self._notify,
                )
            return self._files

    @property
    def fingerprint(self) -> str:
        files = self.files
        digest = self._hashed(
            files.sha256,
            files.tokenizer_sha256,
            f"{files.pooling}-{_ARITHMETIC}",
            str(self._window),
        )
        return f"onnx-{files.sha256[:8]}-{self._window}-{digest}"

    @property
    def dimensions(self) -> int:
        files = self.files
        remembered = self._facts.get("dimensions", files.sha256)
        if remembered is not None and remembered.isdigit():
            return int(remembered)
        return self._load_session().dimensions

    @property
    def max_tokens(self) -> int:
        return self._window - 2  # [CLS] and [SEP]

    @property
    def name(self) -> str:
        return self.files.name

    # ------------------------------------------------------------------ embedding

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, neither specials nor truncation. Linear in the characters."""
        return self._load_tokenizer().count(texts)

    def vocabulary_share(self, text: str) -> float:
        return self._load_tokenizer().vocabulary_share(text)

    def embed_tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """One matrix a text, a unit row for each of its tokens (specials left out), for late
        interaction. Shape (tokens of the text, dimensions); an empty text has no rows."""
        import numpy as np

        session = self._load_session()
        rows: list[Matrix] = [np.zeros((0, session.dimensions), np.float32)] * len(texts)

        def keep(index: int, ids: Sequence[int], output: Any) -> None:
            rows[index] = session.token_rows(output, len(ids))

        self._run_all([self._document_prefix + text for text in texts], keep)
        return rows

    def close(self) -> None:
        with self._lock:
            self._side_by_side.close()
            self._session = self._tokenizer = None

    def _embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        session = self._load_session()
        matrix: Matrix = np.empty((len(texts), session.dimensions), np.float32)

        def keep(index: int, ids: Sequence[int], output: Any) -> None:
            matrix[index] = session.pool(output, len(ids))

        self._run_all(texts, keep)
        return matrix

    def _run_all(
        self, texts: Sequence[str], keep: Callable[[int, Sequence[int], Any], None]
    ) -> None:
        """Run each text; ``keep(index, ids, output)`` may be called from any thread."""
        tokenizer, session = self._load_tokenizer(), self._load_session()
        for start in range(0, len(texts), _SLICE):
            encoded = tokenizer.encode(texts[start : start + _SLICE], self._window)
            # Longest first: the last runs of a slice, where a thread may idle, are the short ones.
            order = sorted(range(len(encoded)), key=lambda i: (-len(encoded[i]), i))

            def work(index: int, encoded: list[list[int]] = encoded, start: int = start) -> None:
                keep(start + index, encoded[index], session.read(encoded[index]))

            self._side_by_side.run(work, order)

    # ------------------------------------------------------------------ loading

    def _load_tokenizer(self) -> Tokenizer:
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = Tokenizer(self.files.tokenizer)
            return self._tokenizer

    def _load_session(self) -> _SentenceModel:
        with self._lock:
            if self._session is None:
                self.files.verify()
                self._session = _SentenceModel(
                    self.files, self._load_tokenizer().encode([""], 8)[0]
                )
                self._facts.put("dimensions", self.files.sha256, str(self._session.dimensions))
            return self._session


class _SentenceModel(Session):
    """The model, and the reading of its output. ``probe`` are the ids of an empty text."""

    def __init__(self, files: ModelFiles, probe: Sequence[int]) -> None:
        super().__init__(files.model, EMBEDDING)
        self._pooling = files.pooling
        self.dimensions = int(self.read(probe).shape[-1])

    def read(self, ids: Sequence[int]) -> Any:
        """The output for one text, float, shape (1, len(ids), d) or (1, d)."""
        output = self.run(ids)
        per_token = output.ndim == 3 and output.shape[:2] == (1, len(ids))
        per_text = output.ndim == 2 and output.shape[0] == 1
        width = output.shape[-1] if output.ndim else 0
        expected = getattr(self, "dimensions", width)  # the first run tells
        if not (per_token or per_text) or width < 1 or width != expected:
            raise self.bad(f"gave an output of shape {output.shape} for {len(ids)} tokens")
        return output

    def pool(self, output: Any, tokens: int) -> Vector:
        """Mean over tokens, or the first one (a 2-D output is pooled already), then L2.

        Summed in float64: linear in tokens x dimensions, and no part of the model's time.
        """
        import numpy as np

        mean = output[0].astype(np.float64)
        if mean.ndim == 2:
            mean = mean[0] if self._pooling == "cls" else mean.sum(axis=0) / tokens
        unit = unit_rows(mean[None])
        if unit is None:
            raise self.bad("gave a vector that is not a number, or of no length")
        vector: Vector = unit[0]
        return vector

    def token_rows(self, output: Any, tokens: int) -> Matrix:
        """Unit rows of the tokens between the specials."""
        if output.ndim != 3:
            raise self.bad("gives one vector a text, none a token")
        unit = unit_rows(output[0, 1 : tokens - 1])
        if unit is None:
            raise self.bad("gave a vector that is not a number, or of no length")
        return unit
