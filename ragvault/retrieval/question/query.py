"""Query analysis: what a question names, when, how broadly, and whether it is one at all.

Pure: the same question and ``now`` give the same Query. After auroranotes-rag.md
(``analyzeQuery``: keywords and time hint) and sprint17-rag.md (intent detection). Linear in the
question, which is at most MAX_QUESTION_CHARS long.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime

from ragvault import text
from ragvault.errors import QuestionError
from ragvault.model import Breadth, Intent, Query, TimeHint
from ragvault.retrieval.question.tasks import task_query
from ragvault.retrieval.question.timehints import find_hint
from ragvault.retrieval.question.wordlists import (
    BROAD,
    GENERIC,
    GREETINGS,
    NARROW_START,
    RECENCY,
    SMALL_TALK_FILLERS,
    THANKS,
    TIME_WORDS,
    TOLD,
    VAGUE,
)

MAX_QUESTION_CHARS = 2000
LONG_QUESTION_WORDS = 25
SHORT_QUESTION_WORDS = 12


def analyse(
    question: str, now: datetime, languages: Sequence[str] = (), *, excludes: bool = False
) -> Query:
    """The question as the search stages need it. ``languages`` are those of the notes, of most
    of them first; with ``excludes`` a ``-word`` is one that no note found may hold. Raises
    QuestionError for one that is empty or too long."""
    typed = clean(question)
    cleaned, excluded = _without_excluded(typed) if excludes else (typed, ())
    likely = next(filter(None, languages), text.ENGLISH)
    language = text.language_of(cleaned, languages) or likely
    stopwords = text.stopwords(language)
    tasks = task_query(cleaned, now, language)
    hint = find_hint(cleaned, now)
    passing = hint if hint is not None and hint.relative else None
    return Query(
        text=cleaned,
        terms=_terms(_without_salutation(cleaned), passing, stopwords),
        intent=Intent.QUESTION if tasks else _intent(cleaned, hint, stopwords),
        breadth=_breadth(cleaned),
        time_hint=hint,
        recent_only=tasks is None and _is_recent_only(cleaned, hint, stopwords),
        language=language,
        phrases=tuple(dict.fromkeys(_quoted(match) for match in _PHRASE.finditer(cleaned))),
        excluded=excluded,
        typed=typed if cleaned != typed else "",
        tasks=tasks,
    )


def clean(question: str) -> str:
    """The question on one line without control characters; raises QuestionError."""
    cleaned = " ".join(text.strip_controls(question).split())
    if not cleaned:
        raise QuestionError("The question is empty.", 'Ask one: `ragvault ask "What did I …?"`')
    if len(cleaned) > MAX_QUESTION_CHARS:
        raise QuestionError(
            f"The question has {len(cleaned):,} characters; the limit is {MAX_QUESTION_CHARS:,}.",
            "Ask in a sentence or two.",
        )
    return cleaned


# In straight, English, German or French marks; 5" isn't one.
_PHRASE = re.compile(
    r"(?<![\w\"])(?:\"([^\"]*\w[^\"]*)\"(?!\w)|[“„]([^“”„]*\w[^“”„]*)[“”]|«([^«»]*\w[^«»]*)»)"
)
_EXCLUDED = re.compile(rf"(?<!\S)-(?:{_PHRASE.pattern}|([^\W\d_]\S*))")


def _quoted(match: re.Match[str]) -> str:
    return " ".join(next(filter(None, match.groups())).split())


def _without_excluded(question: str) -> tuple[str, tuple[str, ...]]:
    """The question without its ``-word`` and ``-"two words"``, and those."""
    excluded = tuple(dict.fromkeys(_quoted(match) for match in _EXCLUDED.finditer(question)))
    rest = " ".join(_EXCLUDED.sub(" ", question).split())
    if excluded and not re.search(r"\w", rest):
        raise QuestionError(
            "There are only words to leave out.", "Write what to look for beside them."
        )
    return rest, excluded


# What only says that a number or a name is asked for: "how many stitches", "the name of the lady".
_OF_FORM = re.compile(
    r"\b(?:how\s+(?:many|much|long|far|old|often|big|tall|high|deep|wide|heavy)"
    r"|(?:wie|hoe)\s+(?:viele?|vaak|oft|lange?|alt|oud|hoch|hoog|groß|groot|tief|schwer|weit)"
    r"|(?-i:names?|(?<!.)Names?)\s+of|name\s+(?:der|des|von)|nombres?\s+del?|noms?\s+d(?:e|u|es)"
    r"|nom[ei]\s+d(?:i|ei|egli|el(?:l[aoe])?)|nomes?\s+d[aeo]|heißen|heißt|hieß(?:en)?"
    r"|heet(?:te)?|se\s+llama(?:ba)?n?|s['’]appel(?:le|ait)"
    r"|si\s+chiama(?:va)?|se\s+chama(?:va)?|(?<!who )(?<!has )called(?=\W*$))(?!\w)",
    re.IGNORECASE,
)


def _without_salutation(question: str) -> str:
    """ "Hi, what did I …" without its "Hi,"."""
    head, mark, rest = question.partition(",")
    return rest if mark and rest.strip() and _small_talk(head) else question


def _content_words(question: str, stopwords: Collection[str]) -> list[str]:
    """Words without stopwords. IT, US, WHO stay: capitals say that a word isn't the stopword that
    it looks like, unless all of the question is in capitals."""
    shouting = question.isupper()
    found = []
    for word in re.findall(r"[^\W_]+(?:['’][^\W_]+)*", question):
        lowered = word.replace("’", "'").lower()
        if lowered not in stopwords or (len(word) > 1 and word.isupper() and not shouting):
            found.append(text.normalise(word))
    return found


def _terms(question: str, hint: TimeHint | None, stopwords: Collection[str]) -> tuple[str, ...]:
    """Tokens for the word search, each once ("What did I decide last week about the API?" gives
    decide, api).

    The words of a relative time ("yesterday", "week") and those for writing notes are left out when
    others remain: a note of that day doesn't say them, none says that its writer wrote it, and a
    rare one would outweigh what was asked. A date such as "March 2024" stays. Elisions split
    ("l'école" is indexed as l, école), and the single letter that they leave goes.
    """
    bare = _OF_FORM.sub(" ", question)
    words = _content_words(bare, stopwords) or _content_words(question, stopwords)
    words = words or text.words(question)
    framing = TOLD.union(text.words(hint.phrase) if hint is not None else ())
    subject = [word for word in words if word not in framing] or words
    found: list[str] = []
    for word in subject:
        parts = text.tokens(re.sub("['’]", " ", word))
        long = [part for part in parts if len(part) > 1 or len(parts) == 1]
        found += [part for part in long if len(parts) == 1 or part not in stopwords]
    return tuple(dict.fromkeys(found)) or tuple(dict.fromkeys(text.tokens(question)))


def _small_talk(question: str) -> Intent | None:
    """Greeting or thanks, when nothing else is said."""
    rest = f" {' '.join(text.words(question))} "
    kinds = []
    for intent, phrases in ((Intent.THANKS, THANKS), (Intent.GREETING, GREETINGS)):
        for phrase in phrases:  # longest first
            if f" {phrase} " in rest:
                kinds.append(intent)
                rest = rest.replace(f" {phrase} ", "  ")
    if kinds and not set(rest.split()) - SMALL_TALK_FILLERS:
        return kinds[0]
    return None


def _intent(question: str, hint: TimeHint | None, stopwords: Collection[str]) -> Intent:
    small_talk = _small_talk(question)
    if small_talk is not None:
        return small_talk
    if hint is None and not set(_content_words(question, stopwords)) - VAGUE:
        return Intent.AMBIGUOUS
    return Intent.QUESTION


def _breadth(question: str) -> Breadth:
    words = text.words(question)
    broad = bool(BROAD.intersection(words)) or len(re.findall(r"[?？؟]", question)) > 1
    if broad or len(words) > LONG_QUESTION_WORDS:
        return Breadth.BROAD
    lowered = " ".join(words)
    if len(words) <= SHORT_QUESTION_WORDS and lowered.startswith(NARROW_START):
        return Breadth.NARROW
    return Breadth.NORMAL


def _is_recent_only(question: str, hint: TimeHint | None, stopwords: Collection[str]) -> bool:
    """True for "what did I write recently?" and "my latest notes": a time, and no subject. A bare
    "2024" is a search for 2024."""
    words = set(_content_words(question, stopwords))
    asks_recent = bool(words & RECENCY)
    if not asks_recent and hint is None:
        return False
    temporal = set(text.words(hint.phrase)) if hint is not None else set()
    rest = words - temporal - GENERIC - RECENCY - TIME_WORDS
    subject = {part for word in rest for part in word.split("'")}.difference(stopwords)
    is_relative = hint is not None and hint.relative
    named = bool(set(text.words(question)) & GENERIC) or is_relative or asks_recent
    return not subject and named
