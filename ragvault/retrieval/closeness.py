"""A closer look at the best hits, before anything is answered from them.

One vector a chunk says what a passage is about, not whether it holds the answer: a question
about a boiler's make is near every note about the boiler. Two things tell more, for some tens of
milliseconds: the sentences one by one, and how well each word of the question finds its
counterpart (MaxSim of ColBERT, Khattab and Zaharia 2020, over the question's length). A question
whose answer isn't there mostly has a word that finds none, so the worst of them tells most:

    weakest = −1/β · ln( 1/|Q| · Σ_{q in Q} exp(−β · max_{p in P} cos(q, p)) ),  β = 10

a minimum that one token of many can't decide alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ragvault import text
from ragvault.model import Closeness, Hit, TokenMatch
from ragvault.ports import Embedder, TokenEmbedder

if TYPE_CHECKING:
    from ragvault.model import Matrix, Vector

LOOKED_AT = 3  # hits
SHARPNESS = 10.0  # β: 0 would be the mean, infinity the minimum
_SENTENCES = 16  # of each hit
_SENTENCE_CHARS = 400


def measure(question: str, hits: Sequence[Hit], embedder: Embedder) -> Closeness | None:
    """Look at the first ``LOOKED_AT`` hits; None for no hits.

    Costs a model run for each of their sentences and one for each hit: bounded, whatever the
    vault's size. Raises EmbedderUnavailableError.
    """
    hits = hits[:LOOKED_AT]
    if not hits:
        return None
    return Closeness(
        sentence=_best_sentence(question, hits, embedder),
        tokens=_best_match(question, hits, embedder)
        if isinstance(embedder, TokenEmbedder)
        else None,
    )


def _best_sentence(question: str, hits: Sequence[Hit], embedder: Embedder) -> float:
    sentences = list(dict.fromkeys(s for hit in hits for s in _sentences(hit.chunk.text)))
    if not sentences:
        return 0.0
    cosines = embedder.embed_documents(sentences) @ embedder.embed_query(question)
    return _unit(float(cosines.max()))


def _sentences(passage: str) -> list[str]:
    spans = islice(text.sentence_spans(passage), _SENTENCES)
    return [passage[start:end][:_SENTENCE_CHARS] for start, end in spans]


def _best_match(question: str, hits: Sequence[Hit], embedder: TokenEmbedder) -> TokenMatch:
    asked, *passages = embedder.embed_tokens([question, *(_passage(hit) for hit in hits)])
    matches = (token_match(asked, passage) for passage in passages)
    return max(matches, key=lambda match: match.mean)


def _passage(hit: Hit) -> str:
    """The chunk with its title, about as it was embedded."""
    return f"{hit.note.title}\n\n{hit.chunk.text}"


def token_match(asked: Matrix, passage: Matrix) -> TokenMatch:
    """``asked`` and ``passage`` have a unit row for each of their tokens."""
    if not len(asked) or not len(passage):
        return TokenMatch(0.0, 0.0, len(asked))
    best = (asked @ passage.T).max(axis=1)
    return TokenMatch(_unit(float(best.mean())), _unit(_soft_minimum(best)), len(asked))


def _soft_minimum(values: Vector) -> float:
    import numpy as np

    lowest = float(values.min())  # taken out first: exp can't overflow
    rest = np.exp(-SHARPNESS * (values - lowest)).mean()
    return lowest - float(np.log(rest)) / SHARPNESS


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
