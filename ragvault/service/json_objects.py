"""Results as JSON objects. The names are a promise to scripts: keys are added, never renamed.

What the functions return is not plain yet: ``rounded``, which is applied where it is printed or
kept, makes objects of dataclasses and texts of paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragvault.errors import RagvaultError
from ragvault.model import (
    Abstention,
    Answer,
    AskEvent,
    AskResult,
    Band,
    Cited,
    Done,
    Hit,
    Quote,
    Reference,
    Retrieval,
    Retrieved,
    Stated,
    Token,
)
from ragvault.text import snippet, strip_controls

if TYPE_CHECKING:
    from ragvault.model import IndexReport, VaultInfo
    from ragvault.service.index import OutOfReach
    from ragvault.service.originals import Links, Source
    from ragvault.service.search import SearchResult
    from ragvault.service.status import Status


def error_object(error: RagvaultError) -> dict[str, Any]:
    return {"error": picked(error, "type message hint exit_code")}


def picked(value: object, names: str) -> dict[str, Any]:
    """Attributes of a value, by their names."""
    return {name: getattr(value, name) for name in names.split()}


def ask_object(result: AskResult, links: Links) -> dict[str, Any]:
    outcome = result.outcome
    no = outcome if isinstance(outcome, Abstention) else None
    told = (
        outcome
        if isinstance(outcome, Answer)
        else Answer(outcome.message, "none", outcome.confidence)
    )
    return {
        "question": result.question,
        "answer": told.text,
        "abstained": no is not None,
        "abstain_reason": no.reason if no else None,
        "mode": told.mode,
        "confidence": told.confidence,
        "confidence_band": Band.of(told.confidence),
        "references": [_reference(one, links) for one in told.references],
        "also": [_reference(one, links) for one in told.also],
        "citations": told.citations,
        "nearest": _nearest(no, links) if no else [],
        **({"searched": no.searched} if no else {}),
        "statements": [_statement(one) for one in told.statements],
        "unsupported": told.unsupported,
        "caveats": told.caveats,
        "meta": {
            "model": result.model,
            "id": result.id,
            "retrieval": _retrieval_meta(result.retrieval),
            **picked(result, "llm_ms total_ms"),
            **picked(result.usage, "prompt_tokens completion_tokens"),
            "notices": result.notices,
        },
    }


def event_object(event: AskEvent, links: Links) -> dict[str, Any]:
    """One event of an answer in the making: a line of ``ask --json-stream``. Empty for what isn't
    settled."""
    if isinstance(event, Retrieved):
        hits = [place_object(hit, n, links) for n, hit in enumerate(event.hits, start=1)]
        return {"type": "retrieval", "searched_for": event.retrieval.query.text, "hits": hits}
    if isinstance(event, Cited):
        place = place_object(event.hit, event.marker, links)
        return {"type": "citation", **picked(event, "text position"), **place}
    if isinstance(event, Stated):
        return {"type": "statement", **_statement(event)}
    if isinstance(event, Token):
        return {"type": "token", **picked(event, "text mode")}
    if isinstance(event, Done):
        return {"type": "done", **ask_object(event.result, links)}
    return {}


def _statement(one: Stated) -> dict[str, Any]:
    ids = [hit.chunk.id for hit in one.cited]
    return {**picked(one, "text verdict"), "shown": one.is_shown, "chunk_ids": ids}


def _nearest(outcome: Abstention, links: Links) -> list[dict[str, Any]]:
    """With the whole text of what is pointed at, of the first with its section, and what a person
    is ``shown``."""
    places = [place_object(hit, n, links) for n, hit in enumerate(outcome.nearest, start=1)]
    for place, hit in zip(places, outcome.nearest if outcome.passages else (), strict=False):
        place["text"] = strip_controls(hit.chunk.text)
    for place, shown in zip(places, outcome.passages, strict=False):
        place |= {"shown": shown, **({"text": shown} if place["marker"] == 1 else {})}
    return places


def search_object(found: SearchResult, links: Links) -> dict[str, Any]:
    results = []
    for rank, hit in enumerate(found.hits, start=1):
        scores = picked(hit.scores, "vector lexical recency final")
        results.append({"rank": rank, **place_object(hit, rank, links), "scores": scores})
    retrieval = found.retrieval
    meta = {**_retrieval_meta(retrieval), "notices": retrieval.notices}
    return {"query": retrieval.query.asked, "results": results, "meta": meta}


def _retrieval_meta(retrieval: Retrieval | None) -> dict[str, Any]:
    """How much was looked through, and how long it took."""
    if retrieval is None:  # small talk: nothing was looked for
        return {"k": 0, "strategy": "none", "candidate_count": 0, "rerank_count": 0, "time_ms": 0.0}
    return {
        "k": retrieval.k,
        "strategy": retrieval.strategy,
        "searched_for": retrieval.query.text,
        "candidate_count": len(retrieval.candidates),
        "rerank_count": len(retrieval.hits),
        "time_ms": retrieval.total_ms,
        "corrected": dict(retrieval.query.corrected),
    }


def _reference(one: Reference, links: Links) -> dict[str, Any]:
    return {**place_object(one.hit, one.marker, links, one.snippet), "evidence": one.evidence}


def place_object(hit: Hit, marker: int, links: Links, text: str | None = None) -> dict[str, Any]:
    """A place in a note, as ``references``, ``nearest`` and search results show it."""
    chunk = hit.chunk
    return {
        "marker": marker,
        **picked(chunk, "vault rel_path heading_path chunk_index start_line end_line"),
        "path": links.path(chunk.vault, chunk.rel_path),
        "uri": links.uri(*chunk.place),
        "chunk_id": chunk.id,
        "snippet": snippet(chunk.text) if text is None else text,
        "score": hit.scores.final,
        "modified": iso_time(hit.note.mtime),
        "date": local_day(hit.note.date) if hit.note.date else None,
        "duplicates": hit.duplicates,
    }


def source_object(hit: Hit, source: Source) -> dict[str, Any]:
    """A passage that was cited, and what its file holds of it today."""
    chunk, lines = hit.chunk, source.lines or ()
    return {
        **picked(chunk, "vault rel_path heading_path"),
        "path": source.path,
        "state": "gone" if not source.first else "changed" if source.difference else "unchanged",
        "start_line": source.first or None,
        "end_line": source.last or None,
        "cited": chunk.text,
        "today": "\n".join(lines[source.first - 1 : source.last]) if source.first else None,
        "difference": source.difference,
    }


def debug_object(retrieval: Retrieval | None, result: AskResult | None = None) -> dict[str, Any]:
    """What ``--debug`` adds; for an answer also the quotes, printed or not, and how the confidence
    came about."""
    if retrieval is None:
        folders: dict[str, Any] = {"selected": [], "available": []}
        return {"debug": {"retrieved_chunks": [], "folder_selection": folders, "timings_ms": {}}}
    value = {
        "retrieved_chunks": [_candidate(hit) for hit in retrieval.hits],
        "folder_selection": picked(retrieval.folder_selection, "mode selected available"),
        "vector_trust": retrieval.vocabulary_trust,
        "timings_ms": retrieval.timings_ms,
        "expansions": [{"kind": kind, "text": text} for kind, text in retrieval.expansions],
    }
    if result is not None:
        value["quotes"] = [_quote(quote) for quote in result.quotes]
    if result is not None and result.judgement is not None:
        value["confidence"] = picked(result.judgement, "calibration features")
    return {"debug": value}


def _quote(quote: Quote) -> dict[str, Any]:
    chunk, rank = quote.hit.chunk, quote.hit.rank
    place = {"chunk_id": chunk.id, "rel_path": chunk.rel_path, "rank": rank}
    return {**place, "text": quote.shown, **picked(quote, "share cosine")}


def _candidate(hit: Hit) -> dict[str, Any]:
    scores = picked(hit.scores, "vector lexical bm25 recency rerank")
    return {
        "rank": hit.rank,
        "chunk_id": hit.chunk.id,
        **picked(hit.chunk, "vault rel_path heading_path start_line end_line text"),
        **{f"score_{name}": value for name, value in scores.items()},
        "folder_weight": hit.scores.folder_weight,
        "score_final": hit.scores.final,
        "terms": dict(hit.scores.terms),
        **picked(hit, "kept dropped_by duplicates"),
    }


def index_object(
    reports: Sequence[IndexReport], out_of_reach: Sequence[OutOfReach] = ()
) -> dict[str, Any]:
    """What was done to each vault; ``out_of_reach`` were left while others were refreshed."""
    value: dict[str, Any] = {"vaults": [_report(report) for report in reports]}
    if out_of_reach:
        value["failed"] = [
            {**picked(one.vault, "name path"), **error_object(one.error)} for one in out_of_reach
        ]
    return value


def _report(report: IndexReport) -> dict[str, Any]:
    files: dict[str, Sequence[object]] = {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "spared": report.spared,
        "renamed": [{"from": old, "to": new} for old, new in report.renamed],
    }
    counts = {what: len(entries) for what, entries in files.items()}
    return {**rounded(report), **counts, "files": files}


def vault_object(vault: VaultInfo) -> dict[str, Any]:
    return {
        **picked(vault, "name path kind notes chunks"),
        "notes_with_vectors": vault.embedded,
        "indexed_at": iso_time(vault.indexed_at) if vault.indexed_at else None,
    }


def status_object(seen: Status) -> dict[str, Any]:
    vaults = [
        {
            **vault_object(entry.vault),
            "coverage": entry.coverage.share,
            "on_disk": picked(entry.coverage, "current changed new gone"),
            "problem": entry.coverage.problem,
            "vectors_in_step": entry.vectors_in_step,
            "notes_changed_over": entry.changed_over,
        }
        for entry in seen.vaults
    ]
    ollama = {
        "reachable": seen.ollama.version is not None,
        "model_present": seen.ollama.problem is None,
        **rounded(seen.ollama),
    }
    return {**rounded(seen), "vaults": vaults, "ollama": ollama}


def rounded(value: Any) -> Any:
    """As JSON has it: dataclasses as objects, tuples as lists, paths as texts, floats to six
    digits, which are enough to see every order of a ranking."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Mapping):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [rounded(part) for part in value]
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value):
        return {one.name: rounded(getattr(value, one.name)) for one in fields(value)}
    return value


def iso_time(seconds: float) -> str:
    """ "2024-03-01T09:30:00Z"."""
    return _moment(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def local_day(seconds: float) -> str:
    """ "2024-03-01", by the clock of this machine."""
    return local_time(seconds)[:10]


def local_time(seconds: float) -> str:
    """ "2024-03-01 09:30", by the clock of this machine."""
    return _moment(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


# A file system can carry any time stamp; a date can't.
_EARLIEST, _LATEST = 0.0, 4_102_444_800.0  # 1970 to 2100


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(min(max(seconds, _EARLIEST), _LATEST), UTC)
