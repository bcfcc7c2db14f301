"""Where a passage stands, and whether that is the gold place. Gold that no search could find is
named (``notices``): a question with it counts as a miss, and that must not look like a fault of the
search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragvault.evaluation.dataset import Gold, Question
from ragvault.model import StoredChunk
from ragvault.text import normalise


def in_section(stored: StoredChunk, gold: Gold) -> bool:
    """Whether a passage stands in the gold section, under that very heading, not one below; of a
    gold line: whether it holds the line."""
    if stored.chunk.rel_path != gold.file:
        return False
    if gold.line is not None:
        return stored.chunk.start_line <= gold.line <= stored.chunk.end_line
    if gold.heading is None:
        return True
    path = [folded(part) for part in stored.chunk.heading_path]
    wanted = folded(gold.heading)
    if not wanted or not path:
        return not wanted and not path
    tails = (" > ".join(path[i:]) for i in range(len(path)))
    return wanted in tails


def folded(value: str) -> str:
    return " ".join(normalise(value).split())


def notices(
    questions: Sequence[Question], passages: Callable[[str], Sequence[StoredChunk]]
) -> tuple[str, ...]:
    """One for headings that no passage (of a note, by its path) stands under, with its first
    example. Linear in the gold notes' passages."""
    nowhere = [
        f"(line {question.line}: {gold.heading!r} in {gold.file})"
        for question in questions
        for gold in (question.gold if question.answerable else ())
        if gold.heading is not None
        and not any(in_section(stored, gold) for stored in passages(gold.file))
    ]
    if not nowhere:
        return ()
    said = f"The questions name {len(nowhere):,} gold heading{'s' * (len(nowhere) > 1)} that no"
    return (f"{said} passage stands right under; each counts as a miss {nowhere[0]}.",)
