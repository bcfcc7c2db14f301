"""Deterministic fakes of the stores and the embedder, as the docstrings in ``ports`` say.

The contract suites run on these and on the real adapters, so that a stage tested on a fake can
rely on it. They keep everything in plain dictionaries; nothing here is fast.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from ragvault.errors import NoIndexError, StoreDamagedError, UsageError
from ragvault.model import (
    Background,
    Chunk,
    FileState,
    Filter,
    FolderInfo,
    NoteInfo,
    NoteWrite,
    Prefixes,
    ScoredId,
    StoredChunk,
    VaultInfo,
    VectorRecord,
)
from ragvault.text import folded, language_of, stem, tokens

if TYPE_CHECKING:
    from ragvault.model import Matrix, Vector

K1, B = 1.2, 0.75  # BM25's, as in FTS5
PREFIX = 9


class FakeEmbedder:
    """Words hashed to directions: texts that share words are near each other."""

    def __init__(
        self, fingerprint: str = "fake-1", dimensions: int = 32, max_tokens: int = 64
    ) -> None:
        self._fingerprint = fingerprint
        self._dimensions = dimensions
        self._max_tokens = max_tokens
        self.embedded: list[str] = []  # every text that was embedded, in order
        self.share = 1.0  # what ``vocabulary_share`` says of any text

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    @property
    def name(self) -> str:
        return f"fake ({self._fingerprint})"

    @property
    def model(self) -> str:
        return "fake"

    @property
    def source(self) -> str:
        return "memory"

    @property
    def prefixes(self) -> Prefixes:
        return Prefixes("", "", "family")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.embedded.extend(texts)
        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for i, text in enumerate(texts):
            rows[i] = self._vector(text)
        return rows

    def embed_query(self, text: str) -> Vector:
        return self._vector(text)

    def keep_to(self, fingerprints: Collection[str]) -> None:
        """Computed in one way."""

    def vocabulary_share(self, text: str) -> float:
        return self.share

    def close(self) -> None:
        """Nothing is held open."""

    def _vector(self, text: str) -> Vector:
        total = self._direction("")
        for word in text.lower().split()[: self._max_tokens]:
            total = total + self._direction(word)
        return (total / np.linalg.norm(total)).astype(np.float32)

    def _direction(self, word: str) -> Vector:
        seed = hashlib.sha256(f"{self._fingerprint}\0{word}".encode()).digest()
        direction: Vector = np.random.default_rng(list(seed)).standard_normal(self._dimensions)
        return direction.astype(np.float32)


class FakeVectorIndex:
    """Brute-force cosine. ``place`` outlives an instance, as a folder on disk does."""

    def __init__(self, place: dict[str, dict[str, VectorRecord]] | None = None) -> None:
        self.place = {} if place is None else place
        self.epoch = 1
        self.damaged = False
        self.generation = 0
        self.upserted: list[str] = []
        self.deleted: list[str] = []

    @property
    def identity(self) -> str:
        return f"fake:{id(self.place)}:{self.epoch}"

    def stored_identity(self) -> str:
        return self.identity

    def size(self) -> int:
        return 0

    def upsert(self, key: str, records: Sequence[VectorRecord]) -> None:
        self._check()
        self.place.setdefault(key, {}).update({r.chunk_id: r for r in records})
        self.upserted.extend(r.chunk_id for r in records)

    def delete(self, key: str, chunk_ids: Collection[str]) -> None:
        self._check()
        for chunk_id in chunk_ids:
            self.place.get(key, {}).pop(chunk_id, None)
            self.deleted.append(chunk_id)

    def query(
        self,
        key: str,
        vector: Vector,
        n: int,
        *,
        folders: Collection[str] | None = None,
    ) -> list[ScoredId]:
        self._check()
        found = [
            ScoredId(r.chunk_id, float(np.dot(r.vector, vector)))
            for r in self.place.get(key, {}).values()
            if folders is None or r.folder in folders
        ]
        return sorted(found, key=lambda s: (-s.score, s.chunk_id))[:n]

    def ids(self, key: str) -> set[str]:
        self._check()
        return set(self.place.get(key, {}))

    def vectors(self, key: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        self._check()
        held = self.place.get(key, {})
        return {i: held[i].vector for i in chunk_ids if i in held}

    def count(self, key: str) -> int:
        self._check()
        return len(self.place.get(key, {}))

    def seal(self) -> None:
        """Nothing is kept in files."""

    def drop(self, key: str) -> None:
        self._check()
        self.place.pop(key, None)

    def retain(self, keys: Collection[str]) -> None:
        self._check()
        for key in self.place.keys() - set(keys):
            del self.place[key]

    def reset(self) -> None:
        self.place.clear()
        self.damaged = False
        self.epoch += 1

    def sync_to(self, generation: int) -> None:
        self._check()
        self.generation = generation

    def close(self) -> None: ...

    def _check(self) -> None:
        if self.damaged:
            raise StoreDamagedError("The vector store is damaged.")


class _Note:
    def __init__(self, write: NoteWrite, info: NoteInfo) -> None:
        self.write = write
        self.info = info
        body = (write.note.frontmatter_text, *(part.text for part in write.note.sections))
        self.body = "\n".join(body)
        self.language = language_of(self.body)
        self.state = FileState(
            write.file.rel_path,
            write.file.size,
            write.file.mtime_ns,
            write.content_hash,
            write.fingerprint,
            write.seen_ns,
        )


class FakeCatalog:
    """The catalog in memory. A write is applied whole, or (on an error) not at all."""

    def __init__(self) -> None:
        self._generation = 0
        self._vaults: dict[str, VaultInfo] = {}
        self._watermarks: dict[str, str | None] = {}
        self._notes: dict[str, dict[str, _Note]] = {}
        self._cache: dict[str, dict[str, Vector]] = {}
        self._embedders: dict[str, str] = {}
        self._in_force: str | None = None
        self.has_grace = False  # what no chunk uses is kept
        self._centroids: dict[tuple[str, str], Vector | None] = {}
        self._backgrounds: dict[tuple[str, str], Background] = {}

    # -- vaults
    @property
    def generation(self) -> int:
        return self._generation

    def vaults(self) -> list[VaultInfo]:
        model, _ = self.embedder_in_force() or ("", "")
        return [
            replace(
                self._vaults[name],
                notes=len(self._notes[name]),
                chunks=sum(len(n.write.chunks) for n in self._notes[name].values()),
                embedded=len(self._notes[name]) - len(self.lacking(name, model)),
            )
            for name in sorted(self._vaults)
        ]

    def add_vault(self, vault: VaultInfo) -> None:
        known = self._vaults.get(vault.name)
        if known is None:
            self._vaults[vault.name] = replace(vault, indexed_at=None, fingerprint=None)
            self._watermarks[vault.name] = None
            self._notes[vault.name] = {}
        else:
            self._vaults[vault.name] = replace(known, path=vault.path, kind=vault.kind)
        self._generation += 1

    def remove_vault(self, name: str) -> None:
        self._known(name)
        del self._vaults[name], self._watermarks[name], self._notes[name]
        for key in [key for key in self._backgrounds if key[0] == name]:
            del self._backgrounds[key]
        self._generation += 1

    def rename_vault(self, old: str, new: str) -> None:
        info = self._known(old)
        if old != new and new in self._vaults:
            raise UsageError(f"There is a vault named {new!r} already.")
        del self._vaults[old], self._watermarks[old]
        notes = self._notes.pop(old)
        self._vaults[new] = replace(info, name=new)
        self._watermarks[new] = None
        for key in [key for key in self._backgrounds if key[0] == old]:
            self._backgrounds[new, key[1]] = self._backgrounds.pop(key)
        for note in notes.values():
            note.info = replace(note.info, vault=new)
            note.state = replace(
                note.state, mtime_ns=-1, seen_ns=0, fingerprint="", content_hash=""
            )
        self._notes[new] = notes
        self._generation += 1

    def finish_vault(self, name: str, *, fingerprint: str, indexed_at: float) -> None:
        info = self._known(name)
        self._vaults[name] = replace(info, fingerprint=fingerprint, indexed_at=indexed_at)
        self._put_in_force(fingerprint)
        model, _ = self.embedder_in_force() or (fingerprint, "")
        self._centroids = {
            (vault, folder): self._centroid(vault, folder, model)
            for vault, notes in self._notes.items()
            for folder in {n.info.folder for n in notes.values()}
        }
        self._generation += 1

    def checked_vault(self, name: str, *, indexed_at: float) -> None:
        self._vaults[name] = replace(self._known(name), indexed_at=indexed_at)

    def vector_watermark(self, name: str) -> str | None:
        return self._watermarks.get(name)

    def set_vector_watermark(self, name: str, watermark: str | None) -> None:
        self._known(name)
        self._watermarks[name] = watermark

    # -- indexing
    def file_states(self, vault: str) -> dict[str, FileState]:
        return {path: note.state for path, note in self._notes.get(vault, {}).items()}

    def touch_files(self, vault: str, states: Sequence[FileState]) -> None:
        self._known(vault)
        for state in states:
            note = self._notes[vault].get(state.rel_path)
            if note is None:
                continue
            if math.isclose(note.info.date, note.state.mtime_ns / 1e9, abs_tol=1e-5):
                note.info = replace(note.info, date=state.mtime_ns / 1e9)
            note.info = replace(note.info, mtime=state.mtime_ns / 1e9)
            note.state = replace(
                note.state, size=state.size, mtime_ns=state.mtime_ns, seen_ns=state.seen_ns
            )

    def chunk_ids(self, vault: str, rel_paths: Collection[str] | None = None) -> set[str]:
        return {
            chunk.id
            for path, note in self._notes.get(vault, {}).items()
            if rel_paths is None or path in rel_paths
            for chunk in note.write.chunks
        }

    def use_embedder(self, fingerprint: str, settings: str) -> None:
        self._embedders[fingerprint] = settings
        self._put_in_force(fingerprint)

    def embedder_in_force(self) -> tuple[str, str] | None:
        name = self._in_force
        return None if name is None else (name, self._embedders.get(name, ""))

    def embedders(self) -> list[str]:
        return sorted(self._embedders)

    def lacking(self, vault: str, fingerprint: str) -> list[tuple[str, int]]:
        cache = self._cache.get(fingerprint, {})
        counts = [
            (note, sum(c.text_hash not in cache for c in note.write.chunks))
            for note in self._notes[vault].values()
        ]
        waiting = [(note, count) for note, count in counts if count]
        waiting.sort(
            key=lambda pair: (
                pair[0].state.size >= 1_000_000,
                -pair[0].info.date,
                pair[0].info.rel_path,
            )
        )
        return [(note.info.rel_path, count) for note, count in waiting]

    def _put_in_force(self, fingerprint: str) -> None:
        self._embedders.setdefault(fingerprint, "")
        if all(v.fingerprint in (None, fingerprint) for v in self._vaults.values()):
            self._in_force = fingerprint

    def commit(self, vault: str, writes: Sequence[NoteWrite], removed: Sequence[str]) -> set[str]:
        self._known(vault)
        fresh = {w.file.rel_path: _Note(w, _info_of(vault, w)) for w in writes}
        before = self.chunk_ids(vault, {*removed, *fresh})
        for path in removed:
            self._notes[vault].pop(path, None)
        self._notes[vault].update(fresh)
        self._generation += 1
        return before - self.chunk_ids(vault, set(fresh))

    def cached_vectors(self, fingerprint: str, text_hashes: Collection[str]) -> dict[str, Vector]:
        cache = self._cache.get(fingerprint, {})
        return {h: cache[h] for h in text_hashes if h in cache}

    def store_vectors(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        rounded: dict[str, Vector] = {}
        for text_hash, vector in vectors.items():
            half = np.asarray(vector, dtype=np.float16).astype(np.float64)
            norm = float(np.sqrt((half * half).sum())) or 1.0
            rounded[text_hash] = (half / norm).astype(np.float32)
        self._cache.setdefault(fingerprint, {}).update(rounded)
        self._generation += 1

    def prune_vectors(self, fingerprint: str) -> int:
        """The shortest grace that the port allows, or an endless one."""
        self._embedders = {
            name: settings
            for name, settings in self._embedders.items()
            if name in (fingerprint, self._in_force)
        }
        in_use = {c.text_hash for _, c in self._each()}
        if self.has_grace:
            return 0
        cache = self._cache.get(fingerprint, {})
        unused = [h for h in cache if h not in in_use]
        for text_hash in unused:
            del cache[text_hash]
        self._generation += 1
        return len(unused)

    def iter_records(self, vault: str, fingerprint: str) -> Iterator[VectorRecord]:
        cache = self._cache.get(fingerprint, {})
        for note, chunk in self._each((vault,)):
            if chunk.text_hash in cache:
                yield VectorRecord(chunk.id, cache[chunk.text_hash], note.info.folder)

    # -- searching
    def lexical(self, terms: Sequence[str], n: int, where: Filter) -> list[ScoredId]:
        allowed = [c.id for note, c in self._each() if _passes(note.info, where)]
        scores = self.lexical_scores(terms, allowed)
        ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        return [ScoredId(i, s) for i, s in ranked[:n]]

    def lexical_scores(self, terms: Sequence[str], chunk_ids: Collection[str]) -> dict[str, float]:
        scores: dict[str, float] = {}
        for vault in self._vaults:
            bags, asked = self._bags(vault), self._asked(vault, terms)
            scores |= _bm25(bags, asked, _beginnings(bags.values(), asked))
        return {i: score for i, score in scores.items() if i in chunk_ids}

    def background(self, vault: str, fingerprint: str) -> Background | None:
        return self._backgrounds.get((vault, fingerprint))

    def set_background(self, vault: str, fingerprint: str, background: Background) -> None:
        if vault in self._vaults:
            self._backgrounds[vault, fingerprint] = background

    def notes_with(self, phrase: str, vaults: Collection[str]) -> frozenset[tuple[str, str]]:
        wanted = f" {' '.join(tokens(phrase))} "
        return frozenset(
            (name, path)
            for name, notes in self._notes.items()
            for path, note in notes.items()
            if (not vaults or name in vaults) and wanted.strip() and wanted in _written(note)
        )

    def vocabulary(self, word: str, vaults: Collection[str]) -> dict[str, int]:
        held = (notes for name, notes in self._notes.items() if not vaults or name in vaults)
        bags = (set(_written(note).split()) for notes in held for note in notes.values())
        counts = Counter(other for bag in bags for other in bag if other[0] in word)
        return dict(counts)

    def document_frequencies(self, terms: Sequence[str], where: Filter) -> dict[str, int]:
        counts = dict.fromkeys(terms, 0)
        for note, chunk in self._each():
            if _passes(note.info, where):
                bag = set(self._bag(note, chunk))
                asked = self._asked(chunk.vault, terms)
                for term in counts:
                    counts[term] += any(bag & asked[word] for word in tokens(term))
        return counts

    def chunks(self, chunk_ids: Collection[str]) -> dict[str, StoredChunk]:
        return {c.id: StoredChunk(c, note.info) for note, c in self._each() if c.id in chunk_ids}

    def vectors(self, fingerprint: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        cache = self._cache.get(fingerprint, {})
        return {
            c.id: cache[c.text_hash]
            for _, c in self._each()
            if c.id in chunk_ids and c.text_hash in cache
        }

    def matching(self, chunk_ids: Collection[str], where: Filter) -> set[str]:
        return {c.id for note, c in self._each() if c.id in chunk_ids and _passes(note.info, where)}

    def nearest(
        self, fingerprint: str, vector: Vector, n: int, where: Filter
    ) -> tuple[list[ScoredId], int]:
        ids = [c.id for note, c in self._each() if _passes(note.info, where)]
        found = self.vectors(fingerprint, ids)
        scored = [ScoredId(i, float(row @ vector)) for i, row in found.items()]
        best = sorted(scored, key=lambda hit: (-hit.score, hit.chunk_id))[: max(0, n)]
        return best, len(ids) - len(found)

    def neighbours(self, chunk_id: str, reach: int) -> list[StoredChunk]:
        for note, chunk in self._each():
            if chunk.id == chunk_id:
                return [
                    StoredChunk(c, note.info)
                    for c in sorted(note.write.chunks, key=lambda c: c.chunk_index)
                    if c.heading_path == chunk.heading_path
                    and abs(c.ordinal - chunk.ordinal) <= reach
                ]
        return []

    def note_chunks(self, vault: str, rel_path: str) -> list[StoredChunk]:
        note = self._notes.get(vault, {}).get(rel_path)
        if note is None:
            return []
        ordered = sorted(note.write.chunks, key=lambda c: c.chunk_index)
        return [StoredChunk(c, note.info) for c in ordered]

    def recent(self, n: int, where: Filter) -> list[StoredChunk]:
        first = [
            StoredChunk(min(note.write.chunks, key=lambda c: c.chunk_index), note.info)
            for notes in self._notes.values()
            for note in notes.values()
            if note.write.chunks and _passes(note.info, where)
        ]
        key = lambda s: (-s.note.date, s.note.vault, s.note.rel_path)  # noqa: E731
        return sorted(first, key=key)[:n]

    def folders(self, vaults: Collection[str] = ()) -> list[FolderInfo]:
        counts: dict[tuple[str, str], tuple[int, int]] = {}
        for vault, notes in self._notes.items():
            for note in notes.values():
                if vaults and vault not in vaults:
                    continue
                seen = counts.get((vault, note.info.folder), (0, 0))
                counts[vault, note.info.folder] = (seen[0] + 1, seen[1] + len(note.write.chunks))
        return [
            FolderInfo(vault, folder, *counts[vault, folder], self._centroids.get((vault, folder)))
            for vault, folder in sorted(counts)
        ]

    def languages(self, vaults: Collection[str] = ()) -> dict[str, int]:
        held = (ns for name, ns in self._notes.items() if not vaults or name in vaults)
        counts = Counter(note.language for notes in held for note in notes.values())
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

    def tags(self, vaults: Collection[str] = ()) -> list[str]:
        counts = Counter(
            tag
            for vault, notes in self._notes.items()
            for note in notes.values()
            for tag in {tag.lstrip("#").strip("/").casefold() for tag in note.info.tags}
            if not vaults or vault in vaults
        )
        return sorted(counts, key=lambda tag: (-counts[tag], tag))

    def count_chunks(self, where: Filter) -> int:
        return sum(_passes(note.info, where) for note, _ in self._each())

    # -- life
    def check(self) -> list[str]:
        return []

    def close(self) -> None:
        """Nothing is held open."""

    # -- inside
    def _known(self, name: str) -> VaultInfo:
        if name not in self._vaults:
            raise NoIndexError(f"No vault is named {name!r}.")
        return self._vaults[name]

    def _each(self, vaults: Collection[str] | None = None) -> Iterator[tuple[_Note, Chunk]]:
        for vault in self._notes if vaults is None else vaults:
            for note in self._notes.get(vault, {}).values():
                for chunk in note.write.chunks:
                    yield note, chunk

    def _bags(self, vault: str) -> dict[str, list[str]]:
        return {c.id: self._bag(note, c) for note, c in self._each((vault,))}

    def _bag(self, note: _Note, chunk: Chunk) -> list[str]:
        """Every stemmed word of the chunk's row: names, headings, body."""
        names = (note.info.title, *note.info.aliases, *note.info.tags)
        text = "\n".join((*names, *chunk.heading_path, chunk.text))
        return [stem(t, note.language) for t in tokens(text)]

    def _asked(self, vault: str, terms: Sequence[str]) -> dict[str, set[str]]:
        """The words of the terms, each with its stems in the languages of the vault's notes."""
        languages = {note.language for note in self._notes[vault].values()}
        words = {token for term in terms for token in tokens(term)}
        return {word: {stem(word, language) for language in languages} for word in words}

    def _note_bag(self, note: _Note) -> list[str]:
        """Every stemmed word of the note's row: names, frontmatter, sections."""
        names = (note.info.title, *note.info.aliases, *note.info.tags)
        stem_of_path = PurePosixPath(note.info.rel_path).stem
        text = "\n".join((*names, stem_of_path, note.body))
        return [stem(t, note.language) for t in tokens(text)]

    def _centroid(self, vault: str, folder: str, fingerprint: str) -> Vector | None:
        cache = self._cache.get(fingerprint, {})
        rows = [
            cache[c.text_hash].astype(np.float64)
            for note, c in sorted(self._each((vault,)), key=lambda pair: pair[1].id)
            if note.info.folder == folder and c.text_hash in cache
        ]
        if not rows:
            return None
        total = np.sum(rows, axis=0)
        return (total / np.linalg.norm(total)).astype(np.float32)


def _written(note: _Note) -> str:
    """The words of a note's names and text between spaces."""
    if not note.write.chunks:
        return ""
    info = note.info
    names = (info.title, *info.aliases, PurePosixPath(info.rel_path).stem, *info.tags)
    return f" {' '.join(tokens(chr(10).join((*names, note.body))))} "


def _beginnings(bags: Iterable[Sequence[str]], asked: Mapping[str, set[str]]) -> set[str]:
    """Of words of nine letters and more that at most one chunk holds: their first nine."""
    held = [set(bag) for bag in bags]
    return {
        folded(word)[:PREFIX]
        for word, stems in asked.items()
        if len(word) >= PREFIX and word.isalpha() and sum(bool(stems & bag) for bag in held) <= 1
    }


def _common(bags: Collection[Sequence[str]], stems: Collection[str]) -> set[str]:
    """Those that at least half as many of the bags hold as hold the commonest."""
    held = {stem: sum(stem in bag for bag in bags) for stem in stems}
    return {stem for stem, count in held.items() if 2 * count >= max(held.values())}


def _bm25(
    bags: Mapping[str, Sequence[str]],
    asked: Mapping[str, set[str]],
    beginnings: Collection[str],
) -> dict[str, float]:
    """Okapi BM25 as FTS5 computes it, over all the bags; those without any term are absent."""
    average = sum(len(b) for b in bags.values()) / max(1, len(bags)) or 1.0
    wanted = sorted(set[str]().union(*(_common(bags.values(), stems) for stems in asked.values())))
    counts = [{key: bag.count(word) for key, bag in bags.items()} for word in wanted]
    counts += [
        {key: sum(word.startswith(start) for word in bag) for key, bag in bags.items()}
        for start in sorted(beginnings)
    ]
    scores: dict[str, float] = {}
    for count_of in counts:
        holders = sum(count > 0 for count in count_of.values())
        idf = max(1e-6, math.log((len(bags) - holders + 0.5) / (holders + 0.5)))
        for key, count in count_of.items():
            if count:
                length = K1 * (1 - B + B * len(bags[key]) / average)
                gain = idf * count * (K1 + 1) / (count + length)
                scores[key] = scores.get(key, 0.0) + gain
    return scores


def _info_of(vault: str, write: NoteWrite) -> NoteInfo:
    path = write.file.rel_path
    return NoteInfo(
        vault=vault,
        rel_path=path,
        title=write.note.title,
        folder=path.rpartition("/")[0],
        aliases=write.note.aliases,
        tags=write.note.tags,
        date=write.note.date,
        mtime=write.file.mtime_ns / 1e9,
    )


def _passes(note: NoteInfo, where: Filter) -> bool:
    if where.vaults and note.vault not in where.vaults:
        return False
    if where.folders and (note.vault, note.folder) not in where.folders:
        return False
    place = (note.vault, note.rel_path)
    if place in where.not_notes or (where.notes is not None and place not in where.notes):
        return False
    if where.since is not None and note.date < where.since:
        return False
    if where.until is not None and note.date > where.until:
        return False
    return not where.tags or any(_has_tag(note, tag) for tag in where.tags)


def _has_tag(note: NoteInfo, wanted: str) -> bool:
    wanted = wanted.lstrip("#").strip("/").casefold()
    mine = [tag.lstrip("#").strip("/").casefold() for tag in note.tags]
    return any(tag == wanted or tag.startswith(wanted + "/") for tag in mine)


def vault_info(name: str, path: Path) -> VaultInfo:
    return VaultInfo(name=name, path=path, kind="folder")
