"""Quotes from notes as others keep them: HTML in Markdown, tutorials with code, lists of links."""

from __future__ import annotations

import time
from datetime import date

import pytest

from ragvault.answering.quote import show
from ragvault.formats.inline import without_html
from ragvault.model import Detail, Hit
from tests.support.answering import extract, hit


def shown(question: str, *hits: Hit, detail: Detail = Detail.BRIEF) -> str:
    quotes = extract(question, hits, detail=detail, today=date(2026, 11, 22))
    return "\n\n".join(quote.shown for quote in quotes)


@pytest.mark.parametrize(
    "drawn",
    [
        '<table><tr><td align="center"><a href="https://x.org">Foam cat</a></td></tr></table>',
        'title="Tests of Foam">Foam cat</a></td>',  # a cut tore the line
        '<nav><a href="/foam">What Foam is</a></nav>',
        '<a class="github-button" href="https://foam.org" aria-label="Star Foam">Foam</a>',
        '<img src="foam.png" alt="Foam"/>',
        '<Listing number="1" caption="Foam">',
        "<!-- What is Foam? Foam is this. -->",
    ],
)
def test_html_that_is_drawn_is_not_quoted(drawn: str) -> None:
    note = hit(
        "index.md", "What is Foam?", f"{drawn}\n\nA tool for notes made of Foam and links.\n"
    )
    assert shown("What is Foam?", note).endswith("A tool for notes made of Foam and links.")


def test_text_inside_html_is_read_without_its_tags() -> None:
    note = hit(
        "a.md",
        "Foam",
        '<p class="new">\n<b>New!</b> Join the <a href="https://x.org">community</a> of Foam\n</p>',
    )
    assert shown("the foam community", note) == "New! Join the community of Foam"


@pytest.mark.parametrize(
    "text",
    [
        "`Mutex<T>` and `2 > 1`, `std::fs::read`",
        "List<String> and a <b < c",
        "run vault move <name> now",
        "see <https://a.org/b>",
        "std::io and Foo::bar",
    ],
)
def test_what_only_looks_like_a_mark_stays(text: str) -> None:
    """Code that lost a sign is wrong code."""
    assert show.sentence(text) == text


@pytest.mark.parametrize(
    "line", ["<a ", "<!-- ", "<A x=", "```", "<x ", "</", "` <", "<B", '="'], ids=str.split
)
def test_no_note_makes_the_reading_of_html_explode(line: str) -> None:
    started = time.process_time()
    without_html((line * 5_000)[:5_000] + ">", drawn=False)
    assert time.process_time() - started < 1.0


SKIP = hit(
    "skip.md",
    "Skip Hooks",
    "# Skip Hooks\n\nHooks check each commit.\n\nYou can skip all hooks when you commit. To do\n"
    "this, tack on the flag that skips hooks.\n\n```bash\n$ git commit --no-verify\n```\n\n"
    "See the [git hooks](https://git-scm.com/docs/githooks) docs for more details on hooks.\n",
)


def test_code_comes_with_the_sentence_before_it_whatever_that_ends_with() -> None:
    assert shown("how can I skip git hooks when committing", SKIP).endswith(
        "To do this, tack on the flag that skips hooks.\n```bash\n$ git commit --no-verify\n```"
    )


def test_where_to_read_more_is_not_an_answer() -> None:
    """ "See man git-commit" has the question's words and nothing else."""
    assert "See the" not in shown("git hooks", SKIP)
    index = hit("recipes.md", "Recipes", "- Coming from Obsidian? See [[migrating-from-obsidian]]")
    steps = hit("m.md", "Migrating", "1. Install it.\n2. Open the folder of Obsidian.", rank=2)
    assert "Install it" in shown("how do I migrate from obsidian", index, steps)


def test_a_lead_whose_code_is_not_in_the_note_is_still_an_answer() -> None:
    note = hit(
        "t.md",
        "Tests",
        "Pass the name of a test to `cargo test` to run only that test:\n\n"
        "```console\n{{#include listings/output.txt}}\n```\n\nOnly one test ran.\n",
    )
    assert "Pass the name of a test" in shown("how do I run only one test", note)


def test_the_list_under_the_heading_that_was_asked_for_is_the_way() -> None:
    """Its items don't repeat what they are for."""
    ways = hit("daily.md", "Daily Notes > Creating Daily Notes", "- Press `Alt+D`\n- Type `/today`")
    other = hit("cli.md", "Configuration", "Create a `daily-note.md` for your daily note.", rank=2)
    assert "- Press `Alt+D`\n- Type `/today`" in shown("how do I create a daily note", ways, other)


def test_a_sentence_brings_the_list_that_it_leads_to() -> None:
    note = hit(
        "ext.md",
        "Extensions",
        "The recommended extensions come with it.\n\n- Prettier, for tables\n- Todo Tree\n",
    )
    assert shown("which extensions are recommended", note).endswith(
        "- Prettier, for tables\n- Todo Tree"
    )


def test_frontmatter_is_no_list_that_was_asked_for() -> None:
    fields = "".join(f"field{n}: some value of the tart\n" for n in range(12))
    note = hit("Tart.md", "", f"---\ncuisine: American\n{fields}ingredients: Nectarine\n---\n")
    assert "cuisine" not in shown("ingredients of the tart", note)


def test_an_item_is_one_line_however_it_was_wrapped() -> None:
    note = hit(
        "a.md", "Rules", "- Two people lock the shed, since one\n  forgets it\n- Nobody smokes"
    )
    assert "- Two people lock the shed, since one forgets it\n" in shown(
        "list the shed rules", note
    )


def test_where_links_lead_is_not_shown_of_a_place() -> None:
    text = "See [[list|foam list orphans]].\n\n[list|foam list orphans]: cli/list.md 'foam list'\n"
    assert show.passage(text, "Orphans.md") == "See foam list orphans."


def test_a_passage_that_is_pointed_at_is_shown_as_people_read_it() -> None:
    text = (
        "---\nowner: '[[Ann]]'\n---\n## Boiler\n\n> [!info] **Boiler** of [[Gas|gas works]] ^b\n\n"
        "| part | price |\n|---|---|\n| pump | 12 |\n\n```sh\n# x <y>\n```\n\n%%hidden%%\n"
    )
    assert show.passage(text, "Boiler.md") == (
        "owner: Ann\nBoiler\n\nBoiler of gas works\n\npart · price\npump · 12\n\n"
        "```sh\n# x <y>\n```"
    )


def test_the_answer_in_the_next_sentence_comes_along() -> None:
    note = hit(
        "vet.md",
        "Vet",
        "Biscuit ate a whole corncob in the garden, and the operation was at night.\n"
        "It was £1,420.\nIn spring nothing else was found by anyone.\n",
    )
    assert "the operation was at night.\nIt was £1,420." in shown("cost of the operation", note)


@pytest.mark.parametrize(
    "scrap",
    [
        "Reduce hallucinations Increase consistency Mitigate jailbreaks Next Steps",
        "Basic strategiesAdvanced techniquesMore on hallucinations",
        "h/t Ann, who reduces hallucinations",
    ],
)
def test_what_a_web_page_had_around_its_text_is_not_quoted(scrap: str) -> None:
    note = hit("h.md", "Hallucinations", f"{scrap}\n\nAllow it to say that it does not know.\n")
    assert "Allow it to say" in shown("how can I reduce hallucinations", note).split("\n")[0]


def test_a_table_that_lost_its_lines_is_no_row_of_titles() -> None:
    flat = "Usage TierCredit PurchaseMax Usage FreeN/A $10Build Tier 1 $100Build Tier 2 $500"
    note = hit("r.md", "Rate limits", f"{flat}\n\nTalk to our people about all of this.\n")
    assert "$100Build" in shown("usage tier 1", note)
