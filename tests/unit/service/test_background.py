"""What unrelated questions reach in a vault, which every cosine is held against."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.model import Background, Request, VaultInfo
from ragvault.retrieval.ranking import blend
from ragvault.service import search
from ragvault.service.background import QUESTIONS, background_of, refresh_background
from tests.support.cli import make_vault
from tests.support.fakes import FakeEmbedder
from tests.support.samples import note_write
from tests.support.search_index import NOW
from tests.support.stack import index_vault, stack

NOTES = {
    "pumpe.md": "# Pumpe\n\nDie Heizungspumpe wurde im Mai gewartet, das Wasser war trüb.\n",
    "garten.md": "# Garten\n\nDie Tomaten stehen seit Juni im Beet hinter dem Haus.\n",
    "auto.md": "# Auto\n\nDer Wagen braucht neue Reifen, und der Zahnriemen ist fällig.\n",
}


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled model as if nobody had measured it."""
    monkeypatch.setattr(blend, "MEASURED", {})


@pytest.mark.slow
def test_of_a_model_that_is_known_nothing_is_measured(tmp_path: Path) -> None:
    with stack(tmp_path / "index", make_vault(tmp_path / "notes", NOTES)) as container:
        request = Request("Wann wurde die Heizungspumpe gewartet?")
        found = search.retrieve(container, request, now=NOW, for_answer=True)
        assert found.background == blend.MEASURED["all-minilm"].background
        assert container.catalog.background("notes", container.embedder.fingerprint) is None


@pytest.mark.slow
@pytest.mark.usefixtures("unmeasured")
def test_notes_are_measured_when_they_are_indexed(tmp_path: Path) -> None:
    """In German notes a German question about anything comes nearer than an English one does; one
    about the notes stands out from both."""
    vault = make_vault(tmp_path / "notes", NOTES)
    with stack(tmp_path / "index", vault) as container:
        known = container.catalog.background("notes", container.embedder.fingerprint)
        assert known is not None
        assert known.chunks == len(NOTES)
        assert known.levels["de"] > known.levels["en"] + 0.05
        request = Request("Wann wurde die Heizungspumpe gewartet?")
        found = search.retrieve(container, request, now=NOW, for_answer=True)
        assert found.background == known.of("de")
        best = found.hits[0].scores.vector
        assert best is not None
        assert best > known.of("de") + 0.15
        foreign = Request("When was the heating pump maintained?")
        found = search.retrieve(container, foreign, now=NOW, for_answer=True)
        assert found.background == known.of("en")


@pytest.mark.slow
@pytest.mark.usefixtures("unmeasured")
def test_notes_that_were_never_measured_are_when_they_are_searched(tmp_path: Path) -> None:
    """An index of an earlier version, or one that was broken off."""
    vault = make_vault(tmp_path / "notes", NOTES)
    with stack(tmp_path / "index", vault) as container:
        fingerprint = container.embedder.fingerprint
        before = container.catalog.background("notes", fingerprint)
        with container.catalog.database.write() as con:
            con.execute("DELETE FROM background")
        request = Request("Wann wurde die Heizungspumpe gewartet?")
        search.retrieve(container, request, now=NOW, for_answer=False)
        assert container.catalog.background("notes", fingerprint) == before
        index_vault(container, vault)  # nothing to do: nothing is measured
        assert container.catalog.background("notes", fingerprint) == before


def test_it_is_measured_again_once_the_vault_has_grown_by_a_tenth(tmp_path: Path) -> None:
    catalog, embedder = SqliteCatalog(tmp_path / "catalog.sqlite3"), FakeEmbedder()
    old = Background(100, {"en": 0.5})
    catalog.add_vault(VaultInfo("notes", Path("/vault"), "folder"))
    write = note_write("notes", "a.md", [((), "one")])
    vectors = {chunk.text_hash: embedder.embed_query(chunk.text) for chunk in write.chunks}
    catalog.store_vectors(embedder.fingerprint, vectors)
    catalog.commit("notes", [write], [])
    catalog.set_background("notes", embedder.fingerprint, old)
    for chunks, again in ((95, False), (105, False), (120, True)):
        vault = VaultInfo("notes", Path("/vault"), "folder", 1, chunks)
        refresh_background(catalog, embedder, vault)
        known = catalog.background("notes", embedder.fingerprint)
        assert known is not None
        assert (known != old) is again
    assert set(known.levels) == set(QUESTIONS)


def test_a_vault_without_vectors_has_none(tmp_path: Path) -> None:
    catalog = SqliteCatalog(tmp_path / "catalog.sqlite3")
    vault = VaultInfo("notes", Path("/vault"), "folder")
    catalog.add_vault(vault)
    assert background_of(catalog, FakeEmbedder(), vault) is None


@pytest.mark.slow
def test_a_vault_of_words_alone_is_not_read_for_each_question(tmp_path: Path) -> None:
    """While a large vault is embedded for the first time, questions would read all of it."""
    with stack(tmp_path / "index", make_vault(tmp_path / "notes", NOTES)) as container:
        catalog, (vault,) = container.catalog, container.catalog.vaults()
        with catalog.database.write() as con:
            con.execute("DELETE FROM background")
        assert background_of(catalog, container.embedder, replace(vault, embedded=0)) is None
        assert background_of(catalog, container.embedder, vault) is not None
