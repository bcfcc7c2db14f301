"""What a sentence-transformers folder says comes after the model: pooling, then dense layers.

``modules.json`` lists the modules; without one, pooling is in ``1_Pooling/config.json``. A graph
that gives ``sentence_embedding`` has all of it inside, and nothing here is done again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ragvault.adapters.models import EMBEDDING, FactStore, remembered_sha256
from ragvault.errors import EmbedderUnavailableError
from ragvault.model import Matrix

_KINDS = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}
_KINDS |= {"last": "last", "lasttoken": "last"}
_FLOATS = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}
_TANH = "torch.nn.modules.activation.Tanh"
_ACTIVATIONS = ("torch.nn.modules.linear.Identity", _TANH)


class Head:
    """``model`` is the .onnx file, its folder or the one above says what it is; ``usual`` is the
    pooling ("mean", "cls", "last") when neither does.

    Raises EmbedderUnavailableError for what can't be read and for modules that ragvault doesn't
    know, here or, for the weights, in ``load``.
    """

    def __init__(self, model: Path, usual: str = "mean") -> None:
        marks = ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json")
        places = (model.parent, model.parent.parent)
        own = [place for place in places if any((place / mark).is_file() for mark in marks)]
        self._folder = own[0] if own else model.parent
        self._dense: list[Path] = []
        self.pooling = usual
        modules = _object(self._folder / "modules.json") or [
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
        self._layers: list[tuple[Matrix, Any, bool]] = []

    @property
    def window(self) -> int | None:
        """The longest input in tokens, specials included; None: the folder doesn't say."""
        said = _object(self._folder / "sentence_bert_config.json") or {}
        longest = said.get("max_seq_length") if isinstance(said, dict) else None
        return longest if isinstance(longest, int) and longest > 0 else None

    def identity(self, facts: FactStore) -> str:
        """For a fingerprint: the pooling, and the hashes of the dense layers' files."""
        files = [path / name for path in self._dense for name in ("config.json", _weights(path))]
        return "-".join([self.pooling, *(remembered_sha256(file, facts)[:16] for file in files)])

    def load(self) -> None:
        self._layers = [_layer(path) for path in self._dense]

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
    said = _object(file)
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


def _weights(dense: Path) -> str:
    name = "model.safetensors"
    if not (dense / name).is_file():
        raise EmbedderUnavailableError(
            f"The embedding model's {dense / name} is missing.",
            "Copy or download the model's folder again, whole.",
        )
    return name


def _layer(dense: Path) -> tuple[Matrix, Any, bool]:
    """Weight (out, in), bias (out,) or 0, and whether tanh follows."""
    said = _object(dense / "config.json") or {}
    activation = str(said.get("activation_function", _TANH))  # sentence-transformers' default
    if activation not in _ACTIVATIONS:
        raise _unknown(f"has a dense layer with {activation.rpartition('.')[2]}, which", dense)
    tensors = _safetensors(dense / _weights(dense))
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


def _object(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise EmbedderUnavailableError(
            f"{file} can't be read: {error}.", EMBEDDING.remedy
        ) from error


def _unknown(what: str, place: Path) -> EmbedderUnavailableError:
    return EmbedderUnavailableError(
        f"The embedding model {what} ragvault's ONNX adapter doesn't know ({place}).",
        "Use `embedding.backend: sentence-transformers` for this model.",
    )
