"""Sources and summaries on a narrow terminal: nothing is broken in the middle of a word."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

from ragvault.cli.render.ask import AskView
from ragvault.cli.render.index import print_report
from ragvault.cli.render.places import PlaceView
from ragvault.cli.render.terminal import Terminal
from ragvault.cli.session import Session
from ragvault.model import (
    AbstainReason,
    Abstention,
    AskResult,
    ChatUsage,
    Chunk,
    Hit,
    IndexReport,
    NoteInfo,
    Scores,
    Skipped,
    StoredChunk,
)
from ragvault.service.originals import Links

PATH = "Projects/Tidepool/Backend decision.md"
SECTION = ("Backend decision: SQLite on one server", "What would change my mind")
CHUNK = Chunk("c" * 32, "notes", PATH, SECTION, 0, 0, 28, 35, "x", "", "h")
NOTE = NoteInfo("notes", PATH, "Backend decision", "Projects/Tidepool", (), (), 0.0, 9.0)
HIT = Hit(1, StoredChunk(CHUNK, NOTE), Scores(0.5, None, None, 1.0, 0.68))


def terminal(width: int, *, is_tty: bool = True) -> Terminal:
    return Terminal(io.StringIO(), is_tty, False, True, width)


def shown(out: Terminal) -> list[str]:
    assert isinstance(out.stream, io.StringIO)
    return out.stream.getvalue().splitlines()


def place(out: Terminal) -> list[str]:
    PlaceView(out, Links([], "off")).print("[1]", HIT)
    return shown(out)


def test_section_stands_below_its_path_where_it_does_not_fit() -> None:
    lines = place(terminal(60))
    assert lines[0] == f"[1] {PATH}"
    assert lines[1] == "    › Backend decision: SQLite on one server › What would"
    assert lines[2] == "    change my mind"
    assert lines[3].startswith("    lines 28–35 · ")


def test_a_path_that_does_not_fit_has_no_empty_line_below_it_where_there_is_no_section() -> None:
    out = terminal(30)
    chunk = replace(CHUNK, heading_path=())
    PlaceView(out, Links([], "off")).print("[1]", replace(HIT, stored=StoredChunk(chunk, NOTE)))
    assert shown(out)[0] == f"[1] {PATH}"
    assert shown(out)[1].startswith("    lines 28–35")


def test_section_stands_behind_its_path_where_there_is_room_or_no_terminal() -> None:
    whole = f"[1] {PATH} › {SECTION[0]} › {SECTION[1]}"
    assert place(terminal(120))[0] == place(terminal(60, is_tty=False))[0] == whole


def test_passages_of_one_section_stand_as_one_source() -> None:
    """They share a number: listed twice, it would be anyone's guess which one is meant."""
    earlier = replace(CHUNK, start_line=3, end_line=3)
    other = replace(HIT, stored=StoredChunk(earlier, NOTE), scores=replace(HIT.scores, final=0.9))
    out = terminal(120)
    PlaceView(out, Links([], "off")).print("[1]", HIT, more=[other])
    lines = shown(out)
    assert len(lines) == 2
    assert lines[1].startswith("    lines 3, 28–35 · ") and lines[1].endswith("score 0.90")


def test_what_stands_above_the_nearest_place_is_wrapped_too() -> None:
    out = terminal(40)
    pointed = Abstention(
        AbstainReason.NO_RELEVANT_CONTEXT, 0.1, "", nearest=(HIT,), passages=("Signe",)
    )
    result = AskResult("who?", pointed, None, None, None, 1.0, ChatUsage(None, None))
    session = SimpleNamespace(out=out, err=out, places=lambda: PlaceView(out, Links([], "off")))
    AskView(cast(Session, session)).replay(result)
    above = shown(out)[: shown(out).index(f"1. {PATH}")]
    assert len(above) == 2 and max(map(len, above)) <= 40


def test_summary_of_an_index_run_keeps_each_reason_with_its_file() -> None:
    skipped = Skipped("A photo that someone called a note.md", "it holds binary data, not text")
    report = IndexReport("notes", "/notes", added=["a.md"], skipped=[skipped], chunks=7)
    out = terminal(50)
    print_report(out, report)
    assert shown(out)[1:] == [
        "  Skipped:",
        "    A photo that someone called a note.md: it",
        "      holds binary data, not text",
    ]
