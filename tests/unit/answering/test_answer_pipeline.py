"""From evidence to an outcome: what the person who asked gets, whatever the model does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragvault.answering.check.uncertainty import is_uncertain
from ragvault.answering.citations.styles import STYLES
from ragvault.answering.context import Neighbours
from ragvault.answering.page import AnswerRequest, beside, body, point
from ragvault.answering.pipeline import AnswerRun, answer, small_talk
from ragvault.config.settings import AnswerSettings, OllamaSettings
from ragvault.errors import (
    ModelMissingError,
    ModelServerError,
    ModelStreamError,
    NoModelServerError,
)
from ragvault.model import (
    AbstainReason,
    Abstention,
    Answer,
    CitationStatus,
    Cited,
    DroppedBy,
    Hit,
    Intent,
    Token,
)
from tests.support.answering import ScriptedChat, asked, evidence, extract, finished, hit

BACKEND = hit(
    "work/backend.md",
    "Backend > Decision",
    "## Decision\nWe chose Go for the backend on 2024-03-01. The budget is 1,500 dollars a month.",
)
BACKEND_READ = BACKEND.chunk.text.removeprefix("## ")
TEAM = hit(
    "people/team.md", "Team", "# Team\nAlice leads the project. Bob writes the docs.", rank=2
)
CITE = "[File: work/backend.md, Section: Backend > Decision]"
GOOD = f"We chose Go for the backend {CITE}. Alice leads the project [Chunk 2]."


def ask(
    chat: ScriptedChat | None,
    *,
    settings: AnswerSettings | None = None,
    ollama: OllamaSettings | None = None,
    min_confidence: float = 0.0,
    confidence: float = 0.8,
    neighbours: Neighbours | None = None,
) -> tuple[AnswerRun, str]:
    question = "What did I choose for the backend?"
    request = AnswerRequest(
        question=question,
        evidence=replace(evidence(BACKEND, TEAM), confidence=confidence),
        quotes=extract(question, (BACKEND, TEAM)),
        settings=settings or AnswerSettings(),
        ollama=ollama or OllamaSettings(),
        chat=chat,
        min_confidence=min_confidence,
        neighbours=neighbours or {},
    )
    return finished(answer(request))


def answered(run: AnswerRun) -> Answer:
    assert isinstance(run.outcome, Answer)
    return run.outcome


def test_a_cited_draft_is_the_answer_and_what_was_shown() -> None:
    run, shown = ask(ScriptedChat(GOOD))
    result = answered(run)
    assert result.mode == "llm"
    assert result.text == shown
    assert [r.hit for r in result.references] == [BACKEND, TEAM]
    assert [r.marker for r in result.references] == [1, 2]
    for citation in result.citations:
        assert result.text[citation.position :].startswith("[File: ")
    assert result.confidence == 0.8
    assert result.unsupported == ()
    assert run.model == "llama3.2"
    assert run.spent.usage.prompt_tokens == 100


def test_only_cited_chunks_are_references() -> None:
    run, _ = ask(ScriptedChat(f"The backend is written in Go {CITE}."))
    assert [r.hit for r in answered(run).references] == [BACKEND]


def test_the_snippet_shows_the_sentence_that_holds_the_claim() -> None:
    run, _ = ask(ScriptedChat("Bob writes the docs [File: people/team.md, Section: Team]."))
    said = "Team — Alice leads the project. Bob writes the docs."  # the line that it stands in
    assert answered(run).references[0].snippet == said


def test_a_statement_without_a_citation_gets_that_of_the_chunk_that_holds_it() -> None:
    run, shown = ask(ScriptedChat("Alice leads the project. The backend is written in Go."))
    result = answered(run)
    assert result.mode == "llm"
    assert shown == result.text
    assert "Alice leads the project. [File: people/team.md, Section: Team]" in shown
    assert [c.status for c in result.citations] == [CitationStatus.ADDED] * 2
    assert [r.hit for r in result.references] == [TEAM, BACKEND]


def test_a_citation_on_the_wrong_chunk_moves_to_the_one_that_holds_the_statement() -> None:
    run, shown = ask(ScriptedChat(f"Alice leads the project {CITE}."))
    assert shown == "Alice leads the project [File: people/team.md, Section: Team]."
    assert [c.status for c in answered(run).citations] == [CitationStatus.MOVED]


def test_a_statement_with_a_wrong_figure_is_left_out_and_counted() -> None:
    run, shown = ask(ScriptedChat("We chose Go for the backend. The budget is 9,500 dollars."))
    assert "9,500" not in shown
    assert answered(run).unsupported == ("The budget is 9,500 dollars.",)
    assert "1 statement left out: not in your notes." in answered(run).caveats


@pytest.mark.parametrize("lead", ["# Budget: 9,500 dollars", "They paid 9,500 dollars, namely:"])
def test_what_leads_to_a_statement_brings_no_figure_of_its_own(lead: str) -> None:
    run, shown = ask(ScriptedChat(f"{lead}\n\n- We chose Go for the backend."))
    assert shown.startswith("- We chose Go for the backend")
    assert answered(run).unsupported == (lead,)
    _, shown = ask(ScriptedChat("## 1. Decision of 2024-03-01\n\nWe chose Go for the backend."))
    assert shown.startswith("## 1. Decision of 2024-03-01")


def test_where_nothing_of_the_draft_is_held_the_notes_are_quoted() -> None:
    run, shown = ask(ScriptedChat("It is Rust, of course [File: made-up.md]."))
    result = answered(run)
    assert result.mode == "extractive"
    assert "Rust" not in shown
    assert "We chose Go for the backend" in result.text
    assert any("Nothing that the model wrote" in notice for notice in run.notices)
    assert run.model is None


def test_what_a_statement_rests_on_stands_beneath_it() -> None:
    result = answered(ask(ScriptedChat("On 1 March 2024 we chose Go."))[0])
    assert "We chose Go for the backend on 2024-03-01." in result.references[0].evidence


def test_an_answer_from_another_passage_than_the_best_quote_says_so() -> None:
    for draft, is_elsewhere in (("Bob writes the docs.", True), ("We chose Go.", False)):
        result = answered(ask(ScriptedChat(draft))[0])
        assert any("Another passage" in caveat for caveat in result.caveats) is is_elsewhere
        assert (BACKEND in [one.hit for one in result.also]) is is_elsewhere


@pytest.mark.parametrize(
    ("other", "is_said"),
    [
        ("- Editing: £46 / hour\n- Sound day: £360\n", True),
        ("- Editing: £38 / hour\n- Sound day: £360\n", False),
        ("- Sound day: £360\n- Half day: £205\n", False),
    ],
)
def test_another_value_of_another_note_is_said_to_be_one(other: str, is_said: bool) -> None:
    old = hit("Rates 2024.md", "Rates 2024", "- Editing: £38 / hour\n- Sound day: £290\n")
    new = hit("Rates 2026.md", "Rates 2026", other)
    quotes = extract("rate of editing and a sound day", (old, new))
    chat = ScriptedChat("The rate for editing is £38 an hour.")
    request = AnswerRequest(
        "rate of editing", evidence(old, new), AnswerSettings(), OllamaSettings(), chat,
        quotes=quotes,
    )  # fmt: skip
    result = answered(finished(answer(request))[0])
    assert [one.hit for one in result.also] == [new]
    assert any("Another passage has another value" in c for c in result.caveats) is is_said


def test_the_line_that_a_statement_rests_on_does_not_stand_in_a_quote_once_more() -> None:
    lines = "# Codes\n- Alarm: the year backwards\n- Key safe: 6083\n- Shed: 714\n- Gate: 1290\n"
    codes = hit("Keys/Codes.md", "Codes", lines)
    quotes = extract("alarm, key safe, shed and gate codes", (codes,))
    for draft in ("The key safe code is 6083.", "The shed is 714 and the key safe 6083."):
        request = AnswerRequest(
            "key safe code", evidence(codes), AnswerSettings(), OllamaSettings(),
            ScriptedChat(draft), quotes=quotes,
        )  # fmt: skip
        result = answered(finished(answer(request))[0])
        shown = "\n".join(one.evidence for one in (*result.references, *result.also))
        assert result.mode == "llm"
        assert shown.count("6083") == 1


@pytest.mark.parametrize(
    "draft",
    [
        "Bob writes the docs.",
        "We chose Go for the backend. Carol writes the docs.",
        f"1,500 dollars {CITE}. Alice leads the project [Chunk 2].",
        "It is Rust, of course.",
        "I don't have enough information.",
    ],
)
@pytest.mark.parametrize(
    ("quoted", "caveats"), [((BACKEND, TEAM), ()), ((BACKEND,), ("It isn't certain.",))]
)
def test_whatever_a_model_says_what_the_notes_say_stands_on_the_page_once(
    draft: str, quoted: tuple[Hit, ...], caveats: tuple[str, ...]
) -> None:
    question = "What did I choose for the backend, and who leads?"
    found = replace(evidence(BACKEND, TEAM), caveats=caveats, near=(BACKEND, TEAM))
    quotes = extract(question, quoted)
    assert len(quotes) == len(quoted)
    by_model, by_none = (
        answered(
            finished(
                answer(
                    AnswerRequest(
                        question, found, AnswerSettings(), OllamaSettings(), chat, quotes=quotes
                    )
                )
            )[0]
        )
        for chat in (ScriptedChat(draft), None)
    )
    under = [one.evidence for one in (*by_model.references, *by_model.also)]
    printed = "\n".join((by_model.text, *under))
    wanted = [*(body(quote) for quote in quotes), *(one.evidence for one in by_none.also)]
    assert all(printed.count(words) == 1 for words in wanted)
    markers = [one.marker for one in (*by_model.references, *by_model.also)]
    assert markers == list(range(1, len(markers) + 1))


@pytest.mark.parametrize(
    ("parameters", "citing", "asks_to_cite"),
    [
        (494_000_000, "auto", False),
        (8_000_000_000, "auto", True),
        (None, "auto", False),
        (494_000_000, "model", True),
        (8_000_000_000, "ragvault", False),
    ],
)
def test_a_small_model_is_only_asked_to_answer(
    parameters: int | None, citing: str, asks_to_cite: bool
) -> None:
    chat = ScriptedChat("We chose Go for the backend.", parameters=parameters)
    ask(chat, settings=AnswerSettings.model_validate({"citing": citing}))
    prompt = "\n".join(message.content for message in chat.asked[0][0])
    assert ("citing sources" in prompt) is asks_to_cite
    assert ("enough information" in prompt) is asks_to_cite
    assert "We chose Go" in prompt


def test_a_citation_that_does_not_hold_its_statement_opens_nothing() -> None:
    """A model that hangs a real citation on an invention must not be believed for it."""
    lie = f"Penguins inhabit Antarctica since 1820 {CITE}."
    run, shown = ask(ScriptedChat(lie))
    assert "Penguins" not in shown
    assert answered(run).mode == "extractive"


def test_unsupported_statements_are_listed_and_lower_the_confidence() -> None:
    draft = f"We chose Go for the backend {CITE}. The budget is 9,999 dollars {CITE}."
    run, _ = ask(ScriptedChat(draft))
    result = answered(run)
    assert result.unsupported == ("The budget is 9,999 dollars.",)
    assert result.confidence == pytest.approx(0.8 * 0.75)


def test_what_is_held_in_other_words_is_marked_and_counts_half() -> None:
    draft = f"The backend is written in Go {CITE}. The budget is 1,500 dollars a month {CITE}."
    run, shown = ask(ScriptedChat(draft))
    result = answered(run)
    assert shown.startswith(f"The backend is written in Go {CITE} (partly). The budget is 1,500 ")
    assert shown.count("(partly)") == 1
    assert result.unsupported == ()
    assert sum("(partly)" in caveat for caveat in result.caveats) == 1
    assert result.confidence == pytest.approx(0.8 * 0.875)


def test_marked_an_unheld_statement_is_shown_and_listed() -> None:
    draft = f"The backend is written in Go {CITE}. The budget is 9,999 dollars {CITE}."
    run, shown = ask(ScriptedChat(draft), settings=AnswerSettings(unsupported="mark"))
    assert "9,999" in shown
    assert any("1 of 2 statement" in caveat for caveat in answered(run).caveats)


@pytest.mark.parametrize(
    "words",
    [
        "I don't have enough information to answer that.",
        "I don’t have enough information in your notes.",
        "The provided context does not contain any information about that.",
        "The notes don't mention the colour of the sky.",
        "There is no information about this in the context.",
        "Based on the notes, that is not specified in the context.",
        "Ich habe nicht genügend Informationen, um das zu beantworten.",
        "Der Kontext enthält keine Informationen dazu.",
        "No tengo suficiente información para responder.",
        "El contexto no contiene información sobre eso.",
        "Je n'ai pas assez d'informations pour répondre.",
        "Le contexte ne contient pas cette information.",
    ],
)
def test_a_model_that_finds_no_answer_takes_none_away(words: str) -> None:
    assert is_uncertain(words)
    run, shown = ask(ScriptedChat(words))
    assert answered(run).mode == "extractive"
    assert "The model found no answer in these passages." in answered(run).caveats
    assert "We chose Go for the backend" in shown


def test_a_no_over_passages_that_hardly_answer_points_at_them_whole() -> None:
    """What the model doesn't find, a reader may."""
    no = ScriptedChat("I don't have enough information to answer that.")
    run, _ = ask(no, min_confidence=0.9)
    assert isinstance(run.outcome, Abstention)
    assert run.outcome.passages[0] == BACKEND_READ
    assert "Alice leads the project." in run.outcome.passages[1]
    place = f"{BACKEND.chunk.rel_path} › {' › '.join(BACKEND.chunk.heading_path)}"
    assert run.outcome.message == f"This is most likely in {place}"
    assert run.outcome.lead == "This is most likely in"
    assert replace(run.outcome, confidence=0.2).lead.startswith("Nothing here answers it")


def test_of_the_passages_beside_the_first_the_best_lines_are_shown_of_each() -> None:
    """Ten passages whole are more than anybody reads; the answer isn't always in the first."""
    filler = " ".join(f"Step {n} is done and noted." for n in range(40))
    long = hit("log.md", "Log", f"{filler}\n\nFor the backend I chose Go.\n\n{filler}", rank=2)
    found = replace(evidence(BACKEND), near=(BACKEND, long))
    pointed = point(asked("What did I choose for the backend?", found))
    assert pointed.nearest == (BACKEND, long)
    assert "For the backend I chose Go." in pointed.passages[1]
    assert len(pointed.passages[1]) < len(long.chunk.text) / 2


def test_a_table_or_code_that_is_pointed_at_is_readable() -> None:
    table = hit(
        "fees.md", "Fees", "| Year | Fee |\n|---|---|\n| 2025 | 85 |\n| 2026 | 90 |", rank=2
    )
    code = hit("tar.md", "Unpack", "Unpack it:\n\n```sh\ntar xf a.tar\n```", rank=3)
    found = replace(evidence(BACKEND), near=(BACKEND, table, code))
    pointed = point(asked("What did we choose for the backend?", found))
    first, fees, unpack = pointed.passages
    assert first == BACKEND_READ
    assert "Year: 2026 · Fee: 90" in fees.split("\n")
    assert unpack.split("\n")[-3:] == ["```sh", "tar xf a.tar", "```"]


def test_places_that_come_about_as_near_are_shown_what_answers_best_first() -> None:
    """The others stay in the JSON; four are shown as they would be quoted. Where the answer is
    hardly there, four lines are."""
    far, near = (
        replace(hit(f"{n}.md", "", "Bob writes.", rank=n), scores=replace(BACKEND.scores, final=at))
        for n, at in ((2, 0.4 * BACKEND.scores.final), (3, 0.6 * BACKEND.scores.final))
    )
    found = replace(evidence(BACKEND), near=(BACKEND, far, near), confidence=0.3)
    pointed = point(asked("Who writes?", found))
    assert pointed.nearest == (near, BACKEND, far) and len(pointed.passages) == 2
    assert pointed.message.endswith("3.md")
    many = [hit(f"{n}.md", "", f"Bob{n} writes.\n\nAnn reads.", rank=n) for n in range(2, 8)]
    found = replace(found, near=(BACKEND, *many))
    pointed = point(asked("Who writes?", found))
    assert (len(pointed.passages), len(pointed.nearest)) == (5, 7)
    assert all("writes" in text and "Ann reads" in text for text in pointed.passages)
    unlikely = point(asked("Who writes?", replace(found, confidence=0.05)))
    assert len(unlikely.passages) == 5
    assert "Ann" not in "".join(unlikely.passages[1:])


def test_a_section_that_goes_on_in_another_passage_says_so() -> None:
    begin = hit("v.md", "Variables", "| Name | Description |\n|---|---|\n| `DATE` | of today |")
    end = hit("v.md", "Variables", "| `TITLE` | of the note |", rank=2, ordinal=1)
    for found, mark in (((begin, end), True), ((begin, TEAM), False)):
        pointed = point(asked("What is DATE?", replace(evidence(begin), near=found)))
        assert pointed.passages[0].endswith("`DATE` · of today\n[…]") is mark


def test_an_answer_that_is_not_sure_shows_what_else_was_found() -> None:
    unsure = replace(evidence(BACKEND), caveats=("It isn't certain.",), near=(BACKEND, TEAM))
    whole, other = extract("backend", (BACKEND,)), extract("docs", (TEAM,))
    sure = replace(unsure, caveats=())
    cases = ((unsure, whole, [TEAM]), (unsure, other, [BACKEND]), (sure, whole, []))
    for found, quotes, also in cases:
        request = AnswerRequest(
            "Who writes backend docs?", found, AnswerSettings(), OllamaSettings(), quotes=quotes
        )
        said = answered(finished(answer(request))[0])
        assert [one.hit for one in said.also] == also
        assert all("Bob writes the docs." in one.evidence for one in said.also if one.hit is TEAM)


def test_a_note_of_the_same_path_in_another_vault_is_another_place() -> None:
    chunk = replace(BACKEND.chunk, id="other", vault="another", text="The backend is Rust.")
    other = replace(BACKEND, stored=replace(BACKEND.stored, chunk=chunk))
    found = replace(evidence(BACKEND), near=(BACKEND, other))
    quoted = extract("backend", (BACKEND,))
    assert [one.hit for one in beside(asked("Which backend?", found, quotes=quoted))] == [other]


def test_quotes_that_hardly_answer_are_not_shown_as_an_answer() -> None:
    run, shown = ask(None, min_confidence=0.9)
    assert isinstance(run.outcome, Abstention)
    assert run.outcome.reason is AbstainReason.INSUFFICIENT_INFORMATION
    assert run.outcome.nearest[0] is BACKEND
    assert shown == ""


@pytest.mark.parametrize("parameters", [494_000_000, None])
def test_a_small_model_is_not_asked_where_the_passages_hardly_answer(
    parameters: int | None,
) -> None:
    chat = ScriptedChat("We chose Go.", parameters=parameters)
    run, _ = ask(chat, min_confidence=0.9)
    assert isinstance(run.outcome, Abstention)
    assert chat.asked == []


@pytest.mark.parametrize(
    ("said", "first"),
    [
        (f"The backend is written in Go {CITE}.", BACKEND),
        ("Alice leads the project [Chunk 2].", TEAM),
        ("Penguins inhabit Antarctica. Alice leads the project [Chunk 2].", TEAM),
        ("Penguins inhabit Antarctica since 1820 [Chunk 2].", BACKEND),
        ("I don't have enough information.", BACKEND),
    ],
)
def test_what_a_model_says_where_the_passages_hardly_answer_only_puts_its_place_first(
    said: str, first: Hit
) -> None:
    """A model that lies must not make an answer of what was refused, nor take a place away."""
    plain, _ = ask(None, min_confidence=0.9)
    run, shown = ask(ScriptedChat(said), min_confidence=0.9)
    assert isinstance(plain.outcome, Abstention) and isinstance(run.outcome, Abstention)
    assert shown == "" and run.model is None
    assert run.outcome.nearest[0] == first
    assert set(run.outcome.nearest) == set(plain.outcome.nearest)
    page = "\n".join(run.outcome.passages)
    assert all(passage in page for passage in plain.outcome.passages)
    is_moved = first is TEAM
    assert (run.outcome.passages[0] == TEAM.chunk.text.removeprefix("# ")) is is_moved
    assert bool(run.notices) is ("leads" in said or "Go" in said)


def test_no_model_is_asked_where_nothing_answers() -> None:
    chat = ScriptedChat(GOOD)
    run, _ = ask(chat, min_confidence=0.9, confidence=0.09)
    assert isinstance(run.outcome, Abstention)
    assert chat.asked == []


def test_what_would_be_quoted_is_read_by_the_model_too() -> None:
    """Also where it ranks lower than what is kept; it can be cited by its number."""
    question = "Who writes the docs?"
    lower = replace(TEAM, dropped_by=DroppedBy.RANK)
    request = AnswerRequest(
        question,
        evidence(BACKEND),
        AnswerSettings(),
        OllamaSettings(),
        ScriptedChat("Bob writes the docs [2]."),
        quotes=extract(question, (lower, BACKEND)),
        style=STYLES["numeric"],
    )
    said = answered(finished(answer(request))[0])
    assert [one.hit for one in said.references] == [lower]
    assert [one.status for one in said.citations] == [CitationStatus.EXACT]


def test_a_place_is_shown_with_the_rest_of_its_section() -> None:
    after = replace(BACKEND, stored=replace(BACKEND.stored, chunk=replace(
        BACKEND.chunk, id="after", ordinal=BACKEND.chunk.ordinal + 1, text="What follows.",
        start_line=BACKEND.chunk.end_line + 1, end_line=BACKEND.chunk.end_line + 1,
    )))  # fmt: skip
    run, _ = ask(None, min_confidence=0.9, neighbours={BACKEND.chunk.id: (after,)})
    assert isinstance(run.outcome, Abstention)
    assert run.outcome.passages[0] == f"{BACKEND_READ}\nWhat follows."


def test_a_no_with_a_citation_is_still_a_no() -> None:
    run, shown = ask(ScriptedChat(f"The notes don't mention the frontend {CITE}."))
    assert answered(run).mode == "extractive"
    assert "frontend" not in shown


def test_a_partial_answer_stays_one_with_a_caveat() -> None:
    draft = f"The backend is written in Go {CITE}. The notes don't say why."
    run, shown = ask(ScriptedChat(draft))
    result = answered(run)
    assert shown.endswith("The notes don't say why.")
    assert result.unsupported == ()
    assert any("only a part" in caveat for caveat in result.caveats)


def test_a_sentence_of_the_notes_about_something_missing_is_no_admission() -> None:
    assert not is_uncertain("Docker does not provide a scheduler.")
    assert not is_uncertain("The notes don't say when, but the backend is written in Go.")


def test_without_a_model_the_notes_are_quoted_and_nothing_is_said_of_ollama() -> None:
    run, shown = ask(None)
    assert answered(run).mode == "extractive"
    assert answered(run).text == shown
    assert run.notices == ()


@pytest.mark.parametrize(
    "error",
    [
        ModelServerError("Ollama is not reachable at http://127.0.0.1:11434."),
        ModelMissingError("Ollama has no model llama3.2.", "Run `ollama pull llama3.2`."),
        ModelStreamError("The server broke off."),
    ],
)
def test_a_failing_server_gives_quotes_and_one_notice_with_the_remedy(error: Exception) -> None:
    run, _ = ask(ScriptedChat(error))  # type: ignore[arg-type]
    assert answered(run).mode == "extractive"
    assert len(run.notices) == 1
    assert "ollama" in run.notices[0]


def test_nobody_is_told_of_a_server_that_they_never_chose() -> None:
    gone = NoModelServerError("Ollama can't be reached.")
    assert ask(ScriptedChat(gone))[0].notices == ()
    for chosen in (OllamaSettings(model="qwen3"), OllamaSettings(host="http://10.0.0.7:11434")):
        (said,) = ask(ScriptedChat(gone), ollama=chosen)[0].notices
        assert "ollama serve" in said


def test_fallback_none_raises_what_failed() -> None:
    with pytest.raises(ModelServerError):
        ask(ScriptedChat(ModelServerError("down")), settings=AnswerSettings(fallback="none"))


@pytest.mark.parametrize("draft", ["Rust.", "The notes don't mention the frontend."])
def test_fallback_none_with_nothing_held_is_an_abstention(draft: str) -> None:
    run, _ = ask(ScriptedChat(draft), settings=AnswerSettings(fallback="none"))
    assert isinstance(run.outcome, Abstention)


def test_a_model_that_repeats_itself_is_stopped_and_the_answer_says_so() -> None:
    """Small models do; nobody wants to wait for, or read, a thousand tokens of it."""
    chat = ScriptedChat(f"The backend is written in Go {CITE}. " * 40)
    result = answered(ask(chat)[0])
    assert result.text.count("written in Go") == 1
    assert any("repeat itself" in caveat for caveat in result.caveats)


def test_a_server_that_breaks_off_leaves_what_was_shown_marked() -> None:
    broken = (f"We chose Go for the backend {CITE}. Alice lea", ModelStreamError("It broke off."))
    run, shown = ask(ScriptedChat(broken))
    result = answered(run)
    assert result.text == shown == f"We chose Go for the backend {CITE}."
    assert "The answer was cut off." in result.caveats
    assert any("broke off" in notice for notice in run.notices)


def test_a_server_that_breaks_off_before_anything_is_shown_gives_quotes() -> None:
    run, shown = ask(ScriptedChat(("The backend", ModelStreamError("It broke off."))))
    assert answered(run).mode == "extractive"
    assert not shown.startswith("The backend")


def test_each_source_is_named_once_right_before_its_first_citation_is_shown() -> None:
    """A page that draws links as the text comes must know where each leads by then."""
    request = AnswerRequest(
        "What did I choose?",
        evidence(BACKEND, TEAM),
        AnswerSettings(),
        OllamaSettings(),
        quotes=extract("What did I choose?", (BACKEND, TEAM)),
    )
    draft = f"The backend is written in Go {CITE}. Alice leads the project [2]. It is Go {CITE}."
    for chat in (ScriptedChat(draft), None):
        shown = ""
        announced: list[Cited] = []
        run = None
        events = answer(replace(request, chat=chat))
        while run is None:
            try:
                event = next(events)
            except StopIteration as end:
                run = end.value
                break
            if isinstance(event, Cited):
                assert event.position >= len(shown)
                announced.append(event)
            elif isinstance(event, Token):
                shown += event.text
        made = answered(run)
        assert [c.marker for c in announced] == [r.marker for r in made.references]
        assert [c.hit for c in announced] == [r.hit for r in made.references]
        assert all(shown.startswith(c.text, c.position) for c in announced)


def test_a_caller_that_stops_listening_ends_the_models_stream() -> None:
    chat = ScriptedChat(GOOD)
    request = AnswerRequest(
        "?", evidence(BACKEND, TEAM), AnswerSettings(), OllamaSettings(), chat=chat
    )
    events = answer(request)
    next(events)
    events.close()
    assert chat.streams[0].is_closed


def test_greetings_and_thanks_get_one_line_with_no_confidence() -> None:
    for intent in (Intent.GREETING, Intent.THANKS):
        run, shown = finished(small_talk(intent))
        assert answered(run).mode == "none"
        assert answered(run).confidence == 0.0
        assert shown.count("\n") == 0


@pytest.mark.parametrize(
    ("known", "limit", "window"), [(2048, 8192, 2048), (131072, 8192, 8192), (None, 8192, 4096)]
)
def test_the_window_is_the_models_own_at_most_the_configured(
    known: int | None, limit: int, window: int
) -> None:
    chat = ScriptedChat(GOOD, context_length=known)
    ask(chat, ollama=OllamaSettings(max_context=limit))
    assert chat.asked[0][1].num_ctx == window


def test_a_window_too_small_for_any_note_gives_quotes() -> None:
    run, _ = ask(ScriptedChat(context_length=128))
    assert answered(run).mode == "extractive"
    assert any("context length" in notice for notice in run.notices)


def test_removed_citations_are_reported_and_leave_no_debris() -> None:
    draft = f"The backend is written in Go {CITE}. Bob writes the docs (see [File: nowhere.md])."
    run, _ = ask(ScriptedChat(draft))
    result = answered(run)
    assert result.text.endswith("Bob writes the docs. [File: people/team.md, Section: Team]")
    removed = [c for c in result.citations if c.status is CitationStatus.REMOVED]
    assert [c.chunk_id for c in removed] == [None]
