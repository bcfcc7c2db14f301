"""From the results of the questions to figures with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ragvault.evaluation import metrics
from ragvault.evaluation.judging import ANSWER_MEASURES, LABELS, RANKING_MEASURES, QuestionResult
from ragvault.evaluation.metrics import Bin, Bootstrap, Estimate, Flags, Floats, Trade

Estimates = dict[str, Estimate]  # by the measure's name


@dataclass(frozen=True, slots=True)
class AbstentionSummary:
    """How well the yes and the no are told apart.

    ``false_answers``: share of the unanswerable questions that were answered; ``false_refusals``:
    share of the answerable ones that were refused; ``auroc`` of the confidence. Bins and the
    trades at five thresholds are over the same questions.
    """

    answerable: int
    unanswerable: int
    false_answers: Estimate | None
    false_refusals: Estimate | None
    auroc: Estimate | None
    reliability: tuple[Bin, ...] = ()
    at_thresholds: tuple[Trade, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """``own`` is over the set's own questions; ``everything`` takes the off-topic ones in too
    (None when there are none). ``rankings``, by retriever, and ``by_lang`` hold the ranking
    measures."""

    rankings: dict[str, Estimates]
    by_lang: dict[str, dict[str, Estimates]]
    own: AbstentionSummary
    off_topic: dict[str, Estimate]
    everything: AbstentionSummary | None
    answers: Estimates
    modes: dict[str, int] = field(default_factory=dict)


def summarise(results: Sequence[QuestionResult], *, threshold: float, seed: int = 0) -> Summary:
    """``threshold`` is the confidence below which the gate refuses (0 where it goes by fixed
    thresholds alone): the middle of the five that are shown."""
    bootstrap = Bootstrap(len(results), seed=seed)
    langs = sorted({r.question.lang for r in results if r.question.lang and r.rankings})
    off_topic = {
        origin: estimate
        for origin in dict.fromkeys(r.question.origin for r in results if r.question.origin)
        if (estimate := bootstrap.mean(_answered(results, origin))) is not None
    }
    own = _flags(results, lambda r: not r.question.origin)
    everything = np.ones(len(results), bool)
    modes = [r.mode for r in results if r.mode is not None]
    return Summary(
        rankings=_rankings(results, bootstrap),
        by_lang={lang: _rankings(results, bootstrap, lang) for lang in langs if len(langs) > 1},
        own=_abstention(results, own, bootstrap, threshold),
        off_topic=off_topic,
        everything=_abstention(results, everything, bootstrap, threshold) if off_topic else None,
        answers=_means(ANSWER_MEASURES, [r.answer_values for r in results], bootstrap),
        modes={mode: modes.count(mode) for mode in sorted(set(modes))},
    )


def _flags(results: Sequence[QuestionResult], test: Callable[[QuestionResult], bool]) -> Flags:
    return np.array([test(r) for r in results], dtype=bool)


# --------------------------------------------------------------------------- rankings


def _rankings(
    results: Sequence[QuestionResult], bootstrap: Bootstrap, lang: str | None = None
) -> dict[str, Estimates]:
    """By retriever, over all answerable questions, or those of one language."""
    asked = [r.rankings if lang in (None, r.question.lang) else {} for r in results]
    return {
        retriever: _means(
            RANKING_MEASURES,
            [r.get(retriever, {}) for r in asked],
            bootstrap,
        )
        for retriever in _retrievers(results)
    }


def _retrievers(results: Sequence[QuestionResult]) -> list[str]:
    return list(dict.fromkeys(retriever for r in results for retriever in r.rankings))


def _means(
    measures: Iterable[str], values: Sequence[Mapping[str, float]], bootstrap: Bootstrap
) -> Estimates:
    """Of each measure that applies to some question; ``values`` has one mapping a question."""
    columns = {
        measure: np.array([one.get(measure, np.nan) for one in values], dtype=np.float64)
        for measure in measures
    }
    estimates = ((measure, bootstrap.mean(column)) for measure, column in columns.items())
    return {measure: estimate for measure, estimate in estimates if estimate is not None}


# --------------------------------------------------------------------------- yes or no


def _answered(results: Sequence[QuestionResult], origin: str) -> Floats:
    return np.array([float(r.answered) if r.question.origin == origin else np.nan for r in results])


def _abstention(
    results: Sequence[QuestionResult], which: Flags, bootstrap: Bootstrap, threshold: float
) -> AbstentionSummary:
    which = which & _flags(results, lambda r: r.gated)
    positive = _flags(results, lambda r: r.question.answerable)
    answered = _flags(results, lambda r: r.answered).astype(np.float64)
    scores = np.array([r.confidence for r in results], dtype=np.float64)
    wrong_yes = np.where(which & ~positive, answered, np.nan)
    wrong_no = np.where(which & positive, 1.0 - answered, np.nan)
    n_good, n_bad = int((which & positive).sum()), int((which & ~positive).sum())
    summary = AbstentionSummary(
        answerable=n_good,
        unanswerable=n_bad,
        false_answers=bootstrap.mean(wrong_yes),
        false_refusals=bootstrap.mean(wrong_no),
        auroc=bootstrap.auroc(scores, positive, which),
    )
    if not (n_good and n_bad):
        return summary
    some, is_good = scores[which], positive[which]
    decided = _as_decided(scores, answered, threshold)[which]
    return replace(
        summary,
        reliability=tuple(metrics.reliability(some, is_good)),
        at_thresholds=tuple(metrics.trade_off(decided, is_good, five_thresholds(threshold))),
    )


def _as_decided(scores: Floats, answered: Floats, threshold: float) -> Floats:
    """The confidences, below 0 where something else than the threshold refuses (a floor, a model)
    and 1 where something else answers: no threshold would change that."""
    refused = (answered == 0) & (scores >= threshold)
    given = (answered == 1) & (scores < threshold)
    decided: Floats = np.where(refused, -1.0, np.where(given, 1.0, scores))
    return decided


def five_thresholds(middle: float) -> list[float]:
    """The threshold in force, and two on each side of it, each with twice the odds of the one
    before."""
    if not 0.0 < middle < 1.0:
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    odds = middle / (1.0 - middle)
    lower, upper = ([odds * f / (1 + odds * f) for f in some] for some in ((0.25, 0.5), (2.0, 4.0)))
    return [*(round(t, 3) for t in lower), middle, *(round(t, 3) for t in upper)]


# --------------------------------------------------------------------------- as tables


def ranking_rows(
    rankings: Mapping[str, Estimates], measures: Iterable[str]
) -> list[tuple[str, list[Estimate | None]]]:
    """(what was measured, its estimate by each retriever), of the measures that any has."""
    by_retriever = list(rankings.values())
    return [
        (LABELS[name], [estimates.get(name) for estimates in by_retriever])
        for name in measures
        if any(name in estimates for estimates in by_retriever)
    ]


def refusal_rows(summary: Summary) -> list[tuple[str, Estimate, bool]]:
    """(what was measured, its estimate, whether that is an AUROC rather than a share)."""
    own, everything, off_topic = summary.own, summary.everything, LABELS["false_answers_off_topic"]
    rows = [
        (LABELS["false_answers"], own.false_answers, False),
        *((f"{off_topic}, {name}", one, False) for name, one in summary.off_topic.items()),
        (LABELS["false_refusals"], own.false_refusals, False),
        (LABELS["auroc"], own.auroc, True),
        ("AUROC, off-topic ones included", everything.auroc if everything else None, True),
    ]
    return [(name, one, is_area) for name, one, is_area in rows if one is not None]
