"""Text as the word search, the prompt and the terminal need it. Pure functions, no state.

The index side and the query side use the same functions, so that what is indexed is found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

# Scripts written without spaces between words: Han, kana, bopomofo, Thai, Lao, Khmer, Myanmar;
# and Hangul, whose words carry endings. A run of them is indexed as overlapping bigrams.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3105-\u312f"
    "\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
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
# C0 and C1 controls but tab and newline, and the bidirectional overrides that reorder a line.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# Their numbers by their names: English, German, Spanish, French.
_MONTH_WORDS = (
    "january jan januar jänner enero janvier",
    "february feb februar febrero février fevrier",
    "march mar märz maerz mär mrz marzo mars",
    "april apr abril avril",
    "may mai mayo",
    "june jun juni junio juin",
    "july jul juli julio juillet",
    "august aug agosto août aout",
    "september sep sept septiembre septembre",
    "october oct oktober okt octubre octobre",
    "november nov noviembre novembre",
    "december dec dezember dez diciembre décembre",
)
MONTHS: dict[str, int] = {
    word: number for number, words in enumerate(_MONTH_WORDS, 1) for word in words.split()
}

STOPWORDS = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because
    been before being below between both but by can can't cannot could couldn't d did didn't
    do does doesn't doing don't down during each few find for from further give had hadn't
    has hasn't have haven't having he her here hers herself him himself his how how's i i'd
    i'll i'm i've if in into is isn't it it's its itself just let's ll m me more most my
    myself no nor not now of off on once only or other ought our ours ourselves out over own
    please re s same shall she should shouldn't show so some such t tell than that that's
    the their theirs them themselves then there there's these they this those through to too
    under until up ve very was wasn't we we're we've were weren't what what's when where
    which while who who's whom why will with won't would wouldn't you you're your yours
    yourself
    """.split()
)


def strip_controls(text: str) -> str:
    """Remove terminal escape sequences, control characters and bidi overrides.

    Tabs and newlines stay; CR LF and lone CR become LF. For anything that a note, a model or a
    file name puts on a terminal.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def one_line(name: str) -> str:
    """A file or section name without line breaks and control characters, which names can hold."""
    return " ".join(strip_controls(name).split())


def normalise(text: str) -> str:
    """NFKC, lower case, Arabic letters and marks folded: the form in which words are compared."""
    text = unicodedata.normalize("NFKC", text).lower()
    return _ARABIC_MARKS.sub("", text).translate(_ARABIC_LETTERS)


def index_text(text: str) -> str:
    """Text as FTS5 should tokenise it: normalised, unspaced scripts as bigrams.

    A run of one character stays as it is. Linear in the text.
    """

    def bigrams(match: re.Match[str]) -> str:
        run = match.group()
        return f" {' '.join(run[i : i + 2] for i in range(max(1, len(run) - 1)))} "

    text = _ARABIC_WORD.sub(lambda m: _ARABIC_PREFIX.sub("", m.group()), normalise(text))
    return _UNSPACED_RUN.sub(bigrams, text)


def tokens(text: str) -> list[str]:
    """The words of ``index_text(text)`` in order, stopwords included, apostrophes dropped."""
    return _WORD.findall(index_text(text.replace("’", "'").replace("'", "")))


def words(text: str) -> list[str]:
    """Lower-cased words as a person would count them (unspaced runs whole), in order."""
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", normalise(text))


def is_unspaced(text: str) -> bool:
    """True when the text holds characters of a script that is written without spaces."""
    return _UNSPACED_RUN.search(text) is not None


# Where only presence counts, a few English endings do; FTS5 stems with Porter's algorithm.
_PLURAL = re.compile(r"(?<=[^s])e?s$")
_ENDINGS = re.compile(r"(?:ing|edly|ed|er|ly|ie|e|y|i)$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MIN_STEM = 3


def stem(word: str) -> str:
    """The word without a common English ending, at least three characters long."""
    for ending in (_PLURAL, _ENDINGS):
        cut = ending.sub("", word)
        word = cut if len(cut) >= _MIN_STEM else word
    return word


def stems(text: str) -> frozenset[str]:
    """The stems of the words in a text, ``camelCase`` and ``snake_case`` taken apart."""
    return frozenset(stem(token) for token in tokens(_CAMEL.sub(" ", text)))


def share_of(terms: Iterable[str], text: str) -> float:
    """How many of a query's terms occur in a text, 0..1; 0 without terms."""
    wanted = {stem(term) for term in terms}
    return len(wanted & stems(text)) / len(wanted) if wanted else 0.0


_SENTENCE_END = re.compile(
    r"(?:[.!?…]+[\"'”’)\]]*(?=\s+|$)|[。！？｡؟۔]+[」』”’)]*)\s*|\n\s*\n\s*|\n(?=\s*(?:[-*+]|\d+[.)]|#|>|\|)\s)",
    re.UNICODE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|sr|jr|st|vs|etc|eg|ie|cf|no|vol|fig|approx|inc|ltd|co|dept|est"
    r"|e\.g|i\.e|a\.m|p\.m|u\.s|z\.b|bzw|ca|nr)|\b[A-Z])\.$",
    re.IGNORECASE,
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, trimmed of white space, in order.

    A blank line or the start of a list item, heading, quote or table row ends one too. Common
    abbreviations, initials and decimal points don't.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match.end() <= start:
            continue
        head = text[start : match.end()].rstrip()
        is_break = "\n" in match.group()
        if not is_break and head.endswith(".") and _ABBREVIATION.search(head[-12:]):
            continue
        _append_trimmed(spans, text, start, match.end())
        start = match.end()
    _append_trimmed(spans, text, start, len(text))
    return spans


def _append_trimmed(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if end > start:
        spans.append((start, end))


_RUN_LENGTH = 64
_MAX_GRAPHEME = 40  # characters; Unicode's stream-safe text has at most 30 marks in a row


def grapheme_runs(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of runs of whole graphemes: 64 characters long, of a shorter text an eighth."""
    length = _RUN_LENGTH if len(text) > 2 * _RUN_LENGTH else max(1, len(text) // 8)
    start = 0
    while start < len(text):
        end = min(len(text), start + length)
        limit = min(len(text), end + _MAX_GRAPHEME)
        while end < limit and _joins(text, start, end):
            end += 1
        yield start, end
        start = end


def _joins(text: str, start: int, at: int) -> bool:
    """True when a cut before ``text[at]`` would tear a grapheme (UAX #29, in short).

    ``start`` is a place before it where a grapheme begins.
    """
    char, before = text[at], text[at - 1]
    if _is_flag_letter(char) and _is_flag_letter(before):
        letters = 1
        while at - letters - 1 >= start and _is_flag_letter(text[at - letters - 1]):
            letters += 1
        return letters % 2 == 1  # the second letter of a flag
    return (
        before == "\u200d"
        or char in "\u200d\ufe0e\ufe0f\u20e3"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\u1160" <= char <= "\u11ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or unicodedata.category(char) in ("Mn", "Mc", "Me")
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


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
    """The start of a text, for a list of sources (disclosures-rag.md, ``truncateSnippet``).

    Cut after the last full stop when that is beyond 70 % of ``max_length``, else at the last
    word with an ellipsis. White space is folded; control characters are removed.
    """
    text = " ".join(strip_controls(text).split())
    if len(text) <= max_length:
        return text
    cut = text[:max_length]
    stop = cut.rfind(".")
    if stop > max_length * 0.7:
        return cut[: stop + 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > max_length * 0.5 else cut).rstrip() + "…"
