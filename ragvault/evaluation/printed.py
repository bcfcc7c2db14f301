"""What is printed, held against the patterns that a right answer matches: the score of a personal
set (evals/README.md).

A right answer may print a neighbouring line that the tempting wrong one matches, so ``right``
decides alone. Beneath what a model writes stand the lines that it rests on and the quotes: they
count as printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragvault.evaluation.dataset import Question
from ragvault.evaluation.places import in_section
from ragvault.model import Abstention, Answer, AskResult, Hit
from ragvault.model.retrieval import Described

FIRST = 10  # passages
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # of the curve


class Verdict(Described):
    """What a person got, in the order of preference, of a question with an answer; then without."""

    RIGHT = "right", "right answer printed"
    POINTED = "pointed", "right passage pointed at"
    ELSEWHERE = "elsewhere", "pointed elsewhere"
    REFUSED = "refused", "nothing, though it is there"
    WRONG_WARNED = "wrong_warned", "wrong, with a warning"
    WRONG = "wrong", "wrong, without one"
    NOTHING = "nothing", "rightly nothing"
    POINTED_NEAR = "pointed_near", "pointed at what is near"
    FALSE_WARNED = "false_warned", "answered, with a warning"
    FALSE = "false", "answered, without one"


OF_ANSWERABLE = tuple(Verdict)[:6]
OF_OTHERS = tuple(Verdict)[6:]


@dataclass(frozen=True, slots=True)
class Printed:
    """``quotes_right``: the quotes that were judged hold the answer, printed or not; ``warned``:
    the answer carries a caveat; ``confidence`` is that of the quotes. ``there``: the answer stands
    on the page, in an answer or in what is shown beside one; ``found``: among the ten passages
    that rank first."""

    verdict: Verdict
    warned: bool
    quotes_right: bool
    confidence: float
    there: bool = False
    found: bool = False


def judge_printed(question: Question, result: AskResult) -> Printed | None:
    """None for an answerable question that doesn't say what a right answer is."""
    right = question.right
    if question.answerable and right is None:
        return None
    outcome = result.outcome
    warned = isinstance(outcome, Answer) and bool(outcome.caveats or outcome.unsupported)
    quotes = "\n".join(quote.text for quote in result.quotes)
    verdict = _verdict(question, outcome, quotes, warned=warned)
    beside = (*outcome.references, *outcome.also) if isinstance(outcome, Answer) else ()
    first = [hit for hit in result.retrieval.hits if hit.is_ranked] if result.retrieval else []
    return Printed(
        verdict=verdict,
        warned=warned,
        quotes_right=matches(right, quotes),
        confidence=result.judgement.confidence if result.judgement else outcome.confidence,
        there=verdict in (Verdict.RIGHT, Verdict.POINTED)
        or matches(right, "\n".join(one.evidence for one in beside)),
        found=_holds(first[:FIRST], question),
    )


def _holds(hits: Sequence[Hit], question: Question) -> bool:
    return any(in_section(hit.stored, gold) for hit in hits for gold in question.gold)


def _verdict(
    question: Question, outcome: Answer | Abstention, quotes: str, *, warned: bool
) -> Verdict:
    if isinstance(outcome, Answer):
        if not question.answerable:
            return Verdict.FALSE_WARNED if warned else Verdict.FALSE
        text = outcome.text
        for citation in outcome.citations:
            text = text.replace(citation.raw, "")
        if outcome.mode == "llm":
            text = "\n".join((text, *(one.evidence for one in outcome.references), quotes))
        if matches(question.right, text):
            return Verdict.RIGHT
        return Verdict.WRONG_WARNED if warned else Verdict.WRONG
    if not outcome.passages:
        return Verdict.REFUSED if question.answerable else Verdict.NOTHING
    if not question.answerable:
        return Verdict.POINTED_NEAR
    is_there = _holds(outcome.nearest[:1], question)  # of the others, only lines are shown
    is_there = is_there or matches(question.right, "\n".join(outcome.passages))
    return Verdict.POINTED if is_there else Verdict.ELSEWHERE


def matches(pattern: str | None, text: str) -> bool:
    """Tables are shown without their bars, which a pattern over the notes may ask for."""
    flags = re.IGNORECASE | re.DOTALL
    both = (text, text.replace(" · ", " | "))
    return pattern is not None and any(re.search(pattern, one, flags) for one in both)


# --------------------------------------------------------------------------- figures


@dataclass(frozen=True, slots=True)
class Share:
    """``count`` of ``of`` questions."""

    label: str
    count: int
    of: int

    @property
    def value(self) -> float:
        return self.count / self.of if self.of else 0.0


def shares(asked: Iterable[tuple[Question, Printed]]) -> list[Share]:
    """Every verdict over the questions that it can be of; the foreign ones apart."""
    pairs = list(asked)
    answerable = [one for q, one in pairs if q.answerable]
    near = [one for q, one in pairs if not q.answerable and not q.off_topic]
    foreign = [one for q, one in pairs if q.off_topic]
    found = [_share(answerable, verdict, "") for verdict in OF_ANSWERABLE]
    right = [one for one in answerable if one.verdict is Verdict.RIGHT]
    listed = [one for one in answerable if one.found]
    for label, some in (
        ("right answer or right passage printed", answerable),
        ("the same, of those in the first ten", listed),
    ):
        found.append(Share(label, sum(one.there for one in some), len(some)))
    sure = sum(not one.warned for one in right)
    found.append(Share("right answers without a warning", sure, len(right)))
    found += [_share(near, verdict, "no answer there: ") for verdict in OF_OTHERS]
    found += [_share(foreign, verdict, "foreign: ") for verdict in OF_OTHERS]
    return [one for one in found if one.of]


def _share(some: Sequence[Printed], verdict: Verdict, prefix: str) -> Share:
    count = sum(one.verdict is verdict for one in some)
    return Share(f"{prefix}{verdict.description}", count, len(some))


@dataclass(frozen=True, slots=True)
class Point:
    """What quoting from a confidence of ``threshold`` on comes to, as shares (None of none):
    ``right`` and ``wrong`` of the answerable questions, ``false`` of the others."""

    threshold: float
    right: float | None
    wrong: float | None
    false: float | None


def curve(asked: Iterable[tuple[Question, Printed]]) -> list[Point]:
    """The quotes' part of it, without a model, at each of THRESHOLDS."""
    pairs = list(asked)
    points = []
    for threshold in THRESHOLDS:

        def share(answerable: bool, right: bool, threshold: float = threshold) -> float | None:
            some = [one for q, one in pairs if q.answerable is answerable]
            said = [one for one in some if one.confidence >= threshold]
            return sum(one.quotes_right is right for one in said) / len(some) if some else None

        points.append(Point(threshold, share(True, True), share(True, False), share(False, False)))
    return points
