"""Questions made from a vault: a wrong gold place, or an "unanswerable" one that the notes answer,
would make every figure of it a lie."""

from __future__ import annotations

import random

import pytest

from ragvault.evaluation.dataset import parse_questions
from ragvault.evaluation.generate import (
    as_lines,
    generate,
    off_topic_questions,
    swapped_key,
    usable_question,
)
from ragvault.evaluation.rules import Finds, find_all, prose
from ragvault.model import StoredChunk
from ragvault.text import tokens
from tests.support.evaluating import passage

NOTES = [
    passage(
        "Boat.md",
        ("Boat", "Winter storage"),
        "## Winter storage\n\nThe boat stands in the yard at Uphill from October to March.\n"
        "The cradle was built on 3 October 2023 by two men from the club.\n"
        "On that day we met Priya Raman, who sold us the cover.",
    ),
    passage(
        "Sourdough.md",
        ("Sourdough", "Method"),
        "## Method\n\nAn autolyse is a rest of flour and water before the salt goes in.\n"
        "After that the dough has to rest for 45 minutes under a damp cloth.",
    ),
    passage(
        "People/Okafor.md",
        ("Jonas Okafor",),
        "# Jonas Okafor\n\nJonas Okafor is an engineer who writes the tide predictions.\n"
        "His office at the harbour has the best view of the whole town, he says.\n"
        "- **Phone:** 0117 555 0199\n",
        title="Jonas Okafor",
    ),
]


@pytest.fixture
def found() -> Finds:
    return find_all(NOTES)


def finds(kind: str, *passages: StoredChunk) -> list[str]:
    return [find.key for find in find_all(passages).every if find.kind is kind]


def test_kinds_are_found_where_they_stand(found: Finds) -> None:
    keys = {(find.kind, find.key, find.place.chunk.rel_path) for find in found.every}
    assert ("heading", "Winter storage", "Boat.md") in keys
    assert ("date", "3 October 2023", "Boat.md") in keys
    assert ("field", "Jonas Okafor", "People/Okafor.md") in keys
    assert ("definition", "an autolyse", "Sourdough.md") in keys
    assert ("quantity", "45 minutes", "Sourdough.md") in keys


def test_half_have_an_answer_with_a_place_in_the_vault(found: Finds) -> None:
    made = generate(found, 12)
    good = [one for one in made if one.answerable]
    assert len(good) == 6
    assert {file for one in good for file, _ in one.places} <= {n.chunk.rel_path for n in NOTES}
    assert {one.kind for one in good} >= {"heading", "definition", "date", "field", "quantity"}
    assert all(not one.places for one in made if one.kind == "off_topic")


def test_swapped_entity_is_in_no_note(found: Finds) -> None:
    everything = " ".join(n.chunk.text for n in NOTES)
    kinds = set()
    for find in found.every:
        key = swapped_key(find.key, found, random.Random(1))
        if key is not None:
            kinds.add(find.kind)
            assert key not in everything
            assert key != find.key
            assert any(word not in tokens(everything) for word in tokens(key)), key
    assert kinds == {"heading", "definition", "date", "field", "quantity"}


def test_swapped_questions_are_asked_like_the_others(found: Finds) -> None:
    swapped = [one for one in generate(found, 40) if one.kind.endswith("-swapped")]
    assert len(swapped) >= 4
    assert not any(one.answerable for one in swapped)
    assert not {one.text for one in swapped} & {one.text for one in generate(found, 40)[:8]}


def test_pairs_stay_together_for_the_cross_validation(found: Finds) -> None:
    """A question and its swapped twin in different folds would leak one into the other."""
    made = generate(found, 40)
    groups = {one.group for one in made if one.answerable}
    assert {one.group for one in made if one.kind.endswith("-swapped")} & groups


def test_same_seed_same_set(found: Finds) -> None:
    assert generate(found, 20, seed=5) == generate(find_all(NOTES), 20, seed=5)
    assert generate(found, 20, seed=5) != generate(found, 20, seed=6)


def test_what_is_written_can_be_read_back(found: Finds) -> None:
    made = generate(found, 20)
    questions = parse_questions(as_lines(made), "made")
    assert [q.text for q in questions] == [one.text for one in made]
    assert [q.answerable for q in questions] == [one.answerable for one in made]


def test_key_in_many_notes_is_not_asked_for() -> None:
    """ "What do my notes say about weekly review?" has fifty right places, or none."""
    many = [
        passage(f"{i}.md", ("Weekly review",), "# Weekly review\n\n" + "what went on then. " * 5)
        for i in range(4)
    ]
    assert find_all(many).in_one_note() == {}


def test_every_section_of_the_note_that_holds_it_is_a_right_place() -> None:
    text = "We met Amara in the harbour on 3 October 2023 and had tea with her."
    twice = [passage("a.md", (heading,), text) for heading in ("A", "B")]
    made = [one for one in generate(find_all(twice), 4) if one.kind == "date"]
    assert made[0].places == (("a.md", "A"), ("a.md", "B"))


def test_generic_heading_is_asked_for_with_its_note() -> None:
    note = passage(
        "Dal.md", ("Weeknight dal", "Ingredients"), "## Ingredients\n" + "- lentils\n" * 9
    )
    [find] = find_all([note]).every
    assert find.key == "Dal"
    assert all("Ingredients" in shape for shape in find.shapes)


@pytest.mark.parametrize(
    "text",
    [
        "```\nThe router is a box under the stairs of the house.\n```",
        "| The router is a box | under the stairs of the house |",
        "> The router is a box under the stairs of the house.",
        "---\nThe router is a box under the stairs of the house: x\n---\n",
        "It is a box under the stairs of the old house.",
        "This is the box under the stairs of the old house.",
    ],
)
def test_no_definition_from_code_tables_quotations_or_pronouns(text: str) -> None:
    assert finds("definition", passage("a.md", ("A",), text)) == []


def test_links_and_marks_are_read_as_their_text() -> None:
    [sentence] = prose(
        "- [ ] The [[Router|router]] is a **Draytek** in the [cupboard](x.md) there."
    )
    assert sentence == "The router is a Draytek in the cupboard there."


def test_templates_and_other_scripts() -> None:
    assert (
        finds("heading", passage("Templates/Person template.md", ("Family tree",), "x" * 90)) == []
    )
    note = passage("t.md", ("مفردات عربية",), "# مفردات عربية\n" + "كلمة " * 20)
    texts = [one.text for one in generate(find_all([note]), 2)]
    assert "مفردات عربية?" in texts  # no English words around it


def test_short_headings_of_a_dense_script_are_asked_for() -> None:
    """Two characters are a whole title in Chinese: such a vault gave no question at all."""
    text = "# {0}\n\n龙井茶产于杭州，水温应为八十度，泡两分钟即可。"
    made = [passage(f"{name}.md", (name,), text.format(name)) for name in ("绿茶", "担々麺")]
    assert finds("heading", *made) == ["绿茶", "担々麺"]
    long_one = "如何在家里用一只普通的铁锅煮出一碗好吃的担担面"
    assert finds("heading", passage("a.md", (long_one,), text.format(long_one))) == [long_one]
    assert finds("heading", passage("b.md", ("茶",), text.format("茶"))) == []
    assert [one.text for one in generate(find_all(made), 4)][:2] != []
    assert all(one.text.isascii() is False for one in generate(find_all(made), 4) if one.answerable)


# --------------------------------------------------------------------------- off topic


def test_bundled_questions_are_many_different_and_marked() -> None:
    questions = list(off_topic_questions())
    assert len(questions) >= 150
    assert len({text for text, _ in questions}) == len(questions)
    for text, words in questions:
        assert text.endswith("?")
        assert words
        asked = tokens(text)
        near = any(w[:4] == a[:4] for a in asked for w in words)
        assert near, text  # a mark that isn't about the question would filter nothing


def test_questions_that_the_vault_may_answer_are_left_out() -> None:
    """A cook's notes may well say how long basmati takes."""
    cook = find_all(
        [passage("Rice.md", ("Rice",), "Basmati takes ten minutes, then rest it for five.")]
    )
    made = generate(cook, 400)
    assert len([one for one in made if one.kind == "off_topic"]) > 100
    assert not [one for one in made if "basmati" in one.text.lower()]


# --------------------------------------------------------------------------- a model's questions


def test_model_s_question_is_checked_against_the_passage() -> None:
    text = "The boiler is a Vaillant ecoTEC plus from 2019."
    assert usable_question("Question: What make is the boiler?\nAnswer: …", text) == (
        "What make is the boiler?"
    )
    assert usable_question("What does the passage say about the boiler?", text) is None
    assert usable_question("Who won the cup?", text) is None
    assert usable_question("The boiler is new.", text) is None
    assert usable_question("", text) is None


def test_model_writes_the_answerable_ones_only(found: Finds) -> None:
    long = [passage(f"{i}.md", ("H",), f"The pump{i} needs oil every year. " * 5) for i in range(8)]
    made = generate(find_all(long), 8, ask=lambda stored: f"What about {stored.chunk.rel_path}?")
    assert {one.kind for one in made if one.answerable} == {"model"}
    assert not any(one.kind == "model" for one in made if not one.answerable)


def test_empty_vault_gives_only_off_topic_questions() -> None:
    made = generate(Finds(), 10)
    assert {one.kind for one in made} == {"off_topic"}
