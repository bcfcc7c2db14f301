"""How ragvault's own overhead compares with work that no tool can avoid, as ratios.

    python -m tests.bench.bench VAULT [--out FILE] [--only PART,PART] [--repeats N]

Each ratio is the median of ragvault's runs over the median of a comparator's, the two run in
turn, each in a fresh process; by the clock, and by processor time, which is the one to read on a
machine that does other work too. A first run of each side is not counted: it fills the caches.
The comparators are the scripts in ``comparators/``. Linux, macOS.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from itertools import count
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ragvault import __version__
from tests.bench import vaults
from tests.bench.chunks import embedded_texts, model_files
from tests.bench.measure import Bench, Cost, Peak, Ratio, alternate, environment, median_of, run

# What an indexing command can't do without: command line, terminal, validation, locking, store.
IMPORTS = ("typer", "rich.console", "pydantic", "yaml", "platformdirs", "filelock", "sqlite3")
LIBRARIES = ("chromadb", "onnxruntime", "tokenizers", "typer", "rich", "numpy")
Result = Ratio | Peak


def bench_index(bench: Bench, vault: Path, repeats: int) -> Iterator[Result]:
    """A first ``index`` of the vault against the model alone on the same texts."""
    fresh = (bench.folder / f"index {n}" for n in count())
    texts = embedded_texts(vault)
    listed = bench.folder / "texts.json"
    listed.write_text(json.dumps(texts), encoding="utf-8")

    def ours() -> Cost:
        return bench.ragvault(next(fresh), "index", str(vault)).cost

    def base() -> Cost:
        return Cost(**json.loads(bench.script("raw_embed.py", str(listed)).stdout))

    mine, [raw] = alternate(ours, [base], repeats)
    note = f"{len(texts)} texts"
    yield Ratio("index", "`index` ÷ embed_documents on its chunk texts", mine, raw, 1.3, note)


def bench_embed(bench: Bench, vault: Path, repeats: int, texts: int = 60) -> Iterator[Result]:
    """Each profile's embedder against its model's file in ONNX Runtime alone, its memory, and one
    against the other. EMBEDDINGGEMMA_ONNX names the folder of the second, which isn't bundled."""
    listed = bench.folder / "texts.json"
    some = embedded_texts(vault)[:texts]
    listed.write_text(json.dumps(some), encoding="utf-8")
    note = f"{len(some)} texts"
    taken = {}
    for name, folder in (("bundled", ""), ("multilingual", os.environ.get("EMBEDDINGGEMMA_ONNX"))):
        if folder is None:
            continue
        peaks: list[float] = []

        def ours(given: str = folder, peaks: list[float] = peaks) -> Cost:
            ran = bench.script("raw_embed.py", str(listed), *filter(None, [given]))
            peaks.append(ran.peak_mb)
            return Cost(**json.loads(ran.stdout))

        def base(files: Sequence[Path] = model_files(folder)) -> Cost:
            ran = bench.script("raw_session.py", str(listed), *map(str, files))
            return Cost(**json.loads(ran.stdout))

        taken[name], [raw] = alternate(ours, [base], repeats)
        limit = 0.65 if name == "bundled" else None
        yield Ratio("embed", f"{name} ÷ its file in ONNX Runtime", taken[name], raw, limit, note)
        reading = f"peak resident memory, {name}"
        yield Peak("embed", reading, len(some), max(peaks), 700.0 if folder else None)
    if len(taken) == 2:
        ours_and_base = taken["multilingual"], taken["bundled"]
        yield Ratio("embed", "multilingual ÷ bundled", *ours_and_base, 12.0, note)


def bench_refresh(bench: Bench, vault: Path, repeats: int, notes: int = 3_000) -> Iterator[Result]:
    """``index`` of a vault in which nothing changed against walking and stat-ing it."""
    target, index = bench.folder / "refresh", bench.folder / "refresh index"
    vaults.notes_like(vault, target, notes)
    bench.ragvault(index, "index", str(target))

    def ours() -> Cost:
        return bench.ragvault(index, "index").cost

    walk = [
        lambda: bench.script("walk_stat.py", str(target), *IMPORTS).cost,
        lambda: bench.script("walk_stat.py", str(target)).cost,
    ]
    ours()
    mine, [with_imports, bare] = alternate(ours, walk, repeats)
    note = f"{notes} notes"
    yield Ratio("refresh", "÷ walk + stat + interpreter + imports", mine, with_imports, 3.0, note)
    yield Ratio("refresh", "÷ walk + stat + interpreter alone", mine, bare, None, note)


def bench_help(bench: Bench, vault: Path, repeats: int) -> Iterator[Result]:
    """``--help`` against importing what draws it."""
    index = bench.folder / "help index"
    imports = [bench.python, "-c", "import typer, rich"]
    bench.ragvault(index, "--help")
    mine, [base] = alternate(
        lambda: bench.ragvault(index, "--help").cost,
        [lambda: run(imports, environment()).cost],
        repeats,
    )
    yield Ratio("help", '--help ÷ python -c "import typer, rich"', mine, base, 2.5)


def bench_search(bench: Bench, vault: Path, repeats: int) -> Iterator[Result]:
    """A ``search`` in a fresh process against importing, opening and loading alone."""
    index = bench.folder / "search index"
    bench.ragvault(index, "index", str(vault))
    model, _ = model_files()
    words = "what was decided and why"
    bench.ragvault(index, "search", words, ok=(0, 3))
    mine, [base] = alternate(
        lambda: bench.ragvault(index, "search", words, ok=(0, 3)).cost,
        [lambda: bench.script("open_store.py", str(index / "chroma"), str(model)).cost],
        repeats,
    )
    reading = "`search` cold ÷ import chromadb, onnxruntime; open; load"
    yield Ratio("search", reading, mine, base, 1.5)


def bench_memory(
    bench: Bench, vault: Path, repeats: int, sizes: tuple[int, ...] = (5_000, 20_000)
) -> Iterator[Result]:
    """Peak memory of one ``index`` of vaults of growing size."""
    for chunks in sizes:
        target, index = bench.folder / f"memory {chunks}", bench.folder / f"memory index {chunks}"
        vaults.chunks_like(vault, target, chunks)
        ran = bench.ragvault(index, "index", str(target), "--json")
        done = json.loads(ran.stdout)["vaults"][0]["chunks"]
        note = f"{ran.cost.wall:.0f} s"
        yield Peak("memory", "peak resident memory of `index`", done, ran.peak_mb, 600.0, note)


PARTS: dict[str, Callable[[Bench, Path, int], Iterator[Result]]] = {
    "help": bench_help,
    "search": bench_search,
    "refresh": bench_refresh,
    "embed": bench_embed,
    "index": bench_index,
    "memory": bench_memory,
}


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.processor() or platform.machine(),
        "cores": usable,
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "versions": {"ragvault": __version__, **{name: version(name) for name in LIBRARIES}},
    }


def as_row(result: Result) -> dict[str, object]:
    """A result for the JSON file; the shape says which of the two it is."""
    extra: dict[str, object] = {}
    if isinstance(result, Ratio):
        extra = {
            "ratio": round(result.wall, 3),
            "ratio_cpu": round(result.cpu, 3),
            "ours_median_s": round(median_of(result.ours).wall, 4),
            "base_median_s": round(median_of(result.base).wall, 4),
        }
    return {**asdict(result), **extra}


def table(results: list[Result]) -> Table:
    drawn = Table(title="ragvault's overhead, medians", title_justify="left")
    right = ("ragvault", "comparator", "ratio", "CPU ratio", "limit")
    for name in ("part", "reading", *right, "note"):
        drawn.add_column(name, justify="right" if name in right else "left")
    for result in results:
        if isinstance(result, Ratio):
            limit = f"{result.limit:g}" if result.limit else ""
            ours, base = median_of(result.ours).wall, median_of(result.base).wall
            ratios = [f"{result.wall:.2f}", f"{result.cpu:.2f}"]
            cells = [f"{ours:.3f} s", f"{base:.3f} s", *ratios, limit, result.note]
        else:
            limit = f"{result.limit_mb:g} MB" if result.limit_mb else ""
            note = f"{result.chunks} chunks, {result.note}"
            cells = [f"{result.peak_mb:.0f} MB", "", "", "", limit, note]
        drawn.add_row(result.name, result.reading, *cells)
    return drawn


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.splitlines()[0])
    parser.add_argument(
        "vault", type=Path, help="a folder of notes (only read); 500 passages or more"
    )
    parser.add_argument("--out", type=Path, default=Path("bench-results.json"))
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each side (index: 3)")
    options = parser.parse_args(argv)
    wanted = [part.strip() for part in options.only.split(",") if part.strip()]
    if unknown := sorted(set(wanted) - set(PARTS)):
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if not options.vault.is_dir():
        parser.error(f"{options.vault} is no folder")

    # Where the output is no terminal rich assumes 80 columns, too few for the table.
    screen = Console(width=None if sys.stdout.isatty() else 130)
    progress = Console(stderr=True)
    document: dict[str, object] = {"schema_version": 1, "machine": machine()}
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="ragvault-bench-") as folder:
        for part in wanted:
            progress.print(f"measuring {part} …")
            repeats = min(options.repeats, 3) if part == "index" else options.repeats
            work = Path(folder) / part
            work.mkdir()
            results += PARTS[part](Bench(work), options.vault.resolve(), repeats)
    document["vault"] = str(options.vault)
    document["results"] = [as_row(result) for result in results]
    options.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    screen.print(table(results))
    screen.print(f"{document['machine']}", style="dim", soft_wrap=True, highlight=False)
    progress.print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
