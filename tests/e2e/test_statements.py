"""What becomes of a model's statements: cited, marked or left out, the notes' words beneath them,
and kept. The chat model is scripted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.cli import SAMPLE_VAULT, Cli, indexed
from tests.support.ollama_fixtures import CHAT_MODEL, OllamaHandle, scripted_ollama

QUESTION = "Why did we move the Tidepool backend from Postgres to SQLite?"
HELD, INVENTED = "Managed Postgres cost £48 a month.", "It cost 9,123 euros."


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return indexed(tmp_path_factory.mktemp("statements"), SAMPLE_VAULT)


@pytest.fixture(scope="module")
def server() -> Iterator[OllamaHandle]:
    with scripted_ollama({"models": [CHAT_MODEL]}) as handle:
        yield handle


def play(server: OllamaHandle, reply: str) -> None:
    server.play({"models": [CHAT_MODEL], "replies": [reply]})


def test_a_model_that_finds_no_answer_takes_none_away(cli: Cli, server: OllamaHandle) -> None:
    play(server, "I don't have enough information to answer this question.")
    run = cli("ask", QUESTION, "--json", RAGVAULT_OLLAMA_HOST=server.url)
    assert run.code == 0
    assert run.json["mode"] == "extractive"
    assert "The model found no answer in these passages." in run.json["caveats"]


def test_each_statement_cites_what_holds_it_or_is_left_out(cli: Cli, server: OllamaHandle) -> None:
    """One cites the wrong passage, one nothing, one no passage holds."""
    draft = f"{HELD[:-1]} {{citation:3}}. The API stays in Go. It cost 9,123 euros [Ref. 1]."
    play(server, draft)
    said = cli("ask", QUESTION, "--json", RAGVAULT_OLLAMA_HOST=server.url).json
    sections = {r["chunk_id"]: r["heading_path"][-1] for r in said["references"]}
    cited = [(sections[c["chunk_id"]], c["status"]) for c in said["citations"]]
    assert cited == [("Reasons", "moved"), ("Decision", "added")]
    assert said["unsupported"] == ["It cost 9,123 euros."]
    play(server, draft)
    whole = cli("ask", QUESTION, "--all", RAGVAULT_OLLAMA_HOST=server.url).out
    assert "1 statement left out: not in your notes." in whole
    assert "Not in your notes: It cost 9,123 euros." in whole
    play(server, draft)
    assert "9,123" not in cli("ask", QUESTION, RAGVAULT_OLLAMA_HOST=server.url).out


@pytest.mark.parametrize(
    ("how", "shown", "is_said"),
    [
        ("drop", "", True),
        ("mark", f" {INVENTED[:-1]} (not in your notes).", True),
        ("keep", f" {INVENTED}", False),
    ],
)
def test_what_no_note_holds_is_left_out_or_marked_or_kept(
    cli: Cli, server: OllamaHandle, how: str, shown: str, is_said: bool
) -> None:
    play(server, f"{HELD} {INVENTED}")
    env = {"RAGVAULT_OLLAMA_HOST": server.url, "RAGVAULT_ANSWER_UNSUPPORTED": how}
    run = cli("ask", QUESTION, **env)
    assert run.out.startswith(f"{HELD} [1]{shown}\n")
    assert ("⚠ 1 " in run.out) == is_said
    assert ("1 of 2 statements: not in" in run.out) == (how == "mark")
    assert cli("show", "last", **env).out.partition("\n")[2] == run.out
    kept = cli("show", "last", "--json").json
    verdicts = [(s["text"], s["verdict"], s["shown"]) for s in kept["statements"]]
    assert verdicts == [(HELD, "supported", True), (INVENTED, "unsupported", how != "drop")]
    assert kept["statements"][0]["chunk_ids"] == [kept["references"][0]["chunk_id"]]


def test_emphasis_that_closes_behind_a_full_stop_ends_a_statement(
    cli: Cli, server: OllamaHandle
) -> None:
    """What is true in bold isn't left out with what is invented behind it."""
    play(server, f"**{HELD}** *{INVENTED}* The API stays in Go.")
    said = cli("ask", QUESTION, "--json", RAGVAULT_OLLAMA_HOST=server.url).json
    assert said["mode"] == "llm"
    assert [(s["text"], s["shown"]) for s in said["statements"]] == [
        (f"**{HELD}**", True),
        (f"*{INVENTED}*", False),
        ("The API stays in Go.", True),
    ]


def test_what_was_said_is_kept_and_listed_where_quotes_took_its_place(
    cli: Cli, server: OllamaHandle
) -> None:
    play(server, f"{INVENTED} I don't have enough information.")
    run = cli("ask", QUESTION, "--all", RAGVAULT_OLLAMA_HOST=server.url)
    assert f"Not in your notes: {INVENTED}" in run.out
    kept = cli("show", "last", "--json").json
    assert kept["mode"] == "extractive"
    assert [(s["verdict"], s["shown"]) for s in kept["statements"]] == [
        ("unsupported", False),
        ("admission", False),
    ]
    assert INVENTED not in cli("show", "last").out


@pytest.mark.parametrize(
    ("how", "of_paraphrase", "of_quotation"),
    [("auto", True, False), ("always", True, True), ("off", False, False)],
)
def test_the_notes_words_stand_beneath_a_source_as_it_is_set(
    cli: Cli, server: OllamaHandle, how: str, of_paraphrase: bool, of_quotation: bool
) -> None:
    env = {"RAGVAULT_OLLAMA_HOST": server.url, "RAGVAULT_OUTPUT_EVIDENCE": how}
    words = (
        "Leila and Sami Haddad. Leila teaches me Arabic on Tuesdays, see مفردات عربية. "
        "They have our spare key."
    )
    for said, is_beneath in (
        ("Our spare key is with Leila and Sami Haddad.", of_paraphrase),
        (words, of_quotation),
    ):
        play(server, said)
        value = cli("ask", "Who has our spare key?", "--json", **env).json
        assert value["mode"] == "llm"
        assert [one["evidence"] for one in value["references"]] == [words if is_beneath else ""]
        assert value["also"] == []
