"""The catalog: one SQLite file that holds what is indexed (notes, chunks, full text) and the
embedding cache.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from ragvault.adapters.files import reported
from ragvault.adapters.sqlite.chunks import SqliteChunks
from ragvault.adapters.sqlite.connection import BUSY_TIMEOUT_S, Database
from ragvault.adapters.sqlite.embeddings import SqliteEmbeddings, put_in_force
from ragvault.adapters.sqlite.fulltext import SqliteFullText
from ragvault.adapters.sqlite.integrity import COMPANIONS, has_content
from ragvault.adapters.sqlite.migrations import MIGRATIONS
from ragvault.adapters.sqlite.rows import (
    bump_generation,
    commit_notes,
    create_full_text,
    drop_full_text,
    generation_of,
    vault_id,
)
from ragvault.adapters.sqlite.schema import migrate
from ragvault.errors import NoIndexError
from ragvault.model import FileState, FolderInfo, NoteWrite, VaultInfo


class SqliteCatalog(SqliteChunks, SqliteFullText, SqliteEmbeddings):
    """``ports.Catalog`` on one file, which its bases share; they know nothing of each other. What
    is its own: vaults, what is remembered of files, and the transaction that makes a note's new
    chunks visible.

    Safe to use from several threads and next to other processes. ``create`` False raises
    NoIndexError when there is no file yet. Opening an up-to-date file reads its header only.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        with reported(path.parent):  # a folder above it that may not be entered
            exists = has_content(path)
        if not create and not exists:
            raise NoIndexError("Nothing is indexed yet.")
        if not exists:  # SQLite would read the log of a catalog that is gone into the new one
            with reported(path.parent):
                for end in COMPANIONS[1:]:
                    Path(f"{path}{end}").unlink(missing_ok=True)
        super().__init__(Database(path, busy_timeout_s=busy_timeout_s), clock)
        try:
            with self.database.connection() as connection:
                migrate(connection, path, MIGRATIONS)
        except BaseException:
            self.database.close()
            raise

    def close(self) -> None:
        self.database.close()

    @property
    def generation(self) -> int:
        with self.database.read() as con:
            return generation_of(con)

    # -- vaults
    def vaults(self) -> list[VaultInfo]:
        with self.database.read() as con:
            rows = con.execute(
                "SELECT v.id, v.vector_marker, v.name, v.path, v.kind, coalesce(n.notes, 0),"
                " coalesce(n.chunks, 0), v.indexed_at, v.fingerprint FROM vault v LEFT JOIN"
                " (SELECT vault_id, count(*) AS notes, sum(chunk_count) AS chunks FROM note"
                " GROUP BY vault_id) n ON n.vault_id = v.id ORDER BY v.name"
            ).fetchall()
            model, _ = self.embedder_in_force() or ("", "")
            found = []
            for number, watermark, name, path, *rest in rows:
                vault = VaultInfo(name, Path(path), *rest)
                left = "SELECT 1 FROM note NOT INDEXED WHERE vault_id = ? LIMIT 1"
                if not vault.notes and con.execute(left, (number,)).fetchone():
                    raise sqlite3.DatabaseError("an index lost its notes")
                is_whole = (watermark or "").endswith(f"|{model}")
                missing = 0 if is_whole else len(self.lacking(name, model))
                found.append(replace(vault, embedded=vault.notes - missing))
            return found

    def add_vault(self, vault: VaultInfo) -> None:
        with self.database.write() as con:
            known = con.execute(
                "UPDATE vault SET path = ?, kind = ? WHERE name = ?",
                (str(vault.path), vault.kind, vault.name),
            ).rowcount
            if not known:
                number = con.execute(
                    "INSERT INTO vault (name, path, kind) VALUES (?, ?, ?)",
                    (vault.name, str(vault.path), vault.kind),
                ).lastrowid
                assert number is not None
                create_full_text(con, number)
            bump_generation(con)

    def remove_vault(self, name: str) -> None:
        """Forget a vault and its notes; the embeddings stay, for their grace. Linear in it."""
        with self.database.write() as con:
            number = vault_id(con, name)
            drop_full_text(con, number)
            con.execute(
                "DELETE FROM chunk WHERE note_id IN (SELECT id FROM note WHERE vault_id = ?)",
                (number,),
            )
            con.execute("DELETE FROM note WHERE vault_id = ?", (number,))
            con.execute("DELETE FROM vault WHERE id = ?", (number,))
            bump_generation(con)

    def finish_vault(self, name: str, *, fingerprint: str, indexed_at: float) -> None:
        with self.database.write() as con:
            self._set(name, fingerprint=fingerprint, indexed_at=indexed_at)
            put_in_force(con, fingerprint)
            bump_generation(con)

    def checked_vault(self, name: str, *, indexed_at: float) -> None:
        self._set(name, indexed_at=indexed_at)

    def vector_watermark(self, name: str) -> str | None:
        found = self.rows("SELECT vector_marker FROM vault WHERE name = ?", name)
        return found[0][0] if found else None

    def set_vector_watermark(self, name: str, watermark: str | None) -> None:
        self._set(name, vector_marker=watermark)

    def _set(self, name: str, **values: object) -> None:
        """Columns of a vault's row. Raises NoIndexError."""
        columns = ", ".join(f"{column} = ?" for column in values)
        with self.database.write() as con:
            sql = f"UPDATE vault SET {columns} WHERE id = ?"
            con.execute(sql, (*values.values(), vault_id(con, name)))

    # -- notes
    def file_states(self, vault: str) -> dict[str, FileState]:
        """Linear in the notes: the one such cost of a run that finds nothing to do. Reading the
        table from end to end takes two thirds of the time of going through the vault's index."""
        rows = self.rows(
            "SELECT rel_path, size, mtime_ns, content_hash, fingerprint, seen_ns"
            " FROM note NOT INDEXED WHERE vault_id = (SELECT id FROM vault WHERE name = ?)",
            vault,
        )
        return {row[0]: FileState._make(row) for row in rows}

    def touch_files(
        self, vault: str, states: Sequence[FileState], copied: range = range(0)
    ) -> None:
        if not states:
            return
        with self.database.write() as con:
            number = vault_id(con, vault)
            con.executemany(
                "UPDATE note SET"
                " date = CASE WHEN date = 0 OR abs(date - mtime_ns / 1e9) < 1e-5"
                " THEN iif(:is_copied, 0.0, :mtime_ns / 1e9) ELSE date END, size = :size,"
                " mtime_ns = :mtime_ns, seen_ns = :seen_ns, content_hash = :content_hash"
                " WHERE vault_id = :vault AND rel_path = :rel_path",
                [
                    {**state._asdict(), "vault": number, "is_copied": state.mtime_ns in copied}
                    for state in states
                ],
            )

    def chunk_ids(self, vault: str, rel_paths: Collection[str] | None = None) -> set[str]:
        sql = (
            "SELECT c.id FROM note n JOIN chunk c ON c.note_id = n.id"
            " WHERE n.vault_id = (SELECT id FROM vault WHERE name = ?)"
        )
        params = [vault]
        if rel_paths is not None:
            sql += " AND n.rel_path IN (SELECT value FROM json_each(?))"
            params.append(json.dumps(list(rel_paths)))
        return {row[0] for row in self.rows(sql, *params)}

    def commit(self, vault: str, writes: Sequence[NoteWrite], removed: Sequence[str]) -> set[str]:
        with self.database.write() as con:
            gone = commit_notes(con, vault, writes, removed)
            bump_generation(con)
            return gone

    # -- overviews
    def folders(self, vaults: Collection[str] = ()) -> list[FolderInfo]:
        """Linear in the folders."""
        rows = self.rows(
            "SELECT v.name, f.path FROM folder f JOIN vault v ON v.id = f.vault_id"
            " ORDER BY v.name, f.path"
        )
        return [FolderInfo(*row) for row in rows if not vaults or row[0] in vaults]

    def languages(self, vaults: Collection[str] = ()) -> dict[str, int]:
        """How many notes are in each language (ISO 639-1; "": nothing tells), of some vaults or
        all, the most frequent first. Linear in the notes, in an index of their languages."""
        return dict(
            self.rows(
                "SELECT language, sum(notes) FROM vault v JOIN (SELECT vault_id, language,"
                " count(*) AS notes FROM note GROUP BY vault_id, language) n ON n.vault_id = v.id"
                " WHERE ? OR v.name IN (SELECT value FROM json_each(?))"
                " GROUP BY language ORDER BY sum(notes) DESC, language",
                not vaults,
                json.dumps(list(vaults)),
            )
        )

    def tags(self, vaults: Collection[str] = ()) -> list[str]:
        """Linear in the tags of all notes. Ties by name."""
        rows = self.rows(
            "SELECT t.tag FROM tag t JOIN note n ON n.id = t.note_id"
            " JOIN vault v ON v.id = n.vault_id"
            " WHERE ? OR v.name IN (SELECT value FROM json_each(?))"
            " GROUP BY t.tag ORDER BY count(*) DESC, t.tag",
            not vaults,
            json.dumps(list(vaults)),
        )
        return [str(tag) for (tag,) in rows]
