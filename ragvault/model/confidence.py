"""How sure ragvault is: the confidence, its bands, and why there is no answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class AbstainReason(StrEnum):
    """Why there is no answer; the names are those of the JSON."""

    NO_RELEVANT_CONTEXT = "no_relevant_context"
    INSUFFICIENT_INFORMATION = "insufficient_information"
    AMBIGUOUS_QUESTION = "ambiguous_question"


class Band(StrEnum):
    """Bands of the confidence: at least 0.8, 0.6, 0.4, or below."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    VERY_LOW = "very_low"

    @classmethod
    def of(cls, confidence: float) -> Band:
        if confidence >= 0.8:
            return cls.HIGH
        if confidence >= 0.6:
            return cls.MEDIUM
        return cls.LOW if confidence >= 0.4 else cls.VERY_LOW


def sigmoid(logit: float) -> float:
    """1 / (1 + exp(−logit)), in 0..1 for any finite logit: of a confidence, and of a reranker."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    return math.exp(logit) / (1.0 + math.exp(logit))


@dataclass(frozen=True, slots=True)
class Factor:
    """``name``: "topic" (is it about this?) or "answered" (does it hold the answer?); its
    probability, 0..1, and the names of the features that it is made from."""

    name: str
    probability: float
    features: tuple[str, ...]
