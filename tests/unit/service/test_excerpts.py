"""What a search result quotes is what the person looked for."""

from __future__ import annotations

import io
from datetime import datetime

from ragvault.cli.render.places import highlighted
from ragvault.cli.render.terminal import Terminal
from ragvault.retrieval.question.query import analyse
from ragvault.service.search import Terms, excerpt as excerpt_of
from tests.support.answering import hit

NOTE = """---
title: Boats
tags: [sea]
---
# Boats

The harbour is small. Ferries leave at nine. The café sells rope.
"""


NONE = Terms()


def excerpt(text: str, terms: Terms) -> str:
    return excerpt_of(hit("a.md", "", text).chunk, terms)


def terms_of(question: str) -> Terms:
    query = analyse(question, datetime(2026, 11, 22))
    return Terms.of(query.terms, query.language)


def test_excerpt_begins_where_the_words_are() -> None:
    assert excerpt(NOTE, terms_of("ferry leave")).startswith("Ferries leave")


def test_excerpt_shows_neither_frontmatter_nor_heading_when_there_is_text() -> None:
    text = excerpt(NOTE, NONE)
    assert text.startswith("The harbour")


def test_note_that_is_only_frontmatter_or_heading_still_shows_something() -> None:
    assert excerpt("---\ntitle: x\n---\n", NONE)
    assert excerpt("# Heading", NONE) == "Heading"
    assert excerpt("# Valve\n\nThat of boiler 2.\n", NONE) == "That of boiler 2."


def test_excerpt_of_a_table_has_its_rows_without_the_rules() -> None:
    """Forty dashes in a row push what was found out of the excerpt."""
    table = "| Key | Does |\n| :--- | ---- |\n| alt+D | opens the daily note |\n"
    assert excerpt(table, NONE) == "Key · Does\nalt+D · opens the daily note"


def test_items_and_lines_of_code_stay_lines() -> None:
    """ "touch Gemfile - open it" is no command."""
    lead = "Do this in the folder of the program itself that\nyou have just fetched:"
    steps = f"{lead}\n\n- touch Gemfile\n  - open it\n\n```sh\ngem list\n\nls\n```\n"
    assert excerpt(steps, NONE) == (
        f"{lead.replace(chr(10), ' ')}\n- touch Gemfile\n  - open it\n```sh\ngem list …"
    )


def test_excerpt_ends_with_a_word() -> None:
    steps = "\n".join(f"{n}. Fold the dough {'slowly ' * 5}" for n in range(1, 9))
    assert excerpt(steps, NONE).count("\n") == 3 and excerpt(steps, NONE).endswith("slowly …")
    long = "- one\n- " + "slowly " * 90
    assert excerpt(long, NONE).endswith("slowly…") and len(excerpt(long, NONE)) <= 230


def test_excerpt_has_the_text_between_html_and_code_as_it_is() -> None:
    """A row of avatars in a readme is one name between three hundred characters of tags."""
    cell = '<td align="center"><a href="https://x.org"><img src="a.png"/><br /><b>Omar</b></a></td>'
    assert excerpt(cell, NONE) == "Omar"
    assert excerpt("a <b < c, List<String>, <br>", NONE) == "a <b < c, List<String>,"
    assert excerpt("<br>", NONE) == "<br>"


def test_matching_words_stand_out_in_colour_only() -> None:
    colour = Terminal(io.StringIO(), True, True, True, 80)
    plain = Terminal(io.StringIO(), True, False, True, 80)
    terms = terms_of("boats or cafe")
    line = "Boat, BOATS and [bold]rope[/]"
    assert highlighted(line, terms, plain) == line
    shown = highlighted(line, terms, colour)
    assert shown.count("\x1b[1;33m") == 2 and "[bold]rope[/]" in shown


def test_words_stand_out_in_the_language_of_the_question() -> None:
    """An English stemmer knows no "Verträge" for "Vertrag"."""
    colour = Terminal(io.StringIO(), True, True, True, 80)
    terms = terms_of("wann haben wir die Verträge unterschrieben")
    assert "\x1b[1;33mVertrag" in highlighted("Der Vertrag liegt bei Anna.", terms, colour)


def test_lines_that_their_author_broke_stay_lines() -> None:
    """ "Aurélien" and "Erwan" are two people; a long line among short ones was no wrapped one."""
    people = (
        "Thomas - backliner, Gent - 0486 00 31 55 - parle un peu\nAurélien - retours - 06 00 72 18"
        " 09, dispo en avril\nErwan - Ubu\nKees - Gent\nWim - location\n"
    )
    assert excerpt(people, NONE) == people.rstrip("\n")
