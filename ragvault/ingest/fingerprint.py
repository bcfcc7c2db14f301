"""What decides a vault's chunks and vectors, as one line. Apart from ``chunk``: a run that finds
nothing to do needs this name and no chunker."""

from __future__ import annotations

from ragvault.config.settings import ChunkingSettings

CHUNK_FORMAT = "c2"  # changes whenever the same note would give other chunks or embed texts


def index_fingerprint(embedder_fingerprint: str, settings: ChunkingSettings) -> str:
    """Names all that decides chunks and vectors; when it moves, the notes are indexed afresh."""
    return (
        f"{embedder_fingerprint}|chunks={CHUNK_FORMAT}"
        f"|max_tokens={settings.max_tokens}|overlap={settings.overlap:g}"
    )
