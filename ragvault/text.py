"""Text as the word search, the prompt and the terminal need it. Pure functions, no state.

The index side and the query side use the same functions, so that what is indexed is found.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import Stemmer

# Scripts written without spaces between words: Han, kana, bopomofo, Thai, Lao, Khmer, Myanmar;
# and Hangul, whose words carry endings. A run of them is indexed as overlapping bigrams.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3105-\u312f"
    "\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_UNSPACED_RUN = f"[{_UNSPACED}]+"  # compiled at its first use: such ranges take milliseconds
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_ARABIC_MARKS = re.compile("[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_ARABIC_LETTERS = str.maketrans(
    {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ؤ": "و", "ئ": "ي"}
)
_ARABIC_WORD = re.compile("[\u0620-\u064a\u066e-\u06d3]{4,}")
_ARABIC_PREFIX = re.compile("^(?:[وفبكل]?ال|لل)(?=..)")

# ECMA-48 sequences (CSI, OSC, DCS/SOS/PM/APC strings, two-byte escapes), in 7- and 8-bit form.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
# C0 and C1 controls but tab and newline, the bidirectional overrides that reorder a line, and what
# has no width and joins no letters: text can hide in tags, and a word be another between spaces.
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff"
    r"\U000e0000-\U000e007f]"
)

# The numbers of months, and of weekdays from 0, by their names: English, German, Spanish, French,
# Italian, Portuguese, Dutch.
_MONTH_WORDS = (
    "january jan janv januar jänner enero janvier gennaio janeiro januari",
    "february feb febr februar febrero février fevrier febbraio fevereiro februari",
    "march mar märz maerz mär mrz marzo mars março maart",
    "april apr abril avril aprile",
    "may mai mayo maggio maio mei",
    "june jun juni junio juin giugno junho",
    "july jul juli julio juillet luglio julho",
    "august aug agosto août aout augustus",
    "september sep sept septiembre septembre settembre setembro",
    "october oct oktober okt octubre octobre ottobre outubro",
    "november nov noviembre novembre novembro",
    "december dec dezember dez diciembre décembre dicembre dezembro",
)
MONTHS: dict[str, int] = {
    word: number for number, words in enumerate(_MONTH_WORDS, 1) for word in words.split()
}

_WEEKDAY_WORDS = (
    "monday montag lunes lundi lunedì segunda-feira maandag",
    "tuesday dienstag martes mardi martedì terça-feira dinsdag",
    "wednesday mittwoch miércoles mercredi mercoledì quarta-feira woensdag",
    "thursday donnerstag jueves jeudi giovedì quinta-feira donderdag",
    "friday freitag viernes vendredi venerdì sexta-feira vrijdag",
    "saturday samstag sonnabend sábado samedi sabato zaterdag",
    "sunday sonntag domingo dimanche domenica zondag",
)
WEEKDAYS: dict[str, int] = {
    word: number for number, words in enumerate(_WEEKDAY_WORDS) for word in words.split()
}


def strip_controls(text: str) -> str:
    """Without terminal escape sequences, control characters, bidi overrides and hidden text, for
    all that a note, a model or a file name puts on a terminal. Tabs stay; CR LF and lone CR become
    LF."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def one_line(name: str) -> str:
    """A file or section name without line breaks and control characters, which names can hold."""
    return " ".join(strip_controls(name).split())


def normalise(text: str) -> str:
    """NFKC, lower case, Arabic letters and marks folded: the form in which words are compared."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).lower()
    return _ARABIC_MARKS.sub("", text).translate(_ARABIC_LETTERS)


def index_text(text: str) -> str:
    """Text as FTS5 should tokenise it: normalised, unspaced scripts as bigrams."""

    def bigrams(match: re.Match[str]) -> str:
        run = match.group()
        return f" {' '.join(run[i : i + 2] for i in range(max(1, len(run) - 1)))} "

    text = normalise(text)
    if text.isascii():
        return text
    text = _ARABIC_WORD.sub(lambda m: _ARABIC_PREFIX.sub("", m.group()), text)
    return re.sub(_UNSPACED_RUN, bigrams, text)


# "don't", "Anna's": one word. Elsewhere the apostrophe parts two: "l'école", "dell'anno".
_SHORT_FORM = re.compile(r"(?<=\w)'(?=(?:s|t|re|ve|ll|d|m)\b)", re.IGNORECASE)


def tokens(text: str) -> list[str]:
    """The words of ``index_text(text)`` in order, stopwords included, apostrophes dropped."""
    text = text.replace("’", "'")
    return _WORD.findall(index_text(_SHORT_FORM.sub("", text) if "'" in text else text))


def words(text: str) -> list[str]:
    """Lower-cased words as a person would count them (unspaced runs whole), in order."""
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", normalise(text))


def is_unspaced(text: str) -> bool:
    """True when the text holds characters of a script that is written without spaces."""
    return re.search(_UNSPACED_RUN, text) is not None


# What is stemmed, by ISO 639-1: the names of Snowball's algorithms.
_ALGORITHMS = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian",
    "pt": "portuguese", "nl": "dutch", "ru": "russian",
}  # fmt: skip
ENGLISH = "en"
# Scripts that tell the language, or stand for those that are written in them.
_SCRIPTS = {
    "ja": "\u3041-\u30ff", "zh": "\u3400-\u4dbf\u4e00-\u9fff", "ru": "\u0400-\u04ff",
    "ko": "\u1100-\u11ff\uac00-\ud7ff", "ar": "\u0600-\u06ff", "el": "\u0370-\u03ff",
    "he": "\u0590-\u05ff", "hi": "\u0900-\u097f", "th": "\u0e00-\u0e7f",
}  # fmt: skip
_ANY_SCRIPT = f"[{''.join(_SCRIPTS.values())}]"
_LETTERS_OF = {"de": "äöüß", "es": "ñ¿¡", "fr": "êœëîûç", "pt": "ãõç", "it": "ìò"}
_LETTER = 0.5  # a word with such a letter counts for half of a stopword
_READ = 20_000  # characters from which a language is told
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@cache
def stopwords(language: str = ENGLISH) -> frozenset[str]:
    """Lower case, with and without their apostrophes; empty for a language without a list."""
    return _stopword_lists().get(language, frozenset())


@cache
def _stopword_lists() -> dict[str, frozenset[str]]:
    data = (Path(__file__).parent / "stopwords.txt").read_text(encoding="utf-8")
    lists: dict[str, set[str]] = {}
    language = ""
    for line in data.splitlines():
        if line.startswith("  "):
            words = line.replace("|", " ").split()
            lists[language].update(words, (word.replace("'", "") for word in words))
        elif not line.startswith("#"):
            language = line.rstrip(":")
            lists[language] = set()
    return {language: frozenset(words) for language, words in lists.items()}


@cache
def _evidence() -> dict[str, tuple[tuple[str, float], ...]]:
    """What a word tells: its languages, each with its share of 1."""
    found: dict[str, list[str]] = {}
    for language, words in _stopword_lists().items():
        for word in words:
            found.setdefault(word, []).append(language)
    return {w: tuple((name, 1 / len(names)) for name in names) for w, names in found.items()}


def language_of(text: str, expected: Sequence[str] = ()) -> str:
    """The language by its script, stopwords and letters, ISO 639-1; "" where nothing tells one.

    ``expected``, the likeliest first, decides where two are as likely; another language takes
    more than half a word then. Reads at most 20,000 characters.
    """
    text = text[:_READ].lower()
    if not text.isascii() and re.search(_ANY_SCRIPT, text):
        letters = sum(map(str.isalpha, text))
        for name, script in _SCRIPTS.items():
            # A Japanese text is mostly kana; a Chinese one has none.
            if 3 * len(re.findall(f"[{script}]", text)) > letters:
                return name
    scores: dict[str, float] = {}
    evidence = _evidence()
    text = text.replace("’", "'")
    said = Counter(re.findall(r"[^\W\d_]+(?:'(?:s|t|re|ve|ll|d|m)\b)?", text))
    for word in [word for word in said if word in evidence or not word.isascii()]:
        told = evidence.get(word) or [
            (name, _LETTER) for name, own in _LETTERS_OF.items() if set(own) & set(word)
        ]
        for name, share in told:
            scores[name] = scores.get(name, 0.0) + said[word] * share
    if expected:  # "die cast" is no German where no note is
        scores = {n: score for n, score in scores.items() if n in expected or score >= 1}
    rank = {name: len(expected) - place for place, name in enumerate(expected)}
    return max(scores, key=lambda name: (round(scores[name], 6), rank.get(name, 0)), default="")


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(_ALGORITHMS.get(language, _ALGORITHMS[ENGLISH]), 0)


@lru_cache(maxsize=1 << 16)
def stem(word: str, language: str = ENGLISH) -> str:
    """The stem of a token by Snowball's algorithm, diacritics folded. A word in Cyrillic letters
    is taken for Russian, one in Latin letters in a language that isn't known for English; other
    scripts stay as they are."""
    if word.isascii():
        return word if word.isdigit() else _stemmer(language).stemWord(word)
    if "\u0400" <= word[0] <= "\u04ff":
        language = "ru"
    return folded(_stemmer(language).stemWord(word))


def folded(word: str) -> str:
    """Without the marks on Latin letters; on others they make another letter."""
    if word.isascii() or word[0] >= "\u0370":
        return word
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def stems(text: str, language: str = ENGLISH) -> frozenset[str]:
    """The stems of the words in a text, ``camelCase`` and ``snake_case`` taken apart."""
    return frozenset(stem(token, language) for token in tokens(_CAMEL.sub(" ", text)))


_SENTENCE_END = re.compile(
    r"(?:[.!?…]+[\"'”’)\]]*(?=\s+|$)|[。！？｡؟۔]+[」』”’)]*)\s*|\n\s*\n\s*|\n(?=\s*(?:[-*+]|\d+[.)]|#|>|\|)\s)",
    re.UNICODE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dra?|prof|sra?|srta|dña|mmes?|mlle|fr|hr|sig|dott|jr|st|vs|etc|eg|ie|cf|vgl"
    r"|bzw|ca|approx|aprox|evtl|inkl|inc|ltd|co|dept|est|e\.g|i\.e|a\.m|p\.m|u\.s|z\.b|d\.h|u\.a)"
    r"|(?<!\w-)\b[A-Z])\.$",
    re.IGNORECASE,
)
_BEFORE_NUMBER = re.compile(  # "art. 5", "on Dec. 3"; without a number it may end a sentence
    r"\b(?:no|nr|núm|vol|fig|abb|art|[ck]ap|chap|ch|sect?|pp|p[aá]gs?|bd|abs|tel|janv?|ene|feb"
    r"|févr|m[aä]r|a[bpv]r|jun|jui?l|aug|ago|sept?|o[ck]t|nov|d[eé][cz]|dic)\.$",
    re.IGNORECASE,
)
_CLOSES = re.compile(r"\S*[)\]][ \t]*\n?[ \t]*")  # "(Zed, …) can read": the sentence goes on


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, trimmed of white space, in order. A blank line or the start of
    a list item, heading, quote or table row ends one too; abbreviations, initials,
    decimal points and the end of a bracket within a sentence don't."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match.end() <= start:
            continue
        head = text[max(start, match.start() - 12) : match.end()].rstrip()
        is_break = "\n" in match.group()
        if not is_break and text.startswith(">", match.end()):  # "Wait. > 15 rings the ward"
            continue
        if _CLOSES.fullmatch(match.group()) and text[match.end() : match.end() + 1].islower():
            continue
        if not is_break and head.endswith("."):
            following = text[match.end() : match.end() + 12].partition(" ")[0].lower()
            number = following[:1].isdigit() and _BEFORE_NUMBER.search(head)
            if number or _ABBREVIATION.search(head):
                continue
            if following in MONTHS and head[-2:-1].isdigit():  # "5. September"
                continue
        _append_trimmed(spans, text, start, match.end())
        start = match.end()
    _append_trimmed(spans, text, start, len(text))
    return spans


def _append_trimmed(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    if said := piece.strip():
        start += len(piece) - len(piece.lstrip())
        spans.append((start, start + len(said)))


# ``[label]: where-it-leads "title"`` as CommonMark has it, the target an address: "[Anna]: yes" is
# a line of a chat. A footnote ("[^1]: …") is text.
_LINK_DEFINITION = re.compile(
    r" {0,3}\[(?!\^)[^\[\]\n]+\]:[ \t]*"
    r"(?:<[^<>\n]*>|(?=\S*[/#:]|\S*\.\w|\S+[ \t]+[\"'(])[^\s<]\S*+)"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'.*'|\([^()\n]*\)))?[ \t]*"
)


def is_link_definition(line: str) -> bool:
    """The line says where a link of the note leads, and nothing else."""
    return _LINK_DEFINITION.fullmatch(line) is not None


def without_definitions(lines: Sequence[str]) -> int:
    """How many of the lines are left without the link definitions at their end, as editors write
    them below a note, and the blank lines around those. All, when nothing else is there."""
    end = last = len(lines)
    while last and (not lines[last - 1].strip() or is_link_definition(lines[last - 1])):
        last -= 1
        if is_link_definition(lines[last]):
            end = last
    while end and not lines[end - 1].strip():
        end -= 1
    return end or len(lines)


def snippet(text: str, max_length: int = 200) -> str:
    """The start of a text on one line (disclosures-rag.md, ``truncateSnippet``): cut after the last
    full stop when that is beyond 70 % of ``max_length``, else at the last word with an ellipsis."""
    text = " ".join(strip_controls(text).split())
    if len(text) <= max_length:
        return text
    cut = text[:max_length]
    stop = cut.rfind(".")
    if stop > max_length * 0.7:
        return cut[: stop + 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > max_length * 0.5 else cut).rstrip() + "…"
