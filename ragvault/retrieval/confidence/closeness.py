"""A closer look at the best hits, before anything is answered from them.

One vector a chunk says what a passage is about, not whether it holds the answer: a question
about a boiler's make is near every note about the boiler. How well each word of the question finds
its counterpart tells more, for some tens of milliseconds (MaxSim of ColBERT, Khattab and Zaharia
2020, over the question's length). A question whose answer isn't there mostly has a word that finds
none, so the worst of them tells most:

    weakest = −1/β · ln( 1/|Q| · Σ_{q in Q} exp(−β · max_{p in P} cos(q, p)) ),  β = 10

a minimum that one token of many can't decide alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragvault.model import Closeness, Hit
from ragvault.ports import Embedder, TokenEmbedder

if TYPE_CHECKING:
    from ragvault.model import Matrix, Vector

LOOKED_AT = 3  # hits
SHARPNESS = 10.0  # β: 0 would be the mean, infinity the minimum


def measure(question: str, hits: Sequence[Hit], embedder: Embedder) -> Closeness | None:
    """Look at the first ``LOOKED_AT`` hits; None for no hits, and for an embedder without vectors
    of tokens.

    Costs a model run for each of them: bounded, whatever the vault's size. Raises
    EmbedderUnavailableError.
    """
    hits = hits[:LOOKED_AT]
    if not hits or not isinstance(embedder, TokenEmbedder):
        return None
    asked, *passages = embedder.embed_tokens([question, *(_passage(hit) for hit in hits)])
    return max((closeness_of(asked, passage) for passage in passages), key=lambda c: c.mean)


def _passage(hit: Hit) -> str:
    """The chunk with its title, about as it was embedded."""
    return f"{hit.note.title}\n\n{hit.chunk.text}"


def closeness_of(asked: Matrix, passage: Matrix) -> Closeness:
    """``asked`` and ``passage`` have a unit row for each of their tokens."""
    if not len(asked) or not len(passage):
        return Closeness(0.0, 0.0, len(asked))
    best = (asked @ passage.T).max(axis=1)
    return Closeness(_unit(float(best.mean())), _unit(_soft_minimum(best)), len(asked))


def _soft_minimum(values: Vector) -> float:
    import numpy as np

    lowest = float(values.min())  # taken out first: exp can't overflow
    rest = np.exp(-SHARPNESS * (values - lowest)).mean()
    return lowest - float(np.log(rest)) / SHARPNESS


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
