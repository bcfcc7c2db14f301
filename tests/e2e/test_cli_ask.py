"""``ask`` and ``search`` through a real process, with real stores and the real embedding model;
the chat model is a scripted server that speaks Ollama's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragvault.answering.confidence import MEANING_AND_WORDS
from ragvault.model import DroppedBy
from tests.support.cli import SAMPLE_VAULT, Cli, indexed, make_vault
from tests.support.ollama_fixtures import CHAT_MODEL, OllamaHandle, scripted_ollama

QUESTION = "Why did we move the Tidepool backend from Postgres to SQLite?"
OFF_TOPIC = "What is the capital of Mongolia?"
REFERENCE = {
    "marker", "vault", "rel_path", "heading_path", "chunk_index", "chunk_id", "start_line",
    "end_line", "snippet", "score", "modified",
}  # fmt: skip


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The sample vault, indexed once."""
    return indexed(tmp_path_factory.mktemp("ask"), SAMPLE_VAULT)


@pytest.fixture(scope="module")
def server() -> Iterator[OllamaHandle]:
    with scripted_ollama({"models": [CHAT_MODEL]}) as handle:
        yield handle


def play(server: OllamaHandle, *replies: Any) -> None:
    server.play({"models": [CHAT_MODEL], "replies": list(replies)})


def assert_ask_object(value: dict[str, Any]) -> None:
    """DESIGN.md's names: scripts rely on them."""
    assert value["schema_version"] == 1
    assert {
        "question", "answer", "abstained", "abstain_reason", "mode", "confidence",
        "confidence_band", "references", "citations", "nearest", "meta",
    } <= set(value)  # fmt: skip
    assert {
        "model", "id", "retrieval", "llm_ms", "total_ms", "prompt_tokens", "completion_tokens",
        "notices",
    } <= set(value["meta"])  # fmt: skip
    assert {"k", "strategy", "candidate_count", "rerank_count", "time_ms"} <= set(
        value["meta"]["retrieval"]
    )
    assert 0.0 <= value["confidence"] <= 1.0
    for reference in [*value["references"], *value["nearest"]]:
        assert set(reference) >= REFERENCE
    for citation in value["citations"]:
        assert set(citation) == {"raw", "position", "status", "chunk_id"}


# ------------------------------------------------------------------ without a model


def test_without_a_server_the_notes_are_quoted_and_a_notice_says_how_to_get_more(cli: Cli) -> None:
    run = cli("ask", QUESTION)
    assert run.code == 0, run
    assert "[1]" in run.out and "Sources" in run.out
    assert "word for word" in run.out and "confidence" in run.out
    assert "ollama serve" in run.err
    assert "[File:" not in run.out


def test_no_llm_asks_no_server_and_gives_no_notice(cli: Cli, server: OllamaHandle) -> None:
    play(server, "unused")
    run = cli("ask", QUESTION, "--no-llm", RAGVAULT_OLLAMA_HOST=server.url)
    assert (run.code, run.err) == (0, "")
    assert server.requests() == []


def test_extractive_json(cli: Cli) -> None:
    run = cli("ask", QUESTION, "--no-llm", "--json")
    value = run.json
    assert_ask_object(value)
    assert (run.code, value["abstained"], value["mode"]) == (0, False, "extractive")
    assert value["references"] and "[File: " in value["answer"]
    assert "debug" not in value
    first = value["references"][0]
    lines = (SAMPLE_VAULT / first["rel_path"]).read_text(encoding="utf-8").splitlines()
    assert lines[first["start_line"] - 1 : first["end_line"]], "the place exists"


def test_off_topic_question_is_refused_with_the_nearest_notes(cli: Cli) -> None:
    run = cli("ask", OFF_TOPIC, "--no-llm")
    assert run.code == 3
    assert "Nearest in your notes" in run.out and "Searched: " in run.out
    value = cli("ask", OFF_TOPIC, "--no-llm", "--json").json
    assert_ask_object(value)
    assert value["abstained"] is True and value["abstain_reason"] == "no_relevant_context"
    assert value["references"] == [] and value["nearest"] and value["mode"] == "none"


def test_limits_that_no_note_is_within_are_said_to_be_so(cli: Cli) -> None:
    run = cli("ask", QUESTION, "--no-llm", "--since", "2080-01-01")
    assert run.code == 3 and "within the limits that you set. Widen them" in run.out
    assert "Searched: notes in sample-vault, only" in run.out
    assert "since 2080-01-01" in run.out and "Use words" not in run.out


def test_fallback_none_without_a_server_exits_with_5(cli: Cli) -> None:
    run = cli("ask", QUESTION, "--json", RAGVAULT_ANSWER_FALLBACK="none")
    assert run.code == 5
    assert run.json["error"]["type"] == "model_server"


def test_greeting_is_answered_in_one_line(cli: Cli) -> None:
    run = cli("ask", "hello")
    assert run.code == 0 and len(run.out.splitlines()) == 1
    value = cli("ask", "thanks!", "--json").json
    assert_ask_object(value)
    assert value["confidence"] == 0.0 and value["mode"] == "none"


def test_question_from_stdin(cli: Cli) -> None:
    run = cli("ask", "-", "--no-llm", "--json", stdin=f"{QUESTION}\n")
    assert run.json["question"] == QUESTION


@pytest.mark.parametrize("question", ["", "   ", "\x00\x1b[31m", "x" * 10_000])
def test_question_that_is_none(cli: Cli, question: str) -> None:
    for command in ("ask", "search"):
        run = cli(command, "-", stdin=question)
        assert run.code == 2 and run.err.startswith("Error: ")
    assert "2,000" in cli("ask", "-", stdin="x" * 10_000).err


# ------------------------------------------------------------------ with a model


def test_written_answer_streams_with_numbered_sources(cli: Cli, server: OllamaHandle) -> None:
    play(server, "The API stays in Go {citation:1}. {sentence:1} {citation:1}")
    run = cli("ask", QUESTION, RAGVAULT_OLLAMA_HOST=server.url)
    assert run.code == 0, run
    first, last = run.out.split("\n\n")[0].split(" [1]", 1)
    assert first == "The API stays in Go"
    assert last.startswith(". ") and last.endswith(" [1]"), "the last sentence is shown too"
    assert "written by llama3.2" in run.out


def test_written_answer_as_json(cli: Cli, server: OllamaHandle) -> None:
    play(server, "The API stays in Go {citation:1}.")
    run = cli("ask", QUESTION, "--json", "--debug", RAGVAULT_OLLAMA_HOST=server.url)
    value = run.json
    assert_ask_object(value)
    assert value["mode"] == "llm" and value["meta"]["model"] == "llama3.2"
    assert value["citations"][0]["status"] == "exact"
    assert value["citations"][0]["chunk_id"] == value["references"][0]["chunk_id"]
    debug = value["debug"]
    assert set(debug) >= {"retrieved_chunks", "folder_selection", "timings_ms"}
    keys = {
        "rank", "chunk_id", "vault", "rel_path", "heading_path", "text", "score_vector",
        "score_lexical", "score_recency", "folder_weight", "score_final", "kept", "dropped_by",
    }  # fmt: skip
    assert all(set(chunk) >= keys for chunk in debug["retrieved_chunks"])
    assert [c["rank"] for c in debug["retrieved_chunks"]] == list(
        range(1, len(debug["retrieved_chunks"]) + 1)
    )


def test_numeric_citations_agree_with_the_references(cli: Cli, server: OllamaHandle) -> None:
    """citations.style: numeric, for programs that show [1] themselves."""
    play(server, "{sentence:2} [2]. The API stays in Go [1].")
    env = {"RAGVAULT_OLLAMA_HOST": server.url, "RAGVAULT_CITATIONS_STYLE": "numeric"}
    value = cli("ask", QUESTION, "--json", **env).json
    assert "[File:" not in server.requests("/api/chat")[0]["body"]["messages"][-1]["content"]
    markers = {reference["chunk_id"]: reference["marker"] for reference in value["references"]}
    assert [citation["raw"] for citation in value["citations"]] == ["[2]", "[1]"]
    for citation in value["citations"]:
        mark = f"[{markers[citation['chunk_id']]}]"
        assert value["answer"].startswith(mark, citation["position"])
    shown = cli("ask", QUESTION, **env).out
    assert shown.startswith(value["answer"])
    sources = shown.split("Sources\n")[1]
    assert sources.index(f"[1] {value['references'][0]['rel_path']}") == 0


def test_invented_citations_are_not_shown_as_an_answer(cli: Cli, server: OllamaHandle) -> None:
    play(server, "We use Oracle [File: invented.md, Section: Nowhere].")
    run = cli("ask", QUESTION, RAGVAULT_OLLAMA_HOST=server.url)
    assert "Oracle" not in run.out and "invented" not in run.out
    assert "word for word" in run.out and run.code == 0
    assert run.err.strip()


def test_missing_model_names_those_that_are_there(cli: Cli, server: OllamaHandle) -> None:
    play(server, "unused")
    run = cli("ask", QUESTION, "--model", "qwen9", RAGVAULT_OLLAMA_HOST=server.url)
    assert run.code == 0 and "word for word" in run.out
    assert "qwen9" in run.err and "ollama pull" in run.err


def test_escape_sequences_of_a_model_do_not_reach_the_terminal(
    cli: Cli, server: OllamaHandle
) -> None:
    play(server, "The API \x1b[2Jstays in \x1b]0;owned\x07Go {citation:1}.")
    run = cli("ask", QUESTION, RAGVAULT_OLLAMA_HOST=server.url)
    assert "\x1b" not in run.out and "\x07" not in run.out
    assert "stays in Go" in run.out


# ------------------------------------------------------------------ search


def test_search_lists_places_best_first(cli: Cli) -> None:
    run = cli("search", "sqlite backend decision", "-n", "3")
    assert run.code == 0
    assert run.out.startswith("1. ") and "score" in run.out
    numbers = [line.split(".")[0] for line in run.out.splitlines() if line[:1].isdigit()]
    assert numbers == ["1", "2", "3"]
    value = cli("search", "sqlite backend decision", "-n", "3", "--json").json
    assert set(value) >= {"schema_version", "query", "results", "meta"}
    assert [r["rank"] for r in value["results"]] == [1, 2, 3]
    finals = [r["scores"]["final"] for r in value["results"]]
    assert finals == sorted(finals, reverse=True)
    for result in value["results"]:
        assert set(result) >= REFERENCE
        assert set(result["scores"]) == {"vector", "lexical", "recency", "final"}


def test_search_files_prints_paths_that_open(cli: Cli) -> None:
    run = cli("search", "backend", "--files")
    paths = run.out.splitlines()
    assert paths and len(paths) == len(set(paths))
    assert all(Path(path).is_file() for path in paths)


def test_search_that_finds_nothing_exits_with_3(cli: Cli) -> None:
    run = cli("search", "backend", "--since", "2080-01-01")
    assert run.code == 3 and run.out.startswith("Nothing found.")
    as_json = cli("search", "backend", "--since", "2080-01-01", "--json")
    assert as_json.code == 3 and as_json.json["results"] == []
    assert cli("search", "backend", "--since", "2080-01-01", "--files").out == ""


def test_a_search_holds_to_phrases_and_leaves_words_out(cli: Cli) -> None:
    """Who writes quotation marks wants these words, not what means much the same."""
    every = {r["rel_path"] for r in cli("search", "SQLite", "-k", "50", "--json").json["results"]}
    quoted = cli("search", '"Postgres to SQLite"', "--json")
    held = {r["rel_path"] for r in quoted.json["results"]}
    assert held and held < every
    without = cli("search", "SQLite -postgres", "-n", "50", "--json")
    assert without.json["query"] == "SQLite -postgres"
    assert {r["rel_path"] for r in without.json["results"]}.isdisjoint(held)
    nothing = cli("search", '"Postgres to MongoDB"')
    assert nothing.code == 3
    assert "No note holds “Postgres to MongoDB”, word for word." in nothing.err
    refused = cli("ask", "--no-llm", 'who said "we ship on friday nights"?')
    assert refused.code == 3
    assert "No note holds “we ship on friday nights”, word for word." in refused.err


def test_a_mistyped_word_is_read_as_the_notes_write_it(cli: Cli) -> None:
    run = cli("search", "Tidepol backend", "--json")
    assert run.json["meta"]["corrected"] == {"tidepol": "tidepool"}
    assert run.json["query"] == "Tidepol backend"
    assert run.json["meta"]["notices"] == ["“tidepol” is in no note: read as “tidepool”."]
    right = cli("search", "Tidepool backend", "--json")
    assert [r["chunk_id"] for r in run.json["results"]] == [
        r["chunk_id"] for r in right.json["results"]
    ]
    asked = cli("ask", "--no-llm", QUESTION.replace("Tidepool", "Tidepol"), "--json").json
    assert asked["question"] == QUESTION.replace("Tidepool", "Tidepol")
    assert asked["answer"] == cli("ask", "--no-llm", QUESTION, "--json").json["answer"]


def test_files_are_counted_as_files(cli: Cli) -> None:
    paths = cli("search", "backend", "--files", "-n", "6").out.splitlines()
    assert len(paths) == len(set(paths)) == 6


def test_filters(cli: Cli) -> None:
    def places(*arguments: str) -> set[str]:
        run = cli("search", "decision", "--json", "-n", "50", *arguments)
        assert run.code in (0, 3), run.err
        return {r["rel_path"] for r in run.json["results"]}

    assert all(p.startswith("Projects/") for p in places("--folder", "Projects"))
    assert places("--folder", "sample-vault/Projects") == places("--folder", "Projects")
    assert places("--until", "2023-12-31").isdisjoint(places("--since", "2024-01-01"))
    assert places("--vault", "sample-vault") == places()
    assert cli("search", "x", "--vault", "nobody").code == 2
    assert cli("search", "x", "--folder", "no-such-folder").code == 2


def test_debug_shows_what_the_confidence_is_made_from(cli: Cli) -> None:
    """A confidence that can't be taken apart can't be trusted or tuned."""
    value = cli("ask", QUESTION, "--no-llm", "--debug", "--json").json
    features = value["debug"]["confidence"]["features"]
    assert set(MEANING_AND_WORDS.weights) <= set(features)
    assert MEANING_AND_WORDS(features) == pytest.approx(value["confidence"], abs=1e-3)
    shown = cli("ask", QUESTION, "--no-llm", "--debug").out
    assert f"{value['confidence']:.2f} by meaning and words: lift {features['lift']:.2f}" in shown


def test_debug_goes_on_to_the_quotes(cli: Cli) -> None:
    """What was kept and isn't quoted has to be told, or nobody can say why."""
    value = cli("ask", QUESTION, "--no-llm", "--debug", "--json").json
    quotes, kept = value["debug"]["quotes"], [
        chunk for chunk in value["debug"]["retrieved_chunks"] if chunk["kept"]
    ]  # fmt: skip
    assert quotes and all(0 < quote["share"] <= 1 for quote in quotes)
    shown = cli("ask", QUESTION, "--no-llm", "--debug").out
    for chunk in kept:
        is_quoted = any(quote["chunk_id"] == chunk["chunk_id"] for quote in quotes)
        over = shown.partition("passed over")[2].split(":")[0].replace(",", " ").split()
        assert is_quoted or str(chunk["rank"]) in over


def test_why_says_where_a_note_stood(cli: Cli) -> None:
    value = cli("ask", QUESTION, "--no-llm", "--debug", "--json").json
    chunks = value["debug"]["retrieved_chunks"]
    first, *_ = chunks
    told = cli("why", first["rel_path"], QUESTION)
    said = " ".join(told.out.split())
    assert told.code == 0, told.err
    assert f"is number 1 of {value['meta']['retrieval']['candidate_count']}" in said
    assert "It was kept" in said
    kept = {chunk["rel_path"] for chunk in chunks if chunk["kept"]}
    dropped = next(chunk for chunk in chunks if chunk["rel_path"] not in kept)
    said = " ".join(cli("why", dropped["rel_path"], QUESTION).out.split())
    assert f"not kept: {DroppedBy(dropped['dropped_by']).description}." in said
    pointed = "How much did the Tidepool logo cost?"
    for question, says in (
        ("What are my newest notes?", "only the newest notes were"),
        ('Who sails "no such phrase"?', "it doesn't hold what you put in quotation marks"),
        (pointed, "It was kept. Nothing was quoted as an answer"),
        (pointed, "`ask` points at Projects/Tidepool/Payments decision.md"),
    ):
        assert says in " ".join(cli("why", "Payments decision", question).out.split())
    unknown = cli("why", "No such note", QUESTION)
    assert unknown.code == 2 and "There is no note" in unknown.err
    assert "Did you mean" not in unknown.err


def test_debug_lists_every_candidate_with_its_fate(cli: Cli) -> None:
    run = cli("ask", QUESTION, "--no-llm", "--debug")
    value = cli("ask", QUESTION, "--no-llm", "--debug", "--json").json
    for chunk in value["debug"]["retrieved_chunks"]:
        line = next(row for row in run.out.splitlines() if chunk["chunk_id"][:12] in row)
        assert f"{chunk['score_final']:.3f}" in line
        assert ("kept" if chunk["kept"] else chunk["dropped_by"]) in line
    assert "folders" in run.out and "time spent" in run.out


def test_hostile_names_and_notes_reach_no_terminal(tmp_path: Path) -> None:
    """A shared vault must not be able to play with the reader's terminal."""
    cli = Cli(tmp_path)
    vault = make_vault(
        tmp_path / "evil",
        {"bad\x1b[31mname.md": "# Ti\x1b]0;p\x07tle\n\nThe [bold red]lighthouse[/] \x1b[2Jblinks."},
    )
    assert cli("index", str(vault)).code == 0
    for arguments in (
        ["search", "lighthouse"],
        ["ask", "lighthouse blinks", "--debug"],
        ["status"],
    ):
        run = cli(*arguments)
        assert "\x1b" not in run.out + run.err and "\x07" not in run.out + run.err
    assert "[bold red]lighthouse[/]" in cli("search", "lighthouse").out, (
        "no markup is read in notes"
    )
