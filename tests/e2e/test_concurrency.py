"""Several processes on one index, and processes that are stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import Cli, indexed, make_vault
from tests.support.ollama_fixtures import CHAT_MODEL, OllamaHandle, scripted_ollama

ENDLESS = {"steps": [{"text": "The ferry leaves at nine {citation:1}. And"}, {"stall": True}]}


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    folder = tmp_path_factory.mktemp("together")
    notes = {f"n{i}.md": f"# Note {i}\n\nThe ferry {i} leaves at nine.\n" for i in range(12)}
    return indexed(folder, make_vault(folder / "notes", notes))


@pytest.fixture(scope="module")
def server() -> Iterator[OllamaHandle]:
    with scripted_ollama({"models": [CHAT_MODEL]}) as handle:
        yield handle


def start(cli: Cli, *arguments: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        cli.command(*arguments), cwd=cli.folder, env=cli.environment(**env), text=True,
        encoding="utf-8", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_questions_are_answered_while_the_index_is_rebuilt(cli: Cli) -> None:
    """A rebuild from cron must not get into the way of a question, nor the other way round."""
    writer = start(cli, "index", "--full", "--json")
    readers = [
        start(cli, "ask", f"When does ferry {i} leave?", "--no-llm", "--json") for i in "357"
    ]
    for reader in readers:
        out, err = reader.communicate(timeout=150)
        assert reader.returncode == 0, err
        assert json.loads(out)["references"]
    out, err = writer.communicate(timeout=150)
    assert writer.returncode == 0, err
    assert json.loads(out)["vaults"][0]["chunks"] == 12
    states = {check["name"]: check["state"] for check in cli("doctor", "--json").json["checks"]}
    assert states["Vector store"] == states["Catalog"] == "ok"
    assert cli("search", "ferry 5", "--json").json["results"][0]["rel_path"] == "n5.md"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_answer_that_is_stopped_ends_with_130_and_a_word(
    cli: Cli, server: OllamaHandle, number: signal.Signals
) -> None:
    """Ctrl-C in the middle of an answer: no traceback, and the model stops writing."""
    server.play({"models": [CHAT_MODEL], "replies": [ENDLESS]})
    with start(cli, "ask", "When does ferry 3 leave?", RAGVAULT_OLLAMA_HOST=server.url) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(9) == "The ferry"
        process.send_signal(number)
        err = process.stderr.read()
    assert process.returncode == 130
    assert "Interrupted." in err and "Traceback" not in err
    assert server.ended_early("/api/chat")


def test_output_that_nobody_takes(cli: Cli, tmp_path: Path) -> None:
    """`--help | true`, `>&-`, a full disk under `>`: never a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    gone = subprocess.run(
        cli.command("--help"), env=cli.environment(), stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert (gone.returncode, gone.stderr) == (0, b"")
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    for arguments in (["vault", "list"], ["vault", "list", "--json"]):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                cli.command(*arguments), env=cli.environment(), stdout=full, stderr=subprocess.PIPE
            )
        assert done.returncode == 1
        assert done.stderr.startswith(b"Error: The output can't be written")
        assert b"Traceback" not in done.stderr and b"ignored" not in done.stderr


@pytest.mark.parametrize("arguments", [["ask"], ["show", "last", "--json"]])
def test_an_error_that_nobody_takes_has_its_exit_code(cli: Cli, arguments: list[str]) -> None:
    """`2>/dev/full`, and `--json | true`: 2 and 3 are told apart without the words, too."""
    told = subprocess.run(cli.command(*arguments), env=cli.environment(), capture_output=True)
    reader, writer = os.pipe()
    os.close(reader)
    gone = subprocess.run(
        cli.command(*arguments), env=cli.environment(), stdout=writer, stderr=subprocess.PIPE
    )
    assert (gone.returncode, b"Traceback" in gone.stderr) == (told.returncode, False)
    lost = subprocess.run(cli.command(*arguments), env=cli.environment(), stderr=writer)
    os.close(writer)
    assert lost.returncode == told.returncode != 1
