"""The page and the figures on it: it is opened in a browser, so note text must not run there."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from ragvault.evaluation.dataset import Gold
from ragvault.evaluation.document import as_object
from ragvault.evaluation.judging import Passage, QuestionResult
from ragvault.evaluation.report import page
from ragvault.evaluation.summary import five_thresholds, summarise
from tests.support.evaluating import evaluation, judged

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b]0;x\x07"


def results() -> list[QuestionResult]:
    found = [Passage(EVIL, (EVIL,), 1, 2, EVIL, 0.5)]
    gold = [Gold(EVIL, EVIL, 0, 5, EVIL)]
    return [
        judged("1", 0.9, found=found),
        judged("2", 0.8, ranks=(7,), values={"ndcg@10": 0.3}, text=EVIL, found=found, gold=gold),
        judged("3", 0.1, text="refused?", found=found),
        judged("4", 0.7, answerable=False, text="invented?", found=found),
        judged("5", 0.05, answerable=False),
        judged("6", 0.9, answerable=False, origin=EVIL),
    ]


class Reader(HTMLParser):
    """Balanced tags, their names and attributes, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def test_text_of_notes_can_do_nothing() -> None:
    text = page(evaluation(results(), name=EVIL))
    reader = read(text)
    assert not reader.tags & {"script", "img", "iframe", "link", "object"}
    assert not {a for a in reader.attributes if a.startswith("on") or a in ("src", "href")}
    assert "alert(1)" in reader.text  # shown, not run
    assert "\x1b" not in text and "\x07" not in text


def test_page_can_be_saved_whatever_its_file_is_called() -> None:
    text = page(evaluation(results(), name="caf\udce9"))  # a name in Latin-1
    assert "caf?" in text.encode("utf-8").decode("utf-8")


def test_page_asks_nothing_of_a_network() -> None:
    text = page(evaluation(results()))
    assert not re.search(r"https?://|url\(|@import|<link", text)


def test_curves_and_worst_questions_are_there() -> None:
    reader = read(page(evaluation(results())))
    for words in (
        "Recall by k",
        "Is the confidence true?",
        "What a threshold costs",
        "Worst ranked",
        "Answered without an answer there",
        "invented?",
        "Refused though the answer is there",
        "refused?",
    ):
        assert words in reader.text


def test_page_of_a_set_without_unanswerable_questions() -> None:
    reader = read(page(evaluation([judged("1", 0.9), judged("2", 0.2)])))
    assert "Recall by k" in reader.text
    assert "What a threshold costs" not in reader.text


def test_curves_stay_inside_their_frame() -> None:
    places = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', page(evaluation(results())))
    assert len(places) == 5  # a dot for each fifth of the questions
    assert all(52 <= float(x) <= 444 and 32 <= float(y) <= 254 for x, y in places)
    assert float(places[0][1]) >= float(places[-1][1])  # more is higher up


# --------------------------------------------------------------------------- the figures


def test_summary_counts_what_was_decided() -> None:
    summary = summarise(results(), threshold=0.4)
    own = summary.own
    assert (own.answerable, own.unanswerable) == (3, 2)
    assert own.false_answers is not None and own.false_refusals is not None
    assert own.false_answers.value == 0.5
    assert own.false_refusals.value == pytest.approx(1 / 3)
    assert own.auroc is not None and own.auroc.value == pytest.approx(5 / 6)
    assert {e.value for e in summary.off_topic.values()} == {1.0}
    assert summary.everything is not None
    assert summary.everything.unanswerable == 3


def test_trade_off_at_the_threshold_in_force_is_what_was_decided() -> None:
    """Also where a floor refused, or notes by date were answered with, whatever the confidence."""
    made = [
        *results(),
        judged("floor", 0.9, answered=False),
        judged("recent", 0.1, answered=True),
        judged("by date", 0.1, answerable=False, answered=True),
    ]
    own = summarise(made, threshold=0.4).own
    now = next(t for t in own.at_thresholds if t.threshold == 0.4)
    assert own.false_answers is not None and own.false_refusals is not None
    assert now.false_answers == own.false_answers.value
    assert now.false_refusals == own.false_refusals.value


def test_no_threshold_answers_what_a_floor_refused() -> None:
    """Not even 0, which is in force where the gate goes by fixed thresholds alone."""
    made = [judged("1", 0.3, answered=True), judged("2", 0.0, answerable=False, answered=False)]
    made.append(judged("3", 0.1, answerable=False, answered=True))
    own = summarise(made, threshold=0.0).own
    assert own.at_thresholds[0].threshold == 0.0
    assert own.at_thresholds[0].false_answers == 0.5
    assert [trade.false_answers for _, trade in own.at_shares] == [0.0] * len(own.at_shares)
    assert all(0.1 < t.threshold < 0.3 and t.false_refusals == 0.0 for _, t in own.at_shares)
    only_floors = [made[0], made[1]]
    own = summarise(only_floors, threshold=0.0).own
    assert all(t.threshold == 0.0 for _, t in own.at_shares)


def test_five_thresholds_surround_the_one_in_force() -> None:
    found = five_thresholds(0.4)
    assert len(set(found)) == 5
    assert found == sorted(found) and found[2] == 0.4
    assert five_thresholds(0.05) == [0.013, 0.026, 0.05, 0.095, 0.174]  # close by, where it is low
    assert all(0 <= t <= 1 for t in (*five_thresholds(0.0), *five_thresholds(1.0)))


def test_languages_are_told_apart() -> None:
    made = [
        judged("1", 0.9, lang="en"),
        judged("2", 0.9, lang="de", ranks=(), values={"ndcg@10": 0.0}),
    ]
    by_lang = summarise(made, threshold=0.4).by_lang
    assert by_lang["en"]["blend"]["ndcg@10"].value == 1.0
    assert by_lang["de"]["blend"]["ndcg@10"].value == 0.0
    assert summarise(made[:1], threshold=0.4).by_lang == {}


def test_json_holds_every_question_and_is_finite() -> None:
    value = as_object(evaluation(results()))
    text = json.dumps(value, allow_nan=False)
    assert json.loads(text)["questions"][1]["legs"]["blend"]["ranks"] == [7]
    assert value["set"]["off_topic"] == {EVIL: 1}
    assert value["legs"]["blend"]["ndcg@10"]["n"] == 3
    assert value["recall_by_k"]["blend"][0] == [1, pytest.approx(2 / 3, abs=1e-6)]


def test_json_of_a_run_without_the_gate_says_nothing_of_refusals() -> None:
    from dataclasses import replace

    value = as_object(evaluation([replace(r, gated=False) for r in results()[:2]]))
    assert value["questions"][0]["answered"] is None
    assert value["abstention"]["false_refusals"] is None
