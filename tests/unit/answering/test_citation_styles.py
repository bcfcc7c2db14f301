"""``citations.style``: what the model is asked for, what stands in the answer, and that whatever
it writes instead is read all the same."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from ragvault.answering.citations.stream import CitationStream, CitedText
from ragvault.answering.citations.styles import FILE_SECTION, STYLES, CitationStyle
from ragvault.answering.context import neutralise
from ragvault.answering.page import AnswerRequest
from ragvault.answering.pipeline import answer
from ragvault.config.settings import AnswerSettings, CitationSettings, OllamaSettings
from ragvault.model import Answer, CitationStatus, Hit
from tests.support.answering import ScriptedChat, evidence, extract, finished, hit, prompt_for

NUMERIC = STYLES["numeric"]
BACKEND = hit("work/backend.md", "Backend > Decision", "We chose Go for the backend in March.")
TEAM = hit("people/team.md", "Team", "Alice leads the project. Bob writes the docs.", rank=2)
PAPER = hit("paper.md", "Claims", "Ferns grow faster in the shade [2]. See [1](web.html).", rank=3)


def cited(draft: str, *hits: Hit, style: CitationStyle = FILE_SECTION) -> CitedText:
    stream = CitationStream(hits or (BACKEND, TEAM), style)
    stream.feed(draft)
    stream.close()
    return stream.result()


def answered(chat: ScriptedChat | None, style: CitationStyle) -> Answer:
    question = "What did I choose for the backend, and who leads the project?"
    request = AnswerRequest(
        question=question,
        evidence=evidence(BACKEND, TEAM),
        quotes=extract(question, (BACKEND, TEAM)),
        settings=AnswerSettings(),
        ollama=OllamaSettings(),
        chat=chat,
        style=style,
    )
    run, shown = finished(answer(request))
    assert isinstance(run.outcome, Answer)
    assert run.outcome.text == shown
    return run.outcome


def test_every_style_that_a_config_may_name_is_there() -> None:
    assert set(get_args(CitationSettings.model_fields["style"].annotation)) == set(STYLES)


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
@pytest.mark.parametrize("is_written", [True, False])
def test_the_text_the_citations_and_the_references_agree(
    style: CitationStyle, is_written: bool
) -> None:
    """A program that reads the JSON finds each reference where the text cites it."""
    draft = "Alice leads the project [2]. We chose Go for the backend [Chunk 1]."
    made = answered(ScriptedChat(draft) if is_written else None, style)
    marks = {r.hit.chunk.id: style.render(r.hit, r.marker) for r in made.references}
    assert [r.marker for r in made.references] == [1, 2]
    assert made.citations
    for citation in made.citations:
        assert citation.chunk_id is not None
        assert made.text.startswith(marks[citation.chunk_id], citation.position)


def test_numbers_count_references_in_the_answer_and_blocks_in_the_prompt() -> None:
    chat = ScriptedChat("Alice leads the project [2]. We chose Go for the backend [1].")
    made = answered(chat, NUMERIC)
    assert made.text == "Alice leads the project [1]. We chose Go for the backend [2]."
    assert [r.hit for r in made.references] == [TEAM, BACKEND]
    assert {c.status for c in made.citations} == {CitationStatus.EXACT}
    prompt = chat.asked[0][0][-1].content
    assert "[2]\n[Vault: personal] File: people/team.md\n" in prompt
    assert "[Chunk" not in prompt and "[File:" not in prompt
    assert "square brackets" in prompt


def test_in_numeric_style_the_notes_own_numbers_are_marked_in_the_prompt() -> None:
    """Then whatever number the model writes is one of the context's."""
    hits = (PAPER, TEAM)
    user = prompt_for("Where do ferns grow?", hits, style=NUMERIC).messages[-1].content
    assert "in the shade [·2]. See [1](web.html)." in user
    result = cited("Ferns grow faster in the shade [1].", *hits, style=NUMERIC)
    assert result.cited == (PAPER,)


def test_plain_text_passes_the_guard_unchanged() -> None:
    text = "rows[1], [x] done, [a link](x.md), [1](y.md) and [2024]"
    assert all(style.guard(text) == text == neutralise(text) for style in STYLES.values())


def test_two_passages_of_a_section_have_a_number_each_in_numeric_style() -> None:
    """The references of the JSON have; one number for both would name the wrong lines."""
    other = replace(
        TEAM, stored=replace(TEAM.stored, chunk=replace(TEAM.chunk, id="b" * 32, ordinal=5))
    )
    result = cited("Alice leads the project [1, 2].", TEAM, other, style=NUMERIC)
    assert result.text == "Alice leads the project [1] [2]."


HOME = hit("home/plan.md", "Plan", "The kitchen is green.", rank=2)
LOGS = [
    hit("work/plan.md", "Plan", "The budget is 1,500 dollars."),
    HOME,
    hit("log.md", "Log", "Anna planted 12 apple trees.", rank=3),
    hit("log.md", "Log", "Boris sold 7 pears.", rank=4, first_line=30, ordinal=7),
    hit("odd.md", 'Costs [2024], "final" 🎉 (a, b)', "Clara paid 90 euros.", rank=5),
    hit("odd.md", "Notes > **Bold**: `code`, see [[x]]", "Dora lives in Leeds.", rank=6),
]


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
@pytest.mark.parametrize(
    "form",
    [
        "[2]", "[N2]", "[^2]", "[Citation 2]", "[Source 2]", "[Ref 2]", "[Ref. 2]", "[Quelle 2]",
        "［2］", "【2】", "(File: home/plan.md, Section: Plan)",
        "【File: home/plan.md, Section: Plan】",
        "[File: home/plan.md]", "[File: plan.md]", "(Source: home/plan.md)", "[[home/plan#Plan]]",
    ],
)  # fmt: skip
def test_each_form_that_models_write_means_its_passage(form: str, style: CitationStyle) -> None:
    made = cited(f"The kitchen is green {form}.", *LOGS, style=style)
    assert made.cited == (HOME,)
    assert made.text == f"The kitchen is green {style.render(HOME, 1)}."


@pytest.mark.parametrize(
    ("said", "place", "rank"),
    [
        ("The budget is 1,500 dollars", "File: plan.md, Section: Plan", 1),
        ("Anna planted 12 apple trees", "File: log.md, Section: Log", 3),
        ("Boris sold 7 pears", "File: log.md, Section: Log", 4),
        ("Clara paid 90 euros", 'File: odd.md, Section: Costs [2024], "final" 🎉 (a, b)', 5),
        ("Clara paid 90 euros", "File: odd.md, Section: Costs 2024 final (a, b)", 5),
        ("Dora lives in Leeds", "File: odd.md, Section: Notes > **Bold**: `code`, see [[x]]", 6),
        ("Dora lives in Leeds", "File: odd.md, Section: Bold: code, see x", 6),
    ],
)
def test_a_name_or_heading_that_is_there_twice_or_is_odd_means_one_place(
    said: str, place: str, rank: int
) -> None:
    """Two notes of one name, two sections of one heading, brackets, commas, quotes, emoji."""
    made = cited(f"{said} [{place}].", *LOGS)
    assert [found.rank for found in made.cited] == [rank]
    assert not made.unsupported


def test_several_places_in_one_bracket_are_each_cited() -> None:
    said = "The budget is 1,500 dollars and the kitchen is green"
    for both in ("[1, 2]", "[Sources 1 and 2]", "[File: work/plan.md; File: home/plan.md]"):
        assert cited(f"{said} {both}.", *LOGS).cited == (LOGS[0], HOME)
