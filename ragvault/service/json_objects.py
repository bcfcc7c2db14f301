"""Results as JSON objects. The names are a promise to scripts: keys are added, never renamed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ragvault.errors import RagvaultError
from ragvault.model import Abstention, Answer, AskResult, Band, Hit, Retrieval
from ragvault.text import snippet

if TYPE_CHECKING:
    from ragvault.model import IndexReport, Skipped, VaultInfo
    from ragvault.service.doctor import Check
    from ragvault.service.index import OutOfReach
    from ragvault.service.search import SearchResult
    from ragvault.service.status import Status

SCHEMA_VERSION = 1


def error_object(error: RagvaultError) -> dict[str, Any]:
    """A failure."""
    return {
        "error": {
            "type": error.type,
            "message": error.message,
            "hint": error.hint,
            "exit_code": error.exit_code,
        }
    }


# --------------------------------------------------------------------------- ask and search


def ask_object(result: AskResult) -> dict[str, Any]:
    """An answer or an abstention."""
    outcome = result.outcome
    return {
        "question": result.question,
        **(_answered(outcome) if isinstance(outcome, Answer) else _abstained(outcome)),
        "meta": _ask_meta(result),
    }


def _answered(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.text,
        "abstained": False,
        "abstain_reason": None,
        "mode": answer.mode,
        "confidence": _score(answer.confidence),
        "confidence_band": str(Band.of(answer.confidence)),
        "references": [
            reference(entry.hit, entry.marker, entry.snippet) for entry in answer.references
        ],
        "citations": [
            {
                "raw": citation.raw,
                "position": citation.position,
                "status": str(citation.status),
                "chunk_id": citation.chunk_id,
            }
            for citation in answer.citations
        ],
        "nearest": [],
        "unsupported": list(answer.unsupported),
        "caveats": list(answer.caveats),
    }


def _abstained(abstention: Abstention) -> dict[str, Any]:
    return {
        "answer": abstention.message,
        "abstained": True,
        "abstain_reason": str(abstention.reason),
        "mode": "none",
        "confidence": _score(abstention.confidence),
        "confidence_band": str(Band.of(abstention.confidence)),
        "references": [],
        "citations": [],
        "nearest": [
            reference(hit, marker) for marker, hit in enumerate(abstention.nearest, start=1)
        ],
        "searched": abstention.searched,
        "unsupported": [],
        "caveats": [],
    }


def _ask_meta(result: AskResult) -> dict[str, Any]:
    return {
        "model": result.model,
        "id": result.id,
        "retrieval": retrieval_meta(result.retrieval),
        "llm_ms": _ms(result.llm_ms),
        "total_ms": _ms(result.total_ms),
        "prompt_tokens": result.usage.prompt_tokens,
        "completion_tokens": result.usage.completion_tokens,
        "notices": list(result.notices),
    }


def retrieval_meta(retrieval: Retrieval | None) -> dict[str, Any]:
    """How much was looked through, and how long it took."""
    if retrieval is None:  # small talk: nothing was looked for
        return {"k": 0, "strategy": "none", "candidate_count": 0, "rerank_count": 0, "time_ms": 0.0}
    return {
        "k": retrieval.k,
        "strategy": retrieval.strategy,
        "candidate_count": retrieval.candidate_count,
        "rerank_count": len(retrieval.hits),
        "time_ms": _ms(retrieval.total_ms),
    }


def reference(hit: Hit, marker: int, text: str | None = None) -> dict[str, Any]:
    """A place in a note, as ``references``, ``nearest`` and search results show it."""
    chunk = hit.chunk
    return {
        "marker": marker,
        "vault": chunk.vault,
        "rel_path": chunk.rel_path,
        "heading_path": list(chunk.heading_path),
        "chunk_index": chunk.chunk_index,
        "chunk_id": chunk.id,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "snippet": snippet(chunk.text) if text is None else text,
        "score": _score(hit.scores.final),
        "modified": iso_time(hit.note.mtime),
        "date": local_day(hit.note.date),
        "duplicates": list(hit.duplicates),
    }


def search_object(found: SearchResult) -> dict[str, Any]:
    """The passages listed."""
    results = []
    for rank, hit in enumerate(found.hits, start=1):
        scores = hit.scores
        entry = {"rank": rank, **reference(hit, rank)}
        entry["scores"] = {
            "vector": _score(scores.vector),
            "lexical": _score(scores.lexical),
            "recency": _score(scores.recency),
            "final": _score(scores.final),
        }
        results.append(entry)
    retrieval = found.retrieval
    meta = {**retrieval_meta(retrieval), "notices": list(retrieval.notices)}
    return {"query": retrieval.query.text, "results": results, "meta": meta}


def debug_object(retrieval: Retrieval | None) -> dict[str, Any]:
    """What ``--debug`` adds; where scores were judged, also how the confidence came about."""
    value = _debug(retrieval)
    judgement = retrieval.judgement if retrieval else None
    if judgement is not None and judgement.factors:
        value["confidence"] = {
            "calibration": judgement.calibration,
            **{part.name: _score(part.probability) for part in judgement.factors},
            "features": {name: _score(v) for name, v in judgement.features.items()},
        }
    return {"debug": value}


def _debug(retrieval: Retrieval | None) -> dict[str, Any]:
    if retrieval is None:
        return {
            "retrieved_chunks": [],
            "folder_selection": {"selected": [], "available": []},
            "timings_ms": {},
        }
    selection = retrieval.folder_selection
    return {
        "retrieved_chunks": [_candidate(hit) for hit in retrieval.hits],
        "folder_selection": {
            "mode": selection.mode,
            "selected": list(selection.selected),
            "available": list(selection.available),
        },
        "vector_trust": _score(retrieval.findings.vocabulary_trust),
        "timings_ms": {name: _ms(value) for name, value in retrieval.timings_ms.items()},
        "expansions": [{"kind": kind, "text": text} for kind, text in retrieval.expansions],
    }


def _candidate(hit: Hit) -> dict[str, Any]:
    scores = hit.scores
    return {
        "rank": hit.rank,
        "chunk_id": hit.chunk.id,
        "vault": hit.chunk.vault,
        "rel_path": hit.chunk.rel_path,
        "heading_path": list(hit.chunk.heading_path),
        "start_line": hit.chunk.start_line,
        "end_line": hit.chunk.end_line,
        "text": hit.chunk.text,
        "score_vector": _score(scores.vector),
        "score_lexical": _score(scores.lexical),
        "score_bm25": _score(scores.bm25),
        "score_recency": _score(scores.recency),
        "score_rerank": _score(scores.rerank),
        "score_note_vector": _score(scores.note_vector),
        "score_note_lexical": _score(scores.note_lexical),
        "note_share": _score(scores.note_share),
        "heading_bonus": _score(scores.heading_bonus),
        "folder_weight": _score(scores.folder_weight),
        "score_final": _score(scores.final),
        "terms": {name: _score(value) for name, value in scores.terms},
        "kept": hit.kept,
        "dropped_by": hit.dropped_by,
        "duplicates": list(hit.duplicates),
    }


# --------------------------------------------------------------------------- index


def index_object(
    reports: Sequence[IndexReport], out_of_reach: Sequence[OutOfReach] = ()
) -> dict[str, Any]:
    """What was done to each vault; ``out_of_reach`` were left while others were refreshed."""
    value: dict[str, Any] = {"vaults": [_report(report) for report in reports]}
    if out_of_reach:
        value["failed"] = [
            {"name": one.vault.name, "path": str(one.vault.path), **error_object(one.error)}
            for one in out_of_reach
        ]
    return value


def _report(report: IndexReport) -> dict[str, Any]:
    return {
        "name": report.name,
        "path": report.path,
        "added": len(report.added),
        "changed": len(report.changed),
        "removed": len(report.removed),
        "renamed": len(report.renamed),
        "unchanged": report.unchanged,
        "skipped": [_skipped(entry) for entry in report.skipped],
        "warnings": [_skipped(entry) for entry in report.warnings],
        "chunks": report.chunks,
        "embedded": report.embedded,
        "seconds": round(report.seconds, 3),
        "notices": list(report.notices),
        "dry_run": report.dry_run,
        "files": {
            "added": list(report.added),
            "changed": list(report.changed),
            "removed": list(report.removed),
            "renamed": [{"from": old, "to": new} for old, new in report.renamed],
        },
    }


def _skipped(entry: Skipped) -> dict[str, str]:
    return {"path": entry.path, "reason": entry.reason}


# --------------------------------------------------------------------------- status and doctor


def vault_object(vault: VaultInfo) -> dict[str, Any]:
    """A remembered vault."""
    return {
        "name": vault.name,
        "path": str(vault.path),
        "kind": vault.kind,
        "notes": vault.notes,
        "chunks": vault.chunks,
        "indexed_at": iso_time(vault.indexed_at) if vault.indexed_at else None,
    }


def status_object(seen: Status) -> dict[str, Any]:
    """What is indexed, and what it runs on."""
    vaults = []
    for entry in seen.vaults:
        found = entry.coverage
        vaults.append(
            {
                **vault_object(entry.vault),
                "coverage": round(found.share, 4),
                "on_disk": {
                    "current": found.current,
                    "changed": found.changed,
                    "new": found.new,
                    "gone": found.gone,
                },
                "problem": found.problem,
                "vectors_in_step": entry.vectors_in_step,
            }
        )
    ollama = seen.ollama
    return {
        "index_path": str(seen.data_dir),
        "config_file": str(seen.config_file) if seen.config_file else None,
        "vaults": vaults,
        "embedding": {
            "model": seen.model,
            "fingerprint": seen.fingerprint,
            "problem": seen.model_problem,
        },
        "size_bytes": dict(seen.sizes),
        "ollama": {
            "host": ollama.host,
            "reachable": ollama.problem is None,
            "version": ollama.version,
            "model": ollama.model,
            "model_present": ollama.has_model,
            "models": list(ollama.models),
            "problem": ollama.problem,
        },
    }


def checks_object(checks: Sequence[Check]) -> dict[str, Any]:
    """What ``doctor`` found."""
    from ragvault.service.doctor import is_well

    return {
        "ok": is_well(checks),
        "checks": [
            {
                "name": check.name,
                "state": str(check.state),
                "detail": check.detail,
                "remedy": check.remedy or None,
            }
            for check in checks
        ],
    }


# --------------------------------------------------------------------------- values


def _score(value: float | None) -> float | None:
    """Full precision of the ranking is kept to 6 digits: enough to see every order."""
    return None if value is None else round(float(value), 6)


def _ms(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def iso_time(seconds: float) -> str:
    """ "2024-03-01T09:30:00Z"."""
    return _moment(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def local_day(seconds: float) -> str:
    """ "2024-03-01", by the clock of this machine."""
    return _moment(seconds).astimezone().strftime("%Y-%m-%d")


# A file system can carry any time stamp; a date can't.
_EARLIEST, _LATEST = 0.0, 4_102_444_800.0  # 1970 to 2100


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(min(max(seconds, _EARLIEST), _LATEST), UTC)
