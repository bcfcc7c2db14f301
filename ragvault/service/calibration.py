"""How a passage's scores become a confidence: the calibration that is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragvault.errors import ConfigError, ModelError
from ragvault.model import Findings, Query, Strategy

if TYPE_CHECKING:
    from ragvault.config.settings import LogisticSettings
    from ragvault.retrieval.confidence.calibration import Calibration, Logistic
    from ragvault.wiring import Container


def embedding_model(container: Container) -> str:
    """The embedding model's name, as the calibration of the confidence is kept under it; "" when
    only a server knows it that can't be asked."""
    try:
        return container.embedder.model
    except ModelError:
        return ""


def built_in_calibration(container: Container) -> Calibration:
    """The one that came with ragvault for the embedding model."""
    from ragvault.retrieval.confidence.calibration import for_model

    return for_model(embedding_model(container))


def gate_calibration(container: Container) -> Calibration:
    """How the confidence is made: as ``gate.calibration`` says if that was fitted for today's
    embedding model, else as built in. Raises ConfigError for a feature that there isn't."""
    from ragvault.retrieval.confidence.calibration import Calibration
    from ragvault.retrieval.confidence.features import features_of

    model, own = embedding_model(container), container.settings.gate.calibration
    if own is None or own.model != model:
        return built_in_calibration(container)
    own_calibration = Calibration(
        f"own ({model})",
        _logistic(own.topic),
        None if own.answered is None else _logistic(own.answered),
    )
    known = features_of(Findings(Query("", (), ()), (), Strategy.NONE))
    unknown = [name for name in own_calibration.features if name not in known]
    if unknown:
        raise ConfigError(
            f"`gate.calibration` names the feature {unknown[0]!r}, which this ragvault hasn't got.",
            "Remove the block, then fit it again: `ragvault eval calibrate --apply`.",
        )
    return own_calibration


def _logistic(settings: LogisticSettings) -> Logistic:
    from ragvault.retrieval.confidence.calibration import Logistic

    return Logistic(settings.features, settings.coefficients, settings.intercept)
