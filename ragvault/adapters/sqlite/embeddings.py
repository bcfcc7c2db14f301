"""The embedding cache: float16 by embedder and text hash; which embedder is in force, how each is
built, and which notes still lack vectors of one.

The functions run inside a transaction that their caller opened. numpy is imported where vectors
are handled and nowhere else: an index run that finds nothing to do never loads it.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ragvault.adapters.sqlite.chunks import condition_of
from ragvault.adapters.sqlite.connection import Database, OnDatabase
from ragvault.adapters.sqlite.integrity import embeddings_in
from ragvault.adapters.sqlite.rows import bump_generation, generation_of, vault_id
from ragvault.errors import StoreError
from ragvault.model import Filter, Matrix, ScoredId, Vector

GRACE_S = 30 * 86_400.0  # an embedding that no chunk uses is kept this long, so that switching
GRACE_SHARE = 0.2  # branches or renaming a vault costs no model run; at most this share extra,
GRACE_FLOOR = 2_000  # or this many
_DAY_S = 86_400.0  # once in it what is unused is looked for, beside each change of the model
_LARGE = 1_000_000  # bytes of a note that waits until the others have their vectors
_PAGE = 2_048  # packed vectors in memory at a time
_SCANS = 4  # filters whose vectors are kept: those of one question with a time in it, and spare


class _Scan(NamedTuple):
    """The chunks that a filter lets through and their vectors, a row each; and how many it lets
    through that have none."""

    ids: list[str]
    matrix: Matrix
    lacking: int


class SqliteEmbeddings(OnDatabase):
    """Embedders and vectors. ``clock`` gives the seconds since the epoch that the grace of
    an unused embedding is counted from."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        super().__init__(database)
        self._clock = clock
        # What ``nearest`` read: the last few filters, of the newest generation.
        self._scanned: dict[tuple[int, str, Filter], _Scan] = {}

    def use_embedder(self, fingerprint: str, settings: str) -> None:
        with self.database.write() as con:
            con.execute(
                "INSERT INTO embedder VALUES (?, ?, 0)"
                " ON CONFLICT DO UPDATE SET settings = excluded.settings",
                (fingerprint, settings),
            )
            put_in_force(con, fingerprint)

    def embedder_in_force(self) -> tuple[str, str] | None:
        found = self.rows("SELECT fingerprint, settings FROM embedder WHERE is_in_force")
        return found[0] if found else None

    def embedders(self) -> list[str]:
        """The fingerprints of those that vectors are kept of: in force, or about to be."""
        return [name for (name,) in self.rows("SELECT fingerprint FROM embedder")]

    def wanted_vectors(self) -> list[tuple[str, str]]:
        return self.rows("SELECT v.name, e.fingerprint FROM vault v, embedder e")

    def lacking(
        self, vault: str, fingerprint: str, among: Collection[str] | None = None
    ) -> list[tuple[str, int]]:
        """Linear in the chunks of the vault or of the notes in question, a look-up each."""
        with self.database.read() as con:
            notes, params = "note n", [vault_id(con, vault), fingerprint, _LARGE]
            if among is not None:
                notes = "json_each(?) q CROSS JOIN note n ON n.rel_path = q.value"
                params.insert(0, json.dumps(list(among)))
            return con.execute(
                f"SELECT n.rel_path, count(*) FROM {notes} CROSS JOIN chunk c ON c.note_id = n.id"
                " WHERE n.vault_id = ? AND NOT EXISTS (SELECT 1 FROM embedding e"
                " WHERE e.text_hash = c.text_hash"
                " AND e.fingerprint_id = (SELECT id FROM fingerprint WHERE name = ?))"
                " GROUP BY n.id ORDER BY n.size >= ?, n.date DESC, n.rel_path",
                params,
            ).fetchall()

    def vectors(self, fingerprint: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        """Linear in the ids."""
        with self.database.read() as con:
            rows = con.execute(
                "SELECT c.id, e.vector FROM json_each(?) q CROSS JOIN chunk c ON c.id = q.value"
                " CROSS JOIN embedding e ON e.text_hash = c.text_hash AND e.fingerprint_id ="
                " (SELECT id FROM fingerprint WHERE name = ?)",
                (json.dumps(list(chunk_ids)), fingerprint),
            )
            blobs: dict[str, bytes] = dict(rows)
            return dict(zip(blobs, unpack(list(blobs.values())), strict=True)) if blobs else {}

    def nearest(
        self, fingerprint: str, vector: Vector, n: int, where: Filter
    ) -> tuple[list[ScoredId], int]:
        """Some 8 µs a chunk of 384 dimensions the first time, after that a thirtieth of it: what
        was read is kept, four bytes a number, until the index changes."""
        import numpy as np

        with self.database.read() as con:
            key = (generation_of(con), fingerprint, where)
            if (scanned := self._scanned.get(key)) is None:
                scanned = _scan(con, fingerprint, where)
                kept = [(old, seen) for old, seen in self._scanned.items() if old[0] == key[0]]
                self._scanned = dict([*kept[1 - _SCANS :], (key, scanned)])
            ids, matrix, lacking = scanned
        if n <= 0 or not ids:
            return [], lacking
        cosines = matrix @ vector
        best = np.arange(len(ids))
        if n < len(ids):  # all that are as near as the n-th: their order is decided below
            best = np.flatnonzero(cosines >= np.partition(cosines, -n)[-n])
        found = [ScoredId(ids[row], float(cosines[row])) for row in best]
        return sorted(found, key=lambda hit: (-hit.score, hit.chunk_id))[:n], lacking

    def store_vectors(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        if not vectors:
            return
        blobs = pack(list(vectors.values()))
        with self.database.write() as con:
            number, dimensions = _fingerprint(con, fingerprint, len(blobs[0]) // 2)
            if any(len(blob) != 2 * dimensions for blob in blobs):
                raise StoreError(
                    f"The embedding model returned vectors without {dimensions} dimensions.",
                    "Run `ragvault index --full` if embedding.model in the config was changed.",
                )
            con.executemany(
                "INSERT INTO embedding (fingerprint_id, text_hash, vector) VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET vector = excluded.vector, unused_since = NULL",
                [(number, text_hash, blob) for text_hash, blob in zip(vectors, blobs, strict=True)],
            )
            bump_generation(con)

    def adopt_vectors(self, damaged: Path) -> None:
        """Take over the embeddings that a damaged catalog still holds. Linear in it."""
        with self.database.write() as con:
            numbers: dict[str, int] = {}
            for fingerprint, text_hash, blob in embeddings_in(damaged):
                if fingerprint not in numbers:
                    numbers[fingerprint], _ = _fingerprint(con, fingerprint, len(blob) // 2)
                    con.execute("INSERT OR IGNORE INTO embedder VALUES (?, '', 0)", (fingerprint,))
                con.execute(
                    "INSERT OR IGNORE INTO embedding (fingerprint_id, text_hash, vector)"
                    " VALUES (?, ?, ?)",
                    (numbers[fingerprint], text_hash, blob),
                )

    def prune_vectors(self, fingerprint: str) -> int:
        """Used is what a visible chunk refers to, under the fingerprint given or the one in force.
        Linear in the cache, so the edit of a note doesn't pay for it each time."""
        now = self._clock()
        with self.database.write() as con:
            bump_generation(con)
            forgotten = con.execute(
                "DELETE FROM embedder WHERE NOT is_in_force AND fingerprint != ?", (fingerprint,)
            ).rowcount
            is_new_day = con.execute(
                "INSERT INTO meta VALUES ('pruned_at', :now) ON CONFLICT DO UPDATE SET value = :now"
                " WHERE abs(:now - value) >= :day",
                {"now": int(now), "day": _DAY_S},
            ).rowcount
            if not (forgotten or is_new_day):
                return 0
            con.execute(
                "UPDATE embedding SET unused_since = iif(unused_since IS NULL, ?, NULL)"
                " WHERE (unused_since IS NULL) != (text_hash IN (SELECT text_hash FROM chunk)"
                " AND fingerprint_id IN (SELECT id FROM fingerprint WHERE name = ?"
                " OR name IN (SELECT fingerprint FROM embedder WHERE is_in_force)))",
                (now, fingerprint),
            )
            used = "SELECT count(*) FROM embedding WHERE unused_since IS NULL"
            spare = max(GRACE_FLOOR, int(con.execute(used).fetchone()[0] * GRACE_SHARE))
            dropped = con.execute(
                "DELETE FROM embedding WHERE unused_since < ? OR rowid IN (SELECT rowid"
                " FROM embedding WHERE unused_since IS NOT NULL"
                " ORDER BY unused_since DESC, rowid DESC LIMIT -1 OFFSET ?)",
                (now - GRACE_S, spare),
            ).rowcount
            con.execute(
                "DELETE FROM fingerprint WHERE NOT EXISTS"
                " (SELECT 1 FROM embedding e WHERE e.fingerprint_id = fingerprint.id)"
            )
            return dropped


def put_in_force(connection: sqlite3.Connection, fingerprint: str) -> None:
    """Unless a vault is whole under another one: it would be searched by its words only."""
    connection.execute("INSERT OR IGNORE INTO embedder VALUES (?, '', 0)", (fingerprint,))
    connection.execute(
        "UPDATE embedder SET is_in_force = (fingerprint = ?) WHERE NOT EXISTS"
        " (SELECT 1 FROM vault v WHERE v.fingerprint != ?)",
        (fingerprint, fingerprint),
    )


def pack(vectors: Sequence[Vector]) -> list[bytes]:
    """As float16, little-endian. Raises StoreError for a vector that isn't finite."""
    import numpy as np

    with np.errstate(over="ignore"):  # what overflows becomes infinite, and is refused
        halves = [np.asarray(vector).astype("<f2") for vector in vectors]
    if any(half.ndim != 1 or not half.size or not np.isfinite(half).all() for half in halves):
        raise StoreError(
            "The embedding model returned a vector that isn't a row of finite numbers.",
            "Check embedding.model in the config, then run `ragvault doctor`.",
        )
    return [half.tobytes() for half in halves]


def unpack(blobs: Sequence[bytes]) -> Matrix:
    """Shape (len(blobs), dimensions), float32, unit rows. Raises ValueError for what isn't nearly
    of unit length already, as all that is written is: it is damaged.

    The norm is taken in float64, so that a row comes out the same bits in any company.
    """
    import numpy as np

    rows = np.frombuffer(b"".join(blobs), dtype="<f2").reshape(len(blobs), -1).astype(np.float64)
    norms = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    if not ((norms > 0.9) & (norms < 1.1)).all():
        raise ValueError("a vector isn't as it was written")
    unit: Matrix = (rows / norms).astype(np.float32)
    return unit


def _fingerprint(connection: sqlite3.Connection, name: str, dimensions: int) -> tuple[int, int]:
    connection.execute(
        "INSERT OR IGNORE INTO fingerprint (name, dimensions) VALUES (?, ?)", (name, dimensions)
    )
    row = connection.execute(
        "SELECT id, dimensions FROM fingerprint WHERE name = ?", (name,)
    ).fetchone()
    return int(row[0]), int(row[1])


def _scan(connection: sqlite3.Connection, fingerprint: str, where: Filter) -> _Scan:
    """A page of packed vectors is in memory at a time."""
    import numpy as np

    condition, params = condition_of(where)
    cursor = connection.execute(
        "SELECT c.id, e.vector FROM note n CROSS JOIN chunk c ON c.note_id = n.id"
        " LEFT JOIN embedding e ON e.text_hash = c.text_hash AND e.fingerprint_id ="
        f" (SELECT id FROM fingerprint WHERE name = ?) WHERE {condition}",
        (fingerprint, *params),
    )
    ids: list[str] = []
    pages: list[Matrix] = []
    lacking = 0
    while rows := cursor.fetchmany(_PAGE):
        found = [row for row in rows if row[1] is not None]
        lacking += len(rows) - len(found)
        ids += [row[0] for row in found]
        if found:
            pages.append(unpack([row[1] for row in found]))
    matrix = np.concatenate(pages) if pages else np.empty((0, 0), dtype=np.float32)
    return _Scan(ids, matrix, lacking)
