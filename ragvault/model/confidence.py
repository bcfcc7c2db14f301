"""How sure ragvault is: the confidence, its bands, and why there is no answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
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


def shown_confidence(confidence: float) -> str:
    """ "0.96" of 0.9557; but "0.39" of 0.397, which is in no higher band."""
    shown = round(confidence, 2)
    return f"{shown if Band.of(shown) is Band.of(confidence) else shown - 0.01:.2f}"


def sigmoid(logit: float) -> float:
    """1 / (1 + exp(−logit)), in 0..1 for any finite logit: of a confidence, and of a reranker."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    return math.exp(logit) / (1.0 + math.exp(logit))


@dataclass(frozen=True, slots=True)
class Judgement:
    """``confidence`` (0..1), made from ``features`` by the logistic of the name ``calibration``.
    ``topic`` (0..1): whether the notes treat of what is asked at all."""

    confidence: float
    topic: float
    features: Mapping[str, float]
    calibration: str
