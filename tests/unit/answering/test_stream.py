"""What streams to the screen is what the answer holds in the end, and only what is cited."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable

import pytest
from hypothesis import given, settings, strategies as st

from ragvault.answering.citations.stream import CitationStream, CitedText
from ragvault.answering.citations.styles import canonical
from ragvault.model import CitationStatus, Cited, Token
from tests.support.answering import hit

STANDUP = hit(
    "projects/meeting-notes.md",
    "Meetings > Weekly Standup",
    "We meet Monday at 9:30 in the big room. The backend is Go. Budget is 1,500 dollars.",
)
TOP = hit("top.md", "", "Text at the top about cats and dogs. Use `git push`.", rank=2)
HITS = (STANDUP, TOP)
S, T = canonical(STANDUP), canonical(TOP)


def texts(events: Iterable[Cited | Token]) -> list[str]:
    return [event.text for event in events if isinstance(event, Token)]


def run(draft: str, size: int = 1) -> tuple[CitedText, list[str]]:
    stream = CitationStream(HITS)
    shown: list[str] = []
    for i in range(0, len(draft), size):
        shown += texts(stream.feed(draft[i : i + size]))
    shown += texts(stream.close())
    return stream.result(), shown


def text_of(draft: str) -> str:
    result, shown = run(draft)
    assert result.text == "".join(shown)
    for citation in result.citations:
        if citation.status is not CitationStatus.REMOVED and result.text:
            assert result.text[citation.position :].startswith("[File: ")
    return result.text


def test_nothing_is_shown_before_a_citation_resolves_then_all_of_it() -> None:
    stream = CitationStream(HITS)
    assert stream.feed("An introduction. The backend is Go ") == []
    assert stream.feed("[Chunk 1]. ") == []
    shown = stream.feed("Next")
    assert "".join(texts(shown)) == f"An introduction. The backend is Go {S}."


@pytest.mark.parametrize(
    "draft",
    [
        "The following is a summary of the previous answer: [1]",
        "Content: # Weekly Standup [1]\nContent: # Weekly Standup [1]",
        "## Weekly Standup [1]\n",
        "In summary: [1]",
        "1. 1. 1. 1. 1. 1. ",
    ],
)
def test_an_echo_of_the_prompt_is_no_answer(draft: str) -> None:
    assert run(draft)[0].text == ""


def test_a_model_that_says_one_thing_for_ever_is_heard_three_times() -> None:
    stream = CitationStream(HITS)
    shown = ""
    for _ in range(50):
        shown += "".join(texts(stream.feed("The backend is Go [1].\n")))
        if stream.is_looping:
            break
    stream.close(cut_off=True)
    assert stream.is_looping
    assert shown.count("The backend is Go") == 3
    assert stream.result().text == shown


def test_a_list_that_only_counts_on_says_its_item_once() -> None:
    stream = CitationStream(HITS)
    for number in range(1, 50):
        stream.feed(f"{number}. **Backend**: The backend is written in Go [1].\n\n")
        if stream.is_looping:
            break
    stream.close(cut_off=True)
    assert number < 10
    assert stream.result().text.count("written in Go") == 1


def test_what_follows_a_sentence_said_again_stands_apart_as_it_was_written() -> None:
    said = "The backend is written in Go [1]."
    stream = CitationStream(HITS)
    stream.feed(f"{said} {said}\n\n- We meet Monday at 9:30 [1].")
    stream.close()
    assert "\n\n- We meet" in stream.result().text


def test_short_lines_may_recur() -> None:
    stream = CitationStream(HITS)
    stream.feed("We meet Monday at 9:30 [1].\n\n" + "- yes\n" * 18)
    stream.close()
    assert not stream.is_looping
    assert stream.result().text.count("yes") == 18


def test_each_sentence_comes_as_soon_as_it_is_complete() -> None:
    _, shown = run("The backend is Go [1]. Cats and dogs are at the top [2]. Done")
    assert shown == [f"The backend is Go {S}.", f" Cats and dogs are at the top {T}.", " Done"]


def test_numbers_dots_and_names_inside_citations_end_no_sentence() -> None:
    note = hit("1. a. b.md", "1. Intro. Part", "The backend is Go.")
    stream = CitationStream((note,))
    shown = stream.feed(f"The backend is Go {canonical(note)}. Next one")
    assert texts(shown) == [f"The backend is Go {canonical(note)}."]


def test_references_are_in_order_of_first_citation() -> None:
    result, _ = run("Cats and dogs are at the top [2]. The backend is Go [1]. Cats [2].")
    assert result.cited == (TOP, STANDUP)


def test_escape_sequences_of_a_model_never_reach_the_terminal() -> None:
    assert "\x1b" not in text_of("The backend \x1b[31mis\x1b[0m Go [1].\x1b]0;owned\x07 Bye")


def test_a_cut_off_draft_loses_only_its_unfinished_sentence() -> None:
    stream = CitationStream(HITS)
    stream.feed("The backend is Go [1]. We meet Mon")
    stream.close(cut_off=True)
    assert stream.result().text == f"The backend is Go {S}."


def test_a_draft_without_a_held_citation_shows_nothing() -> None:
    result, shown = run("Penguins live in Antarctica [File: no.md].")
    assert (result.text, shown) == ("", [])


PIECES = [
    "The backend is Go", "Cats and dogs", " [Chunk 1]", "[1]", " [File: top.md]", ".", ". ", "! ",
    "\n", "\n\n", "- ", "1. ", "```\n", "code(1)\n", "[File: no.md, Section: x]", "(", ")", "[",
    "| a |", " We meet Monday at 9:30", "I don't have enough information", "File: top.md", " e.g. ",
    "[[top#x]]", "`x[1]`", "é🎉", "。", "\x1b[1m", "\\_", ":", "Section: (top)", "**", "  ", "\r\n",
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25), st.integers(1, 50))
def test_the_borders_of_tokens_change_nothing(pieces: list[str], size: int) -> None:
    """The same draft shows the same text whether it comes by the letter or whole, and the answer
    is the sum of what was shown."""
    draft = "".join(pieces)
    by_letter, shown = run(draft, 1)
    in_chunks, shown_in_chunks = run(draft, size)
    assert shown == shown_in_chunks
    assert by_letter == in_chunks
    assert "".join(shown) == by_letter.text
    for citation in by_letter.citations:
        if citation.chunk_id and by_letter.text:
            assert by_letter.text.startswith("[File: ", citation.position)


def test_a_long_draft_without_any_full_stop_stays_affordable() -> None:
    """A model that runs on for ever must not hang the terminal (the suite's timeout bites)."""
    words = random.Random(1).choices(["cats", "dogs", "[2]", "top"], k=1500)
    result, _ = run(" ".join(words))
    assert result.cited


@pytest.mark.parametrize(
    "unit", ["[", "(", "`", "[ (", "[File: ", "x [a] ", "1. ", "Dr. ", "```\n"]
)
@pytest.mark.parametrize("before", ["", "The backend is Go.\n\n"])
def test_what_a_mad_model_repeats_is_read_in_linear_work(unit: str, before: str) -> None:
    """32,000 of them took seconds: each was read as what might yet become a citation. Four times
    the draft may cost four times the work, and some."""

    def work(size: int) -> float:
        draft = before + (unit * size)[:size]
        began = time.thread_time()
        run(draft, 5)
        return time.thread_time() - began

    work(500)
    assert work(16_000) < 12 * work(4_000) + 0.05


def test_a_note_that_says_what_it_leaves_out_is_quoted_not_taken_for_an_admission() -> None:
    """The answer would be withheld because the note itself says "is not included in the text"."""
    note = hit("debt.md", "Debt", "The debt is 5 million. Interest is not included in this note.")
    mark = canonical(note)
    stream = CitationStream((note,))
    stream.feed(f"Interest is not included in this note {mark}.")
    stream.close()
    assert stream.result().text and not stream.result().uncertain
    stream = CitationStream((note,))
    stream.feed(f"The interest is not mentioned in the notes {mark}.")
    stream.close()
    assert stream.result().uncertain and not stream.result().text


def test_a_statement_may_rest_on_two_chunks_of_the_section_that_it_cites() -> None:
    """A long section is sent in pieces under one name; a sentence that draws on two of them would
    be called unsupported, or never shown."""
    first = hit("trip.md", "Trip", "The hotel in Kyoto was booked for 9 nights.", ordinal=0)
    second = hit(
        "trip.md", "Trip", "The price was 840 euros in all.", rank=2, ordinal=1, first_line=2
    )
    other = hit("trip.md", "Other", "The flight was 615 euros.", rank=3)
    draft = f"The hotel in Kyoto was 840 euros for 9 nights {canonical(first)}."
    stream = CitationStream((first, second, other))
    stream.feed(draft)
    stream.close()
    assert stream.result().text and not stream.result().unsupported
    far = hit("trip.md", "Trip", "We walked 44 km.", rank=4, ordinal=7, first_line=20)
    for number, where in (("615", "another section"), ("44", "far below in a long one")):
        stream = CitationStream((first, second, other, far))
        stream.feed(draft.replace("840", number))
        stream.close()
        assert not stream.result().text, f"{number} stands in {where}"


@pytest.mark.parametrize("unit", ["1. ", "Dr. ", "e.g. ", "```\n", "- - ", "word ", "#", "**"])
def test_a_draft_without_end_costs_what_its_length_does(unit: str) -> None:
    """A small model that loops held a core for 18 s. Four times the draft may cost four times as
    much, and twice that for a busy machine; not sixteen times."""

    def cost(length: int) -> float:
        draft = "The backend is Go. " + S + "\n\n" + (unit * length)[:length]
        began = time.process_time()
        run(draft, size=5)
        return time.process_time() - began

    cost(1000)
    assert min(cost(32_000), cost(32_000)) < max(8 * cost(8000), 0.5)


def test_a_number_of_the_note_said_for_ever_costs_what_its_length_does() -> None:
    """Each was held against the places of all others: 8,000 took minutes."""
    note = hit("salt.md", "Salt", "Take 1 spoon of salt, then 1 of sugar.")

    def cost(times: int) -> float:
        began, stream = time.process_time(), CitationStream((note,))
        stream.feed("1. " * times)
        stream.close()
        return time.process_time() - began

    cost(100)
    assert min(cost(4000), cost(4000)) < max(8 * cost(1000), 0.5)


def test_a_german_day_ends_no_statement() -> None:
    """Else "Juni 2026." stood alone, held by any note with that month."""
    seen = hit("zahn.md", "Zahnarzt", "Termin beim Zahnarzt am 12. Juni 2026, danach frei.")
    stream = CitationStream((seen,))
    draft = "Der Termin beim Zahnarzt war am 3. Juni 2026. Der Termin war am 12. Juni 2026."
    shown = "".join(texts(event for char in draft for event in stream.feed(char)))
    shown += "".join(texts(stream.close()))
    assert [said.text.strip() for said in stream.result().statements] == [
        "Der Termin beim Zahnarzt war am 3. Juni 2026.",
        "Der Termin war am 12. Juni 2026.",
    ]
    assert shown.startswith("Der Termin war am 12. Juni 2026.")


@pytest.mark.parametrize(
    ("said", "is_shown"),
    [
        ("Ken did the service for £210 on 19 August 2026.", True),
        ("Ken did the boiler service for £210 on 19 August 2026.", False),
    ],
)
def test_a_statement_of_one_note_with_the_subject_of_another_is_left_out(
    said: str, is_shown: bool
) -> None:
    """Its figures stand there, of something else."""
    car = hit("car.md", "Car", "Service by Ken: £210, on 19 August 2026.", title="Car")
    boiler = hit("boiler.md", "Boiler", "Pressure 1.3 bar when cold.", title="Boiler", rank=2)
    stream = CitationStream((car, boiler))
    list(stream.feed(said))
    stream.close()
    assert (stream.result().text != "") is is_shown


@pytest.mark.parametrize(
    "row", ["| Lead | Lena |", "- Lead: Lena", "- **Lead**: Bob", "Now Lena leads!"]
)
def test_a_short_row_with_a_wrong_name_is_left_out(row: str) -> None:
    """Few words, and yet a claim; "Sure!" is none."""
    team = hit(
        "team.md", "Team", "- Lead: Priya\n- Backend: Tom Birch\n- Frontend: Lena", title="Team"
    )
    stream = CitationStream((team,))
    list(stream.feed(f"Sure!\n\nTom Birch does the backend.\n{row}\n\nDas ist die Antwort."))
    stream.close()
    assert stream.result().text.endswith("Das ist die Antwort.")
    assert "Tom Birch" in stream.result().text
    assert row not in stream.result().text
    assert [said.text.strip() for said in stream.result().unsupported] == [row]


def test_two_words_may_be_a_claim_and_need_a_passage_as_others_do() -> None:
    """An invented one stood beside what the notes say, without a source and without a word."""
    zoe = hit("zoe.md", "Zoe", "Zoe is a mason. Her roof leaks.", title="Zoe")
    stream = CitationStream((zoe,))
    list(stream.feed("Zoe is a mason [1]. She has three cats. The roof leaks."))
    stream.close()
    assert "cats" not in stream.result().text
    assert stream.result().text.endswith(f"The roof leaks. {canonical(zoe)}")


def test_a_table_keeps_its_head_and_a_dash_hides_no_claim() -> None:
    """The head's names are no claim; what a sentence sets off by dashes is one."""
    team = hit("team.md", "Team", "- Lead: Priya\n- Backend: Tom Birch", title="Team")
    stream = CitationStream((team,))
    table = "| Role | Name |\n| --- | --- |\n| Lead | Priya |\n"
    for char in f"{table}\nThe boss of it --- Marley, of Paris.":
        list(stream.feed(char))
    stream.close()
    assert stream.result().text.startswith(table.rstrip())
    assert [s.text.strip() for s in stream.result().unsupported] == [
        "The boss of it --- Marley, of Paris."
    ]


def test_an_answer_may_begin_with_yes_and_a_morning_is_no_evening() -> None:
    trip = hit("trip.md", "Trip", "Breakfast included. The train leaves at 06:25.", title="Trip")
    for said, is_held in (
        ("Yes: breakfast is included.", True),
        ("The train leaves at 6:25 am.", True),
        ("The train leaves at 6:25 pm.", False),
    ):
        stream = CitationStream((trip,))
        list(stream.feed(said))
        stream.close()
        assert (stream.result().text != "") is is_held


def test_an_address_that_no_note_has_is_left_out_where_a_statement_sums_up_too() -> None:
    both = "We meet Monday at 9:30 in the big room, the backend is Go, the budget is 1,500 dollars"
    assert "evil" not in text_of(f"The backend is Go [1]. {both}, https://evil.example/go says.")
    assert "1,500" in text_of(f"The backend is Go [1]. {both}.")


@pytest.mark.parametrize("block", ["```\nrm 9999\n```", "| rm | 9999 |"])
def test_a_mark_stands_below_code_and_tables(block: str) -> None:
    stream = CitationStream(HITS, strike=False, doubt="(?)")
    stream.feed(f"The backend is Go.\n\n{block}\n\nThe budget is 9 dollars.")
    stream.close()
    assert stream.result().text.endswith(f"\n\n{block}\n(?)\n\nThe budget is 9 dollars (?).")


def test_a_word_without_end_costs_no_more_than_it_is_long() -> None:
    def cost(length: int) -> float:
        stream = CitationStream(HITS)
        started = time.process_time()
        stream.feed(f"The backend is Go with {'_' * length} in it. More.")
        assert stream.result().text.startswith("The backend is Go with")
        return time.process_time() - started

    few = min(cost(10_000) for _ in range(3))
    assert cost(80_000) < 24 * few, "8 where it is linear, 64 where it is quadratic"
