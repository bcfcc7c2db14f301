"""What a question is about, less the words that only frame it.

"What did I write last week about the greenhouse?" looks for the greenhouse. No note says that its
writer wrote it, nor that it was last week: to the word search, and to the word-by-word look of
the gate, these words are some that find nothing. So both go without them. The vector search keeps
the whole question: a note whose title is the bare subject would else outrank those of that week.

Only whole frames go, and only where a subject is left. "What did I decide about the backend?"
keeps its words, and is compared as "decision about the backend": so notes put it. Pure; linear in
the question.
"""

from __future__ import annotations

import re

_I = r"(?:i|we)"
_NOTES = r"(?:(?:my|our|the|these|any)\s+)?(?:notes?|vault|journal|diary|files?|entries)"
_ABOUT = r"(?:about|on|of|regarding|concerning)"
_WROTE = (
    r"(?:writ(?:e|ten)|wrote|note[d]?|say|said|know|known|think|thought|learn(?:ed|t)?|read|"
    r"find|found|jot(?:ted)?|record(?:ed)?|mention(?:ed)?|have)"
)
_ALL = r"(?:everything|anything|something|all|more|stuff|things|notes?|entries)"

# Each ends where the subject begins.
_FRAMES = tuple(
    re.compile(rf"^{frame}\s+(?=\S)", re.IGNORECASE)
    for frame in (
        # What did I write about X? What have we learned on X? What do I know about X?
        rf"what\s+(?:all\s+)?(?:did|do|have|had|'ve)\s+{_I}\s+(?:ever\s+|already\s+)?{_WROTE}"
        rf"(?:\s+down|\s+out)?\s+{_ABOUT}",
        rf"what\s+{_I}\s+(?:ever\s+)?{_WROTE}(?:\s+down)?\s+{_ABOUT}",
        # What do my notes say about X? What does my journal tell me about X?
        rf"what\s+do(?:es)?\s+{_NOTES}\s+(?:say|tell(?:\s+me)?|contain|have|hold|mention)\s+{_ABOUT}",
        # What is (written) in my notes about X? What's there in the vault on X?
        rf"what(?:'s|\s+is|\s+was|\s+stands)\s+(?:there\s+)?(?:written\s+|noted\s+)?in\s+{_NOTES}"
        rf"\s+{_ABOUT}",
        # Is there anything about X? Do I have any notes on X? Have I got something about X?
        rf"(?:is|are)\s+there\s+(?:any\s+)?{_ALL}(?:\s+in\s+{_NOTES})?\s+{_ABOUT}",
        rf"(?:do|have)\s+{_I}\s+(?:have\s+|got\s+|written\s+)?(?:any\s+|an?\s+)?{_ALL}\s+{_ABOUT}",
        rf"did\s+{_I}\s+(?:ever\s+)?{_WROTE}\s+(?:{_ALL}\s+)?{_ABOUT}",
        # Show me everything about X. Find my notes on X. Tell me about X.
        rf"(?:please\s+)?(?:show|find|give|get|list)\s+(?:me\s+)?(?:all\s+)?(?:of\s+)?(?:my\s+|the\s+)?"
        rf"{_ALL}(?:\s+{_I}\s+(?:have\s+)?{_WROTE})?\s+{_ABOUT}",
        rf"(?:please\s+)?(?:tell|remind)\s+(?:me\s+)?(?:{_ALL}\s+)?{_ABOUT}",
        rf"(?:my\s+|all\s+)?(?:notes?|everything|anything)(?:\s+{_I}\s+{_WROTE})?\s+{_ABOUT}",
        # Where did I write about X? Which note mentions X? Which notes are about X?
        rf"(?:where|when)\s+(?:did|have|do)\s+{_I}\s+{_WROTE}(?:\s+down)?\s+{_ABOUT}",
        rf"(?:in\s+)?which\s+(?:of\s+my\s+)?(?:notes?|files?|entry|entries)\s+"
        rf"(?:mentions?|(?:is|are|talks?|says?\s+something)\s+{_ABOUT}|do\s+{_I}\s+{_WROTE}\s+{_ABOUT})",
        # Was habe ich über X geschrieben? Was steht in meinen Notizen zu X?
        r"was\s+(?:habe\s+ich|haben\s+wir)\s+(?:über|zu|zum|zur|von)",
        r"was\s+(?:weiß\s+ich|wissen\s+wir)\s+(?:über|von|zu|zum|zur)",
        r"was\s+(?:steht|sagen|sagt)\s+(?:in\s+)?(?:meinen?|unseren?|den|die)\s+notizen\s+"
        r"(?:über|zu|zum|zur|von)",
        # ¿Qué escribí sobre X? Qu'est-ce que j'ai écrit sur X ?
        r"¿?qué\s+(?:escrib[íi]|anot[ée]|s[ée]|dicen\s+mis\s+notas)\s+(?:sobre|de|acerca\s+de)",
        r"qu['’]est-ce\s+que\s+(?:j['’]ai\s+(?:écrit|noté)|je\s+sais|disent\s+mes\s+notes)\s+"
        r"(?:sur|de|à\s+propos\s+de)",
    )
)
_DECIDED = re.compile(
    rf"^what\s+(?:did|have|had|'ve)\s+{_I}\s+(?:finally\s+|already\s+)?decided?\s+"
    r"(?:about|on|for|regarding|concerning)\s+(?=\S)",
    re.IGNORECASE,
)
_OF_MINE = re.compile(
    r"\b(?:i|we|my|our|me|us|ich|wir|mein\w*|unser\w*|mich|yo|mis?|nuestr\w+|je|nous|mon|ma|mes|nos)\b",
    re.IGNORECASE,
)
_GERMAN_END = re.compile(
    r"\s+(?:geschrieben|notiert|gesagt|gelernt|aufgeschrieben)\s*\??\s*$", re.IGNORECASE
)
_IN_NOTES = re.compile(
    rf",?\s+(?:in|from|according\s+to)\s+(?:my|our)\s+{_NOTES}\s*(?=[?.!]*\s*$)", re.IGNORECASE
)
_SPACED_END = re.compile(r"\s+([?.!])")
_END = re.compile(r"[\s?？.!…]+$")


def subject_of(question: str, time_phrase: str | None = None) -> str:
    """The question without a frame, and, where it is about its asker, without ``time_phrase``, a
    time in relative words that it holds; as it is where nothing else would be left."""
    rest = _IN_NOTES.sub("", question)
    # "What did I do today?" names a day of the notes, "who is on the radio today?" a fact.
    if time_phrase and _OF_MINE.search(question):
        words = r"\s+".join(map(re.escape, time_phrase.split()))
        rest = re.sub(rf"\s*\b{words}\b", " ", rest, count=1, flags=re.IGNORECASE)
    rest = _SPACED_END.sub(r"\1", " ".join(rest.split()))
    for frame in _FRAMES:
        found = frame.match(rest)
        if found:
            unframed = _END.sub("", _GERMAN_END.sub("", rest[found.end() :]))
            return unframed or question
    return rest if re.search(r"\w", rest) else question


def as_noted(subject: str) -> str:
    """The subject in the words of a note, to be compared with notes: "decision about the backend"
    for "What did I decide about the backend?"."""
    decided = _DECIDED.match(subject)
    return f"decision about {_END.sub('', subject[decided.end() :])}" if decided else subject
