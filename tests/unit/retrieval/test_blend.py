"""The blend: what is shown is what was sorted by."""

from __future__ import annotations

import math
from datetime import datetime

import pytest
from hypothesis import given, strategies as st

from ragvault.config.settings import RetrievalSettings
from ragvault.model import Chunk, Hit, NoteInfo, Scores, StoredChunk
from ragvault.retrieval.ranking.blend import (
    Candidate,
    recency_of,
    score_all,
    trust_of,
    vector_weight,
)
from ragvault.retrieval.ranking.pick import over_limit, pick

SETTINGS = RetrievalSettings()
NOW = datetime(2024, 5, 15, 10, 30).timestamp()
DAY = 86_400.0


def candidate(
    chunk_id: str,
    vector: float | None = 0.5,
    bm25: float = 0.0,
    *,
    weight: float = 1.0,
    date: float = NOW,
    text: str | None = None,
    note: str | None = None,
    by_keyword: bool | None = None,
) -> Candidate:
    path = note or f"{chunk_id}.md"
    chunk = Chunk(chunk_id, "v", path, (), 0, 0, 1, 2, text or f"text of {chunk_id}", "", chunk_id)
    info = NoteInfo("v", path, chunk_id, "", (), (), date, date)
    found = bm25 > 0 if by_keyword is None else by_keyword
    scores = Scores(vector=vector, bm25=bm25, folder_weight=weight)
    return Candidate(StoredChunk(chunk, info), scores, found)


def blended(
    *candidates: Candidate,
    trust: float = 1.0,
    window: tuple[float, float] | None = None,
) -> list[Candidate]:
    return score_all(candidates, trust * vector_weight(SETTINGS, "all-MiniLM-L6-v2"), window)


def test_the_blend_is_the_weighted_sum() -> None:
    ranked = blended(candidate("a", 0.8, 4.0), candidate("b", 0.6, 2.0))
    best, second = (c.scores for c in ranked)
    assert best.final == pytest.approx(0.7 * 0.8 + 0.3 * 1.0)
    assert second.final == pytest.approx(0.7 * 0.6 + 0.3 * 0.5)


def test_with_time_the_date_counts_too() -> None:
    window = (NOW - 120 * DAY, NOW)
    old = NOW - (120 + 30) * DAY
    ranked = blended(
        candidate("a", 0.8, 4.0, date=NOW - DAY),
        candidate("b", 0.8, 4.0, date=old),
        window=window,
    )
    assert [c.id for c in ranked] == ["a", "b"]
    assert ranked[0].scores.final == pytest.approx(0.75 * (0.7 * 0.8 + 0.3) + 0.25)
    assert ranked[1].scores.final == pytest.approx(0.75 * (0.7 * 0.8 + 0.3) + 0.25 * 0.5)


def test_without_vectors_words_fill_the_whole_scale() -> None:
    [found] = blended(candidate("a", None, 4.0), trust=0.0)
    assert found.scores.final == pytest.approx(1.0)
    assert found.scores.vector is None


def test_the_folder_weight_multiplies_the_vector_score() -> None:
    [found] = blended(candidate("a", 0.8, 0.0, weight=0.5))
    assert found.scores.final == pytest.approx(0.7 * 0.8 * 0.5)
    assert found.scores.folder_weight == 0.5


def test_a_cosine_below_zero_counts_as_none_but_is_shown() -> None:
    [found] = blended(candidate("a", -0.4, 0.0))
    assert found.scores.final == 0.0
    assert found.scores.vector == -0.4


def test_equal_scores_are_ordered_by_id_whatever_order_they_came_in() -> None:
    forward = blended(candidate("a"), candidate("b"), candidate("c"))
    backward = blended(candidate("c"), candidate("b"), candidate("a"))
    assert [c.id for c in forward] == ["a", "b", "c"] == [c.id for c in backward]


def test_recency_is_one_inside_the_window_and_halves_outside_on_both_sides() -> None:
    window = (NOW - 28 * DAY, NOW)
    assert recency_of(NOW - 5 * DAY, window) == 1.0
    assert recency_of(NOW - (28 + 7) * DAY, window) == pytest.approx(0.5)
    assert recency_of(NOW + 7 * DAY, window) == pytest.approx(0.5)
    assert recency_of(NOW - 230 * DAY, (NOW - 200 * DAY, NOW)) == pytest.approx(0.5)


def test_a_note_dated_in_the_future_is_as_recent_as_can_be() -> None:
    assert recency_of(NOW + 40 * DAY, (NOW, math.inf)) == 1.0
    assert recency_of(NOW - 30 * DAY, (NOW, math.inf)) == pytest.approx(0.5)


_SCORES = st.tuples(
    st.one_of(st.none(), st.floats(-1, 1)), st.floats(0, 1e6), st.floats(0.1, 1), st.floats(0, 4e9)
)


@given(st.lists(_SCORES, max_size=30), st.booleans(), st.floats(0, 1))
def test_the_explanation_is_the_score(
    raw: list[tuple[float | None, float, float, float]], timed: bool, trust: float
) -> None:
    """--debug and the order of the sources can't disagree: terms add up to final, exactly."""
    candidates = [
        candidate(f"{i:02}", v, b, weight=w, date=d) for i, (v, b, w, d) in enumerate(raw)
    ]
    window = (NOW, math.inf) if timed else None
    ranked = blended(*candidates, trust=trust, window=window)
    for scores in (c.scores for c in ranked):
        assert sum(value for _, value in scores.terms) == scores.final
        assert 0.0 <= scores.final <= 1.0 + 1e-9
        assert scores.lexical is not None
        assert 0.0 <= scores.lexical <= 1.0
    finals = [c.scores.final for c in ranked]
    assert finals == sorted(finals, reverse=True)
    assert {c.id for c in ranked} == {c.id for c in candidates}


# ------------------------------------------------------------------------------- pick


def picked(*candidates: Candidate, k: int = 3) -> list[Hit]:
    return list(pick(blended(*candidates), k=k, min_vector=0.3))


def test_every_dropped_candidate_stays_with_its_reason() -> None:
    hits = picked(
        candidate("a", 0.9, 4.0),
        candidate("b", 0.8, 2.0),
        candidate("c", 0.2, 0.0),
        candidate("e", 0.5, 0.0),
        candidate("f", 0.85, 3.9, text="TEXT of  a"),
        k=2,
    )
    fate = {hit.chunk.id: hit.dropped_by for hit in hits}
    assert fate == {
        "a": None,
        "b": None,
        "c": "min_vector",
        "e": "rank",
        "f": "duplicate",
    }
    assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5]


def test_what_a_keyword_found_is_spared_the_vector_floor() -> None:
    """An error code or a name may mean nothing to the model and everything to the user."""
    hits = picked(candidate("a", 0.05, 4.0), candidate("b", 0.05, 0.0))
    assert [(h.chunk.id, h.dropped_by) for h in hits] == [("a", None), ("b", "min_vector")]


def test_the_same_text_in_several_notes_shows_once_and_names_the_others() -> None:
    hits = picked(
        candidate("a", 0.9, text="Buy milk\n\nand  bread"),
        candidate("b", 0.8, text="buy milk and bread", note="copy.md"),
        candidate("c", 0.7, text="Buy milk", note="other.md"),
    )
    assert hits[0].duplicates == ("copy.md",)
    assert [h.dropped_by for h in hits] == [None, "duplicate", None]


def test_only_the_best_by_weighted_vector_stay_in_an_overfull_pool() -> None:
    many = [candidate(f"{i:03}", i / 250) for i in range(250)]
    gone = over_limit(many)
    assert gone == {f"{i:03}" for i in range(50)}


# ----------------------------------------------------------------------------- trust


def test_what_a_model_cant_read_is_weighed_by_words_alone() -> None:
    """An English model finds anything near to a question in Arabic."""
    near, said = candidate("a", 0.9, 1.0), candidate("b", 0.2, 4.0)
    firsts = [blended(near, said, trust=trust)[0].id for trust in (1.0, 0.0)]
    assert firsts == ["a", "b"]
    [found] = blended(candidate("a", 0.8, 4.0), trust=0.5)
    assert found.scores.final == pytest.approx(0.35 * 0.8 + 0.65)


def test_each_model_has_its_weight_unless_one_is_set() -> None:
    """What serves a weak model holds a strong one back."""
    names = ("sentence-transformers/all-MiniLM-L6-v2", "embeddinggemma:300m", "my-own-model")
    weights = [vector_weight(SETTINGS, name) for name in names]
    assert weights == [0.7, 0.9, 0.7]
    wanted = RetrievalSettings(weight_vector=0.2)
    assert {vector_weight(wanted, name) for name in names} == {0.2}


def test_trust_rises_with_the_share_that_the_model_can_read() -> None:
    shares = [0.0, 0.21, 0.54, 0.55, 0.7, 0.8, 0.86, 1.0]
    trusts = [trust_of(share) for share in shares]
    assert trusts == sorted(trusts)
    assert trusts[:4] == [0.0, 0.0, 0.0, 0.0]
    assert trusts[5:] == pytest.approx([1.0, 1.0, 1.0])
    assert 0.0 < trusts[4] < 1.0
