"""What each option of a search costs, as a ratio to the plain blend, in one run over one index.

    python -m tests.bench.options SET [SET …] [--lang en] [--questions 40] [--out FILE]

A SET is a folder with a ``vault`` and its ``questions.jsonl``; several become one vault, each in
a folder of its name.

The plain blend: folder selection, neighbours, rerankers and everything of a model off. All
is warm and in this process (but for the model servers). Each question is searched with every
option before the next one comes, in an order drawn anew for each, so that what slows the machine
slows them all. A row is the median over the questions of (option ÷ plain blend of that question),
with the quartiles; the plain blend runs twice a question, and its quartiles show the noise.

With the real small model (SmolLM2-135M, where it is installed) time is what is measured, and that
nothing breaks: its --folder-select llm is then asked with questions of every language, and the
replies that could be read are counted, with the recall@8 beside that without folders.
The cross-encoders have random weights in the default one's shape; they need torch and onnx.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, zip_longest
from pathlib import Path
from statistics import mean, median, quantiles
from types import MappingProxyType

from rich.console import Console
from rich.table import Table

from ragvault.answering.page import AnswerRequest
from ragvault.answering.prompt import build_prompt, tokens_of
from ragvault.config.settings import IndexSettings, Settings
from ragvault.evaluation.dataset import Question, load_questions
from ragvault.evaluation.judging import ranking_of
from ragvault.evaluation.metrics import recall
from ragvault.model import ChatOptions, Evidence, Request, Retrieval
from ragvault.ports import Reranker
from ragvault.retrieval import pipeline
from ragvault.retrieval.question.query import analyse
from ragvault.wiring import Container
from tests.bench.bench import machine
from tests.bench.measure import Bench, Cost
from tests.bench.option_models import (
    MINILM_L6,
    ChatServer,
    real,
    reranker_settings,
    reranking,
    scripted,
    why_no_cross_encoders,
    why_no_real_model,
)
from tests.support.cross_encoders import Size

PLAIN, PROMPT = "plain blend", "plain blend and its prompt"
PASSAGE_CHARS = 500  # of the scripted server's passage
FOLDERS_NAMED = 2  # by the scripted server


@dataclass(frozen=True)
class Option:
    """One row: changed ``retrieval`` settings, and what else takes part. ``base`` is the row that
    it is compared with; ``prompt``: the prompt for an answer is built too."""

    name: str
    retrieval: Mapping[str, object] = field(default_factory=dict)
    server: ChatServer | None = None
    reranker: Reranker | None = None
    prompt: bool = False
    neighbours: bool = False

    @property
    def base(self) -> str:
        return PROMPT if self.prompt else PLAIN


@dataclass(frozen=True)
class Sample:
    """One question with one option. ``tokens`` of the prompt, where there is one."""

    cost: Cost
    notices: tuple[str, ...] = ()
    tokens: int = 0


@dataclass(frozen=True)
class Row:
    """An option over all questions; ratios are (lower quartile, median, upper quartile)."""

    name: str
    wall: tuple[float, float, float]
    cpu: tuple[float, float, float]
    base_ms: float  # median of what it is compared with, by the clock
    added_ms: float
    questions: int
    noticed: int  # of how many questions the search gave a notice
    notices: tuple[str, ...]  # which
    tokens: float  # of the prompt, mean ratio: most hits have no neighbour; 0: no prompt


@dataclass(frozen=True)
class FolderReplies:
    """What came of asking the real small model for folders."""

    questions: int
    read: int
    named: int  # of those read, how many named a folder
    errors: int
    seconds: float  # median
    recall_off: float
    recall_llm: float


class Searches:
    """One open index; each search changes settings and takes part, nothing else."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.settings = container.settings
        self.plain = {"folder_select": "off", "expand": False, "hyde": False}
        self.now = datetime.now()

    def settings_of(self, option: Option) -> Settings:
        retrieval = self.settings.retrieval.model_copy(update={**self.plain, **option.retrieval})
        ollama = self.settings.ollama
        if option.server is not None:
            ollama = ollama.model_copy(update={"model": option.server.model})
        answer = self.settings.answer
        if not option.neighbours:
            answer = answer.model_copy(update={"neighbours": 0})
        parts = {"retrieval": retrieval, "ollama": ollama, "answer": answer}
        return self.settings.model_copy(update=parts)

    def run(self, option: Option, question: str, settings: Settings) -> Retrieval:
        server = option.server
        deps = pipeline.Deps(
            catalog=self.container.catalog,
            embedder=lambda: self.container.embedder,
            vector_index=lambda: self.container.vectors,
            reranker=option.reranker,
        )
        return pipeline.retrieve(
            Request(question=question),
            query=analyse(question, self.now),
            deps=deps if server is None else replace(deps, chat=lambda: server.chat),
            settings=settings,
            now=self.now,
            for_answer=option.prompt,
        )

    def sample(self, option: Option, question: str) -> Sample:
        settings, server = self.settings_of(option), option.server
        elsewhere = server.cpu() if server is not None else 0.0
        wall, cpu = time.perf_counter(), time.process_time()
        found = self.run(option, question, settings)
        tokens = self._prompt_tokens(option, found) if option.prompt else 0
        cost = Cost(time.perf_counter() - wall, time.process_time() - cpu)
        if server is not None:
            cost = Cost(cost.wall, cost.cpu + server.cpu() - elsewhere)
        return Sample(cost, found.notices, tokens)

    def _prompt_tokens(self, option: Option, found: Retrieval) -> int:
        """Builds the prompt for an answer from what was found."""
        wanted, ollama = self.settings.answer, self.settings.ollama
        request = AnswerRequest(
            found.query.text, Evidence(found.kept, 1.0), wanted, ollama, neighbours=found.neighbours
        )
        options = ChatOptions(None, ollama.max_context, 0.0, ollama.max_tokens)
        prompt = build_prompt(request, found.kept, options)
        return tokens_of(prompt.messages)


def options_of(
    servers: Mapping[str, ChatServer],
    rerankers: Mapping[str, Reranker] = MappingProxyType({}),
) -> list[Option]:
    """Every row but the plain blend's own. ``servers`` and ``rerankers`` by what their rows say."""
    rows: list[Option] = []
    for said, server in servers.items():
        rows += [
            Option(f"folder selection: llm, {said}", {"folder_select": "llm"}, server),
            Option(f"--expand, {said}", {"expand": True}, server),
            Option(f"--hyde, {said}", {"hyde": True}, server),
        ]
    rows += [Option(name, reranker=reranker) for name, reranker in rerankers.items()]
    rows.append(Option("neighbours, with the prompt built", prompt=True, neighbours=True))
    return rows


# --------------------------------------------------------------------------- what is searched


def merged(sets: Sequence[Path], target: Path) -> Path:
    """One vault of all of theirs."""
    for folder in sets:
        shutil.copytree(folder / "vault", target / folder.name)
    return target


def drawn(sets: Sequence[Path], count: int, *, lang: str | None) -> list[Question]:
    """``count`` questions that the notes answer, in turn from each set, the gold's places those
    of ``merged``."""
    listed = []
    for folder in sets:
        fitting = [
            replace(q, gold=tuple(replace(g, file=f"{folder.name}/{g.file}") for g in q.gold))
            for q in load_questions(folder / "questions.jsonl")
            if q.answerable and (lang is None or q.lang in (None, lang))
        ]
        random.Random(7).shuffle(fitting)
        listed.append(fitting)
    in_turn = chain.from_iterable(zip_longest(*listed))
    return [question for question in in_turn if question is not None][:count]


# --------------------------------------------------------------------------- measuring


def measure(
    searches: Searches, options: Sequence[Option], questions: Sequence[Question]
) -> list[Row]:
    """Every question with every option; the first question once more before, uncounted."""
    plain, prompt = Option(PLAIN), Option(PROMPT, prompt=True)
    every = [plain, plain, prompt, *options]
    dice = random.Random(3)
    samples: dict[str, list[Sample]] = {option.name: [] for option in every}
    for number, question in enumerate([questions[0], *questions]):
        _script(searches, plain, options, question.text)
        dice.shuffle(every)
        for option in every:
            sample = searches.sample(option, question.text)
            if number:
                samples[option.name].append(sample)
    twice = samples[PLAIN]
    samples[PLAIN] = [_between(*twice[i : i + 2]) for i in range(0, len(twice), 2)]
    rows = [row_of(plain.name, twice, [s for s in samples[PLAIN] for _ in "12"])]
    return rows + [row_of(o.name, samples[o.name], samples[o.base]) for o in options]


def _script(searches: Searches, plain: Option, options: Sequence[Option], question: str) -> None:
    """Give the scripted server its replies to the question."""
    server = next((o.server for o in options if o.server and not o.server.is_real), None)
    if server is None:
        return
    found = searches.run(plain, question, searches.settings_of(plain))
    passage = found.hits[0].chunk.text[:PASSAGE_CHARS] if found.hits else question
    folders = [name for name in found.folder_selection.available if "/" in name]
    server.script(question, passage, folders[:FOLDERS_NAMED])


def _between(one: Sample, other: Sample) -> Sample:
    wall = (one.cost.wall + other.cost.wall) / 2
    return Sample(Cost(wall, (one.cost.cpu + other.cost.cpu) / 2), one.notices)


def row_of(name: str, mine: Sequence[Sample], base: Sequence[Sample]) -> Row:
    pairs = list(zip(mine, base, strict=True))
    noticed = [sample for sample in mine if sample.notices]
    return Row(
        name,
        _quartiles([m.cost.wall / b.cost.wall for m, b in pairs]),
        _quartiles([m.cost.cpu / b.cost.cpu for m, b in pairs]),
        median(b.cost.wall * 1000 for _, b in pairs),
        median((m.cost.wall - b.cost.wall) * 1000 for m, b in pairs),
        len(pairs),
        len(noticed),
        tuple(dict.fromkeys(notice for sample in noticed for notice in sample.notices)),
        mean(m.tokens / b.tokens for m, b in pairs) if mine[0].tokens else 0.0,
    )


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return low, middle, high


def folder_replies(
    searches: Searches, server: ChatServer, questions: Sequence[Question]
) -> FolderReplies:
    """The real small model, asked for folders. An error is counted, and nothing else is done."""
    off = Option("off")
    llm = Option("llm", {"folder_select": "llm"}, server)
    read = named = errors = 0
    seconds: list[float] = []
    before: list[float] = []
    after: list[float] = []
    for question in questions:
        gold = {place.file for place in question.gold}
        plain = searches.run(off, question.text, searches.settings_of(off))
        before.append(recall(ranking_of(plain).notes, gold, 8))
        started = time.perf_counter()
        try:
            found = searches.run(llm, question.text, searches.settings_of(llm))
        except Exception as error:
            errors += 1
            after.append(0.0)
            print(f"{question.id}: {error!r}", file=sys.stderr)
            continue
        seconds.append(time.perf_counter() - started)
        read += not found.notices
        named += bool(found.folder_selection.selected)
        after.append(recall(ranking_of(found).notes, gold, 8))
    middle = median(seconds) if seconds else 0.0
    return FolderReplies(len(questions), read, named, errors, middle, mean(before), mean(after))


# --------------------------------------------------------------------------- the command


def drawn_table(rows: Sequence[Row]) -> Table:
    drawn = Table(title="A warm search with each option ÷ the plain blend", title_justify="left")
    drawn.add_column("option")
    for name in ("ratio", "quartiles", "CPU ratio", "quartiles", "added", "prompt", "notices"):
        drawn.add_column(name, justify="right")
    for row in rows:
        cells = [f"{row.wall[1]:.2f}", f"{row.wall[0]:.2f}–{row.wall[2]:.2f}"]
        cells += [f"{row.cpu[1]:.2f}", f"{row.cpu[0]:.2f}–{row.cpu[2]:.2f}"]
        tokens = f"× {row.tokens:.2f}" if row.tokens else ""
        noticed = f"{row.noticed} of {row.questions}" if row.noticed else ""
        drawn.add_row(row.name, *cells, f"{row.added_ms:,.0f} ms", tokens, noticed)
    return drawn


def documented(rows: Sequence[Row], folders: FolderReplies | None) -> dict[str, object]:
    return {
        "schema_version": 1,
        "machine": machine(),
        "rows": [row.__dict__ for row in rows],
        "folder_replies": folders.__dict__ if folders is not None else None,
    }


def _left_out(is_real_wanted: bool) -> Iterator[str]:
    if reason := why_no_cross_encoders():
        yield f"No cross-encoders: {reason}."
    if reason := why_no_real_model() if is_real_wanted else "it was not asked for":
        yield f"No real chat model: {reason}."


def run(
    index: Path,
    questions: Sequence[Question],
    asked: Sequence[Question],
    *,
    work: Path,
    is_real_wanted: bool,
    size: Size = MINILM_L6,
    said: Callable[[str], None] = lambda _line: None,
) -> tuple[list[Row], FolderReplies | None]:
    """Measure on an index that is there. ``asked`` are the questions for the folders; ``size`` is
    the cross-encoders'."""
    settings = Settings(index=IndexSettings(path=str(index)))
    for line in _left_out(is_real_wanted):
        said(line)
    with ExitStack() as opened:
        searches = Searches(opened.enter_context(Container(settings)))
        servers = {"scripted": opened.enter_context(scripted(settings))}
        if is_real_wanted and why_no_real_model() is None:
            servers["SmolLM2-135M"] = opened.enter_context(real())
        rerankers: dict[str, Reranker] = {}
        for name, wanted in reranker_settings(work, size).items():
            reranker = opened.enter_context(reranking(settings, wanted)).reranker()
            assert reranker is not None
            rerankers[name] = reranker
        rows = measure(searches, options_of(servers, rerankers), questions)
        said("options measured")
        small = servers.get("SmolLM2-135M")
        folders = folder_replies(searches, small, asked) if small and asked else None
    return rows, folders


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", type=Path, nargs="+", metavar="SET", help="only read")
    parser.add_argument("--lang", help="only questions of this language, or of none")
    parser.add_argument("--questions", type=int, default=40, help="how many [40]")
    parser.add_argument("--folders", type=int, default=24, help="more for folder replies [24]")
    parser.add_argument("--no-real", action="store_true", help="without the real small model")
    parser.add_argument("--out", type=Path, default=Path("bench-options.json"))
    options = parser.parse_args(argv)
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="ragvault-bench-") as folder:
        work = Path(folder)
        vault = merged(options.sets, work / "notes")
        asked = drawn(options.sets, options.folders, lang=None)
        timed = drawn(options.sets, options.questions, lang=options.lang)
        Bench(work).ragvault(work / "index", "index", str(vault))
        progress.print(f"indexed; load {os.getloadavg()[0]:.1f}")
        rows, folders = run(
            work / "index",
            timed,
            asked,
            work=work,
            is_real_wanted=not options.no_real,
            said=progress.print,
        )
    document = documented(rows, folders)
    options.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    screen = Console(width=None if sys.stdout.isatty() else 130)
    screen.print(drawn_table(rows))
    if folders is not None:
        screen.print(folders)
    screen.print(f"{document['machine']}", style="dim", soft_wrap=True, highlight=False)
    progress.print(f"load after {os.getloadavg()[0]:.1f}; written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
