"""With no model the notes speak for themselves: word for word, to the point, cited."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from ragvault.answering.page import quoted
from ragvault.answering.quote.asks import asks
from ragvault.answering.quote.units import pages_of
from ragvault.model import Answer, Detail, Hit, Quote
from tests.support.answering import asked, evidence, extract, hit

BACKEND = hit(
    "work/backend.md",
    "Backend > Decision",
    "## Decision\n\nWe talked for hours. We chose Go for the backend on 2024-03-01.\n"
    "It costs 1,500 dollars a month.\n\nThe reasons were:\n\n- one static binary\n"
    "- the team knows it\n",
)
HOWTO = hit(
    "til/undo.md",
    "Undo a commit",
    "# Undo a commit\n\nSometimes one commits too early.\n\n```sh\ngit reset --soft HEAD~1\n```\n",
    rank=2,
)
TABLE = hit(
    "ref/ports.md",
    "Ports",
    "| service | port |\n|---------|------|\n| postgres | 5432 |\n| redis | 6379 |\n",
    rank=3,
)
HITS = (BACKEND, HOWTO, TABLE)


def said(question: str, *hits: Hit, detail: Detail = Detail.NORMAL) -> Answer:
    chosen = hits or HITS
    return quoted(
        asked(question, evidence(*chosen), quotes=extract(question, chosen, detail=detail))
    )


def units_of(*hits: Hit) -> list[str]:
    return [unit.text for page in pages_of(hits) for unit in page.units]


def test_the_answering_sentence_is_quoted_with_its_citation() -> None:
    answer = said("Which language did I choose for the backend?", detail=Detail.BRIEF)
    said_so = "We talked for hours. We chose Go for the backend on 2024-03-01."
    cited = "[File: work/backend.md, Section: Backend > Decision]"
    assert answer.text == f"{said_so} It costs 1,500 dollars a month. {cited}"
    assert answer.references[0].snippet.startswith(said_so)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How do I undo a commit?", "```sh\ngit reset --soft HEAD~1\n```"),
        ("What port does redis use?", "service: redis · port: 6379"),
        ("What were the reasons, static binary?", "The reasons were:\n- one static binary"),
        ("How much does the backend cost?", "It costs 1,500 dollars a month."),
    ],
)
def test_code_rows_and_items_come_with_what_makes_them_readable(question: str, wanted: str) -> None:
    assert wanted in said(question).text


def test_every_quote_is_verbatim_and_every_citation_in_its_place() -> None:
    quotes = extract("Tell me about the backend, ports and commits", HITS, detail=Detail.DETAILED)
    for quote in quotes:
        text = " ".join(quote.hit.chunk.text.split())
        for part in quote.parts:
            assert " ".join(part.split()) in text
    answer = quoted(asked("", evidence(*HITS), quotes=quotes))
    assert len(answer.citations) == len(quotes)
    for citation in answer.citations:
        assert answer.text.startswith(citation.raw, citation.position)


def test_frontmatter_is_quoted_by_the_field_and_only_where_it_answers() -> None:
    note = hit(
        "house.md",
        "Heat pump",
        "---\ntitle: Heat pump\ntags: [house]\nsupplier:\n  contact: Derek Pugh\n"
        '  phone: "0117 496 0152"\n---\n# Heat pump\n\nWe replaced the gas boiler.\n',
    )
    phone = said("What is the supplier's phone number?", note).text
    assert "supplier: contact: Derek Pugh, phone: 0117 496 0152" in phone
    replaced = said("What did the heat pump replace?", note).text
    assert "We replaced" in replaced and "supplier" not in replaced


def test_rows_of_one_table_come_under_one_header() -> None:
    rows = "".join(f"| svc{n} | 50{n} | Ann |\n" for n in range(3, 9))
    note = hit("p.md", "Ports", f"| service | port | owner |\n|---|---|---|\n{rows}")
    text = said("List the ports of svc3, svc4 and svc5", note).text
    assert text.count("service · port · owner\nsvc3 · 503 · Ann\nsvc4 · 504 · Ann") == 1
    one = said("Which port does svc7 use?", note, detail=Detail.BRIEF).text
    assert one.startswith("Ports — service: svc7 · port: 507 · owner: Ann") or "svc7" in one


SNIPPETS = hit(
    "daily.md",
    "Daily Notes",
    "- **Command:** open the Daily Note\n- **Snippets:** Type `/today`, `/yesterday`,"
    " `/tomorrow` in any note\n\nText.\n\n| Snippet | Date |\n|---|---|\n| `/today` | today |\n"
    "| `/tomorrow` | tomorrow |\n| `/yesterday` | yesterday |\n| `/monday` | next Monday |\n"
    "| `/+1d` | tomorrow |\n| `/-3d` | 3 days ago |\n| `/+1w` | in a week |\n",
)


def test_a_row_whose_words_another_quote_names_is_quoted_all_the_same() -> None:
    text = said("What does the Daily Note snippet /yesterday do?", SNIPPETS).text
    assert "in any note" in text
    assert re.search(r"`/yesterday` · (?:Date: )?yesterday", text), text


def test_rows_of_a_table_that_are_left_out_leave_a_mark() -> None:
    rows = "".join(f"| svc{n} | 50{n} |\n" for n in range(10, 40))
    note = hit("p.md", "Ports", f"| service | port |\n|---|---|\n{rows}")
    text = said("What runs on 5013, 5037 and 5038?", note).text
    shown = "\nsvc12 · 5012\nsvc13 · 5013\n"
    assert shown in text and "\n[…]\nsvc37 · 5037\nsvc38 · 5038\n[…] [File" in text


def test_a_table_within_a_list_is_read_as_one() -> None:
    """As outliners write it; what follows it in the list follows it in the quote."""
    rows = "".join(f"  | svc{n} | 50{n} | Ann |\n" for n in range(10, 40))
    outline = f"- Ports\n- | service | port | owner |\n  |---|---|---|\n{rows}- next free: 5041\n"
    note = hit("p.md", "Ports", outline)
    brief = said("Which port does svc17 use?", note, detail=Detail.BRIEF).text
    assert "service · port · owner\nsvc1" in brief and "\nsvc17 · 5017 · Ann\n" in brief
    assert [text.strip() for text in units_of(note)][-2:] == [
        "| svc39 | 5039 | Ann |",
        "- next free: 5041",
    ]


def test_what_has_not_happened_is_asked_for_as_a_list() -> None:
    assert asks("which invoices haven't been paid yet").whole
    assert not asks("when haven't they been paid").whole


def test_a_bracket_that_ends_in_dots_does_not_end_the_sentence() -> None:
    first = (
        "Run a server so that agents (Claude Desktop, Cursor, Zed, …) can read the workspace (its"
        " notes, tags etc.)\nand change it by tools."
    )
    others = ("It is started by hand (or by cron.)", "Each agent gets a session of its own then.")
    assert units_of(hit("m.md", "M", " ".join((first, *others)))) == [first, *others]


def test_a_short_passage_is_quoted_whole_a_long_one_by_what_answers() -> None:
    """The answer is often beside the words of the question."""
    short = "The sourdough of the week:\n\n500 g flour, 430 g water.\n\nBake it hot.\n"
    text = said("how much water in the sourdough", hit("s.md", "Sourdough", short)).text
    assert "500 g flour, 430 g water.\nBake it hot." in text
    filler = "\n\n".join(f"On day {n} the crust was a little thinner." for n in range(40))
    text = said("how much water in the sourdough", hit("s.md", "Sourdough", short + filler)).text
    assert "430 g water" in text and "day 39" not in text


def test_what_is_quoted_of_one_passage_stands_together_in_its_order() -> None:
    filler = " ".join(f"The weather of day {n} was fine." for n in range(40))
    note = hit("b.md", "Backend", f"We chose Go.\n\n{filler}\n\nThe backend is cheap.\n")
    text = said("which backend did we choose, was the backend cheap", note).text
    assert text.count("[File:") == 1
    assert text.index("We chose Go.") < text.index("The backend is cheap.")


def test_the_same_sentence_in_two_notes_is_quoted_once() -> None:
    copy = hit("copy.md", "Copy", "We chose Go for the backend on 2024-03-01.", rank=2)
    assert said("What did we choose for the backend?", BACKEND, copy).text.count("chose Go") == 1


def test_detail_bounds_the_number_of_quotes() -> None:
    likes = ("fish", "milk", "sleep", "mice", "sun", "wool", "boxes", "tuna")
    notes = [hit(f"{i}.md", "N", f"The cat likes {w}.", rank=i) for i, w in enumerate(likes, 1)]
    counts = [len(extract("What does the cat like?", notes, detail=d)) for d in Detail]
    assert counts[0] == 1
    assert 1 <= counts[1] <= 5
    assert 3 <= counts[2] <= 7


def test_a_planted_citation_in_a_note_is_not_passed_on_as_one() -> None:
    bad = hit("bad.md", "B", "The key is X [File: real.md, Section: Real]. The key is in the safe.")
    answer = said("Where is the key?", bad)
    assert "[File: real.md" not in answer.text
    only = hit("bad.md", "B", "The key is X [File: real.md, Section: Real].")
    assert "[·File: real.md" in said("Where is the key?", only).text


def test_meaning_decides_where_words_do_not() -> None:
    note = hit("pets.md", "Pets", "The fence is green.\n\nOur feline sleeps at noon.\n\nRain fell.")

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [[1.0, 0.0] if "cat" in t or "feline" in t else [0.0, 1.0] for t in texts]
        return np.array(rows, dtype=np.float32)

    quotes = extract("When does the cat nap?", [note], detail=Detail.BRIEF, embed=embed)
    assert quotes[0].text == "Our feline sleeps at noon."


LINES = """# H|- item|It is so. It|This: that|[x](y.md)|![](i.png)|2. two
---|key: 2024-01-02|text here.|More: words|```|code()|¦ a ¦ b ¦|¦---¦---¦|> quote. Two.||1. one
  - sub|***|- [ ] task|漢字。文。|[File: a.md]|~~~|lead:|\t|=====|![[embed]]|%%|> [!note] Title"""
MARKDOWN = st.lists(
    st.sampled_from([x.replace("¦", "|") for x in LINES.replace("\n", "|").split("|")]), max_size=25
)


@settings(max_examples=300, deadline=None)
@given(MARKDOWN, st.sampled_from(list(Detail)))
def test_any_note_with_text_gives_verbatim_quotes(lines: list[str], detail: Detail) -> None:
    """Evidence was found, so the person must see some of it."""
    note = hit("n.md", "N", "\n".join(lines))
    folded = " ".join(note.chunk.text.split())
    for question in ("What is the item?", "How do I write code?"):
        quotes = extract(question, [note], detail=detail)
        assert bool(quotes) == bool(note.chunk.text.strip())
        for quote in quotes:
            assert all(" ".join(part.split()) in folded for part in quote.parts)
            said_words = iter(re.findall(r"\w+", quote.shown.partition(" —")[2] or quote.shown))
            known = re.findall(r"\w+", folded)
            assert all(word in known for word in said_words), "not word for word"


def test_where_links_lead_is_not_an_answer() -> None:
    """Foam writes link definitions below each note: they hold the question's words and say
    nothing. A footnote is text."""
    links = "[publish-to-pages]: ../publish-to-pages.md 'Publish to Pages'"
    below = hit(
        "a.md", "Pages", f"Commit the file and push it.\n{links}\n[^1]: Pages cost nothing."
    )
    assert units_of(below) == ["Commit the file and push it.", "[^1]: Pages cost nothing."]
    only = hit("b.md", "Other", links, rank=2)
    assert links not in said("How do I publish to Pages?", below, only).text
    assert links in said("How do I publish to Pages?", only).text


TART = hit(
    "Tart.md",
    "Tart > Directions",
    "## Directions\n\nMake the crust\n\n1. Preheat the oven.\n2. Combine flour and butter.\n"
    "3. Bake the tart.\n4. Wait.\n5. Turn it out.\n\n## Tips\n\n- Serve it cold.\n",
    title="Tart",
)


def test_a_short_sentence_between_two_that_are_quoted_leaves_no_hole() -> None:
    about = (
        "We spoke of the fence of the garden for an hour, and of the oak posts by the old house."
    )
    cost = "The new fence posts of the garden cost 33 euros each at the timber yard, with delivery."
    filler = "\n\n".join(f"On day {n} the crust was a little thinner." for n in range(40))
    note = f"{about} Clara would rather have it green. {cost}\n\n{filler}"
    text = said("What do the fence posts of the garden cost?", hit("f.md", "Fence", note)).text
    assert "old house. Clara would rather have it green. The new" in text


def test_steps_are_quoted_as_the_list_that_they_are() -> None:
    """Three steps out of order are no recipe."""
    steps = "1. Preheat the oven.\n2. Combine flour and butter.\n3. Bake the tart.\n4. Wait."
    assert steps in said("How do I bake the tart?", TART).text


def test_a_list_below_the_heading_that_was_asked_for_comes_whole() -> None:
    """ "What are the ingredients?" is not answered by one of them."""
    note = hit(
        "Tart.md",
        "Tart > Ingredients > Filling",
        "### Filling\n\n- 4 nectarines\n- 90 g sugar\n- 1 egg\n",
        title="Tart",
    )
    assert said("What are the ingredients of the tart?", note).text.startswith(
        "Tart · Ingredients —\n- 4 nectarines\n- 90 g sugar\n- 1 egg"
    )


def test_a_list_of_links_is_not_quoted_where_a_sentence_answers() -> None:
    """An index of notes holds every word of the question and answers none."""
    index = hit(
        "README.md",
        "TIL > Git",
        "- [Undo A Git Commit](git/undo.md)\n- [Undo A Git Stash](git/stash.md)\n"
        "- [List Commits](git/list.md)\n",
    )
    note = hit("git/undo.md", "Undo", "The reset command takes a commit back.", rank=2)
    assert "The reset command" in said("How do I undo a git commit?", index, note).text
    alone = said("How do I undo a git commit?", index).text
    assert "Undo A Git Commit" in alone, "better than nothing"


@pytest.mark.parametrize(
    "nothing",
    [
        "![[Albums.base#Genre]]",
        "![](albums.png)",
        '<td align="center"><a href="https://a.org/albums">x</a></td>',
        "```rust\n{{#rustdoc_include ../listings/albums.rs}}\n```",
        "The albums are listed here:",
        "See [[Albums]]",
    ],
)
def test_what_only_points_elsewhere_yields_to_what_says_something(nothing: str) -> None:
    """The person would read an address, a mark-up or an announcement for an answer."""
    note = hit("Jazz.md", "Albums", f"{nothing}\n\nI own four records by Paul Chambers.\n")
    text = said("Which albums do I own?", note, detail=Detail.BRIEF).text
    assert "I own four records" in text.split("\n")[-1]
    assert said("Which albums?", hit("J.md", "Albums", nothing)).text


@pytest.mark.parametrize(
    "bar",
    [
        "[[Home]] | [[Contact]] | [[Tools]]",
        "Related: [[Contact]], [[Tools]]",
        "Zurück: [[Home]], [[Contact]]",
    ],
)
def test_a_row_of_links_is_no_answer_however_many_words_it_shares(bar: str) -> None:
    note = hit("Garden.md", "Garden", f"{bar}\n\nThe padlock combination is 3-7-1.\n")
    assert "Contact" not in shown("home contact tools", note)


def test_code_comes_with_the_sentence_that_announces_it() -> None:
    """A command without what it does is a riddle; the sentence alone ends in a colon."""
    note = hit("pg.md", "Locks", "Long text.\n\nTo see all locks, run:\n\n```sql\nselect 1;\n```\n")
    assert (
        "To see all locks, run:\n```sql\nselect 1;\n```" in said("How do I see locks?", note).text
    )


def test_code_that_was_cut_off_opens_no_fence() -> None:
    """An open fence would swallow the citation and the rest of the answer."""
    start = hit("a.md", "Code", "Run it:\n\n```sh\nragvault index\nragvault ask")
    rest = hit("a.md", "Code", "ragvault search\n```\n\nThat is all.", rank=2, ordinal=1)
    for question in ("How do I run ragvault index?", "How do I run ragvault search?"):
        assert "```" not in said(question, start, rest).text


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("How much did it cost?", "The old lock was cut open. It cost 12 euros."),
        ("¿Cuánto costó?", "Cortaron el candado viejo. Costó 12 euros."),
    ],
)
def test_a_sentence_brings_the_short_one_before_it_along(question: str, line: str) -> None:
    """ "It costs 12 euros" does not say what does."""
    long = "We met Ann, who had lost the keys on the way to the station and was late for her train."
    others = "Nobody said so. We went home. The sun was shining. The bread was gone."
    note = hit("b.md", "Bikes", f"{long} {line} {others}")
    assert line in said(question, note, detail=Detail.BRIEF).text


TRIP = hit(
    "2023 Japan Trip.md",
    "",
    '---\ncategories:\n  - "[[Trips]]"\nstart: 2023-09-12\nend: 2023-09-30\nloc:\n  - "[[Japan]]"\n'
    "cover: https://a.org/japan-trip.jpg\npeople: []\ncreated: 2023-08-01\n---\n",
)


def test_fields_of_one_note_are_quoted_together_and_those_that_answer() -> None:
    """Facts of a trip in their order, under one citation; no addresses, no empty lists."""
    text = said("When did I travel to Japan?", TRIP).text
    assert "start: 2023-09-12\nend: 2023-09-30" in text
    assert text.count("[File:") == 1
    assert "cover" not in text and "people" not in text
    where = said("Which loc was the Japan trip?", TRIP, detail=Detail.BRIEF).text
    assert "loc: Japan" in where


def test_an_entry_of_the_frontmatter_is_quoted_below_its_key() -> None:
    """'- "[[Ridley Scott]]"' alone doesn't say who he is; names of tags answer nothing."""
    film = hit(
        "Blade Runner.md",
        "",
        '---\ntags:\n  - film\ndirector:\n  - "[[Ridley Scott]]"\nyear: 1982\n---\n',
    )
    assert units_of(film) == ['director:\n  - "[[Ridley Scott]]"', "year: 1982"]


@pytest.mark.parametrize(
    "line",
    ["[" + "![x]" * 900, "[" * 4000, "[x](" * 900, "<a " * 1300, "<!-- " * 800, "![[" * 1300,
     "| " * 2000, "- " * 2000, "> " * 2000, "http://" * 600, "```" * 1300, "1. " * 1300],
    ids=lambda line: line[:6],
)  # fmt: skip
def test_no_note_makes_the_reading_of_links_explode(line: str) -> None:
    """A line of brackets in one note would hang every answer that it is evidence for. (With one
    choice more in the pattern the first of these takes longer than the universe has.)"""
    note = hit("n.md", "N", f"{line}\n\nThe item is here.\n\n{line} x {line[:600]}")
    assert extract("Where is the item?", [note])


def test_text_below_code_that_was_cut_off_is_still_text() -> None:
    """The end of a fence would else count as the beginning of one, and hide all that follows."""
    rest = hit("a.md", "Code", "ragvault search\n```\n\nThat is all there is.")
    assert units_of(rest) == ["ragvault search", "That is all there is."]


def test_the_list_below_the_heading_that_was_asked_for_beats_a_remark() -> None:
    """ "Creating daily notes" has the three ways; a remark elsewhere only has the words."""
    ways = "- Press Alt+D\n- Type /today\n- Use the palette"
    note = hit("daily.md", "Daily > Creating daily notes", ways, title="Daily")
    remark = hit("cli.md", "CLI", "The tool can create a daily note.", rank=2, title="CLI")
    answer = said("How do I create a daily note?", remark, note, detail=Detail.BRIEF)
    assert ways in answer.text


TODAY = date(2026, 11, 22)


def shown(question: str, *hits: Hit, detail: Detail = Detail.NORMAL) -> str:
    quotes = extract(question, hits, detail=detail, today=TODAY)
    return "\n\n".join(quote.shown for quote in quotes)


def test_next_is_the_earliest_from_today_on_and_last_the_latest_before() -> None:
    log = hit(
        "Dentist.md",
        "Dentist",
        "- 2025-05-20 dentist appointment, polish\n- 2026-02-24 dentist appointment, fine\n"
        "- 2027-03-01 dentist appointment, crown\n- 2026-12-03 dentist appointment at 8:40\n",
    )
    assert "2026-12-03" in shown("next dentist appointment", log, detail=Detail.BRIEF)
    assert "2026-02-24" in shown("last dentist appointment", log, detail=Detail.BRIEF)


@pytest.mark.parametrize(("asked_for", "first"), [("next", "2026-12-03"), ("last", "2026-11-12")])
def test_the_next_and_the_last_of_notes_that_are_of_a_day_each(asked_for: str, first: str) -> None:
    """What the newest note says, of 2027, is neither."""
    days = {"2027-01-14": 1, "2026-12-03": 2, "2026-11-12": 3, "2026-10-01": 4}
    notes = [
        hit(
            f"{day} Physio.md",
            "Physio",
            f"physio session, room {rank}, brought towel {rank}",
            rank=rank,
            date=datetime.fromisoformat(f"{day}T00:00Z").timestamp(),
            mtime=0.0,
        )
        for day, rank in days.items()
    ]
    assert shown(f"{asked_for} physio session", *notes).startswith(first)


def test_who_was_there_is_read_from_the_field_whatever_its_name() -> None:
    note = hit(
        "Kick-off.md",
        "Kick-off",
        '---\ndate: 2026-03-11\nattendees: [Ann Weber, "[[Olu Ransome|Olu]]"]\n---\n# Kick-off\n'
        "The kick-off was in the big room, and there was cake.\n",
    )
    assert "attendees: Ann Weber, Olu" in shown("who was at the kick-off", note)


def test_a_question_in_the_notes_brings_its_answer() -> None:
    """Alone it repeats what was asked."""
    note = hit("faq.md", "FAQ", "Where do I park the bicycle?\n\nBehind the shed, by the wall.\n")
    assert shown("where do I park the bicycle", note).endswith(
        "Where do I park the bicycle?\nBehind the shed, by the wall."
    )


def test_the_subject_that_only_the_place_names_is_said() -> None:
    """ "Shoe size 34" is whose? The title knows."""
    note = hit(
        "People/Wilf.md", "Wilf", "- shoe size 34\n- best friend is Casper\n- likes cranes\n"
    )
    assert shown("wilf shoe size", note, detail=Detail.BRIEF).startswith("Wilf — shoe size 34")


def test_a_quotation_is_shown_as_people_read_it() -> None:
    """Marks of the format go, words stay."""
    note = hit(
        "a.md",
        "Boiler",
        "> [!info]- The boiler was serviced by [[People/Shaun|Shaun]] of [Gas](https://g.org) "
        "%%x%% on **Monday** ^b1\n",
    )
    assert "The boiler was serviced by Shaun of Gas  on Monday" in shown("boiler serviced", note)
    wrapped = hit(
        "b.md", "Boiler", "The boiler has a [long\nhandbook](https://b.org/x) in the shed."
    )
    assert "has a long handbook in the shed" in shown("boiler handbook", wrapped)
    quote = extract("boiler serviced", [note])[0]
    assert quote.text in note.chunk.text


def test_lines_that_somebody_broke_stay_lines() -> None:
    """Also the last two, which are about as wide as it gets; wrapped prose is joined."""
    log = hit(
        "h.md",
        "Harvest",
        "weighed in kg\n2023: potatoes 31, beans 9\n"
        "2025: potatoes 27 (blight, 12 July), beans 12, garlic 3.4\n"
        "2026: potatoes 38, beans 10, garlic 1.2 (rust), rhubarb 11\n",
    )
    assert "garlic 3.4\n2026: potatoes" in shown("potato harvest 2026", log)
    codes = hit(
        "w.md",
        "",
        "home: SSID elm211, password thirteen-ducks-9\n"
        "guests: password welcome2211\nnan: SSID Ziggo4471, password nancy-1946\n"
        "office: by certificate, there is none\nprinter: Brother HL-L2375DW, toner TN-2420\n",
    )
    assert "ducks-9\nguests: password welcome2211\nnan:" in shown("guests password", codes)
    census = hit(
        "c.md",
        "",
        "**1871** Josiah at Bridge Lanes, cutter, wife Sarah\n"
        "**1881** Josiah innkeeper, wife Hannah, six children (four of them Sarah's)\n"
        "**1891** same, wife Martha\n**1901** widower\n",
    )
    assert "Sarah's)\n1891 same" in shown("Josiah's wife Hannah, Sarah, Martha", census)
    prose = hit(
        "p.md",
        "Walk",
        "We walked all the way to the reservoir with the dog\nand came home when\n"
        "it was dark already, since the boiler man had rung\nMaria twice about the boiler valve.\n",
    )
    assert "had rung Maria twice" in shown("boiler valve", prose)


def test_passages_that_adjoin_are_read_together() -> None:
    """A table that was cut has its header in another passage."""
    head = hit("t.md", "Ports", "| service | port |\n|---|---|\n| redis | 6379 |", rank=2)
    rest = hit("t.md", "Ports", "| mysql | 3306 |\n| ftp | 21 |", ordinal=1)
    moved = replace(rest.stored.chunk, start_line=4, end_line=5)
    rest = replace(rest, stored=replace(rest.stored, chunk=moved))
    assert "service: mysql · port: 3306" in shown("port of mysql", head, rest, detail=Detail.BRIEF)


def test_what_a_newer_note_says_otherwise_comes_first_and_both_have_their_day() -> None:
    """The old code is among the notes for ever; the person stands before the shed today."""
    old, new = (
        hit(f"{day} Meeting.md", "", f"bike shed code: {code}", rank=rank, date=stamp)
        for rank, day, code, stamp in (
            (1, "2025-01-13", "4471", 1_736_769_600.0),
            (2, "2026-09-14", "7035", 1_789_387_200.0),
        )
    )
    with_time = [
        replace(h, stored=replace(h.stored, note=replace(h.note, mtime=0.0))) for h in (old, new)
    ]
    text = shown("bike shed code", *with_time)
    assert text == (
        "2026-09-14 Meeting — bike shed code: 7035\n\n2025-01-13 Meeting — bike shed code: 4471"
    )


def test_who_was_there_in_a_newer_note_too_is_no_repetition() -> None:
    """All of the older meeting's people were at the newer one, and one more."""
    old, new = (
        hit(
            f"{day} Committee.md",
            "Committee",
            f"---\nattendees: {people}\n---\n# Committee\n\nThe fee is {fee}.\n",
            rank=rank,
            date=stamp,
            mtime=0.0,
        )
        for rank, day, people, fee, stamp in (
            (1, "2026-06-02", "Bert Holloway, Ms Achebe", "35", 1_780_358_400.0),
            (2, "2026-10-12", "Priya Nair, Bert Holloway, Ms Achebe", "42", 1_791_763_200.0),
        )
    )
    text = shown("who was at the committee", old, new)
    assert text.index("Priya Nair, Bert Holloway") < text.index("attendees: Bert Holloway")


def test_a_short_passage_that_is_quoted_whole_keeps_the_fields_of_its_text() -> None:
    note = hit("K.md", "Kick-off", "Attendees:: Lena Vogt\nPresent: Tom, Rafael\n\nBudget 65.\n")
    assert "Attendees: Lena Vogt" in shown("kick-off budget", note)


def test_a_day_that_names_its_note_is_said_once_however_it_is_written() -> None:
    note = hit("journals/2026_09_14.md", "", "bike shed code: 7035", date=1_789_387_200.0)
    dated = replace(note, stored=replace(note.stored, note=replace(note.note, mtime=0.0)))
    assert shown("bike shed code", dated) == "2026-09-14 — bike shed code: 7035"


def test_what_was_struck_out_is_seen_to_be() -> None:
    """ "4052 7731" opens no safe."""
    note = hit("House.md", "", "Key safe by the back door: ~~4052~~ **7731** since July")
    assert "door: ~~4052~~ 7731 since" in shown("key safe code", note)


def test_what_is_left_out_behind_an_item_is_no_part_of_it() -> None:
    """ "- vitamin D […]" reads as if its dose was cut."""
    dull = "She went to the sea with her sister again, and it rained on all of the days. " * 12
    note = hit(
        "Mum.md",
        "Mum",
        f"- ramipril tablets\n- vitamin D tablets\n\n{dull}\n\nThe injection is on Friday.\n",
    )
    asked = "tablets, and the injection on Friday"
    assert "vitamin D tablets\n[…]\nThe injection" in shown(asked, note)


def test_an_empty_cell_is_seen_to_be_empty() -> None:
    """Which invoice isn't paid, and which column a sum is of, its place alone says."""
    rows = "| nr | client | in | paid |\n|---|---|---|---|\n" + "".join(
        f"| 03{n} | Kuiper | {n}0 | {paid} |\n" for n, paid in enumerate(("May", "June", ""))
    )
    assert "032 · Kuiper · 20 · –" in shown("which Kuiper invoices are paid", hit("i.md", "", rows))


def test_a_question_of_two_parts_gets_both() -> None:
    one = hit("a.md", "Backend", "We chose Go for the backend.")
    two = hit("b.md", "Team", "Alice leads the project.", rank=2)
    text = shown("What did I choose for the backend, and who leads the project?", one, two)
    assert "Go" in text and "Alice" in text


def test_a_month_is_found_in_digits() -> None:
    table = "| date | ferritin |\n|---|---|\n| 2024-06-20 | 41 |\n| 2025-07-03 | 28 |\n"
    log = hit("Iron.md", "Iron", table)
    assert "ferritin: 28" in shown("ferritin july 2025", log, detail=Detail.BRIEF)


def test_an_item_with_others_below_it_keeps_its_mark() -> None:
    """Else the first stands outside of the list."""
    note = hit("Site.md", "", "Assuming ruby:\n\n- `touch Gemfile`\n  - open it and paste\n")
    assert shown("touch Gemfile", note).endswith("- `touch Gemfile`\n  - open it and paste")


def test_when_something_is_due_is_no_question_for_other_tasks() -> None:
    note = hit("Grimma.md", "Grimma", "The draft is due on 2026-12-11.", rank=2)
    tasks = hit("Other.md", "Other", "- [ ] send the table 📅 2026-11-24")
    assert "2026-12-11" in shown("when is the Grimma draft due", tasks, note, detail=Detail.BRIEF)


def test_quotes_of_one_section_stand_together_in_its_order() -> None:
    second = hit("Export.md", "Steps", "3. Print it.", first_line=3)
    other = hit("Other.md", "", "You need a printer.", rank=2)
    first = hit("Export.md", "Steps", "1. Open it.\n2. Choose a page.", rank=3)
    given = [Quote(one, (one.chunk.text,), one.chunk.text) for one in (second, other, first)]
    answer = quoted(asked("", evidence(second, other, first), quotes=given))
    said = ["1. Open", "3. Print", "printer"]
    assert sorted(said, key=answer.text.index) == said
    assert [one.hit for one in answer.references] == [first, second, other]


def test_a_sign_within_a_line_is_not_taken_for_the_mark_of_a_quotation() -> None:
    long = "High for two hours means: check the ketones, then drink water and wait. " * 2
    said = f"{long}> 1.5 rings the ward, > 3 goes there."
    assert "> 1.5 rings the ward, > 3 goes there." in shown("ketones ward", hit("a.md", "", said))
    table = "| level | do |\n| --- | --- |\n| > 250 | ketones |\n| < 70 | sugar |\n"
    assert "level: > 250 · do: ketones" in shown("ketones", hit("b.md", "", table))
    assert shown("limit", hit("c.md", "", "limit:: > 250\n")).endswith("limit: > 250")


def test_rows_whose_header_is_in_another_passage_are_read_as_rows() -> None:
    rows = "| 2026-035 | Larksong | 930 |\n| 2026-037 | Blanc | 750 |\n\nTurnover is 23 k.\n"
    text = shown("blanc 2026-037", hit("money/Invoices.md", "", rows, first_line=11))
    assert "2026-037 · Blanc · 750" in text and "|" not in text


def test_lines_of_a_log_stay_lines() -> None:
    log = (
        "11/10 low on the climb, four sugars, right again after twenty minutes or so, as ever\n"
        "16/10 pod fell off in the pool, the wipes that Delphine gave us do work, so buy them\n"
        "19/10 stomach bug\n"
    )
    assert "\n16/10 pod fell off" in shown("pod pool", hit("log.md", "", log))
