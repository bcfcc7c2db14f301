"""What is looked for: a question's frame names nothing, and no note holds it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ragvault.retrieval.question.subject import subject_of


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What did I write about the greenhouse?", "the greenhouse"),
        ("what have I written on Litestream", "Litestream"),
        ("What do I know about buoys?", "buoys"),
        ("What do my notes say about write skew?", "write skew"),
        ("What's in my notes about Osaka?", "Osaka"),
        ("Is there anything about the boiler?", "the boiler"),
        ("Do I have any notes on sourdough?", "sourdough"),
        ("Show me everything about the heat pump", "the heat pump"),
        ("Tell me about Tidepool.", "Tidepool"),
        ("notes on MVCC", "MVCC"),
        ("Which notes mention Priya?", "Priya"),
        ("Where did I write about garlic?", "garlic"),
        ("Was habe ich über den Garten geschrieben?", "den Garten"),
        ("Was steht in meinen Notizen zum Umzug?", "Umzug"),
        ("was hab ich mir zur Heizung notiert", "Heizung"),
        ("Gibt es etwas zum Dach?", "Dach"),
        ("how much is the rent", "is the rent"),
        ("How many stitches did Nico get?", "stitches did Nico get?"),
        ("name of the old lady", "the old lady"),
        ("nome della signora del terzo piano", "signora del terzo piano"),
        ("Wie schwer ist mein Bogen?", "ist mein Bogen?"),
        ("¿Cómo se llama el hijo de Elvira?", "¿Cómo el hijo de Elvira?"),
        ("what is Omeir's father called", "what is Omeir's father"),
        ("Zeig mir alles über die Kita", "die Kita"),
        ("¿Qué escribí sobre el huerto?", "el huerto"),
        ("¿Hay algo sobre la boda?", "la boda"),
        ("¿Qué tengo escrito acerca de la boda?", "la boda"),
        ("Qu'ai-je noté sur la chaudière ?", "la chaudière"),
        ("Que disent mes notes sur Paul ?", "Paul"),
        ("Qu'ai-je noté à propos de la chaudière ?", "la chaudière"),
        ("¿Qué sé de Marta?", "Marta"),
        ("What did I read about octopuses?", "octopuses"),
        ("Cosa ho scritto sulla caldaia?", "caldaia"),
        ("Cosa so di Marta?", "Marta"),
        ("O que escrevi sobre o carro?", "o carro"),
        ("Wat heb ik over de fiets genoteerd?", "fiets"),
        ("Is er iets over de verwarming?", "verwarming"),
        ("What did I note about being on-call?", "being on-call"),
        ("What did we say about going over budget?", "going over budget"),
        ("Remind me about the dentist", "the dentist"),
        ("What does the router need, according to my notes?", "What does the router need?"),
    ],
)
def test_frame_goes_and_the_subject_stays(question: str, subject: str) -> None:
    assert subject_of(question) == subject


@pytest.mark.parametrize(
    "question",
    [
        "What was the record on the 100m?",
        "What files are on the server?",
        "notes de frais",
        "notas de cata",
        "note di credito",
        "What did I decide about the backend?",
        "What is write skew?",
        "How do I find the commit that broke a test?",
        "What did Jonas say about the restore?",
        "What did I write about?",
        "how long?",
        "What did I think of The Name of the Wind?",
        "who called?",
        "Which names did we consider?",
        "Notes",
        "?",
        "When did the Normans learn about siege warfare?",
        "Was hat Jonas zum Dach gesagt?",
        "Wat heeft Jan over de fiets gezegd?",
    ],
)
def test_what_is_no_frame_stays_whole(question: str) -> None:
    assert subject_of(question) == question


def test_time_in_relative_words_goes_too() -> None:
    asked = "What did I write last week about the greenhouse?"
    assert subject_of(asked, "last week") == "the greenhouse"
    assert subject_of("Where did I run last  week?", "last week") == "Where did I run?"
    assert subject_of("Yesterday?", "Yesterday") == "Yesterday?"
    fact = "Who is on the radio today?"
    assert subject_of(fact, "today") == fact


@given(st.text(max_size=200))
def test_something_is_always_left(question: str) -> None:
    question = " ".join(question.split())
    found = subject_of(question)
    assert found or not question
