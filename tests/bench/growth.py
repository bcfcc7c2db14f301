"""What a search costs as the vault grows.

    python -m tests.bench.growth VAULT FOLDER [--sizes 10,10000,100000]

For each size an index is made in FOLDER, straight through both stores: the words are VAULT's, the
vectors random directions around a hundred centres, so that no model has to run. Then `search` is
timed, warm (in this process, median over the questions) and cold (a process of its own). An index
that is there already is measured as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from ragvault.config.settings import IndexSettings, Settings
from ragvault.ingest.plan import text_fingerprint
from ragvault.ingest.write import watermark_of
from ragvault.model import (
    Chunk,
    Note,
    NoteFile,
    NoteWrite,
    Request,
    VaultInfo,
    VectorRecord,
    collection_of,
)
from ragvault.service import search
from ragvault.wiring import Container
from tests.bench import vaults
from tests.bench.measure import Bench, Cost, median_of

PER_NOTE = 10  # chunks; a vault of fewer notes has one a note
BATCH = 500  # notes
QUESTIONS = 12


def _record_of(chunk: Chunk, vectors: dict[str, np.ndarray]) -> VectorRecord:
    return VectorRecord(chunk.id, vectors[chunk.text_hash], chunk.rel_path.rpartition("/")[0])


def note_of(number: int, sections: list[str], fingerprint: str) -> NoteWrite:
    """A note of one section a chunk, as parsing and chunking would give it, without a file."""
    path = f"folder {number % 40:02d}/note {number:06d}.md"
    title, lines, chunks = f"Note {number}", [f"# Note {number}"], []
    for index, body in enumerate(sections):
        heading = (title, f"Part {index}")
        lines += [f"## Part {index}", body]
        text_hash = hashlib.sha256(f"{number}/{index}/{body}".encode()).hexdigest()
        at = len(lines)
        text = f"## Part {index}\n{body}"
        chunk_id = hashlib.sha256(f"v/{path}/{index}".encode()).hexdigest()[:32]
        chunks.append(
            Chunk(chunk_id, "v", path, heading, 0, index, at - 1, at, text, text, text_hash)
        )
    note = Note(path, title, (), (), 1.7e9, "", None, (), tuple(lines), ())
    file = NoteFile(path, Path(path), 1, 1)
    return NoteWrite(file, text_hash, note, tuple(chunks), fingerprint)


def notes_of(vault: Path, chunks: int, fingerprint: str) -> Iterator[NoteWrite]:
    words, dice = vaults.sentences(vault), random.Random(5)
    per_note = PER_NOTE if chunks > 10_000 else 1
    for number in range(chunks // per_note):
        sections = [" ".join(dice.choices(words, k=3)) for _ in range(per_note)]
        yield note_of(number, sections, fingerprint)


def build(container: Container, vault: Path, chunks: int) -> None:
    """Fill both stores. Linear in the chunks; Chroma takes most of it (750 a second)."""
    catalog, store = container.new_catalog, container.vectors
    embedder = container.embedder
    fingerprint = text_fingerprint(container.settings.chunking, embedder.max_tokens)
    collection = collection_of("v", embedder.fingerprint)
    catalog.add_vault(VaultInfo("v", container.data_dir, "folder"))
    dice = np.random.default_rng(7)
    centres = dice.normal(size=(100, embedder.dimensions))
    batch: list[NoteWrite] = []

    def flush() -> None:
        hashes = [c.text_hash for w in batch for c in w.chunks]
        near = centres[dice.integers(0, len(centres), len(hashes))]
        rows = near + 0.8 * dice.normal(size=(len(hashes), embedder.dimensions))
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        vectors = dict(zip(hashes, rows, strict=True))
        for write in batch:
            store.upsert(collection, [_record_of(chunk, vectors) for chunk in write.chunks])
        catalog.store_vectors(embedder.fingerprint, vectors)
        catalog.commit("v", batch, [])
        batch.clear()

    for write in notes_of(vault, chunks, fingerprint):
        batch.append(write)
        if len(batch) >= BATCH:
            flush()
    if batch:
        flush()
    catalog.finish_vault("v", fingerprint=embedder.fingerprint, indexed_at=time.time())
    catalog.set_vector_watermark("v", watermark_of(store.identity, embedder.fingerprint))


def warm(container: Container, questions: list[str]) -> Cost:
    """Median cost of a search once everything is loaded (the first one isn't counted)."""
    costs: list[Cost] = []
    for question in [questions[0], *questions]:
        wall, cpu = time.perf_counter(), time.process_time()
        search.search(container, Request(question=question), 10, now=datetime.now())
        costs.append(Cost(time.perf_counter() - wall, time.process_time() - cpu))
    return median_of(costs[1:])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vault", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", default="10,10000,100000", help="chunks, separated by commas")
    options = parser.parse_args(argv)
    dice = random.Random(11)
    sentences = vaults.sentences(options.vault)
    questions = [" ".join(dice.choice(sentences).split()[:9]) for _ in range(QUESTIONS)]
    drawn = Table(title="`search` as the vault grows, medians", title_justify="left")
    for name in ("chunks", "warm", "warm, CPU", "cold", "cold, CPU", "index on disk"):
        drawn.add_column(name, justify="right")
    for size in (int(part) for part in options.sizes.split(",")):
        folder = options.folder / str(size)
        is_new = not (folder / "catalog.sqlite3").exists()
        with Container(Settings(index=IndexSettings(path=str(folder)))) as container:
            if is_new:
                build(container, options.vault, size)
            cost = warm(container, questions)
            disk = sum(part for _, part in container.sizes()) / 1e6
            chunks = container.catalog.vaults()[0].chunks
        bench = Bench(options.folder)
        runs = [bench.ragvault(folder, "search", q, ok=(0, 3)).cost for q in questions[:4]]
        cold = Cost(median(r.wall for r in runs[1:]), median(r.cpu for r in runs[1:]))
        figures = (f"{s * 1000:,.0f} ms" for s in (cost.wall, cost.cpu, cold.wall, cold.cpu))
        drawn.add_row(f"{chunks:,}", *figures, f"{disk:,.0f} MB")
        Console(stderr=True).print(f"{size:,} measured")
    Console(width=None if sys.stdout.isatty() else 100).print(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
