"""Does a sentence say that the notes don't hold the answer? English, German, Spanish, French."""

from __future__ import annotations

import re

from ragvault.answering.check.support import content_words

_SOURCE = (
    r"(?:context|notes?|information|documents?|sources?|texts?|passages?|excerpts?|chunks?"
    r"|sections?|files?)"
)
_PATTERNS = (
    r"\bI (?:do not|don't|cannot|can't|can not|could not|couldn't|am unable to|am not able to"
    r"|was unable to|was not able to) (?:have|find|see|know|answer|determine|provide|tell|say"
    r"|locate|confirm|give)\b",
    rf"\b(?:the|your|this|these|provided|given|available|any)\b[\w\s'-]{{0,40}}\b{_SOURCE}\b"
    r"[\w\s,'-]{0,30}\b(?:does not|doesn't|do not|don't|did not|didn't) (?:\w+ )?(?:contain"
    r"|include|mention|provide|specify|say|state|have|give|discuss|cover|address|describe|explain"
    r"|answer|indicate|hold|offer|tell)\b",
    r"\b(?:they|it) (?:does not|doesn't|do not|don't) (?:\w+ )?(?:say|mention|specify|state)\b",
    rf"\b(?:there is|there's|there are|there was|contains?|has|have|provides?) (?:no|not enough"
    r"|not any|insufficient) (?:\w+ ){0,3}"
    rf"(?:information|mention|details?|data|answer|{_SOURCE})\b",
    r"\b(?:not|isn't|aren't|wasn't) (?:\w+ )?(?:mentioned|specified|provided|stated|included"
    rf"|available|discussed|covered|found|described|given|addressed) (?:\w+ ){{0,3}}"
    rf"(?:in|by|from)\b[\w\s]{{0,30}}\b{_SOURCE}\b",
    r"\b(?:not enough|insufficient|no relevant|lack of) (?:information|context|details?|data)\b",
    r"\b(?:unclear|not clear|impossible to (?:say|tell|determine)) from (?:the|your)\b",
    # German
    r"\bich (?:habe|verfüge über) (?:\w+ ){0,3}(?:nicht genügend|nicht genug|keine)\b",
    r"\b(?:nicht genügend|nicht genug|keine ausreichenden|unzureichende) (?:informationen|angaben)",
    r"\b(?:notizen|kontext|informationen|text)\b[\w\s,]{0,40}\b(?:enth\w+|erwähn\w+|nenn\w+|sag\w+"
    r"|geht)\b[\w\s,]{0,30}\b(?:nicht|keine?n?r?)\b",
    # Spanish
    r"\bno (?:tengo|dispongo de|hay|encuentro|encontré) (?:\w+ ){0,2}(?:suficiente|información)",
    r"\b(?:contexto|notas|información|texto)\b[\w\s,]{0,40}\bno (?:contiene|incluye|menciona"
    r"|proporciona|dice|especifica|mencionan|contienen|dicen|indica)\w*",
    # French
    r"\bje n(?:'ai|e dispose) pas (?:\w+ )?(?:d'|assez|suffisamment)",
    r"\b(?:contexte|notes|informations?|texte)\b[\w\s,]{0,40}\bne (?:contien|mention|fourni|précis"
    r"|di|indiqu|donn)\w* pas\b",
    r"\b(?:pas assez|pas suffisamment) d'informations?\b",
)
_UNCERTAIN = re.compile("|".join(f"(?:{p})" for p in _PATTERNS), re.IGNORECASE)
_CONTRAST = re.compile(
    r"[,;:–—]?\s*\b(?:but|however|although|though|while|yet|aber|jedoch|obwohl|pero|aunque|mais"
    r"|cependant|bien que)\b,?\s*|;\s*",
    re.IGNORECASE,
)
_MIN_SUBSTANCE = 3  # content words of a clause that claims something


def is_uncertain(sentence: str) -> bool:
    """True when the sentence admits that the answer isn't there, and claims nothing else.

    "The notes don't say when, but the backend is written in Go" claims something.
    """
    sentence = sentence.replace("’", "'")
    if not _UNCERTAIN.search(sentence):
        return False
    return not any(
        clause and not _UNCERTAIN.search(clause) and len(content_words(clause)) >= _MIN_SUBSTANCE
        for clause in _CONTRAST.split(sentence)
    )


def admits(text: str) -> bool:
    """True when any part of the text admits that something isn't there."""
    return bool(_UNCERTAIN.search(text.replace("’", "'")))
