"""Graphs of models that keep int8 weights, made to compute with those.

``rows_first`` is for any model: a table that is turned into floats whole, at each run, only for a
few of its rows to be looked up, is looked up first. onnx-community's 8-bit files are such; for
EmbeddingGemma's table it would be 805 MB a run and thread.

``in_int8`` is for the bundled model, whose graph turns the weights into floats (``Cast``, ``Mul``
by a scale a column) before each ``MatMul``. Here each such product is made of ONNX's own dynamic
quantisation instead: activations to uint8 with one scale a run (``DynamicQuantizeLinear``),
products of integers (``MatMulInteger``), and the two scales at the end; the token table is looked
up in int8. The weights stay as they are, bit by bit. With VNNI (8-bit dot products) that is nearly
twice as fast; without, products of AVX2 saturate, so it is not to be used there.

The file is protobuf; the few messages that matter are read and written here, as ``onnx`` is no
dependency (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, field numbers below).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_TENSOR = 1, 5
_TENSOR_SIZE, _TENSOR_NAME, _TENSOR_AT = 1, 8, 13
_NODE_INPUT, _NODE_OUTPUT, _NODE_KIND, _NODE_ATTRIBUTE = 1, 2, 4, 5
_FLOAT = 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def has_vnni() -> bool:
    """Whether this processor has 8-bit dot products (Linux on x86; elsewhere it isn't known)."""
    try:
        cpu = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return re.search(r"^flags\s*:.*\bavx(512)?_vnni\b", cpu, re.MULTILINE) is not None


def in_int8(model: bytes) -> bytes:
    """The model with its products in int8. Raises ValueError for bytes that are no model."""
    return _with_graph(model, _rewritten)


def rows_first(model: bytes, folder: Path) -> bytes | None:
    """The model with its tables looked up before they are turned into floats, where one scale
    holds for the whole table: the same numbers, bit by bit. None: it has none. Weights in a file
    of their own are named as the ``folder`` has them, links followed. Raises ValueError likewise.
    """
    if b"DequantizeLinear" not in model:
        return None  # most: nothing is copied
    made = _with_graph(model, _looked_up_first)
    return None if made == model else _with_graph(made, partial(_placed, folder=folder))


def _with_graph(
    model: bytes, rewritten: Callable[[memoryview], Iterable[bytes | memoryview]]
) -> bytes:
    parts = []
    for field, raw, content in _fields(memoryview(model)):
        if field == _MODEL_GRAPH:
            raw = memoryview(message(_MODEL_GRAPH, b"".join(rewritten(content))))
        parts.append(raw)
    return b"".join(parts)


def _looked_up_first(graph: memoryview) -> Iterator[bytes | memoryview]:
    """``Gather(DequantizeLinear(table))`` becomes ``DequantizeLinear(Gather(table))``."""
    fields = list(_fields(graph))
    nodes = [_node(content) for field, _, content in fields if field == _GRAPH_NODE]
    single = {_name_of_one(content) for field, _, content in fields if field == _GRAPH_TENSOR}
    users = Counter(name for node in nodes for name in node.inputs)
    looked_up = {node.inputs[0] for node in nodes if node.kind == "Gather"}
    tables = {
        node.output: node.inputs
        for node in nodes
        if node.kind == "DequantizeLinear" and node.inputs[1] in single
        if node.output in looked_up and users[node.output] == 1
    }
    for field, raw, content in fields:
        node = _node(content) if field == _GRAPH_NODE else None
        if node is not None and node.kind == "Gather" and node.inputs[0] in tables:
            table, *scale = tables[node.inputs[0]]
            axis = b"".join(part for f, part, _ in _fields(content) if f == _NODE_ATTRIBUTE)
            rows = f"{node.inputs[0]}_rows"
            yield _made("Gather", [table, node.inputs[1]], [rows], axis)
            yield _made("DequantizeLinear", [rows, *scale], [node.output])
        elif node is None or node.output not in tables:
            yield raw


def _placed(graph: memoryview, folder: Path) -> Iterator[bytes | memoryview]:
    """The hub's cache keeps links to files of other names, which ONNX Runtime follows for a model
    that it reads itself and for none that it is given."""
    for field, raw, content in _fields(graph):
        if field == _GRAPH_TENSOR:
            raw = memoryview(message(field, b"".join(_linked(content, folder))))
        yield raw


def _linked(tensor: memoryview, folder: Path) -> Iterator[bytes | memoryview]:
    for field, raw, content in _fields(tensor):
        said = [bytes(text) for _, _, text in _fields(content)] if field == _TENSOR_AT else []
        if said[:1] == [b"location"]:
            target = folder / os.fsdecode(said[1])
            if target.is_symlink():  # into the hub's cache: what it is called there
                name = target.resolve().name.encode()
                raw = memoryview(message(field, message(1, b"location") + message(2, name)))
        yield raw


def _name_of_one(tensor: memoryview) -> str | None:
    """The name of a tensor of one element; None: it has more."""
    name, sizes = "", set()
    for field, raw, content in _fields(tensor):
        if field == _TENSOR_NAME:
            name = str(content, "utf-8")
        elif field == _TENSOR_SIZE:  # one a field, or packed
            sizes |= set(content) or {_varint(raw, 1)[0]}
    return name if sizes <= {1} else None


@dataclass(frozen=True, slots=True)
class _Node:
    kind: str
    inputs: tuple[str, ...]
    output: str


def _rewritten(graph: memoryview) -> Iterator[bytes | memoryview]:
    """The graph's fields, its nodes replaced where there is something to replace."""
    nodes = [_node(content) for field, _, content in _fields(graph) if field == _GRAPH_NODE]
    casts = {node.output: node.inputs[0] for node in nodes if node.kind == "Cast"}
    weights = {  # the float weight's name → those of its integers and their scales
        node.output: (casts[node.inputs[0]], node.inputs[1])
        for node in nodes
        if node.kind == "Mul" and node.inputs[0].endswith("_f") and node.inputs[0] in casts
    }
    users = {name: [n for n in nodes if name in n.inputs] for name in weights}
    plain = {  # what is used otherwise too stays a float
        name
        for name, found in users.items()
        if any((n.kind, n.inputs.index(name)) not in (("MatMul", 1), ("Gather", 0)) for n in found)
    }
    weights = {name: pair for name, pair in weights.items() if name not in plain}
    gone = set(weights) | {f"{integers.removesuffix('_q')}_f" for integers, _ in weights.values()}
    # Softmax's guard against rows that are masked whole: one text a run has none.
    guarded = {node.output: node.inputs[0] for node in nodes if node.kind == "IsNaN"}
    gone |= set(guarded)
    quantised: set[str] = set()
    for field, raw, content in _fields(graph):
        if field != _GRAPH_NODE:
            yield raw
            continue
        node = _node(content)
        if node.kind == "MatMul" and node.inputs[1] in weights:
            yield from _product(node, *weights[node.inputs[1]], quantised)
        elif node.kind == "Gather" and node.inputs[0] in weights:
            yield from _lookup(node, *weights[node.inputs[0]])
        elif node.kind == "Where" and guarded.get(node.inputs[0]) == node.inputs[2]:
            yield _made("Identity", [node.inputs[2]], [node.output])
        elif node.output not in gone:
            yield raw


def _product(node: _Node, integers: str, scale: str, quantised: set[str]) -> Iterator[bytes]:
    """``quantised`` are the activations that the graph has in uint8 by now."""
    x, out = node.inputs[0], node.output
    x8, x_scale, x_zero = f"{x}_u8", f"{x}_u8_scale", f"{x}_u8_zero"
    if x not in quantised:
        quantised.add(x)
        yield _made("DynamicQuantizeLinear", [x], [x8, x_scale, x_zero])
    yield _made("MatMulInteger", [x8, integers, x_zero], [f"{out}_i32"])
    yield _made("Cast", [f"{out}_i32"], [f"{out}_f32"], _to_float())
    yield _made("Mul", [x_scale, scale], [f"{out}_scale"])
    yield _made("Mul", [f"{out}_f32", f"{out}_scale"], [out])


def _lookup(node: _Node, integers: str, scale: str) -> Iterator[bytes]:
    """A table has a scale a row."""
    rows, out = node.inputs[1], node.output
    yield _made("Gather", [integers, rows], [f"{out}_i8"])
    yield _made("Gather", [scale, rows], [f"{out}_scale"])
    yield _made("Cast", [f"{out}_i8"], [f"{out}_f32"], _to_float())
    yield _made("Mul", [f"{out}_f32", f"{out}_scale"], [out])


# --------------------------------------------------------------------------- protobuf


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """(number, the field as it is, its content when that is bytes), in their order."""
    at = 0
    while at < len(data):
        start = at
        key, at = _varint(data, at)
        size = {_FIXED64: 8, _FIXED32: 4}.get(key & 7, 0)
        if key & 7 == _VARINT:
            _, at = _varint(data, at)
        elif key & 7 == _BYTES:
            size, at = _varint(data, at)
        elif not size:
            raise ValueError("not a protobuf message")
        if at + size > len(data):
            raise ValueError("a protobuf message that was cut off")
        yield key >> 3, data[start : at + size], data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7
    raise ValueError("a protobuf message that was cut off")


def _node(data: memoryview) -> _Node:
    texts: dict[int, list[str]] = {_NODE_INPUT: [], _NODE_OUTPUT: [], _NODE_KIND: []}
    for field, _, content in _fields(data):
        if field in texts:
            texts[field].append(str(content, "utf-8"))
    outputs, kinds = texts[_NODE_OUTPUT], texts[_NODE_KIND]
    return _Node("".join(kinds), tuple(texts[_NODE_INPUT]), outputs[0] if outputs else "")


def _made(
    kind: str, inputs: Iterable[str], outputs: Iterable[str], attribute: bytes = b""
) -> bytes:
    texts = [(_NODE_INPUT, name) for name in inputs] + [(_NODE_OUTPUT, name) for name in outputs]
    fields = [message(field, name.encode()) for field, name in [*texts, (_NODE_KIND, kind)]]
    return message(_GRAPH_NODE, b"".join(fields) + attribute)


def _to_float() -> bytes:
    """``Cast``'s attribute: name 1, integer 3, type 20 (2: an integer)."""
    content = message(1, b"to") + bytes([3 << 3, _FLOAT]) + varint(20 << 3) + bytes([2])
    return message(_NODE_ATTRIBUTE, content)


def message(field: int, content: bytes) -> bytes:
    """A protobuf field that holds bytes: a text, or another message."""
    return varint(field << 3 | _BYTES) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """A protobuf integer, 0 or more: seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
