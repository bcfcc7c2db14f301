"""How sure: a few features of what was found, and two logistics that turn them into a confidence.

    confidence = σ(topic) · σ(answered),   each = intercept + Σ coefficient·feature

A note has to be about what was asked, and then hold the answer. They are two questions: what
tells a foreign subject (no word finds its like) says little about the boiler's make in a vault
full of boilers, where it is the one word that finds none. So each has features and questions of
its own to be fitted on, and the confidence is low where either is.

One set of coefficients for each embedding model, since cosines of two models are not on one
scale. disclosures-rag.md and notes-engine-rag.md take the (rank-weighted) mean of the scores as
the confidence; it is one feature here, and by itself the weakest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ragvault.model import Factor, Findings, Strategy, sigmoid
from ragvault.retrieval.confidence.features import MEASURED


@dataclass(frozen=True, slots=True)
class Logistic:
    """Named features (see ``features_of``) with their coefficients."""

    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float

    def __post_init__(self) -> None:
        if len(self.features) != len(self.coefficients):
            raise ValueError("one coefficient a feature")

    def probability(self, features: Mapping[str, float]) -> float:
        """0..1. Raises KeyError for a feature that is missing."""
        z = self.intercept + sum(
            weight * features[name]
            for name, weight in zip(self.features, self.coefficients, strict=True)
        )
        return sigmoid(z)


@dataclass(frozen=True, slots=True)
class Calibration:
    """``answered`` None: one logistic for both questions."""

    name: str
    topic: Logistic
    answered: Logistic | None = None

    @property
    def features(self) -> tuple[str, ...]:
        return (*self.topic.features, *(self.answered.features if self.answered else ()))

    def factors(self, features: Mapping[str, float]) -> tuple[Factor, ...]:
        """Each logistic's probability. Raises KeyError for a feature that is missing."""
        parts = (("topic", self.topic), ("answered", self.answered))
        return tuple(
            Factor(name, part.probability(features), part.features)
            for name, part in parts
            if part is not None
        )

    def confidence(self, features: Mapping[str, float]) -> float:
        """0..1, the product of the factors."""
        return math.prod(part.probability for part in self.factors(features))


# Fitted by tests/bench/fit_gate.py through the whole search, over ClapNQ, SciFact, XQuAD, Chroma's
# chunking set and the sample vault: questions that are answered there; on the topic but not
# answered (ClapNQ's and the sample's own, and of all sets those whose answering passages are taken
# out of what was found); and questions of the other sets. Coefficients are held at 0 or above.
# CHANGELOG.md has what it comes to.
MINILM = Calibration(
    "all-MiniLM-L6-v2",
    topic=Logistic(("tokens", "words"), (27.45, 4.74), -15.80),
    answered=Logistic(("weakest", "length"), (13.10, 3.59), -8.83),
)
# The same where there are no vectors of tokens (another backend), or nothing was looked at.
MINILM_CHUNKS = Calibration(
    "all-MiniLM-L6-v2, chunks only",
    topic=Logistic(("top_cosine", "coverage"), (18.81, 7.40), -10.75),
    answered=Logistic(("top_cosine", "gap_5"), (7.80, 1.96), -4.90),
)
# A model that nobody fitted: the same curves; its name says that they weren't made for it.
GENERIC = Calibration("generic", MINILM_CHUNKS.topic, MINILM_CHUNKS.answered)
# Without vectors: the same questions, less Chinese and Arabic.
KEYWORDS = Calibration(
    "keywords",
    topic=Logistic(("lexical_strength", "words"), (8.87, 8.82), -7.43),
    answered=Logistic(("lexical_strength", "coverage"), (1.07, 3.24), -2.64),
)
# A question that the model's vocabulary can't spell: XQuAD's Chinese and Arabic ones, of their own
# notes and of other sets'.
UNSPELLED = Calibration(
    "keywords, another script",
    topic=Logistic(("lexical_strength", "words"), (17.98, 28.10), -8.16),
    answered=Logistic(("lexical_strength",), (8.26,), -3.19),
)

_BY_MODEL = {"minilm-l6-v2": MINILM}
# Where the model can read less of the question, its cosines tell nothing.
LEAST_TRUST = 0.5


def for_model(name: str) -> Calibration:
    """The calibration of an embedding model, by its name or hub id."""
    lowered = name.lower()
    return next((found for key, found in _BY_MODEL.items() if key in lowered), GENERIC)


def in_force(calibration: Calibration, found: Findings) -> Calibration:
    """The one that this search can be judged by: ``calibration``, where its features could be
    measured; else the one for what there is."""
    if found.strategy is Strategy.KEYWORD_RECENCY:
        return KEYWORDS
    if found.vocabulary_trust < LEAST_TRUST:
        return UNSPELLED
    if found.closeness is not None or not set(MEASURED) & set(calibration.features):
        return calibration
    return MINILM_CHUNKS
