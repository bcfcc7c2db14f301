"""A question in the other languages that notes are in, word by word.

People who write in two languages ask in one of them. The bundled embedding model reads English
alone, so what leads from "¿cuándo caduca mi pasaporte?" to "passport: expires 2027" are the words
of every day (``words.txt``): their translations are looked for beside the words themselves, and
count nearly as them. A compound whose parts are in the list is translated by these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ragvault.model import Query, Wording
from ragvault.text import ENGLISH, stem, stopwords, tokens

LANGUAGES = ("en", "de", "es", "fr", "it", "pt", "nl")
# Of a question in the words' order alone: where notes in both languages answer it, those in its own
# come first (XQuAD, each note in four: full, and English questions lose .008 of the MRR). Texts in
# a language that the bundled model doesn't read are near each other, whatever they say.
_TRUST, _TRUST_UNREAD = 0.9, 0.8
_LEAST = 0.05  # of the notes, for a language that is asked in: fewer may be told wrongly
_COMPOUNDING = frozenset({"de", "nl"})
_SHORTEST = 4  # letters of a part
_LINKS = ("", "s", "es", "n", "en")  # between two parts

Sense = tuple[tuple[str, ...], ...]  # the words for it in each of LANGUAGES


def worded(query: Query, notes: Mapping[str, int]) -> tuple[Wording, ...]:
    """The question in each other language that a share of the ``notes`` (numbers by language) is
    in, where a word of it is known."""
    total = sum(notes.values())
    others = [name for name, n in notes.items() if n >= _LEAST * total and name != query.language]
    found = (_wording(query, name) for name in others if name in LANGUAGES)
    return tuple(wording for wording in found if wording.said)


def _wording(query: Query, language: str) -> Wording:
    said = {term: _said(term, query.language, language) for term in query.terms}
    whole = " ".join(stem(word, query.language) for word in tokens(query.text))
    for words in _senses(query.language):  # "washing machine" is "washing-machine"
        if " " in words and f" {words} " in f" {whole} ":
            meant, parts = _in(language, _senses(query.language)[words]), words.split()
            said |= {t: meant for t in query.terms if meant and stem(t, query.language) in parts}
    terms = (word for term in query.terms for word in said[term] or (term,))
    text = dict.fromkeys((said[term] or (term,))[0] for term in query.terms)
    return Wording(
        language,
        " ".join(text),
        tuple(dict.fromkeys(terms)),
        {term: words for term, words in said.items() if words},
        _TRUST if language == ENGLISH else _TRUST_UNREAD,
    )


def _said(word: str, language: str, other: str) -> tuple[str, ...]:
    """The word in the other language; () where it isn't known."""
    known = _senses(language)
    senses = known.get(stem(word, language), ())
    if not senses and language in _COMPOUNDING:
        senses = _parts(word, language)
    return _in(other, senses)


def _in(language: str, senses: Sequence[Sense]) -> tuple[str, ...]:
    """What says them. A small word there ("in" of "mother-in-law", the Dutch "was", which is
    laundry) stands in every note, and leads to none."""
    at = LANGUAGES.index(language)
    words = (token for sense in senses for said in sense[at] for token in tokens(said))
    return tuple(dict.fromkeys(word for word in words if word not in stopwords(language)))


def _parts(word: str, language: str) -> tuple[Sense, ...]:
    known = _senses(language)
    for end in range(len(word) - _SHORTEST, _SHORTEST - 1, -1):
        tail = known.get(stem(word[end:], language))
        for link in _LINKS if tail else ():
            head = known.get(stem(word[:end].removesuffix(link), language))
            if head and tail and word[:end].endswith(link):
                return (*head, *tail)
    return ()


@cache
def _senses(language: str) -> Mapping[str, Sequence[Sense]]:
    """What the stems of a language may mean."""
    found: dict[str, list[Sense]] = {}
    if language not in LANGUAGES:
        return found
    at = LANGUAGES.index(language)
    for sense in _listed():
        for word in sense[at]:
            stems = " ".join(stem(part, language) for part in tokens(word))
            senses = found.setdefault(stems, [])
            if sense not in senses:
                senses.append(sense)
    return found


@cache
def _listed() -> tuple[Sense, ...]:
    data = (Path(__file__).parent / "words.txt").read_text(encoding="utf-8")
    lines = (line.split("|") for line in data.splitlines() if not line.startswith("#"))
    return tuple(tuple(tuple(words.split()) for words in line) for line in lines)
