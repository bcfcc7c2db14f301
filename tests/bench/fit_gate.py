"""Fit the confidence (``answering/confidence.py``), and show what it comes to on sets left out.

    python -m tests.bench.fit_gate WORK_FOLDER SET [SET …] [--most N] [--foreign N]

A SET is a folder with ``vault/`` and ``questions.jsonl`` in the format of ``ragvault eval``. Each
is indexed under WORK_FOLDER and asked its own questions, at most N, and some of each other set.
What is learned is whether the quotes answer: they match ``right``, or hold one of ``answers``. Each
set weighs alike and has an intercept of its own, the foreign questions weigh less; the intercept
that ships is the mean of the personal sets' (those that say what is ``right``). Prints, for each
set by a fit of the others: the AUROC of the confidence (has the question an answer?) beside that of
the top cosine, said and observed in fifths, and the curve; then the coefficients fitted to all. The
topic, by which nothing is said, is fitted to answerable against foreign questions.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ragvault.answering.confidence import MEANING_AND_WORDS, TOPIC, WORDS
from ragvault.errors import ModelError
from ragvault.evaluation.dataset import Question, load_questions
from ragvault.evaluation.judging import matches
from ragvault.evaluation.metrics import Flags, Floats, auroc
from ragvault.model import AskResult, Request
from ragvault.service.ask import answer_of, ask
from ragvault.service.index import IndexRequest, index
from ragvault.text import tokens
from ragvault.wiring import Container, load_settings

TODAY = datetime(2026, 11, 22, 12).astimezone()  # of the sets in evals/
FOREIGN_WEIGHT = 0.3
RIDGE = 3.0
THRESHOLDS = (0.3, 0.4, 0.42, 0.45, 0.5, 0.6, 0.7, 0.75)
Fitted: TypeAlias = "tuple[Floats, Floats]"  # coefficients, and the intercept of each group
LONG_ANSWER = 0.5  # of its words: a known answer of several sentences is never quoted whole


@dataclass(frozen=True)
class Row:
    """``is_drawn``: a question of another set."""

    set: str
    question: Question
    is_drawn: bool
    is_right: bool
    features: Mapping[str, float]


def rows_of(
    work: Path, folder: Path, sets: Sequence[Path], most: int, foreign: int, *, by_words: bool
) -> Iterator[Row]:
    """What a set's questions, at most ``most``, and ``foreign`` of each other set come to in its
    vault. ``by_words``: as where there is no embedding model."""
    data = work / ("words" if by_words else "meaning") / folder.name
    data.mkdir(parents=True, exist_ok=True)
    asked = [(question, False) for question in _some(folder, most)]
    answers = _known_answers(folder)
    for other in sets:
        if other != folder:
            for question in _some(other, foreign):
                drawn = replace(question, answerable=False, gold=(), right=None, type="foreign")
                asked.append((drawn, True))
    os.environ["RAGVAULT_INDEX_PATH"] = str(data)
    with Container(load_settings().settings) as container:
        container.change("history", enabled=False)
        if by_words:
            container.change("embedding", path=str(work / "no-model"))
        wanted = IndexRequest(((folder / "vault").resolve(),), name=folder.name)
        with suppress(ModelError):  # the words are in before it is missed
            for _ in index(container, wanted):
                pass
        for question, is_drawn in asked:
            result = answer_of(ask(container, Request(question.text, use_model=False), now=TODAY))
            if result.judgement is not None and result.judgement.features:
                is_right = _is_right(question, answers.get(question.id, ()), result)
                features = dict(result.judgement.features)
                yield Row(folder.name, question, is_drawn, is_right, features)


def _some(folder: Path, most: int) -> list[Question]:
    questions = load_questions(folder / "questions.jsonl")
    return random.Random(folder.name).sample(questions, min(most, len(questions)))


def _known_answers(folder: Path) -> Mapping[str, Sequence[str]]:
    """The ``answers`` of those questions that don't say what is ``right``, by their ids."""
    with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
        asked = [json.loads(line) for line in lines]
    return {str(one.get("id", "")): one.get("answers") or () for one in asked}


def _is_right(question: Question, answers: Sequence[str], result: AskResult) -> bool:
    if not question.answerable:
        return False
    printed = "\n".join(quote.shown for quote in result.quotes)
    if question.right is not None:
        return matches(question.right, printed)
    held = tokens(printed)
    for answer in answers:
        words = tokens(answer)
        if f" {' '.join(words)} " in f" {' '.join(held)} ":
            return True
        if len(words) > 10 and len(set(words) & set(held)) >= LONG_ANSWER * len(set(words)):
            return True
    return False


def fit(x: Floats, y: Flags, weights: Floats, groups: Sequence[Sequence[bool]]) -> Fitted:
    """Logistic regression with a ridge on standardised features and an intercept for each group
    of rows, by Newton's method."""
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    z = np.column_stack([(x - mean) / spread, np.array(groups, dtype=float).T])
    ridge = np.diag([RIDGE] * x.shape[1] + [0.01] * len(groups))
    b = np.zeros(z.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-z @ b))
        slope = z.T @ (weights * (p - y)) + ridge @ b
        step = np.linalg.solve((z.T * (weights * p * (1 - p))) @ z + ridge, slope)
        b -= step
        if np.abs(step).max() < 1e-6:
            break
    w = b[: x.shape[1]] / spread
    return w, b[x.shape[1] :] - float(w @ mean)


def fitted_to(rows: Sequence[Row], names: Sequence[str]) -> tuple[Floats, float]:
    """The coefficients, and the intercept that ships."""
    x = np.array([[row.features[name] for name in names] for row in rows])
    y = np.array([row.is_right for row in rows])
    sets = list(dict.fromkeys(row.set for row in rows))
    personal = {row.set for row in rows if row.question.right is not None} or set(sets)
    groups = [[row.set == name for row in rows] for name in sets]
    w, intercepts = fit(x, y, weights_of(rows), groups)
    mine = [one for name, one in zip(sets, intercepts, strict=True) if name in personal]
    return w, float(np.mean(mine or intercepts))


def weights_of(rows: Sequence[Row]) -> Floats:
    weights = np.zeros(len(rows))
    for name in {row.set for row in rows}:
        for foreign, share in ((False, 1.0), (True, FOREIGN_WEIGHT)):
            chosen = [row.set == name and row.is_drawn is foreign for row in rows]
            weights[chosen] = share / max(1, sum(chosen))
    return weights * len(rows) / weights.sum()


def show(rows: Sequence[Row], names: Sequence[str]) -> None:
    print(", ".join(names))
    for left_out in dict.fromkeys(row.set for row in rows):
        rest = [row for row in rows if row.set != left_out]
        if rest:
            show_left_out(left_out, [row for row in rows if row.set == left_out], rest, names)
    w, b = fitted_to(rows, names)
    fitted = ", ".join(f'"{name}": {value:.2f}' for name, value in zip(names, w, strict=True))
    print(f"  all: {{{fitted}}}, {b:.2f}")


def show_left_out(
    name: str, rows: Sequence[Row], rest: Sequence[Row], names: Sequence[str]
) -> None:
    w, b = fitted_to(rest, names)
    x = np.array([[row.features[name] for name in names] for row in rows])
    said = 1 / (1 + np.exp(-(x @ w + b)))
    y = np.array([row.is_right for row in rows])
    has_answer = np.array([row.question.answerable for row in rows])
    foreign = np.array([row.question.off_topic for row in rows])
    own = np.array([not row.is_drawn for row in rows])
    near = own & ~has_answer & ~foreign
    if near.any():
        areas = [said, np.array([row.features["lift"] for row in rows])]
        shown = [f"{auroc(one[own], has_answer[own]):.3f}" for one in areas]
        print(f"  {name}: AUROC {shown[0]}, of the top cosine {shown[1]}")
    fifths = np.array_split(np.argsort(said[own], kind="stable"), 5)
    told = " ".join(f"{said[own][part].mean():.2f}/{y[own][part].mean():.2f}" for part in fifths)
    print(f"  {name}: said/observed {told}")
    for threshold in THRESHOLDS:
        yes = said >= threshold
        parts = ((y, has_answer), (has_answer & ~y, has_answer), (near, near), (foreign, foreign))
        shares = [f"{(yes & some).sum() / max(1, of.sum()):.0%}" for some, of in parts]
        print(f"    from {threshold}: right, wrong, near, foreign {', '.join(shares)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("work", type=Path)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--foreign", type=int, default=12)
    parser.add_argument("--most", type=int, default=200)
    given = parser.parse_args()
    rows, by_words = (
        [
            row
            for folder in given.sets
            for row in rows_of(
                given.work, folder, given.sets, given.most, given.foreign, by_words=way
            )
        ]
        for way in (False, True)
    )
    show(rows, list(MEANING_AND_WORDS.weights))
    show(by_words, list(WORDS.weights))
    of_topic = [
        replace(row, is_right=row.question.answerable)
        for row in rows
        if row.question.answerable or row.question.off_topic
    ]
    show(of_topic, list(TOPIC.weights))


if __name__ == "__main__":
    main()
