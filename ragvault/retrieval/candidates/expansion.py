"""Query expansion: what the chat model wrote (``assist``) is searched for like a question.

In whole vaults (or in the folders that limit the search) with the user's filter; the time that
the question names filters nothing here. It proposes candidates, and says by reciprocal rank how
much the lists agree (Cormack et al. 2009):

    rrf(c)   = Σ 1 / (10 + rank of c) over the lists that hold it, the blend's own among them
    final'   = final − w·(1 − rrf(c) / best rrf)·final

The summand is the score's term "expand" or "hyde", so the terms still add up. It is never above
0: a model's invention may change the order, but it can't lift anything over the floors. HyDE's
list is that of the mean of the question's vector and the passage's (Gao et al. 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragvault import text
from ragvault.errors import ModelError
from ragvault.model import Scope, Vector
from ragvault.retrieval.candidates.assist import EXPAND
from ragvault.retrieval.candidates.gather import Meaning, by_meaning, by_words
from ragvault.retrieval.context import Context
from ragvault.retrieval.ranking.blend import Candidate, best_first

RRF_K = 10  # 60 in the paper, for lists of 1,000; these have 15 to 50
WEIGHT = 0.3  # w: the most that a candidate loses that no list but the blend's holds
BLEND_DEPTH = 50  # of the blend's own list

# Lists of chunk ids, each best first, by the kind of expansion that found them.
Lists = Mapping[str, Sequence[tuple[str, ...]]]


def terms_of(variant: str) -> tuple[str, ...]:
    """A wording's tokens for the word search, each once, without stopwords."""
    tokens = dict.fromkeys(text.tokens(variant))
    return tuple(token for token in tokens if token not in text.stopwords()) or tuple(tokens)


# --------------------------------------------------------------------------- the search


def search_expansion(
    context: Context,
    written: Sequence[tuple[str, str]],
    meaning: Meaning,
    scopes: Sequence[Scope],
) -> dict[str, list[tuple[str, ...]]]:
    """What each kind found. Raises StoreError when the catalog fails."""
    where = [context.where]
    scopes = [scope for scope in scopes if scope.folders is None] or list(scopes)
    found: dict[str, list[tuple[str, ...]]] = {kind: [] for kind, _ in written}
    for kind, wording in written:
        if kind == EXPAND:
            found[kind].append(by_words(context, terms_of(wording), where))
    question = meaning.readable
    if not written or question is None:
        return found
    try:
        embedder = context.deps.embedder()
        for kind, wording in written:
            if kind == EXPAND:
                vector = embedder.embed_query(wording)
            else:
                vector = between(question, embedder.embed_documents([wording])[0])
            # One list for each scope: without the cosines their orders can't be merged.
            found[kind] += [by_meaning(context, meaning, vector, [s], where) for s in scopes]
    except ModelError as error:
        notice = f"The model's wordings were not searched by meaning: {error.message}"
        context.notices.append(notice)
    return found


def between(question: Vector, passage: Vector) -> Vector:
    """The unit vector in the middle of two; the question's where they are opposite."""
    middle = question + passage
    length = float((middle @ middle) ** 0.5)
    return question if length < 1e-6 else (middle / length).astype(question.dtype)


# --------------------------------------------------------------------------- the fusion


def apply(ranked: Sequence[Candidate], lists: Lists) -> Sequence[Candidate]:
    """The candidates with a term for each kind that found any, in their new order."""
    for kind, found in lists.items():
        if any(found):
            ranked = _fused(ranked, kind, found)
    return ranked


def _fused(
    ranked: Sequence[Candidate], kind: str, lists: Sequence[tuple[str, ...]]
) -> list[Candidate]:
    own = tuple(candidate.id for candidate in ranked[:BLEND_DEPTH])
    rrf: dict[str, float] = {}
    for found in (own, *lists):
        for rank, chunk_id in enumerate(dict.fromkeys(found), 1):
            rrf[chunk_id] = rrf.get(chunk_id, 0.0) + 1.0 / (RRF_K + rank)
    best = max((rrf.get(candidate.id, 0.0) for candidate in ranked), default=1.0)

    def with_term(candidate: Candidate) -> Candidate:
        loss = WEIGHT * (1.0 - rrf.get(candidate.id, 0.0) / best) * candidate.scores.final
        return candidate.scored((*candidate.scores.terms, (kind, -loss)))

    return best_first(map(with_term, ranked))
