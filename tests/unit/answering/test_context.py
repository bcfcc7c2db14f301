"""Neighbours in the context: the whole of a long section, said once, and cited where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import given, strategies as st

from ragvault.answering.citations.render import resolve
from ragvault.answering.citations.styles import RawCitation
from ragvault.answering.context import joined
from ragvault.answering.page import AnswerRequest
from ragvault.answering.pipeline import answer
from ragvault.answering.prompt import tokens_of
from ragvault.config.settings import AnswerSettings, OllamaSettings
from ragvault.model import Answer, DroppedBy, Hit, Prompt
from tests.support.answering import ScriptedChat, evidence, extract, finished, hit, prompt_for

COLOURS = ("amber", "blue", "coral", "green", "ivory", "mauve")
THINGS = ("boat", "clock", "drum", "ladder", "mirror")
LINES = [f"The {colour} {thing} goes first." for colour in COLOURS for thing in THINGS]


def piece(ordinal: int, first: int, last: int, *, kept: bool = False) -> Hit:
    """Lines first..last of one section as its chunk number ``ordinal``."""
    made = hit("plan.md", "Plan", "\n".join(LINES[first - 1 : last]), ordinal=ordinal)
    chunk = replace(made.chunk, start_line=first, end_line=last)
    dropped_by = None if kept else DroppedBy.NEIGHBOUR
    stored = replace(made.stored, chunk=chunk)
    return replace(made, stored=stored, dropped_by=dropped_by)


BEFORE, MIDDLE, AFTER = piece(0, 1, 10), piece(1, 9, 20, kept=True), piece(2, 19, 30)
BESIDE = {MIDDLE.chunk.id: (BEFORE, AFTER)}


def prompt(
    *hits: Hit,
    neighbours: Mapping[str, Sequence[Hit]] = BESIDE,
    window: int = 4096,
    chars: int = 12_000,
) -> Prompt:
    limits = AnswerSettings(max_chars=chars)
    how = {"settings": limits, "neighbours": neighbours or {}}
    return prompt_for("What goes first?", hits, window=window, answer_tokens=300, **how)


def test_the_section_is_whole_and_no_line_is_said_twice() -> None:
    """A list that was cut in two is answered in full; the overlap costs no window."""
    made = prompt(MIDDLE)
    content = made.messages[-1].content
    assert all(content.count(line) == 1 for line in LINES)
    assert "\n".join(LINES) in content
    assert made.included == (MIDDLE, BEFORE, AFTER)
    assert made.left_out == ()
    assert "[Chunk 2]" not in content


def test_without_neighbours_nothing_changes() -> None:
    assert prompt(MIDDLE, neighbours={}).included == (MIDDLE,)


@given(st.integers(400, 3000), st.integers(200, 6000))
def test_a_neighbour_never_displaces_a_hit(window: int, chars: int) -> None:
    """What was found by the search counts more than what stands beside it."""
    others = [hit(f"n{i}.md", "S", f"Other {i}. " * 30) for i in range(4)]
    alone = prompt(MIDDLE, *others, neighbours={}, window=window, chars=chars)
    wide = prompt(MIDDLE, *others, window=window, chars=chars)
    assert [h for h in wide.included if h.kept] == list(alone.included)
    assert wide.left_out == alone.left_out
    assert tokens_of(wide.messages) <= max(
        window - 300, tokens_of(prompt(window=10, neighbours={}).messages)
    )
    notes = wide.messages[-1].content.split("\n\n--- End Context ---")[0]
    texts = [part.split("\n\n[Chunk ")[0] for part in notes.split("\nContent: ")[1:]]
    assert sum(map(len, texts)) <= chars


def test_only_what_adjoins_comes_in() -> None:
    """A gap in the middle of a passage would read as one text that the note doesn't hold."""
    far = piece(5, 25, 30)
    assert prompt(MIDDLE, neighbours={MIDDLE.chunk.id: (far,)}).included == (MIDDLE,)


def test_pieces_of_one_long_line_are_joined() -> None:
    line = " ".join(LINES)
    first, second = hit("a.md", "", line[:200], ordinal=0), hit("a.md", "", line[180:], ordinal=1)
    assert joined((first, second)) == line


@given(st.integers(2, 28), st.integers(0, 4))
def test_joined_chunks_give_back_the_note(cut: int, overlap: int) -> None:
    """What the model reads is the note's own text, wherever it was cut."""
    first = piece(0, 1, cut)
    second = piece(1, max(1, cut + 1 - overlap), 30)
    assert joined((first, second)) == "\n".join(LINES)


# --------------------------------------------------------------------------- citations


def test_a_citation_means_the_chunk_that_holds_the_sentence() -> None:
    """The link has to open at the lines where it stands, also for a neighbour."""
    hits = (MIDDLE, BEFORE, AFTER)
    for said, holder in ((LINES[2], BEFORE), (LINES[14], MIDDLE), (LINES[28], AFTER)):
        by_name = resolve(RawCitation("[…]", 0, 0, file="plan.md", section="Plan"), hits, said)
        by_number = resolve(RawCitation("[Chunk 1]", 0, 0, number=1), hits, said)
        assert by_name.hit is holder
        assert by_number.hit is holder
    assert resolve(RawCitation("[Chunk 2]", 0, 0, number=2), hits, LINES[2]).hit is None


def answered(chat: ScriptedChat | None) -> Answer:
    question = "What is done about the mauve drum?"
    beside = (one for hits in BESIDE.values() for one in hits)
    request = AnswerRequest(
        question=question,
        evidence=evidence(MIDDLE),
        quotes=extract(question, (MIDDLE, *beside)),
        chat=chat,
        settings=AnswerSettings(),
        ollama=OllamaSettings(),
        neighbours=BESIDE,
    )
    run, _ = finished(answer(request))
    assert isinstance(run.outcome, Answer)
    return run.outcome


def test_an_answer_out_of_a_neighbour_is_supported_and_cites_it() -> None:
    draft = f"{LINES[27]} [File: plan.md, Section: Plan]"
    made = answered(ScriptedChat(draft))
    assert [r.hit.chunk.id for r in made.references] == [AFTER.chunk.id]
    assert made.unsupported == ()


def test_a_quotation_out_of_a_neighbour_cites_it() -> None:
    made = answered(None)
    assert made.mode == "extractive"
    assert made.references[0].hit.chunk.id == AFTER.chunk.id
    assert LINES[27] in made.text
