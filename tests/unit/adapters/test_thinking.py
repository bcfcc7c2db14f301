"""A reasoning model's thoughts never reach the person, however the stream is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from ragvault.adapters.ollama.chat import ThinkingFilter


def run(chunks: list[str]) -> str:
    visible = ThinkingFilter()
    return "".join([*map(visible.feed, chunks), visible.finish()])


CASES = {
    "plain": "plain",
    "": "",
    "<think>secret</think>\n\nanswer": "answer",
    "<think></think>answer": "answer",
    "<THINK>secret</Think>answer": "answer",
    "<thinking>secret</thinking> answer": "answer",
    "  <think>secret</think>  answer": "  answer",
    "one <think>secret</think> two": "one  two",
    "<think>a</think>x<think>b</think>y": "xy",
    "<think>never closed": "",
    "answer<think>never closed": "answer",
    "orphan</think>answer": "orphananswer",
    "the tag `<think>` opens, `</think>` closes": "the tag `<think>` opens, `</think>` closes",
    "a < b and <thin and <thick>": "a < b and <thin and <thick>",
    "ends with <": "ends with <",
    "ends with <think": "ends with <think",
    "<think>a <b> </thin </think>c": "c",
    "keep\n\nblank lines ": "keep\n\nblank lines ",
}


@pytest.mark.parametrize(("text", "shown"), CASES.items())
def test_what_is_shown(text: str, shown: str) -> None:
    assert run([text]) == shown


@given(data=st.data(), text=st.sampled_from(list(CASES)))
def test_the_cuts_between_tokens_change_nothing(data: st.DataObject, text: str) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    edges = [0, *cuts, len(text)]
    chunks = [text[a:b] for a, b in pairwise(edges)]
    assert run(chunks) == CASES[text]


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "th", "ink>", "a", "`", " "])))
def test_any_soup_of_tags_gives_the_same_whole_or_cut_up(parts: list[str]) -> None:
    text = "".join(parts)
    assert run(list(text)) == run([text])


def test_text_is_not_held_back_longer_than_a_tag() -> None:
    """The answer appears while it is written."""
    visible = ThinkingFilter()
    assert visible.feed("Hello there.") == "Hello there."
    assert visible.feed(" a <") == " a "
    assert visible.feed("b") == "<b"
