"""Parsing: lines, encodings, headings and tags of a note as its author sees them."""

from __future__ import annotations

import tracemalloc

import pytest

from ragvault.formats.decoding import NotTextError
from ragvault.formats.markdown import read_markdown
from ragvault.model import Block
from tests.support.chunking import parsed


def _paths(text: str) -> list[tuple[str, ...]]:
    return [section.heading_path for section in parsed(text).sections]


def test_lines_are_an_editors_lines():
    """Citations give line numbers: they must be those that the editor shows."""
    note = parsed("a\r\nb\rc\nd\u2028e\x0bf\x85g\n\nh")
    assert note.lines == ("a", "b", "c", "d\u2028e\x0bf\x85g", "", "h")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(encoding):
    note = read_markdown("a.md", "---\ntitle: Zürich\n---\n# 会議\n".encode(encoding), 0)
    assert note.title == "Zürich"
    assert note.warnings == ()


def test_windows_1252_is_read_with_a_warning():
    note = read_markdown("a.md", "Café – “quoted” €5".encode("cp1252"), 0)
    assert note.lines == ("Café – “quoted” €5",)
    assert "read as Windows-1252" in note.warnings[0]


def test_one_bad_byte_does_not_spoil_the_rest():
    note = read_markdown("a.md", "会議の予算".encode() + b"\xff" + "は百万".encode(), 0)
    assert note.lines == ("会議の予算ÿは百万",)
    assert note.warnings


@pytest.mark.parametrize(
    "data", [b"a\0b", b"\x89PNG\r\n\x1a\n\0\0", bytes(range(1, 32)) * 5, bytes(range(128, 255)) * 9]
)
def test_binary_is_refused_with_a_reason(data):
    with pytest.raises(NotTextError) as caught:
        read_markdown("a.md", data, 0)
    assert str(caught.value)


def test_empty_notes():
    for text in ("", "\n", "  \n\t\n", "\ufeff"):
        note = parsed(text, "folder/My Note.md")
        assert note.title == "My Note"
        assert note.sections == ()


def test_title_from_frontmatter_then_heading_then_file_name():
    assert parsed("---\ntitle: ' The  T '\n---\n# H\n").title == "The T"
    assert parsed("---\ntitle: 2024\n---\n# H\n").title == "2024"
    assert parsed("\n# *First* `one`\n## Second\n").title == "First one"
    assert parsed("# Context\n\n# Decision\n", "a/Rust.md").title == "Rust"
    assert parsed("What it is.\n\n# Details\n", "a/Sync.md").title == "Sync"
    assert parsed("## Second\n# First\n", "a/b.md").title == "b"
    assert parsed("text", "a/b.c.md").title == "b.c"


def test_heading_paths_with_skipped_levels_and_several_h1():
    text = "intro\n# A\n### A3\n## A2\n#### A4\n# B\n## A2\n## A2\n"
    assert _paths(text) == [
        (), ("A",), ("A", "A3"), ("A", "A2"), ("A", "A2", "A4"), ("B",), ("B", "A2"), ("B", "A2"),
    ]  # fmt: skip


def test_setext_headings_and_their_lines():
    note = parsed("Title\nover two\n===\ntext\n\nSub\n---\nmore\n")
    assert [(s.heading_path, s.start_line, s.end_line) for s in note.sections] == [
        (("Title over two",), 1, 5),
        (("Title over two", "Sub"), 6, 8),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```sh\n# not\n```\n",
        "~~~~\n```\n# not\n~~~\n# nor\n~~~~\n",
        "```\n# unclosed\n",
        "    # indented\n",
        "<!--\n# not\n-->\n",
        "<div>\n# not\n</div>\n",
        "%%\n# not\n\n# nor\n%%\n",
        "text\n%%\n# not\n%%\n",
        "$$\na\n===\n$$\n",
        "> # quoted\n",
        "- # item\n",
        "#tag\n",
        "####### seven\n",
        "\\# escaped\n",
        "#\n",
    ],
)
def test_what_opens_no_section(text):
    assert _paths(text) == [()]


@pytest.mark.parametrize(
    "text", ["%%\n# A\n", "$$\n# A\n", "%% one line %%\n# A\n", "5 $$\n# A\n$$"]
)
def test_an_unclosed_mark_hides_no_heading(text):
    assert ("A",) in _paths(text)


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("# **Bold** and *it*", "Bold and it"),
        ("# `code_x` snake_case", "code_x snake_case"),
        ("# [[Note|Shown]] and [[Other]]", "Shown and Other"),
        ("# [text](https://e.org) ![alt](i.png)", "text alt"),
        ("# Closed ##", "Closed"),
        ("# C# and F#", "C# and F#"),
        ("# With id ^abc-1", "With id"),
        ("# ==marked== ~~gone~~", "marked gone"),
        ("# a &amp; b <b>x</b>", "a & b x"),
        ("# 2 * 3 * 4", "2 * 3 * 4"),
        ("# 📅 会議 #tag", "📅 会議 #tag"),
        ("#\tTab   spaces", "Tab spaces"),
    ],
)
def test_heading_text_is_plain(source, plain):
    assert _paths(source) == [(plain,)]


def test_a_huge_heading_is_cut():
    (path,) = _paths("# " + "word " * 50_000)
    assert len(path[0]) <= 200


def test_inline_tags():
    note = parsed(
        "#start and #nested/tag-x, (#paren) #会議 #Été #2024 #y2024 #dup #DUP\n"
        "# heading #intitle\n`#code` ``a ` #code2`` https://e.org/#frag [x](#anchor) a#b &#39;\n"
        "```\n#fence\n```\n    #indented\n\n[[Note#heading]] #end."
    )
    assert note.tags == (
        "start", "nested/tag-x", "paren", "会議", "Été", "y2024", "dup", "intitle", "end",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        ">" * 10_000 + " # x",
        "".join("  " * i + "- x\n" for i in range(400)),
        "- " * 5_000,
        "[" * 20_000,
        "`" * 20_000 + "a",
        " ".join("`" * n + "x" for n in range(1, 200)),
        "![](" * 5_000,
        "*a_ " * 5_000,
        "# " + "*a_ [" * 5_000,
        "x" * 1_000_000,
        "#" * 50_000,
        "%%\n" * 4_001,
        "$$ " * 10_000,
        "<!--" * 5_000,
        "[a]: b\n" * 5_000,
        "|" * 20_000 + "\n" + "|-" * 10_000,
        "---\n" * 5_000,
        "\\" * 50_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_markdown_ends(text):
    """Quadratic time on any of these is a hang (the suite's timeout)."""
    note = parsed(text)
    assert "\n".join(note.lines).strip() == text.strip()


def test_what_takes_the_parser_too_long_is_cut_into_plain_pieces_and_named():
    """4.5 MB of quotes in quotes took 70 s, and every note after them waited."""
    text = "---\ntags: deep\n---\n# Deep\n\n" + ("> " * 80 + "said\n\n") * 300 + "The end.\n"
    note = read_markdown("deep.md", text.encode(), 0.0, 0.05)
    assert any("plain pieces" in warning for warning in note.warnings)
    assert (note.title, note.tags) == ("deep", ("deep",))
    assert [section.heading_path for section in note.sections] == [()]
    held = {line for b in note.blocks for line in range(b.first, b.last + 1)}
    assert held >= {at for at, line in enumerate(note.lines) if line.strip()}


def test_a_note_of_usual_nesting_has_all_the_time_that_it_needs():
    text = "# A\n\n- one\n  - two\n    > three\n" * 200
    assert read_markdown("a.md", text.encode(), 0.0).warnings == ()


def test_an_endless_line_is_named():
    assert "100,001 characters" in parsed("# A\n" + "x" * 100_001).warnings[0]


def _tree(blocks: tuple[Block, ...]) -> list[object]:
    return [
        (b.kind, b.first, b.last, _tree(b.children)) if b.children else (b.kind, b.first, b.last)
        for b in blocks
    ]


def test_blocks_know_what_belongs_together():
    """A list, a task list, a table can be quoted whole, each with the line that announces it."""
    text = (
        "# Trip\n\nTo pack:\n\n- [ ] tent\n- [x] rope\n  1. knots\n\n"
        "| day | km |\n|-----|----|\n| Mon | 12 |\n\n> [!tip]\n> Start early.\n\n"
        "```sh\nls\n\npwd\n```\n"
    )
    assert _tree(parsed(text).blocks) == [
        ("heading", 0, 0),
        ("paragraph", 2, 2),
        (
            "list",
            4,
            6,
            [
                ("item", 4, 4, [("paragraph", 4, 4)]),
                (
                    "item",
                    5,
                    6,
                    [("paragraph", 5, 5), ("list", 6, 6, [("item", 6, 6, [("paragraph", 6, 6)])])],
                ),
            ],
        ),
        ("table", 8, 10),
        ("callout", 12, 13, [("paragraph", 12, 13)]),
        ("fence", 15, 19),
    ]


def test_blocks_count_their_lines_in_the_file():
    assert parsed("---\ntitle: T\n---\n\nText.\n").blocks[-1] == Block("paragraph", 4, 4)


def test_a_long_table_costs_no_more_memory_than_prose():
    """The parser made 7 KB of a row of 50 bytes: 760 MB of a table of 100,000."""
    row = "| 17 | Anna Berg | 0.4711 | some words |\n"
    data = ("# T\n\n| a | b | c | d |\n|---|---|---|---|\n" + row * 3000).encode()
    read_markdown("warm.md", data[:500], 0.0)
    tracemalloc.start()
    try:
        note = read_markdown("t.md", data, 0.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert note.blocks[1] == Block("table", 2, 3003)
    assert peak < 20 * len(data)
