"""What other wordings and HyDE make of the ranking: every score still explains itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ragvault.retrieval.candidates import expansion
from ragvault.retrieval.candidates.expansion import apply, between
from tests.unit.retrieval.test_pick import entry


def test_what_the_wordings_agree_on_rises_and_says_why() -> None:
    ranked = [entry("a", 0.60), entry("b", 0.58), entry("c", 0.57)]
    moved = apply(ranked, {"expand": [("c", "b"), ("c",)], "hyde": [()]})
    assert [candidate.id for candidate in moved] == ["c", "b", "a"]
    best = moved[0].scores
    assert best.terms[-1] == ("expand", 0.0)
    assert best.final == 0.57
    assert moved[2].scores.terms[-1][1] < 0


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
    st.lists(st.lists(st.sampled_from([f"{i:02}" for i in range(25)])), max_size=5),
)
def test_terms_add_up_and_nothing_is_lifted(finals: list[float], lists: list[list[str]]) -> None:
    """--debug explains every score; an invented wording opens no gate."""
    ranked = [entry(f"{i:02}", f) for i, f in enumerate(sorted(finals, reverse=True))]
    before = {candidate.id: candidate.scores.final for candidate in ranked}
    found = [tuple(ids) for ids in lists]
    moved = apply(ranked, {"expand": found, "hyde": found})
    for candidate in moved:
        scores = candidate.scores
        assert scores.final == sum(value for _, value in scores.terms)
        floor = (1 - expansion.WEIGHT) ** 2 * before[candidate.id]
        assert floor - 1e-9 <= scores.final <= before[candidate.id]
    values = [candidate.scores.final for candidate in moved]
    assert values == sorted(values, reverse=True)
    assert len(moved) == len(ranked)


def test_the_middle_of_two_vectors_has_length_one() -> None:
    one, other = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)
    middle = between(one, other)
    assert middle.dtype == np.float32
    assert middle == pytest.approx([0.5**0.5, 0.5**0.5])
    assert (between(one, -one) == one).all()
