"""The gate: a wrong answer is the worst failure; a refusal beside a readable answer the second."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.answering.gate import SURE, Decision, decide
from ragvault.config.settings import Settings
from ragvault.model import (
    AbstainReason,
    Abstention,
    DroppedBy,
    Evidence,
    Hit,
    Intent,
    Judgement,
    Query,
    Retrieval,
    Scores,
    Strategy,
    TimeHint,
)
from tests.support.answering import hit

ANNA = hit("People/Anna Weber.md", "Contact", "birthday: 1984-03-02\nmobile: 07700 900341")
QUESTION = "When is Anna Weber's birthday?"


def findings(*hits: Hit, question: str = QUESTION, strategy: str = "hybrid") -> Retrieval:
    terms = ("anna", "weber", "birthday")
    query = Query(question, terms)
    weights = tuple((term, 3.0) for term in terms)
    return Retrieval(
        query, hits, Strategy(strategy), searched="12 notes in v", term_weights=weights
    )


def decided(found: Retrieval) -> Decision:
    return decide(found)


def nothing(found: Retrieval) -> Abstention:
    outcome = decided(found).outcome
    assert isinstance(outcome, Abstention)
    return outcome


def at(one: Hit, cosine: float) -> Hit:
    return replace(one, scores=Scores(cosine, 0.9, None, 1.0, cosine))


def test_no_hits_at_all_is_no_relevant_context() -> None:
    found = nothing(findings())
    assert found.reason is AbstainReason.NO_RELEVANT_CONTEXT
    assert (found.confidence, found.searched) == (0.0, "12 notes in v")
    outside = nothing(replace(findings(), is_scope_empty=True))
    assert "limits" in outside.message and "limits" not in found.message


def test_what_a_floor_dropped_is_shown_as_nearest_a_note_once() -> None:
    low = [
        replace(hit(path, str(rank), "x", rank=rank), dropped_by=DroppedBy.MIN_VECTOR)
        for rank, path in enumerate(("a.md", "b.md", "b.md", "c.md", "d.md"), 1)
    ]
    assert [one.rank for one in nothing(findings(*low)).nearest] == [1, 2, 4]


def test_nothing_is_said_only_where_the_notes_hardly_treat_of_it() -> None:
    """A refusal beside a readable answer is a bug: between no and yes the place is pointed at."""
    foreign = [hit(f"{n}.md", "", f"Beat the butter with the {n}.") for n in ("egg", "oats", "rye")]
    asked = findings(*(at(one, 0.1) for one in foreign), question="How deep is the Mariana trench?")
    said = nothing(asked)
    assert said.reason is AbstainReason.NO_RELEVANT_CONTEXT
    assert said.nearest and not said.passages


def test_where_it_is_not_sure_the_best_ten_are_shown_kept_or_not() -> None:
    others = [hit(f"{n}.md", "", f"Anna {n}", rank=n) for n in range(2, 14)]
    low = [replace(one, dropped_by=DroppedBy.RANK) for one in others]
    copy = replace(others[0], dropped_by=DroppedBy.DUPLICATE)
    outcome = decided(findings(low[0], copy, at(ANNA, 0.7), *low[1:])).outcome
    assert isinstance(outcome, Evidence)
    assert outcome.near == (at(ANNA, 0.7), *low[:9])


def test_the_confidence_is_that_of_the_quotes() -> None:
    found = findings(at(ANNA, 0.7))
    decision = decided(found)
    assert isinstance(decision.outcome, Evidence) and decision.judgement is not None
    assert decision.outcome.confidence == decision.judgement.confidence
    assert "1984-03-02" in decision.quotes[0].shown
    elsewhere = replace(ANNA, stored=hit("People/Anna Weber.md", "Contact", "role: timber").stored)
    assert decided(findings(at(elsewhere, 0.7))).outcome.confidence < decision.outcome.confidence


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is Anna Weber's email address?", "mobile: 07700 900341"),
        ("Anna Weber mobile number", "birthday: 1984-03-02"),
        ("When is Anna Weber's birthday?", "mobile: 07700 900341"),
        ("Wo wohnt Anna Weber?", "Leitet das Holzteam seit Mai."),
        ("What did Anna Weber say in 2023?", "2024-05-06: the roof is sound."),
    ],
)
def test_another_kind_of_thing_than_was_asked_for_is_no_answer(question: str, text: str) -> None:
    """The right person, a fact that was never noted: what comes nearest is about them all the
    same."""
    about = hit("People/Anna Weber.md", "", text)
    lacking = decided(findings(at(about, 0.6), question=question))
    plain = decided(findings(at(about, 0.6), question="What about Anna Weber?"))
    assert lacking.judgement is not None and plain.judgement is not None
    assert lacking.judgement.confidence < plain.judgement.confidence


def test_what_is_of_another_month_is_no_answer() -> None:
    """ "How much did we save in March 2026?" was answered with July's sum, for certain."""
    october = TimeHint(1791115200.0, 1793000000.0, "October 2026")
    said: list[Judgement | None] = []
    for month in ("July", "October", "2026-10", "10/2026", "10.2026"):
        about = at(hit("Money 2026.md", "", f"Anna Weber, {month}: 860 saved in 2026."), 0.6)
        found = findings(about, question="What did Anna Weber save in October 2026?")
        asked = replace(found, query=replace(found.query, time_hint=october))
        said.append(decided(asked).judgement)
    other, same, *in_figures = (one.confidence for one in said if one is not None)
    assert other < same / 2 and len(in_figures) == 3 and min(in_figures) > 2 * other


def test_the_same_of_another_person_is_no_answer() -> None:
    """Both Annas have a note, and the fact stands in the other one's."""
    webster = hit("People/Anna Webster.md", "", "role: site manager", rank=2)
    terms = (("anna", 3.0), ("webster", 5.0), ("birthday", 3.0))
    known = replace(findings(at(ANNA, 0.7), at(webster, 0.5)), term_weights=terms)
    unknown = replace(findings(at(ANNA, 0.7)), term_weights=terms)
    judged = [decided(found).judgement for found in (known, unknown)]
    assert judged[0] is not None and judged[1] is not None
    assert (judged[0].features["name_missing"], judged[1].features["name_missing"]) == (1, 0)
    assert judged[0].confidence < judged[1].confidence
    vault = hit("Claims/Anna Webster.md", "", "the claim", vault="webster", rank=2)
    of_vault = hit("People/Anna.md", "", "birthday: 1984-03-02", vault="webster")
    named = replace(findings(at(of_vault, 0.7), at(vault, 0.5)), term_weights=terms)
    judged = [decided(named).judgement]
    assert judged[0] is not None and judged[0].features["name_missing"] == 0  # all are of it


@pytest.mark.parametrize(
    "question",
    [
        "How did Anna lose her phone?",
        "Where is Anna's old phone?",
        "Did Anna phone?",
        "Who did Anna phone?",
        "Which phone plan does Anna have?",
        "What did Anna lose before her son was born?",
        "Whose birthday is next week?",
    ],
)
def test_a_phone_or_a_birth_is_not_asked_for_its_number_or_day_by_the_word_alone(
    question: str,
) -> None:
    about = hit("People/Anna.md", "", "Anna's phone fell into the canal in May.")
    judged = decided(findings(at(about, 0.6), question=question)).judgement
    assert judged is not None and judged.features["kind_missing"] == 0


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Anna keeps bees since 1 May, in 2024 Chair, meets at 18 Uhr.", 1),
        ("Anna, 12 Elm Rise", 0),
        ("Anna, 1600a Elm Rise", 0),
        ("Anna, carrer de la Rutlla 40", 0),
    ],
)
def test_a_day_or_a_year_is_no_house_number(text: str, missing: int) -> None:
    judged = decided(
        findings(at(hit("People/Anna.md", "", text), 0.6), question="Anna's home address")
    ).judgement
    assert judged is not None and judged.features["kind_missing"] == missing


def test_an_address_is_one_though_the_note_does_not_call_it_so() -> None:
    held = {}
    for text in ("Anna, Easton, 17 Carlyle Rd", "Anna, Easton"):
        found = findings(at(hit("People/Anna.md", "", text), 0.6), question="Anna's address")
        found = replace(found, term_weights=(("anna", 3.0), ("address", 3.0)))
        judged = decided(found).judgement
        assert judged is not None
        held[text] = judged.features["held"]
    with_street, without = held.values()
    assert with_street > without + 0.3


def test_the_right_person_and_nothing_of_what_is_asked_is_no_answer() -> None:
    """A rare name outweighs what was asked of its bearer, and as many words may be held without
    it: it takes both."""
    about = hit("People/Anna.md", "", "Mail from Anna Weber: the roof is sound.")
    terms = {"anna": 5.0, "weber": 5.0, "roof": 2.0, "shoe": 2.0, "size": 2.0}
    judged = []
    for asked in (("anna", "weber", "roof"), ("anna", "weber", "shoe", "size")):
        found = findings(at(about, 0.6), question=" ".join(asked))
        found = replace(found, term_weights=tuple((term, terms[term]) for term in asked))
        judged.append(decided(found).judgement)
    of_hers, lacking = (one.features for one in judged if one is not None)
    assert of_hers["least_held"] == 1.0
    assert lacking["least_held"] < 0.1 < 0.7 < lacking["held"]


@pytest.mark.slow
def test_another_word_for_what_was_asked_counts_by_its_meaning() -> None:
    """ "Physician" isn't in the note, "doctor" is; nothing there is like "passport"."""
    note = hit("People/Anna.md", "", "Her doctor is Ines Pohl.")
    embedder = OnnxEmbedder(Settings())
    held = {}
    for word in ("physician", "passport"):
        found = findings(at(note, 0.6), question=f"Who is Anna's {word}?")
        found = replace(found, term_weights=(("anna", 3.0), (word, 3.0)))
        judged = decide(found, embed=embedder.embed_documents).judgement
        assert judged is not None
        held[word] = judged.features["held"]
    assert 0.5 <= held["passport"] < held["physician"] - 0.15 < 0.85


def test_an_unsure_answer_says_so_once_and_names_the_number_that_is_missing() -> None:
    question = "What did Anna Weber earn in 2023?"
    decision = decided(findings(at(ANNA, 0.9), question=question))
    assert isinstance(decision.outcome, Evidence)  # it is about her: pointed at, at the least
    assert decision.outcome.confidence < SURE
    (caveat,) = decision.outcome.caveats
    assert caveat.startswith("It isn't certain") and "“2023”" in caveat


def test_notes_of_another_time_than_asked_about_are_said_to_be() -> None:
    """ "What did I write last week about the greenhouse?", answered from spring."""
    found = findings(at(ANNA, 0.9))
    hint = TimeHint(1000.0, 2000.0, "last week", relative=True)

    def caveats(hint: TimeHint) -> tuple[str, ...]:
        outcome = decided(replace(found, query=replace(found.query, time_hint=hint))).outcome
        assert isinstance(outcome, Evidence)
        return outcome.caveats

    assert "Nothing quoted is of the time you asked about (last week)." in caveats(hint)
    of_then = replace(hint, until=1_800_000_000.0)
    subject = replace(hint, relative=False)  # "who won in 2014?" asks about no note's time
    assert not any("time you asked" in line for one in (of_then, subject) for line in caveats(one))


@pytest.mark.parametrize(
    ("said", "phrase", "is_of"),
    [
        ("Bins go out: black on Tuesdays", "tuesday", True),
        ("Bins: Tue + Fri", "tuesday", True),
        ("Bins: collected 2026-11-24", "tuesday", True),
        ("Bins: collected on Mondays, 2026-11-23", "tuesday", False),
        ("Bins: black this week, green next", "This week", True),
    ],
)
def test_what_names_the_time_itself_is_of_it_whenever_it_was_written(
    said: str, phrase: str, is_of: bool
) -> None:
    noon = datetime(2026, 11, 24, 12).timestamp()
    hint = TimeHint(noon - 36_000, noon + 36_000, phrase, relative=True)
    found = findings(at(hit("Bins.md", "", said), 0.9), question="which bins go out on tuesday")
    outcome = decided(replace(found, query=replace(found.query, time_hint=hint))).outcome
    assert isinstance(outcome, Evidence)
    assert is_of != any("time you asked about" in line for line in outcome.caveats)


def test_an_ambiguous_question_is_told_so_even_when_something_is_near() -> None:
    found = findings(at(ANNA, 0.9))
    said = nothing(replace(found, query=replace(found.query, intent=Intent.AMBIGUOUS)))
    assert said.reason is AbstainReason.AMBIGUOUS_QUESTION and said.nearest


def test_recent_notes_are_what_was_asked_for() -> None:
    decision = decided(findings(ANNA, strategy="recent"))
    assert isinstance(decision.outcome, Evidence)
    assert decision.outcome.confidence >= 0.8 and decision.judgement is None


def test_the_newest_notes_are_no_answer_about_another_time() -> None:
    """ "What happened on 7 April 2032?" must not be answered with last week's notes."""
    other = replace(ANNA, dropped_by=DroppedBy.TIME)
    said = nothing(findings(other, strategy="recent"))
    assert said.reason is AbstainReason.NO_RELEVANT_CONTEXT and said.nearest


def test_without_vectors_a_note_without_a_word_of_the_question_is_nothing() -> None:
    foreign = hit("Recipes/Parkin.md", "", "Beat the butter with the sugar.")
    asked = findings(foreign, question="How deep is the trench?", strategy="keyword_recency")
    assert nothing(asked).confidence == 0.0


def test_cosines_of_a_script_that_the_model_cannot_read_decide_nothing() -> None:
    """An English model finds any two Arabic texts alike; the words have to match."""
    near, far = (replace(findings(at(ANNA, c)), vocabulary_trust=0.0) for c in (0.95, 0.1))
    one, other = decided(near).judgement, decided(far).judgement
    assert one is not None and other is not None
    assert (one.confidence, one.calibration) == (other.confidence, "by words")
