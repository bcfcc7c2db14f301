"""A question after another: ``ask --continue`` and ``--session``, ``chat`` piped and at a terminal,
and what else shows an answer in the making. Real processes; the chat model is scripted."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import SAMPLE_VAULT, Cli, indexed
from tests.support.ollama_fixtures import CHAT_MODEL, OllamaHandle, scripted_ollama

FIRST = "Who is Priya Raman?"
THEN = "and where does she live?"
WHOLE = "where does she live (Priya Raman)?"
QUESTION = "Why did we move the Tidepool backend from Postgres to SQLite?"


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return indexed(tmp_path_factory.mktemp("chat"), SAMPLE_VAULT)


@pytest.fixture
def server() -> Iterator[OllamaHandle]:
    with scripted_ollama({"models": [CHAT_MODEL]}) as handle:
        yield handle


def play(server: OllamaHandle, *replies: Any) -> dict[str, str]:
    server.play({"models": [CHAT_MODEL], "replies": list(replies)})
    return {"RAGVAULT_OLLAMA_HOST": server.url}


# ------------------------------------------------------------------ ask


def test_a_follow_up_is_searched_for_with_what_it_is_about(cli: Cli) -> None:
    cli("ask", "--no-llm", FIRST)
    run = cli("ask", "--no-llm", "--continue", THEN)
    assert run.out.startswith(f"searched for: {WHOLE}\n")
    value = cli("ask", "--no-llm", "--continue", "--json", "and her birthday?").json
    assert value["question"] == "and her birthday?"
    assert value["meta"]["retrieval"]["searched_for"] == "her birthday (Priya Raman)?"


def test_a_session_is_gone_on_with_by_its_name(cli: Cli) -> None:
    cli("ask", "--no-llm", "--session", "team", FIRST)
    cli("ask", "--no-llm", QUESTION)
    assert WHOLE in cli("ask", "--no-llm", "--session", "team", THEN).out
    assert cli("ask", "--continue", "--session", "team", THEN).code == 2
    nothing = cli("ask", "--continue", THEN, RAGVAULT_INDEX_PATH=str(cli.folder / "none"))
    assert nothing.code == 2 and "Ask without --continue." in nothing.err


def test_the_model_alone_is_marked_as_not_from_the_notes(cli: Cli, server: OllamaHandle) -> None:
    env = play(server, "Ulan Bator, \x1b[2Jit seems [1].")
    run = cli("ask", "--no-rag", "What is the capital of Mongolia?", **env)
    assert run.code == 0 and "\x1b" not in run.out
    assert run.out.startswith("⚠ Not from your notes:\nUlan Bator, it seems [1].\n")
    assert "confidence" not in run.out and "Sources" not in run.out
    value = cli("ask", "--no-rag", "--json", "What is the capital of Mongolia?", **env).json
    assert (value["mode"], value["confidence"], value["references"]) == ("model", 0.0, [])
    assert value["caveats"][0].startswith("Not from your notes")
    sent = server.requests("/api/chat")[-1]["body"]["messages"]
    assert not any("Section:" in message["content"] for message in sent)
    alone = cli("ask", "--no-rag", "hello there")
    assert alone.code == 5, "there is nothing else to answer with"
    assert "ollama serve" in alone.err and "--no-llm" not in alone.err
    assert cli("ask", "--no-rag", "--no-llm", "hello there").code == 2


def test_events_are_lines_of_json_and_the_last_is_the_result(
    cli: Cli, server: OllamaHandle
) -> None:
    left = "The Tidepool backend left managed Postgres behind {citation:1}."
    env = play(server, f"{{sentence:1}} {{citation:1}} {left} It cost 9,123 euros.")
    run = cli("ask", "--json-stream", QUESTION, **env)
    events = [json.loads(line) for line in run.out.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds[0] == "retrieval" and kinds[-1] == "done" and events[0]["hits"]
    assert kinds.index("citation") < kinds.index("token")
    said = {event["verdict"]: event for event in events if event["type"] == "statement"}
    assert said["supported"]["shown"] and said["supported"]["chunk_ids"]
    assert said["partly"]["shown"] and said["partly"]["chunk_ids"]
    assert not said["unsupported"]["shown"] and "9,123" in said["unsupported"]["text"]
    tokens = "".join(event["text"] for event in events if event["type"] == "token")
    assert tokens == events[-1]["answer"] and "9,123" not in tokens
    assert tokens.count("(partly)") == 1 and tokens.endswith("] (partly).")
    whole = cli("ask", "--json", QUESTION, **env).json
    assert set(events[-1]) == {*whole, "type"}
    failed = cli("ask", "--json-stream", "--vault", "none", QUESTION)
    assert failed.code == 2 and json.loads(failed.out)["type"] == "error"


# ------------------------------------------------------------------ chat


def test_questions_may_be_piped_in(cli: Cli) -> None:
    said = f"{FIRST}\n\n{THEN}\n/sources\n/nonsense\n/new\n/sources\n{THEN}\n/quit\n{FIRST}\n"
    run = cli("chat", "--no-llm", stdin=said)
    assert run.out.count("searched for: ") == 1 and WHOLE in run.out
    assert run.out.count("confidence") == 3, "nothing is asked after /quit"
    assert "There is no command /nonsense." in run.err and "There is no answer yet." in run.err
    assert run.code == 2
    assert "\x1b" not in run.out


def test_the_model_hears_the_turns_behind_the_notes(cli: Cli, server: OllamaHandle) -> None:
    env = play(server, "{sentence:1} {citation:1}")
    cli("chat", stdin=f"{FIRST}\n{THEN}\n", RAGVAULT_GATE_MIN_CONFIDENCE="0", **env)
    said = server.requests("/api/chat")[-1]["body"]["messages"][-1]["content"]
    before = said.index("Earlier in this conversation:")
    assert said.index("--- End Context ---") < before < said.index(FIRST)
    assert WHOLE in said


@pytest.mark.parametrize(
    ("reply", "searched"),
    [
        ("Where does Priya Raman live?", "Where does Priya Raman live?"),
        ("Where does Bob Smith live?", WHOLE),
    ],
)
def test_a_large_model_makes_the_question_whole_in_words_of_the_conversation(
    cli: Cli, server: OllamaHandle, reply: str, searched: str
) -> None:
    rewriting = {"when": "Last question", "steps": [{"text": reply}]}
    large = {**CHAT_MODEL, "parameters": "8.0B"}
    server.play({"models": [large], "replies": [rewriting, "{sentence:1} {citation:1}"]})
    run = cli("chat", stdin=f"{FIRST}\n{THEN}\n", RAGVAULT_OLLAMA_HOST=server.url)
    assert f"searched for: {searched}\n" in run.out


def test_a_chat_is_limited_and_saved(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "talk.md"
    said = f"/folder zz\n/folder People\n{QUESTION}\n/folder\n{FIRST}\n/save {file}\n"
    run = cli("chat", "--no-llm", stdin=f"{said}/save {file}\n/debug\n")
    assert "No folder 'zz' is indexed." in run.err and "Searching zz" not in run.err
    assert "Searching People." in run.err and "File exists" in run.err
    saved = file.read_text("utf-8")
    assert saved.startswith(f"## {QUESTION}\n") and f"\n## {FIRST}\n" in saved
    assert "Debug" in run.out
    assert file.stat().st_mode & 0o077 == 0


def test_another_model_writes_from_then_on(cli: Cli, server: OllamaHandle) -> None:
    other = {**CHAT_MODEL, "name": "other:latest"}
    server.play({"models": [CHAT_MODEL, other], "replies": ["{sentence:1} {citation:1}"]})
    said = f"/model\n/model nobody\n/model other\n{FIRST}\n"
    run = cli("chat", stdin=said, RAGVAULT_OLLAMA_HOST=server.url)
    assert "llama3.2:latest\nother:latest\n" in run.out and "nobody" in run.err
    assert "written by other" in run.out


def test_without_an_index_it_is_said_before_a_question_is(tmp_path: Path) -> None:
    assert Cli(tmp_path)("chat", stdin=f"{FIRST}\n").code == 4


class Screen:
    """A program at a terminal: what it shows, and keys for it."""

    def __init__(self, cli: Cli, *arguments: str, **env: str) -> None:
        self._end, other = pty.openpty()
        settings = cli.environment(
            TERM="xterm-256color", PROMPT_TOOLKIT_NO_CPR="1", COLUMNS="100", LINES="30", **env
        )
        self.process = subprocess.Popen(
            cli.command(*arguments),
            stdin=other,
            stdout=other,
            stderr=other,
            env=settings,
            cwd=cli.folder,
            start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(other), os.O_RDWR)),
        )
        os.close(other)
        self.shown = ""

    def type(self, keys: str) -> None:
        os.write(self._end, keys.encode())

    def wait_for(self, text: str) -> str:
        """What has come since the last wait, up to and with the text."""
        ends = time.monotonic() + 90
        while text not in (plain := _plain(self.shown)):
            assert time.monotonic() < ends, f"{text!r} never came: {plain[-2000:]}"
            if select.select([self._end], [], [], 1)[0]:
                try:
                    self.shown += os.read(self._end, 65536).decode(errors="replace")
                except OSError:  # the program has ended
                    assert text in _plain(self.shown), _plain(self.shown)[-2000:]
        seen, self.shown = self.shown, plain[plain.index(text) + len(text) :]
        return seen


def _plain(text: str) -> str:
    return re.sub(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][B0]|.)", "", text)


@contextmanager
def screen(cli: Cli, *arguments: str, **env: str) -> Iterator[Screen]:
    shown = Screen(cli, *arguments, **env)
    try:
        yield shown
    finally:
        shown.process.kill()
        shown.process.wait()


def test_ctrl_c_stops_the_answer_and_not_the_chat(cli: Cli, server: OllamaHandle) -> None:
    stalling = {"steps": [{"text": "{sentence:1} {citation:1} And then there"}, {"stall": True}]}
    env = play(server, stalling, "{sentence:1} {citation:1}")
    with screen(cli, "chat", **env) as terminal:
        terminal.wait_for(">")
        terminal.type(f"{QUESTION}\r")
        drafted = terminal.wait_for("And then there")
        assert "\x1b[2m" in drafted.rpartition("And then there")[0][-60:], "what may go is dimmed"
        terminal.type("\x03")
        terminal.wait_for("Stopped.")
        assert server.ended_early("/api/chat"), "the model goes on writing for nobody"
        terminal.wait_for(">")
        terminal.type("something\x03")  # thrown away
        terminal.wait_for(">")
        terminal.type(f"{FIRST}\r")
        terminal.wait_for("written by llama3.2")
        terminal.wait_for(">")
        terminal.type("\x1b[A\r")  # the last question once more
        assert FIRST in _plain(terminal.wait_for("written by llama3.2"))
        terminal.wait_for(">")
        terminal.type("\x04")
        assert terminal.process.wait(30) == 0


def test_pasted_colours_are_no_mouse_and_quit_ends_whatever_follows_it(cli: Cli) -> None:
    """prompt_toolkit takes the escape sequence of a colour for a click, and stops over it."""
    with screen(cli, "chat", "--no-llm") as terminal:
        terminal.wait_for(">")
        terminal.type("\x1b[31m/help\r")
        terminal.wait_for("/save FILE.md")
        terminal.wait_for(">")
        terminal.type("/quit now\r")
        assert terminal.process.wait(30) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_chat_ends_when_it_is_told_to(cli: Cli, number: int) -> None:
    with screen(cli, "chat", "--no-llm") as terminal:
        terminal.wait_for(">")
        terminal.type("/help\r")
        terminal.wait_for("/save FILE.md")
        terminal.wait_for(">")
        terminal.process.send_signal(number)
        assert terminal.process.wait(30) == 130
