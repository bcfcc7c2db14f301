"""What was asked and answered: kept, and looked up again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ragvault.errors import RagvaultError, StoreDamagedError
from ragvault.model import Answer, AskResult, HistoryEntry
from ragvault.service.json_objects import ask_object, iso_time
from ragvault.service.originals import Links

if TYPE_CHECKING:
    from ragvault.wiring import Container

_DAY_S = 86_400


def keep(container: Container, result: AskResult, now: datetime, session: str | None) -> AskResult:
    """The result with its number in the history. Never raises: one that can't be kept has a notice
    instead; a damaged history is set aside, and another begun."""
    settings = container.settings.history
    if not settings.enabled:
        return result
    asked_at = now.timestamp()
    oldest = asked_at - settings.keep_days * _DAY_S if settings.keep_days else None
    notices = result.notices
    try:
        entry = HistoryEntry(asked_at, _document(result, Links.of(container)), session)
        try:
            number = container.history.add(entry, forget_before=oldest)
        except StoreDamagedError:
            aside = container.set_history_aside()
            notices += (f"The history was damaged: it is {aside} now, and another is begun.",)
            number = container.history.add(entry)
    except RagvaultError as error:
        notices += (f"The answer could not be kept in the history: {error.message}",)
        return replace(result, notices=notices)
    return replace(result, notices=notices, id=number)


def _document(result: AskResult, links: Links) -> dict[str, Any]:
    """What ``ask --json`` prints, with the passages whole, as they are today."""
    value = ask_object(result, links)
    outcome = result.outcome
    if isinstance(outcome, Answer):
        shown = {
            "references": [one.hit for one in outcome.references],
            "also": [one.hit for one in outcome.also],
        }
    else:
        shown = {"nearest": list(outcome.nearest)}
    for name, hits in shown.items():
        for place, hit in zip(value[name], hits, strict=True):
            place["passage"] = hit.chunk.text
    return {**value, "terms": list(result.terms)}


def entry_object(entry: HistoryEntry) -> dict[str, Any]:
    """An answer as ``history`` and ``show`` give it to scripts."""
    document = dict(entry.document)
    meta = {**document.pop("meta"), "id": entry.id}
    return {
        "id": entry.id,
        "asked_at": iso_time(entry.asked_at),
        "session": entry.session,
        "turn": entry.turn,
        **document,
        "meta": meta,
    }
