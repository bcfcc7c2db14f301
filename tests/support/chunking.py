"""Counters and nasty Markdown for the tests of parsing and chunking."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import strategies as st

from ragvault.config.settings import ChunkingSettings
from ragvault.formats.markdown import read_markdown
from ragvault.ingest.chunk import chunk_note
from ragvault.model import Chunk, Note


class WordCounter:
    """One token a word, and one a punctuation mark: near to what WordPiece does."""

    def __init__(self) -> None:
        self.calls = 0
        self.texts = 0

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        self.calls += 1
        self.texts += len(texts)
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]


class CharCounter:
    """One token a character, white space included."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]


class EstimateCounter:
    """A server that has no tokenizer to ask: a quarter of the UTF-8 bytes, rounded up."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [-(-len(text.encode("utf-8", "replace")) // 4) for text in texts]


class SuperadditiveCounter:
    """The whole costs more than its parts: what no tokenizer should do, and one may."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [int(1.3 * len(text.split()) ** 1.1) for text in texts]


def parsed(text: str, rel_path: str = "folder/note.md", mtime: float = 0.0) -> Note:
    return read_markdown(rel_path, text.encode("utf-8", "surrogatepass"), mtime)


def chunked(
    text: str,
    window: int = 40,
    *,
    counter: object | None = None,
    overlap: float = 0.12,
    rel_path: str = "folder/note.md",
) -> tuple[Chunk, ...]:
    settings = ChunkingSettings(overlap=overlap)
    used = counter or WordCounter()
    return chunk_note(parsed(text, rel_path), "vault", used, settings, window)  # type: ignore[arg-type]


def uncovered_lines(note: Note, chunks: Sequence[Chunk]) -> list[tuple[int, str]]:
    """Non-blank lines of the body of which some text is in no chunk. Raises AssertionError when
    a chunk's text doesn't stand where it says."""
    covered: list[set[int]] = [set() for _ in note.lines]
    for chunk in chunks:
        own = note.lines[chunk.start_line - 1 : chunk.end_line]
        whole = "\n".join(own)
        at = whole.find(chunk.text)
        assert at >= 0, f"not verbatim: {chunk.text!r} in {whole!r}"
        places = [at]
        while (at := whole.find(chunk.text, at + 1)) >= 0 and len(places) < 2000:
            places.append(at)
        for place in places:  # a cut line may hold the same words twice
            _mark(covered, own, chunk.start_line, place, place + len(chunk.text))
    first = note.frontmatter_lines[1] if note.frontmatter_lines else 0
    missing = []
    for number, line in enumerate(note.lines[first:], first + 1):
        if any(not c.isspace() and i not in covered[number - 1] for i, c in enumerate(line)):
            missing.append((number, line))
    return missing


def _mark(covered: list[set[int]], own: Sequence[str], first: int, start: int, end: int) -> None:
    offset = 0
    for number, line in enumerate(own, first):
        a, b = max(start - offset, 0), min(end - offset, len(line))
        covered[number - 1].update(range(a, b))
        offset += len(line) + 1


_WORDS = st.sampled_from(
    [
        "note",
        "budget",
        "the",
        "Ümlaut",
        "会議",
        "日本語。",
        "שלום",
        "سلام",
        "👩\u200d👩\u200d👧",
        "🇩🇪",
        "é",
        "don't",
        "e.g.",
        "3.14",
        "#tag",
        "[[Link|x]]",
        "`code`",
        "**b**",
        "https://example.org/a#b",
        "$x$",
        "%%",
        "<br>",
        "<!--",
        "-->",
        "|",
        "---",
        "\\",
        "\xa0",
        "\u2028",
        "x\x85y",
        "\x1c",
        "[a]:",
        "![[e.png]]",
        "^id",
        "Dr.",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
    ]
)
_TEXT = st.lists(_WORDS, min_size=1, max_size=40).map(" ".join)
_PREFIX = st.sampled_from(
    ["", "", "", "# ", "## ", "### ", "###### ", "#", "- ", "  - ", "      * ", "1. ", "> ", ">> ",
     "> [!note] ", "    ", "\t", "```", "~~~~", "```py", "$$", "%%", "<div>", "<!-- ", "-->",
     "| a | ", "|-|-|", "===", "---", "***", "[x]: ", "- [ ] ", "> - ", "- > ", "- # "]
)  # fmt: skip
_BARE = st.sampled_from(
    ["", "", "", "   ", "#", "# ", "---", "===", "```", "%%", "$$", "- ", ">", "[a]: b/c.md 'C'",
     "[x]: <y>", "<!-- c -->", "![[e.png]]", "![](e.png)", "<img alt=\"a b c\">"]
)  # fmt: skip
_LINE = st.one_of(st.builds(str.__add__, _PREFIX, _TEXT), _PREFIX, _BARE, st.text(max_size=30))
_END = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
_FRONT = st.sampled_from(
    ["", "", "---\ntitle: T\ntags: [a, b]\n---\n", "---\nbroken: [\n---\n", "---\n---\n",
     "---\nsummary: " + "words that go on " * 20 + "\n...\n", "---\njust text\n---\n"]
)  # fmt: skip

nasty_markdown = st.builds(
    lambda front, pairs: front + "".join(line + end for line, end in pairs),
    _FRONT,
    st.lists(st.tuples(_LINE, _END), max_size=25),
)
