"""Small cross-encoders for tests: one of a table, one that torch builds."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragvault.adapters.onnx.model_files import BUNDLED_TOKENIZER
from ragvault.adapters.onnx.tokenizer import Tokenizer
from tests.support.tiny_onnx import VOCABULARY, write_pair_model

WEIGHTS = {"bread": 1.5, "dough": 2.0, "oven": 1.0, "router": -1.5, "page": -0.5}


@dataclass(frozen=True)
class Size:
    """The shape of a BERT. ``spread`` is that of its random weights."""

    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    spread: float


NARROW = Size(hidden=32, layers=2, heads=4, intermediate=64, positions=128, spread=0.5)


def write_table_model(folder: Path) -> Path:
    """Likes bread and no routers, whatever is asked."""
    tokenizer = Tokenizer(BUNDLED_TOKENIZER)
    ids = {tokenizer.encode(word, 8)[1]: weight for word, weight in WEIGHTS.items()}
    return write_pair_model(folder, ids)


def write_bert(folder: Path, *, outputs: int = 1, size: Size = NARROW) -> Path:
    """A BERT with random weights (seed 0; large by default, so that scores differ), with one
    output unless told otherwise, as ``save_pretrained`` leaves it. Skips the test where torch is
    missing."""
    torch = pytest.importorskip("torch", reason="needs ragvault[sentence-transformers]")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.intermediate,
        max_position_embeddings=size.positions,
        num_labels=outputs,
        initializer_range=size.spread,
    )
    model = transformers.BertForSequenceClassification(config).eval()
    model.save_pretrained(folder)
    shutil.copyfile(BUNDLED_TOKENIZER, folder / "tokenizer.json")
    transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(BUNDLED_TOKENIZER),
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)
    return folder


def export_bert(folder: Path) -> Path:
    """Add ``model.onnx`` to the folder of ``write_bert``. Needs the package ``onnx``."""
    import torch
    import transformers

    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, attn_implementation="eager"
    ).eval()

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids, mask, types):
            found = self.model(input_ids=ids, attention_mask=mask, token_type_ids=types)
            return found.logits

    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.ones(2, 6, dtype=torch.int64)
    torch.onnx.export(
        Logits(),
        (ids, ids, torch.zeros_like(ids)),
        str(folder / "model.onnx"),
        input_names=names,
        output_names=["logits"],
        dynamic_axes={name: {0: "batch", 1: "sequence"} for name in names},
        opset_version=17,
        dynamo=False,
    )
    return folder
