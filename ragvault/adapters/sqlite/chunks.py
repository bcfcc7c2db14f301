"""Visible chunks joined with their notes, and the filters of a search in SQL.

Only visible chunks are ever in the tables, so nothing here has to ask. Lists of ids travel as one
JSON parameter: no limit on variables, and one prepared statement whatever their number.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from ragvault.adapters.sqlite.connection import OnDatabase
from ragvault.adapters.sqlite.rows import NS_PER_S, WITH_TASKS, digest_of, fold_tag
from ragvault.model import Chunk, Filter, NoteInfo, StoredChunk


def condition_of(where: Filter) -> tuple[str, list[Any]]:
    """The filter as an SQL condition on ``note n``, with its parameters; "1" lets everything
    through. Folders that aren't there let nothing through. (The plus keeps SQLite from reading all
    of a vault's notes where folder, tag or date lead to a few.)"""
    parts: list[str] = []
    params: list[Any] = []
    if where.vaults:
        parts.append(
            "+n.vault_id IN (SELECT id FROM vault WHERE name IN (SELECT value FROM json_each(?)))"
        )
        params.append(json.dumps(where.vaults))
    if where.folders:
        parts.append(
            "n.folder_id IN (SELECT f.id FROM json_each(?) q"
            " JOIN vault v ON v.name = json_extract(q.value, '$[0]')"
            " JOIN folder f ON f.vault_id = v.id AND f.path = json_extract(q.value, '$[1]'))"
        )
        params.append(json.dumps(where.folders))
    if where.tags:
        # "0" is the character after "/": the range holds exactly the tags nested below.
        parts.append(
            "n.id IN (SELECT t.note_id FROM json_each(?) q JOIN tag t"
            " ON t.tag = q.value OR (t.tag > q.value || '/' AND t.tag < q.value || '0'))"
        )
        params.append(json.dumps([fold_tag(tag) for tag in where.tags]))
    for word, notes in (("IN", where.notes), ("NOT IN", where.not_notes or None)):
        if notes is not None:
            parts.append(
                f"n.id {word} (SELECT m.id FROM json_each(?) q"
                " JOIN vault v ON v.name = json_extract(q.value, '$[0]')"
                " JOIN note m ON m.vault_id = v.id AND m.rel_path = json_extract(q.value, '$[1]'))"
            )
            params.append(json.dumps(sorted(notes)))
    for operator, bound in ((">=", where.since), ("<=", where.until)):
        if bound is not None:
            parts.append(f"n.date != 0 AND n.date {operator} ?")  # 0: nothing dates it
            params.append(bound)
    return " AND ".join(parts) or "1", params


def allowed(connection: sqlite3.Connection, where: Filter) -> int:
    """How many chunks the filter lets through."""
    condition, params = condition_of(where)
    sql = f"SELECT coalesce(sum(n.chunk_count), 0) FROM note n WHERE {condition}"
    return int(connection.execute(sql, params).fetchone()[0])


def vault_ids(connection: sqlite3.Connection, names: Collection[str]) -> list[int]:
    """Row ids of the named vaults, all without names. Linear in the vaults."""
    rows = connection.execute("SELECT id, name FROM vault ORDER BY id")
    return [number for number, name in rows if not names or name in names]


def languages_of(connection: sqlite3.Connection, number: int) -> list[str]:
    """Those of a vault's notes, "" where nothing tells. One look into the index for each."""
    rows = connection.execute(
        "WITH RECURSIVE found (language) AS ("
        " SELECT min(language) FROM note WHERE vault_id = :vault UNION ALL"
        " SELECT (SELECT min(language) FROM note WHERE vault_id = :vault AND language > f.language)"
        " FROM found f WHERE f.language IS NOT NULL)"
        " SELECT language FROM found WHERE language IS NOT NULL",
        {"vault": number},
    )
    return [language for (language,) in rows]


_STORED = (
    "SELECT v.name, n.rel_path, n.title, f.path, n.aliases, n.tags, n.date, n.mtime_ns,"
    " n.content_hash, c.id, c.heading_path, c.ordinal, c.chunk_index, c.start_line, c.end_line,"
    " c.text, c.text_hash, c.digest"
)
_JOINED = (
    " JOIN note n ON n.id = c.note_id JOIN folder f ON f.id = n.folder_id"
    " JOIN vault v ON v.id = n.vault_id"
)


def _stored(row: Sequence[Any]) -> StoredChunk:
    """Raises ValueError for a passage that isn't as it was written: none is ever quoted."""
    vault, path, title, folder, aliases, tags, date, mtime_ns, content_hash, *rest = row
    id_, heading_path, ordinal, index, first, last, text, text_hash, digest = rest
    if digest_of(id_, heading_path, first, last, text, path, title, aliases, tags) != digest:
        raise ValueError(f"the passage {id_} isn't as it was written")
    note = NoteInfo(
        vault=vault, rel_path=path, title=title, folder=folder,
        aliases=tuple(json.loads(aliases)), tags=tuple(json.loads(tags)),
        date=date, mtime=mtime_ns / NS_PER_S, content_hash=content_hash,
    )  # fmt: skip
    chunk = Chunk(
        id=id_, vault=vault, rel_path=path, heading_path=tuple(json.loads(heading_path)),
        ordinal=ordinal, chunk_index=index, start_line=first, end_line=last,
        text=text, embed_text="", text_hash=text_hash,
    )  # fmt: skip
    return StoredChunk(chunk, note)


class SqliteChunks(OnDatabase):
    """Chunks that are looked up: nothing is scored."""

    def chunks(self, chunk_ids: Collection[str]) -> dict[str, StoredChunk]:
        """Linear in the ids."""
        found = self._stored(
            f"FROM json_each(?) q CROSS JOIN chunk c ON c.id = q.value{_JOINED}",
            json.dumps(list(chunk_ids)),
        )
        return {one.chunk.id: one for one in found}

    def matching(self, chunk_ids: Collection[str], where: Filter) -> set[str]:
        """Linear in the ids."""
        condition, params = condition_of(where)
        rows = self.rows(
            "SELECT c.id FROM json_each(?) q CROSS JOIN chunk c ON c.id = q.value"
            f" JOIN note n ON n.id = c.note_id WHERE {condition}",
            json.dumps(list(chunk_ids)),
            *params,
        )
        return {row[0] for row in rows}

    def count_chunks(self, where: Filter) -> int:
        """Linear in the notes that the filter lets through."""
        with self.database.read() as con:
            return allowed(con, where)

    def neighbours(self, chunk_id: str, reach: int) -> list[StoredChunk]:
        return self._stored(
            "FROM chunk m JOIN chunk c ON c.note_id = m.note_id"
            f" AND c.heading_path = m.heading_path AND abs(c.ordinal - m.ordinal) <= ?{_JOINED}"
            " WHERE m.id = ? ORDER BY c.chunk_index, c.ordinal",
            reach,
            chunk_id,
        )

    def note_chunks(self, vault: str, rel_path: str) -> list[StoredChunk]:
        return self._stored(
            f"FROM chunk c{_JOINED} WHERE v.name = ? AND n.rel_path = ? ORDER BY c.chunk_index",
            vault,
            rel_path,
        )

    def with_tasks(self, where: Filter) -> list[StoredChunk]:
        """Through ``chunk_with_tasks``, an index of such chunks: the condition has to be its own,
        word for word."""
        condition, params = condition_of(where)
        return self._stored(f"FROM chunk c{_JOINED} WHERE c.{WITH_TASKS} AND {condition}", *params)

    def recent(self, n: int, where: Filter) -> list[StoredChunk]:
        """Ties by vault and path."""
        condition, params = condition_of(where)
        return self._stored(
            "FROM (SELECT n.id FROM note n JOIN vault v ON v.id = n.vault_id"
            f" WHERE n.chunk_count > 0 AND {condition}"
            " ORDER BY n.date DESC, v.name, n.rel_path LIMIT ?) q"
            " CROSS JOIN chunk c ON c.rowid = (SELECT rowid FROM chunk WHERE note_id = q.id"
            f" ORDER BY chunk_index LIMIT 1){_JOINED} ORDER BY n.date DESC, v.name, n.rel_path",
            *params,
            max(0, n),
        )

    def _stored(self, source: str, *params: Any) -> list[StoredChunk]:
        with self.database.read() as con:
            return [_stored(row) for row in con.execute(f"{_STORED} {source}", params)]
