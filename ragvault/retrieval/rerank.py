"""The place of a reranker: after the blend, before anything is dropped.

With none (the default) the order stays the blend's. With one, the best ``top`` candidates are
read again together with the question, and

    final = (1 − weight)·blend + weight·rerank

for them; for those below, which nobody read again, ``rerank`` counts as 0. Both summands are in
the score's ``terms``, so the explanation stays equal to what is sorted by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragvault.model import Scores
from ragvault.ports import Reranker
from ragvault.retrieval.blend import Candidate


def rerank(
    question: str,
    ranked: Sequence[tuple[Candidate, Scores]],
    reranker: Reranker | None,
    *,
    top: int,
    weight: float,
) -> list[tuple[Candidate, Scores]]:
    """The candidates in their new order; equal scores in order of chunk id."""
    if reranker is None or not ranked or weight == 0:
        return list(ranked)
    texts = [candidate.stored.chunk.embed_text or candidate.stored.chunk.text
             for candidate, _ in ranked[:top]]  # fmt: skip
    fresh = reranker.rerank(question, texts)
    again = [
        (candidate, _mixed(scores, fresh[i] if i < len(fresh) else None, weight))
        for i, (candidate, scores) in enumerate(ranked)
    ]
    return sorted(again, key=lambda pair: (-pair[1].final, pair[0].id))


def _mixed(scores: Scores, rerank_score: float | None, weight: float) -> Scores:
    terms = [(name, (1.0 - weight) * value) for name, value in scores.terms]
    if rerank_score is not None:
        terms.append(("rerank", weight * rerank_score))
    return replace(
        scores,
        rerank=rerank_score,
        terms=tuple(terms),
        final=sum(value for _, value in terms),
    )
