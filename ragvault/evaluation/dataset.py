"""Question sets: JSON Lines, a question a line, with the places where the answer stands.

    {"id": "7", "question": "…", "answerable": true, "lang": "en",
     "gold": [{"file": "a.md"}, {"file": "a.md", "heading": "Setup"},
              {"file": "a.md", "start": 120, "end": 180, "text": "…"}],
     "answers": ["…"], "group": "…", "kind": "…"}

Only ``question`` is required. ``start`` and ``end`` are character offsets into the note as it is
on disk, line ends and all, the byte order mark not counted. ``group`` names questions that belong
together (one made from the other); a cross-validation keeps them in one fold. The ``kind``
"off_topic" marks a question whose subject is foreign to the vault, not only its answer. Other keys
are ignored.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragvault.errors import UsageError

_FORMAT_HINT = 'Each line is an object: {"question": "…", "gold": [{"file": "note.md"}]}.'
MAX_LINE_CHARS = 1_000_000
MAX_BYTES = 500_000_000
# What JSON can spell and UTF-8 can't: such text could be neither searched for nor saved.
_HALF = re.compile("[\ud800-\udfff]")
OFF_TOPIC = "off_topic"  # the ``kind`` of a question whose subject is foreign to the vault


@dataclass(frozen=True, slots=True)
class Gold:
    """A place that answers. ``file`` is relative to the vault, POSIX, NFC.

    ``heading`` is the section's own heading, or its path joined by " > "; "" is what stands
    before the first heading; None: anywhere in the note. ``start``/``end`` are offsets in
    characters, end exclusive; ``text`` what stands there.
    """

    file: str
    heading: str | None = None
    start: int | None = None
    end: int | None = None
    text: str | None = None

    @property
    def span(self) -> tuple[int, int] | None:
        return None if self.start is None or self.end is None else (self.start, self.end)


@dataclass(frozen=True, slots=True)
class Question:
    """One line of a set. ``origin`` is "" for the set itself, else the off-topic set's name;
    ``off_topic``: the vault has nothing on its subject."""

    id: str
    text: str
    answerable: bool
    gold: tuple[Gold, ...] = ()
    answers: tuple[str, ...] = ()
    lang: str | None = None
    group: str | None = None
    origin: str = ""
    off_topic: bool = False
    line: int = 0

    @property
    def key(self) -> str:
        """Tells it apart from all others of a run, and finds it again in another run."""
        return f"{self.origin}#{self.id}" if self.origin else self.id


def load_questions(
    path: Path, *, limit: int | None = None, seed: int = 0, max_bytes: int = MAX_BYTES
) -> list[Question]:
    """The questions of a file, in its order; with ``limit`` so many of them, drawn by ``seed``.

    Raises UsageError, with the line, for what is no such set.
    """
    try:
        with path.open("rb") as file:  # bounded: a device or a pipe may never end
            data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise UsageError(f"{path} is too large to be a set of questions.", _FORMAT_HINT)
        text = data.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {path}.", _FORMAT_HINT) from error
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{path} can't be read: {reason}.", "Name a file of questions.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from error
    return parse_questions(text, path.name, limit=limit, seed=seed)


def parse_questions(
    text: str, name: str, *, limit: int | None = None, seed: int = 0
) -> list[Question]:
    """The same from text; ``name`` is for the messages."""
    found: list[Question] = []
    seen: dict[str, int] = {}
    # Not splitlines(): U+2028 and the like may stand inside a JSON string.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip():
            continue
        question = _Line(name, number).question(line)
        first = seen.setdefault(question.id, number)
        if first != number:
            raise UsageError(
                f"{name}:{number}: the id {question.id!r} is that of line {first} already.",
                "Give each question an id of its own, or none.",
            )
        found.append(question)
    if not found:
        raise UsageError(f"{name} holds no question.", _FORMAT_HINT)
    if limit is not None and limit < len(found):
        chosen = sorted(random.Random(seed).sample(range(len(found)), limit))
        found = [found[i] for i in chosen]
    return found


def as_off_topic(questions: Iterable[Question], name: str) -> list[Question]:
    """Another set's questions, for which the right answer here is none."""
    return [
        replace(q, answerable=False, gold=(), answers=(), group=None, origin=name, off_topic=True)
        for q in questions
    ]


def check_places(
    questions: Sequence[Question], rel_paths: Collection[str], vault: str, name: str
) -> None:
    """Raises UsageError when a gold note of an answerable question isn't in the vault."""
    missing = missing_places(questions, rel_paths)
    if not missing:
        return
    line, file = missing[0]
    more = f", nor are {len(missing) - 1:,} others" if len(missing) > 1 else ""
    raise UsageError(
        f"{name}:{line}: the note {file!r} is not in the vault '{vault}'{more}.",
        "Name the right vault with --vault, or index it again: `ragvault index`.",
    )


def missing_places(
    questions: Sequence[Question], rel_paths: Collection[str]
) -> list[tuple[int, str]]:
    """(line, file) of the gold notes that aren't there, each note once."""
    found: dict[str, int] = {}
    for question in questions:
        if question.answerable:
            for gold in question.gold:
                if gold.file not in rel_paths:
                    found.setdefault(gold.file, question.line)
    return [(line, file) for file, line in found.items()]


class _Line:
    """One line of the file: where its mistakes are reported."""

    def __init__(self, name: str, number: int) -> None:
        self._place = f"{name}:{number}"
        self._number = number

    def question(self, line: str) -> Question:
        value = self._object(line)
        answerable = value.get("answerable", True)
        if not isinstance(answerable, bool):
            raise self._wrong("`answerable` has to be true or false")
        given_id = self._get(value, "id", str | int, "text or a whole number")
        gold = tuple(self._gold(item) for item in self._get(value, "gold", list, "a list") or [])
        if not gold and value.get("answerable") is True:
            raise self._wrong("an answerable question needs `gold`, the place of its answer")
        answers = self._get(value, "answers", list, "a list") or []
        if not all(isinstance(answer, str) for answer in answers):
            raise self._wrong("`answers` has to be a list of texts")
        is_answerable = answerable and bool(gold)
        return Question(
            id=str(given_id) if given_id is not None else f"line-{self._number}",
            text=self._words(value, "question"),
            answerable=is_answerable,
            gold=gold,
            answers=tuple(answers),
            lang=self._words(value, "lang") if value.get("lang") is not None else None,
            group=self._words(value, "group") if value.get("group") is not None else None,
            off_topic=not is_answerable and value.get("kind") == OFF_TOPIC,
            line=self._number,
        )

    def _object(self, line: str) -> dict[str, Any]:
        if len(line) > MAX_LINE_CHARS:
            raise self._wrong("the line is longer than a question can be")
        try:
            value = json.loads(line)
        except ValueError as error:
            reason = getattr(error, "msg", None) or str(error)
            raise self._wrong(f"this is not JSON: {reason}") from error
        except RecursionError as error:
            raise self._wrong("this is nested too deeply") from error
        if not isinstance(value, dict):
            raise self._wrong("a question has to be a JSON object")
        if "\\u" in line and _HALF.search(json.dumps(value, ensure_ascii=False)):
            raise self._wrong("a \\ud… escape in it is half a character")
        return value

    def _gold(self, item: Any) -> Gold:
        if not isinstance(item, dict):
            raise self._wrong("`gold` has to be a list of objects with a `file`")
        file = normal_path(self._words(item, "file"))
        start, end = self._offset(item, "start"), self._offset(item, "end")
        if (start is None) != (end is None) or (start is not None and not start < (end or 0)):
            raise self._wrong("`start` and `end` come together, and `start` is the smaller")
        heading = self._get(item, "heading", str, "text")
        return Gold(file, heading, start, end, self._get(item, "text", str, "text"))

    def _offset(self, item: dict[str, Any], key: str) -> int | None:
        found: int | None = self._get(item, key, int, "a number of characters")
        if found is not None and (isinstance(found, bool) or found < 0):
            raise self._wrong(f"`{key}` has to be a number of characters")
        return found

    def _get(self, value: dict[str, Any], key: str, kind: Any, told: str) -> Any:
        """None where it isn't given."""
        found = value.get(key)
        if found is not None and not isinstance(found, kind):
            raise self._wrong(f"`{key}` has to be {told}")
        return found

    def _words(self, value: dict[str, Any], key: str) -> str:
        """Text that may not be missing or blank."""
        if key not in value:
            raise self._wrong(f"`{key}` is not there")
        found = value[key]
        if not isinstance(found, str) or not found.strip():
            raise self._wrong(f"`{key}` has to be text")
        return found

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"{self._place}: {what}.", _FORMAT_HINT)


def normal_path(path: str) -> str:
    """POSIX, NFC, without "./" and without a leading slash: as the catalog keys its notes."""
    path = unicodedata.normalize("NFC", path.strip().replace("\\", "/"))
    while path.startswith("./"):
        path = path[2:]
    return path.lstrip("/")
