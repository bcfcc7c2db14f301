"""``--debug`` on a terminal that is narrower than its table still tells the notes apart."""

from __future__ import annotations

import io

import pytest

from ragvault.cli.render.debug import _place, print_debug
from ragvault.cli.render.layout import columns
from ragvault.cli.render.terminal import Terminal
from ragvault.model import (
    Chunk,
    Hit,
    NoteInfo,
    Query,
    Retrieval,
    Scores,
    StoredChunk,
    Strategy,
)

CHUNK = Chunk(
    "c" * 32, "notes", "Travel/日本/Japan trip.md", ("Trip", "Days"), 0, 0, 7, 9, "x", "", "h"
)
NOTE = NoteInfo("notes", CHUNK.rel_path, "Japan trip", "Travel/日本", (), (), 0.0, 0.0)
HIT = Hit(1, StoredChunk(CHUNK, NOTE), Scores(0.5, None, None, 1.0, 0.5))
WHOLE = "notes/Travel/日本/Japan trip.md:7 Trip > Days"


@pytest.mark.parametrize("room", range(1, 60))
def test_place_fits_and_keeps_the_end_of_the_path(room: int) -> None:
    shown = _place(HIT, room)
    assert columns(shown) <= room
    if room >= 16:
        assert "Japan trip.md:7" in shown


def test_place_is_whole_where_there_is_room_or_no_terminal() -> None:
    assert _place(HIT, None) == _place(HIT, 60) == WHOLE


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_a_narrow_terminal_gets_fewer_columns_and_whole_lines(width: int) -> None:
    stream = io.StringIO()
    query = Query("trip", ("trip",))
    retrieval = Retrieval(query, (HIT,), Strategy.HYBRID)
    print_debug(Terminal(stream, is_tty=True, colour=False, unicode=True, width=width), retrieval)
    head, row = stream.getvalue().splitlines()[-2:]
    assert columns(head) <= width and columns(row) <= width
    assert head.startswith("  #  final") and head.endswith("place")
    assert row.startswith("  1  0.500") and "Japan trip.md:7" in row
    assert ("chunk" in head) == (width >= 100)
    assert ("fate" in head) == (width >= 60)
