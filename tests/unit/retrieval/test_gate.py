"""The gate: an answer from nothing is the worst failure, a needless "no" the second."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from ragvault.model import (
    AbstainReason,
    Abstention,
    Chunk,
    Closeness,
    DroppedBy,
    Evidence,
    Findings,
    Hit,
    Intent,
    NoteInfo,
    Query,
    Scores,
    StoredChunk,
    Strategy,
    TimeHint,
)
from ragvault.retrieval.confidence.calibration import (
    GENERIC,
    MINILM,
    MINILM_CHUNKS,
    Calibration,
    Logistic,
    for_model,
    in_force,
)
from ragvault.retrieval.confidence.features import features_of, rank_weighted_mean
from ragvault.retrieval.confidence.gate import LEAST_TOPIC, judge

FLAT = Calibration("flat", Logistic(("top_cosine",), (10.0,), -5.0))  # 0.5 at a cosine of 0.5


def hit(
    rank: int,
    vector: float | None,
    final: float,
    dropped_by: str | None = None,
    *,
    bm25: float = 0.0,
    note: str | None = None,
    text: str = "text",
) -> Hit:
    path = note or f"{rank}.md"
    chunk = Chunk(f"c{rank}", "v", path, ("Heading",), 0, 0, 1, 2, text, "", "h")
    info = NoteInfo("v", path, "title", "", (), (), 0.0, 0.0)
    scores = Scores(vector, min(1.0, bm25), None, 1.0, final, bm25=bm25)
    fate = None if dropped_by is None else DroppedBy(dropped_by)
    return Hit(rank, StoredChunk(chunk, info), scores, fate is None, fate)


def retrieval(*hits: Hit, strategy: str = "hybrid", intent: Intent = Intent.QUESTION) -> Findings:
    query = Query("the question", ("question",), ("question",), intent)
    return Findings(query, hits, Strategy(strategy), searched="12 notes in v")


def decide(what: Findings, calibration: Calibration) -> Evidence | Abstention:
    return judge(what, calibration).outcome


def abstention(outcome: Evidence | Abstention) -> Abstention:
    assert isinstance(outcome, Abstention)
    return outcome


def test_good_hits_open_the_gate_with_their_confidence() -> None:
    found = decide(retrieval(hit(1, 0.7, 0.8), hit(2, 0.6, 0.5)), FLAT)
    assert isinstance(found, Evidence)
    assert [h.rank for h in found.hits] == [1, 2]
    assert found.confidence == pytest.approx(1 / (1 + 2.718281828**-2))
    assert found.caveats == ()


def test_no_hits_at_all_is_no_relevant_context() -> None:
    found = abstention(decide(retrieval(), FLAT))
    assert found.reason is AbstainReason.NO_RELEVANT_CONTEXT
    assert found.confidence == 0.0
    assert found.searched == "12 notes in v"
    assert found.message


def test_hits_below_the_floors_are_no_evidence_but_are_shown_as_nearest() -> None:
    found = abstention(
        decide(
            retrieval(
                hit(1, 0.35, 0.39, "min_final"),
                hit(2, 0.2, 0.1, "min_vector"),
                hit(3, 0.2, 0.1, "min_vector", note="2.md"),
                hit(4, 0.1, 0.1, "min_vector"),
                hit(5, 0.1, 0.1, "min_vector"),
            ),
            FLAT,
        )
    )
    assert found.reason is AbstainReason.NO_RELEVANT_CONTEXT
    assert [h.rank for h in found.nearest] == [1, 2, 4]  # a note once


def test_what_the_notes_do_not_treat_of_is_refused() -> None:
    found = abstention(decide(retrieval(hit(1, 0.3, 0.6)), FLAT))
    assert found.reason is AbstainReason.NO_RELEVANT_CONTEXT
    assert 0.0 < found.confidence < LEAST_TOPIC
    assert len(found.nearest) == 1


@pytest.mark.parametrize(("cosine", "caveats"), [(0.9, 0), (0.6, 1), (0.45, 1)])
def test_between_sure_and_no_the_answer_says_that_it_is_unsure(cosine: float, caveats: int) -> None:
    found = decide(retrieval(hit(1, cosine, 0.6)), FLAT)
    assert isinstance(found, Evidence)
    assert len(found.caveats) == caveats


def test_what_the_question_names_and_no_hit_holds_is_said() -> None:
    asked = retrieval(hit(1, 0.9, 0.9, text="The Saab was sold to Priya."))
    asked = replace(
        asked, query=replace(asked.query, text="In which year did Priya sell the Volvo?")
    )
    found = decide(asked, FLAT)
    assert isinstance(found, Evidence)
    assert found.caveats == ("Nothing that was found mentions “Volvo”.",)


def test_notes_of_another_time_than_asked_about_are_said_to_be() -> None:
    """ "What did I write last week about the greenhouse?", answered from spring."""
    asked = retrieval(hit(1, 0.9, 0.9))  # of 1970
    last_week = TimeHint(1000.0, 2000.0, "last week", relative=True)
    found = decide(replace(asked, query=replace(asked.query, time_hint=last_week)), FLAT)
    assert isinstance(found, Evidence)
    assert found.caveats == ("None of these notes is of the time you asked about (last week).",)
    of_then = replace(last_week, since=0.0)
    subject = replace(last_week, relative=False)  # "who won in 2014?" asks about no note's time
    for hint in (of_then, subject):
        found = decide(replace(asked, query=replace(asked.query, time_hint=hint)), FLAT)
        assert isinstance(found, Evidence) and found.caveats == ()


def test_an_ambiguous_question_is_told_so_even_when_something_is_near() -> None:
    asked = retrieval(hit(1, 0.9, 0.9), intent=Intent.AMBIGUOUS)
    found = abstention(decide(asked, FLAT))
    assert found.reason is AbstainReason.AMBIGUOUS_QUESTION
    assert found.nearest


def test_recent_notes_are_what_was_asked_for() -> None:
    found = decide(retrieval(hit(1, None, 0.01), strategy="recent"), FLAT)
    assert isinstance(found, Evidence)
    assert found.confidence >= 0.8


def test_the_newest_notes_are_no_answer_about_another_time() -> None:
    """ "What happened on 7 April 2032?" must not be answered with last week's notes."""
    asked = retrieval(hit(1, None, 0.9, "time"), strategy="recent")
    found = abstention(decide(asked, FLAT))
    assert found.reason is AbstainReason.NO_RELEVANT_CONTEXT
    assert found.nearest


def test_without_vectors_the_words_decide() -> None:
    weights = (("rotor", 3.0), ("bearing", 2.0))
    rotor = "Each rotor bearing is greased in May."
    held = retrieval(hit(1, None, 0.8, bm25=4.0, text=rotor), strategy="keyword_recency")
    held = replace(held, term_weights=weights, rarest_weight=4.0)
    assert isinstance(decide(held, FLAT), Evidence)
    missed = retrieval(hit(1, None, 0.8, bm25=0.5), strategy="keyword_recency")
    missed = replace(missed, term_weights=weights, rarest_weight=4.0)
    assert isinstance(decide(missed, FLAT), Abstention)


def test_cosines_of_a_script_that_the_model_cannot_spell_decide_nothing() -> None:
    """An English model finds any two Arabic texts alike; the words have to match."""
    alike = replace(
        retrieval(hit(1, 0.95, 0.9, bm25=0.2)), term_weights=(("x", 9.0),), vocabulary_trust=0.0
    )
    assert isinstance(decide(alike, FLAT), Abstention)
    assert isinstance(decide(replace(alike, vocabulary_trust=1.0), FLAT), Evidence)


def test_without_vectors_of_tokens_the_confidence_is_made_from_the_chunks() -> None:
    near = retrieval(hit(1, 0.8, 0.9))
    assert in_force(MINILM, near) is MINILM_CHUNKS
    looked = replace(near, closeness=Closeness(0.8, 0.6, 9))
    assert in_force(MINILM, looked) is MINILM
    assert in_force(FLAT, near) is FLAT


@given(st.data())
def test_nearer_is_never_less_sure(data: st.DataObject) -> None:
    """Whatever of its features rises: a better match may not turn a yes into a no."""
    low = {name: data.draw(st.floats(0, 1)) for name in MINILM.features}
    high = {name: data.draw(st.floats(value, 1)) for name, value in low.items()}
    assert 0.0 <= MINILM.confidence(low) <= MINILM.confidence(high) <= 1.0


def test_on_the_topic_is_not_enough() -> None:
    """A boiler's make is asked of notes full of boilers: one word of the question finds nothing."""
    near = dict.fromkeys(MINILM.features, 0.7)
    assert MINILM.answered is not None
    assert MINILM.topic.probability(near) > 0.9
    one_missing = {**near, "weakest": 0.35}
    assert MINILM.topic.probability(one_missing) > 0.9
    assert MINILM.confidence(one_missing) < 0.4 < MINILM.confidence(near)


def test_coverage_counts_rare_words_for_more() -> None:
    found = replace(
        retrieval(hit(1, 0.5, 0.5, text="The meetings were long")),
        term_weights=(("meeting", 3.0), ("zeppelin", 1.0)),
    )
    assert features_of(found)["coverage"] == pytest.approx(0.75)


def test_words_that_are_found_count_by_their_rarity() -> None:
    """Five words that the notes hardly hold, together in one passage: that is the subject."""
    found = replace(
        retrieval(hit(1, 0.5, 0.5, text="The meetings"), hit(2, 0.5, 0.4, text="A zeppelin")),
        term_weights=(("meeting", 1.0), ("zeppelin", 4.0)),
        rarest_weight=8.0,
    )
    assert features_of(found)["words"] == pytest.approx(4.0 / 8.0 / 5)  # never added up over hits
    assert features_of(replace(found, rarest_weight=0.0))["words"] == 0.0


def test_dropped_noise_says_nothing_about_the_confidence() -> None:
    features = features_of(retrieval(hit(1, 0.5, 0.5), hit(2, 0.9, 0.9, "max_candidates")))
    assert features["top_cosine"] == 0.5


def test_the_seeds_rank_weighted_mean() -> None:
    assert rank_weighted_mean([0.9, 0.6, 0.3]) == pytest.approx(
        (0.9 + 0.3 + 0.1) / (1 + 0.5 + 1 / 3)
    )
    assert rank_weighted_mean([]) == 0.0


def test_the_calibration_belongs_to_the_model() -> None:
    """Cosines of two models are not on one scale."""
    assert for_model("all-MiniLM-L6-v2 (int8 ONNX)") is MINILM
    assert for_model("sentence-transformers/all-MiniLM-L6-v2") is MINILM
    assert for_model("nomic-embed-text") is GENERIC


def test_a_calibration_without_a_coefficient_for_a_feature_is_refused() -> None:
    with pytest.raises(ValueError, match="coefficient"):
        Logistic(("a", "b"), (1.0,), 0.0)


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_similar_never_means_less_sure(a: float, b: float) -> None:
    low, high = sorted((a, b))
    for calibration in (MINILM, GENERIC):
        lower, higher = (calibration.confidence(_features(c)) for c in (low, high))
        assert 0.0 <= lower <= higher <= 1.0


def _features(cosine: float) -> dict[str, float]:
    return features_of(retrieval(hit(1, cosine, cosine)))


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(-1, 1)),
            st.floats(0, 1),
            st.sampled_from([None, "min_vector", "min_final", "rank", "duplicate"]),
        ),
        max_size=12,
    )
)
def test_features_stay_in_range_whatever_was_found(
    raw: list[tuple[float | None, float, str | None]],
) -> None:
    hits = [hit(i + 1, v, f, d) for i, (v, f, d) in enumerate(raw)]
    assert all(0.0 <= value <= 1.0 for value in features_of(retrieval(*hits)).values())
