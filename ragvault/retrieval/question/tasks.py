"""Whether a question asks for tasks, or for what is due: which ones, of when, about what.

"What do I still have to do for the kitchen?" is made of words that ask for tasks, and of what they
are about. The first are known in English, German, French and Spanish; what is left but for small
words is the second. A question for when, why or how asks for no list of tasks. Pure; linear in the
question.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from ragvault.model import TaskQuery
from ragvault.retrieval.question.timehints import due_period, find_hint
from ragvault.text import ENGLISH, stopwords, tokens

# Another kind of question: when, why, how; whether; what a task is.
_OTHER = (
    r"(?:when|why|where|how(?! many)|who(?:'s|se)?|(?:bis )?wann|warum|wieso|wo|wie(?! viele)|wer"
    r"|quand|pourquoi|comment|où|qui|cuándo|por qué|cómo|dónde|quién)\b"
    r"|(?:did|do|does|is|are|were|has|have|can|should|must)\b"
    r"(?! (?:there )?(?:i |we )?(?:have |got )?any| there tasks)"
    r"|(?:what(?:'s| is| are)|define|was (?:ist|sind)) (?:an? |eine? )?"
    r"(?:tasks?|to-?dos?|aufgaben?)(?: lists?)?\W*$"
)
_NOUN = (
    r"(?:to-?dos?|task)(?:[- ]?(?:list|item)s?)?\b|to do(?: list\b|:)|tasks?\b"
    r"|action (?:item|point)s?"
    r"|open (?:action|item|point|end|issue)s\b|errands\b|chores\b|deadlines\b"
    r"|(?:offenen? )?(?:aufgaben?(?:liste)?|to-?dos|erledigungen)\b|offenen? punkte\b"
    r"|tâches?\b|choses à faire\b|échéances\b|tareas?\b|pendientes?\b|cosas (?:por|que) hacer\b"
)
_MOST = 6  # words of what they are about; of more it is another question
_DO = r"(?:do|be done|get done|finish|complete)(?! to\b)"
_DO_DE = r"(?:tun|erledigen|machen)\b"
# The groups are kept: who is to do it, and what stands between the parts of a verb.
_OPEN = (
    r"(?:does |do )?((?:[\w'-]+ ){1,2}?)(?:still |yet )?(?:have|has|needs?|got) "
    rf"(?:still |left )?to (?:still )?{_DO}\b"
    rf"|(?:must|should|shall) ((?:[\w'-]+ ){{1,2}}?)(?:still )?{_DO}\b"
    rf"|(?:still|left|remains?|remaining|outstanding|yet|there) to {_DO}\b"
    r"|needs? (?:doing|to be done)\b"
    r"|(?:is|are|'s) (?:still|yet) (?:open|pending|outstanding|unfinished|to be done)\b"
    r"|(?:is|are|'s) (?:outstanding|pending|unfinished)\b|(?<=what )still (?:open|pending)\b"
    rf"|((?:muss|müssen|soll|sollen|sollte|habe|hat|haben)\b.*)(?: zu)? {_DO_DE}"
    rf"|((?:ist|bleibt|gibt es|sind)\b.*) zu {_DO_DE}"
    r"|((?:ist|sind)\b.*?) ?(?:noch )?(?:offen|unerledigt)\b|(steh(?:t|en)\b.*) an(?=\W*$)"
    r"|(?:dois(?:-je)?|reste(?:-t-il)?|devons(?:-nous)?|ai)(?: encore)?(?: à)? faire\b|à faire\b"
    r"|(?:tengo|tenemos|hay|debo|falta|queda) (?:que|por) hacer\b|por hacer\b"
)
_OVERDUE = (
    r"(?:overdue|überfällige?[nrs]?|en retard|vencid[oa]s?|atrasad[oa]s?)\b"
    r"|((?:ist|sind)\b.*)überfällig\b"
)
_DUE = (
    rf"{_OVERDUE}|(?:is |are |'s )?due\b(?! (?:to|diligence|process)\b)"
    r"|((?:ist|sind|wird|werden)\b.*)fällig\b|fällige?[nrs]?\b|vencen?\b"
)
_DONE = (
    r"(?:done|finish(?:ed)?|completed?|closed|ticked(?: off)?|checked off|erledigte?[nrs]?"
    r"|fertige?[nrs]?|abgehakte?[nrs]?|terminée?s?|finies?|faites?|hech[oa]s?|terminad[oa]s?"
    r"|completad[oa]s?)\b"
)
# What only frames it.
FRAME = frozenset(
    """list lists show give get find tell please all any every everything anything things thing
    stuff items item points mention mentions mentioning about regarding related concerning involving
    there still yet left open outstanding pending remaining remain remains unfinished current must
    currently now need needs due overdue task tasks todo todos next first many much number count
    today for have has got what which do does did been being already so far urgent else assigned
    coming upcoming up one ones about
    liste zeige zeig alle noch offen offene offenen fürs beim zum zur jetzt aktuell mal viele gibt
    de del la las los el du des le les der die das dem den bei für von im am que qu quelles quels
    montre toutes tous encore en cours reste ouvertes ouverte
    lista muestra todas todos queda quedan falta faltan aún todavía tengo cuáles""".split()
)


def task_query(question: str, now: datetime, language: str) -> TaskQuery | None:
    """None for another kind of question."""
    rest = question.replace("’", "'").strip(" ¿¡?.!")
    if _says(_OTHER, rest) == 0:
        return None
    has_noun, is_open = _says(_NOUN, rest) is not None, _says(_OPEN, rest) is not None
    by_due = _says(_DUE, rest) is not None
    if not (has_noun or by_due or is_open):
        return None
    done = has_noun and not is_open and _says(_DONE, rest) is not None
    period, phrase = _period(rest, now, done=done)
    rest = rest.replace(phrase, " ", 1) if phrase else rest
    for words in (_OPEN, _DUE, _NOUN, *[_DONE] * done):
        rest = re.sub(_whole(words), lambda m: f" {' '.join(filter(None, m.groups()))} ", rest)
    small = stopwords(language) | stopwords(ENGLISH) | FRAME
    about = tuple(dict.fromkeys(word for word in tokens(rest) if word not in small))
    return TaskQuery(done, period, about, by_due, has_noun) if len(about) <= _MOST else None


def _whole(words: str) -> str:
    return rf"(?i)\b(?:{words})"


def _says(words: str, text: str) -> int | None:
    """Where one of them stands first."""
    found = re.search(_whole(words), text)
    return found.start() if found else None


def _period(question: str, now: datetime, *, done: bool) -> tuple[tuple[date, date] | None, str]:
    """The days, and the words that name them."""
    if done:
        if (hint := find_hint(question, now)) is None:
            return None, ""
        days = [datetime.fromtimestamp(at, now.tzinfo).date() for at in (hint.since, hint.until)]
        return (days[0], days[1]), hint.phrase
    if _says(_OVERDUE, question) is not None:
        return (date.min, now.date() - timedelta(1)), ""
    found = due_period(question, now.date())
    return (found[:2], found[2]) if found else (None, "")
