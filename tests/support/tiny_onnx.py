"""Writes ONNX models of a few hundred bytes, to see how the adapter takes other models' shapes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER
from tests.support.onnx_protobuf import FLOAT, Attribute, model, node, tensor

VOCABULARY = 30_522  # that of the bundled tokenizer


def write_model(
    path: Path,
    *,
    pooled: bool = False,
    value: float | None = None,
    input_name: str = "input_ids",
    dimensions: int = 3,
    axis: int = 1,
    table: np.ndarray | None = None,
) -> Path:
    """A model that looks each token up in a table: (1, n, d), or ``pooled`` over ``axis``.

    Row i of the ``table`` is (i, 1, 1, …), or ``value`` throughout, unless it is given.
    """
    if table is None:
        table = np.ones((VOCABULARY, dimensions), np.float32)
        table[:, 0] = np.arange(VOCABULARY)
    if value is not None:
        table[:] = value
    nodes = [node("Gather", ["table", input_name], ["tokens"])]
    if pooled:
        attributes: dict[str, Attribute] = {"axes": [axis], "keepdims": 0}
        nodes.append(node("ReduceMean", ["tokens"], ["output"], attributes))
    output = "output" if pooled else "tokens"
    path.write_bytes(model(nodes, [tensor("table", table)], [input_name], [output]))
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
    table = np.array([weights.get(i, otherwise) for i in range(VOCABULARY)], np.float32)
    nodes = [node("Gather", ["table", "input_ids"], ["weighed"])]
    if "token_type_ids" in inputs:
        nodes.append(node("Cast", ["token_type_ids"], ["passage"], {"to": FLOAT}))
        nodes.append(node("Mul", ["weighed", "passage"], ["counted"]))
    counted = "counted" if "token_type_ids" in inputs else "weighed"
    nodes.append(node("ReduceSum", [counted, "axis"], ["sum"], {"keepdims": 1}))
    nodes.append(node("Concat", ["sum"] * outputs, ["logits"], {"axis": 1}))
    tensors = [tensor("table", table), tensor("axis", np.array([1], np.int64))]
    (folder / "model.onnx").write_bytes(model(nodes, tensors, inputs, ["logits"]))
    if tokenizer:
        shutil.copyfile(BUNDLED_TOKENIZER, folder / "tokenizer.json")
    return folder
