"""Starting up: help at once, no heavy import before it is needed, failures in one form."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import Cli, make_vault
from tests.support.docs import pages

HEAVY = ["chromadb", "onnxruntime", "tokenizers", "torch", "ollama", "numpy", "huggingface_hub"]
SETTINGS = ["pydantic", "yaml", "rich.console", "sqlite3"]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def imported(cli: Cli, *arguments: str) -> set[str]:
    """The modules that a command imports."""
    command = cli.command(*arguments)
    command[1:1] = ["-X", "importtime"]
    done = subprocess.run(
        command, cwd=cli.folder, env=cli.environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip() for line in lines}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_and_version_import_nothing_heavy(cli: Cli, arguments: list[str]) -> None:
    """A person who looks something up must not wait for a model runtime."""
    assert not imported(cli, *arguments) & {*HEAVY, *SETTINGS}


def test_help_of_a_command_imports_nothing_heavy(cli: Cli) -> None:
    assert imported(cli, "ask", "--help") & {*HEAVY, "rich.console", "yaml"} == set()


def test_refresh_without_changes_loads_no_model_and_no_vector_store(
    cli: Cli, tmp_path: Path
) -> None:
    """`ragvault index` from cron every minute has to cost next to nothing."""
    vault = make_vault(tmp_path / "notes", {"a.md": "# A\nboats", "b/c.md": "# C\nbread"})
    for note in vault.rglob("*.md"):
        os.utime(note, (1_700_000_000, 1_700_000_000))  # one of this moment is looked at again
    assert cli("index", str(vault)).code == 0
    names = imported(cli, "index")
    assert names & {*HEAVY, "rich.console", "markdown_it", "yaml"} == set()


def test_version_is_the_package_s(cli: Cli) -> None:
    from ragvault import __version__

    run = cli("--version")
    assert (run.code, run.out, run.err) == (0, f"ragvault {__version__}\n", "")


def test_bare_call_shows_the_help_on_stderr_and_fails(cli: Cli) -> None:
    run = cli()
    assert run.code == 2
    assert run.out == ""
    assert "ragvault index ~/notes" in run.err


def test_every_option_has_a_help_text() -> None:
    for path, text in pages():
        for line in text.splitlines():
            if line.startswith("  -"):
                assert "  " in line.strip(), f"{path}: {line}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["aks", "x"], ["aks", "'ask'"]),
        (["ask"], ["QUESTION"]),
        (["ask", "--bogus", "x"], ["--bogus"]),
        (["ask", "x", "--detail", "huge"], ["--detail", "huge", "brief"]),
        (["ask", "x", "-k", "0"], ["-k"]),
        (["search", "x", "--since", "blurp"], ["blurp"]),
        (["search", "x", "--since", "2024", "--until", "2020"], ["--since", "--until"]),
        (["index", "x", "--vault", "y"], ["--vault"]),
        (["index", "--name", "y"], ["--name"]),
        (["index", "x", "--watch", "--json"], ["--watch", "--json"]),
        (["config", "show", "--config", "/nowhere/c.yaml"], ["/nowhere/c.yaml"]),
    ],
)
def test_usage_mistakes_exit_with_2_and_say_what_next(
    cli: Cli, arguments: list[str], words: list[str]
) -> None:
    run = cli(*arguments)
    assert run.code == 2, run
    if "--json" not in arguments:
        assert run.out == ""
        assert run.err.startswith("Error: ") and "→" in run.err
    for word in words:
        assert word in run.err + run.out
    as_json = cli(*arguments, "--json")
    assert as_json.code == 2
    error = as_json.json["error"]
    assert set(error) == {"type", "message", "hint", "exit_code"}
    assert error["exit_code"] == 2 and error["hint"]


@pytest.mark.parametrize("arguments", [["ask", "x"], ["search", "x"], ["index"], ["vault", "list"]])
def test_before_the_first_index_the_next_command_is_named(cli: Cli, arguments: list[str]) -> None:
    run = cli(*arguments)
    assert run.code == 4
    assert "ragvault index" in run.err
    assert not cli.index_path.exists(), "asking must leave nothing behind"
    assert cli(*arguments, "--json").json["error"]["type"] == "no_index"


def test_unexpected_failure_is_one_sentence_and_a_traceback_only_on_request(cli: Cli) -> None:
    """A bug must not pour a traceback over a person."""
    cli.folder.joinpath("sitecustomize.py").write_text(
        "import ragvault.wiring\n"
        "def boom(*_): raise ZeroDivisionError('a bug')\n"
        "ragvault.wiring.locate_config = boom\n"
    )
    path = f"{cli.folder}:{cli.environment()['PYTHONPATH']}"
    run = cli("config", "path", PYTHONPATH=path)
    assert run.code == 1
    assert "ZeroDivisionError: a bug" in run.err and "RAGVAULT_DEBUG=1" in run.err
    assert "Traceback" not in run.err
    assert "Traceback" in cli("config", "path", PYTHONPATH=path, RAGVAULT_DEBUG="1").err


def test_reader_that_leaves_early_is_no_error(cli: Cli) -> None:
    """`ragvault config show | head -1`."""
    with subprocess.Popen(
        cli.command("config", "show"),
        env=cli.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_output_that_the_encoding_lacks_is_replaced(cli: Cli, tmp_path: Path) -> None:
    """A Windows console or LANG=C must not end a command with UnicodeEncodeError."""
    vault = make_vault(tmp_path / "notes", {"日本.md": "# 🚢 boats\nboats → 日本"})
    for encoding in ("ascii", "cp1252"):
        run = cli("index", str(vault), PYTHONIOENCODING=encoding)
        assert run.code == 0, run.err
        found = cli("search", "boats", PYTHONIOENCODING=encoding)
        assert found.code == 0, found.err
        as_json = cli("search", "boats", "--json", PYTHONIOENCODING=encoding)
        assert as_json.json["results"][0]["rel_path"] == "日本.md"


def test_completion_knows_commands_and_options(cli: Cli) -> None:
    def complete(words: str, index: int) -> str:
        run = cli(_RAGVAULT_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(index))
        assert run.code == 0, run.err
        return run.out

    assert {"index", "ask", "search", "vault"} <= set(complete("ragvault ", 1).split())
    assert "--folder" in complete("ragvault ask --fo", 2)
    assert "remove" in complete("ragvault vault re", 2)
