"""What everything costs as the vault grows.

    python -m tests.bench.growth VAULT FOLDER [--sizes 1000,10000,100000] [--model bundled]

For each size one synthetic vault, the same on every machine (VAULT's sentences, ten passages a
note, forty folders, a tag and a date each), is indexed by the program into FOLDER; then refreshed
with nothing to do and after an edit of one note, and searched: in a process of its own, and in
this one by each kind of filter. Vectors are 16 numbers from a table, so that no model has to run;
``--model bundled`` runs the real one. The last column is the slope between the smallest and the
largest vault, on logarithmic axes: 0 costs the same whatever its size, 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from statistics import quantiles
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ragvault.config.settings import Settings
from ragvault.model import Request, Timing
from ragvault.service import search
from ragvault.wiring import Container
from tests.bench import vaults
from tests.bench.bench import IMPORTS
from tests.bench.measure import Bench, Run, run
from tests.support.tiny_onnx import VOCABULARY, write_model

PER_NOTE = 10  # passages
QUESTIONS = 40
DIMENSIONS = 16
FILTERS: dict[str, dict[str, Any]] = {
    "no filter": {},
    "a folder": {"folders": ("folder 07",)},
    "a tag": {"tags": ("tag-3",)},
    "a month": {"since": 1.7145216e9, "until": 1.7171999e9},  # May 2024: a twelfth of the notes
}
Figures = dict[str, float]


def vault_of(source: Path, target: Path, passages: int) -> None:
    """The synthetic vault, unless it is there."""
    if target.exists():
        return
    words, dice = vaults.sentences(source), random.Random(5)
    for number in range(passages // PER_NOTE):
        folder = target / f"folder {number % 40:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        day = f"{2020 + number % 6}-{number % 12 + 1:02d}-{number % 28 + 1:02d}"
        lines = [f"---\ndate: {day}\ntags: [tag-{number % 25}]\n---", f"# Note {number}"]
        lines += [
            f"## Part {part}\n\n{' '.join(dice.choices(words, k=3))} Item {number}."
            for part in range(PER_NOTE)
        ]
        (folder / f"note {number:06d}.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


def tiny_model(folder: Path) -> Path:
    """Words as random directions; a text's vector is the mean of its words'."""
    place = folder / "tiny.onnx"
    if not place.exists():
        table = np.random.default_rng(7).normal(size=(VOCABULARY, DIMENSIONS))
        write_model(place, table=table.astype(np.float32))
    return place


class Grown:
    """One size: a vault, its index, and what is measured on it."""

    def __init__(self, bench: Bench, source: Path, passages: int, model: Path | None) -> None:
        self.bench, self.passages, self.model = bench, passages, model
        self.vault = bench.folder / f"vault {passages}"
        self.index = bench.folder / f"index {passages}"
        vault_of(source, self.vault, passages)

    def ragvault(self, *arguments: str) -> Run:
        environment = self.bench.environment(self.index)
        if self.model is not None:
            with Path(environment["RAGVAULT_CONFIG"]).open("a", encoding="utf-8") as config:
                config.write(f"embedding:\n  path: {self.model}\n")
        command = [self.bench.python, "-m", "ragvault", *arguments]
        return run(command, environment, ok=(0, 3))

    def indexed(self) -> Iterator[tuple[str, float]]:
        ran = self.ragvault("index", str(self.vault), "--json")
        done = json.loads(ran.stdout)["vaults"][0]
        if done["added"]:
            yield "index, passages a second of processor", self.passages / ran.cost.cpu
            yield "index, peak memory MB", ran.peak_mb

    def refreshed(self) -> Iterator[tuple[str, float]]:
        self.ragvault("index")
        walk = self.bench.script("walk_stat.py", str(self.vault), *IMPORTS).cost
        nothing = self.ragvault("index").cost
        yield "refresh, nothing to do, CPU ms", 1000 * nothing.cpu
        bare = self.bench.script("walk_stat.py", str(self.vault)).cost
        yield "the same ÷ walk + stat + imports", nothing.cpu / walk.cpu
        yield "the same ÷ walk + stat", nothing.cpu / bare.cpu
        note = next(self.vault.rglob("*.md"))
        with note.open("a", encoding="utf-8") as file:
            file.write(f"Edited {time.time_ns()}.\n")
        yield "refresh, one note edited, CPU ms", 1000 * self.ragvault("index").cost.cpu

    def cold(self) -> Iterator[tuple[str, float]]:
        runs = [self.ragvault("search", "what was decided and why") for _ in range(4)][1:]
        best = min(runs, key=lambda run: run.cost.cpu)
        yield "search, cold, CPU ms", 1000 * best.cost.cpu
        yield "search, cold, peak memory MB", best.peak_mb
        runs = [self.ragvault("status") for _ in range(2)]
        yield "status, CPU ms", 1000 * min(run.cost.cpu for run in runs)

    def warm(self, questions: list[str]) -> Iterator[tuple[str, float]]:
        """By the processor time of the whole process, which others on the machine hardly move."""
        settings = {"path": str(self.index)}
        embedding = {"path": self.model and str(self.model)}
        made = Settings.model_validate({"index": settings, "embedding": embedding})
        with Container(made) as container:
            for name, part in FILTERS.items():
                costs, legs = [], []
                for question in [questions[0], *questions]:
                    began = time.process_time()
                    request = Request(question=question, **part)
                    found = search.search(container, request, 10, now=datetime.now())
                    costs.append(1000 * (time.process_time() - began))
                    legs.append(found.retrieval.timings_ms)
                p50, p95 = _percentiles(costs[1:])
                yield f"search, {name}, p50 ms", p50
                yield f"search, {name}, p95 ms", p95
                if name == "no filter":
                    for leg in (Timing.EMBED, Timing.LEXICAL, Timing.VECTOR, Timing.BLEND):
                        wall = [timings.get(leg, 0.0) for timings in legs[1:]]
                        yield f"  of it {leg}, p50 ms by the clock", _percentiles(wall)[0]
            yield "catalog, MB on disk", container.files.catalog_size() / 1e6
            yield "vectors, MB on disk", container.vectors.size() / 1e6

    def figures(self, questions: list[str]) -> Figures:
        parts = (self.indexed(), self.refreshed(), self.cold(), self.warm(questions))
        return {name: value for part in parts for name, value in part}


def _percentiles(values: list[float]) -> tuple[float, float]:
    cuts = quantiles(values, n=20, method="inclusive")
    return cuts[9], cuts[18]


def table(sizes: list[int], found: dict[int, Figures]) -> Table:
    drawn = Table(title="as the vault grows", title_justify="left")
    drawn.add_column("passages")
    for name in (*(f"{size:,}" for size in sizes), "× last/first", "slope"):
        drawn.add_column(name, justify="right")
    first, last = found[sizes[0]], found[sizes[-1]]
    for name in last:
        cells = [f"{found[size][name]:,.1f}" if name in found[size] else "" for size in sizes]
        if name in first and first[name] > 0 and last[name] > 0 and len(sizes) > 1:
            ratio = last[name] / first[name]
            slope = math.log(ratio) / math.log(sizes[-1] / sizes[0])
            cells += [f"{ratio:.2f}", f"{slope:.2f}"]
        drawn.add_row(name, *cells)
    return drawn


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vault", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", default="1000,10000,100000", help="separated by commas")
    parser.add_argument("--model", choices=("tiny", "bundled"), default="tiny")
    options = parser.parse_args(argv)
    folder = options.folder.absolute() / options.model
    folder.mkdir(parents=True, exist_ok=True)
    model = tiny_model(folder) if options.model == "tiny" else None
    dice, sentences = random.Random(11), vaults.sentences(options.vault)
    questions = [" ".join(dice.choice(sentences).split()[:9]) for _ in range(QUESTIONS)]
    found: dict[int, Figures] = {}
    sizes = [int(part) for part in options.sizes.split(",")]
    for size in sizes:
        kept = folder / f"figures {size}.json"  # of the index, which is made once
        old = json.loads(kept.read_text()) if kept.exists() else {}
        new = Grown(Bench(folder), options.vault, size, model).figures(questions)
        found[size] = {**{n: v for n, v in old.items() if n.startswith("index")}, **new}
        kept.write_text(json.dumps(found[size], indent=1))
        Console(stderr=True).print(f"{size:,} measured")
    Console(width=None if sys.stdout.isatty() else 110).print(table(sizes, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
