"""What a question is about, less the words that only frame it.

"What did I write last week about the greenhouse?" looks for the greenhouse. No note says that its
writer wrote it, nor that it was last week; and that "how many" wants a number says nothing of what
is counted. To the word search these words are some that find nothing, so it goes without them. The
vector search keeps the whole question: a note whose title is the bare subject would else outrank
those of that week.

A frame is what a question begins with as long as its words are small ones or tell of notes, and one
tells of them: "What did I decide about the backend?" keeps its words. Pure; linear in the question.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ragvault.text import language_of, stopwords

_TELL = frozenset(
    """write written wrote note notes noted know known learn learned learnt jot jotted mention
    mentioned vault journal diary entry entries everything anything something read say says show
    tell remind list contain think thought
    notiz notizen alles etwas irgendetwas irgendwas weiß zeig zeige sagen
    escrito escribí anotado anoté notas algo sé dicen écrit noté sais disent
    scritto annotato so qualcosa escrevi anotei sei notities iets weet""".split()
)
_LEADS_ON = frozenset(
    """about on regarding concerning mention mentions über zu zum zur von vom sobre acerca de
    del sur propos su sul sullo sulla sui sugli sulle di over van""".split()
)
_OF = frozenset({"de", "del", "di"})  # right behind a noun they make one thing: "notas de cata"
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]{3,})*")  # "on-call" is one, "sais-je" two
_VERB_END = re.compile(
    r"\s+(?:(?:auf)?geschrieben|notiert|gelernt|(?:op)?geschreven|genoteerd|geleerd)\s*\??\s*$",
    re.IGNORECASE,
)
_OF_MINE = re.compile(
    r"\b(?:i|we|my|our|me|us|ich|wir|mein\w*|unser\w*|mich|yo|mis?|nuestr\w+|je|nous|mon|ma|mes|nos"
    r"|io|mi[oae]|miei|noi|nostr\w+|eu|meus?|minhas?|noss\w+|ik|wij|mijn|onze)\b",
    re.IGNORECASE,
)
_IN_NOTES = re.compile(
    r",?\s+(?:in|from|according\s+to)\s+(?:my|our)\s+(?:notes?|vault|journal|diary|files?|entries)"
    r"\s*(?=[?.!]*\s*$)",
    re.IGNORECASE,
)
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
# What leads to a name that goes: "in Foam".
_LEADS = r"(?:\b(?:in|of|for|with|by|on|from|to|at|de|du|en|em|con|mit|von|für|bei|dans|met)\s+)?"
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
    rest = _without_frame(rest) or rest
    rest = rest if re.search(r"\w", rest) else question
    bare = " ".join(_OF_FORM.sub(" ", rest).split())
    return bare if re.search(r"\w", bare) else rest


def without(question: str, names: Collection[str]) -> str:
    """The question without these words, and what leads to them."""
    words = "|".join(map(re.escape, names))
    bare = re.sub(
        rf"{_LEADS}(?<![\w-])(?:{words})(?![\w-])(?:['’]s)?", " ", question, flags=re.IGNORECASE
    )
    return _SPACED_END.sub(r"\1", " ".join(bare.split()))


def _without_frame(question: str) -> str:
    """What follows the frame; "" where there is none."""
    rest, small = _VERB_END.sub("", question), stopwords() | stopwords(language_of(question))
    is_telling, end = rest != question, 0
    for before, match in enumerate(_WORD.finditer(rest)):
        word = match.group().lower()
        if before == 1 and is_telling and word in _OF:
            return ""
        is_telling = is_telling or word in _TELL
        if is_telling and word in _LEADS_ON:
            end = match.end()
        elif end or (word not in small and word not in _TELL):
            break
    return _END.sub("", rest[end:]).strip() if end else ""
