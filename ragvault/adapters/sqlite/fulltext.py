"""Full text search: FTS5's BM25 over title, heading path and body of each chunk, and the words of
each note as they are written. The statistics behind the scores are each vault's own (see
``rows.fts_table``).

A note's words are there as stems of its own language. A word of a question is looked for as its
stem in each language that the vault has notes in: "Rechnungen" as "rechnung", which German notes
hold, and as "rechnungen", which an English one that has the word holds. A stem that is far rarer
than another of the same word is left out: its rarity is that of the language, not of the word.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any

from ragvault.adapters.sqlite.chunks import allowed, condition_of, languages_of, vault_ids
from ragvault.adapters.sqlite.connection import OnDatabase
from ragvault.adapters.sqlite.rows import fts_table, generation_of, note_fts_table, vocabulary_table
from ragvault.model import Filter, ScoredId
from ragvault.text import ENGLISH, folded, stem, tokens

_PREFIX = 9  # letters of a long word that are searched for as the beginning of others,
_RARE = 1  # where at most so many chunks of the vault hold the word itself
_K1, _B = 1.2, 0.75  # of FTS5's BM25
_MARGIN = 32  # extra rows fetched, so that ties at the n-th place can be ordered by id
_LED = 4_000  # chunks that a search's rarest words may lead to, see ``_leading``
_NARROW = 10_000  # chunks that a filter lets through: those of them that match are all scored


class SqliteFullText(OnDatabase):
    """Chunks by their words."""

    def lexical(self, terms: Sequence[str], n: int, where: Filter) -> list[ScoredId]:
        """FTS5 scores each match before it sorts: linear in the chunks that hold any of the terms;
        where these are many and the filter isn't narrow, any of the rarest (``_leading``)."""
        if n <= 0:
            return []
        found: list[ScoredId] = []
        with self.database.read() as con:
            for number in vault_ids(con, where.vaults):
                phrases = _search_phrases(con, number, terms)
                if not phrases:
                    return []
                found += _best(con, number, phrases, n, where)
        found.sort(key=lambda hit: (-hit.score, hit.chunk_id))
        return found[:n]

    def lexical_scores(self, terms: Sequence[str], chunk_ids: Collection[str]) -> dict[str, float]:
        """Linear in the ids, and in the chunks that hold the terms, which are counted."""
        scores: dict[str, float] = {}
        by_vault: dict[int, dict[int, str]] = defaultdict(dict)
        with self.database.read() as con:
            for number, rowid, chunk_id in con.execute(
                "SELECT n.vault_id, c.rowid, c.id FROM json_each(?) q"
                " CROSS JOIN chunk c ON c.id = q.value JOIN note n ON n.id = c.note_id",
                (json.dumps(list(chunk_ids)),),
            ):
                by_vault[number][rowid] = chunk_id
            for number, wanted in by_vault.items():
                found = _scores(con, number, wanted, _search_phrases(con, number, terms))
                scores.update((wanted[rowid], score) for rowid, score in found.items() if score)
        return scores

    def notes_with(self, phrase: str, vaults: Collection[str]) -> frozenset[tuple[str, str]]:
        """Linear in the notes that hold all its words."""
        wanted = " ".join(tokens(phrase))
        found: set[tuple[str, str]] = set()
        with self.database.read() as con:
            for number in vault_ids(con, vaults) if wanted else ():
                table = note_fts_table(number)
                found.update(
                    con.execute(
                        f"SELECT v.name, n.rel_path FROM {table} t JOIN note n ON n.id = t.rowid"
                        f" JOIN vault v ON v.id = n.vault_id WHERE {table} MATCH ?",
                        (f'"{wanted}"',),
                    )
                )
        return frozenset(found)

    def vocabulary(self, word: str, vaults: Collection[str]) -> dict[str, int]:
        """Linear in the full text of the notes that hold such words."""
        counts: Counter[str] = Counter()
        with self.database.read() as con:
            for number in vault_ids(con, vaults):
                for letter in set(word):
                    rows = con.execute(
                        f"SELECT term, doc FROM {vocabulary_table(number)}"
                        " WHERE term >= ? AND term < ?",
                        (letter, chr(ord(letter) + 1)),
                    )
                    counts.update(dict(rows.fetchall()))
        return dict(counts)

    def document_frequencies(self, terms: Sequence[str], where: Filter) -> dict[str, int]:
        """Linear in the chunks that hold the terms (no score is computed)."""
        counts = dict.fromkeys(terms, 0)
        with self.database.read() as con:
            for number in vault_ids(con, where.vaults):
                languages = languages_of(con, number)
                for term in counts:
                    if expression := " OR ".join(_phrases(tokens(term), languages)):
                        counts[term] += _count(con, number, expression, where)
        return counts


def _search_phrases(connection: sqlite3.Connection, number: int, terms: Sequence[str]) -> list[str]:
    """FTS5 phrases for a search of one vault: of all words of the terms, each once; any of them
    counts. Beside a long word that hardly any chunk holds, there is what begins like it:
    "hyperinflationary" then finds "Hyperinflation", which the stemmer leaves apart; a chunk with
    the word itself scores for both.

    The terms are cut into the same tokens as the text was, so that what is typed is never read
    as an operator and no character of it upsets the parser.

    Measured: widening words that are there in number costs scifact-dev .017 of BM25's nDCG@10;
    widening those of at most one chunk costs no set anything.
    """
    words = dict.fromkeys(token for term in terms for token in tokens(term))
    languages = languages_of(connection, number)
    phrases: list[str] = []
    for word in words:
        stems = list(_phrases([word], languages))
        phrases += _common(connection, number, stems)
        is_long = len(word) >= _PREFIX and word.isalpha()
        if is_long and _held(connection, number, " OR ".join(stems)) <= _RARE:
            phrases.append(f'"{folded(word)[:_PREFIX]}"*')
    return list(dict.fromkeys(phrases))


def _leading(connection: sqlite3.Connection, number: int, phrases: Sequence[str], n: int) -> str:
    """An expression of the rarest phrases, which candidates must hold; they are scored by all.
    Those that lead to ``_LED`` chunks together, and to ``n`` at least: what holds nothing but
    words that thousands hold isn't among the best. (Elasticsearch's "common terms" query; of 60
    questions to 100,000 chunks the best ten were the same, and 98 % of the best fifty. FTS5
    then only looks the common words up in these chunks: two thirds of the time.)"""
    held = {phrase: _held(connection, number, phrase) for phrase in phrases}
    leading: list[str] = []
    count = 0
    for phrase in sorted(held, key=held.__getitem__):
        if count >= n and count + held[phrase] > _LED:
            break
        leading.append(phrase)
        count += held[phrase]
    return " OR ".join(leading)


def _common(connection: sqlite3.Connection, number: int, stems: Sequence[str]) -> list[str]:
    """Those that at least half as many chunks hold as hold the commonest of them. Measured on
    XQuAD's notes in four languages: all of them cost English questions .010 of BM25's nDCG@10."""
    if len(stems) == 1:
        return [*stems]
    held = {stem: _held(connection, number, stem) for stem in stems}
    return [stem for stem, count in held.items() if 2 * count >= max(held.values())]


def _phrases(words: Iterable[str], languages: Sequence[str]) -> Iterable[str]:
    """Each word's stems in the languages (English for one that isn't known), as FTS5 reads them,
    each once."""
    return dict.fromkeys(
        f'"{stem(word, language or ENGLISH)}"' for word in words for language in languages
    )


def _held(connection: sqlite3.Connection, number: int, expression: str) -> int:
    """How many chunks of a vault fulfil an expression. Several ask it of a question's words."""
    return _counted(connection, generation_of(connection), number, expression)


@lru_cache(maxsize=256)
def _counted(connection: sqlite3.Connection, _generation: int, number: int, expression: str) -> int:
    return _count(connection, number, expression, Filter())


def _within(where: Filter) -> tuple[str, list[Any]]:
    """SQL with its parameters that keeps a search to what the filter lets through. (The unary plus
    keeps SQLite from running the full text query once per allowed row.)"""
    if where.is_empty:
        return "", []
    condition, params = condition_of(where)
    chunks = f"SELECT c.rowid FROM note n JOIN chunk c ON c.note_id = n.id WHERE {condition}"
    return f" AND +rowid IN ({chunks})", params


def _count(connection: sqlite3.Connection, number: int, expression: str, where: Filter) -> int:
    """How many chunks of a vault fulfil an expression."""
    table, (limit, params) = fts_table(number), _within(where)
    sql = f"SELECT count(*) FROM {table} WHERE {table} MATCH ?{limit}"
    return int(connection.execute(sql, (expression, *params)).fetchone()[0])


def _best(
    connection: sqlite3.Connection, number: int, phrases: Sequence[str], n: int, where: Filter
) -> list[ScoredId]:
    """At least the best ``n`` of one vault, with all ties of the n-th."""
    table, expression = fts_table(number), " OR ".join(phrases)
    within, params = _within(where)
    any_word = expression
    is_narrow = not where.is_empty and allowed(connection, where) <= _NARROW
    if not is_narrow and len(leading := _leading(connection, number, phrases, n)) < len(any_word):
        expression = f"({leading}) AND ({any_word})"
    size = n + _MARGIN
    while True:
        rows = connection.execute(
            f"SELECT rowid, bm25({table}) AS score FROM {table}"
            f" WHERE {table} MATCH ?{within} ORDER BY score LIMIT ?",
            (expression, *params, size),
        ).fetchall()
        if len(rows) < n and expression != any_word:  # few of the rarest words' pass the filter
            expression = any_word
            continue
        # FTS5 orders ties by rowid, that is by when a note was indexed. That must not matter:
        # go on until the n-th score has no tie beyond the rows fetched.
        if len(rows) < size or rows[n - 1][1] < rows[-1][1]:
            break
        size *= 4
    scores = {rowid: -score for rowid, score in rows}  # FTS5's is negative, better is smaller
    if expression != any_word:  # the rarest words are in it twice
        scores = _scores(connection, number, scores, phrases)
    ids = connection.execute(
        "SELECT c.rowid, c.id FROM json_each(?) q CROSS JOIN chunk c ON c.rowid = q.value",
        (json.dumps(list(scores)),),
    )
    return [ScoredId(chunk_id, scores[rowid]) for rowid, chunk_id in ids]


def _scores(
    connection: sqlite3.Connection, number: int, rowids: Collection[int], phrases: Sequence[str]
) -> dict[int, float]:
    """BM25 of these chunks as FTS5 computes it, positive; of those that hold a phrase. FTS5's own
    goes through the places of each phrase in all chunks for it: seven times as long at 100,000."""
    table, weights = fts_table(number), []
    chunks, mean = _size(connection, number)
    for phrase in phrases:
        held = _held(connection, number, phrase)
        idf = max(1e-6, math.log((chunks - held + 0.5) / (held + 0.5)))
        weights.append((phrase.strip('"*'), phrase.endswith("*"), idf))
    rows = connection.execute(
        f"SELECT t.rowid, title, heading, body FROM json_each(?) q CROSS JOIN {table} t"
        " ON t.rowid = q.value",
        (json.dumps(list(rowids)),),
    )
    scores: dict[int, float] = {}
    for rowid, *columns in rows:
        words = " ".join(columns).split()
        length = _K1 * (1 - _B + _B * len(words) / mean)
        for word, is_start, idf in weights:
            often = sum(w.startswith(word) for w in words) if is_start else words.count(word)
            if often:
                score = idf * (often * (_K1 + 1) / (often + length))
                scores[rowid] = scores.get(rowid, 0.0) + score
    return scores


def _size(connection: sqlite3.Connection, number: int) -> tuple[int, float]:
    """The chunks of a vault, and the words of one on average: FTS5's "averages record" (row 1 of
    its data: as varints the rows, then the tokens of each column)."""
    sql = f"SELECT block FROM {fts_table(number)}_data WHERE id = 1"
    numbers, value = [], 0
    for byte in connection.execute(sql).fetchone()[0]:
        value = value << 7 | byte & 127
        if byte < 128:
            numbers.append(value)
            value = 0
    return numbers[0], sum(numbers[1:]) / max(1, numbers[0])
