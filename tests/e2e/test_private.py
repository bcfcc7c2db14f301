"""What the index holds is for its owner only; and what else a process checks at its start."""

from __future__ import annotations

import io
import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragvault.cli.main import run
from tests.support.cli import Cli, make_vault


@pytest.fixture
def own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What `run` sets for the whole process, which is the tests' own here, is put back."""
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    umask = os.umask(0o022)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    os.umask(umask)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_files_are_the_owners_also_in_a_folder_that_was_there(tmp_path: Path) -> None:
    """The catalog, with all the notes' text in it, was readable by everybody on the machine."""
    cli = Cli(tmp_path)
    cli.index_path.mkdir(mode=0o755)
    cli.index_path.chmod(0o755)
    vault = make_vault(tmp_path / "notes", {"pump.md": "# Pump\n\nServiced in May.\n"})
    assert cli("index", str(vault)).code == 0
    wide = {
        path.name: stat.filemode(path.stat().st_mode)
        for path in cli.index_path.rglob("*")
        if path.stat().st_mode & 0o077
    }
    assert wide == {}
    checks = {check["name"]: check for check in cli("doctor", "--json").json["checks"]}
    assert checks["Privacy"]["state"] == "warning"
    assert checks["Privacy"]["remedy"] == f"Run `chmod -R go= {cli.index_path}`."
    for path in (cli.index_path, *cli.index_path.rglob("*")):
        path.chmod(path.stat().st_mode & 0o700)
    checks = {check["name"]: check for check in cli("doctor", "--json").json["checks"]}
    assert checks["Privacy"]["state"] == "ok"


@pytest.mark.usefixtures("own_process")
def test_a_clock_before_1970_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["search", "pump"], clock=lambda: -1.0)
    assert ended.value.code == 2
    assert "clock is before 1970" in capsys.readouterr().err


@pytest.mark.usefixtures("own_process")
def test_a_second_ctrl_c_while_the_first_is_told_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It ended in a traceback."""

    class Impatient(io.StringIO):
        def write(self, text: str) -> int:
            signal.raise_signal(signal.SIGINT)
            return super().write(text)

    def stopped() -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stderr", shown := Impatient())
    with pytest.raises(SystemExit) as ended:
        run(["search", "pump"], clock=stopped)
    assert ended.value.code == 130 and "Interrupted" in shown.getvalue()


@pytest.mark.usefixtures("own_process")
def test_an_interrupt_while_an_object_is_freed_is_not_lost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Python only printed "Exception ignored in", and the command went on."""

    class Freed:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def clock() -> float:
        Freed()
        time.sleep(30)
        return -1.0

    with pytest.raises(SystemExit) as ended:
        run(["search", "pump"], clock=clock)
    assert ended.value.code == 130 and capsys.readouterr().err == "Interrupted.\n"


def test_names_with_line_ends_are_whole_behind_nul(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    vault = make_vault(tmp_path / "notes", {"a\nb.md": "The kingfisher.\n"})
    assert cli("index", str(vault)).code == 0
    found = cli("search", "kingfisher", "--files", "--print0")
    assert found.out.split("\0") == [str(vault / "a\nb.md"), ""]
