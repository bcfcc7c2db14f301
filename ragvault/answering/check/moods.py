"""How something is said, beside its words: that it isn't so, not sure, not done.

A note plans, asks and remembers; an answer that states as a fact what its source only plans has
all the right words. English, German, Spanish and French, some Italian and Portuguese.
"""

from __future__ import annotations

import re

from ragvault.text import language_of

DENIED, LACKING, UNSURE, OPEN, PAST = "denied", "lacking", "unsure", "open", "past"

_FORMS = {
    DENIED: (
        r"\b(?:not|never|no(?!\.?\s*[\d:–|,])(?!\.:)|none|nobody|nothing|neither|cannot|without|nicht"
        r"|kein\w*|nie|niemand|nichts|weder|ohne|nunca|tampoco|ning[uú]n\w*|sin|jamais|aucun\w*|sans"
        r"|ne|pas|não|nem|non)\b|\bn['’](?=[aeiouyéè])|n['’]t\b"
    ),
    # Says no without such a word.
    LACKING: (
        r"\[ \]|\b(?:missing|lack\w*|fehl\w*|negativ\w*|cancel\w*|refus\w*|stop\w*|drop\w*"
        r"|former\w*|less|fewer|weniger|menos|moins|empty|leer|manqu\w*|falta\w*|instead|rather|statt"
        r"|hardly|kaum|un(?:paid|known|signed|finished|used|read|able|likely|available|resolved"
        r"|changed|done|bezahlt|bekannt|gültig|fertig|möglich|klar|benutzt)\w*)\b"
    ),
    UNSURE: (
        r"\?|\b(?:maybe|perhaps|probably|possibly|might|could|suspect\w*|apparently|guess\w*|likely"
        r"|seems?|unsure|vielleicht|wohl|vermutlich|möglicherweise|wahrscheinlich|könnte\w*"
        r"|verdacht\w*|peut-être|probable\w*|pourrait|quizás?|tal vez|podría|forse|talvez)\b"
    ),
    OPEN: (
        r"\[ \]|\b(?:plan\w*|will|wants?|wish\w*|going to|to do|todo|intend\w*|should|idea"
        r"|target|goal|quotes?|offer\w*|estimat\w*|yet|hopes?|due(?! to)|pending|if|open"
        r"|outstanding|consider(?!ed (?:one|to|as|an?)\b)\w*|geplant\w*|soll\w*|möchte\w*|wollen"
        r"|angebot\w*|fällig|falls|wenn|offen|überleg\w*|prévu\w*|veut|voudrait|devis"
        r"|encore|à faire|quiere\w*|pendiente\w*"
        r"|hay que|presupuesto|previst\w*|vorrebbe|ainda)\b"
    ),
    # Of a statement: as done.
    PAST: (
        r"\b(?:was|were|did|has(?! to)|have(?! to)|had|ran|got|went|came|bought|took|gave|kept"
        r"|made|led|old|(?<!\bbe )\w{2,}ed|already|hat|habt|haben|hast|wurden?|ge\w{3,}t|war\w*"
        r"|bereits|schon|été|a \w+[éiu]e?s?|déjà|ha|han|fue\w*|\w+ó|\w+aste|ya|è stat\w|já"
        r"|\w{2,}ou)\b"
    ),
}
_SAYS_NO = frozenset({DENIED, LACKING})


def moods(text: str) -> frozenset[str]:
    """Those of DENIED, LACKING, … that a word of the text tells."""
    if re.search(r"\bno\b", text) and language_of(text) == "pt":  # "in the"
        text = re.sub(r"\bno\b", " ", text)
    return frozenset(mood for mood in _FORMS if re.search(_FORMS[mood], text, re.IGNORECASE))


def is_opposite(said: frozenset[str], told: frozenset[str]) -> bool:
    """One of them says no and the other doesn't."""
    if DENIED in said:
        return not told & _SAYS_NO
    return DENIED in told and LACKING not in said


def not_said(said: frozenset[str], told: frozenset[str]) -> str:
    """Of what is told, the UNSURE or OPEN that a statement keeps back; "" for nothing."""
    if said & _SAYS_NO:
        return ""
    kept_back = told - said
    if UNSURE in kept_back:
        return UNSURE
    return OPEN if OPEN in kept_back and PAST in said else ""
