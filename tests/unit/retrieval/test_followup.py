"""A question that can't stand alone is made whole; one that can is left as it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pytest

from ragvault.model import Turn
from ragvault.retrieval.question.followup import asked_to_complete, completed, whole

NOW = datetime(2026, 11, 22, 12)
GWEN = Turn("When is Gwen Tilley's birthday?", "3 September", ("home", "Gwen.md"), "Gwen Tilley")
IDA = Turn("Wann hat Ida Brandt Geburtstag?", "am 4. Mai", ("home", "Ida.md"), "Ida Brandt")
WATER = Turn("how often to water the calathea", "4 days", ("home", "P.md"), "House plants")


@pytest.mark.parametrize(
    ("before", "question", "sought"),
    [
        (GWEN, "and her phone number?", "her phone number (Gwen Tilley)?"),
        (GWEN, "where does she live", "where does she live (Gwen Tilley)"),
        (GWEN, "and the door code there?", "the door code there (Gwen Tilley)?"),
        (GWEN, "who else?", "When is Gwen Tilley's birthday: who else?"),
        (GWEN, "what colour was it?", "what colour was it (Gwen Tilley birthday)?"),
        (GWEN, "what is the door code for her?", "what is the door code for her (Gwen Tilley)?"),
        (
            Turn("What does the hotel in Kyoto cost?", title="Kyoto"),
            "is it paid?",
            "is it paid (hotel Kyoto cost)?",
        ),
        (IDA, "und ihre Adresse?", "ihre Adresse (Ida Brandt)?"),
        (IDA, "Wo wohnt sie?", "Wo wohnt sie (Ida Brandt)?"),
        (IDA, "wer war noch dabei und warum da", None),
        (
            Turn("Quand est né Paul Morel ?", title="Paul Morel"),
            "et son adresse ?",
            "son adresse (Paul Morel) ?",
        ),
        (
            Turn("¿Cuándo nació Ana Ruiz?", title="Ana Ruiz"),
            "¿y su teléfono?",
            "su teléfono (Ana Ruiz)?",
        ),
        (
            Turn("Quando è nata Anna Rossi?", title="Anna Rossi"),
            "e il suo telefono?",
            "il suo telefono (Anna Rossi)?",
        ),
        (
            Turn("Quando nasceu a Rita Melo?", title="Rita Melo"),
            "e qual é o endereço dela?",
            "qual é o endereço dela (Rita Melo)?",
        ),
        (
            Turn("Wanneer is Joost de Wit jarig?", title="Joost de Wit"),
            "en wat is zijn adres? woont hij ver?",
            "wat is zijn adres? woont hij ver (Joost Wit)?",
        ),
        (
            Turn("Когда родилась Анна Петрова?", title="Анна Петрова"),
            "где она живёт?",
            "где она живёт (Анна Петрова)?",
        ),
    ],
)
def test_what_is_not_named_is_carried_over(before: Turn, question: str, sought: str | None) -> None:
    made = whole(question, before, NOW, ["en"])
    if sought is not None:
        assert made == sought


@pytest.mark.parametrize(
    ("before", "question", "sought"),
    [
        ("how much was the water bill in February 2024?", "what about March?",
         "how much was the water bill in March 2024?"),
        ("tsh june 2026", "and in 2023?", "tsh 2023"),
        ("Zeit Regatta Mulde 2025", "und 2026?", "Zeit Regatta Mulde 2026"),
        ("what colour is Ida's room", "and Tom's?", "what colour is Tom's room"),
        ("what's the wifi password", "for guests?", "what's the wifi password: for guests?"),
        ("how long does marmalade boil?", "at what temperature?",
         "how long does marmalade boil: at what temperature?"),
    ],
)  # fmt: skip
def test_another_time_or_owner_takes_the_place_of_the_first(
    before: str, question: str, sought: str
) -> None:
    assert whole(question, Turn(before), NOW, ["en"]) == sought


def _plants(named: str, others: Sequence[str]) -> list[float]:
    return [1.0 if other == "calathea" else 0.0 for other in others]


@pytest.mark.parametrize(
    ("before", "question", "sought"),
    [
        ("what are my open tasks?", "and for Northgate?", "what are my open tasks Northgate?"),
        ("what do I still have to do for Mina", "what about Otto?",
         "what do I still have to do for Otto"),
        ("open tasks for the boat", "and the done ones?", "open tasks for the boat the done ones?"),
        ("what's due this week", "and next week?", "what's due next week"),
    ],
)  # fmt: skip
def test_a_question_for_tasks_goes_on_with_others(before: str, question: str, sought: str) -> None:
    def likeness(_named: str, others: Sequence[str]) -> list[float]:
        return [1.0] * len(others)

    assert whole(question, Turn(before), NOW, ["en"], likeness=likeness) == sought


def test_another_of_its_kind_takes_the_place_of_what_was_asked_about() -> None:
    made = whole("and the monstera?", WATER, NOW, ["en"], likeness=_plants)
    assert made == "how often to water the monstera"


def test_what_stands_in_the_note_itself_is_something_of_it() -> None:
    def by_kind(named: str, others: Sequence[str]) -> list[float]:
        return [float(other == "Gwen Tilley") for other in others]

    def asked(*, in_her_note: bool) -> str:
        said = "what about phone"
        return whole(said, GWEN, NOW, likeness=by_kind, holds=lambda _phrase: in_her_note)

    assert asked(in_her_note=True) == "phone (Gwen Tilley)"
    assert asked(in_her_note=False) == "When is phone's birthday?"


@pytest.mark.parametrize("question", ["why?", "tell me more", "warum?", "¿por qué?", "perché?"])
def test_what_names_nothing_gets_the_whole_question_before_it(question: str) -> None:
    assert whole(question, WATER, NOW, ["en"]) == f"{WATER.question}: {question}"


@pytest.mark.parametrize(
    "question",
    [
        "boiler serial number",
        "overdue invoices",
        "what's on tomorrow",
        "what did I do yesterday?",
        "who were the other students at the weald",
        "who was jim thorpe and what did he do",
        "How long does the parkin have to be kept before I may cut it?",
        "how long does it take to defrost the freezer?",
        "kestrel catch-up who was there",
        "is there anything about the boiler",
        "what time is it in Osaka",
        "Wer war beim Kickoff Finch dabei?",
        "Welche Boote gibt es im Ruderverein?",
        "Wo wohnt Ida und wie alt ist sie?",
        "Wie finanzierte Tesla seine Arbeit?",
        "en qué año compramos la casa",
        "qu'est-ce que j'ai écrit sur Paul et sa maison",
        "E-Mail-Adresse der Hausverwaltung",
        "thanks!",
        "2024-03-12 backend meeting notes",
    ],
)
def test_a_question_that_stands_alone_is_left_alone(question: str) -> None:
    assert whole(question, GWEN, NOW, ["en", "de"]) == question


def test_what_a_model_wrote_is_taken_only_in_the_words_of_the_conversation() -> None:
    question = "and her phone number?"
    assert GWEN.answer in asked_to_complete(question, [GWEN])
    good = "What is Gwen Tilley's phone number?"
    assert completed(f'"{good}"\n', question, [GWEN]) == good
    assert completed("What is Gwen Tully's phone number?", question, [GWEN]) == ""
    assert completed(f"Sure!\n{good}", question, [GWEN]) == ""
    assert completed("", question, [GWEN]) == ""
    assert completed("her number " * 50, question, [GWEN]) == ""
