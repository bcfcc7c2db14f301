"""The score of a personal set: what the person read, not what the search found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragvault.evaluation.dataset import Gold, Question
from ragvault.evaluation.judging import (
    Printed,
    Verdict,
    calibrated,
    curve,
    judge_printed,
    shares,
)
from ragvault.model import (
    AbstainReason,
    Abstention,
    Answer,
    AskResult,
    ChatUsage,
    Citation,
    CitationStatus,
    Judgement,
    Quote,
    Reference,
    Stated,
)
from tests.support.answering import hit

MIKE = hit("People/Mike.md", "", "mobile: 07700 900512")
ASKED = Question("mike mobile", "1", True, (Gold("People/Mike.md", line=1),), right="900\\s?512")
NEAR = Question("mick mobile", "2", False)
FOREIGN = replace(NEAR, id="3", type="foreign")
MARK = "[File: 900512.md]"


def result(outcome: Answer | Abstention, quote: str = "") -> AskResult:
    quotes = (Quote(MIKE, (quote,), quote, 0.5, 0.5),) if quote else ()
    judgement = Judgement(0.5, 0.5, {}, "test")
    usage = ChatUsage(None, None)
    return AskResult("", outcome, None, None, None, 0.0, usage, (), quotes, judgement)


def answer(text: str, *caveats: str) -> Answer:
    cited = (Citation(MARK, len(text), CitationStatus.EXACT, None),)
    return Answer(f"{text} {MARK}", "extractive", 0.5, citations=cited, caveats=caveats)


NOTHING = Abstention(AbstainReason.NO_RELEVANT_CONTEXT, 0.0, "no", (MIKE,))
POINTED = Abstention(
    AbstainReason.INSUFFICIENT_INFORMATION, 0.2, "there", (MIKE,), passages=(MIKE.chunk.text,)
)
ELSEWHERE = replace(POINTED, nearest=(hit("b.md", "", "x"),), passages=("x",))


@pytest.mark.parametrize(
    ("question", "outcome", "verdict"),
    [
        (ASKED, answer("mobile: 07700 900 512"), Verdict.RIGHT),
        (ASKED, answer("mobile: 07700 900 867"), Verdict.WRONG),  # the citation doesn't count
        (replace(ASKED, right=r"\|\s*90\s*\|"), answer("2026 · 90 · ok"), Verdict.RIGHT),
        (ASKED, answer("no idea", "check it"), Verdict.WRONG_WARNED),
        (ASKED, POINTED, Verdict.POINTED),
        (ASKED, ELSEWHERE, Verdict.ELSEWHERE),
        (ASKED, NOTHING, Verdict.REFUSED),
        (NEAR, answer("mobile: 07700 900512"), Verdict.FALSE),
        (NEAR, answer("mobile: 07700 900512", "check it"), Verdict.FALSE_WARNED),
        (NEAR, POINTED, Verdict.POINTED_NEAR),
        (FOREIGN, NOTHING, Verdict.NOTHING),
    ],
)
def test_what_a_person_got(
    question: Question, outcome: Answer | Abstention, verdict: Verdict
) -> None:
    printed = judge_printed(question, result(outcome))
    assert printed is not None and printed.verdict is verdict


def test_only_what_stands_on_the_page_is_printed() -> None:
    """Of the passages beside the first, and beside an answer, lines are shown: these count."""
    long = replace(POINTED, nearest=(hit("b.md", "", "x"), MIKE), passages=("x", "mobile: …"))
    lines = replace(long, passages=("x", "mobile: 07700 900512"))
    wrong = answer("mobile: 07700 900 867", "check it")
    beside = replace(wrong, also=(Reference(2, MIKE, "", "mobile: 07700 900512"),))
    pages = ((POINTED, True), (long, False), (lines, True), (wrong, False), (beside, True))
    for outcome, there in pages:
        printed = judge_printed(ASKED, result(outcome))
        assert printed is not None and printed.there is there
    assert judge_printed(ASKED, result(beside)).verdict is Verdict.WRONG_WARNED  # type: ignore[union-attr]


def test_beneath_what_a_model_writes_the_notes_own_lines_count() -> None:
    written = replace(answer("Mike has a mobile."), mode="llm")
    said = replace(written, references=(Reference(1, MIKE, "", "mobile: 07700 900512"),))
    pages = (result(written), result(said), result(written, "mobile: 07700 900512"))
    verdicts = [judge_printed(ASKED, one).verdict for one in pages]  # type: ignore[union-attr]
    assert verdicts == [Verdict.WRONG, Verdict.RIGHT, Verdict.RIGHT]


def test_a_question_that_says_of_no_answer_what_is_right_is_not_scored() -> None:
    assert judge_printed(replace(ASKED, right=None), result(NOTHING)) is None


def test_quotes_count_for_the_curve_whether_they_were_printed_or_not() -> None:
    asked = [
        (q, judge_printed(q, result(POINTED, quote)))
        for q, quote in ((ASKED, "07700 900512"), (ASKED, "07700 900867"), (NEAR, "x"))
    ]
    pairs = [(q, one) for q, one in asked if one is not None]
    by_threshold = {at.threshold: (at.right, at.wrong, at.false) for at in curve(pairs)}
    assert by_threshold[0.5] == (0.5, 0.5, 1.0)
    assert by_threshold[0.6] == (0.0, 0.0, 0.0)


def test_a_threshold_is_offered_where_it_is_better_by_more_than_chance() -> None:
    def said(confidence: float, question: Question = ASKED) -> tuple[Question, Printed]:
        is_right = question.answerable
        verdict = Verdict.RIGHT if is_right else Verdict.FALSE
        return question, Printed(verdict, False, is_right, confidence)

    right, false = [said(0.35)] * 9, [said(0.6, NEAR)] * 9
    assert calibrated([*right, said(0.3, NEAR)], 0.42) == 0.35
    assert calibrated([*right[:3], said(0.3, NEAR)], 0.42) == 0.42, "3 of 3 may be chance"
    assert calibrated([*false, said(0.7)], 0.42) == pytest.approx(0.61)
    assert calibrated([*right, *right, *false], 0.42) == 0.35, "18 right ones for 9"
    assert calibrated([], 0.42) == 0.42


def test_shares_are_of_the_questions_of_their_kind() -> None:
    sure = Printed(
        Verdict.RIGHT, warned=False, quotes_right=True, confidence=0.9, there=True, found=True
    )
    pairs = [
        (ASKED, sure),
        (ASKED, replace(sure, warned=True)),
        (ASKED, replace(sure, verdict=Verdict.WRONG, there=False, found=False)),
        (NEAR, replace(sure, verdict=Verdict.FALSE)),
    ]
    found = {one.label: (one.count, one.of) for one in shares(pairs)}
    assert found["right answer printed"] == (2, 3)
    assert found["right answers without a warning"] == (1, 2)
    assert found["right answer or right passage printed"] == (2, 3)
    assert found["the same, of those in the first ten"] == (2, 2)
    assert found["no answer there: answered, without one"] == (1, 1)
    assert not any(label.startswith("foreign") for label in found)


def test_what_was_left_out_for_quotes_is_no_warning_of_them() -> None:
    struck = (Stated("Mike has no mobile.", "unsupported", False, ()),)
    wrong = replace(answer("mobile: 07700 900 867"), statements=struck)
    printed = judge_printed(ASKED, result(wrong))
    assert printed is not None and printed.verdict is Verdict.WRONG
