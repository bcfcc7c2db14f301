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

_ZU = r"(?:über|zu[mr]?|vo[nm])"
_SOBRE = r"(?:sobre|acerca\s+del?|del?)"
_SUR = r"(?:sur|à\s+propos\s+de)"
_SU = r"(?:su(?:l|llo|lla|i|gli|lle)?|di|riguardo\s+a)"

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
        # Was habe ich mir zu X notiert? Was steht in meinen Notizen über X? Gibt es etwas zu X?
        rf"was\s+hab(?:e|en)?\s+(?:ich|wir)\s+(?:mir\s+|uns\s+)?(?:alles\s+|schon\s+)?{_ZU}",
        rf"was\s+(?:weiß\s+ich|wissen\s+wir)\s+(?:alles\s+|schon\s+)?{_ZU}",
        rf"was\s+(?:steht|sagen|sagt)\s+(?:in\s+)?(?:meinen?|unseren?|den|die)\s+notizen\s+{_ZU}",
        rf"(?:gibt\s+es|hab(?:e|en)?\s+(?:ich|wir))\s+(?:irgend)?(?:etwas|was|eine\s+notiz|notizen)"
        rf"\s+{_ZU}",
        rf"zeige?\s+(?:mir\s+)?(?:alles|alle\s+notizen|meine\s+notizen)\s+{_ZU}",
        # ¿Qué he escrito sobre X? ¿Hay algo sobre X? Muéstrame todo sobre X.
        rf"¿?qué\s+(?:he\s+escrito|he\s+anotado|tengo\s+anotado|escrib[íi]|anot[ée]|s[ée]"
        rf"|dicen\s+mis\s+notas)\s+{_SOBRE}",
        rf"¿?(?:hay|tengo)\s+(?:algo|alguna\s+nota|notas)\s+{_SOBRE}",
        rf"(?:muéstrame|dame)\s+(?:todo|mis\s+notas)\s+{_SOBRE}",
        # Qu'est-ce que j'ai écrit sur X ? Qu'ai-je noté sur X ? Que disent mes notes sur X ?
        rf"(?:qu['’]est-ce\s+que\s+(?:j['’]ai\s+(?:écrit|noté)|je\s+sais|disent\s+mes\s+notes)"
        rf"|qu['’]ai-je\s+(?:écrit|noté)|que\s+sais-je|que\s+disent\s+mes\s+notes)\s+{_SUR}",
        rf"(?:est-ce\s+qu['’]il\s+)?y\s+a-t-il\s+(?:quelque\s+chose|une\s+note|des\s+notes)\s+{_SUR}",
        rf"montre(?:-moi)?\s+(?:tout|mes\s+notes)\s+{_SUR}",
        # Cosa ho scritto su X? C'è qualcosa su X?
        rf"(?:che\s+)?cosa\s+(?:ho\s+(?:scritto|annotato)|so|dicono\s+le\s+mie\s+note)\s+{_SU}",
        rf"c['’]è\s+(?:qualcosa|una\s+nota)\s+{_SU}",
        # O que escrevi sobre X? Há algo sobre X?
        r"o\s+que\s+(?:eu\s+)?(?:escrevi|anotei|sei|dizem\s+(?:as\s+)?minhas\s+notas)\s+sobre",
        r"(?:há|tenho)\s+(?:algo|alguma\s+nota|notas)\s+sobre",
        # Wat heb ik over X geschreven? Wat staat er in mijn notities over X? Is er iets over X?
        r"wat\s+(?:heb|weet)\s+ik\s+(?:allemaal\s+)?(?:over|van)",
        r"wat\s+staat\s+er\s+in\s+mijn\s+notities\s+over",
        r"(?:is\s+er|heb\s+ik)\s+(?:iets|een\s+notitie|notities)\s+over",
    )
)
_DECIDED = re.compile(
    rf"^what\s+(?:did|have|had|'ve)\s+{_I}\s+(?:finally\s+|already\s+)?decided?\s+"
    r"(?:about|on|for|regarding|concerning)\s+(?=\S)",
    re.IGNORECASE,
)
_OF_MINE = re.compile(
    r"\b(?:i|we|my|our|me|us|ich|wir|mein\w*|unser\w*|mich|yo|mis?|nuestr\w+|je|nous|mon|ma|mes|nos"
    r"|io|mi[oae]|miei|noi|nostr\w+|eu|meus?|minhas?|noss\w+|ik|wij|mijn|onze)\b",
    re.IGNORECASE,
)
_VERB_END = re.compile(
    r"\s+(?:(?:auf)?geschrieben|notiert|gesagt|gelernt|(?:op)?geschreven|genoteerd|gezegd|geleerd)"
    r"\s*\??\s*$",
    re.IGNORECASE,
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
            unframed = _END.sub("", _VERB_END.sub("", rest[found.end() :]))
            return unframed or question
    return rest if re.search(r"\w", rest) else question


def as_noted(subject: str) -> str:
    """The subject in the words of a note, to be compared with notes: "decision about the backend"
    for "What did I decide about the backend?"."""
    decided = _DECIDED.match(subject)
    return f"decision about {_END.sub('', subject[decided.end() :])}" if decided else subject
