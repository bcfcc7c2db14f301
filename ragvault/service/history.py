"""What was asked and answered: kept, and looked up again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ragvault.answering.citations.styles import STYLES, canonical
from ragvault.errors import RagvaultError, StoreDamagedError, UsageError
from ragvault.model import (
    AbstainReason,
    Abstention,
    Answer,
    AskResult,
    ChatUsage,
    Chunk,
    Citation,
    CitationStatus,
    HistoryEntry,
    Hit,
    NoteInfo,
    Reference,
    Scores,
    StoredChunk,
)
from ragvault.service.json_objects import ask_object, iso_time
from ragvault.service.originals import Links, wikilink

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
            place["times"] = [hit.note.date, hit.note.mtime]
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


# --------------------------------------------------------------------------- looked up


def entry_of(container: Container, wanted: str) -> HistoryEntry:
    """The answer of a number, or the ``last`` one. Raises UsageError when there is none."""
    history, found = container.history, None
    if wanted.lower() == "last":
        found = next(iter(history.entries(limit=1)), None)
    elif is_number(wanted):
        found = history.entry(int(wanted))
    if found is None:
        raise UsageError(
            f"There is no answer {wanted!r}.",
            "`ragvault history` lists them with their numbers; `last` is the newest.",
        )
    return found


def is_number(text: str) -> bool:
    """Whether an answer could have it as its number."""
    return text.isascii() and text.isdigit() and len(text) < 19  # SQLite has 64 bits


def result_of(entry: HistoryEntry) -> AskResult:
    """The answer as it was given, for whatever draws one; without its retrieval."""
    kept = entry.document
    meta = kept["meta"]
    outcome: Answer | Abstention
    if kept["abstained"]:
        nearest = kept.get("nearest", [])
        outcome = Abstention(
            reason=AbstainReason(kept["abstain_reason"]),
            confidence=kept["confidence"],
            message=kept["answer"],
            nearest=tuple(map(_hit, nearest)),
            searched=kept.get("searched", ""),
            passages=tuple(place["text"] for place in nearest if "text" in place),
        )
    else:
        outcome = Answer(
            text=kept["answer"],
            mode=kept["mode"],
            confidence=kept["confidence"],
            references=_references(kept["references"]),
            citations=tuple(
                Citation(c["raw"], c["position"], CitationStatus(c["status"]), c["chunk_id"])
                for c in kept.get("citations", [])
            ),
            unsupported=tuple(kept.get("unsupported", ())),
            caveats=tuple(kept.get("caveats", ())),
            also=_references(kept.get("also", [])),
        )
    return AskResult(
        question=kept["question"],
        outcome=outcome,
        retrieval=None,
        model=meta["model"],
        llm_ms=meta["llm_ms"],
        total_ms=meta["total_ms"] or 0.0,
        usage=ChatUsage(meta["prompt_tokens"], meta["completion_tokens"]),
        notices=tuple(meta.get("notices", ())),
        terms=tuple(kept.get("terms", ())),
        id=entry.id,
    )


def _references(places: Iterable[Mapping[str, Any]]) -> tuple[Reference, ...]:
    return tuple(
        Reference(one["marker"], _hit(one), one["snippet"], one.get("evidence", ""))
        for one in places
    )


def _hit(place: Mapping[str, Any]) -> Hit:
    """The passage as it was cited. An answer of version 0.1 has its snippet only, and no date."""
    chunk = Chunk(
        id=place["chunk_id"],
        vault=place["vault"],
        rel_path=place["rel_path"],
        heading_path=tuple(place["heading_path"]),
        ordinal=0,
        chunk_index=place.get("chunk_index", 0),
        start_line=place["start_line"],
        end_line=place["end_line"],
        text=place.get("passage", place["snippet"]),
        embed_text="",
        text_hash="",
    )
    date, mtime = place.get("times", (0.0, 0.0))
    note = NoteInfo(chunk.vault, chunk.rel_path, "", "", (), (), date, mtime)
    return Hit(
        rank=place["marker"],
        stored=StoredChunk(chunk, note),
        scores=Scores(None, None, None, 1.0, place["score"]),
        kept=True,
        duplicates=tuple(place.get("duplicates", ())),
    )


def citation_of(reference: Reference, text: str) -> str:
    """How the answer's text cites it."""
    written = (style.render(reference.hit, reference.marker) for style in STYLES.values())
    return next((mark for mark in written if mark in text), canonical(reference.hit))


def sources(result: AskResult) -> list[Hit]:
    """The places behind an answer as they are numbered where it is shown, the first passage of
    each: passages of one section share a citation."""
    outcome = result.outcome
    if isinstance(outcome, Abstention):
        return list(outcome.nearest)
    places: dict[str, Hit] = {}
    for one in outcome.references:
        places.setdefault(citation_of(one, outcome.text), one.hit)
    cited = {one.hit.chunk.id for one in outcome.references}
    return [*places.values(), *(o.hit for o in outcome.also if o.hit.chunk.id not in cited)]


def source_at(result: AskResult, number: int) -> Hit:
    """The one of a number, from 1. Raises UsageError when there is none."""
    found = sources(result)
    if not 1 <= number <= len(found):
        has = f"{len(found)} sources" if len(found) > 1 else "one source" if found else "no source"
        hint = "They are numbered from 1." if found else "`ragvault history` lists the others."
        raise UsageError(f"There is no source {number}: the answer has {has}.", hint)
    return found[number - 1]


def as_markdown(result: AskResult) -> str:
    """The answer for a note: citations as wikilinks, quotations as quotes."""
    outcome = result.outcome
    if isinstance(outcome, Abstention):
        texts = [*outcome.passages, *[""] * len(outcome.nearest)]
        found = zip(texts, outcome.nearest, strict=False)
        return "\n\n".join([outcome.message, *(_quoted(text, hit) for text, hit in found)])
    text, at, parts = outcome.text, 0, []
    by_chunk = {one.hit.chunk.id: one for one in outcome.references}
    for place in sorted({(c.position, c.chunk_id or "") for c in outcome.citations}):
        one = by_chunk.get(place[1])
        mark = "" if one is None else citation_of(one, text)
        if one is None or place[0] < at or not text.startswith(mark, place[0]):
            continue  # a removed one, or several at one place
        before, at = text[at : place[0]], place[0] + len(mark)
        quotes = outcome.mode == "extractive"
        parts.append(_quoted(before, one.hit) + "\n\n" if quotes else before + wikilink(one.hit))
    return ("".join(parts) + text[at:]).strip()


def _quoted(text: str, hit: Hit) -> str:
    lines = [f"> {line}".rstrip() for line in text.strip("\n").split("\n") if text.strip()]
    return "\n".join([*lines, *([">"] if lines else []), f"> {wikilink(hit)}"])


def kept_path(entry: HistoryEntry, hit: Hit) -> str | None:
    """Where the note was when it was cited."""
    kept = entry.document
    places = [*kept["references"], *kept.get("also", []), *kept.get("nearest", [])]
    return next((one.get("path") for one in places if one["chunk_id"] == hit.chunk.id), None)
