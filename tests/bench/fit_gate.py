"""Fit the gate's built-in calibrations, and show what they come to.

    python -m tests.bench.fit_gate WORK_FOLDER SETS_FOLDER [--fresh] [--draw N]

SETS_FOLDER holds question sets, each a folder with ``vault/`` and ``questions.jsonl`` in the format
of ``ragvault eval``; the sample vault of the tests joins them, as the one that is like a person's.
Each is indexed under WORK_FOLDER and asked, through the whole search:

- own: its own questions (``--draw`` of each language, all where some are unanswerable);
- absent: answerable ones again, with every passage that answers taken out of what was found;
- off: as many of each other set.

What the features came to is kept in WORK_FOLDER/<set>.jsonl and not measured again, unless
``--fresh``. Then each logistic is fitted on the questions that tell about it (see
``retrieval.confidence.calibration``), and judged on folds that it hasn't seen. Prints the lines
for ``calibration.py``, and what a threshold would do.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from ragvault.config.settings import LogisticSettings
from ragvault.evaluation.dataset import Question, as_off_topic, load_questions
from ragvault.evaluation.fit import folds_of, sigmoid, solve
from ragvault.evaluation.judging import in_section, span_values
from ragvault.evaluation.metrics import Flags, Floats, auroc, reliability
from ragvault.evaluation.places import Notes
from ragvault.model import Findings, Hit, Request, VaultInfo
from ragvault.retrieval.confidence.calibration import (
    KEYWORDS,
    LEAST_TRUST,
    MINILM,
    MINILM_CHUNKS,
    UNSPELLED,
    Calibration,
)
from ragvault.retrieval.confidence.features import features_of, look_closer
from ragvault.service.search import retrieve
from ragvault.service.vaults import known_vaults
from ragvault.wiring import Container, load_settings
from tests.support.cli import ROOT

DRAWN = 120  # questions, of a set's language
PENALTY = 1e-5
# With their names, and whether the model can spell the questions that they are for.
CALIBRATIONS = (
    ("MINILM", MINILM, True),
    ("MINILM_CHUNKS", MINILM_CHUNKS, True),
    ("KEYWORDS", KEYWORDS, True),
    ("UNSPELLED", UNSPELLED, False),
)
THRESHOLDS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)


@dataclass(frozen=True)
class Row:
    """One question asked of one vault. ``kind``: own, absent, or off; ``spelled``: the embedding
    model can read it. ``stands_for``: how many questions of the whole it was drawn for."""

    set: str
    kind: str
    origin: str
    lang: str
    id: str
    question: str
    answerable: bool
    spelled: bool
    passed_floors: bool
    stands_for: float
    features: dict[str, float]


# ----------------------------------------------------------------------------- measuring


def measured(work: Path, sets: Path, *, draw: int, fresh: bool) -> list[Row]:
    vaults = {p.parent.name: p.parent / "vault" for p in sorted(sets.glob("*/questions.jsonl"))}
    if not vaults:
        sys.exit(f"No question set in {sets}: a set is a folder with vault/ and questions.jsonl.")
    questions = {name: load_questions(sets / name / "questions.jsonl") for name in vaults}
    vaults["sample"] = ROOT / "tests" / "sample-vault"
    questions["sample"] = load_questions(ROOT / "tests" / "sample-questions.jsonl")
    rows: list[Row] = []
    for name, vault in vaults.items():
        kept = work / f"{name}.jsonl"
        if fresh or not kept.exists():
            found = [asdict(row) for row in _asked(work / name, vault, name, questions, draw)]
            kept.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
        rows += [Row(**json.loads(line)) for line in kept.read_text("utf-8").splitlines()]
        print(f"{name}: {len(rows):,} questions so far", file=sys.stderr, flush=True)
    return rows


def _asked(
    index: Path, vault_folder: Path, name: str, questions: dict[str, list[Question]], draw: int
) -> Iterator[Row]:
    os.environ["RAGVAULT_INDEX_PATH"] = str(index)
    subprocess.run(
        [sys.executable, "-m", "ragvault", "index", str(vault_folder), "--name", name],
        check=True, cwd=ROOT, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    container = Container(load_settings(None, {"answer.log": False}).settings, print)
    try:
        vault = known_vaults(container, [name])[0]
        asker = _Asker(container, vault, name)
        own = list(_drawn(questions[name], draw))
        for question, stands_for in own:
            yield asker.row(question, "own", stands_for)
        for question, stands_for in own:
            if question.answerable:
                yield asker.row(question, "absent", stands_for)
        for other in questions:
            if other not in (name, "sample"):  # too few to be anybody else's
                for question, stands_for in _drawn(questions[other], draw, half=True):
                    (foreign,) = as_off_topic([question], other)
                    yield asker.row(foreign, "off", stands_for)
    finally:
        container.close()


def _drawn(
    questions: Sequence[Question], draw: int, *, half: bool = False
) -> Iterator[tuple[Question, float]]:
    """Some of each language, and for how many each stands."""
    by_lang: dict[str, list[Question]] = {}
    for question in questions:
        by_lang.setdefault(question.lang or "", []).append(question)
    for lang, all_of_it in sorted(by_lang.items()):
        n = len(all_of_it)
        if half:  # 170 of a set in one language, at 120 drawn; 60 of each of several
            n = draw // 2 if len(by_lang) > 1 else draw * 17 // 12
        elif len(by_lang) > 1:
            n = draw
        elif all(q.answerable for q in all_of_it):
            n = draw * 5 // 3
        n = min(n, len(all_of_it))
        for question in random.Random(f"{lang}{half}").sample(all_of_it, n):
            yield question, len(all_of_it) / n


class _Asker:
    def __init__(self, container: Container, vault: VaultInfo, name: str) -> None:
        self.container = container
        self.vault = vault
        self.name = name
        self.notes = Notes(vault.path)
        self.now = datetime.now().astimezone()

    def row(self, question: Question, kind: str, stands_for: float) -> Row:
        request = Request(question.text, vaults=(self.vault.name,))
        retrieval = retrieve(self.container, request, now=self.now, for_answer=True)
        found = retrieval.findings
        if kind == "absent":
            found = self._without(found, question)
        floor = self.container.settings.gate.min_final
        return Row(
            set=self.name,
            kind=kind,
            origin=question.origin,
            lang=question.lang or "",
            id=question.id,
            question=question.text,
            answerable=question.answerable and kind == "own",
            spelled=found.vocabulary_trust >= LEAST_TRUST,
            passed_floors=any(hit.kept and hit.scores.blend >= floor for hit in found.hits),
            stands_for=stands_for,
            features=features_of(found),
        )

    def _without(self, found: Findings, question: Question) -> Findings:
        """As if the notes lacked what answers: the next best, looked at as closely."""
        hits = tuple(hit for hit in found.hits if not self._answers(hit, question))
        found = replace(found, hits=hits, closeness=None)
        if found.vocabulary_trust < LEAST_TRUST:
            return found
        looked = look_closer(found.query.sought, found.ranked, self.container.embedder)
        return replace(found, closeness=looked)

    def _answers(self, hit: Hit, question: Question) -> bool:
        spans = span_values(question, [hit.stored], self.notes)
        if spans is not None:
            return spans[0] > 0
        return any(in_section(hit.stored, gold) for gold in question.gold)


# ----------------------------------------------------------------------------- fitting


class Table:
    """The rows as columns."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self.y = np.array([row.answerable for row in rows], dtype=bool)
        self.kind = np.array([row.kind for row in rows])
        self.set = np.array([row.set for row in rows])
        self.many = np.array([row.stands_for for row in rows])
        keys = [f"{row.origin or row.set}#{row.id}" for row in rows]  # absent and own: one fold
        self.folds = np.array(folds_of(keys, self.y, seed=1))

    def of(self, features: Sequence[str]) -> Floats:
        return np.array([[row.features[name] for name in features] for row in self.rows])

    def where(self, which: Flags) -> Table:
        return Table([row for row, wanted in zip(self.rows, which, strict=True) if wanted])


@dataclass(frozen=True)
class Fitted:
    """``probabilities``: for every row, by a fit of other folds."""

    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float
    probabilities: Floats

    def __str__(self) -> str:
        numbers = ", ".join(f"{w:.2f}" for w in self.coefficients)
        return f"Logistic({self.features}, ({numbers},), {self.intercept:.2f})"


def fitted(table: Table, features: tuple[str, ...], which: Flags, weights: Floats) -> Fitted:
    """Fitted on ``which`` of the rows; coefficients may not fall below 0."""
    x, y = table.of(features), table.y
    prior = LogisticSettings(features=features, coefficients=(0.0,) * len(features), intercept=0.0)
    probabilities = np.zeros(len(y))
    for fold in np.unique(table.folds):
        rest, own = (table.folds != fold) & which, table.folds == fold
        w, b = solve(x[rest], y[rest], prior, PENALTY, weights[rest])
        probabilities[own] = sigmoid(x[own] @ w + b)
    w, b = solve(x[which], y[which], prior, PENALTY, weights[which])
    return Fitted(features, tuple(map(float, w)), b, probabilities)


def mixed(table: Table, *parts: Flags) -> Floats:
    """Each part of the rows weighs alike, whatever its number."""
    weights = np.zeros(len(table.rows))
    for part in parts:
        weights[part] += 1.0 / max(1, int(part.sum()))
    return weights


def fit_both(table: Table, of: Calibration) -> tuple[Fitted, Fitted]:
    """Topic and answered. For the second, sets with unanswerable questions of their own weigh
    twice as much as all that is made from the others: their good questions, and the absent ones."""
    own, absent, off = (table.kind == kind for kind in ("own", "absent", "off"))
    good = own & table.y
    natural = np.isin(table.set, np.unique(table.set[own & ~table.y])) & own
    topic = fitted(table, of.topic.features, good | off, mixed(table, good, off))
    assert of.answered is not None
    weights = mixed(table, natural) + mixed(table, good & ~natural, absent) / 4
    return topic, fitted(table, of.answered.features, weights > 0, weights)


# ----------------------------------------------------------------------------- showing


def show(title: str, table: Table, confidence: Floats) -> None:
    own, off = table.kind == "own", table.kind == "off"
    good = own & table.y
    print(f"\n{title}: {int(good.sum())} good, {int((table.kind == 'absent').sum())} absent, "
          f"{int(off.sum())} off-topic questions")  # fmt: skip
    for name in np.unique(table.set):
        rows = own & (table.set == name)
        if (rows & ~table.y).any():
            bins = reliability(confidence[rows], table.y[rows])
            told = " ".join(f"{b.confidence:.2f}/{b.observed:.2f}" for b in bins)
            area = float(auroc(confidence[rows], table.y[rows])[0])
            print(f"  {name}: AUROC {area:.4f}, confidence/observed in fifths {told}, "
                  f"largest gap {max(b.gap for b in bins):.3f}")  # fmt: skip
        if (good & (table.set == name)).any():
            mean = confidence[good & (table.set == name)].mean()
            print(f"  {name}: mean confidence of the good {mean:.2f}")
    passed = np.array([row.passed_floors for row in table.rows])
    print("  threshold: off-topic answered (of all there are), good refused (of all there are)")
    for t in THRESHOLDS:
        yes = passed & (confidence >= t)
        parts = " ".join(
            f"{name} {_share(yes, off & of, table):.3f}/{_share(~yes, good & of, table):.3f}"
            for name in np.unique(table.set)
            for of in [table.set == name]
        )
        drawn = f"{yes[off].mean():.4f}/{1 - yes[good].mean():.4f}"
        whole = f"{_share(yes, off, table):.4f}/{_share(~yes, good, table):.4f}"
        print(f"  {t:.2f}: drawn {drawn}  all {whole}  {parts}")


def _share(yes: Flags, which: Flags, table: Table) -> float:
    total = table.many[which].sum()
    return float(table.many[which & yes].sum() / total) if total else float("nan")


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("work", type=Path)
    parser.add_argument("sets", type=Path)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--draw", type=int, default=DRAWN)
    given = parser.parse_args(None if arguments is None else list(arguments))
    given.work.mkdir(parents=True, exist_ok=True)
    rows = measured(given.work, given.sets, draw=given.draw, fresh=given.fresh)

    tables = {True: Table([r for r in rows if r.spelled])}
    if {"own", "absent", "off"} <= {r.kind for r in rows if not r.spelled}:
        tables[False] = Table([r for r in rows if not r.spelled])
    decided: dict[bool, Floats] = {}
    for name, calibration, spelled in CALIBRATIONS:
        if spelled not in tables:
            print(f"\nNo questions that the model can't spell: {name} stays.")
            continue
        topic, answered = fit_both(tables[spelled], calibration)
        confidence = topic.probabilities * answered.probabilities
        print(f"\n{name}\n  topic={topic},\n  answered={answered},")
        show(name, tables[spelled], confidence)
        decided.setdefault(spelled, confidence)  # the first of each is the one in force
    whole = Table([row for table in tables.values() for row in table.rows])
    show("As ragvault decides", whole, np.concatenate([decided[key] for key in tables]))


if __name__ == "__main__":
    main()
