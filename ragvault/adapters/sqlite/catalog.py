"""The catalog on SQLite: `ports.Catalog`.

One file holds what is indexed (notes, chunks, full text), the embedding cache and the answer
log. This class owns the transactions: each public method is one. What happens inside is in
catalog_write.py, catalog_fulltext.py, catalog_search.py, catalog_notes.py, catalog_vectors.py and
answer_log.py; the schema in migrations.py; the connection and its errors in sqlite.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragvault.adapters.sqlite import (
    answer_log,
    fulltext as catalog_fulltext,
    notes as catalog_notes,
    search as catalog_search,
    vectors as catalog_vectors,
    write as catalog_write,
)
from ragvault.adapters.sqlite.connection import BUSY_TIMEOUT_S, Database
from ragvault.adapters.sqlite.fulltext import Weights
from ragvault.adapters.sqlite.migrations import fts_table, migrate
from ragvault.errors import NoIndexError, UsageError
from ragvault.model import (
    FileState,
    Filter,
    FolderInfo,
    LoggedAnswer,
    NoteLexical,
    NoteWrite,
    ScoredId,
    StoredChunk,
    VaultInfo,
    VectorRecord,
)

if TYPE_CHECKING:
    from ragvault.model import Vector

_PAGE = 512


class SqliteCatalog:
    """See ``ports.Catalog``. Safe to use from several threads and next to other processes.

    ``create`` False raises NoIndexError when there is no file yet, instead of making one.
    ``weights`` are BM25's for title, heading path and body. Opening an up-to-date file reads
    its header and nothing else.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        weights: Weights = Weights(),
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not create and not path.exists():
            raise NoIndexError("Nothing is indexed yet.")
        self._weights = weights
        self._clock = clock
        self._db = Database(path, busy_timeout_s=busy_timeout_s)
        try:
            with self._db.connection() as connection:
                migrate(connection, path)
        except BaseException:
            self._db.close()
            raise

    @property
    def path(self) -> Path:
        return self._db.path

    # -- vaults
    @property
    def generation(self) -> int:
        with self._db.read() as con:
            row = con.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
            return int(row[0])

    def vaults(self) -> list[VaultInfo]:
        with self._db.read() as con:
            return catalog_search.vaults(con)

    def add_vault(self, vault: VaultInfo) -> None:
        with self._db.write() as con:
            catalog_write.add_vault(con, vault)
            catalog_write.bump_generation(con)

    def remove_vault(self, name: str) -> None:
        with self._db.write() as con:
            catalog_write.remove_vault(con, name)
            catalog_write.bump_generation(con)

    def rename_vault(self, old: str, new: str) -> None:
        with self._db.write() as con:
            if old != new and any(v.name == new for v in catalog_search.vaults(con)):
                raise UsageError(f'There is a vault named "{new}" already.', "Choose another name.")
            catalog_write.rename_vault(con, old, new)
            catalog_write.bump_generation(con)

    def finish_vault(self, name: str, *, fingerprint: str, indexed_at: float) -> None:
        with self._db.write() as con:
            number = catalog_write.vault_id(con, name)
            con.execute(
                "UPDATE vault SET fingerprint = ?, indexed_at = ? WHERE id = ?",
                (fingerprint, indexed_at, number),
            )
            catalog_vectors.refresh_centroids(con, number, fingerprint)
            catalog_notes.refresh_means(con, number, fingerprint)
            catalog_write.bump_generation(con)

    def checked_vault(self, name: str, *, indexed_at: float) -> None:
        with self._db.write() as con:
            number = catalog_write.vault_id(con, name)
            con.execute("UPDATE vault SET indexed_at = ? WHERE id = ?", (indexed_at, number))

    def vector_marker(self, name: str) -> str | None:
        with self._db.read() as con:
            row = con.execute("SELECT vector_marker FROM vault WHERE name = ?", (name,)).fetchone()
            return None if row is None else row[0]

    def set_vector_marker(self, name: str, marker: str | None) -> None:
        with self._db.write() as con:
            number = catalog_write.vault_id(con, name)
            con.execute("UPDATE vault SET vector_marker = ? WHERE id = ?", (marker, number))

    # -- indexing
    def file_states(self, vault: str) -> dict[str, FileState]:
        with self._db.read() as con:
            return catalog_search.file_states(con, vault)

    def touch_files(self, vault: str, states: Sequence[FileState]) -> None:
        if states:
            with self._db.write() as con:
                catalog_write.touch_files(con, vault, states)

    def chunk_ids(self, vault: str, rel_paths: Collection[str] | None = None) -> set[str]:
        with self._db.read() as con:
            return catalog_search.chunk_ids(con, vault, rel_paths)

    def commit(
        self,
        vault: str,
        writes: Sequence[NoteWrite],
        removed: Sequence[str],
        *,
        fingerprint: str,
        vectors: Mapping[str, Vector],
    ) -> set[str]:
        with self._db.write() as con:
            catalog_vectors.store(con, fingerprint, vectors)
            gone = catalog_write.commit_notes(con, vault, writes, removed)
            number = catalog_write.vault_id(con, vault)
            catalog_notes.write_notes(con, number, writes, fingerprint)
            catalog_write.bump_generation(con)
            return gone

    def cached_vectors(self, fingerprint: str, text_hashes: Collection[str]) -> dict[str, Vector]:
        with self._db.read() as con:
            return catalog_vectors.cached(con, fingerprint, text_hashes)

    def store_vectors(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        with self._db.write() as con:
            catalog_vectors.store(con, fingerprint, vectors)
            catalog_write.bump_generation(con)

    def prune_vectors(self, fingerprint: str) -> int:
        with self._db.write() as con:
            dropped = catalog_vectors.prune(con, fingerprint, self._clock())
            catalog_write.bump_generation(con)
            return dropped

    def iter_records(self, vault: str, fingerprint: str) -> Iterator[VectorRecord]:
        """A page at a time, no transaction held between pages: a rebuild of the vector store
        takes minutes, and holding one would keep the log from being folded back."""
        after: int | None = 0
        while after is not None:
            with self._db.read() as con:
                records, after = catalog_vectors.record_page(con, vault, fingerprint, after, _PAGE)
            yield from records

    # -- searching
    def lexical(self, terms: Sequence[str], n: int, where: Filter) -> list[ScoredId]:
        with self._db.read() as con:
            return catalog_fulltext.lexical(con, terms, n, where, self._weights)

    def lexical_scores(self, terms: Sequence[str], chunk_ids: Collection[str]) -> dict[str, float]:
        with self._db.read() as con:
            return catalog_fulltext.lexical_scores(con, terms, chunk_ids, self._weights)

    def note_lexical(
        self, terms: Sequence[str], chunk_ids: Collection[str], where: Filter
    ) -> NoteLexical:
        with self._db.read() as con:
            return catalog_notes.lexical(con, terms, chunk_ids, where)

    def note_vectors(self, fingerprint: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        with self._db.read() as con:
            return catalog_notes.vectors(con, fingerprint, chunk_ids)

    def document_frequencies(self, terms: Sequence[str], where: Filter) -> dict[str, int]:
        with self._db.read() as con:
            return catalog_fulltext.document_frequencies(con, terms, where)

    def chunks(self, chunk_ids: Collection[str]) -> dict[str, StoredChunk]:
        with self._db.read() as con:
            return catalog_search.chunks(con, chunk_ids)

    def vectors(self, fingerprint: str, chunk_ids: Collection[str]) -> dict[str, Vector]:
        with self._db.read() as con:
            return catalog_vectors.of_chunks(con, fingerprint, chunk_ids)

    def matching(self, chunk_ids: Collection[str], where: Filter) -> set[str]:
        with self._db.read() as con:
            return catalog_search.matching(con, chunk_ids, where)

    def filtered_ids(self, where: Filter, limit: int) -> list[str] | None:
        with self._db.read() as con:
            return catalog_search.filtered_ids(con, where, limit)

    def neighbours(self, chunk_id: str, reach: int) -> list[StoredChunk]:
        with self._db.read() as con:
            return catalog_search.neighbours(con, chunk_id, reach)

    def note_chunks(self, vault: str, rel_path: str) -> list[StoredChunk]:
        with self._db.read() as con:
            return catalog_search.note_chunks(con, vault, rel_path)

    def recent(self, n: int, where: Filter) -> list[StoredChunk]:
        with self._db.read() as con:
            return catalog_search.recent(con, n, where)

    def folders(self, vaults: Collection[str] = ()) -> list[FolderInfo]:
        with self._db.read() as con:
            return catalog_search.folders(con, vaults)

    def tags(self, vaults: Collection[str] = ()) -> list[str]:
        with self._db.read() as con:
            return catalog_search.tags(con, vaults)

    def count_chunks(self, where: Filter) -> int:
        with self._db.read() as con:
            return catalog_search.count_chunks(con, where)

    # -- answer log
    def log_answer(self, row: LoggedAnswer) -> None:
        with self._db.write() as con:
            answer_log.insert(con, row)

    def answers(self, *, session: str | None = None, limit: int = 20) -> list[LoggedAnswer]:
        with self._db.read() as con:
            return answer_log.select(con, session=session, limit=limit)

    def answer(self, answer_id: str) -> LoggedAnswer | None:
        with self._db.read() as con:
            return answer_log.get(con, answer_id)

    # -- life
    def check(self) -> list[str]:
        """Linear in the file (SQLite's ``quick_check`` reads each page once)."""
        with self._db.read() as con:
            problems = [
                f"The catalog is damaged: {row[0]}"
                for row in con.execute("PRAGMA quick_check(5)")
                if row[0] != "ok"
            ]
            broken = len(con.execute("PRAGMA foreign_key_check").fetchall())
            if broken:
                problems.append(f"{broken} rows of the catalog refer to rows that are gone")
            for number, name in con.execute("SELECT id, name FROM vault").fetchall():
                table = fts_table(number)
                indexed = con.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()[0]
                visible = con.execute(
                    "SELECT count(*) FROM note n JOIN chunk c ON c.note_id = n.id"
                    " WHERE n.vault_id = ?",
                    (number,),
                ).fetchone()[0]
                if indexed != visible:
                    problems.append(
                        f'The full text index of "{name}" holds {indexed} chunks, not {visible}'
                    )
                problems += catalog_notes.problems(con, number, name)
            return problems

    def close(self) -> None:
        self._db.close()
