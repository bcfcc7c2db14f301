"""All that an index says, as JSON: run as ``python tests/support/dump_index.py INDEX_FOLDER``.

A process of its own, as Chroma keeps in memory what it opened. Left out is what may differ
between two right indexes: times of reading, row numbers, unused embeddings. ``lost`` are the
chunks that a nearest-neighbour search for their own vector doesn't find.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ragvault.adapters.chroma.index import collection_name
from ragvault.adapters.chroma.persistent import PersistentChroma
from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.model import Filter, collection_of


def dump(folder: Path) -> dict[str, Any]:
    catalog = SqliteCatalog(folder / "catalog.sqlite3", create=False)
    index = PersistentChroma(folder)
    result: dict[str, Any] = {"problems": catalog.database.problems(), "vaults": {}}
    for vault in catalog.vaults():
        assert vault.fingerprint is not None
        ids = sorted(catalog.chunk_ids(vault.name))
        cached = catalog.vectors(vault.fingerprint, ids)
        collection = collection_of(vault.name, vault.fingerprint)
        result["vaults"][vault.name] = {
            "is_in_step": catalog.vector_watermark(vault.name)
            == f"{index.identity}|{vault.fingerprint}",
            "notes": _notes(folder, vault.name),
            "chunks": _chunks(catalog, ids),
            "lexical": _lexical(catalog, vault.name),
            "cached": {i: v.tobytes().hex() for i, v in sorted(cached.items())},
            "vectors": _vectors(folder, collection),
            "lost": [i for i, v in cached.items() if not _is_found(index, collection, i, v)],
        }
    catalog.close()
    index.close()
    return result


def _notes(folder: Path, vault: str) -> list[Any]:
    with sqlite3.connect(folder / "catalog.sqlite3") as con:
        rows = con.execute(
            "SELECT n.rel_path, n.size, n.mtime_ns, n.content_hash, n.fingerprint, n.title,"
            " n.aliases, n.tags, n.date, n.chunk_count FROM note n"
            " JOIN vault v ON v.id = n.vault_id WHERE v.name = ? ORDER BY n.rel_path",
            (vault,),
        ).fetchall()
    con.close()
    return [list(row) for row in rows]


def _chunks(catalog: SqliteCatalog, ids: list[str]) -> dict[str, Any]:
    return {
        i: [
            s.chunk.rel_path,
            list(s.chunk.heading_path),
            s.chunk.ordinal,
            s.chunk.chunk_index,
            s.chunk.start_line,
            s.chunk.end_line,
            s.chunk.text_hash,
            s.chunk.text,
        ]
        for i, s in sorted(catalog.chunks(ids).items())
    }


def _lexical(catalog: SqliteCatalog, vault: str) -> Any:
    found = catalog.lexical(["the", "note", "decided"], 1000, Filter(vaults=(vault,)))
    return sorted([s.chunk_id, round(s.score, 9)] for s in found)


def _vectors(folder: Path, key: str) -> dict[str, Any]:
    import chromadb

    client = chromadb.PersistentClient(path=str(folder / "chroma"))
    collection = client.get_collection(collection_name(key), embedding_function=None)
    rows = collection.get(include=["embeddings"])
    return {
        i: np.asarray(vector, dtype=np.float32).tobytes().hex()
        for i, vector in zip(rows["ids"], rows["embeddings"], strict=True)
    }


def _is_found(index: PersistentChroma, key: str, chunk_id: str, vector: Any) -> bool:
    """Among the nearest, or beaten only by equals."""
    hits = index.query(key, vector, 5)
    return any(h.chunk_id == chunk_id for h in hits) or (
        len(hits) == 5 and hits[-1].score > 1 - 1e-4
    )


if __name__ == "__main__":
    json.dump(dump(Path(sys.argv[1])), sys.stdout)
