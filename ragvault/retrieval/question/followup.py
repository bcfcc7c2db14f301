"""A question that can't stand alone, made whole with the turn before it.

It can't where it begins by going on ("and her birthday?", "was ist mit Tom?"), where a word stands
for something that it doesn't name ("when did he retire?", "wer hat es repariert?"), or where it
names nothing ("why?", "and in 2025?"). Then it gets the subject of the turn before: what that
question shares with the title of the note that answered it, else its names, else its words. A
question that names another of the same kind ("and Tom?") or another time takes its place in the
turn before. All else is left as it is. A large model may write it instead; what it adds of its own
isn't taken. Pure; linear in the questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from ragvault import text
from ragvault.model import Turn
from ragvault.retrieval.question.tasks import task_query
from ragvault.retrieval.question.timehints import due_period, find_hint
from ragvault.retrieval.question.wordlists import ASKING, TIME_WORDS, VAGUE

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_OWNED = re.compile(r"['’]s?(?=\s|$)")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_END = " ?.!"
_AS_LONG = 0.1  # of likeness, for as many words: "Simon Ade" is like "Clara Voss", not "Clara"
_MOST_NAMED = 4  # naming words; a question with more says what it is about

# By language: how a question goes on from another one.
_LEADS = {
    "en": r"(?:(?:ok(?:ay)?|and|but|so|or|also)[,\s]+)*(?:what|how)\s+about|(?:and|but|or|also)"
    r"(?:\s+(?:for|at|with|of))?",
    "de": r"(?:und\s+|aber\s+)?(?:was\s+ist|wie\s+ist\s+es|wie\s+sieht\s+es|wie\s+steht\s+es)\s+"
    r"(?:mit|bei)|(?:und|aber|oder|auch)(?:\s+(?:bei|für|mit|von))?",
    "fr": r"(?:et\s+)?qu['’]en\s+est-il\s+d(?:e|u|es)|(?:et|mais|ou)(?:\s+(?:pour|chez|avec))?",
    "es": r"(?:y\s+)?(?:qué\s+hay|qué\s+tal|qué\s+pasa)\s+(?:de|con)|(?:y|pero)"
    r"(?:\s+(?:para|con))?",
    "it": r"(?:e\s+)?(?:che\s+ne\s+è|cosa\s+mi\s+dici)\s+(?:di|del|della)|(?:e|ma)"
    r"(?:\s+(?:per|con))?",
    "pt": r"(?:e\s+)?quanto\s+(?:a|ao|à)|(?:e|mas)(?:\s+(?:para|com))?",
    "nl": r"(?:en\s+|maar\s+)?hoe\s+zit\s+het\s+met|(?:en|maar|of|ook)(?:\s+(?:voor|bij|met|van))?",
    "ru": r"(?:а|и|но)(?:\s+(?:как\s+насчёт|как\s+насчет|что\s+с|для|у))?",
}
_LEAD = {name: re.compile(rf"[¿¡\s]*(?:{lead})\s+(?=\S)", re.I) for name, lead in _LEADS.items()}


def _sets(**listed: str) -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in listed.items()}


# What stands for something: anywhere, and only where no word that it may belong to follows.
_PRONOUNS = _sets(
    en="he him his she her hers they them their theirs it its",
    de="er ihn ihm seine seinen seinem seiner seines sie ihr ihre ihren ihrem ihrer ihres es davon"
    " dafür damit daran darüber dazu darin daraus dort da",
    fr="il elle ils elles lui leur leurs son sa ses celui celle ceux celles cela ça",
    es="él ella ellos ellas su sus lo le eso esto aquello allí",
    it="lui lei loro suo sua suoi sue gli ciò lì",
    pt="ele ela eles elas dele dela deles delas seu sua seus suas isso isto aquilo nele nela lá",
    nl="hij zij ze hem haar hun ervan erover ermee erin daarvan daarover daarmee",
    ru="он она оно они его её ее их ему ей им нём нем ней них это там",
)
_AT_THE_END = _sets(
    en="this that these those there then",
    de="das die der den dem",
    fr="y",
    es="ese esa esos esas",
    it="quello quella questo questa là",
    pt="esse essa esses essas",
    nl="die dat daar het",
    ru="тот та те",
)
# "for guests?", "at what temperature?"
_FRAGMENT = re.compile(
    r"(?:for|at|with|on|in|from|by|to|für|bei|mit|von|auf|pour|chez|avec|para|con|per)"
    r"(?:\s+\S+){1,3}\s*",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:(?:which|the|that|this|first|second|third|last|next|other)\s+ones?\b"
    r"|(?:who|what|where|when|anything|anyone)\s+else\b|(?:wer|was|wo|wann)\s+(?:sonst\s+)?noch\b"
    r"|(?:quién|qué)\s+más\b|(?:chi|cos['’])\s*altro\b|(?:quem|que)\s+mais\b|(?:wie|wat)\s+nog\b"
    r"|(?:the\s+others?|(?:der|die|das|den|dem)\s+andere\w*|l['’]autre|les\s+autres|d['’]autre"
    r"|(?:el|la|los|las)\s+otr[oa]s?|l['’]altr[oa]|gli\s+altri|[oa]s?\s+outr[oa]s?|de\s+andere"
    r"|(?:for|of|about|with)\s+(?:it|them|h(?:er|im)))"
    r"(?=\W*$))",
    re.IGNORECASE,
)
# "Is it true that", "gibt es", "il y a": they stand for nothing.
_EXPLETIVE = re.compile(
    r"\bit\b(?=.*\b(?:to|that)\b)|\b(?:time|day|date)\s+is\s+it\b|\bil\s+(?:y\s+a|faut)\b"
    r"|\b(?:gibt|gab|geht)\s+es\b|\bes\s+(?:gibt|gab|geht)\b",
    re.IGNORECASE,
)
_EMPTY = frozenset({"it", "es", "il"})
_OF_ASKER = frozenset("i we you ich wir du je j'ai nous tu yo ik wij we eu io я мы".split())


class _Words:
    """A question's words: as they are written, lower-cased, and which of them name something; with
    ``ahead`` no time does that is to come."""

    def __init__(self, question: str, language: str, now: datetime, *, ahead: bool = True) -> None:
        self.question, self.language = question, language
        hint = find_hint(question, now)
        coming = due_period(question, now.date()) if ahead and not hint else None
        self.time = hint.phrase if hint else coming[2] if coming else ""
        self.written: list[str] = _WORD.findall(question)
        self.lower = [word.lower().replace("’", "'") for word in self.written]
        said = set(text.words(self.time))
        small = text.stopwords(language) | ASKING | VAGUE | TIME_WORDS | said
        small |= {year for year in self.lower if _YEAR.fullmatch(year)}
        small |= text.MONTHS.keys() if len(self.lower) == 1 else set()  # "may" is a month then
        small |= _PRONOUNS.get(language, frozenset())
        self.naming = [i for i, word in enumerate(self.lower) if word not in small]


Likeness = Callable[[str, Sequence[str]], Sequence[float]]


def whole(
    question: str,
    before: Turn,
    now: datetime,
    languages: Sequence[str] = (),
    *,
    likeness: Likeness | None = None,
    holds: Callable[[str], bool] = lambda _phrase: False,
) -> str:
    """What is to be searched for: the question itself where it can stand alone. ``likeness``
    compares a text with others in meaning, higher is more alike; ``holds``: whether the note that
    answered the turn before holds a phrase."""
    theirs = text.language_of(before.question, languages)
    language = text.language_of(question, [theirs, *languages])
    lead = _LEAD.get(language, _LEAD[text.ENGLISH]).match(question)
    rest = question[lead.end() :] if lead else question
    new, old = _Words(rest, language, now, ahead=bool(lead)), _Words(before.question, theirs, now)
    stands_for = _has_anaphor(new, language)
    is_part = bool(_FRAGMENT.fullmatch(question)) and len(new.naming) < 2
    if not (lead or stands_for or is_part or not new.naming) or len(new.naming) > _MOST_NAMED:
        return question
    if not (new.naming or lead or stands_for) and _OF_ASKER & set(new.lower):
        return question  # "what did I do yesterday?"
    if not new.naming and not stands_for and (time := _time_of(new)) and (then := _time_of(old)):
        return _replaced(before.question, then, _dated(time, then))
    if tasks := task_query(before.question, now, theirs) if lead else None:
        further = task_query(f"tasks {rest}", now, theirs)  # "the done ones" are about nothing
        if not tasks.words or (further and not further.words):
            return f"{before.question.rstrip(_END)} {rest}"
        old.naming = [i for i in old.naming if old.lower[i] in tasks.words]
    if not new.naming or (is_part and not stands_for):
        return f"{before.question.rstrip(_END)}: {rest}"
    subject = _subject(old, before.title)
    points_back = stands_for or new.lower[-1] in _AT_THE_END.get(language, ())
    if lead and not points_back and not ASKING & set(new.lower):
        start = [match.start() for match in _WORD.finditer(rest)][new.naming[0]]
        named = rest[start:].rstrip(_END)
        if owner := next((w for w in old.written if _OWNED.search(w) and _OWNED.search(named)), ""):
            return _replaced(before.question, _OWNED.sub("", owner), _OWNED.sub("", named))
        place = _most_like(named, old, subject, likeness)
        # What stands in the note that is called so is something of it, not another like it.
        if place and not (place in subject and holds(named)):
            return _replaced(before.question, place, named)
    known = {new.lower[i] for i in new.naming}
    # "It" may be anything in the question, and a person is called as the note is.
    runs = subject if not {"it", "es"} & set(new.lower) else []
    runs = runs or _runs(old, old.naming)
    carried = [run for run in runs if not known & set(run.lower().split())]
    body = rest.rstrip(_END)
    return f"{body} ({' '.join(carried)}){rest[len(body) :]}" if carried else rest


def _has_anaphor(words: _Words, language: str) -> bool:
    """Whether a word stands for what the question doesn't name before it."""
    if _OTHERS.search(words.question):
        return True
    pronouns, ends = _PRONOUNS.get(language, frozenset()), _AT_THE_END.get(language, frozenset())
    if _EXPLETIVE.search(words.question):
        pronouns -= _EMPTY
    named = 0  # what it may stand for: not "languages" of "which languages", "book" of "I book"
    for i, word in enumerate(words.lower):
        is_last = i == len(words.lower) - 1
        if not named and (word in pronouns or (word in ends and is_last)):
            return True
        is_verb = i > 0 and words.lower[i - 1] in ASKING | _OF_ASKER
        named += i in words.naming and not is_verb
    return False


def _time_of(words: _Words) -> str:
    """The time that the words name, as they name it; "" where they name none."""
    if words.time:
        return words.time
    if words.lower and words.lower[0] in text.MONTHS and not words.naming:
        return words.written[0]
    year = _YEAR.search(words.question)
    return year.group() if year else ""


def _subject(old: _Words, title: str) -> list[str]:
    """The runs of a question's words that its answer's note is called by, names whole."""
    called = text.stems(title)
    places = {i for i in old.naming if text.stems(old.written[i]) & called}
    for i in old.naming:
        is_name = i > 0 and old.written[i][0].isupper() and old.language != "de"
        if is_name and any(old.written[n][0].isupper() for n in places & {i - 1, i + 1}):
            places.add(i)
    return _runs(old, sorted(places))


def _runs(words: _Words, places: Sequence[int]) -> list[str]:
    """Words that stand side by side, together."""
    found: list[list[int]] = []
    for i in places:
        if found and found[-1][-1] == i - 1:
            found[-1].append(i)
        else:
            found.append([i])
    return [_OWNED.sub("", " ".join(words.written[i] for i in run)) for run in found]


def _most_like(named: str, old: _Words, subject: Sequence[str], likeness: Likeness | None) -> str:
    """What of the turn before is most like what is named now: what its note is called by, or
    another one to three words; "" without a way to tell."""
    if likeness is None:
        return ""
    called = {word for run in subject for word in run.split()}
    free = [i for i in old.naming if _OWNED.sub("", old.written[i]) not in called]
    runs = [*subject]
    for size in (1, 2, 3):
        spans = [free[k : k + size] for k in range(len(free) - size + 1)]
        runs += [run for span in spans if len(found := _runs(old, span)) == 1 for run in found]
    size = len(named.split())
    best, nearest = "", -1.0
    for run, score in zip(runs, likeness(named, runs) if runs else (), strict=True):
        if (near := score + _AS_LONG * (len(run.split()) == size)) > nearest:
            best, nearest = run, near
    return best


def _dated(time: str, before: str) -> str:
    """ "March" after "February 2024" is that year's."""
    year = _YEAR.search(before)
    is_month = bool(set(text.words(time)) & text.MONTHS.keys())
    return f"{time} {year.group()}" if year and is_month and not _YEAR.search(time) else time


def _replaced(question: str, place: str, by: str) -> str:
    pattern = r"[\W_]+".join(map(re.escape, place.split()))
    found = rf"\b{pattern}(['’]s)?(?!\w)"
    return re.sub(found, lambda match: by + (match[1] or ""), question, count=1, flags=re.I)


# --------------------------------------------------------------------------- by the model

REWRITE_TOKENS = 80
_REWRITE = """You complete questions. Here is a conversation:

{said}

Write the last question so that it can be understood alone: put the names in that it refers to. \
Keep its language and everything else. Reply with the question and nothing else.

Last question: {question}"""


def asked_to_complete(question: str, earlier: Sequence[Turn]) -> str:
    """What a model is asked, with the last three turns."""
    said = "\n".join(f"Question: {turn.question}\nAnswer: {turn.answer}" for turn in earlier[-3:])
    return _REWRITE.format(said=said, question=question)


def completed(reply: str, question: str, earlier: Sequence[Turn]) -> str:
    """The question that a model wrote; "" where it isn't one line, is long, or names what the
    conversation doesn't."""
    lines = [line.strip(" \"'“”*`") for line in text.strip_controls(reply).split("\n")]
    lines = [line for line in lines if line]
    if len(lines) != 1 or len(lines[0]) > len(question) + 200:
        return ""
    said = " ".join(
        [question, *(f"{turn.question} {turn.answer} {turn.title}" for turn in earlier)]
    )
    language = text.language_of(lines[0], [text.language_of(question)])
    small = {text.stem(word) for word in text.stopwords(language) | ASKING}
    return lines[0] if text.stems(lines[0]) <= text.stems(said) | small else ""
