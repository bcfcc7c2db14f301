"""A question in the other languages that notes are in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from ragvault.answering.gate import decide
from ragvault.model import Query, Request, Retrieval
from ragvault.retrieval.pipeline import retrieve
from ragvault.retrieval.question.query import analyse
from ragvault.retrieval.question.translation import worded
from ragvault.text import stopwords
from tests.support.search_index import NOW, SearchIndex, paths, source

TWO = {"es": 60, "en": 40}
NOTES = [
    source("Papers.md", "Driving licence: no idea. My passport expires on 9 February 2027."),
    source("Perro.md", "El perro come pienso. El pasaporte del perro es azul."),
    source("Coche.md", "La matrícula del coche es 4471 KLM."),
    source("Cellar.md", "Bike cellar: the combination of the padlock is 6092."),
]


def asked(question: str, notes: Mapping[str, int]) -> Query:
    query = analyse(question, datetime(2024, 5, 15), tuple(notes))
    return replace(query, wordings=worded(query, notes))


@pytest.mark.parametrize(
    ("question", "notes", "language", "terms"),
    [
        ("¿Cuándo caduca mi pasaporte?", TWO, "en", {"expires", "passport"}),
        ("where is Irene's passport", TWO, "es", {"irene", "pasaporte"}),
        ("Wo ist der Kellerschlüssel?", {"de": 9, "en": 3}, "en", {"cellar", "key"}),
        ("Wat kost de fietssleutel?", {"nl": 9, "en": 3}, "en", {"bike", "key", "price"}),
        ("the washing machine's warranty", {"en": 9, "de": 3}, "de", {"waschmaschine", "garantie"}),
        ("my mother-in-law's birthday", {"en": 9, "de": 3}, "de", {"schwiegermutter"}),
        ("L'anniversaire de ma grand-mère ?", {"fr": 9, "en": 3}, "en", {"grandmother"}),
        ("the van's registration plate", {"en": 9, "de": 3}, "de", {"kennzeichen"}),
        ("À quelle heure est le rendez-vous ?", {"fr": 9, "en": 3}, "en", {"appointment"}),
    ],
)
def test_words_of_every_day_are_looked_for_in_each_language_of_the_notes(
    question: str, notes: Mapping[str, int], language: str, terms: set[str]
) -> None:
    (wording,) = asked(question, notes).wordings
    assert wording.language == language
    assert terms <= set(wording.terms)


@pytest.mark.parametrize(
    ("question", "notes", "terms"),
    [
        ("Wo wohnt meine Schwiegermutter?", {"de": 9, "en": 3}, ("mother", "law")),
        ("where is the laundry", {"nl": 9, "en": 3}, ("wassen",)),
    ],
)
def test_a_word_that_all_notes_hold_says_nothing_of_another(
    question: str, notes: Mapping[str, int], terms: tuple[str, ...]
) -> None:
    """Held by every quote, and so common that the question's own word would weigh nothing."""
    (wording,) = asked(question, notes).wordings
    said = {other for others in wording.said.values() for other in others}
    assert said >= set(terms)
    assert said.isdisjoint(stopwords(wording.language))


@pytest.mark.parametrize(
    ("question", "notes"),
    [
        ("where is my passport", {"en": 40}),
        ("where is my passport", {"en": 98, "es": 2}),  # as likely told wrongly
        ("where is Irene", TWO),
        ("where is my passport", {"en": 40, "ja": 40}),
    ],
)
def test_nothing_is_said_again_where_no_note_or_no_word_is_in_another_language(
    question: str, notes: Mapping[str, int]
) -> None:
    assert asked(question, notes).wordings == ()


def found(index: SearchIndex, question: str, notes: Mapping[str, int]) -> Retrieval:
    return retrieve(
        Request(question),
        query=asked(question, notes),
        deps=index.deps,
        settings=index.settings,
        now=NOW,
        for_answer=True,
    )


@pytest.mark.slow
def test_a_note_in_another_language_is_found_and_answers(tmp_path: Path) -> None:
    index = SearchIndex.real(tmp_path)
    index.add("notes", NOTES)
    try:
        for question, note in (
            ("¿Cuándo caduca mi pasaporte?", "Papers.md"),
            ("Código del candado del sótano", "Cellar.md"),
            ("what's the registration plate of the car", "Coche.md"),
        ):
            hits = found(index, question, TWO)
            assert paths(hits)[0] == note
            decided = decide(hits, embed=index.embedder.embed_documents)
            assert decided.quotes[0].hit.note.rel_path == note
            alone = replace(hits, query=replace(hits.query, wordings=()))
            without = decide(alone, embed=index.embedder.embed_documents).judgement
            assert decided.judgement and without
            assert decided.judgement.features["held"] > without.features["held"]
    finally:
        index.close()


def test_each_sense_is_given_in_each_language() -> None:
    data = Path(asked.__code__.co_filename).parents[3] / "ragvault/retrieval/question/words.txt"
    lines = data.read_text(encoding="utf-8").splitlines()
    senses = [line.split("|") for line in lines if not line.startswith("#")]
    assert [line for line in senses if len(line) != 7 or not all(map(str.strip, line))] == []
