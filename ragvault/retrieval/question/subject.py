"""What a question is about, less the words that only frame it.

"What did I write last week about the greenhouse?" looks for the greenhouse. No note says that its
writer wrote it, nor that it was last week; and that "how many" wants a number says nothing of what
is counted. To the word search these words are some that find nothing, so it goes without them. The
vector search keeps the whole question: a note whose title is the bare subject would else outrank
those of that week.

Only whole frames go, and only where a subject is left: "What did I decide about the backend?" keeps
its words. Pure; linear in the question.
"""

from __future__ import annotations

import re
from collections.abc import Collection

# By language: the words that a frame is made of, those that tell of notes first, and what stands
# right before the subject. A word that tells may also be the verb at the question's end.
_FRAMES = (
    (
        "write written wrote note notes noted say said know known think thought learn learned"
        " learnt read find found jot jotted mention mentioned vault journal diary entry entries"
        " everything anything something all more stuff things tell remind",
        "what what's what've which where when did do does have had is are was stands there i we my"
        " our the these any a an in of me ever already down out got please show give get list"
        " contain hold talk talks says",
        "about on regarding concerning mention mentions",
    ),
    (
        "notiz notizen alles etwas irgendetwas irgendwas weiß wissen",
        "was hab habe haben ich wir mir uns schon steht sagen sagt in meine meinen unseren den die"
        " eine gibt es zeig zeige alle",
        "über zu zum zur von vom",
    ),
    (
        "escrito anotado escribí anoté sé nota notas algo todo",
        "qué he tengo dicen mis hay alguna muéstrame dame",
        "sobre acerca de del",
    ),
    (
        "écrit noté note notes sais sais-je quelque tout",
        "qu'est-ce qu'ai-je que j'ai je disent mes est-ce qu'il y a-t-il chose une des montre"
        " montre-moi à",
        "sur propos",
    ),
    (
        "scritto annotato so nota note qualcosa",
        "che cosa ho dicono le mie c'è una",
        "su sul sullo sulla sui sugli sulle di",
    ),
    ("escrevi anotei sei nota notas algo", "o que eu dizem as minhas há tenho alguma", "sobre"),
    ("notitie notities iets weet", "wat heb ik allemaal staat er in mijn is een", "over van"),
)
_OF = frozenset({"de", "del", "di"})  # right behind a noun they make one thing: "notas de cata"
_WORD = re.compile(r"(?:acerca|propos)\s+(?:del?|des|du)\b|[\w'’-]+", re.IGNORECASE)
_VERB_END = re.compile(
    r"\s+(?:(?:auf)?geschrieben|notiert|gesagt|gelernt|(?:op)?geschreven|genoteerd|gezegd|geleerd)"
    r"\s*\??\s*$",
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
    rest = next(filter(None, (_without(frame, rest) for frame in _FRAMES)), "") or rest
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


def _without(frame: tuple[str, str, str], question: str) -> str:
    """What follows the frame; "" where the question has none in this language."""
    telling, small, about = map(str.split, frame)
    without_verb = _VERB_END.sub("", question)
    is_telling = without_verb != question
    for before, match in enumerate(_WORD.finditer(without_verb)):
        word = match.group().lower().replace("’", "'").split()[0]
        if word in about and is_telling:
            if before == 1 and word in _OF:
                return ""
            return _END.sub("", without_verb[match.end() :]).strip()
        if word not in (*small, *telling):
            return ""
        is_telling = is_telling or word in telling
    return ""
