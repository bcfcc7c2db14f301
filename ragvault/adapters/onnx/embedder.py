"""The default embedder: a sentence model in ONNX Runtime, without torch.

One text a run, no padding: measured on two cores that is 1.4 times as fast as padded batches of
32, and a text's vector can't depend on what it was embedded with (a quantised graph takes the
scale of its activations from all that is in a run). What follows the model is the graph's
business where it gives ``sentence_embedding``, else its folder's (``Head``); at last L2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ragvault.adapters.families import family_of, known_as
from ragvault.adapters.models import (
    EMBEDDING,
    FactStore,
    PrefixedEmbedder,
    remembered_sha256,
    unit_rows,
    usable_cores,
)
from ragvault.adapters.onnx.int8 import has_vnni, in_int8
from ragvault.adapters.onnx.model_files import (
    DATA_PACKAGE_SHA256,
    ModelFiles,
    find_model,
    read_json,
)
from ragvault.adapters.onnx.runtime import Session, SideBySide, opener
from ragvault.adapters.onnx.tokenizer import Tokenizer
from ragvault.config.profiles import model_named
from ragvault.config.settings import Settings
from ragvault.errors import EmbedderUnavailableError
from ragvault.model import Matrix

_WINDOW = 256  # tokens, for a model of a family that nobody knows
_WHOLE = "sentence_embedding"  # the output of a graph that pools, as exporters name it
_TOKENS = ("last_hidden_state", "token_embeddings")  # that of each token; else the first
_ARITHMETIC = "l2/1"  # change it when the arithmetic below changes: it is fingerprinted


class OnnxEmbedder(PrefixedEmbedder):
    """What the section ``embedding`` names. Thread-safe; loads its model at the first embedding.

    The longest input is as the model's folder says, else as its family was trained, 256 tokens
    where that isn't known. All methods but ``close`` raise EmbedderUnavailableError when the model
    can't be found, loaded or run.
    """

    def __init__(self, settings: Settings, facts: Path | None = None) -> None:
        super().__init__(settings, facts)
        self._side_by_side = SideBySide(self._wanted.threads or usable_cores())
        self.model = known_as(self._wanted, model_named(self._wanted))
        self._session: _SentenceModel | None = None
        self._kept: frozenset[str] = frozenset()

    @cached_property
    def files(self) -> ModelFiles:
        return find_model(EMBEDDING, self._wanted, self._facts)

    @cached_property
    def _head(self) -> Head:
        family = family_of(self.model)
        return Head(self.files.model, family.pooling if family else "mean")

    @cached_property
    def _window(self) -> int:
        family = family_of(self.model)
        return self._head.window or (family.window if family else _WINDOW)

    @property
    def fingerprint(self) -> str:
        return self._fingerprint(in_int8=self._is_int8)

    def keep_to(self, fingerprints: Collection[str]) -> None:
        with self._lock:
            self._kept = frozenset(fingerprints)
            self.__dict__.pop("_is_int8", None)
            self._session = None

    @cached_property
    def _is_int8(self) -> bool:
        """Only the bundled model was measured so, and only with VNNI."""
        if self.files.sha256 != DATA_PACKAGE_SHA256 or not has_vnni():
            return False
        floats, int8 = (self._fingerprint(in_int8=is_int8) for is_int8 in (False, True))
        return int8 in self._kept or floats not in self._kept

    def _fingerprint(self, *, in_int8: bool) -> str:
        files = self.files
        arithmetic = f"{self._head.identity(self._facts)}-{_ARITHMETIC}"
        arithmetic += "-int8" if in_int8 else ""
        weights = files.weights_sha256
        digest = self._hashed(weights, files.tokenizer_sha256, arithmetic, str(self._window))
        return f"onnx-{weights[:8]}-{self._window}-{digest}"

    @property
    def max_tokens(self) -> int:
        # Without the two specials and the prefix, a token a byte: loading a large tokenizer to
        # count it takes seconds, which words would wait for.
        return max(1, self._window - 2 - len(self.prefixes.document.encode()))

    @property
    def name(self) -> str:
        return self.files.name

    @property
    def source(self) -> str:
        return self.files.source

    @property
    def _prompts(self) -> Path | None:
        return self.files.prompts

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._tokenizer.count(texts)

    def vocabulary_share(self, text: str) -> float:
        return self._tokenizer.vocabulary_share(text)

    def close(self) -> None:
        with self._lock:
            self._side_by_side.close()
            self._session = None
            self.__dict__.pop("_tokenizer", None)

    def _embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        session, tokenizer = self._load_session(), self._tokenizer

        def vector(text: str) -> Matrix:
            return session.vector(tokenizer.encode(text, self._window))

        rows = self._side_by_side.map(vector, texts)
        return np.concatenate(rows) if rows else np.zeros((0, 0), np.float32)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self.files.tokenizer)

    def _load_session(self) -> _SentenceModel:
        with self._lock:
            if self._session is None:
                opened = None
                if self._is_int8:  # in floats it would take four times the room
                    folder = self._facts.path.parent if self._facts.path else None
                    opened = opener(folder, self._in_int8)
                else:
                    self.files.verify()
                empty = self._tokenizer.encode("", 8)
                self._session = _SentenceModel(self.files.model, self._head, empty, opened)
            return self._session

    def _in_int8(self) -> bytes:
        self.files.verify()
        return in_int8(self.files.model.read_bytes())


class _SentenceModel(Session):
    def __init__(
        self, file: Path, head: Head, probe: Sequence[int], opened: Callable[[], Any] | None
    ) -> None:
        super().__init__(file, EMBEDDING, opened)
        self._head = head
        self._tokens = next((name for name in _TOKENS if name in self.outputs), None)
        self.dimensions = 0
        self.dimensions = self.vector(probe).shape[-1]

    def vector(self, ids: Sequence[int]) -> Matrix:
        """One text's unit row, shape (1, d)."""
        if _WHOLE in self.outputs:
            vector = self._output(ids, _WHOLE)
        else:
            output = self._output(ids, self._tokens)
            vector = output if output.ndim == 1 else self._head.apply(output)
        if vector.ndim != 1 or self.dimensions not in (0, len(vector)):
            raise self.bad(f"gave a vector of shape {vector.shape}")
        return unit_rows(vector[None], self.bad)

    def _output(self, ids: Sequence[int], name: str | None) -> Any:
        """For one text: float, shape (len(ids), d) or, where the model pools, (d,)."""
        output = self.run(ids, output=name)
        width = output.shape[-1] if output.ndim else 0
        if output.shape not in ((1, len(ids), width), (1, width)) or width < 1:
            raise self.bad(f"gave an output of shape {output.shape} for {len(ids)} tokens")
        return output[0]


# ``modules.json`` of a sentence-transformers folder lists what comes after the model; without one,
# pooling is in ``1_Pooling/config.json``. A graph that gives ``sentence_embedding`` has all of it
# inside, and nothing here is done again.

_KINDS = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}
_KINDS |= {"last": "last", "lasttoken": "last"}
_FLOATS = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}
_WEIGHTS = "model.safetensors"  # of a dense layer
_TANH = "torch.nn.modules.activation.Tanh"
_ACTIVATIONS = ("torch.nn.modules.linear.Identity", _TANH)


class Head:
    """``model`` is the .onnx file, its folder or the one above says what it is; ``usual`` is the
    pooling ("mean", "cls", "last") when neither does.

    Raises EmbedderUnavailableError for what can't be read and for modules that ragvault doesn't
    know, here or, for the weights, in ``apply``.
    """

    def __init__(self, model: Path, usual: str = "mean") -> None:
        marks = ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json")
        places = (model.parent, model.parent.parent)
        own = [place for place in places if any((place / mark).is_file() for mark in marks)]
        self._folder = own[0] if own else model.parent
        self._dense: list[Path] = []
        self.pooling = usual
        modules = read_json(self._folder / "modules.json", EMBEDDING) or [
            {"type": "Pooling", "path": "1_Pooling"}
        ]
        for module in modules if isinstance(modules, list) else []:
            kind = str(module["type"]).rpartition(".")[2]
            path = self._folder / str(module.get("path", ""))
            if kind == "Pooling":
                self.pooling = _pooling(path / "config.json") or usual
            elif kind == "Dense":
                self._dense.append(path)
            elif kind not in ("Transformer", "Normalize", "Dropout"):
                raise _unknown(f"has a module {kind} that", self._folder / "modules.json")

    @property
    def window(self) -> int | None:
        """The longest input in tokens, specials included; None: the folder doesn't say."""
        said = read_json(self._folder / "sentence_bert_config.json", EMBEDDING) or {}
        longest = said.get("max_seq_length") if isinstance(said, dict) else None
        return longest if isinstance(longest, int) and longest > 0 else None

    def identity(self, facts: FactStore) -> str:
        """For a fingerprint: the pooling, and the hashes of the dense layers' files."""
        files = [path / name for path in self._dense for name in ("config.json", _WEIGHTS)]
        return "-".join([self.pooling, *(remembered_sha256(file, facts)[:16] for file in files)])

    @cached_property
    def _layers(self) -> list[tuple[Matrix, Any, bool]]:
        return [_layer(path) for path in self._dense]

    def apply(self, tokens: Matrix) -> Any:
        """The vector of one text, shape (d,), from those of its tokens, shape (tokens, d).

        Summed in float64: linear in tokens x dimensions, and no part of the model's time.
        """
        import numpy as np

        exact = tokens.astype(np.float64)
        vector = {"cls": exact[0], "last": exact[-1]}.get(self.pooling)
        if vector is None:
            vector = exact.sum(axis=0) / len(exact)
        for weight, bias, is_tanh in self._layers:
            if weight.shape[1] != len(vector):
                raise _unknown("has a dense layer of another width, which", self._folder)
            vector = weight @ vector + bias
            vector = np.tanh(vector) if is_tanh else vector
        return vector


def _pooling(file: Path) -> str | None:
    """The pooling that the module's file names; None without a file, or when it names none."""
    said = read_json(file, EMBEDDING)
    if said is None:
        return None
    prefix = "pooling_mode_"
    modes = {
        key.removeprefix(prefix) for key in said if key.startswith(prefix) and said[key] is True
    }
    modes |= {str(said["pooling_mode"])} if "pooling_mode" in said else set()
    kinds = {_KINDS.get(mode) for mode in modes}
    if len(kinds) > 1 or None in kinds or said.get("include_prompt") is False:
        raise _unknown("pools in a way that", file)
    return next(iter(kinds), None)


def _layer(dense: Path) -> tuple[Matrix, Any, bool]:
    """Weight (out, in), bias (out,) or 0, and whether tanh follows."""
    said = read_json(dense / "config.json", EMBEDDING) or {}
    activation = str(said.get("activation_function", _TANH))  # sentence-transformers' default
    if activation not in _ACTIVATIONS:
        raise _unknown(f"has a dense layer with {activation.rpartition('.')[2]}, which", dense)
    tensors = _safetensors(dense / _WEIGHTS)
    return tensors["linear.weight"], tensors.get("linear.bias", 0.0), activation == _TANH


def _safetensors(file: Path) -> dict[str, Any]:
    """The tensors of a file, float64, each of its shape. The format: a length (8 bytes, little
    endian), that many bytes of JSON, the data (https://huggingface.co/docs/safetensors)."""
    import numpy as np

    try:
        raw = file.read_bytes()
        start = 8 + int.from_bytes(raw[:8], "little")
        tensors = {}
        for name, entry in json.loads(raw[8:start]).items():
            if name == "__metadata__":
                continue
            first, end = entry["data_offsets"]
            flat = np.frombuffer(raw[start + first : start + end], _FLOATS[entry["dtype"]])
            tensors[name] = flat.astype(np.float64).reshape(entry["shape"])
        tensors["linear.weight"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise EmbedderUnavailableError(
            f"The embedding model's {file} can't be read: it is damaged or was only half copied.",
            "Copy or download the model's folder again, whole.",
        ) from error
    return tensors


def _unknown(what: str, place: Path) -> EmbedderUnavailableError:
    return EmbedderUnavailableError(
        f"The embedding model {what} ragvault's ONNX adapter doesn't know ({place}).",
        "Use `embedding.backend: sentence-transformers` for this model.",
    )
