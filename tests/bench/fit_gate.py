"""Fit the confidence (``answering/confidence.py``), and show what it comes to on sets left out.

    python -m tests.bench.fit_gate WORK_FOLDER SET [SET …] [--foreign N]

A SET is a folder with ``vault/`` and ``questions.jsonl`` in the format of ``ragvault eval``. Each
is indexed under WORK_FOLDER and asked its own questions and N of each other set. What is learned
is whether the quotes answer: they match ``right``, or hold one of ``answers``. Each set weighs
alike, the foreign questions less. Prints, for each set by a fit of the others: the AUROC of the
confidence (has the question an answer?) beside that of the top cosine, said and observed in
fifths, and the curve; then the coefficients fitted to all.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from ragvault.answering.confidence import MEANING_AND_WORDS, WORDS
from ragvault.evaluation.dataset import Question, as_off_topic, load_questions
from ragvault.evaluation.metrics import Flags, Floats, auroc, reliability
from ragvault.model import AskResult, Request
from ragvault.service.ask import answer_of, ask
from ragvault.service.index import IndexRequest, index
from ragvault.text import tokens
from ragvault.wiring import Container, load_settings

TODAY = datetime(2026, 11, 22, 12).astimezone()  # of the sets in evals/
FOREIGN_WEIGHT = 0.3
RIDGE = 3.0
THRESHOLDS = (0.3, 0.4, 0.5, 0.6)
LONG_ANSWER = 0.5  # of its words: a known answer of several sentences is never quoted whole


@dataclass(frozen=True)
class Row:
    set: str
    question: Question
    is_right: bool
    features: dict[str, float]


def rows_of(work: Path, sets: Sequence[Path], foreign: int) -> Iterator[Row]:
    questions = {folder.name: load_questions(folder / "questions.jsonl") for folder in sets}
    for folder in sets:
        data = work / folder.name
        data.mkdir(parents=True, exist_ok=True)
        flags = {"index.path": str(data), "history.enabled": False}
        with Container(load_settings(None, flags).settings) as container:
            for _ in index(container, IndexRequest((folder / "vault",), name=folder.name)):
                pass
            asked = list(questions[folder.name])
            for name, others in questions.items():
                if name != folder.name:
                    drawn = random.Random(name).sample(others, min(foreign, len(others)))
                    asked += as_off_topic(drawn, name)
            for question in asked:
                request = Request(question.text, use_model=False)
                result = answer_of(ask(container, request, now=TODAY))
                if result.judgement is not None and result.judgement.features:
                    features = dict(result.judgement.features)
                    yield Row(folder.name, question, _is_right(question, result), features)


def _is_right(question: Question, result: AskResult) -> bool:
    if not question.answerable:
        return False
    printed = "\n".join(quote.text for quote in result.quotes)
    if question.right is not None:
        return bool(re.search(question.right, printed, re.IGNORECASE | re.DOTALL))
    held = tokens(printed)
    for answer in question.answers:
        words = tokens(answer)
        if f" {' '.join(words)} " in f" {' '.join(held)} ":
            return True
        if len(words) > 10 and len(set(words) & set(held)) >= LONG_ANSWER * len(set(words)):
            return True
    return False


def fit(x: Floats, y: Flags, weights: Floats) -> tuple[Floats, float]:
    """Logistic regression with a ridge on standardised features, by Newton's method."""
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    z = np.column_stack([(x - mean) / spread, np.ones(len(x))])
    ridge = np.diag([RIDGE] * x.shape[1] + [1e-6])
    b = np.zeros(z.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-z @ b))
        slope = z.T @ (weights * (p - y)) + ridge @ b
        step = np.linalg.solve((z.T * (weights * p * (1 - p))) @ z + ridge, slope)
        b -= step
        if np.abs(step).max() < 1e-6:
            break
    w = b[:-1] / spread
    return w, float(b[-1] - w @ mean)


def weights_of(rows: Sequence[Row], which: Flags) -> Floats:
    sets = np.array([row.set for row in rows])
    foreign = np.array([bool(row.question.origin) for row in rows])
    weights = np.zeros(len(rows))
    for name in np.unique(sets[which]):
        for part, share in ((~foreign, 1.0), (foreign, FOREIGN_WEIGHT)):
            chosen = which & part & (sets == name)
            weights[chosen] = share / max(1, int(chosen.sum()))
    return weights * len(rows) / weights.sum()


def show(rows: Sequence[Row], names: Sequence[str]) -> None:
    x = np.array([[row.features[name] for name in names] for row in rows])
    y = np.array([row.is_right for row in rows])
    sets = np.array([row.set for row in rows])
    has_answer = np.array([row.question.answerable for row in rows])
    foreign = np.array([row.question.off_topic for row in rows])
    own = np.array([not row.question.origin for row in rows])
    print(", ".join(names))
    for left_out in np.unique(sets):
        rest, these = sets != left_out, sets == left_out
        if not rest.any():
            continue
        w, b = fit(x[rest], y[rest], weights_of(rows, rest)[rest])
        said = 1 / (1 + np.exp(-(x @ w + b)))
        mine = these & own
        if (mine & ~has_answer).any():
            areas = [said, np.array([row.features["lift"] for row in rows])]
            shown = [f"{float(auroc(one[mine], has_answer[mine])[0]):.3f}" for one in areas]
            print(f"  {left_out}: AUROC {shown[0]}, of the top cosine {shown[1]}")
        bins = reliability(said[mine], y[mine])
        told = " ".join(f"{one.confidence:.2f}/{one.observed:.2f}" for one in bins)
        print(f"  {left_out}: said/observed {told}")
        for threshold in THRESHOLDS:
            yes = these & (said >= threshold)
            good, near = these & has_answer, mine & ~has_answer & ~foreign
            parts = ((yes & y, good), (yes & good & ~y, good), (yes & near, near))
            shares = [
                f"{some.sum() / max(1, of.sum()):.0%}"
                for some, of in (*parts, (yes & foreign, these & foreign))
            ]
            print(f"    from {threshold}: right, wrong, near, foreign {', '.join(shares)}")
    w, b = fit(x, y, weights_of(rows, np.ones(len(rows), dtype=bool)))
    fitted = ", ".join(f'"{name}": {value:.2f}' for name, value in zip(names, w, strict=True))
    print(f"  all: {{{fitted}}}, {b:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("work", type=Path)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--foreign", type=int, default=12)
    given = parser.parse_args()
    rows = list(rows_of(given.work, given.sets, given.foreign))
    for logistic in (MEANING_AND_WORDS, WORDS):
        show(
            [row for row in rows if set(logistic.weights) <= set(row.features)],
            list(logistic.weights),
        )


if __name__ == "__main__":
    main()
