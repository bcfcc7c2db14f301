"""How a reranker joins the ranking, and what happens when it can't."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from ragvault.errors import ModelError
from ragvault.model import Retrieval
from ragvault.retrieval.pipeline import Deps
from ragvault.retrieval.ranking.rerank import TOP, WEIGHT
from tests.support.search_index import SearchIndex, Source, paths, source

UNIT = st.floats(0.0, 1.0)


class Scripted:
    """Answers with what a function says of each passage."""

    name = "scripted"

    def __init__(self, score: dict[str, float] | float, *, fails: bool = False) -> None:
        self.score = score
        self.fails = fails
        self.asked: list[str] = []

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        self.asked = list(texts)
        if self.fails:
            raise ModelError("The reranker is not installed.", "Install it.")
        if isinstance(self.score, float):
            return [self.score] * len(texts)
        return [max(v for k, v in self.score.items() if k in text) for text in texts]

    def close(self) -> None:
        """Nothing to close."""


class Short(Scripted):
    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        return super().rerank(question, texts)[1:]


NOTES = [
    source("Bread.md", "Knead the dough for ten minutes."),
    source("Rolls.md", "Let the dough for the rolls rest overnight in the fridge."),
    Source("Oven.md", ((("Baking", "Steam"), "Steam keeps the crust of the dough soft."),)),
    source("Router.md", "The admin page is at 10.0.0.1."),
]
QUESTION = "How long should dough be kneaded?"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchIndex]:
    made = SearchIndex.fake(tmp_path_factory.mktemp("index"))
    made.add("kitchen", NOTES)
    yield made
    made.close()


def searched(
    index: SearchIndex,
    reranker: Scripted | None,
    *,
    for_answer: bool = False,
) -> Retrieval:
    deps = Deps(index.catalog, lambda: index.embedder, lambda: index.vectors, reranker=reranker)
    return index.search(QUESTION, deps=deps, for_answer=for_answer)


def test_what_the_reranker_likes_comes_first(index: SearchIndex) -> None:
    assert paths(searched(index, None))[0] == "Bread.md"
    reranker = Scripted({"fridge": 1.0, "": 0.0})
    found = searched(index, reranker)
    assert paths(found)[0] == "Rolls.md"
    assert "rerank" in found.timings_ms
    assert found.hits[0].scores.rerank == 1.0


@pytest.mark.slow
@settings(deadline=None)  # the machine's time is no property
@given(
    scores=st.lists(UNIT, min_size=4, max_size=4),
)
def test_the_terms_add_up_to_what_is_sorted_by(index: SearchIndex, scores: list[float]) -> None:
    """Else --debug would explain another order than the one shown."""

    class Fixed(Scripted):
        def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
            return scores[: len(texts)]

    plain = {hit.chunk.id: hit.scores.final for hit in searched(index, None).hits}
    after = searched(index, Fixed(0.0)).hits
    finals = [hit.scores.final for hit in after]
    assert finals == sorted(finals, reverse=True)
    for hit in after:
        found = hit.scores
        assert found.final == sum(value for _, value in found.terms)
        expected = (1 - WEIGHT) * plain[hit.chunk.id] + WEIGHT * (found.rerank or 0.0)
        assert math.isclose(found.final, expected, abs_tol=1e-12)


def test_only_the_best_are_read_again(tmp_path: Path) -> None:
    """Else a slow model would read the whole vault."""
    many = SearchIndex.fake(tmp_path)
    many.add(
        "kitchen", [source(f"{n}.md", text=f"Dough number {n} rests.") for n in range(TOP + 5)]
    )
    reranker = Scripted(0.0)
    found = searched(many, reranker)
    many.close()
    assert len(reranker.asked) == TOP < len(found.hits)
    assert sum(hit.scores.rerank is not None for hit in found.hits) == TOP


def test_a_reranker_that_fails_costs_a_notice_and_no_hit(index: SearchIndex) -> None:
    plain = searched(index, None)
    found = searched(index, Scripted(0.0, fails=True))
    assert [hit.chunk.id for hit in found.hits] == [hit.chunk.id for hit in plain.hits]
    assert found.notices == (
        "Ranked without a reranker. The reranker is not installed. Install it.",
    )
    assert plain.notices == ()


@pytest.mark.parametrize("wrong", [Scripted(1.5), Scripted(-0.1), Scripted(math.nan), Short(0.5)])
def test_scores_that_can_not_be_are_not_ranked_by(index: SearchIndex, wrong: Scripted) -> None:
    found = searched(index, wrong)
    assert paths(found) == paths(searched(index, None))
    assert "scripted gave other than one score" in found.notices[0]


def test_equal_scores_keep_the_order_of_ids(index: SearchIndex) -> None:
    found = searched(index, Scripted(0.5))
    ids = [(-hit.scores.final, hit.chunk.id) for hit in found.hits]
    assert ids == sorted(ids)


def test_a_passage_is_read_with_its_title_and_headings(index: SearchIndex) -> None:
    """Else "Steam" under "Baking" would be about any steam."""
    reranker = Scripted(0.0)
    searched(index, reranker)
    assert "Oven\nBaking\nSteam\nSteam keeps the crust of the dough soft." in reranker.asked
    assert any(passage.startswith("Bread\nKnead") for passage in reranker.asked)


def test_a_reranker_orders_and_refuses_nothing(index: SearchIndex) -> None:
    """The floors are measured on the blend: a reranker whose scores are low by habit must not
    turn answers into refusals."""
    plain = searched(index, None, for_answer=True)
    found = searched(index, Scripted(0.0), for_answer=True)
    assert [(h.chunk.id, h.kept, h.dropped_by) for h in found.hits] == [
        (h.chunk.id, h.kept, h.dropped_by) for h in plain.hits
    ]
