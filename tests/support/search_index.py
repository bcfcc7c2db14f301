"""A small index for search tests: notes given as text, stored through the real ports.

``SearchIndex.real`` stands on SQLite, Chroma and the ONNX model; ``SearchIndex.fake`` on SQLite and
fakes, where a word's vector is its own direction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ragvault.adapters.chroma.persistent import PersistentChroma
from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.config.settings import Settings
from ragvault.model import (
    Chunk,
    Note,
    NoteFile,
    NoteWrite,
    Request,
    Retrieval,
    VaultInfo,
    collection_of,
)
from ragvault.ports import Catalog, Embedder, VectorIndex
from ragvault.retrieval.pipeline import Deps, retrieve
from ragvault.retrieval.question.query import analyse
from tests.support.fakes import FakeEmbedder, FakeVectorIndex

NOW = datetime(2024, 5, 15, 10, 30)


@dataclass(frozen=True)
class Source:
    """A note to index: its sections as (heading path, text), the date of its content."""

    rel_path: str
    sections: tuple[tuple[tuple[str, ...], str], ...]
    date: datetime = datetime(2024, 1, 1, 12)
    tags: tuple[str, ...] = ()
    by_file: bool = False  # that date is when its file was written


def source(
    rel_path: str, text: str, *, date: datetime = datetime(2024, 1, 1, 12), tags: Sequence[str] = ()
) -> Source:
    """A note of one section, under no heading."""
    return Source(rel_path, (((), text),), date, tuple(tags))


@dataclass
class SearchIndex:
    catalog: Catalog
    vectors: VectorIndex
    embedder: Embedder
    settings: Settings = field(default_factory=Settings)
    on_close: tuple[Callable[[], None], ...] = ()

    @classmethod
    def real(cls, folder: Path) -> SearchIndex:
        catalog = SqliteCatalog(folder / "catalog.sqlite3")
        vectors = PersistentChroma(folder)
        embedder = OnnxEmbedder(Settings())
        return cls(
            catalog,
            vectors,
            embedder,
            on_close=(vectors.close, embedder.close, catalog.close),
        )

    @classmethod
    def fake(cls, folder: Path) -> SearchIndex:
        catalog = SqliteCatalog(folder / "catalog.sqlite3")
        return cls(
            catalog,
            FakeVectorIndex(),
            FakeEmbedder(dimensions=256),
            on_close=(catalog.close,),
        )

    def add(self, vault: str, sources: Sequence[Source]) -> None:
        """Index the notes into a vault, as ``index`` would."""
        self.catalog.add_vault(VaultInfo(vault, Path("/notes") / vault, "folder"))
        writes = [_write(vault, each) for each in sources]
        chunks = {c.text_hash: c for w in writes for c in w.chunks}
        rows = self.embedder.embed_documents([c.embed_text for c in chunks.values()])
        fingerprint = self.embedder.fingerprint
        self.catalog.store_vectors(fingerprint, dict(zip(chunks, rows, strict=True)))
        self.catalog.commit(vault, writes, ())
        self.catalog.finish_vault(vault, fingerprint=fingerprint, indexed_at=1.0)
        vectors = self.catalog.vectors(fingerprint, self.catalog.chunk_ids(vault))
        self.vectors.upsert(collection_of(vault, fingerprint), vectors)
        self.catalog.set_vector_watermark(vault, f"{self.vectors.identity}|{fingerprint}")

    @property
    def deps(self) -> Deps:
        return Deps(self.catalog, lambda: self.embedder, lambda: self.vectors)

    def search(
        self,
        request: Request | str,
        *,
        deps: Deps | None = None,
        settings: Settings | None = None,
        for_answer: bool = False,
    ) -> Retrieval:
        asked = Request(request) if isinstance(request, str) else request
        used = settings or self.settings
        return retrieve(
            asked,
            query=analyse(asked.question, NOW),
            deps=deps or self.deps,
            settings=used,
            now=NOW,
            for_answer=for_answer,
        )

    def close(self) -> None:
        for close in self.on_close:
            close()


def paths(retrieval: Retrieval) -> list[str]:
    """The notes of the kept hits, best first."""
    return [hit.note.rel_path for hit in retrieval.kept]


def _write(vault: str, note: Source) -> NoteWrite:
    title = note.rel_path.rpartition("/")[2].removesuffix(".md")
    parsed = Note(
        rel_path=note.rel_path,
        title=title,
        aliases=(),
        tags=note.tags,
        date=note.date.timestamp(),
        frontmatter_text="\n".join(text for _, text in note.sections),
        frontmatter_lines=None,
        sections=(),
        lines=(),
        blocks=(),
    )
    chunks = []
    for index, (headings, text) in enumerate(note.sections):
        embedded = "\n".join((title, " > ".join(headings), text))
        digest = hashlib.sha256(embedded.encode()).hexdigest()
        key = "\0".join((vault, note.rel_path, *headings, str(index), digest))
        chunks.append(
            Chunk(
                id=hashlib.sha256(key.encode()).hexdigest()[:32],
                vault=vault,
                rel_path=note.rel_path,
                heading_path=headings,
                ordinal=index,
                chunk_index=index,
                start_line=index * 10 + 1,
                end_line=index * 10 + 5,
                text=text,
                embed_text=embedded,
                text_hash=digest,
            )
        )
    written = note.date.timestamp() if note.by_file else 1.7
    path = str(Path("/notes") / vault / note.rel_path)
    file = NoteFile(note.rel_path, path, 100, int(written * 1e9))
    return NoteWrite(file, "hash", parsed, tuple(chunks))
