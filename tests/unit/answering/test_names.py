"""Whose fact is asked for: people type names in lower case, the notes don't."""

from __future__ import annotations

import pytest

from ragvault.answering.names import names_among
from tests.support.answering import hit


@pytest.mark.parametrize(
    ("words", "text", "names"),
    [
        ("otto bus pass", "Mina and Otto share a bus pass.", {"otto"}),
        ("otto bus pass", "Otto\nHe goes by bus.", set()),  # every line begins so
        ("fence paint", "We paint the Fence again, the fence of 2019.", set()),
        ("dev laptop", "Ask Dev, mail dev@example.org or see code/dev.md", {"dev"}),
        ("bastian blutgruppe", "Bei Bastian fehlt die Blutgruppe.", {"bastian"}),
        ("may 2024", "In May and in May 2024.", set()),
    ],
)
def test_a_name_is_what_the_notes_write_with_a_capital(
    words: str, text: str, names: set[str]
) -> None:
    assert names_among(words.split(), [hit("a.md", "", text)]) == names


def test_what_a_title_names_may_begin_a_line() -> None:
    assert names_among(["otto"], [hit("People/Otto.md", "", "Otto\nHe goes by bus.")]) == {"otto"}
