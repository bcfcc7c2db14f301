"""What unrelated questions reach with a model, which every cosine is held against."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragvault.model import Request
from ragvault.retrieval.ranking import blend
from ragvault.service import search
from ragvault.service.models import background_of
from tests.support.cli import make_vault
from tests.support.search_index import NOW
from tests.support.stack import stack

NOTES = {
    "pump.md": "# Pump\n\nThe heating pump was serviced in May, the water was cloudy.\n",
    "garden.md": "# Garden\n\nThe tomatoes have been in the bed behind the house since June.\n",
}
REQUEST = Request("When was the heating pump serviced?")


@pytest.mark.slow
def test_of_a_model_that_is_known_nothing_is_measured(tmp_path: Path) -> None:
    with stack(tmp_path / "index", make_vault(tmp_path / "notes", NOTES)) as container:
        found = search.retrieve(container, REQUEST, now=NOW, for_answer=True)
        assert found.background == blend.MEASURED["all-minilm"].background
        assert container.facts.get("background", container.embedder.fingerprint) is None


@pytest.mark.slow
def test_another_is_measured_once_and_comes_near_what_question_sets_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundled model as if nobody had measured it."""
    usual = blend.MEASURED["all-minilm"].background
    monkeypatch.setattr(blend, "MEASURED", {})
    with stack(tmp_path / "index", make_vault(tmp_path / "notes", NOTES)) as container:
        known = container.facts.get("background", container.embedder.fingerprint)
        assert known is not None, "while it was indexed"
        found = search.retrieve(container, REQUEST, now=NOW, for_answer=True)
        assert found.background == float(known) == pytest.approx(usual, abs=0.05)
        for damaged in ("warm", "nan", "7"):
            container.facts.put("background", container.embedder.fingerprint, damaged)
            assert background_of(container, container.embedder) == found.background
        best = found.hits[0].scores.vector
        assert best is not None and best > 2 * usual
