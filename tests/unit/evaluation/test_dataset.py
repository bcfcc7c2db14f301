"""Question sets: what a person writes by hand has to be read, or its mistake named by its line."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from ragvault.errors import UsageError
from ragvault.evaluation.dataset import (
    Gold,
    load_questions,
    parse_questions,
)
from ragvault.evaluation.judging import (
    groundedness,
    judge_answer,
    judge_ranking,
    ranking_of,
)
from ragvault.model import (
    Answer,
    Citation,
    CitationStatus,
    DroppedBy,
    Hit,
    Query,
    Retrieval,
    Scores,
    Stated,
    StoredChunk,
    Strategy,
)
from tests.support.evaluating import passage

GOOD = {"id": "1", "question": "Who?", "answerable": True, "gold": [{"file": "a.md"}]}


def line(**changes: object) -> str:
    return json.dumps({**GOOD, **changes})


def test_bundled_questions_are_a_set() -> None:
    file = Path(__file__).parents[2] / "sample-questions.jsonl"
    questions = load_questions(file)
    assert len(questions) == len({q.id for q in questions}) > 40
    assert {q.answerable for q in questions} == {True, False}


def test_all_fields_are_read() -> None:
    gold = [{"file": "a.md", "heading": "H"}, {"file": "b.md", "line": 4}]
    [question] = parse_questions(line(gold=gold, lang="de", right="x+"), "q")
    assert question.gold == (Gold("a.md", "H"), Gold("b.md", line=4))
    assert (question.lang, question.right) == ("de", "x+")


def test_a_number_is_an_id_too() -> None:
    [question] = parse_questions(line(id=7), "q")
    assert question.id == "7"


def test_gold_decides_where_answerable_isn_t_said() -> None:
    with_gold, without = parse_questions(
        '{"question": "A?", "gold": [{"file": "a.md"}]}\n{"question": "B?"}', "q"
    )
    assert (with_gold.answerable, without.answerable) == (True, False)
    assert with_gold.id != without.id


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ("{", "invalid JSON"),
        ("[]", "input should be an object"),
        ('{"id": "1"}', "`question`: field required"),
        ('{"question": "  "}', "`question`: string should have at least 1 character"),
        (line(gold=[]), "needs `gold`"),
        (line(gold="a.md"), "`gold`: input should be a valid array"),
        (line(gold=["a.md"]), "`gold.0`: input should be an object"),
        (line(gold=[{"heading": "H"}]), "`gold.0.file`: field required"),
        (line(gold=[{"file": "a.md", "line": -1}]), "`gold.0.line`: input"),
        (line(answerable="yes"), "`answerable`: input should be a valid boolean"),
        (line(lang=1), "`lang`: input should be a valid string"),
        (line(id=["1"]), "`id`: input should be a valid string"),
        (line(question="half \ud800 a character?"), "invalid JSON"),
        (line(), "is that of line 1 already"),
    ],
)
def test_mistake_is_named_with_its_line(wrong: str, what: str) -> None:
    with pytest.raises(UsageError, match=r"^set\.jsonl:3: ") as caught:
        parse_questions(f"{line()}\n\n{wrong}\n", "set.jsonl")
    assert what in caught.value.message


def test_file_problems_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_questions(tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"{\xff}")
    if Path("/dev/zero").exists():  # has no end
        with pytest.raises(UsageError, match="too large"):
            load_questions(Path("/dev/zero"))
    with pytest.raises(UsageError, match="not UTF-8"):
        load_questions(tmp_path / "latin.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n \n")
    with pytest.raises(UsageError, match="holds no question"):
        load_questions(tmp_path / "empty.jsonl")
    with pytest.raises(UsageError, match="can't be read") as caught:
        load_questions(tmp_path)
    assert "Each line is an object" in caught.value.hint


def test_whole_characters_may_be_escaped() -> None:
    [question] = parse_questions(line(question="🥐 \u200d?"), "q")
    assert question.text == "🥐 \u200d?"


def test_line_separators_within_a_text_end_no_line() -> None:
    text = json.dumps({**GOOD, "question": "a\u2028b?"}, ensure_ascii=False)
    assert [q.text for q in parse_questions(text, "q")] == ["a\u2028b?"]


def test_windows_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_bytes(("\ufeff" + line() + "\r\n" + line(id="2") + "\r\n").encode())
    assert [q.id for q in load_questions(file)] == ["1", "2"]


def test_limit_draws_the_same_each_time_and_keeps_the_order() -> None:
    text = "\n".join(line(id=str(i)) for i in range(50))
    drawn = [q.id for q in parse_questions(text, "q", limit=10)]
    assert drawn == [q.id for q in parse_questions(text, "q", limit=10)]
    assert drawn == sorted(drawn, key=int)
    assert drawn[-1] != "9"  # not simply the first ten


@pytest.mark.parametrize("given", ["./Café.md", "Cafe\u0301.md", "Café.md", "/Café.md"])
def test_spelling_of_a_path_doesn_t_matter(given: str) -> None:
    """A set written on a Mac names its notes in NFD; the index knows them in NFC."""
    questions = parse_questions(line(gold=[{"file": given}]), "q")
    assert questions[0].gold[0].file == unicodedata.normalize("NFC", "Café.md")


def test_place_of_an_unanswerable_question_needn_t_be_there() -> None:
    """ClapNQ's unanswerable questions name the note that they are about."""
    questions = parse_questions(line(answerable=False, gold=[{"file": "gone.md"}]), "q")
    assert not questions[0].answerable


@pytest.mark.parametrize(
    ("path", "heading", "is_in"),
    [
        (("Note", "Setup"), "Setup", True),
        (("Note", "Setup"), "setup ", True),
        (("Note", "Setup"), "Note > Setup", True),
        (("Note", "Setup"), "Note", False),
        (("Note", "Setup", "Disk"), "Setup", False),
        ((), "", True),
        (("Note",), "", False),
        (("A > B",), "A > B", True),
        (("Setup",), None, True),
    ],
)
def test_section_is_the_one_under_that_heading(
    path: tuple[str, ...], heading: str | None, is_in: bool
) -> None:
    assert Gold("a.md", heading).is_in(passage("a.md", path)) is is_in
    assert not Gold("a.md", heading).is_in(passage("b.md", path))


def test_notes_are_scored_by_their_best_passage() -> None:
    """Three passages of a wrong note count once: the right one is second, not fourth."""
    [question] = parse_questions(line(gold=[{"file": "right.md", "heading": "H"}]), "q")
    wrong = [passage("wrong.md", (str(i),)) for i in range(6)]
    found = [*wrong, passage("right.md", ("H",))]
    ranking = ranking_of(retrieved(*((stored, None) for stored in found)))
    judged = judge_ranking(question, ranking)
    assert judged["mrr@10"] == 0.5
    # but a person who reads the first five passages doesn't see it
    assert judged["file_hit@5"] == judged["section_hit@5"] == 0.0


def retrieved(*found: tuple[StoredChunk, str | None]) -> Retrieval:
    scores = Scores(0.5, 0.5, None, 1.0, 0.5)
    hits = tuple(
        Hit(rank, stored, scores, why and DroppedBy(why))
        for rank, (stored, why) in enumerate(found, 1)
    )
    return Retrieval(Query("q", ()), hits, Strategy.HYBRID)


def test_text_that_stands_twice_is_found_at_both_places() -> None:
    """A report repeats its key figures: shown once, they are found wherever gold says they are.
    A duplicate of what isn't among the first passages is not."""
    [question] = parse_questions(line(gold=[{"file": "a.md", "line": 3}]), "q")
    first = passage("b.md", text="the figure")
    copy = passage("a.md", text="The  figure", lines=(3, 3))
    other = passage("b.md", text="another", lines=(5, 5))
    ranking = ranking_of(retrieved((first, None), (copy, "duplicate")))
    assert (ranking.passages, ranking.places) == ((first,), (first, copy))
    assert judge_ranking(question, ranking)["section_hit@5"] == 1.0
    elsewhere = ranking_of(retrieved((other, None), (copy, "duplicate")))
    assert judge_ranking(question, elsewhere)["section_hit@5"] == 0.0


def quoted(text: str, chunk_id: str) -> Answer:
    citation = Citation("[File: a.md]", len(text) + 1, CitationStatus.EXACT, chunk_id)
    return Answer(f"{text} [File: a.md]", "extractive", 0.9, citations=(citation,))


def test_written_answer_is_as_grounded_as_its_statements() -> None:
    text = "The pump is old. [File: a.md] The fan is new. [File: a.md]"
    citation = Citation("[File: a.md]", 17, CitationStatus.EXACT, "c")
    said = (Stated("The fan is new.", "unsupported", True, ()),)
    answer = Answer(text, "llm", 0.8, citations=(citation,), statements=said)
    assert groundedness(answer) == 0.5
    assert groundedness(replace(answer, mode="extractive")) is None


def test_citation_of_the_wrong_note_costs_accuracy() -> None:
    stored = passage("a.md", ("H",), "the answer")
    scores = Scores(0.9, 0.9, None, 1.0, 0.9)
    hits = [Hit(1, stored, scores)]
    right, wrong = (
        parse_questions(line(gold=[{"file": file}]), "q")[0] for file in ("a.md", "b.md")
    )
    answer = quoted("the answer", stored.chunk.id)
    assert judge_answer(right, answer, hits) == {
        "citation_valid": 1.0,
        "citation_accuracy": 1.0,
    }
    assert judge_answer(wrong, answer, hits)["citation_accuracy"] == 0.0
