"""How much of the gold spans the first passages hold, in characters: of a set whose gold says
``start`` and ``end`` (offsets into the note as it is on disk, line ends and all) and ``text``, such
as Chroma's (Smith & Troynikov 2024, "Evaluating Chunking").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ragvault.model import Chunk
from ragvault.service.originals import on_disk

_LINE_END = re.compile(r"\r\n|\r|\n")
Spans = Mapping[str, list[dict[str, Any]]]  # by the question's id


def gold_spans(file: Path) -> Spans:
    """Those of a set's questions that have any."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    found = {
        str(row["id"]): [gold for gold in row.get("gold") or () if gold.get("end") is not None]
        for row in rows
    }
    return {name: spans for name, spans in found.items() if spans}


def recall(vault: Path, gold: Iterable[Mapping[str, Any]], passages: Iterable[Chunk]) -> float:
    """0..1. Gold whose text its note doesn't hold is left out."""
    wanted, held = set(), set()
    for one in gold:
        text = text_of(vault, one["file"])
        start, end = one["start"], one["end"]
        if one.get("text") and text[start:end] != one["text"]:  # other line ends
            places = [m.start() for m in re.finditer(re.escape(one["text"]), text)]
            start = min(places, key=lambda at: abs(at - one["start"]), default=len(text))
            end = start + len(one["text"]) if places else start
        wanted |= {(one["file"], at) for at in range(start, end)}
    for chunk in passages:
        text = text_of(vault, chunk.rel_path)
        starts = [0, *(m.end() for m in _LINE_END.finditer(text)), len(text)]
        start, end = starts[chunk.start_line - 1], starts[min(chunk.end_line, len(starts) - 1)]
        inside = text.find(chunk.text, start, end)
        if inside >= 0:  # a part of one long line
            start, end = inside, inside + len(chunk.text)
        held |= {(chunk.rel_path, at) for at in range(start, end)}
    return len(wanted & held) / len(wanted) if wanted else 0.0


@cache
def text_of(vault: Path, rel_path: str) -> str:
    data = on_disk(vault, rel_path).read_bytes()
    return data.decode("utf-8", "replace").removeprefix("\ufeff")
