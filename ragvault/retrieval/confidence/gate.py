"""Is there evidence to answer from? Pure: retrieval in, Evidence or Abstention out.

First the floors of notes-engine-rag.md ("Abstention"): nothing found, nothing above
``min_vector``, nothing above ``min_final``. Then the calibrated confidence
against ``gate.min_confidence``. Between that and the band "high" an answer carries a caveat
(disclosures-rag.md, "Confidence Thresholds"), and another one where the question names something
that no hit holds.
"""

from __future__ import annotations

from ragvault.config.settings import Settings
from ragvault.model import (
    AbstainReason,
    Abstention,
    Band,
    Evidence,
    GateOutcome,
    Hit,
    Intent,
    Retrieval,
    TimeHint,
)
from ragvault.retrieval.confidence.calibration import Calibration, in_force
from ragvault.retrieval.confidence.features import features_of
from ragvault.retrieval.confidence.named import unmentioned

NEAREST = 3
# That these are the newest notes is read from their dates, not guessed.
RECENT_CONFIDENCE = 0.9

_AMBIGUOUS = (
    "The question names nothing to look for. Say what it is about: a topic, a name or a date."
)
_NOTHING = "Your notes don't seem to hold anything about this."
_NO_SUCH_TIME = "None of your notes is of the time that you ask about."
_WEAK = "Your notes don't seem to answer this; the nearest ones only touch on it."
_MEDIUM = "The notes seem to answer this, but not beyond doubt; check the sources."
_LOOSE = "The notes only come near this question and may not answer it; check the sources."
_UNSURE = "It isn't certain that the notes answer this; check the sources."
_BY_BAND: dict[Band, tuple[str, ...]] = {
    Band.HIGH: (),
    Band.MEDIUM: (_MEDIUM,),
    Band.LOW: (_UNSURE,),
    Band.VERY_LOW: (_LOOSE,),
}


def decide(retrieval: Retrieval, settings: Settings, calibration: Calibration) -> GateOutcome:
    """Evidence when the notes seem to hold the answer, else an Abstention with the nearest notes.

    ``calibration`` is that of the embedding model; without vectors the one for keywords counts.
    """
    if retrieval.query.intent is Intent.AMBIGUOUS:
        return _abstain(retrieval, AbstainReason.AMBIGUOUS_QUESTION, 0.0, _AMBIGUOUS)
    if retrieval.strategy == "recent" and retrieval.kept:
        return Evidence(retrieval.kept, RECENT_CONFIDENCE)
    if retrieval.strategy == "recent":
        return _abstain(retrieval, AbstainReason.NO_RELEVANT_CONTEXT, 0.0, _NO_SUCH_TIME)
    kept = tuple(h for h in retrieval.kept if _above_floors(h, settings))
    if not kept:
        return _abstain(retrieval, AbstainReason.NO_RELEVANT_CONTEXT, 0.0, _NOTHING)
    confidence = in_force(calibration, retrieval).confidence(features_of(retrieval))
    if confidence < settings.gate.min_confidence:
        return _abstain(retrieval, AbstainReason.NO_RELEVANT_CONTEXT, confidence, _WEAK)
    return Evidence(kept, confidence, _caveats(retrieval, kept, confidence))


def _caveats(retrieval: Retrieval, kept: tuple[Hit, ...], confidence: float) -> tuple[str, ...]:
    caveats = _BY_BAND[Band.of(confidence)]
    hint = retrieval.query.time_hint
    if hint is not None and hint.relative and not any(_is_of(hit, hint) for hit in kept):
        caveats = (*caveats, f"None of these notes is of the time you asked about ({hint.phrase}).")
    missing = unmentioned(retrieval.query.text, kept)
    if missing:
        names = ", ".join(f"“{name}”" for name in missing)
        caveats = (*caveats, f"Nothing that was found mentions {names}.")
    return caveats


def _is_of(hit: Hit, hint: TimeHint) -> bool:
    return hint.since <= hit.note.date <= hint.until


def _above_floors(hit: Hit, settings: Settings) -> bool:
    """``min_vector`` spares what a keyword found, here as in the search."""
    by_keyword = bool(hit.scores.bm25)
    vector = hit.scores.vector
    near = vector is None or by_keyword or vector >= settings.retrieval.min_vector
    return near and hit.scores.blend >= settings.gate.min_final


def _abstain(
    retrieval: Retrieval, reason: AbstainReason, confidence: float, message: str
) -> Abstention:
    return Abstention(reason, confidence, message, nearest(retrieval), retrieval.searched)


def nearest(retrieval: Retrieval) -> tuple[Hit, ...]:
    """The best three hits, of different notes, whatever floor dropped them."""
    found: dict[tuple[str, str], Hit] = {}
    for hit in retrieval.hits:
        if hit.dropped_by != "duplicate":
            found.setdefault((hit.note.vault, hit.note.rel_path), hit)
    return tuple(list(found.values())[:NEAREST])
