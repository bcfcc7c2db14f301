"""A closer look at the best hits, before anything is answered from them.

One vector a chunk says what a passage is about, not whether it holds the answer: a question
about a boiler's make is near every note about the boiler. Two things tell more, for some tens of
milliseconds: the best single sentence, and how well each word of the question finds its
counterpart (MaxSim of ColBERT, Khattab and Zaharia 2020, over the question's length).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ragvault import text
from ragvault.model import Closeness, Hit
from ragvault.ports import Embedder, TokenEmbedder

if TYPE_CHECKING:
    from ragvault.model import Matrix

LOOKED_AT = 3  # hits
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
        tokens=_best_tokens(question, hits, embedder)
        if isinstance(embedder, TokenEmbedder)
        else None,
    )


def _best_sentence(question: str, hits: Sequence[Hit], embedder: Embedder) -> float:
    sentences = list(dict.fromkeys(s for hit in hits for s in _sentences(hit.chunk.text)))
    if not sentences:
        return 0.0
    cosines = embedder.embed_documents(sentences) @ embedder.embed_query(question)
    return max(0.0, float(cosines.max()))


def _sentences(passage: str) -> list[str]:
    spans = islice(text.sentence_spans(passage), _SENTENCES)
    return [passage[start:end][:_SENTENCE_CHARS] for start, end in spans]


def _best_tokens(question: str, hits: Sequence[Hit], embedder: TokenEmbedder) -> float:
    asked, *passages = embedder.embed_tokens([question, *(_passage(hit) for hit in hits)])
    return max((_mean_of_best(asked, passage) for passage in passages), default=0.0)


def _passage(hit: Hit) -> str:
    """The chunk with its title, about as it was embedded."""
    return f"{hit.note.title}\n\n{hit.chunk.text}"


def _mean_of_best(asked: Matrix, passage: Matrix) -> float:
    if not len(asked) or not len(passage):
        return 0.0
    return max(0.0, float((asked @ passage.T).max(axis=1).mean()))
