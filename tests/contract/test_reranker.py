"""One suite for all rerankers: what the ranking relies on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragvault.adapters.onnx.cross_encoder import OnnxCrossEncoder
from ragvault.config.settings import Settings
from ragvault.ports import Reranker
from tests.support.cross_encoders import write_table_model

QUESTION = "How long should bread dough rest before it goes into the oven?"
TEXTS = (
    "Let the dough rest for an hour, then bake the bread in a hot oven.",
    "The router's admin page is at 10.0.0.1.",
    "Bread",
    "We met on Tuesday to plan the garden, and nobody had brought the seeds.\n" * 8,
    "Let the dough rest for an hour, then bake the bread in a hot oven.",
)


@pytest.fixture(scope="module", params=["onnx"])
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reranker]:
    folder = tmp_path_factory.mktemp("reranker")
    made = OnnxCrossEncoder(Settings(rerank={"path": str(write_table_model(folder / "tiny"))}))
    yield made
    made.close()


def test_one_score_a_text_in_its_order(reranker: Reranker) -> None:
    """Else a passage would be ranked by another one's score."""
    scores = reranker.rerank(QUESTION, TEXTS)
    assert len(scores) == len(TEXTS)
    assert all(isinstance(score, float) and 0.0 <= score <= 1.0 for score in scores)
    assert len({round(score, 4) for score in scores}) >= 3, "it tells them apart"
    assert scores[0] == scores[4]
    backwards = reranker.rerank(QUESTION, TEXTS[::-1])
    assert backwards[::-1] == scores


def test_the_same_again(reranker: Reranker) -> None:
    """Else the same search would give another order the second time."""
    assert reranker.rerank(QUESTION, TEXTS) == reranker.rerank(QUESTION, TEXTS)


def test_a_score_does_not_depend_on_the_other_passages(reranker: Reranker) -> None:
    alone = [reranker.rerank(QUESTION, [text])[0] for text in TEXTS]
    assert alone == reranker.rerank(QUESTION, TEXTS)


def test_no_passages(reranker: Reranker) -> None:
    assert reranker.rerank(QUESTION, []) == []


@pytest.mark.parametrize("text", ["", " \n\t ", "\x00\x1b[31m", "a\udc80b", "🦊" * 50, "東京の塔"])
def test_any_text_has_a_score(reranker: Reranker, text: str) -> None:
    """A search must not end because one note is odd."""
    for question, passage in ((QUESTION, text), (text, TEXTS[0]), (text, text)):
        (score,) = reranker.rerank(question, [passage])
        assert 0.0 <= score <= 1.0


@pytest.mark.parametrize("unit", ["bread and butter ", "x" * 1000])
def test_a_long_passage_is_cut(reranker: Reranker, unit: str) -> None:
    (score,) = reranker.rerank(QUESTION, [unit * (400_000 // len(unit))])
    assert 0.0 <= score <= 1.0


def test_a_long_question_leaves_room_for_the_passage(reranker: Reranker) -> None:
    """Else two thousand characters of question would make all passages alike."""
    asked = "What about the garden plan? " * 70
    first, second = reranker.rerank(asked, TEXTS[:2])
    assert first != second


def test_it_works_again_after_close(reranker: Reranker) -> None:
    before = reranker.rerank(QUESTION, TEXTS[:2])
    reranker.close()
    assert reranker.rerank(QUESTION, TEXTS[:2]) == before


def test_it_has_a_name(reranker: Reranker) -> None:
    assert reranker.name
