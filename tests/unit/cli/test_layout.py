"""Lines fit the terminal, and stay whole for whatever reads them elsewhere."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, strategies as st

from ragvault.cli.render.layout import MIN_LINE, columns, facts, hanging, print_table
from ragvault.cli.render.terminal import Terminal

WORDS = st.lists(st.text("abc日é", min_size=1, max_size=9), min_size=1, max_size=30)


def terminal(width: int, *, is_tty: bool = True) -> Terminal:
    return Terminal(io.StringIO(), is_tty, False, True, width)


@given(words=WORDS, width=st.integers(MIN_LINE, 120), indent=st.integers(0, 12))
def test_a_text_behind_a_label_fits_and_loses_no_word(
    words: list[str], width: int, indent: int
) -> None:
    lines = hanging(terminal(width), " ".join(words), indent).split("\n")
    room = max(MIN_LINE, width - indent)
    assert all(columns(line.removeprefix(" " * indent)) <= room for line in lines)
    assert all(line.startswith(" " * indent) for line in lines[1:])
    assert " ".join(lines).split() == words


@given(parts=WORDS, width=st.integers(MIN_LINE, 120))
def test_facts_break_only_between_two_of_them(parts: list[str], width: int) -> None:
    lines = facts(terminal(width), parts).split("\n")
    assert all(columns(line) <= width for line in lines)
    assert [part for line in lines for part in line.split(" · ")] == parts


def test_first_line_of_facts_leaves_room_for_what_stands_before() -> None:
    parts = ["38 notes", "102 passages", "indexed just now"]
    assert facts(terminal(44), parts).count("\n") == 0
    assert facts(terminal(44), parts, lead=10).split("\n") == [
        "38 notes · 102 passages",
        "indexed just now",
    ]


@pytest.mark.parametrize("text", ["a " * 80, "two  blanks stay"])
def test_where_there_is_no_terminal_a_line_stays_whole(text: str) -> None:
    """A script that reads lines must find one."""
    out = terminal(40, is_tty=False)
    assert hanging(out, text, 4) == text
    assert facts(out, text.split()) == " · ".join(text.split())


@pytest.mark.parametrize("width", [34, 60, 80])
def test_a_table_fits_the_terminal(width: int) -> None:
    stream = io.StringIO()
    heads, cells = ("answered", "median time", "citations kept"), ("12", "1.2 s", "97 % of 40")
    print_table(Terminal(stream, True, False, True, width), "", heads, [("2026-11", *cells)])
    shown = stream.getvalue()
    assert max(map(columns, shown.splitlines())) <= width
    assert all(words in shown for words in (*heads, *cells))


def test_control_characters_never_reach_the_terminal() -> None:
    assert "\x1b" not in hanging(terminal(80), "a\x1b[31mb", 0)
