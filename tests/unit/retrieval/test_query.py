"""Query analysis: what a question asks for, before anything is searched."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, strategies as st

from ragvault.errors import QuestionError
from ragvault.model import Breadth, Detail, Intent, Query, Request
from ragvault.retrieval.question.query import analyse
from ragvault.retrieval.question.scope import choose_k

NOW = datetime(2024, 5, 15, 10, 30)


def query(question: str) -> Query:
    return analyse(question, NOW)


def test_the_seeds_example() -> None:
    found = query("What did I decide last week about the API?")
    assert found.terms == ("decide", "api")
    assert found.time_hint is not None
    assert found.time_hint.phrase == "last week"
    assert found.intent is Intent.QUESTION
    assert not found.recent_only


def test_words_of_a_relative_time_are_not_searched_for() -> None:
    """A note from last week doesn't say "week"; one that does would win by its rarity."""
    assert query("What did I decide last week about the API?").terms == ("decide", "api")
    assert query("Budget in March 2024").terms == ("budget", "march", "2024")


@pytest.mark.parametrize("question", ["", "   ", "\n\t", "\x00\x1b\x07", "\u202e"])
def test_an_empty_question_is_refused_with_a_next_step(question: str) -> None:
    with pytest.raises(QuestionError) as caught:
        query(question)
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_a_question_over_the_limit_says_both_lengths() -> None:
    with pytest.raises(QuestionError, match=r"10,000 characters; the limit is 2,000"):
        query("x" * 10_000)
    assert query("x" * 2_000).text == "x" * 2_000


def test_control_characters_never_reach_the_search() -> None:
    assert query("what \x1b[31mis\x1b[0m\x00 this\nbackup?").text == "what is this backup?"


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("hi", Intent.GREETING),
        ("Hello there!", Intent.GREETING),
        ("good morning everyone", Intent.GREETING),
        ("Guten Tag", Intent.GREETING),
        ("你好", Intent.GREETING),
        ("bonjour", Intent.GREETING),
        ("thanks a lot!", Intent.THANKS),
        ("Vielen Dank", Intent.THANKS),
        ("muchas gracias", Intent.THANKS),
        ("ありがとう", Intent.THANKS),
        ("hi, what did I decide about bikes?", Intent.QUESTION),
        ("thanks for the fish recipe", Intent.QUESTION),
        ("hello world program", Intent.QUESTION),
        ("what did Hi mean?", Intent.QUESTION),
        ("what about it?", Intent.AMBIGUOUS),
        ("why?", Intent.AMBIGUOUS),
        ("tell me more", Intent.AMBIGUOUS),
        ("???", Intent.AMBIGUOUS),
        ("what about IT?", Intent.QUESTION),
        ("what happened yesterday?", Intent.QUESTION),
        ("backup", Intent.QUESTION),
        ("数据库备份怎么做？", Intent.QUESTION),
    ],
)
def test_small_talk_and_empty_pointing_are_told_from_questions(
    question: str, intent: Intent
) -> None:
    assert query(question).intent is intent


def test_a_salutation_is_not_searched_for() -> None:
    assert query("Hi, what did I decide about bikes?").terms == ("decide", "bikes")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what did I write recently?", True),
        ("my latest notes", True),
        ("what did I do last week?", True),
        ("notes from yesterday", True),
        ("what's new?", True),
        ("what did I write in March 2024", True),
        ("was habe ich zuletzt geschrieben", True),
        ("qu'est-ce que j'ai fait hier", True),
        ("recent notes about bikes", False),
        ("latest version of postgres", False),
        ("2024", False),
        ("what did I decide last week about the API?", False),
        ("my notes", False),
    ],
)
def test_only_a_question_without_a_subject_is_answered_with_recent_notes(
    question: str, expected: bool
) -> None:
    assert query(question).recent_only is expected


def test_a_question_of_nothing_but_stopwords_still_searches_for_them() -> None:
    assert query("who is the who?").terms == ("who", "is", "the")


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("which invoices haven't been paid yet", ("invoices", "paid")),
        ("is the cat still missing", ("cat", "missing")),
        ("why did Pekka say no", ("pekka",)),
        ("which books must I still return", ("books", "return")),
        ("What did I write about the greenhouse?", ("greenhouse",)),
        ("notes on MVCC", ("mvcc",)),
        ("my notes", ("notes",)),
        ("Was habe ich über den Garten geschrieben?", ("garten",)),
        ("¿Qué escribí sobre el huerto?", ("huerto",)),
        ("How many stitches did Nico get?", ("stitches", "nico")),
        ("Wie schwer ist mein Bogen?", ("bogen",)),
        ("what is Omeir's father called", ("omeir", "father")),
        ("how long?", ("long",)),
    ],
)
def test_words_that_only_ask_are_not_looked_for(question: str, terms: tuple[str, ...]) -> None:
    """No note says them where the answer is, so they'd count as what it lacks."""
    assert query(question).terms == terms


def test_apostrophes_split_as_the_index_splits_them() -> None:
    """The index holds O'Brien as o, brien: a query for "obrien" would find nothing."""
    assert query("O'Brien's école d’été").terms == ("brien", "école", "été")


def test_cjk_is_searched_by_bigrams() -> None:
    assert query("数据库备份").terms == ("数据", "据库", "库备", "备份")


@pytest.mark.parametrize(
    ("question", "breadth"),
    [
        ("give me an overview of my bikes", Breadth.BROAD),
        ("compare the bread recipes", Breadth.BROAD),
        ("what is the API? and who owns it?", Breadth.BROAD),
        (" ".join(["word"] * 30), Breadth.BROAD),
        ("when was the API launched?", Breadth.NARROW),
        ("what did I decide about the backend?", Breadth.NORMAL),
    ],
)
def test_breadth(question: str, breadth: Breadth) -> None:
    assert query(question).breadth is breadth


@pytest.mark.parametrize(
    ("request_", "question", "k"),
    [
        (Request("q"), "what did I decide about the backend?", 5),
        (Request("q", detail=Detail.BRIEF), "what did I decide about the backend?", 3),
        (Request("q", detail=Detail.DETAILED), "an overview of everything", 8),
        (Request("q", folders=("a",)), "what did I decide about the backend?", 4),
        (Request("q"), "when was the API launched?", 4),
        (Request("q", k=1), "anything about bikes", 1),
        (Request("q", k=6), "an overview of everything", 6),
        (Request("q", k=20), "anything about bikes", 20),
    ],
)
def test_automatic_k_stays_between_3_and_8_and_an_explicit_one_wins(
    request_: Request, question: str, k: int
) -> None:
    assert choose_k(request_, query(question)) == k


@given(st.text(max_size=300))
def test_any_text_is_analysed_or_refused(question: str) -> None:
    """A pasted terminal dump may be no question, but it must not be a crash either."""
    try:
        found = query(question)
    except QuestionError:
        return
    assert len(set(found.terms)) == len(found.terms)
    assert all(term and " " not in term for term in found.terms)
    assert found == query(question)
