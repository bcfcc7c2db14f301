"""The closer look that the gate goes by, on the real model: it must tell an answer from a topic."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.config.settings import Settings
from ragvault.model import Chunk, Closeness, Hit, NoteInfo, Scores, StoredChunk
from ragvault.retrieval.confidence.features import LOOKED_AT, closeness_of, look_closer
from tests.support.fakes import FakeEmbedder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def embedder() -> Iterator[OnnxEmbedder]:
    found = OnnxEmbedder(Settings())
    yield found
    found.close()


def hit(rank: int, text: str) -> Hit:
    chunk = Chunk(f"c{rank}", "v", "Boiler.md", (), 0, 0, 1, 2, text, "", "h")
    note = NoteInfo("v", "Boiler.md", "Boiler", "", (), (), 0.0, 0.0)
    return Hit(rank, StoredChunk(chunk, note), Scores(0.5, 0.5, None, 1.0, 0.5), kept=True)


ANSWER = hit(1, "The boiler was serviced in May. The error code F.22 means low water pressure.")
TOPIC = hit(2, "The boiler was serviced in May. A man came with a van and drank two coffees.")
QUESTION = "What does the boiler's error code F.22 mean?"


def test_a_passage_that_answers_is_closer_than_one_on_the_topic(embedder: OnnxEmbedder) -> None:
    answer, topic = (
        look_closer(QUESTION, [ANSWER], embedder),
        look_closer(QUESTION, [TOPIC], embedder),
    )
    assert answer is not None and topic is not None
    assert answer.mean > topic.mean + 0.1
    assert answer.weakest > topic.weakest + 0.1
    assert 0.0 <= topic.weakest <= topic.mean <= 1.0
    assert topic.asked == answer.asked > 5


def test_the_best_of_the_hits_counts_and_only_the_first_are_looked_at(
    embedder: OnnxEmbedder,
) -> None:
    answer = look_closer(QUESTION, [ANSWER], embedder)
    assert look_closer(QUESTION, [TOPIC, ANSWER], embedder) == answer
    late = [TOPIC] * LOOKED_AT + [ANSWER]
    assert (
        look_closer(QUESTION, late, embedder) == look_closer(QUESTION, [TOPIC], embedder) != answer
    )


def test_nothing_found_or_nothing_written_is_no_failure(embedder: OnnxEmbedder) -> None:
    assert look_closer(QUESTION, [], embedder) is None
    empty = look_closer(QUESTION, [hit(1, "")], embedder)  # its title is left
    assert empty is not None and empty.mean < 0.7


def test_an_embedder_without_vectors_of_tokens_is_not_asked_for_them() -> None:
    assert look_closer(QUESTION, [ANSWER], FakeEmbedder()) is None


def test_one_word_without_a_counterpart_shows_in_the_weakest() -> None:
    """The mean hides it among ten others."""
    asked = np.eye(10, dtype=np.float32)
    whole, lacking = closeness_of(asked, asked), closeness_of(asked, asked[:9])
    assert (whole.mean, whole.weakest) == pytest.approx((1.0, 1.0))
    assert lacking.mean == pytest.approx(0.9)
    assert lacking.weakest < 0.3
    assert closeness_of(asked, asked[:0]).weakest == 0.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(0, 39), st.floats(0, 1))
def test_weakest_lies_between_minimum_and_mean_and_rises_with_each(
    cosines: list[float], which: int, more: float
) -> None:
    def match(values: list[float]) -> Closeness:
        return closeness_of(np.array(values, np.float32)[:, None], np.ones((1, 1), np.float32))

    found = match(cosines)
    assert min(cosines) - 1e-6 <= found.weakest <= found.mean + 1e-6
    better = [max(c, more) if i == which else c for i, c in enumerate(cosines)]
    assert match(better).weakest >= found.weakest - 1e-6
