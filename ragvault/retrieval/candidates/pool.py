"""The candidate pool: what either leg proposed, once each, with exact scores of both legs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragvault.model import Filter, NoteLexical, Scope, StoredChunk
from ragvault.ports import Catalog
from ragvault.retrieval.question.scope import weight_of
from ragvault.retrieval.ranking.blend import Candidate

if TYPE_CHECKING:
    from ragvault.model import Vector

# Most that are scored: what many scopes or other wordings propose beyond it is cut.
MAX_CANDIDATES = 200


def gather(
    catalog: Catalog,
    *,
    by_vector: Sequence[str],
    by_keyword: Sequence[str],
    where: Filter,
    terms: Sequence[str],
    scopes: Sequence[Scope],
    fingerprint: str,
    query_vector: Vector | None,
    note_chunks: int = 0,
) -> list[Candidate]:
    """The candidates in order of chunk id.

    Only chunks that are visible and pass the filter come through, whatever a leg proposed (a
    vector may outlive its chunk until the next ``index``). The cosine is computed here from the
    embedding cache and the BM25 asked for by id, so that both are exact for every candidate,
    also where its own leg was the other one. ``note_chunks`` above 0 asks for the whole notes'
    evidence too (see ``blend``). Linear in the candidates, and in the notes that hold a term.
    """
    proposed = list(dict.fromkeys((*by_vector, *by_keyword)))
    allowed = sorted(catalog.matching(proposed, where)) if proposed else []
    stored = catalog.chunks(allowed)
    bm25 = catalog.lexical_scores(terms, allowed) if terms else {}
    vectors = catalog.vectors(fingerprint, allowed) if query_vector is not None else {}
    notes = _Notes(catalog, terms, allowed, where, fingerprint, query_vector, note_chunks)
    keyword_ids = set(by_keyword)
    candidates = []
    for chunk_id in allowed:
        chunk = stored.get(chunk_id)
        if chunk is None:  # it went between two reads: another process is indexing
            continue
        vector = vectors.get(chunk_id)
        cosine = _product(vector, query_vector)
        candidates.append(
            Candidate(
                stored=chunk,
                vector=cosine,
                bm25=bm25.get(chunk_id, 0.0),
                folder_weight=weight_of(chunk.note.vault, chunk.note.folder, scopes),
                by_keyword=chunk_id in keyword_ids,
                note_vector=notes.vector(chunk_id),
                note_lexical=notes.lexical(chunk_id),
                note_share=notes.share(chunk),
            )
        )
    return candidates


class _Notes:
    """What the candidates' notes say as a whole; nothing with ``note_chunks`` 0."""

    def __init__(
        self,
        catalog: Catalog,
        terms: Sequence[str],
        chunk_ids: Sequence[str],
        where: Filter,
        fingerprint: str,
        query_vector: Vector | None,
        note_chunks: int,
    ) -> None:
        self._chunks = note_chunks
        self._query = query_vector
        self._bm25 = NoteLexical({}, 0.0)
        self._means: dict[str, Vector] = {}
        if note_chunks and terms:
            self._bm25 = catalog.note_lexical(terms, chunk_ids, where)
        if note_chunks and query_vector is not None:
            self._means = catalog.note_vectors(fingerprint, chunk_ids)

    def vector(self, chunk_id: str) -> float | None:
        return _product(self._means.get(chunk_id), self._query)

    def lexical(self, chunk_id: str) -> float | None:
        score = self._bm25.scores.get(chunk_id)
        return None if score is None else score / self._bm25.best

    def share(self, stored: StoredChunk) -> float:
        """1 up to ``note_chunks`` chunks, then less: a long note is about many things."""
        return min(1.0, self._chunks / stored.note.chunk_count) if stored.note.chunk_count else 0.0


def _product(vector: Vector | None, query: Vector | None) -> float | None:
    if vector is None or query is None:
        return None
    return max(-1.0, min(1.0, float(vector @ query)))


def over_limit(candidates: Sequence[Candidate], limit: int = MAX_CANDIDATES) -> frozenset[str]:
    """Ids beyond the best ``limit`` by weighted vector score (notes-engine-rag.md, step 4)."""
    ranked = sorted(candidates, key=lambda c: (-c.weighted_vector, c.id))
    return frozenset(c.id for c in ranked[limit:])
