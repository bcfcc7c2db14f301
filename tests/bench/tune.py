"""What each candidate setting of the ranking comes to on each question set, and with each set left
out of the choosing.

    python -m tests.bench.tune WORK_FOLDER SET [SET …] [--with KEY=VALUE …] [--limit N]

A SET is a folder with ``vault/`` and ``questions.jsonl``, or a folder of such; ``evals/workbook``
is kept back and passed over, as is a set whose vault isn't there (``evals/public``). Each is
indexed under WORK_FOLDER (again only where something changed) and asked through the whole search,
as ``search`` lists it. ``--with embedding.path=FOLDER`` does it with another model.

One figure a set, the mean over its questions: the reciprocal rank of the first passage that holds
a gold line, or the span recall of the first five, or nDCG@10 by note, where there are gold
sections its mean with their share among the first five. Below: for each set the setting that is
best on the others, and what is lost by it to the setting that is best on this one. What is within
noise (the interval of the default's figure is printed) is no reason to choose anything but the
simplest.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from ragvault.config.keys import variable
from ragvault.config.settings import Settings
from ragvault.evaluation.dataset import Question, load_questions
from ragvault.evaluation.judging import judge_ranking, ranking_of
from ragvault.evaluation.metrics import reciprocal_rank
from ragvault.model import Request, Retrieval
from ragvault.service import search
from ragvault.service.index import IndexRequest, index
from ragvault.service.vaults import known_vaults
from ragvault.wiring import Container, load_settings
from tests.bench import spans

KEPT_BACK = "workbook"
NOW = datetime(2026, 11, 22, 12).astimezone()  # evals/README.md
DEFAULT = "the default"
CANDIDATES: Mapping[str, Mapping[str, object]] = {
    DEFAULT: {},
    "words alone": {"weight_vector": 0.0},
    **{f"w = {w:g}": {"weight_vector": w} for w in (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)},
    "vectors alone": {"weight_vector": 1.0},
    "no floor": {"min_vector": -1.0},
}
Lines = Mapping[str, Sequence[tuple[str, int]]]  # by question id: gold (file, line)


def sets_in(folders: Sequence[Path]) -> list[Path]:
    found = [f.parent for folder in folders for f in sorted(folder.glob("**/questions.jsonl"))]
    return [one for one in found if one.name != KEPT_BACK and (one / "vault").is_dir()]


def gold_lines(file: Path) -> Lines:
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return {
        str(row["id"]): [(gold["file"], gold["line"]) for gold in row["gold"] or ()]
        for row in rows
        if any("line" in gold for gold in row["gold"] or ())
    }


def figure(
    question: Question, found: Retrieval, lines: Lines, gold: spans.Spans, vault: Path
) -> float:
    """0..1, see the module's docstring."""
    if wanted := lines.get(question.id):
        held = {
            hit.chunk.id
            for hit in found.ranked
            for file, line in wanted
            if hit.chunk.rel_path == file and hit.chunk.start_line <= line <= hit.chunk.end_line
        }
        return reciprocal_rank([hit.chunk.id for hit in found.ranked], held)
    ranking = ranking_of(found)
    if question.id in gold:
        return spans.recall(vault, gold[question.id], (p.chunk for p in ranking.places))
    values = judge_ranking(question, ranking)
    return float(np.mean([values[n] for n in ("ndcg@10", "section_hit@5") if n in values]))


def measured(
    work: Path, folder: Path, flags: Mapping[str, str], limit: int | None
) -> dict[str, list[float]]:
    """The figures of each candidate, question by question."""
    os.environ |= {variable(key): value for key, value in flags.items()}
    os.environ[variable("index.path")] = str(work / folder.name)
    settings = load_settings().settings
    with Container(settings) as container:
        for _ in index(container, IndexRequest((folder / "vault",), name=folder.name)):
            pass
        vault = known_vaults(container, [folder.name])[0]
        lines = gold_lines(folder / "questions.jsonl")
        gold = spans.gold_spans(folder / "questions.jsonl")
        figures: dict[str, list[float]] = {name: [] for name in CANDIDATES}
        for question in load_questions(folder / "questions.jsonl", limit=limit):
            if not question.answerable:
                continue
            for name, changed in CANDIDATES.items():
                container.settings = _with(settings, changed)
                request = Request(question.text, vaults=(vault.name,))
                found = search.retrieve(container, request, now=NOW, for_answer=False)
                figures[name].append(figure(question, found, lines, gold, vault.path))
    return figures


def _with(settings: Settings, changed: Mapping[str, object]) -> Settings:
    retrieval = settings.retrieval.model_copy(update=dict(changed))
    return settings.model_copy(update={"retrieval": retrieval})


def report(figures: Mapping[str, Mapping[str, Sequence[float]]]) -> Iterator[str]:
    """Lines of text; ``figures`` by set and candidate."""
    means = {s: {c: float(np.mean(v)) for c, v in of.items()} for s, of in figures.items()}
    yield f"{'':20}" + "".join(f"{name[:14]:>15}" for name in figures) + f"{'mean':>15}"
    for candidate in CANDIDATES:
        row = [means[name][candidate] for name in figures]
        yield f"{candidate:20}" + "".join(f"{x:15.3f}" for x in (*row, float(np.mean(row))))
    noise = [1.96 * np.std(of[DEFAULT]) / len(of[DEFAULT]) ** 0.5 for of in figures.values()]
    yield f"{'± of the default':20}" + "".join(f"{x:15.3f}" for x in noise)
    yield ""
    for name, of in means.items():
        others = [means[other] for other in means if other != name]
        if others:
            chosen = max(of, key=lambda c: sum(other[c] for other in others))
            yield f"{name}: chosen on the others {chosen}, {of[chosen] - max(of.values()):+.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--with", dest="flags", nargs="*", default=[], metavar="KEY=VALUE")
    parser.add_argument("--limit", type=int, help="questions of each set")
    given = parser.parse_args()
    flags = dict(flag.split("=", 1) for flag in given.flags)
    figures = {}
    for folder in sets_in(given.sets):
        figures[folder.name] = measured(given.work, folder, flags, given.limit)
        print(f"{folder.name} asked", flush=True)
    print("\n".join(report(figures)))


if __name__ == "__main__":
    main()
