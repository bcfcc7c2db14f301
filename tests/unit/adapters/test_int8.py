"""The bundled model in int8: as near to itself as it was measured, and never mixed with floats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ragvault.adapters.onnx import embedder as embedder_module
from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.adapters.onnx.int8 import in_int8, rows_first
from ragvault.config.settings import Settings
from ragvault.model import IndexReport
from ragvault.service.index import IndexRequest, index
from ragvault.wiring import Container
from tests.support.onnx_protobuf import model, node, tensor

FLOATS = "onnx-8199be6f-256-ffeb0a264bd922e4"
NOTES = {
    "tea.md": "# Tea\n\nWater for green tea: 75 degrees, two minutes.\n",
    "bike.md": "# Bike\n\nThe rear tyre takes four bar; the chain was changed in May.\n",
}
TEXTS = [*NOTES.values(), "", "Übermorgen um drei beim Zahnarzt", "word " * 400, "x" * 900]


@pytest.fixture
def vnni(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(embedder_module, "has_vnni", lambda: True)
    return monkeypatch


def bundled() -> OnnxEmbedder:
    return OnnxEmbedder(Settings())


def test_vectors_are_near_those_in_floats_and_of_another_fingerprint(
    vnni: pytest.MonkeyPatch,
) -> None:
    small, floats = bundled(), bundled()
    floats.keep_to({FLOATS})
    cosines = (small.embed_documents(TEXTS) * floats.embed_documents(TEXTS)).sum(axis=1)
    assert cosines.min() > 0.97
    assert cosines.max() < 1 - 1e-5, "it computes in the same way"
    assert floats.fingerprint == FLOATS != small.fingerprint


def test_the_same_text_has_the_same_vector_whatever_stands_beside_it(
    vnni: pytest.MonkeyPatch,
) -> None:
    together = bundled().embed_documents(TEXTS * 3)
    for text, vector in zip(TEXTS * 3, together, strict=True):
        assert (bundled().embed_documents([text])[0] == vector).all()


def test_without_vnni_it_stays_in_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder_module, "has_vnni", lambda: False)
    small = bundled()
    assert small.fingerprint == FLOATS
    small.keep_to(())
    assert small.fingerprint == FLOATS


def test_an_index_in_floats_stays_in_floats_until_it_is_made_anew(
    tmp_path: Path, vnni: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in NOTES.items():
        (notes / name).write_text(text)
    settings = Settings(index={"path": str(tmp_path / "index")})
    vnni.setattr(embedder_module, "has_vnni", lambda: False)
    run(settings, IndexRequest(paths=(notes,)))

    vnni.setattr(embedder_module, "has_vnni", lambda: True)
    (notes / "tea.md").write_text("# Tea\n\nBlack tea takes boiling water.\n")
    fingerprint, embedded = run(settings, IndexRequest())
    assert (fingerprint, embedded) == (FLOATS, 1), "only what was edited is embedded"

    (notes / "new.md").write_text("# New\n\nA note of today.\n")
    fingerprint, embedded = run(settings, IndexRequest(full=True))
    assert fingerprint != FLOATS
    assert embedded == 3, "all vectors are of one kind"
    with Container(settings) as container:
        assert container.embedder.fingerprint == fingerprint, "the next command asks in it"


def run(settings: Settings, request: IndexRequest) -> tuple[str, int]:
    """The fingerprint of the vectors that are asked then, and how many were made."""
    with Container(settings) as container:
        reports = [event for event in index(container, request) if isinstance(event, IndexReport)]
        assert container.embedder is container.wanted_embedder, "the model is loaded once"
        return container.embedder.fingerprint, sum(report.embedded for report in reports)


def looked_up(scales: int = 1, **more: bytes) -> bytes:
    """A table of int8 that becomes floats, and a look-up in it."""
    nodes = [
        node("DequantizeLinear", ["table", "scale"], ["floats"], {"axis": 0}),
        node("Gather", ["floats", "ids"], ["rows"]),
        *more.values(),
    ]
    scale = np.full(scales, 0.5, np.float32)
    table = np.arange(12, dtype=np.int8).reshape(4, 3)
    tensors = [tensor("table", table), tensor("scale", scale if scales > 1 else scale[0])]
    return model(nodes, tensors, ["ids"], ["rows"])


@pytest.mark.parametrize(
    "graph",
    [
        looked_up(scales=4),  # a scale a row: rows that are looked up first would need theirs
        looked_up(also=node("Relu", ["floats"], ["used"])),
        model([node("Gather", ["table", "ids"], ["rows"])], [], ["ids"], ["rows"]),
    ],
    ids=["scales", "used twice", "floats"],
)
def test_a_table_is_looked_up_first_only_where_nothing_else_changes(graph: bytes) -> None:
    assert rows_first(looked_up(), Path()) is not None
    assert rows_first(graph, Path()) is None


@pytest.mark.parametrize("damage", [b"\xff" * 40, b"\x3a\x05abc", b"\x3a"])
def test_bytes_that_are_no_model_are_refused(damage: bytes) -> None:
    with pytest.raises(ValueError, match="not a model"):
        in_int8(damage)
