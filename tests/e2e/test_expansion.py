"""--expand and --hyde through a real process; the model is a scripted server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import Cli, indexed, make_vault
from tests.support.ollama_fixtures import CHAT_MODEL, OllamaHandle, scripted_ollama

QUESTION = "What keeps the boat from going rusty?"
WORDINGS = ["How is the hull protected against corrosion?", "anode zinc replacement"]
PASSAGE = "Zinc anodes protect the steel hull against galvanic corrosion. Replace them yearly."
WRITTEN = {"folders": ["vault/log"], "expand": WORDINGS, "hyde": PASSAGE}
SCRIPT = {"models": [CHAT_MODEL], "replies": [json.dumps(WRITTEN)]}


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    folder = tmp_path_factory.mktemp("expand")
    notes = {
        "hull.md": "# Hull\n\nSacrificial anodes of zinc go under the waterline every spring.\n",
        "rusty.md": "# Rusty\n\nRusty is the name of the neighbour's dog. He keeps barking.\n",
        "boat.md": "# Boat\n\nThe boat is nine metres long and was built in 1978.\n",
        "going.md": "# Going\n\nGoing to Denmark by boat takes two days.\n",
    }
    notes |= {f"log/{i}.md": f"# Day {i}\n\nSailed {i} miles, wind {i % 8}.\n" for i in range(30)}
    return indexed(folder, make_vault(folder / "vault", notes))


@pytest.fixture(scope="module")
def server() -> Iterator[OllamaHandle]:
    with scripted_ollama(SCRIPT) as handle:
        yield handle


def scores(cli: Cli, *flags: str, **env: str) -> dict[str, float]:
    found = cli("search", "--json", "-n", "50", *flags, QUESTION, **env).json["results"]
    return {Path(hit["rel_path"]).stem: hit["scores"]["final"] for hit in found}


@pytest.mark.parametrize(("flag", "other"), [("--expand", "rusty"), ("--hyde", "going")])
def test_other_wordings_bring_up_what_the_question_doesn_t_say(
    cli: Cli, server: OllamaHandle, flag: str, other: str
) -> None:
    """The note that answers gains on one that only sounds like the question, by what falls to the
    other: no score grows. (The guess goes in with the question: it can't outdo a dog's name.)"""
    server.play(SCRIPT)
    plain = scores(cli)
    helped = scores(cli, flag, RAGVAULT_OLLAMA_HOST=server.url)
    assert helped["hull"] / helped[other] > plain["hull"] / plain[other]
    assert all(helped[note] <= plain[note] for note in plain)
    assert len(server.requests("/api/chat")) == 1


def test_debug_shows_what_was_searched_and_what_it_did_to_each_score(
    cli: Cli, server: OllamaHandle
) -> None:
    """A score that --debug can't explain can't be trusted or tuned."""
    server.play(SCRIPT)
    flags = ("search", "--expand", "--hyde", "--folder-select", "llm", "--debug", QUESTION)
    run = cli(*flags, "--json", RAGVAULT_OLLAMA_HOST=server.url)
    [request] = server.requests("/api/chat")  # one call for all three
    assert set(request["body"]["format"]["properties"]) == {"folders", "expand", "hyde"}
    debug = run.json["debug"]
    assert debug["folder_selection"]["selected"] == ["vault/log"]
    assert [each["kind"] for each in debug["expansions"]] == ["expand", "expand", "hyde"]
    assert debug["expansions"][0]["text"] == "How is the hull protected against corrosion?"
    for chunk in debug["retrieved_chunks"]:
        assert {"expand", "hyde"} <= set(chunk["terms"])
        assert sum(chunk["terms"].values()) == pytest.approx(chunk["score_final"], abs=1e-5)
    text = cli(*flags, RAGVAULT_OLLAMA_HOST=server.url).out
    assert "anode zinc replacement" in text
    assert "galvanic" in text


def test_without_ollama_the_plain_search_is_made_and_said_to_be(cli: Cli) -> None:
    run = cli("search", "--json", "--expand", "--hyde", "-n", "50", QUESTION)
    assert run.code == 0
    assert "searched without" in run.err
    found = {Path(hit["rel_path"]).stem: hit["scores"]["final"] for hit in run.json["results"]}
    assert found == scores(cli)


def test_a_model_that_is_too_slow_is_waited_for_no_longer(cli: Cli, server: OllamaHandle) -> None:
    """Help that comes late is none: the search goes on, and the way to wait longer is named."""
    server.play({"models": [CHAT_MODEL], "replies": [{"steps": [{"stall": True}]}]})
    flags = ("search", "--json", "--expand", "--hyde", "-n", "50", QUESTION)
    started = time.monotonic()
    run = cli(*flags, RAGVAULT_OLLAMA_HOST=server.url, RAGVAULT_OLLAMA_ASSIST_TIMEOUT_S="0.5")
    assert time.monotonic() - started < 60  # the usual limit is 120 s
    assert run.code == 0
    assert "assist_timeout_s" in run.err
    found = {Path(hit["rel_path"]).stem: hit["scores"]["final"] for hit in run.json["results"]}
    assert found == scores(cli)


def test_the_configuration_turns_it_on_and_a_flag_off(cli: Cli, server: OllamaHandle) -> None:
    server.play(SCRIPT)
    on = {"RAGVAULT_RETRIEVAL_HYDE": "true", "RAGVAULT_OLLAMA_HOST": server.url}
    assert scores(cli, "--no-hyde", **on) == scores(cli)
    assert server.requests("/api/chat") == []
    assert scores(cli, **on) != scores(cli)
    assert len(server.requests("/api/chat")) == 1
