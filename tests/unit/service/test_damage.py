"""A damaged catalog: said in one sentence, and mended by the command that the sentence names."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest

from ragvault.errors import NoIndexError, StoreDamagedError
from ragvault.model import IndexReport, Request
from ragvault.service.doctor import State, examine
from ragvault.service.index import IndexRequest, SetAside, index
from ragvault.service.search import search
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
def container(whole: Path, tmp_path: Path) -> Iterator[Callable[[], Container]]:
    """Opens the copy of the index anew, as another process would."""
    shutil.copytree(whole / "index", tmp_path / "index")
    with ExitStack() as opened:

        def fresh() -> Container:
            opened.pop_all().close()
            return opened.enter_context(stack(tmp_path / "index"))

        yield fresh


def run(container: Container, *paths: Path, full: bool = False) -> list[object]:
    return list(index(container, IndexRequest(tuple(paths), full=full)))


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
    assert "ragvault index --full" in checks["Catalog"].remedy
    try:
        assert found(container(), "ferry")[0] == "sea/boats.md"
    except StoreDamagedError as error:
        assert "ragvault index --full" in error.hint
    events = run(container(), full=True)
    assert (kept := next(e.kept for e in events if isinstance(e, SetAside))) and kept.exists()
    assert next(e for e in events if isinstance(e, IndexReport)).added
    assert container().catalog.check() == []
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
    run(container(), full=True)
    assert [v.name for v in container().catalog.vaults()] == ["notes"]
    assert (tmp_path / "index" / "vaults.json").stat().st_mode & 0o777 == 0o600


def test_a_sound_catalog_is_not_set_aside(container: Callable[[], Container]) -> None:
    events = run(container(), full=True)
    assert not any(isinstance(e, SetAside) for e in events)
    assert next(e for e in events if isinstance(e, IndexReport)).embedded == 0
