"""The tasks that a question asks for, of all notes: they are read, not ranked.

Linear in the passages that hold a box (an index knows them) and, where it is asked what is due, in
those that say so; nothing is embedded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from ragvault.formats.dates import date_from_path
from ragvault.formats.tasks import DUE_WORDS, Task, done_date, due_date, open_table, tasks_in
from ragvault.model import (
    Detail,
    DroppedBy,
    Hit,
    Retrieval,
    Scores,
    StoredChunk,
    Strategy,
    TaskPlace,
    TaskQuery,
)
from ragvault.retrieval.context import Context
from ragvault.retrieval.ranking.pick import is_template
from ragvault.text import WEEKDAYS, folded, normalise, stem, stems

_SHOWN = {Detail.BRIEF: 5, Detail.NORMAL: 20, Detail.DETAILED: 60}
_DUE_PASSAGES = 500  # by their words, beside those with boxes
_TABLE = 100  # passages that a table may go on in
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class _Found:
    """``day``: when it is due, or was done; that of the daily note that it stands in, where the
    question lets it."""

    stored: StoredChunk
    task: Task
    day: date | None = None

    @property
    def chunk_id(self) -> str:
        return self.stored.chunk.id


def find_tasks(context: Context, asked: TaskQuery) -> Retrieval | None:
    """What fits, by day, those of no day last, the newest notes first. None where there is nothing
    of the kind, or nothing about what was asked: the search looks on then. No hit where
    none is of the period and that can be said: each has a day, or all open ones are meant."""
    wanted = frozenset(stem(word, context.query.language) for word in asked.words)
    every = _of_state(asked, _passages(context, asked), wanted)
    about = [_dated(one, asked, context.now) for one in _about(every, wanted, context)]
    about = [one for one in about if one.day or one.task.has_box]
    if not about:
        return None
    fitting = about
    if asked.period:
        first, last = asked.period
        fitting = [one for one in about if one.day and first <= one.day <= last]
        if not fitting and (asked.words or asked.done) and not all(one.day for one in about):
            return None
    fitting.sort(key=_newest_first if asked.done else _due_first)
    most = context.request.k or _SHOWN[context.request.detail]
    if len(fitting) > most or (fitting and "how many" in context.query.text.lower()):
        context.notices.append(_counted(len(fitting), most, asked))
    hits = _hits([one.stored for one in fitting], len({one.chunk_id for one in fitting[:most]}))
    places = [
        TaskPlace(o.chunk_id, o.task.first, o.task.last, o.task.above) for o in fitting[:most]
    ]
    return Retrieval(
        context.query, hits, Strategy.TASKS, context.searched, k=most, tasks=tuple(places)
    )


def _due_first(one: _Found) -> tuple[object, ...]:
    chunk = one.stored.chunk
    place = (
        -(one.stored.note.date // _DAY_S),
        chunk.vault,
        chunk.rel_path,
        chunk.start_line + one.task.first,
    )
    return (one.day or date.max, *place)


def _newest_first(one: _Found) -> tuple[object, ...]:
    return (-(one.day or date.min).toordinal(), *_due_first(one)[1:])


def _counted(found: int, most: int, asked: TaskQuery) -> str:
    if found <= most:
        return f"{found:,} {asked.kind if found > 1 else asked.kind.removesuffix('s')}."
    which = "done last" if asked.done else "due first"
    return f"{found:,} {asked.kind}: these are the {most} {which}. `--detail detailed` shows more."


def _passages(context: Context, asked: TaskQuery) -> Iterator[tuple[StoredChunk, str]]:
    """Those with a box; where it is asked what is due, also those that say so, and what a table
    goes on in, with its header."""
    catalog = context.catalog
    stored = {one.chunk.id: one for one in catalog.with_tasks(context.where)}
    goes_on: dict[str, tuple[StoredChunk, str]] = {}
    if _takes_lines(asked):
        found = catalog.lexical(DUE_WORDS, _DUE_PASSAGES, context.where)
        due = catalog.chunks([hit.chunk_id for hit in found])
        stored |= due
        for one in due.values():
            if header := open_table(one.chunk.text):
                for other in catalog.neighbours(one.chunk.id, _TABLE):
                    if other.chunk.ordinal > one.chunk.ordinal:
                        goes_on[other.chunk.id] = (other, header)
    yield from goes_on.values()
    yield from ((one, "") for one in stored.values() if one.chunk.id not in goes_on)


def _takes_lines(asked: TaskQuery) -> bool:
    return asked.period is not None and not asked.boxes_only


def _of_state(
    asked: TaskQuery, passages: Iterable[tuple[StoredChunk, str]], wanted: frozenset[str]
) -> Iterator[_Found]:
    """Each once, where passages overlap."""
    seen: set[tuple[str, str, int]] = set()
    # Most passages are told from others by the letters that a word and its stem begin with.
    begins = [word[: max(2, len(word) - 2)] for word in wanted]
    boxes_only = not _takes_lines(asked)
    for one, header in passages:
        text = one.chunk.text
        if is_template(one.note.rel_path) or not _holds(_place(one) + header + text, begins):
            continue
        for task in tasks_in(text, boxes_only=boxes_only, header=header):
            place = (one.chunk.vault, one.chunk.rel_path, one.chunk.start_line + task.first)
            if task.is_done is asked.done and place not in seen:
                seen.add(place)
                yield _Found(one, task)


def _dated(one: _Found, asked: TaskQuery, now: float) -> _Found:
    note = one.stored.note
    written = note.day if note.day and note.says_its_day else datetime.fromtimestamp(now)
    day = (done_date if asked.done else due_date)(one.task.text, written.date())
    if day is None and one.task.has_box and asked.period and not asked.by_due:
        day = _daily(note.rel_path)
    return replace(one, day=day)


def _daily(rel_path: str) -> date | None:
    """The day of a daily note, whose name is its date, with or without the weekday."""
    words = re.findall(r"[^\W\d_]+", rel_path.rpartition("/")[2].rpartition(".")[0].lower())
    noon = date_from_path(rel_path)
    if noon is None or not all(any(d.startswith(word) for d in WEEKDAYS) for word in words):
        return None
    return datetime.fromtimestamp(noon, UTC).date()


def _about(every: Iterable[_Found], wanted: frozenset[str], context: Context) -> list[_Found]:
    """Those that hold all of the words, in themselves or their place."""
    if not wanted:
        return list(every)
    language = context.query.language

    def said(one: _Found) -> str:
        return "\n".join((_place(one.stored), one.task.text, *one.task.above))

    return [one for one in every if wanted <= stems(said(one), language)]


def _place(stored: StoredChunk) -> str:
    note, path = stored.note, stored.note.rel_path.rpartition(".")[0]
    names = (note.title, path, *note.aliases, *note.tags, *stored.chunk.heading_path)
    return "\n".join((*names, ""))


def _holds(text: str, begins: list[str]) -> bool:
    plain = folded(f" {normalise(text)}") if begins else ""
    return all(begin in plain for begin in begins)


def _hits(stored: list[StoredChunk], kept: int) -> tuple[Hit, ...]:
    """The passages in order, each once; the first ``kept`` may be answered from."""
    unique = {one.chunk.id: one for one in stored}
    scores = Scores(final=1.0, terms=(("task", 1.0),))
    return tuple(
        Hit(n, one, scores, None if n <= kept else DroppedBy.RANK)
        for n, one in enumerate(unique.values(), 1)
    )
