"""Where a note stood in the answer to a question, and what dropped it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ragvault.model import Answer, AskResult, Hit, Request, Strategy, shown_confidence
from ragvault.service.ask import answer_of, ask
from ragvault.service.vaults import find_note
from ragvault.text import one_line
from ragvault.wiring import Container


def why(container: Container, note: str, request: Request, *, now: datetime) -> str:
    """One paragraph. ``note`` is its path or its name, with or without the extension.

    Asks without a model, and keeps nothing where the history is off. Raises UsageError for a
    note that isn't indexed or a name that several have, and as ``ask``.
    """
    vault, rel_path = find_note(container, note, request.vaults)
    result = answer_of(ask(container, request, now=now))
    retrieval = result.retrieval
    if retrieval is None:
        return "Nothing was looked for: that is no question."
    chunks = len(container.catalog.note_chunks(vault, rel_path))
    found = [
        hit
        for hit in retrieval.candidates
        if (hit.chunk.vault, hit.chunk.rel_path) == (vault, rel_path)
    ]
    name, outcome = one_line(rel_path), _outcome(result)
    if not found:
        of = "its passage wasn't" if chunks == 1 else f"none of its {chunks:,} passages was"
        reason = f"{of} near enough in meaning, nor held enough of the question's words"
        if retrieval.strategy is Strategy.RECENT:
            reason = "only the newest notes were, of the time that was asked for if any"
        if retrieval.strategy is Strategy.TASKS:
            reason = "it holds no task of those that were asked for"
        if request.folders or request.tags or request.since or request.until:
            reason += ", or it is outside the limits that you set"
        return (
            f"{name} isn't among the passages that were looked at "
            f"({len(retrieval.candidates):,}): "
            f"{reason}. {outcome}"
        )
    return f"{name}: {_place(found[0], len(retrieval.candidates))} {_fate(found, result)} {outcome}"


def _place(hit: Hit, candidates: int) -> str:
    chunk, scores = hit.chunk, hit.scores
    section = f" (“{one_line(chunk.heading_path[-1])}”)" if chunk.heading_path else ""
    parts = [f"{scores.final:.2f}"]
    if scores.vector is not None:
        parts.append(f"by meaning {scores.vector:.2f}")
    if scores.lexical is not None:
        parts.append(f"by words {scores.lexical:.2f}")
    return (
        f"its best passage, from line {chunk.start_line}{section}, is number {hit.rank} of "
        f"{candidates:,}, with a score of {', '.join(parts)}."
    )


def _fate(found: list[Hit], result: AskResult) -> str:
    kept = [hit for hit in found if hit.kept]
    if not kept and found[0].dropped_by:
        return f"It was not kept: {found[0].dropped_by.description}."
    if not isinstance(result.outcome, Answer):
        return "It was kept."
    ids = {hit.chunk.id for hit in kept}
    if any(quote.hit.chunk.id in ids for quote in result.quotes):
        return "It was kept, and quoted."
    return "It was kept, but what it holds matches the question less than what was quoted."


def _outcome(result: AskResult) -> str:
    outcome = result.outcome
    sure = shown_confidence(outcome.confidence)
    if isinstance(outcome, Answer):
        return f"The answer is quoted from {_notes(r.hit for r in outcome.references)} ({sure})."
    if outcome.passages:
        pointed = _notes(outcome.nearest[: len(outcome.passages)])
        return f"Nothing was quoted as an answer ({sure}): `ask` points at {pointed}."
    return f"There was no answer ({sure})."


def _notes(hits: Iterable[Hit]) -> str:
    return ", ".join(dict.fromkeys(one_line(hit.chunk.rel_path) for hit in hits))
