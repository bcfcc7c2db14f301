"""What a search result quotes is what the person looked for."""

from __future__ import annotations

import io

from ragvault.cli.render.search import highlighted
from ragvault.cli.render.terminal import Terminal
from ragvault.service.excerpts import excerpt, stems_of

NOTE = """---
title: Boats
tags: [sea]
---
# Boats

The harbour is small. Ferries leave at nine. The café sells rope.
"""


def test_excerpt_begins_where_the_words_are() -> None:
    assert excerpt(NOTE, stems_of(("ferry", "ferries", "leave"))).startswith("Ferries leave")


def test_excerpt_shows_neither_frontmatter_nor_heading_when_there_is_text() -> None:
    text = excerpt(NOTE, frozenset())
    assert text.startswith("The harbour")


def test_note_that_is_only_frontmatter_or_heading_still_shows_something() -> None:
    assert excerpt("---\ntitle: x\n---\n", frozenset())
    assert excerpt("# Heading", frozenset()) == "# Heading"


def test_excerpt_of_a_table_has_its_rows_without_the_rules() -> None:
    """Forty dashes in a row push what was found out of the excerpt."""
    table = "| Key | Does |\n| :--- | ---- |\n| alt+D | opens the daily note |\n"
    assert excerpt(table, frozenset()) == "Key | Does · alt+D | opens the daily note"


def test_excerpt_ends_with_a_word_not_with_the_mark_of_the_next_item() -> None:
    steps = "\n".join(f"{n}. Fold the dough {'slowly ' * 5}" for n in range(1, 9))
    assert excerpt(steps, frozenset()).endswith("slowly …")


def test_excerpt_has_the_text_between_html_and_code_as_it_is() -> None:
    """A row of avatars in a readme is one name between three hundred characters of tags."""
    cell = '<td align="center"><a href="https://x.org"><img src="a.png"/><br /><b>Omar</b></a></td>'
    assert excerpt(cell, frozenset()) == "Omar"
    assert excerpt("a <b < c, List<String>, <br>", frozenset()) == "a <b < c, List<String>,"
    assert excerpt("<br>", frozenset()) == "<br>"


def test_matching_words_stand_out_in_colour_only() -> None:
    colour = Terminal(io.StringIO(), True, True, True, 80)
    plain = Terminal(io.StringIO(), True, False, True, 80)
    terms = stems_of(("boats", "cafe"))
    line = "Boat, BOATS and [bold]rope[/]"
    assert highlighted(line, terms, plain) == line
    shown = highlighted(line, terms, colour)
    assert shown.count("\x1b[1;33m") == 2 and "[bold]rope[/]" in shown
