"""The candidate pool: what either leg proposed, once each, with exact scores of both legs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragvault.model import Filter, Scope
from ragvault.ports import Catalog
from ragvault.retrieval.blend import Candidate
from ragvault.retrieval.scope import weight_of

if TYPE_CHECKING:
    from ragvault.model import Vector


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
) -> list[Candidate]:
    """The candidates in order of chunk id.

    Only chunks that are visible and pass the filter come through, whatever a leg proposed (a
    vector may outlive its chunk until the next ``index``). The cosine is computed here from the
    embedding cache and the BM25 asked for by id, so that both are exact for every candidate,
    also where its own leg was the other one. Linear in the candidates.
    """
    proposed = list(dict.fromkeys((*by_vector, *by_keyword)))
    allowed = sorted(catalog.matching(proposed, where)) if proposed else []
    stored = catalog.chunks(allowed)
    bm25 = catalog.lexical_scores(terms, allowed) if terms else {}
    vectors = catalog.vectors(fingerprint, allowed) if query_vector is not None else {}
    keyword_ids = set(by_keyword)
    candidates = []
    for chunk_id in allowed:
        chunk = stored.get(chunk_id)
        if chunk is None:  # it went between two reads: another process is indexing
            continue
        vector = vectors.get(chunk_id)
        cosine = None
        if vector is not None and query_vector is not None:
            cosine = max(-1.0, min(1.0, float(vector @ query_vector)))
        candidates.append(
            Candidate(
                stored=chunk,
                vector=cosine,
                bm25=bm25.get(chunk_id, 0.0),
                folder_weight=weight_of(chunk.note.vault, chunk.note.folder, scopes),
                by_keyword=chunk_id in keyword_ids,
            )
        )
    return candidates


def over_limit(candidates: Sequence[Candidate], limit: int) -> frozenset[str]:
    """Ids beyond the best ``limit`` by weighted vector score (notes-engine-rag.md, step 4)."""
    ranked = sorted(candidates, key=lambda c: (-c.weighted_vector, c.id))
    return frozenset(c.id for c in ranked[limit:])
