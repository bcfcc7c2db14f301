"""What stands inside Markdown's lines: ``#tags``, HTML, a heading's text without its
markup, whether a paragraph was wrapped, and whether a block says anything at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from ragvault.text import is_link_definition

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_HEADING_CHARS = 200
_MIN_WRAP = 45  # a paragraph that is narrower was not wrapped: its lines stand for themselves

INLINE_FIELD = re.compile(r"[ \t]*(?:[-*+][ \t]+)?[^\s:|][^:\n|]{0,60}?::(?:[ \t]|$)")

_WIKILINK = re.compile(r"!?\[\[([^\[\]\n]{1,500})\]\]")
_LINK_TARGET = re.compile(r"\]\(\s*(?:<[^<>\n]{1,2000}>|(?:[^\s()]|\([^\s()]{0,500}\)){1,2000})")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s<>]+|\bwww\.[^\s<>]+", re.IGNORECASE)
CODE_SPAN = re.compile(r"(?<!`)(`++)(?!`)(?:.+?)(?<!`)\1(?!`)", re.DOTALL)
_TAG = re.compile(
    r"(?:(?<=[\s(（,，、。;|>])|^)#"
    r"([^\s\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f"
    r"'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]{1,200})",
    re.MULTILINE,
)
_NOT_BREAK = re.compile(r"[^\n]")
_BLANK_LINES = re.compile(r"\n[ \t]*\n")
_BLOCK_ID = re.compile(r"\s\^[A-Za-z0-9-]{1,64}$")
_MARKUP = re.compile(r"[*_`\[<&\\~=!]")
_HIGHLIGHT = re.compile(r"(==|~~|%%)(?=\S)([^\n]*?\S)\1")

_WORD = re.compile(r"\w")
_LONGEST_EMPTY = 4_000  # characters: what says nothing is short, and so is the look at it
_HTML_TAG = re.compile(r"<!--.*?-->|</?[a-z][^<>]*>", re.DOTALL | re.IGNORECASE)
# Of HTML and MDX; "<name>" as a program's usage has it and "List<String>" are text.
_MARKUP_TAG = re.compile(
    r"(?P<code>(?<!`)(`++)[^`].*?(?<!`)\2(?!`))|</[a-z][\w.-]*\s*>"
    r"|</?(?:a|b|br|button|center|details|div|em|font|h[1-6]|hr|i|iframe|img|kbd|li|mark|nav|ol|p"
    r"|picture|small|source|span|strong|sub|summary|sup|svg|table|tbody|td|th|thead|tr|u|ul|video)"
    r"(?:\s[^<>]{0,2000})?/?>"
    r"|(?<!\w)<(?:[a-z][\w.-]*\s[^<>]{0,2000}=[^<>]{0,2000}|[a-z][\w.-]*\s*/|(?-i:[A-Z])[\w.-]*)>",
    re.DOTALL | re.IGNORECASE,
)
# Where a cut went through a tag.
_TORN_TAG = re.compile(
    r"\A[^<>\n]*=[\"'][^<>\n]*>|</?(?:[a-z]+(?:\s[^<>\n]*=[\"'][^<>\n]*)?)?\Z", re.IGNORECASE
)
# Lines of HTML that are drawn, not read.
_DRAWN_HTML = re.compile(
    r"</?(?:t[dhr]|t?body|table|thead|nav|svg|iframe|script|style|button)\b", re.IGNORECASE
)
_ALT = re.compile(r"\balt\s*=\s*[\"']([^\"'<>]*)", re.IGNORECASE)
_EMBED = re.compile(r"!\[\[[^\[\]\n]*\]\]")
_IMAGE = re.compile(r"!\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_LINKED_IMAGE = re.compile(r"\[\s*\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_ANY_LINK = re.compile(
    r"!?\[\[[^\[\]\n]*\]\]|!?\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*+\]"
    r"(?:\([^()\n]*\)|\[[^\[\]\n]*\])|<?\bhttps?://\S+|<a\s[^<>\n]*>[^<>\n]*</a>|<[^<>\n]+>"
)
_SEE = re.compile(r"\b(?:see|read|siehe|vgl|voir|véase|vedi|veja|zie)\W*$", re.IGNORECASE)
_SEE_FOR_MORE = re.compile(
    r"\W*(?:(?:see|read|check out|refer to)\b.{1,80}\bfor (?:more|further|all|the|an?)\b.*"
    r"|(?:h/t|via|source|credits?)\b:?.{1,60})$",
    re.IGNORECASE,
)
_POINTING = frozenset(
    "see also examples example e g more at and or the in for here read related notes pages links up"
    " back to home parent next previous prev siehe auch verwandt verwandte zurück zu weiter voir"
    " aussi retour à précédent suivant ver véase también relacionado volver anterior siguiente vedi"
    " anche veja também zie ook terug naar".split()
)
_MAX_POINTING = 20  # words of a sentence that ends with "see" and a link
_DESCRIBED = 3  # words: an image's text of so many says what is on it


def without_html(text: str, *, drawn: bool = True) -> str:
    """As long as the text, with spaces where tags and comments are; code stays. A tag that a cut
    tore in two goes, too, and without ``drawn`` what is drawn more than written: lines of tables,
    navigation, buttons."""

    def blank(match: re.Match[str]) -> str:
        return _NOT_BREAK.sub(" ", match[0])

    if "<" not in text and ">" not in text:
        return text
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start) + 3) > 3:
        text = text[:start] + _NOT_BREAK.sub(" ", text[start:end]) + text[end:]
        at = end
    text = _TORN_TAG.sub(blank, text)
    if not drawn and _DRAWN_HTML.search(text):
        lines = ((line, CODE_SPAN.sub("", line)) for line in text.split("\n"))
        text = "\n".join(
            " " * len(line) if _DRAWN_HTML.search(read) else line for line, read in lines
        )
    return _MARKUP_TAG.sub(lambda m: m[0] if m["code"] else blank(m), text)


def heading_text(source: str) -> str:
    """A heading as a reader sees it, in one line of at most ``MAX_HEADING_CHARS``.

    Emphasis, code marks, links (their text stays), HTML tags and a block id (``^abc``) go.
    """
    text = _BLOCK_ID.sub("", source[: 4 * MAX_HEADING_CHARS].rstrip())
    if _MARKUP.search(text):
        text = plain_links(text)
        tokens = _inline().parseInline(text)
        text = "".join(_plain(tokens))
        text = _HIGHLIGHT.sub(r"\2", text)
    text = " ".join(text.split())
    if len(text) > MAX_HEADING_CHARS:
        text = text[: MAX_HEADING_CHARS - 1].rstrip() + "…"
    return text


def plain_links(text: str) -> str:
    """``[[note|alias]]`` as ``alias``, ``[[note]]`` as ``note``."""
    if "[[" not in text:
        return text
    return _WIKILINK.sub(lambda m: m.group(1).rpartition("|")[2].strip("\\ "), text)


def _plain(tokens: Iterable[Token]) -> Iterable[str]:
    for token in tokens:
        if token.children:
            yield from _plain(token.children)
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type in ("text", "code_inline", "text_special", "image"):
            yield token.content


@cache
def _inline() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": 20})


def inline_tags(lines: Sequence[str], start: int, code_lines: frozenset[int]) -> list[str]:
    """The tags in ``lines[start:]``, without ``#``, in order of appearance, code left out.

    Linear in the text, but for unclosed backticks, which cost at most the square root of a
    paragraph's length more.
    """
    body = enumerate(lines[start:], start)
    text = "\n".join("" if i in code_lines else line for i, line in body)
    if "#" not in text:
        return []
    if "`" in text:
        parts = _BLANK_LINES.split(text)
        text = "\n\n".join(CODE_SPAN.sub("` `", part) for part in parts)
    if "[" in text:
        text = _LINK_TARGET.sub("](", _WIKILINK.sub(" ", text))
    tags = (clean_tag(match[1]) for match in _TAG.finditer(_URL.sub(" ", text)))
    return [tag for tag in tags if tag]


def clean_tag(tag: str) -> str:
    """A tag without ``#`` and stray slashes, or "" when it is none (numbers alone are not)."""
    tag = tag.strip().lstrip("#").strip("/")
    has_name = any(not (c.isdigit() or c in "/-_") for c in tag)
    return tag if has_name else ""


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """Without repeats, whatever their case; the first spelling stays."""
    seen: dict[str, str] = {}
    for value in values:
        seen.setdefault(value.casefold(), value)
    return tuple(seen.values())


def says_nothing(text: str) -> bool:
    """No word but link definitions, embeds, HTML without text, and images that nobody described.

    Such a block is kept with the text beside it: alone it would be found by the words of its
    addresses, and could be quoted for nothing. Linear in at most ``_LONGEST_EMPTY`` characters.
    """
    if _WORD.search(text) is None:
        return True
    if len(text) > _LONGEST_EMPTY:
        return all(not line.strip() or is_link_definition(line) for line in text.split("\n"))
    rest = _IMAGE.sub(_image_text, _EMBED.sub("", _HTML_TAG.sub(_tag_text, text)))
    rest = _LINKED_IMAGE.sub("", rest)
    return not any(_WORD.search(line) and not is_link_definition(line) for line in rest.split("\n"))


def _image_text(match: re.Match[str]) -> str:
    return match[1] if len(match[1].split()) >= _DESCRIBED else ""


def _tag_text(match: re.Match[str]) -> str:
    alt = _ALT.search(match[0])
    return _image_text(alt) if alt and not match[0].startswith("<!--") else ""


def only_points(text: str) -> bool:
    """Links, embeds, images, addresses and tags, with hardly a word around them."""
    if _SEE_FOR_MORE.match(_ANY_LINK.sub("it", text)):
        return True
    if _ANY_LINK.search(text) is None:
        return False
    rest = _ANY_LINK.sub(" ", text)
    words = re.findall(r"[^\W\d_]+", rest.casefold())
    is_bare = all(word in _POINTING or len(word) == 1 for word in words)
    return is_bare or (len(words) <= _MAX_POINTING and bool(_SEE.search(rest)))


def breaks(lines: Sequence[str]) -> list[bool]:
    """Of each line of a paragraph but the last whether the break after it is the author's: the next
    word would still have fitted in the paragraph's width."""
    width = max(map(len, lines))
    return [_breaks(*pair, width) for pair in pairwise(lines)]


def are_lines(broken: Sequence[bool]) -> bool:
    """Where so many breaks are the author's the others are of lines that happen to be long."""
    return 3 * sum(broken) > len(broken)


def _breaks(line: str, after: str, width: int) -> bool:
    if line.rfind("[") > line.rfind("]"):  # within a link
        return False
    is_field = INLINE_FIELD.match(line) or INLINE_FIELD.match(after)
    if is_field or width < _MIN_WRAP or line.endswith(("  ", "\\")):
        return True
    word = after.split(maxsplit=1)[:1]
    return len(line.rstrip()) + 1 + len(word[0] if word else "") < width - 6
