"""What a person reads while an answer streams in."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import cast

import pytest
from hypothesis import given, strategies as st

from ragvault.cli.render.ask import AnswerPrinter, AskView
from ragvault.cli.render.layout import columns, wrapped
from ragvault.cli.render.terminal import Terminal
from ragvault.cli.session import Session
from ragvault.model import AskEvent, Drafted
from ragvault.text import strip_controls
from tests.support.cited import Screen, asked

A = "[File: a note.md, Section: Top > Sub]"
B = "[File: odd [1].md, Section: [x] y]"


def terminal(
    width: int = 40, *, tty: bool = True, colour: bool = False
) -> tuple[Terminal, io.StringIO]:
    stream = io.StringIO()
    return Terminal(stream, tty, colour, True, width), stream


def printed(
    pieces: list[str], *, width: int = 40, tty: bool = True, known: Sequence[str] = (A, B)
) -> str:
    out, stream = terminal(width, tty=tty)
    numbers: dict[str, int] = {}

    def mark(citation: str) -> tuple[str, str]:
        text = f"[{numbers.setdefault(citation, len(numbers) + 1)}]"
        return text, text

    printer = AnswerPrinter(out, mark)
    for citation in known:
        printer.expect(citation)
    for piece in pieces:
        printer.write(piece)
    printer.finish()
    return stream.getvalue()


def test_citations_become_numbers_in_order_of_appearance() -> None:
    assert printed([f"One {B}. Two {A}, {B}."], tty=False) == "One [1]. Two [2], [1].\n"


def test_numbers_that_cite_are_linked_and_those_of_code_and_links_are_not() -> None:
    out, stream = terminal(tty=False)
    printer = AnswerPrinter(out, lambda citation: ("<1>", "<1>"))
    printer.expect("[1]")
    printer.write("See rows[1] and [1](x.md), it is so [1].")
    printer.finish()
    assert stream.getvalue() == "See rows[1] and [1](x.md), it is so <1>.\n"


def test_what_is_not_settled_is_dimmed_and_gone_when_it_is() -> None:
    """Where it can't be told from what is settled it isn't shown at all."""
    for colour in (True, False):
        stream = io.StringIO()
        out = Terminal(stream, is_tty=True, colour=colour, unicode=True, width=20)
        printer = AnswerPrinter(out, lambda citation: (citation, citation))
        printer.write("It is so. ")
        printer.draft("And that is a long one which goes on")
        shown = stream.getvalue()
        printer.write("Yes.")
        printer.finish()
        if not colour:
            assert stream.getvalue() == "It is so. Yes.\n"
            continue
        line = shown.rpartition("\n")[2]
        assert line.startswith("\x1b[2m") and columns(strip_controls(line)) < 20
        after = stream.getvalue().removeprefix(shown)
        assert after == "\r\x1b[2K\x1b[1A\x1b[10G Yes.\n"


NOTE = (
    "a.md | Top | We meet on Monday at ten o'clock beside the old boathouse, all of us: Ann, Bob "
    "and Carl, who brings coffee and the keys for both of the sheds."
)


def test_a_draft_of_which_nothing_is_kept_is_gone_before_the_quotes() -> None:
    out, stream = terminal(60, colour=True)
    view = AskView(cast(Session, Screen(out)))
    view.draw(asked(f"{NOTE}\n---\nThe moon is made of green cheese."))
    draft, _, quoted = stream.getvalue().partition("cheese.\x1b[0m")
    assert "moon" in draft and quoted.startswith("\r\x1b[2K") and "│" in quoted


def test_a_draft_that_breaks_off_is_gone_before_the_error() -> None:
    out, stream = terminal(60, colour=True)

    def events() -> Iterator[AskEvent]:
        yield Drafted("The moon is made")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        AskView(cast(Session, Screen(out))).draw(events())
    assert stream.getvalue().endswith("made\x1b[0m\r\x1b[2K")


@pytest.mark.parametrize("width", [30, 60])
def test_no_line_below_a_source_is_wider_than_the_terminal(width: int) -> None:
    """The terminal would break it in the middle of a word."""
    out, stream = terminal(width)
    AskView(cast(Session, Screen(out))).draw(
        asked(f"{NOTE}\n---\nAnn, Bob and Carl meet on Monday.")
    )
    assert "    │ " in stream.getvalue()
    assert max(map(columns, stream.getvalue().splitlines())) <= width


def test_lines_break_at_words_on_a_terminal_and_nowhere_else() -> None:
    text = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
    on_terminal = printed([text], width=24)
    assert all(len(line) <= 24 for line in on_terminal.splitlines())
    assert on_terminal.split() == text.split()
    assert printed([text], tty=False) == text + "\n"


@pytest.mark.parametrize("length", range(10, 30))
def test_citation_is_not_torn_from_its_full_stop(length: int) -> None:
    text = printed([f"{'w' * length} {A}."], width=24)
    assert "[1]." in text
    assert all(len(line) <= 24 or " " not in line for line in text.splitlines())


def test_paragraphs_and_indentation_stay() -> None:
    assert printed(["a\n\n- b\n    - c\n"], tty=False) == "a\n\n- b\n    - c\n"


def test_escape_sequences_of_a_model_do_nothing() -> None:
    """A note or a model must not move the cursor, recolour or retitle the terminal."""
    text = printed(["be\x1b[2Jfore \x1b]0;owned\x07after \u202eevil"])
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
    assert "before after evil" in text


@given(st.data())
def test_cutting_a_model_s_own_words_anywhere_changes_nothing(data: st.DataObject) -> None:
    """Tokens end where they like; a word in two tokens is still one, and not torn."""
    parts = data.draw(st.lists(st.sampled_from(["alphabet", "word", " ", "\n", ". ", "[x]"])))
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert printed(pieces, known=()) == printed([text], known=())
    assert printed(pieces, known=(), tty=False) == printed([text], known=(), tty=False)


@given(st.lists(st.sampled_from([A, B, "some words here ", "\n"]), max_size=8))
def test_no_known_citation_is_shown_raw(parts: list[str]) -> None:
    assert "[File:" not in printed(parts)


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("", 0)])
def test_columns_counts_what_the_terminal_uses(text: str, width: int) -> None:
    assert columns(text) == width


@given(st.text(max_size=200), st.integers(20, 60))
def test_wrapped_keeps_every_word_and_the_width(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert " ".join(lines).split() == strip_controls(text).split()
    for line in lines:
        assert columns(line) <= width or not re.search(r"\s", line)
