"""An answer in the making as JSON objects, one an event: what ``ask --json-stream`` prints. The
names are a promise to scripts, as those of ``service.json_objects`` are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragvault.model import AskEvent, Cited, Done, Retrieved, Stated, Token
from ragvault.service.json_objects import ask_object, place_object, rounded

if TYPE_CHECKING:
    from ragvault.service.originals import Links


def event_object(event: AskEvent, links: Links) -> dict[str, Any]:
    """Empty for what isn't settled."""
    value: dict[str, Any]
    if isinstance(event, Retrieved):
        hits = [place_object(hit, n, links) for n, hit in enumerate(event.hits, start=1)]
        value = {"searched_for": event.retrieval.query.text, "hits": hits}
    elif isinstance(event, Cited):
        place = place_object(event.hit, event.marker, links)
        value = {"text": event.text, "position": event.position, **place}
    elif isinstance(event, Stated):
        value = {
            "text": event.text,
            "verdict": event.verdict,
            "shown": event.is_shown,
            "chunk_ids": [hit.chunk.id for hit in event.cited],
        }
    elif isinstance(event, Token):
        value = {"text": event.text, "mode": event.mode}
    elif isinstance(event, Done):
        value = ask_object(event.result, links)
    else:
        return {}
    return {"type": event.kind, **rounded(value)}
