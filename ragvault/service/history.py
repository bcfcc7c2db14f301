"""What was asked and answered: kept, and looked up again."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

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
    shown_confidence,
)
from ragvault.service.json_objects import (
    ask_object,
    iso_time,
    local_day,
    local_time,
    picked,
    rounded,
)
from ragvault.service.originals import Links, wikilink
from ragvault.service.vaults import write_new
from ragvault.text import language_of, normalise, one_line
from ragvault.wiring import Container

_T = TypeVar("_T")
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
    """What ``ask --json`` prints, with the passages whole, their scores, and all that was timed."""
    value = ask_object(result, links)
    outcome = result.outcome
    if isinstance(outcome, Answer):
        hits = [one.hit for one in (*outcome.references, *outcome.also)]
    else:
        hits = list(outcome.nearest)
    places = (*value["references"], *value["also"], *value["nearest"])
    for place, hit in zip(places, hits, strict=True):
        times = (hit.note.date, hit.note.mtime)
        place.update(passage=hit.chunk.text, scores=hit.scores, times=times)
    spent = result.retrieval.timings_ms if result.retrieval else {}
    return dict(rounded({**value, **picked(result, "terms language"), "timings_ms": spent}))


def entry_object(entry: HistoryEntry) -> dict[str, Any]:
    """An answer as ``history`` and ``show`` give it to scripts."""
    document = dict(entry.document)
    meta = {**document.pop("meta"), "id": entry.id}
    when = {"asked_at": iso_time(entry.asked_at), **picked(entry, "session turn")}
    return {"id": entry.id, **when, **document, "meta": meta}


def entry_of(container: Container, wanted: str) -> HistoryEntry:
    """The answer of a number, or the ``last`` one. Raises UsageError when there is none."""
    history, found = container.history, None
    if wanted.lower() == "last":
        found = next(iter(history.entries(limit=1)), None)
    elif is_number(wanted):
        found = history.entry(int(wanted))
    if found is None and not history.entries(limit=1):
        raise UsageError("There is no answer yet.", "Ask something: `ragvault ask QUESTION`.")
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
        nearest = kept["nearest"]
        outcome = _made(
            Abstention,
            kept,
            reason=AbstainReason(kept["abstain_reason"]),
            message=kept["answer"],
            nearest=tuple(map(_hit, nearest)),
            passages=tuple(place["shown"] for place in nearest if "shown" in place),
        )
    else:
        outcome = _made(
            Answer,
            kept,
            text=kept["answer"],
            references=tuple(map(_reference, kept["references"])),
            citations=tuple(
                _made(Citation, c, status=CitationStatus(c["status"])) for c in kept["citations"]
            ),
            also=tuple(map(_reference, kept["also"])),
            statements=(),  # its document has them; what is shown of it needs none
        )
    usage, total_ms = _made(ChatUsage, meta), meta["total_ms"] or 0.0
    given = {"outcome": outcome, "retrieval": None, "usage": usage, "total_ms": total_ms}
    said = {"language": language_of(kept["question"]), **kept, **meta}  # 0.1 kept no language
    return _made(AskResult, said, **given, id=entry.id)


def _reference(place: Mapping[str, Any]) -> Reference:
    return _made(Reference, place, hit=_hit(place))


def _hit(place: Mapping[str, Any]) -> Hit:
    """The passage as it was cited."""
    unknown = {"ordinal": 0, "embed_text": "", "text_hash": "", **place}
    chunk = _made(Chunk, unknown, id=place["chunk_id"], text=place["passage"])
    note = NoteInfo(chunk.vault, chunk.rel_path, "", "", (), (), *place["times"])
    scores = Scores(None, None, None, 1.0, place["score"])
    stored = StoredChunk(chunk, note)
    return _made(Hit, place, rank=place["marker"], stored=stored, scores=scores)


def _made(kind: type[_T], kept: Mapping[str, Any], /, **given: Any) -> _T:
    """The dataclass: ``given``, and what the document has under its fields' names."""
    names = {field.name for field in fields(kind)} & kept.keys() - given.keys()  # type: ignore[arg-type]
    found = {name: kept[name] for name in names}
    lists = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
    return kind(**{**found, **lists, **given})


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
        found = list(zip(outcome.passages, outcome.nearest, strict=False))
        quotes = [_quoted(text, hit) for text, hit in found]
        links = [f"- {wikilink(hit)}" for hit in outcome.nearest[len(found) :]]
        lead = f"{outcome.lead}:" if found else outcome.message
        return "\n\n".join([lead, *quotes, "\n".join(links)]).strip()
    text, at, parts = outcome.text, 0, []
    by_chunk = {one.hit.chunk.id: one for one in outcome.references}
    for place in sorted({(c.position, c.chunk_id or "") for c in outcome.citations}):
        one = by_chunk.get(place[1])
        mark = "" if one is None else citation_of(one, text)
        if one is None or place[0] < at or not text.startswith(mark, place[0]):
            continue  # a removed one, or several at one place
        before, at = text[at : place[0]], place[0] + len(mark)
        is_quote = outcome.mode == "extractive"
        link = wikilink(one.hit)
        parts.append(_quoted(before, one.hit) + "\n\n" if is_quote else before + link)
    return ("".join(parts) + text[at:]).strip()


def _quoted(text: str, hit: Hit) -> str:
    lines = [f"> {line}".rstrip() for line in text.strip("\n").split("\n")]
    return "\n".join([*lines, ">", f"> {wikilink(hit)}"])


def kept_path(entry: HistoryEntry, hit: Hit) -> str | None:
    """Where the note was when it was cited."""
    kept = entry.document
    places = [*kept["references"], *kept["also"], *kept["nearest"]]
    return next((one["path"] for one in places if one["chunk_id"] == hit.chunk.id), None)


def export(container: Container, target: Path) -> int:
    """Write all answers to a new file: JSON Lines or Markdown, by its suffix. Returns how many.
    Raises UsageError."""
    writers: dict[str, Callable[[HistoryEntry], str]] = {
        ".jsonl": lambda entry: json.dumps(entry_object(entry)) + "\n",
        ".md": _as_page,
        ".markdown": _as_page,
    }
    write = writers.get(target.suffix.lower())
    if write is None:
        raise UsageError(
            f"{target.name} has to end in .jsonl or .md.", "ragvault history export answers.jsonl"
        )
    entries = container.history.entries()
    write_new(container, target, "".join(map(write, entries)))
    return len(entries)


def _as_page(entry: HistoryEntry) -> str:
    result = result_of(entry)
    facts = (
        f"{local_time(entry.asked_at)}, confidence {shown_confidence(result.outcome.confidence)}"
    )
    return f"## {one_line(result.question)}\n\n*{facts}*\n\n{as_markdown(result)}\n\n"


@dataclass(frozen=True, slots=True)
class Stats:
    """Of the questions of a month ("2026-11"; "": of all). ``pointed``: the place was shown, with
    no answer. ``total_ms`` is the median, None where there is nothing to time. ``cited`` is how
    many citations models wrote, ``exact`` how many of these were kept as they were written."""

    month: str
    answered: int
    pointed: int
    nothing: int
    total_ms: float | None
    cited: int
    exact: int


def stats_of(entries: Iterable[HistoryEntry], month: str = "") -> Stats:
    """Small talk isn't counted."""
    kept = [one.document for one in entries]
    kept = [document for document in kept if document["mode"] != "none" or document["abstained"]]
    why = Counter(document["abstain_reason"] for document in kept)
    statuses = Counter(
        citation["status"]
        for document in kept
        if document["mode"] == "llm"
        for citation in document["citations"]
    )
    spent = sorted(ms for document in kept if (ms := document["meta"]["total_ms"]) is not None)
    return Stats(
        month=month,
        answered=why[None],
        pointed=why[AbstainReason.INSUFFICIENT_INFORMATION],
        nothing=len(kept) - why[None] - why[AbstainReason.INSUFFICIENT_INFORMATION],
        total_ms=spent[len(spent) // 2] if spent else None,
        cited=statuses.total() - statuses[CitationStatus.ADDED],
        exact=statuses[CitationStatus.EXACT],
    )


def by_month(entries: Iterable[HistoryEntry]) -> list[Stats]:
    """The newest first."""
    months: dict[str, list[HistoryEntry]] = {}
    for entry in entries:
        months.setdefault(local_day(entry.asked_at)[:7], []).append(entry)
    return [stats_of(months[month], month) for month in sorted(months, reverse=True)]


def most_refused(entries: Iterable[HistoryEntry], limit: int = 10) -> list[tuple[str, int]]:
    """The questions that had no answer most often, in their newest words, with how often."""
    counts: Counter[str] = Counter()
    asked: dict[str, str] = {}
    for entry in entries:
        if entry.document["abstained"]:
            question = entry.document["question"]
            words = " ".join(re.findall(r"\w+", normalise(question)))
            asked.setdefault(words, question)
            counts[words] += 1
    return [(asked[words], count) for words, count in counts.most_common(limit)]
