"""Mistyped words, and what a question says has to be in a note."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.errors import QuestionError
from ragvault.model import Filter, Query, VaultInfo
from ragvault.ports import Catalog
from ragvault.retrieval.question.query import analyse
from ragvault.retrieval.question.spelling import corrected, corrections
from tests.support.samples import note_write

NOW = datetime(2024, 5, 15, 10, 30)
NOTES = {
    "a": "The plumber Hartmann repaired the boiler. Invoice 4417, paid by transfer.",
    "b": "Hartmann again: the boiler needs a new thermostat. Die Kündigungsfrist ist lang.",
    "c": "Boilers and invoices. The plunger is in the cellar; harvest was good.",
}


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    made = SqliteCatalog(tmp_path / "catalog.sqlite3")
    made.add_vault(VaultInfo("notes", Path("/vault"), "folder"))
    writes = [note_write("notes", f"{name}.md", [((), body)]) for name, body in NOTES.items()]
    made.commit("notes", writes, [])
    yield made
    made.close()


def read(catalog: Catalog, question: str, known: str = "") -> dict[str, str]:
    words = set(known.split())
    return dict(corrections(analyse(question, NOW), catalog, (), words.__contains__))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who repaird the boiler", {"repaird": "repaired"}),
        ("what does the thermosat cost", {"thermosat": "thermostat"}),
        ("when did Hartman come", {"hartman": "hartmann"}),
        ("when did Hatrmann come", {"hatrmann": "hartmann"}),
        ("thremostta", {"thremostta": "thermostat"}),
        ("Kundigungsfrist", {}),  # found as it is: marks are folded
        ("the boilers", {}),
        ("where are my invoicse", {"invoicse": "invoice"}),
        ("the boler", {"boler": "boiler"}),
        ("was it a good havrest", {"havrest": "harvest"}),
        ("is it piad", {"piad": "paid"}),
        ("oevrdue invoices", {"oevrdue": "overdue"}),  # in no note: what tasks are asked for with
        ("the laetst invoice", {"laetst": "latest"}),
        ("is it piid", {}),  # too short to be another letter
        ("is the invoice paud", {"paud": "paid"}),  # but beside a word of its passage
        ("is the plunger paud", {"paud": "paid"}),
        ("is the invoice pald", {}),
        ("has the invoice been pid", {"pid": "paid"}),
        ("pid", {"pid": "paid"}),
        ("is it paaid", {"paaid": "paid"}),
        ("is it prond", {}),
        ("wht was repaired", {"wht": "what"}),
        ("whst was repaired and how mucg was the boiler", {"whst": "what", "mucg": "much"}),
        ("wann fiel die Mauer", {}),  # nearly "viel"
        ("plum", {}),
        ("invoice 4471", {}),
        ('the "thermosat"', {}),
        ("mongolia", {}),
        ("", {}),
    ],
)
def test_a_mistyped_word_is_read_as_the_nearest_of_the_notes(
    catalog: Catalog, question: str, expected: dict[str, str]
) -> None:
    assert (read(catalog, question) if question else {}) == expected


def test_what_the_embedding_model_knows_as_a_word_stays(catalog: Catalog) -> None:
    assert read(catalog, "the cellat") == {"cellat": "cellar"}
    assert read(catalog, "the cellat", known="cellat") == {}


def test_another_letter_is_a_slip_where_its_key_is_beside(catalog: Catalog) -> None:
    """ "gemacht" isn't "gedacht", and a plumper no plumber."""
    assert read(catalog, "the plumper") == {}
    assert read(catalog, "the plumver") == {"plumver": "plumber"}
    assert read(catalog, "the thermoslat") == {"thermoslat": "thermostat"}, "long enough"


def test_a_mistyped_small_word_is_none_of_the_notes(catalog: Catalog) -> None:
    assert read(catalog, "what was repaired yesterdya") == {"yesterdya": "yesterday"}
    assert read(catalog, "Wann war der Hartmann da und wlechem Dach") == {"wlechem": "welchem"}
    assert read(catalog, "when did Thea come") == {}, "a name"
    assert read(catalog, "when did thea come") != {}


def test_of_two_as_near_the_more_frequent_one_is_read(catalog: Catalog) -> None:
    put = note_write("notes", "d.md", [((), "boiled eggs, boiled rice, boiles")])
    catalog.commit("notes", [put], [])
    assert read(catalog, "boilee")["boilee"] in {"boiler", "boiles", "boiled"}
    assert read(catalog, "boilee") == {"boilee": "boiler"}


def test_capitals_and_the_rest_of_the_question_stay() -> None:
    put = corrected("Did Hartman, or hartman's son, pay 12 €?", [("hartman", "hartmann")])
    assert put == "Did Hartmann, or hartmann's son, pay 12 €?"


# --------------------------------------------------------------------------- phrases


def musts(question: str, *, excludes: bool = True) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    found = analyse(question, NOW, excludes=excludes)
    return found.text, found.phrases, found.excluded


@pytest.mark.parametrize(
    ("question", "text", "phrases", "excluded"),
    [
        ('"heat pump" price', '"heat pump" price', ("heat pump",), ()),
        ("„heat  pump“ «two»", "„heat pump“ «two»", ("heat pump", "two"), ()),
        ("“heat pump”?", "“heat pump”?", ("heat pump",), ()),
        ("heating -gas -Oil", "heating", (), ("gas", "Oil")),
        ('heating -"natural gas" costs', "heating costs", (), ("natural gas",)),
        ("-gas heating", "heating", (), ("gas",)),
        ("well-known -5 degrees - cold", "well-known -5 degrees - cold", (), ()),
        ('a 5" pipe and a 3" one', 'a 5" pipe and a 3" one', (), ()),
        ('"" and "?"', '"" and "?"', (), ()),
        ('an "open end', 'an "open end', (), ()),
    ],
)
def test_phrases_and_excluded_words_are_read(
    question: str, text: str, phrases: tuple[str, ...], excluded: tuple[str, ...]
) -> None:
    assert musts(question) == (text, phrases, excluded)


def test_a_question_to_be_answered_excludes_nothing() -> None:
    assert musts("flights -tax", excludes=False) == ("flights -tax", (), ())


def test_only_words_to_leave_out_are_no_search() -> None:
    with pytest.raises(QuestionError, match="only words to leave out"):
        musts("-gas")


def test_what_was_typed_is_kept() -> None:
    found: Query = analyse("heating  -gas", NOW, excludes=True)
    assert (found.asked, found.text, found.terms) == ("heating -gas", "heating", ("heating",))
    assert Filter(not_notes=frozenset({("a", "b")})).is_empty is False
