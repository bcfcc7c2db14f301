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
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

# Of ONNX's messages (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto) the fields that are
# looked at, each with its number and kind ("*": repeated): ``onnx`` is no dependency. protobuf
# carries all others along as they are.
_MESSAGES = {
    "Model": (("graph", 7, "Graph"),),
    "Graph": (("node", 1, "Node*"), ("initializer", 5, "Tensor*")),
    "Tensor": (("dims", 1, "int64*"), ("name", 8, "string"), ("external_data", 13, "Entry*")),
    "Entry": (("key", 1, "bytes"), ("value", 2, "bytes")),
    "Node": (
        ("input", 1, "string*"),
        ("output", 2, "string*"),
        ("op_type", 4, "string"),
        ("attribute", 5, "Attribute*"),
    ),
    "Attribute": (("name", 1, "string"), ("i", 3, "int64"), ("type", 20, "int64")),
}
_FLOAT, _INT = 1, 2  # a tensor's type, an attribute's


def has_vnni() -> bool:
    """Whether this processor has 8-bit dot products (Linux on x86; elsewhere it isn't known)."""
    try:
        cpu = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return re.search(r"^flags\s*:.*\bavx(512)?_vnni\b", cpu, re.MULTILINE) is not None


def rows_first(model: bytes, folder: Path) -> bytes | None:
    """The model with its tables looked up before they are turned into floats, where one scale
    holds for the whole table: the same numbers, bit by bit. None: it has none. Weights in a file
    of their own are named as the ``folder`` has them, links followed. Raises ValueError for bytes
    that are no model.
    """
    if b"DequantizeLinear" not in model:
        return None  # most: nothing is read
    parsed = _parsed(model)
    nodes, tensors = parsed.graph.node, parsed.graph.initializer
    single = {tensor.name for tensor in tensors if set(tensor.dims) <= {1}}
    users = Counter(name for node in nodes for name in node.input)
    looked_up = {node.input[0] for node in nodes if node.op_type == "Gather"}
    tables = {
        node.output[0]: node.input
        for node in nodes
        if node.op_type == "DequantizeLinear" and node.input[1] in single
        if node.output[0] in looked_up and users[node.output[0]] == 1
    }
    if not tables:
        return None

    def rewritten() -> Iterator[Any]:
        for node in nodes:
            if node.op_type == "Gather" and node.input[0] in tables:
                table, *scale = tables[node.input[0]]
                rows = f"{table}_rows"
                yield _node("Gather", [table, node.input[1]], rows, node.attribute)
                yield _node("DequantizeLinear", [rows, *scale], node.output[0])
            elif tables.keys().isdisjoint(node.output):
                yield node

    for entry in (entry for tensor in tensors for entry in tensor.external_data):
        # The hub's cache keeps links to files of other names, which ONNX Runtime follows for a
        # model that it reads itself and for none that it is given.
        target = folder / os.fsdecode(entry.value)
        if entry.key == b"location" and target.is_symlink():
            entry.value = target.resolve().name.encode()
    return _with_nodes(parsed, rewritten())


def in_int8(model: bytes) -> bytes:
    """The model with its products in int8. Raises ValueError for bytes that are no model."""
    parsed = _parsed(model)
    nodes = parsed.graph.node
    casts = {node.output[0]: node.input[0] for node in nodes if node.op_type == "Cast"}
    weights = {  # the float weight's name → those of its integers and their scales
        node.output[0]: (casts[node.input[0]], node.input[1])
        for node in nodes
        if node.op_type == "Mul" and node.input[0].endswith("_f") and node.input[0] in casts
    }
    plain = {  # what is used otherwise too stays a float
        name
        for node in nodes
        for at, name in enumerate(node.input)
        if name in weights and (node.op_type, at) not in (("MatMul", 1), ("Gather", 0))
    }
    weights = {name: pair for name, pair in weights.items() if name not in plain}
    gone = set(weights) | {f"{integers.removesuffix('_q')}_f" for integers, _ in weights.values()}
    # Softmax's guard against rows that are masked whole: one text a run has none.
    guarded = {node.output[0]: node.input[0] for node in nodes if node.op_type == "IsNaN"}
    gone |= set(guarded)
    quantised: set[str] = set()

    def rewritten() -> Iterator[Any]:
        for node in nodes:
            if node.op_type == "MatMul" and node.input[1] in weights:
                yield from _product(node, *weights[node.input[1]], quantised)
            elif node.op_type == "Gather" and node.input[0] in weights:
                yield from _lookup(node, *weights[node.input[0]])
            elif node.op_type == "Where" and guarded.get(node.input[0]) == node.input[2]:
                yield _node("Identity", [node.input[2]], node.output[0])
            elif gone.isdisjoint(node.output):
                yield node

    return _with_nodes(parsed, rewritten())


def _product(node: Any, integers: str, scale: str, quantised: set[str]) -> Iterator[Any]:
    """``quantised`` are the activations that the graph has in uint8 by now."""
    x, out = node.input[0], node.output[0]
    x8, x_scale, x_zero = f"{x}_u8", f"{x}_u8_scale", f"{x}_u8_zero"
    if x not in quantised:
        quantised.add(x)
        yield _node("DynamicQuantizeLinear", [x], x8, (), x_scale, x_zero)
    yield _node("MatMulInteger", [x8, integers, x_zero], f"{out}_i32")
    yield _to_float(f"{out}_i32", f"{out}_f32")
    yield _node("Mul", [x_scale, scale], f"{out}_scale")
    yield _node("Mul", [f"{out}_f32", f"{out}_scale"], out)


def _lookup(node: Any, integers: str, scale: str) -> Iterator[Any]:
    """A table has a scale a row."""
    rows, out = node.input[1], node.output[0]
    yield _node("Gather", [integers, rows], f"{out}_i8")
    yield _node("Gather", [scale, rows], f"{out}_scale")
    yield _to_float(f"{out}_i8", f"{out}_f32")
    yield _node("Mul", [f"{out}_f32", f"{out}_scale"], out)


def _to_float(integers: str, floats: str) -> Any:
    return _node("Cast", [integers], floats, [{"name": "to", "i": _FLOAT, "type": _INT}])


@cache
def _classes() -> dict[str, Any]:
    """The messages' classes, by their names behind "onnx."."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
    from google.protobuf.message_factory import GetMessages

    file = FileDescriptorProto(name="onnx.proto", package="onnx")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            plain = kind.removesuffix("*")
            label = "LABEL_REPEATED" if plain != kind else "LABEL_OPTIONAL"
            made = message.field.add(name=field, number=number, label=label)
            if plain in _MESSAGES:
                made.type_name = f".onnx.{plain}"
            else:
                made.type = FieldDescriptorProto.Type.Value(f"TYPE_{plain.upper()}")
    return dict(GetMessages([file]))


def _parsed(model: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return _classes()["onnx.Model"].FromString(model)
    except DecodeError as error:
        raise ValueError("not a model") from error


def _with_nodes(parsed: Any, nodes: Iterator[Any]) -> bytes:
    made = list(nodes)
    del parsed.graph.node[:]
    parsed.graph.node.extend(made)
    return bytes(parsed.SerializeToString())


def _node(
    kind: str, inputs: Iterable[str], output: str, attributes: Iterable[Any] = (), *more: str
) -> Any:
    """``more``: its other outputs."""
    return _classes()["onnx.Node"](
        op_type=kind, input=inputs, output=[output, *more], attribute=attributes
    )
