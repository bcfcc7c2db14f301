"""The table of what options cost is only worth its figures if each option really takes part in
its row, and rows are compared question by question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragvault.model import Retrieval
from tests.bench import options
from tests.bench.measure import Cost
from tests.bench.option_models import (
    ChatServer,
    reranker_settings,
    reranking,
    scripted,
    why_no_cross_encoders,
)
from tests.bench.options import Option, Sample, Searches
from tests.support.cross_encoders import NARROW
from tests.support.stack import stack

SETS = {
    "Kitchen": ("Buns.md", "The buns bake for twenty minutes.", "How long do the buns bake?"),
    "Work": ("Backend.md", "We moved the backend to SQLite.", "Where did the backend move?"),
}


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two sets of one note, and one question that it answers."""
    folders = []
    for name, (file, text, question) in SETS.items():
        folder = tmp_path_factory.mktemp("sets") / name
        (folder / "vault").mkdir(parents=True)
        (folder / "vault" / file).write_text(f"# {file}\n\n{text}\n", encoding="utf-8")
        line = {"question": question, "gold": [{"file": file}]}
        (folder / "questions.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
        folders.append(folder)
    return folders


@pytest.fixture(scope="module")
def searches(sets: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searches]:
    work = tmp_path_factory.mktemp("options")
    vault = options.merged(sets, work / "notes")
    with stack(work / "index", vault) as container:
        yield Searches(container)


@pytest.fixture(scope="module")
def server(searches: Searches) -> Iterator[ChatServer]:
    with scripted(searches.settings) as server:
        yield server


def test_questions_come_in_turn_and_their_places_are_in_the_merged_vault(
    sets: list[Path], searches: Searches
) -> None:
    drawn = options.drawn(sets, 5, lang="en")
    assert [q.text for q in drawn] == [question for _, _, question in SETS.values()]
    assert [q.gold[0].file for q in drawn] == ["Kitchen/Buns.md", "Work/Backend.md"]
    assert {f.folder for f in searches.container.catalog.folders(["notes"])} >= set(SETS)


def test_each_option_takes_part_in_its_row(
    sets: list[Path], searches: Searches, server: ChatServer
) -> None:
    """An option that silently did nothing would look as if it cost nothing."""
    server.script("How long do the buns bake?", "They bake for an hour.", ["notes/Kitchen"])
    rows = {option.name: option for option in options.options_of(searches, {"scripted": server})}

    def found(name: str) -> Retrieval:
        return searches.run(
            rows[name], "How long do the buns bake?", searches.settings_of(rows[name])
        )

    assert [kind for kind, _ in found("--expand, scripted").expansions] == ["expand"] * 3
    assert [kind for kind, _ in found("--hyde, scripted").expansions] == ["hyde"]
    assert found("folder selection: llm, scripted").folder_selection.selected == ("notes/Kitchen",)
    assert "notes/Kitchen" in found("folder selection: auto").folder_selection.selected
    plain = searches.run(Option("plain"), "buns", searches.settings_of(Option("plain")))
    assert (plain.expansions, plain.folder_selection.mode) == ((), "off")


def test_every_option_has_a_row_over_all_questions(
    sets: list[Path], searches: Searches, server: ChatServer
) -> None:
    wanted = options.options_of(searches, {"scripted": server})
    rows = options.measure(searches, wanted, options.drawn(sets, 2, lang=None))
    assert [row.name for row in rows] == [options.PLAIN, *(option.name for option in wanted)]
    assert {row.questions for row in rows[1:]} == {2}
    assert all(row.noticed == 0 and 0 < row.wall[0] <= row.wall[1] <= row.wall[2] for row in rows)
    assert [row.tokens > 0 for row in rows] == [False] * (len(rows) - 1) + [True]


def test_a_row_is_the_median_of_the_ratios_of_each_question() -> None:
    """A slow question or a slow minute of the machine slows both sides of its own ratio only."""
    mine = [
        Sample(Cost(2.0, 1.0)),
        Sample(Cost(30.0, 9.0), ("No server.",)),
        Sample(Cost(6.0, 3.0)),
    ]
    base = [Sample(Cost(1.0, 1.0)), Sample(Cost(10.0, 3.0)), Sample(Cost(2.0, 1.0))]
    row = options.row_of("x", mine, base)
    assert (row.wall[1], row.cpu[1], row.added_ms) == (3.0, 3.0, 4000.0)
    assert (row.noticed, row.notices) == (1, ("No server.",))


@pytest.mark.parametrize(
    ("reply", "read", "named"), [('["notes/Work"]', 2, 2), ("[]", 2, 0), ("Well,", 0, 0)]
)
def test_replies_about_folders_are_counted(
    sets: list[Path], searches: Searches, server: ChatServer, reply: str, read: int, named: int
) -> None:
    server.handle.play({"replies": [reply]})
    counted = options.folder_replies(searches, server, options.drawn(sets, 2, lang=None))
    assert (counted.questions, counted.read, counted.named, counted.errors) == (2, read, named, 0)
    assert counted.recall_off == counted.recall_llm == 1.0


@pytest.mark.torch
def test_rerankers_are_built_and_used(tmp_path: Path, searches: Searches) -> None:
    """A reranker that can't be loaded costs a notice and no time."""
    if why_no_cross_encoders():
        pytest.skip("needs ragvault[sentence-transformers] and the package onnx")
    wanted = reranker_settings(tmp_path, NARROW)
    assert len(wanted) == 4
    for name, settings in wanted.items():
        with reranking(searches.settings, settings) as container:
            option = Option(name, reranker=container.reranker())
            found = searches.run(option, "the buns", searches.settings_of(option))
        assert found.notices == (), name
        assert found.hits[0].scores.rerank is not None, name
