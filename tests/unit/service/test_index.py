"""What a caller of the service sees of an index run, whatever it draws the events with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragvault.errors import IndexBusyError
from ragvault.model import IndexReport
from ragvault.service.index import Chosen, IndexRequest, index
from tests.support.cli import make_vault
from tests.support.stack import stack

NOTES = {"pump.md": "# Pump\n\nServiced in May.\n"}


@pytest.mark.slow
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
