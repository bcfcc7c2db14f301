"""A model of EmbeddingGemma's layout in ONNX form: made of random weights, or of the real ones.

The graph is Gemma 3's text encoder with attention both ways (transformers,
``models/gemma3/modeling_gemma3.py``), and after it what sentence-transformers does: the mean over
tokens, two dense layers, length 1. Real weights give the vectors of sentence-transformers to six
digits. The files are laid out as in ``onnx-community/embeddinggemma-300m-ONNX``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tests.support.onnx_protobuf import FLOAT, Attribute, model, node, tensor

Weights = Mapping[str, np.ndarray]
INPUTS = ("input_ids", "attention_mask")
CARD_PROMPTS = {"query": "task: search result | query: ", "document": "title: none | text: "}
TINY: dict[str, Any] = {
    "hidden_size": 16,
    "num_attention_heads": 3,
    "head_dim": 8,
    "intermediate_size": 24,
    "layer_types": ["sliding_attention", "full_attention"],
    "max_position_embeddings": 2048,
    "query_pre_attn_scalar": 8,
    "rms_norm_eps": 1e-6,
    "rope_local_base_freq": 10_000.0,
    "rope_theta": 1_000_000.0,
    "sliding_window": 512,
    "vocab_size": 30_522,
}


def tiny_weights(seed: int = 1) -> dict[str, np.ndarray]:
    """Random ones for ``TINY``, named as in EmbeddingGemma's safetensors files."""
    random = np.random.default_rng(seed)
    width, inner = TINY["hidden_size"], TINY["intermediate_size"]
    head, heads = TINY["head_dim"], TINY["num_attention_heads"]
    shapes: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (TINY["vocab_size"], width)}
    for i in range(len(TINY["layer_types"])):
        shapes |= {f"layers.{i}.{name}_layernorm.weight": (width,) for name in _NORMS}
        shapes |= {f"layers.{i}.self_attn.{c}_norm.weight": (head,) for c in "qk"}
        shapes |= {f"layers.{i}.self_attn.{c}_proj.weight": (head, width) for c in "kv"}
        shapes[f"layers.{i}.self_attn.q_proj.weight"] = (heads * head, width)
        shapes[f"layers.{i}.self_attn.o_proj.weight"] = (width, heads * head)
        shapes |= {f"layers.{i}.mlp.{c}_proj.weight": (inner, width) for c in ("gate", "up")}
        shapes[f"layers.{i}.mlp.down_proj.weight"] = (width, inner)
    shapes |= {"norm.weight": (width,), "2_Dense": (40, width), "3_Dense": (width, 40)}
    return {name: random.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


_NORMS = ("input", "post_attention", "pre_feedforward", "post_feedforward")


def write_folder(
    folder: Path, weights: Weights, *, dense_inside: bool = True, int8_table: bool = False
) -> Path:
    """The tiny model's folder: onnx/model.onnx with its data beside it, the bundled tokenizer,
    and, without ``dense_inside``, pooling and dense layers as sentence-transformers keeps them.
    ``int8_table``: the table of tokens as the hub's 8-bit file has it."""
    from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER

    (folder / "onnx").mkdir(parents=True)
    (folder / "tokenizer.json").write_bytes(BUNDLED_TOKENIZER.read_bytes())
    said = {"prompts": CARD_PROMPTS, "default_prompt_name": None}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(said))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 64}')
    file = folder / "onnx" / "model.onnx"
    write_graph(file, TINY, weights, pooled=dense_inside, int8_table=int8_table)
    if dense_inside:
        return folder
    kinds = {"1_Pooling": "Pooling", "2_Dense": "Dense", "3_Dense": "Dense"}
    modules = [{"type": "sentence_transformers.models.Transformer", "path": ""}]
    for name, kind in kinds.items():
        modules.append({"type": f"sentence_transformers.models.{kind}", "path": name})
        (folder / name).mkdir()
    modules.append({"type": "sentence_transformers.models.Normalize", "path": "4_Normalize"})
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    for name in ("2_Dense", "3_Dense"):
        identity = {"activation_function": "torch.nn.modules.linear.Identity", "bias": False}
        (folder / name / "config.json").write_text(json.dumps(identity))
        write_safetensors(folder / name / "model.safetensors", weights[name])
    return folder


def write_safetensors(file: Path, weight: np.ndarray) -> None:
    entry = {"dtype": "F32", "shape": weight.shape, "data_offsets": [0, weight.nbytes]}
    head = json.dumps({"__metadata__": {"format": "pt"}, "linear.weight": entry}).encode()
    file.write_bytes(len(head).to_bytes(8, "little") + head + weight.tobytes())


def read_safetensors(file: Path) -> dict[str, np.ndarray]:
    """The float32 tensors of a file, not read before they are used."""
    raw = np.memmap(file, np.uint8, "r")
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    entries = json.loads(raw[8:start].tobytes())
    entries.pop("__metadata__", None)
    return {
        name: raw[start + first : start + end].view(np.float32).reshape(entry["shape"])
        for name, entry in entries.items()
        for first, end in [entry["data_offsets"]]
    }


def write_graph(
    file: Path,
    config: Mapping[str, Any],
    weights: Weights,
    *,
    pooled: bool = True,
    int8_table: bool = False,
) -> None:
    """``file``, and ``file``_data with all that is longer than a kilobyte. ``pooled``: it also
    gives ``sentence_embedding``, as a second output."""
    with Path(f"{file}_data").open("wb") as data:
        graph = _Graph(config, weights, data, f"{file.name}_data")
        graph.encoder(int8_table=int8_table)
        if pooled:
            graph.head()
    outputs = ["last_hidden_state", *(["sentence_embedding"] if pooled else [])]
    file.write_bytes(model(graph.nodes, graph.tensors, INPUTS, outputs, opset=18))


class _Graph:
    """Nodes and tensors, in the order they are made. Each method of a part returns the name of
    its output. B texts, S tokens, H heads of width d share one key and one value head."""

    def __init__(
        self, config: Mapping[str, Any], weights: Weights, data: BinaryIO, location: str
    ) -> None:
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []
        self._config, self._weights = config, weights
        self._data, self._location = data, location
        self._named: set[str] = set()

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        return self.ops(kind, 1, *inputs, domain=domain, **attributes)[0]

    def ops(
        self, kind: str, count: int, *inputs: str, domain: str = "", **attributes: Attribute
    ) -> list[str]:
        outputs = [f"{kind}_{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(node(kind, inputs, outputs, attributes, domain))
        return outputs

    def const(self, name: str, value: Any) -> str:
        array = np.ascontiguousarray(value)
        if name not in self._named:
            self._named.add(name)
            place = (self._location, self._data.tell()) if array.nbytes > 1024 else None
            if place is not None:
                self._data.write(array.data)
            self.tensors.append(tensor(name, array, place))
        return name

    def ints(self, *values: int) -> str:
        return self.const(f"ints{values}", np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.const(f"float{value}", np.array(value, np.float32))

    def norm(self, x: str, name: str, scale: float = 1.0) -> str:
        weight = self.const(name, (1 + self._weights[name]) * np.float32(scale))
        epsilon = float(self._config["rms_norm_eps"])
        return self.op("SimplifiedLayerNormalization", x, weight, epsilon=epsilon, axis=-1)

    def linear(self, x: str, *names: str) -> str:
        rows = np.concatenate([self._weights[name] for name in names])
        return self.op("MatMul", x, self.const("+".join(names), rows.T))

    def _table(self, *, in_int8: bool) -> str:
        table = self._weights["embed_tokens.weight"]
        if not in_int8:
            return self.const("embed_tokens", table)
        scale = np.abs(table).max() / np.float32(127)
        rows = self.const("embed_tokens_q", np.round(table / scale).astype(np.int8))
        zero = self.const("embed_tokens_zero", np.int8(0))
        return self.op("DequantizeLinear", rows, self.const("embed_tokens_scale", scale), zero)

    def encoder(self, *, int8_table: bool) -> None:
        config = self._config
        size = self.op("Gather", self.op("Shape", "input_ids"), self.const("one", np.int64(1)))
        places = self.op("Range", self.const("zero", np.int64(0)), size, "one")
        masks = self._masks(places)
        places = self.op(
            "Expand", self.op("Unsqueeze", places, self.ints(0)), self.op("Shape", "input_ids")
        )
        x = self.op("Gather", self._table(in_int8=int8_table), "input_ids", axis=0)
        x = self.op("Mul", x, self.number(math.sqrt(config["hidden_size"])))
        for i, kind in enumerate(config["layer_types"]):
            x = self._layer(x, f"layers.{i}.", places, kind, masks[kind])
        self._last = self.norm(x, "norm.weight")
        self.nodes.append(node("Identity", [self._last], ["last_hidden_state"]))

    def _masks(self, places: str) -> dict[str, str]:
        """By kind of layer what is added to the scores: (B, 1, 1, S) and (B, 1, S, S)."""
        self._mask = self.op("Cast", "attention_mask", to=FLOAT)
        away = self.op("Sub", self.number(1.0), self._mask)
        whole = self.op("Unsqueeze", self.op("Mul", away, self.number(-1e9)), self.ints(1, 2))
        rows = self.op("Unsqueeze", places, self.ints(1))
        columns = self.op("Unsqueeze", places, self.ints(0))
        distance = self.op("Abs", self.op("Sub", rows, columns))
        # transformers: with attention both ways, (sliding_window // 2) + 1, exclusive
        window = self.const("window", np.int64(self._config["sliding_window"] // 2 + 1))
        far = self.op("Cast", self.op("GreaterOrEqual", distance, window), to=FLOAT)
        near = self.op("Add", whole, self.op("Mul", far, self.number(-1e9)))
        return {"full_attention": whole, "sliding_attention": near}

    def _layer(self, x: str, prefix: str, places: str, kind: str, mask: str) -> str:
        attended = self._attention(x, prefix, places, kind, mask)
        normed = self.norm(attended, f"{prefix}post_attention_layernorm.weight")
        x = self.op("Add", x, normed)
        y = self.norm(x, f"{prefix}pre_feedforward_layernorm.weight")
        gate = self.linear(y, f"{prefix}mlp.gate_proj.weight")
        up = self.linear(y, f"{prefix}mlp.up_proj.weight")
        y = self.op("Mul", self.op("FastGelu", gate, domain="com.microsoft"), up)
        y = self.linear(y, f"{prefix}mlp.down_proj.weight")
        return self.op("Add", x, self.norm(y, f"{prefix}post_feedforward_layernorm.weight"))

    def _attention(self, x: str, prefix: str, places: str, kind: str, mask: str) -> str:
        heads, width = self._config["num_attention_heads"], self._config["head_dim"]
        x = self.norm(x, f"{prefix}input_layernorm.weight")
        q, k, v = (self.linear(x, f"{prefix}self_attn.{c}_proj.weight") for c in "qkv")
        q = self.op("Reshape", q, self.ints(0, -1, heads, width))
        q = self.op("Transpose", q, perm=[0, 2, 1, 3])
        k, v = (self.op("Unsqueeze", y, self.ints(1)) for y in (k, v))
        scale = self._config["query_pre_attn_scalar"] ** -0.5
        q = self._turned(self.norm(q, f"{prefix}self_attn.q_norm.weight", scale), places, kind)
        k = self._turned(self.norm(k, f"{prefix}self_attn.k_norm.weight"), places, kind)
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
        shares = self.op("Softmax", self.op("Add", scores, mask), axis=-1)
        y = self.op("Transpose", self.op("MatMul", shares, v), perm=[0, 2, 1, 3])
        y = self.op("Reshape", y, self.ints(0, -1, heads * width))
        return self.linear(y, f"{prefix}self_attn.o_proj.weight")

    def _turned(self, x: str, places: str, kind: str) -> str:
        """Rotary positions, of another base where attention is local."""
        width, many = self._config["head_dim"], self._config["max_position_embeddings"]
        base = self._config["rope_theta" if kind == "full_attention" else "rope_local_base_freq"]
        angles = np.outer(np.arange(many), base ** -(np.arange(0, width, 2) / width))
        tables = {f: getattr(np, f)(angles).astype(np.float32) for f in ("cos", "sin")}
        names = [self.const(f"{kind}_{f}", table) for f, table in tables.items()]
        return self.op("RotaryEmbedding", x, places, *names, domain="com.microsoft")

    def head(self) -> None:
        mask = self.op("Unsqueeze", self._mask, self.ints(2))
        total = self.op("ReduceSum", self.op("Mul", self._last, mask), self.ints(1), keepdims=0)
        y = self.op("Div", total, self.op("ReduceSum", self._mask, self.ints(1), keepdims=1))
        y = self.linear(self.linear(y, "2_Dense"), "3_Dense")
        length = self.op("ReduceL2", y, self.ints(1), keepdims=1)
        self.nodes.append(node("Div", [y, length], ["sentence_embedding"]))
