"""What stands inside Markdown's lines: ``#tags``, a heading's text without its
markup, and whether a block says anything at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from ragvault.text import is_link_definition

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_HEADING_CHARS = 200

_WIKILINK = re.compile(r"!?\[\[([^\[\]\n]{1,500})\]\]")
_LINK_TARGET = re.compile(r"\]\(\s*(?:<[^<>\n]{1,2000}>|(?:[^\s()]|\([^\s()]{0,500}\)){1,2000})")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s<>]+|\bwww\.[^\s<>]+", re.IGNORECASE)
_CODE_SPAN = re.compile(r"(?<!`)(`++)(?!`)(?:.+?)(?<!`)\1(?!`)", re.DOTALL)
_TAG = re.compile(
    r"(?:(?<=[\s(（,，、。;|>])|^)#"
    r"([^\s\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f"
    r"'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]{1,200})",
    re.MULTILINE,
)
_BLANK_LINES = re.compile(r"\n[ \t]*\n")
_BLOCK_ID = re.compile(r"\s\^[A-Za-z0-9-]{1,64}$")
_MARKUP = re.compile(r"[*_`\[<&\\~=!]")
_HIGHLIGHT = re.compile(r"(==|~~|%%)(?=\S)([^\n]*?\S)\1")

_WORD = re.compile(r"\w")
_LONGEST_EMPTY = 4_000  # characters: what says nothing is short, and so is the look at it
_HTML_TAG = re.compile(r"<!--.*?-->|</?[a-z][^<>]*>", re.DOTALL | re.IGNORECASE)
_ALT = re.compile(r"\balt\s*=\s*[\"']([^\"'<>]*)", re.IGNORECASE)
_EMBED = re.compile(r"!\[\[[^\[\]\n]*\]\]")
_IMAGE = re.compile(r"!\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_LINKED_IMAGE = re.compile(r"\[\s*\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_DESCRIBED = 3  # words: an image's text of so many says what is on it


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
        text = "\n\n".join(_CODE_SPAN.sub("` `", part) for part in parts)
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
