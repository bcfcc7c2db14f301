"""The gate's judgement of a retrieval, without an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragvault.model import GateOutcome, Retrieval
from ragvault.service.calibration import gate_calibration

if TYPE_CHECKING:
    from ragvault.wiring import Container


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the gate makes of a retrieval. ``confidence`` is the calibrated one, also where a
    floor decided before it; ``features`` are what it is made from (each in 0..1). ``by_model``:
    by the calibration of the embedding model, not by one for questions that it can't judge.
    ``factors``: the calibration's logistics, whose product the confidence is."""

    outcome: GateOutcome
    confidence: float
    features: dict[str, float]
    by_model: bool
    calibration: str = ""
    factors: tuple[Factor, ...] = ()


@dataclass(frozen=True, slots=True)
class Factor:
    """``name``: "topic" (is it about this?) or "answered" (does it hold the answer?); its
    probability, 0..1, and the names of the features that it is made from."""

    name: str
    probability: float
    features: tuple[str, ...]


def judge(container: Container, retrieval: Retrieval) -> Judgement:
    """Pure: the same retrieval and settings give the same judgement."""
    from ragvault.retrieval.confidence.calibration import in_force
    from ragvault.retrieval.confidence.features import features_of
    from ragvault.retrieval.confidence.gate import decide

    calibration = gate_calibration(container)
    outcome = decide(retrieval, container.settings, calibration)
    features = features_of(retrieval)
    used = in_force(calibration, retrieval)
    parts = (("topic", used.topic), ("answered", used.answered))
    return Judgement(
        outcome=outcome,
        confidence=used.confidence(features),
        features=features,
        by_model=used is calibration,
        calibration=used.name,
        factors=tuple(
            Factor(name, part.probability(features), part.features)
            for name, part in parts
            if part is not None
        ),
    )
