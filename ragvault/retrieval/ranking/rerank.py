"""The place of a reranker: after the blend, before anything is dropped.

With none (the default) the order stays the blend's. With one, the best ``TOP`` candidates are
read again together with the question, and

    final = (1 − WEIGHT)·blend + WEIGHT·rerank

for them; for those below, which nobody read again, ``rerank`` counts as 0. Both summands are in
the score's ``terms``, so the explanation stays equal to what is sorted by. The floor and how near
the gate finds the passages go by cosines, which a reranker doesn't touch: it orders, it doesn't
refuse.

A reranker that can't be used, or that answers with anything but one score in 0..1 for each
passage, costs a notice and not the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragvault.errors import ModelError
from ragvault.model import StoredChunk, Timing
from ragvault.retrieval.context import Context
from ragvault.retrieval.ranking.blend import Candidate, best_first

TOP = 20  # passages that are read again
WEIGHT = 0.5  # of the reranker's score


def rerank(context: Context, ranked: Sequence[Candidate]) -> Sequence[Candidate]:
    reranker = context.deps.reranker
    if reranker is None or not ranked:
        return ranked
    texts = [passage_of(candidate.stored) for candidate in ranked[:TOP]]
    try:
        with context.timed(Timing.RERANK):
            fresh = reranker.rerank(context.query.text, texts)
    except ModelError as error:
        why = f"{error.message.rstrip('. ')}. {error.hint}"
        context.notices.append(f"Ranked without a reranker. {why}")
        return ranked
    if len(fresh) != len(texts) or not all(0.0 <= score <= 1.0 for score in fresh):  # NaN isn't
        why = f"{reranker.name} gave other than one score from 0 to 1 for each passage."
        context.notices.append(f"Ranked without a reranker. {why}")
        return ranked
    return best_first(
        _mixed(candidate, fresh[i] if i < len(fresh) else None)
        for i, candidate in enumerate(ranked)
    )


def passage_of(stored: StoredChunk) -> str:
    """What is read: the note's title and the headings that the text itself doesn't begin with,
    then the text, as the embedding model saw it when it was indexed."""
    chunk = stored.chunk
    shown = {line.strip(" #") for line in chunk.text.splitlines()[:8] if line.startswith("#")}
    above = [part for part in (stored.note.title, *chunk.heading_path) if part not in shown]
    return "\n".join((*dict.fromkeys(above), chunk.text))


def _mixed(candidate: Candidate, rerank_score: float | None) -> Candidate:
    terms = [(name, (1.0 - WEIGHT) * value) for name, value in candidate.scores.terms]
    if rerank_score is not None:
        terms.append(("rerank", WEIGHT * rerank_score))
    return candidate.scored(terms, replace(candidate.scores, rerank=rerank_score))
