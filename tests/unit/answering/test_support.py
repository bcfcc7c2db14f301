"""An invented number, name or sentence is reported; an honest one is not.

`python -m tests.bench.statements` measures it on labelled statements.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.answering.check.support import coverage, unsupported
from ragvault.config.settings import Settings
from tests.support.answering import hit

CHUNK = hit(
    "work/launch-plan.md",
    "Launch > Budget",
    "## Budget\n"
    "Alice Moreau approved 1,500 dollars on March 5, 2024. The launch takes 4.2 million users.\n"
    "We did not choose Firestore for the backend. Uptime was 99.5 % at 14:30.\n"
    "It needs three retries and version v2.3.1 of `ragtool index --full`.\n"
    "- Deploys run every 20 minutes\n",
    title="Launch plan",
    mtime=0.0,
)


def test_the_day_that_a_note_says_holds_a_date_and_that_of_its_file_does_not() -> None:
    """ "In 2026-11-23, expansion engines were common": the vault had been copied that day."""
    said = "Alice Moreau approved 1,500 dollars on 1 March 2024."
    noted = "Alice Moreau approved 1,500 dollars."
    assert unsupported(said, [hit("Budget.md", "", noted)])
    assert not unsupported(said, [hit("Budget.md", "", noted, mtime=0.0)])


@pytest.mark.parametrize(
    "statement",
    [
        "Alice Moreau approved 1,500 dollars.",
        "Alice Moreau approved $1500 on 2024-03-05.",
        "Alice Moreau approved 1.500 dollars on 5 March 2024.",
        "The approval of 1500 dollars by Moreau came in March 2024.",
        "The launch plan reaches 4,200,000 users.",
        "The uptime was 99.5% at 14:30.",
        "The uptime was 99.5% at 2:30 pm.",
        "The uptime was 99,5 percent.",
        "We didn't choose Firestore for the backend.",
        "It needs 3 retries.",
        "Run `ragtool index --full` with version v2.3.1.",
        "Deploys are run every 20 min.",
        "According to your notes, deploys run every 20 minutes.",
        "1. Deploys run every 20 minutes",
        "**Deploys** run every *20 minutes*.",
        "In the Launch Plan note, the budget is approved.",
        "The note is from 2024-03-01.",
    ],
)
def test_what_the_chunk_says_in_other_words_is_held(statement: str) -> None:
    assert unsupported(statement, [CHUNK]) == ()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("Alice Moreau approved 1,600 dollars.", "1,600"),
        ("Alice Moreau approved 15,000 dollars.", "15,000"),
        ("Alice Moreau approved 1,500 dollars on March 6, 2024.", "March 6, 2024"),
        ("Alice Moreau approved 1,500 dollars in March 2023.", "March 2023"),
        ("Deploys run every thirty minutes.", "thirty minutes"),
        ("The launch takes 4.2 billion users.", "another unit"),
        ("Deploys run every 20 hours.", "another unit"),
        ("The budget was approved by Alice Dupont.", "Dupont"),
        ("The budget for Kubernetes was approved, said AWS.", "AWS"),
        ("We did choose Firestore for the backend.", "opposite"),
        ("Alice Moreau never approved 1,500 dollars.", "opposite"),
        ("It needs five retries and version v2.3.1.", "five"),
        ("Run `ragtool destroy --everything` now.", "ragtool destroy"),
        ("Penguins inhabit the southern hemisphere and eat krill.", "words"),
        ("The uptime was 99.5% at 15:30.", "15:30"),
        ("The uptime was 99.5% at 2:30 am.", "2:30"),
        ("The uptime was 99.5% at 4pm.", "4"),
    ],
)
def test_what_the_chunk_does_not_say_is_reported_with_the_reason(
    statement: str, reason: str
) -> None:
    assert reason in " ".join(unsupported(statement, [CHUNK]))


TABLE = hit(
    "home/paint.md",
    "Paint",
    "| room | colour | price |\n|---|---|---|\n| hall | Oatmeal | £42 |\n| bath | Chalk | £38 |\n\n"
    "- roof fund: £4,200 of 6,000\n- trip: £1,150 of 1,800\n\n"
    "Tomas put Signe to bed. Apples: 23 kg pressed, 14 bottles. Buy a canoe? no",
)


@pytest.mark.parametrize(
    ("held", "wrong"),
    [
        ("The hall is painted in Oatmeal for £42.", "The hall is painted in Oatmeal for £38."),
        ("The bath is in Chalk.", "The bath is in Oatmeal."),
        (
            "The hall is Oatmeal and the bath is Chalk.",
            "The hall is Chalk and the bath is Oatmeal.",
        ),
        ("The roof fund has £4,200 of £6,000.", "The roof fund has £6,000 of £4,200."),
        ("The trip has £1,150 of £1,800.", "The trip has £4,200 of £6,000."),
        ("23 kg of apples were pressed: 14 bottles.", "14 kg of apples were pressed: 23 bottles."),
        ("We don't buy a canoe.", "We buy a canoe."),
    ],
)
def test_what_stands_there_has_to_stand_together(held: str, wrong: str) -> None:
    """A fluent sentence with the figure of the next row is the error that a reader won't see."""
    assert unsupported(held, [TABLE]) == ()
    assert unsupported(wrong, [TABLE]) != ()


@pytest.mark.parametrize(
    ("held", "wrong"),
    [
        ("Sara sits the dog on Wednesdays.", "Ged sits the dog on Wednesdays."),
        ("Ged works nights.", "Sara works nights."),
        ("Sara sits the dog, and Ged works nights.", "Ged sits the dog, and Sara works nights."),
        ("I did the swearing and Dev the cutting.", "I did the cutting and Dev the swearing."),
        ("Mila's SIM costs £4.", "Mila's SIM costs £29."),
        ("The new phone with 15 GB costs £14.", "The new phone with 15 GB costs £29."),
        ("On 2024-05-28 V4 was climbed.", "On 2024-01-16 V4 was climbed."),
        ("The heating runs from 5:50 to 8:15.", "The heating runs from 5:50 to 7:00."),
        ("There were 212 complaints in 2025.", "There were 61 complaints in 2025."),
    ],
)
def test_nothing_else_stands_in_its_place(held: str, wrong: str) -> None:
    """A name or an amount that the note has, but of somebody or something else."""
    note = hit(
        "people/sara.md",
        "Sara Coleman",
        "Dog sits on Wednesdays. Ged works nights, so no drilling.\n\n"
        "Dev did the cutting and I did the swearing.\n\n"
        "New phone: 15 GB, £14, monthly\nOld phone: £29\nMila: SIM £4\n\n"
        "2024-01-16 first V3 climbed\n2024-05-28 V4 climbed with knee tape\n\n"
        "Heating 5:50–8:15, weekends 7:00–22:00. In 2025 they counted complaints: 212, of which 61 "
        "named the drill.",
    )
    assert unsupported(held, [note]) == ()
    assert unsupported(wrong, [note]) != ()


@pytest.mark.parametrize(
    ("held", "wrong"),
    [
        ("You want to prune the plum tree.", "You pruned the plum tree."),
        ("Gwen might have the key.", "Gwen has the key."),
        ("The old code was 8852.", "The code is 8852."),
        ("The chimney has not been cleaned.", "The chimney has been cleaned."),
        ("Tea brings it on.", "Coffee brings it on."),
    ],
)
def test_what_is_planned_doubted_or_past_is_not_told_as_so(held: str, wrong: str) -> None:
    """All the words are right, and the answer says what the note only meant to do."""
    note = hit(
        "home/list.md",
        "Home",
        "- [ ] clean the chimney\n- want to prune the plum tree\n\n"
        "Perhaps Gwen still has the key.\n\nCode: 4190 (old: 8852)\n\n"
        "Tea brings it on; coffee, oddly, doesn't.",
    )
    assert unsupported(held, [note]) == ()
    assert unsupported(wrong, [note]) != ()


@pytest.mark.parametrize(
    ("said", "passage"),
    [
        (
            "Preheat the oven to 220 degrees.",
            "Preheat the oven to 220 degrees before baking, then bake for 40 minutes.",
        ),
        ("Run the migration script.", "Run the migration script before you restart the server."),
        ("Nico is 8 years old.", "Nico is 8 years old and plays football."),
        ("The client makes 4 retries.", "The client makes 4 retries before it gives up."),
    ],
)
def test_what_comes_first_is_not_over(said: str, passage: str) -> None:
    assert unsupported(said, [hit("a.md", "", passage)]) == ()


def test_a_word_that_begins_like_a_denial_is_none() -> None:
    studies = hit("Ana.md", "", "Ana studies at the university in Porto.")
    assert unsupported("Ana doesn't study at the university in Porto.", [studies])


def test_what_says_no_in_other_words_is_no_contradiction() -> None:
    note = hit("kit.md", "Kit", "First aid kit: checked 2026-09-06, burn gel missing")
    assert unsupported("The first aid kit was checked and has no burn gel.", [note]) == ()
    assert unsupported("The first aid kit was not checked on 2026-09-06.", [note]) != ()


@pytest.mark.parametrize(
    ("held", "text"),
    [
        ("She's allergic to nuts.", "Anna's allergic to nuts, no cake."),
        ("Tomek's flight lands at 9:40.", "Tomek Kowalski's flight lands at 9:40."),
        ("Your mother's birthday is on 4 May.", "Mum's birthday is on 4 May."),
        ("Ben married Anna in Kent.", "Anna married Ben in Kent."),
        ("Ben und Anna ziehen nach Kent.", "Anna und Ben ziehen nach Kent."),
        ("La revisión costó sesenta y ocho euros.", "La revisión costó 68 euros."),
        (
            "Nineteen votes were for Bruges, eleven votes against.",
            "Bruges, not Gdańsk (19:11 votes)",
        ),
        ("On Monday it opens at 9.", "Opens: MON 9, TUE 10, WED closed."),
    ],
)
def test_the_same_in_other_words_is_held(held: str, text: str) -> None:
    assert unsupported(held, [hit("a.md", "", text)]) == ()


@pytest.mark.parametrize(
    ("held", "text", "wrong"),
    [
        (
            "The wedding is at 3 pm in Kent.",
            "The wedding (maybe with a band?) is at 3 pm in Kent.",
            "The wedding is at 3 pm with a band.",
        ),
        (
            "O pão não fica na mesa, fica no armário da cozinha.",
            "O pão não fica na mesa. O pão fica no armário da cozinha.",
            "O pão não fica no armário da cozinha.",
        ),
        ("Bake it at 180 degrees.", "Bake at 180 °C for 40 min.", "Bake it at 40 degrees."),
        (
            "They've paid the deposit for the hall.",
            "Paid: the deposit for the hall.",
            "Tom've paid the deposit for the hall.",
        ),
        (
            "Bern ist am Dienstag um 18 Uhr mit der Gruppe an der Reihe.",
            "Am Dienstag um 18 Uhr ist Bern mit der Gruppe an der Reihe.",
            "Bernd ist am Dienstag um 18 Uhr mit der Gruppe an der Reihe.",
        ),
    ],
)
def test_a_form_of_words_costs_no_statement_and_lets_no_other_pass(
    held: str, text: str, wrong: str
) -> None:
    assert unsupported(held, [hit("a.md", "", text)]) == ()
    assert unsupported(wrong, [hit("a.md", "", text)]) != ()


def test_what_several_items_hold_is_held_part_by_part() -> None:
    boat = hit("boat.md", "Boat", "- 9 m long, steel\n- Volvo engine, 30 hp\n- berth: Hel, 12 m")
    items = ["The boat is 9 m long", "made of steel", "has a Volvo engine of 30 hp"]
    assert unsupported(f"{', '.join(items)}.", [boat]) == ()
    assert unsupported(f"{', '.join(items * 6)}.", [boat]) == ()
    for wrong in ("berth is 9 m", "berth is 30 m", "length is 30 m"):
        assert unsupported(f"{', '.join(items)}, and the {wrong}.", [boat]) != ()
        assert unsupported(f"{', '.join(items * 6)}, and the {wrong}.", [boat]) != ()


def test_a_no_to_what_the_heading_names_is_one() -> None:
    note = hit("plans.md", "Phone", "Mila: no phone, only a watch! SIM of Mila: £4")
    assert unsupported("Mila has no phone.", [note]) == ()
    assert unsupported("Mila has a phone.", [note]) != ()


def test_a_word_in_other_words_counts_by_its_meaning() -> None:
    """Without a model the words are all there is to compare."""
    model = OnnxEmbedder(Settings())
    note = hit("car.md", "Car", "The automobile was repaired; the mechanic replaced both brakes.")
    statement = "The vehicle was fixed by a garage that changed its brakes."
    assert unsupported(statement, [note]) != ()
    assert unsupported(statement, [note], model.embed_documents) == ()
    invented = "Penguins breed in colonies along the southern coast."
    assert unsupported(invented, [note], model.embed_documents) != ()


def test_a_german_noun_is_no_name() -> None:
    note = hit("brille.md", "Brille", "Die Fassung kostete 310 € und liegt im Kasten von Mila.")
    assert unsupported("Die Fassung kostete laut der Notiz 310 €.", [note]) == ()
    assert unsupported("Die Fassung von Henrike kostete 310 €.", [note]) != ()


def test_a_raised_digit_is_no_number() -> None:
    """Footnote marks stand in notes of books; "¹" is a digit to Python, and no number."""
    noted = hit("books/walden.md", "", "He wrote it by the pond.¹ The cabin cost 28 dollars.②")
    assert not unsupported("The cabin cost 28 dollars.", [noted])
    assert unsupported("The cabin cost 82 dollars.", [noted])


@pytest.mark.parametrize(
    ("held", "wrong"),
    [
        ("You shouldn't turn valve B.", "Turn valve B."),
        ("Never run `make clean-all` on the server.", "Run `make clean-all` on the server."),
        ("listens on port 8443", "listens on port 84"),
        ("The test is due on 2 June 2027.", "The test is due on 2 June 2026."),
        ("Breakfast is included.", "Breakfast is not included at the hotel."),
        ("Parking is not included.", "Parking is included."),
        ("The boiler was serviced on 3 June 2026.", "The old boiler was covered."),
        ("The checkup was on 12 March 2026.", "The checkup was on 14 May 2026."),
    ],
)
def test_a_piece_of_a_sentence_is_not_the_sentence(held: str, wrong: str) -> None:
    """Its "not", its other half and its other date say something else."""
    note = hit(
        "home/house.md",
        "House",
        "Boiler serviced on 3 June 2026. The old boiler wasn't covered.\n\nDo not turn valve B.\n\n"
        "Never run `make clean-all` on the server, it listens on port 8443.\n\n"
        "Next test due 2 June 2027.\n\nHotel: breakfast included, parking not included.\n\n"
        "Checkup on 12 March 2026 at 09:40, next one 14 May 2026.",
        title="Boiler",
    )
    assert unsupported(held, [note]) == ()
    assert unsupported(wrong, [note]) != ()


def test_a_month_in_words_is_no_name_that_is_missing() -> None:
    note = hit("a.md", "A", "brace on: 2026-02-10, next adjustment 2026-12-08 at 16:15")
    assert unsupported("The next adjustment is on 8 December 2026 at 16:15.", [note]) == ()
    assert unsupported("The next adjustment is on 9 December 2026 at 16:15.", [note]) != ()


def test_across_languages_something_has_to_be_comparable() -> None:
    """Else any statement would pass that its model cites itself."""
    note = hit("a.md", "A", "Der Vorhang wird zweilagig, das hat Thomas im Foyer so beschlossen.")
    assert unsupported("Thomas decided it in the foyer.", [note]) == ()
    assert unsupported("The meeting was cancelled because of the weather.", [note]) != ()


def test_an_answer_in_another_language_is_held_to_numbers_not_words() -> None:
    german = "Das Budget von 1.500 Dollar ist im März 2024 von Alice Moreau genehmigt worden."
    assert unsupported(german, [CHUNK]) == ()
    assert unsupported(german.replace("1.500", "1.600"), [CHUNK])
    assert unsupported("预算是1500美元。", [CHUNK]) == ()


def test_chinese_against_chinese_is_compared_by_its_words() -> None:
    note = hit("笔记.md", "预算", "项目预算为一万五千元，由王小明批准。")
    assert unsupported("项目预算由王小明批准", [note]) == ()
    assert unsupported("企鹅生活在南极洲的冰上", [note])


def test_several_chunks_hold_a_statement_together() -> None:
    other = hit("b.md", "B", "The frontend is written in Svelte.")
    statement = "Alice Moreau approved 1,500 dollars, and the frontend is written in Svelte."
    assert unsupported(statement, [CHUNK, other]) == ()
    assert unsupported(statement, [other])


def test_nothing_cited_holds_nothing_and_no_words_claim_nothing() -> None:
    assert unsupported("The sky is green.", []) != ()
    assert unsupported("—", []) == ()


def test_addresses_versions_and_odd_digits_are_compared_as_text() -> None:
    note = hit("net.md", "Ports", "It listens on 127.0.0.1:8000, ratio 1:2:3, IPv6 and ½ or ٣.")
    assert unsupported("It listens on 127.0.0.1:8000.", [note]) == ()
    assert unsupported("It listens on 127.0.0.1:9000.", [note])


def test_a_passage_that_would_be_no_note_by_itself_is_read() -> None:
    """Its note is text; where it pasted a terminal's output a passage may be half controls."""
    bold = "".join(f"{c}\b{c}" for c in "The ferry leaves at nine.")
    assert unsupported("The ferry leaves at five.", [hit("log.md", "Ferry", bold)])


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=120))
def test_a_chunk_always_holds_its_own_text(text: str) -> None:
    assert unsupported(text, [hit("n.md", "N", text)]) == ()
    assert 0.0 <= coverage(text, "some words") <= 1.0


@settings(max_examples=100, deadline=None)
@given(st.text("0123456789.,:-/ apm%$k", max_size=40), st.text("0123456789.,:-/ %", max_size=40))
def test_no_spelling_of_numbers_breaks_the_check(statement: str, text: str) -> None:
    unsupported(statement, [hit("n.md", "N", text)])


DIARY = hit(
    "log/diary.md",
    "Diary",
    "Practice starts at 7.30pm in the hall, with Jonas. Doors close at 19h45.\n"
    "We stay with Sue 2–7 May 2026. Tue 12 Jan 2027: Femi owes Tomek £40.\n"
    "Jonas prefers a call to a long thread.\n"
    "- Ada (Tomek's sister, writes to Femi) on the kickoff: viernes\n"
    "- they met and sat in the sun by the hall\n"
    "- pace 6:25 min a kilometre\n",
)


@pytest.mark.parametrize(
    ("held", "wrong"),
    [
        ("Practice starts at 7:30 PM in the hall.", "Practice starts at 7:30 AM in the hall."),
        ("Practice starts at 19:30 in the hall.", "Practice starts at 17:30 in the hall."),
        ("The pace was 06:25 min a kilometre.", "The pace was 05:25 min a kilometre."),
        ("Doors close at 7:45 pm.", "Doors close at 8:45 pm."),
        ("You stay with Sue from 2 May to 7 May 2026.", "You stay with Sue from 3 May to 7 May."),
        ("You stay with Sue from 2026-05-02 on.", "You stay with Sue from 2026-05-03 on."),
        ("You stay with Sue May 2 to 7.", "You stay with Sue May 2 to 9, 2026."),
        ("Femi owes it on Tuesday, 12 January.", "Femi owes it on Wednesday, 12 January."),
        (
            "We stay with Sue from Saturday, 2 May 2026.",
            "We stay with Sue from Sunday, 2 May 2026.",
        ),
        ("The kickoff with Ada is on Friday.", "The kickoff with Ada is on Monday."),
        ("They sat in the sun by the hall.", "They met in the hall on Sunday."),
        ("Femi owes Tomek £40.", "Tomek owes Femi £40."),
        ("Jonas prefers a call to a long thread.", "Jonas prefers a long thread to a call."),
        ("Ada is Tomek's sister and writes to Femi.", "Ada is Femi's sister and writes."),
    ],
)
def test_what_is_said_in_another_form_is_held_and_another_thing_is_not(
    held: str, wrong: str
) -> None:
    """Times, ranges, weekdays; who does what to whom."""
    assert unsupported(held, [DIARY]) == ()
    assert unsupported(wrong, [DIARY]) != ()


@pytest.mark.parametrize(
    ("said", "passage"),
    [
        (
            "Insulin is a hormone produced by beta cells.",
            "Insulin is a hormone produced by beta cells ; it is considered to be the main one.",
        ),
        ("The fair was called off.", "Due to rain the fair was called off."),
    ],
)
def test_what_is_so_by_repute_or_for_a_reason_is_not_open(said: str, passage: str) -> None:
    assert unsupported(said, [hit("note.md", text=passage)]) == ()
    planned = hit("note.md", text="The fair is considered. Insulin by beta cells is due to come.")
    assert unsupported("The fair was held.", [planned]) != ()
