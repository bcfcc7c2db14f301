"""Writes ONNX models of a few hundred bytes, to see how the adapter takes other models' shapes.

The package ``onnx`` is not a dependency; the few protobuf fields needed are encoded here
(https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER

_FLOAT, _INT64 = 1, 7
VOCABULARY = 30_522  # that of the bundled tokenizer


def write_model(
    path: Path,
    *,
    pooled: bool = False,
    value: float | None = None,
    input_name: str = "input_ids",
    dimensions: int = 3,
    axis: int = 1,
) -> Path:
    """A model that looks each token up in a table: (1, n, d), or ``pooled`` over ``axis``.

    Row i of the table is (i, 1, 1, …), or ``value`` throughout.
    """
    rows = [[float(i), *[1.0] * (dimensions - 1)] for i in range(VOCABULARY)]
    if value is not None:
        rows = [[value] * dimensions for _ in rows]
    table = _tensor("table", rows)
    nodes = [_node("Gather", ["table", input_name], "tokens")]
    if pooled:
        attributes = _ints("axes", [axis]) + _int("keepdims", 0)
        nodes.append(_node("ReduceMean", ["tokens"], "output", attributes))
    output = "output" if pooled else "tokens"
    graph = b"".join(_message(1, node) for node in nodes)
    graph += _text(2, "tiny") + _message(5, table)
    graph += _message(11, _value(input_name, _INT64, ["batch", "sequence"]))
    graph += _message(12, _value(output, _FLOAT, []))
    model = _number(1, 8) + _message(7, graph) + _message(8, _number(2, 13))
    path.write_bytes(model)
    return path


def write_pair_model(
    folder: Path,
    weights: dict[int, float],
    *,
    outputs: int = 1,
    otherwise: float = 0.0,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    tokenizer: bool = True,
) -> Path:
    """A cross-encoder of a table: ``model.onnx`` and ``tokenizer.json`` in a new folder.

    Its logit is the sum of ``weights`` by token id over the passage, that is over the tokens of
    type 1: it shows whether the question is told from the passage. With ``outputs`` 2 it gives
    that twice. ``otherwise`` is what any other token weighs. Without ``token_type_ids`` among
    the inputs every token counts.
    """
    folder.mkdir(parents=True)
    table = [weights.get(i, otherwise) for i in range(VOCABULARY)]
    nodes = [_node("Gather", ["table", "input_ids"], "weighed")]
    if "token_type_ids" in inputs:
        nodes.append(_node("Cast", ["token_type_ids"], "passage", _int("to", _FLOAT)))
        nodes.append(_node("Mul", ["weighed", "passage"], "counted"))
    counted = "counted" if "token_type_ids" in inputs else "weighed"
    sums = _int("keepdims", 1)
    nodes.append(_node("ReduceSum", [counted, "axis"], "sum", sums))
    nodes.append(_node("Concat", ["sum"] * outputs, "logits", _int("axis", 1)))
    graph = b"".join(_message(1, node) for node in nodes) + _text(2, "pair")
    graph += _message(5, _flat("table", _FLOAT, struct.pack(f"<{VOCABULARY}f", *table)))
    graph += _message(5, _flat("axis", _INT64, struct.pack("<q", 1)))
    for name in inputs:
        graph += _message(11, _value(name, _INT64, ["batch", "sequence"]))
    graph += _message(12, _value("logits", _FLOAT, []))
    model = _number(1, 8) + _message(7, graph) + _message(8, _number(2, 13))
    (folder / "model.onnx").write_bytes(model)
    if tokenizer:
        shutil.copyfile(BUNDLED_TOKENIZER, folder / "tokenizer.json")
    return folder


def _flat(name: str, kind: int, raw: bytes) -> bytes:
    size = len(raw) // (4 if kind == _FLOAT else 8)
    return _number(1, size) + _number(2, kind) + _text(8, name) + _message(9, raw)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _message(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _tensor(name: str, rows: Sequence[Sequence[float]]) -> bytes:
    raw = b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
    head = _number(1, len(rows)) + _number(1, len(rows[0])) + _number(2, _FLOAT)
    return head + _text(8, name) + _message(9, raw)


def _node(kind: str, inputs: Sequence[str], output: str, attributes: bytes = b"") -> bytes:
    names = b"".join(_text(1, name) for name in inputs)
    return names + _text(2, output) + _text(4, kind) + attributes


def _int(name: str, number: int) -> bytes:
    return _message(5, _text(1, name) + _number(3, number) + _number(20, 2))


def _ints(name: str, numbers: Sequence[int]) -> bytes:
    each = b"".join(_number(8, number) for number in numbers)
    return _message(5, _text(1, name) + each + _number(20, 7))


def _value(name: str, kind: int, shape: Sequence[str]) -> bytes:
    dims = b"".join(_message(1, _text(2, dim)) for dim in shape)
    tensor = _number(1, kind) + (_message(2, dims) if shape else b"")
    return _text(1, name) + _message(2, _message(1, tensor))
