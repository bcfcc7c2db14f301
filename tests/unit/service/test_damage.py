"""Damage and differences: found by ``verify``, said in one sentence, and mended by the command that
the sentence names, embedding only what no vector is left of."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragvault.errors import NoIndexError, StoreDamagedError
from ragvault.model import IndexReport, Request, collection_of
from ragvault.service.doctor import State, examine
from ragvault.service.index import IndexRequest, SetAside, index
from ragvault.service.search import search
from ragvault.service.upkeep import repair, verify
from ragvault.wiring import Container
from tests.support.cli import make_vault
from tests.support.stack import stack

PAGE = 4096
NOTES = {
    "pump.md": "# Pump\n\nServiced in May.\n",
    "sea/boats.md": "---\ntags: [sea]\n---\n# Boats\n\nThe ferry leaves at nine.\n",
    **{f"log/{i}.md": f"# Day {i}\n\nRepaired winch number {i} at the quay.\n" for i in range(60)},
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    vault = make_vault(folder / "notes", NOTES)
    with stack(folder / "index") as container:
        run(container, vault)
    return folder


@pytest.fixture
def container(whole: Path, tmp_path: Path) -> Iterator[Callable[..., Container]]:
    """Opens the copy of the index anew, as another process would."""
    shutil.copytree(whole / "index", tmp_path / "index")
    with ExitStack() as opened:

        def fresh(**sections: Any) -> Container:
            opened.pop_all().close()
            return opened.enter_context(stack(tmp_path / "index", **sections))

        yield fresh


def run(container: Container, *paths: Path, full: bool = False) -> list[object]:
    return list(index(container, IndexRequest(tuple(paths), full=full)))


def report_of(events: list[Any]) -> IndexReport:
    return next(event for event in events if isinstance(event, IndexReport))


def seen(container: Container, *, quick: bool = False) -> list[tuple[str, str, int, list[str]]]:
    findings = verify(container, quick=quick)
    return [(one.part, one.kind.value, one.count, list(one.paths)) for one in findings]


def change(folder: Path, statement: str, *values: object) -> None:
    """Behind ragvault's back: SQLite finds nothing wrong with it."""
    with closing(sqlite3.connect(catalog_of(folder))) as connection:
        assert connection.execute(statement, values).rowcount == 1
        connection.commit()


def found(container: Container, question: str) -> list[str]:
    hits = search(container, Request(question), 3, now=datetime(2026, 1, 1)).hits
    return [hit.note.rel_path for hit in hits]


def flip(file: Path, page: int) -> None:
    content = bytearray(file.read_bytes())
    start = page * PAGE
    content[start : start + PAGE] = bytes(255 - byte for byte in content[start : start + PAGE])
    file.write_bytes(content)


def catalog_of(folder: Path) -> Path:
    return folder / "index" / "catalog.sqlite3"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_any_flipped_page_is_told_and_mended(
    container: Callable[[], Container], tmp_path: Path, part: int
) -> None:
    """ "Rebuild it with --full" did nothing for some pages, and others were "a bug in ragvault"."""
    file = catalog_of(tmp_path)
    flip(file, file.stat().st_size // PAGE * part // 8)
    checks = {check.name: check for check in examine(container(), None)}
    assert checks["Catalog"].state is State.FAILED
    assert "ragvault repair" in checks["Catalog"].remedy
    try:
        assert found(container(), "ferry")[0] == "sea/boats.md"
    except StoreDamagedError as error:
        assert "ragvault repair" in error.hint
    events = list(repair(container()))
    assert (kept := next(e.kept for e in events if isinstance(e, SetAside))) and kept.exists()
    assert report_of(events).added
    assert events[-1] == ()
    assert found(container(), "ferry")[0] == "sea/boats.md"


def test_what_is_sound_of_the_embeddings_is_taken_over(
    container: Callable[[], Container], tmp_path: Path
) -> None:
    """Where another table is damaged; with the first page nothing can be read."""
    file = catalog_of(tmp_path)
    with closing(sqlite3.connect(file)) as con:
        [page] = con.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunk'").fetchone()
    flip(file, page - 1)
    events = list(repair(container()))
    assert report_of(events).added
    assert report_of(events).embedded == 0
    assert events[-1] == ()


@pytest.mark.parametrize("put", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_in_the_catalogs_place_is_set_aside(
    container: Callable[..., Container], tmp_path: Path, put: Callable[[Path], object]
) -> None:
    catalog_of(tmp_path).unlink()
    put(catalog_of(tmp_path))
    with pytest.raises((StoreDamagedError, NoIndexError)) as caught:
        found(container(), "ferry")
    assert "`ragvault repair`" in caught.value.hint or "`ragvault index`" in caught.value.hint
    assert list(repair(container()))[-1] == ()
    assert found(container(), "ferry")[0] == "sea/boats.md"


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_removed_or_emptied_catalog_is_made_again_from_the_folders_that_were_in_it(
    container: Callable[[], Container], tmp_path: Path, is_removed: bool
) -> None:
    catalog_of(tmp_path).unlink() if is_removed else catalog_of(tmp_path).write_bytes(b"")
    with pytest.raises(NoIndexError) as caught:
        found(container(), "ferry")
    assert "`ragvault index`" in caught.value.hint
    run(container())
    assert found(container(), "ferry")[0] == "sea/boats.md"


def test_the_vaults_names_survive_where_the_catalog_names_none(
    container: Callable[[], Container], tmp_path: Path
) -> None:
    catalog_of(tmp_path).write_bytes(b"garbage " * 9999)
    run(container(), full=True)  # what 0.1 advised still works
    assert [v.name for v in container().catalog.vaults()] == ["notes"]
    assert (tmp_path / "index" / "vaults.json").stat().st_mode & 0o777 == 0o600


def test_a_sound_catalog_is_not_set_aside(container: Callable[[], Container]) -> None:
    events = run(container(), full=True)
    assert not any(isinstance(e, SetAside) for e in events)
    assert next(e for e in events if isinstance(e, IndexReport)).embedded == 0


def test_a_sound_index_has_nothing_to_find(container: Callable[[], Container]) -> None:
    assert seen(container()) == seen(container(), quick=True) == []
    assert list(repair(container())) == []


def test_notes_that_the_index_does_not_hold_as_they_are(
    container: Callable[[], Container], whole: Path, tmp_path: Path
) -> None:
    """A vault of its own for this test: the others' notes stay."""
    notes = Path(shutil.copytree(whole / "notes", tmp_path / "notes"))
    list(index(container(), IndexRequest((notes,), "own")))
    (notes / "new.md").write_text("# New\n")
    (notes / "pump.md").unlink()
    other = "UPDATE note SET content_hash = 'x' WHERE rel_path = 'log/7.md' AND vault_id = 2"
    change(tmp_path, other)
    assert seen(container(), quick=True)[:2] == [
        ("notes", "missing", 1, ["new.md"]),
        ("notes", "orphaned", 1, ["pump.md"]),
    ]
    assert seen(container())[2] == ("notes", "differing", 1, ["log/7.md"])
    events = list(repair(container()))
    assert events[-1] == ()
    assert sum(e.embedded for e in events if isinstance(e, IndexReport)) == 1


def test_vectors_that_are_not_those_of_the_passages(container: Callable[[], Container]) -> None:
    held = container()
    model = held.catalog.vaults()[0].fingerprint or ""
    key, store = collection_of("notes", model), held.vectors
    places = ("pump.md", "log/5.md")
    pump, day = (held.catalog.note_chunks("notes", path)[0].chunk.id for path in places)
    wrong = np.zeros_like(held.embedder.embed_query("a"))
    wrong[3] = 1
    store.delete(key, [pump])
    store.upsert(key, {day: wrong, "f" * 32: wrong})
    store.seal()
    assert seen(container()) == [
        ("vectors", "missing", 1, ["pump.md"]),
        ("vectors", "orphaned", 1, []),
        ("vectors", "differing", 1, ["log/5.md"]),
    ]
    events = list(repair(container()))
    assert report_of(events).embedded == 0 and events[-1] == ()


def test_a_store_that_a_run_left_just_before_its_end_is_mended_as_it_is_said(
    container: Callable[..., Container],
) -> None:
    """All is in it, but nobody knows that."""
    container().catalog.set_vector_watermark("notes", None)

    def said() -> str:
        asked = container(store={"search": "chroma"})
        found = search(asked, Request("pump"), 3, now=datetime(2026, 1, 1))
        return " ".join(found.retrieval.notices)

    assert "was cut off" in said()
    assert list(repair(container()))[-1] == ()
    assert said() == ""


def test_an_embedding_that_is_gone_is_the_only_one_that_is_made_again(
    container: Callable[..., Container], tmp_path: Path
) -> None:
    (lost,) = (s.chunk.text_hash for s in container().catalog.note_chunks("notes", "pump.md"))
    change(tmp_path, "DELETE FROM embedding WHERE text_hash = ?", lost)
    assert seen(container())[0] == ("vectors", "missing", 1, ["pump.md"])
    assert "ragvault repair" in next(verify(container())).remedy, "`index` says unchanged"
    for proposes in ("auto", "chroma"):
        asked = container(store={"search": proposes})
        said = search(asked, Request("pump"), 3, now=datetime(2026, 1, 1)).retrieval.notices
        assert [line for line in said if "have no embedding any more" in line], proposes
    events = list(repair(container()))
    assert report_of(events).embedded == 1 and events[-1] == ()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE chunk SET text = replace(text, 'nine', 'five') WHERE text LIKE '%ferry%'",
        "UPDATE chunk SET start_line = 99 WHERE text LIKE '%ferry%'",
        "UPDATE note SET title = 'Trains' WHERE rel_path = 'sea/boats.md'",
        "UPDATE note SET rel_path = 'sea/trains.md' WHERE rel_path = 'sea/boats.md'",
        "UPDATE note SET tags = '[\"land\"]' WHERE rel_path = 'sea/boats.md'",
        "UPDATE embedding SET vector = zeroblob(length(vector)) WHERE rowid = 7",
        "UPDATE embedding SET vector = CAST(x'ffff' || substr(vector, 3) AS BLOB) WHERE rowid = 7",
    ],
)
def test_what_was_changed_in_the_catalog_is_not_answered_from(
    container: Callable[[], Container], tmp_path: Path, statement: str
) -> None:
    """A flipped letter was quoted "word for word": SQLite's check sees well-formed pages."""
    change(tmp_path, statement)
    with pytest.raises(StoreDamagedError) as caught:
        found(container(), "When does the ferry leave?")
    assert "ragvault repair" in caught.value.hint
    events = list(repair(container()))
    assert any(isinstance(e, SetAside) for e in events) and events[-1] == ()
    assert report_of(events).embedded == ("embedding" in statement)
    assert found(container(), "When does the ferry leave?")[0] == "sea/boats.md"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE fts_1_content SET c2 = 'other words' WHERE id = 3",
        "DELETE FROM tag",
    ],
)
def test_words_and_tags_that_the_index_lost_are_missed(
    container: Callable[[], Container], tmp_path: Path, statement: str
) -> None:
    """It would just not find them, and nothing would say so."""
    change(tmp_path, statement)
    assert [part for part, *_ in seen(container())] == ["catalog"]
    assert list(repair(container()))[-1] == ()


@pytest.mark.parametrize(
    "statement", ["DELETE FROM collections", "UPDATE migrations SET hash = 'x'"]
)
def test_a_vector_store_that_looks_sound_from_outside_is_filled_again(
    container: Callable[[], Container], whole: Path, tmp_path: Path, statement: str
) -> None:
    """Another version of Chroma left it so, or nobody did; `index` said "unchanged" for ever."""
    store = tmp_path / "index" / "chroma" / "chroma.sqlite3"
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute(statement).rowcount
        connection.commit()
    with stack(tmp_path / "index", store={"search": "chroma"}) as asked:
        result = search(asked, Request("ferry"), 3, now=datetime(2026, 1, 1))
    assert result.hits[0].note.rel_path == "sea/boats.md"
    assert any("ragvault repair" in notice for notice in result.retrieval.notices)
    events = list(repair(container()))
    assert report_of(events).embedded == 0 and events[-1] == ()
