"""The protobuf fields that a small ONNX model needs, encoded by hand.

The package ``onnx`` is not a dependency (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

FLOAT, INT64 = 1, 7
_KINDS = {"float32": FLOAT, "int8": 3, "int64": INT64}
_EXTERNAL = 1

Attribute = int | float | Sequence[int]


def message(field: int, content: bytes) -> bytes:
    """A field that holds bytes: a text, or another message."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """An integer, 0 or more: seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def text(field: int, value: str) -> bytes:
    return message(field, value.encode())


def tensor(name: str, array: np.ndarray, place: tuple[str, int] | None = None) -> bytes:
    """``place``: the file beside the model, and the offset in it, where the data is; else it is
    part of the tensor."""
    shape = b"".join(number(1, size) for size in array.shape)
    head = shape + number(2, _KINDS[array.dtype.name]) + text(8, name)
    if place is None:
        return head + message(9, array.tobytes())
    entries = {"location": place[0], "offset": str(place[1]), "length": str(array.nbytes)}
    said = (message(13, text(1, key) + text(2, value)) for key, value in entries.items())
    return head + b"".join(said) + number(14, _EXTERNAL)


def node(
    kind: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Attribute] | None = None,
    domain: str = "",
) -> bytes:
    names = b"".join(text(1, name) for name in inputs)
    names += b"".join(text(2, name) for name in outputs)
    said = (message(5, _attribute(*item)) for item in (attributes or {}).items())
    return names + text(4, kind) + b"".join(said) + (text(7, domain) if domain else b"")


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return text(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return text(1, name) + number(3, value) + number(20, 2)
    return text(1, name) + b"".join(number(8, item) for item in value) + number(20, 7)


def value_info(name: str, kind: int, shape: Sequence[str] = ()) -> bytes:
    dims = b"".join(message(1, text(2, dim)) for dim in shape)
    sized = number(1, kind) + (message(2, dims) if shape else b"")
    return text(1, name) + message(2, message(1, sized))


def model(
    nodes: Sequence[bytes],
    tensors: Sequence[bytes],
    inputs: Sequence[str],
    outputs: Sequence[str],
    opset: int = 13,
) -> bytes:
    """A model file. Inputs are int64 of shape (batch, sequence), outputs float of any shape."""
    graph = b"".join(message(1, item) for item in nodes) + text(2, "tiny")
    graph += b"".join(message(5, item) for item in tensors)
    graph += b"".join(
        message(11, value_info(name, INT64, ["batch", "sequence"])) for name in inputs
    )
    graph += b"".join(message(12, value_info(name, FLOAT)) for name in outputs)
    sets = {"": opset, "com.microsoft": 1}
    used = (message(8, text(1, name) + number(2, version)) for name, version in sets.items())
    return number(1, 8) + message(7, graph) + b"".join(used)
