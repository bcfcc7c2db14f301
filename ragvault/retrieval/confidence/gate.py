"""Is there evidence to answer from? Pure: what was found in, a judgement out.

What no floor of the search left standing is no evidence (notes-engine-rag.md, "Abstention").
Then the calibrated confidence is held against ``gate.min_confidence``. Between that and the band
"high" an answer carries a caveat (disclosures-rag.md, "Confidence Thresholds"), and another one
where the question names something that no hit holds: "Which year did we sell the Volvo?" over
notes that only know a Saab is best answered with the remark that nothing mentions a Volvo.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragvault import text
from ragvault.model import (
    AbstainReason,
    Abstention,
    Band,
    DroppedBy,
    Evidence,
    Findings,
    GateOutcome,
    Hit,
    Intent,
    Judgement,
    Strategy,
    TimeHint,
)
from ragvault.retrieval.confidence.calibration import Calibration, in_force
from ragvault.retrieval.confidence.features import features_of

NEAREST = 3
LEAST_TOPIC = 0.2  # below it the notes don't treat of what is asked
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


def judge(found: Findings, calibration: Calibration) -> Judgement:
    """Evidence when the notes seem to hold the answer, else an Abstention with the nearest notes.

    ``found`` is what a search for an answer found, with its floors. ``calibration`` is that of the
    embedding model; where it can't judge, the one for what there is counts.
    """
    used = in_force(calibration, found)
    features = features_of(found)
    confidence = used.confidence(features)
    factors = used.factors(features)
    by_scores = found.hits and found.strategy is not Strategy.RECENT
    return Judgement(
        outcome=_outcome(found, confidence, factors[0].probability),
        confidence=confidence,
        features=features,
        factors=factors if by_scores else (),
        calibration=used.name,
        by_model=used is calibration,
    )


def _outcome(found: Findings, confidence: float, topic: float) -> GateOutcome:
    if found.query.intent is Intent.AMBIGUOUS:
        return _abstain(found, AbstainReason.AMBIGUOUS_QUESTION, 0.0, _AMBIGUOUS)
    is_recent = found.strategy is Strategy.RECENT
    if not found.kept:
        message = _NO_SUCH_TIME if is_recent else _NOTHING
        return _abstain(found, AbstainReason.NO_RELEVANT_CONTEXT, 0.0, message)
    if is_recent:
        return Evidence(found.kept, RECENT_CONFIDENCE)
    if topic < LEAST_TOPIC:
        return _abstain(found, AbstainReason.NO_RELEVANT_CONTEXT, confidence, _WEAK)
    return Evidence(found.kept, confidence, _caveats(found, confidence))


def _caveats(found: Findings, confidence: float) -> tuple[str, ...]:
    caveats = _BY_BAND[Band.of(confidence)]
    hint = found.query.time_hint
    if hint is not None and hint.relative and not any(_is_of(hit, hint) for hit in found.kept):
        caveats = (*caveats, f"None of these notes is of the time you asked about ({hint.phrase}).")
    missing = unmentioned(found.query.text, found.kept)
    if missing:
        names = ", ".join(f"“{name}”" for name in missing)
        caveats = (*caveats, f"Nothing that was found mentions {names}.")
    return caveats


def _is_of(hit: Hit, hint: TimeHint) -> bool:
    return hint.since <= hit.note.date <= hint.until


def _abstain(found: Findings, reason: AbstainReason, confidence: float, message: str) -> Abstention:
    return Abstention(reason, confidence, message, nearest(found), found.searched)


def nearest(found: Findings) -> tuple[Hit, ...]:
    """The best three hits, of different notes, whatever floor dropped them."""
    by_note: dict[tuple[str, str], Hit] = {}
    for hit in found.hits:
        if hit.dropped_by is not DroppedBy.DUPLICATE:
            by_note.setdefault((hit.note.vault, hit.note.rel_path), hit)
    return tuple(list(by_note.values())[:NEAREST])


# --------------------------------------------------------------------------- what is named

_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]{2,60})[\"“”„«»]")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,:/-]\d+)*(?![\w])")
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*")
# Capitalised where a sentence begins or by custom, naming nothing that a note would have to hold.
_NOT_NAMES = frozenset(
    """i i'm i've i'll i'd what who when where why which how is are was were did do does can could
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december english german obsidian markdown""".split()
)
_MOST = 3  # remarks beyond that say nothing more


def unmentioned(question: str, hits: Sequence[Hit]) -> tuple[str, ...]:
    """The named things, as the question writes them, that occur in no hit: not in its text,
    headings, title, path, tags, nor the year, month or day of its note. At most three."""
    if not hits or text.is_unspaced(question):  # no capitals, no words to compare
        return ()
    held: set[str] = set()
    for hit in hits:
        places = (hit.note.title, hit.note.rel_path, *hit.note.aliases, *hit.note.tags)
        held |= text.stems(" ".join((*places, *hit.chunk.heading_path)))
        held |= text.stems(hit.chunk.text)
        if (day := hit.note.day) is not None:
            held |= {str(day.year), str(day.month), str(day.day)}
    quoted = [match.group(1).strip() for match in _QUOTED.finditer(question)]
    missing = [phrase for phrase in quoted if not all(_words_held(held, phrase))]
    # One word of a name is enough: notes say "Priya" where the question says "Priya Nair".
    named = _named(_QUOTED.sub(" ", question))
    missing += [name for name in named if not any(_words_held(held, name))]
    return tuple(dict.fromkeys(missing))[:_MOST]


def _named(rest: str) -> list[str]:
    found = [match.group() for match in _NUMBER.finditer(rest) if len(match.group()) > 1]
    # A title or a shouted question has a capital everywhere: it tells nothing.
    words = re.findall(r"[^\W\d_]{2,}", rest)
    if sum(word[0].isupper() for word in words) * 2 <= len(words):
        names = (re.sub(r"['’]s$", "", match.group()) for match in _NAME.finditer(rest))
        found += [name for name in names if name.lower() not in _NOT_NAMES]
    return found


def _words_held(held: set[str], name: str) -> list[bool]:
    return [text.stem(token) in held for token in text.tokens(name)]
