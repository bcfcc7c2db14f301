"""What a caller of the service sees of an index run, whatever it draws the events with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragvault.errors import IndexBusyError, StoreDamagedError, VaultPathError
from ragvault.model import IndexReport
from ragvault.service.index import Chosen, IndexRequest, OutOfReach, SetAside, index
from tests.support.cli import make_vault
from tests.support.stack import stack

NOTES = {"pump.md": "# Pump\n\nServiced in May.\n"}


def test_vault_out_of_reach_keeps_no_other_from_being_refreshed(tmp_path: Path) -> None:
    vaults = [make_vault(tmp_path / name, NOTES) for name in ("one", "two")]
    with stack(tmp_path / "index") as container:
        list(index(container, IndexRequest(tuple(vaults))))
        vaults[0].rename(tmp_path / "unplugged")
        chosen, gone, report = index(container, IndexRequest())
        assert isinstance(chosen, Chosen) and len(chosen.vaults) == 2
        assert isinstance(gone, OutOfReach) and gone.vault.name == "one"
        assert isinstance(report, IndexReport) and report.unchanged == 1
        with pytest.raises(VaultPathError):  # asked for by itself it is a failure
            list(index(container, IndexRequest(vaults=("one",))))


def test_damaged_catalog_is_set_aside_and_all_begins_again_when_told_so(tmp_path: Path) -> None:
    vault, folder = make_vault(tmp_path / "notes", NOTES), tmp_path / "index"
    with stack(folder, vault):
        pass
    for file in folder.glob("catalog.sqlite3*"):
        file.write_bytes(b"no database" * 500)
    with stack(folder) as container:
        with pytest.raises(StoreDamagedError):
            list(index(container, IndexRequest((vault,))))
        aside, chosen, report = index(container, IndexRequest((vault,), full=True))
    assert isinstance(aside, SetAside) and aside.kept.is_file()
    assert isinstance(chosen, Chosen) and chosen.vaults[0].path == vault
    assert isinstance(report, IndexReport) and report.added == ("pump.md",)


def test_run_that_is_given_up_lets_go_of_the_index(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "notes", NOTES)
    with stack(tmp_path / "index", index={"lock_timeout_s": 0}) as container:
        events = index(container, IndexRequest((vault,)))
        assert isinstance(next(events), Chosen)
        assert isinstance(next(events), IndexReport)
        with pytest.raises(IndexBusyError), container.lock():
            pass
        events.close()
        with container.lock():
            pass
