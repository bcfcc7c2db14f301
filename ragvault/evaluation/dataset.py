"""Question sets: JSON Lines, a question a line, with the places where the answer stands.

    {"id": "7", "question": "…", "answerable": true, "lang": "en",
     "gold": [{"file": "a.md"}, {"file": "a.md", "heading": "Setup"}, {"file": "a.md", "line": 7}],
     "right": "…", "type": "…"}

Only ``question`` is required. ``right`` is a regular expression that every right answer matches,
in whatever case. The ``type`` "foreign" marks a question whose subject is foreign to the vault, not
only its answer. Other keys are ignored.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    dataclasses,
    model_validator,
)

from ragvault.errors import UsageError
from ragvault.model import StoredChunk
from ragvault.text import normalise

_FORMAT_HINT = 'Each line is an object: {"question": "…", "gold": [{"file": "note.md"}]}.'
_MAX_CHARS = 50_000_000
FOREIGN = "foreign"


def _pattern(text: str | None) -> str | None:
    try:
        re.compile(text or "")
    except re.error as error:
        raise ValueError(f"it is no regular expression: {error}") from error
    return text


def folded(text: str) -> str:
    """As headings and passages are compared."""
    return " ".join(normalise(text).split())


def normal_path(path: str) -> str:
    """POSIX, NFC, without "./" and without a leading slash: as the catalog keys its notes."""
    path = unicodedata.normalize("NFC", path.replace("\\", "/"))
    while path.startswith("./"):
        path = path[2:]
    return path.lstrip("/")


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@dataclasses.dataclass(frozen=True, slots=True, config=ConfigDict(strict=True))
class Gold:
    """A place that answers. ``file`` is relative to the vault, POSIX, NFC.

    ``heading`` is the section's own heading, or its path joined by " > "; "" is what stands
    before the first heading; None: anywhere in the note. ``line`` counts from 1.
    """

    file: Annotated[Words, AfterValidator(normal_path)]
    heading: str | None = None
    line: NonNegativeInt | None = None

    def is_in(self, stored: StoredChunk) -> bool:
        """Whether a passage stands in the section, under that very heading, not one below; of a
        line: whether it holds the line."""
        if stored.chunk.rel_path != self.file:
            return False
        if self.line is not None:
            return stored.chunk.start_line <= self.line <= stored.chunk.end_line
        if self.heading is None:
            return True
        path = [folded(part) for part in stored.chunk.heading_path]
        wanted = folded(self.heading)
        if not wanted or not path:
            return not wanted and not path
        return wanted in (" > ".join(path[i:]) for i in range(len(path)))


@dataclasses.dataclass(
    frozen=True, slots=True, config=ConfigDict(strict=True, populate_by_name=True)
)
class Question:
    """One line of a set, which is the ``line``-th of its file."""

    text: Words = Field(alias="question")
    id: Annotated[str, Field(strict=False, coerce_numbers_to_str=True)] = ""
    answerable: bool = Field(default=None)  # type: ignore[assignment]  # until gold decides
    gold: tuple[Gold, ...] = ()
    lang: Words | None = None
    right: Annotated[str | None, AfterValidator(_pattern)] = None
    type: object = None
    line: int = 0

    @model_validator(mode="after")
    def _check_gold(self) -> Question:
        """Gold decides where ``answerable`` isn't said."""
        if self.answerable and not self.gold:
            raise ValueError("an answerable question needs `gold`, the place of its answer")
        object.__setattr__(self, "answerable", self.answerable is not False and bool(self.gold))
        return self

    def is_in(self, passages: Iterable[StoredChunk]) -> bool:
        """Whether one of the passages stands at a gold place."""
        return any(gold.is_in(stored) for stored in passages for gold in self.gold)

    @property
    def off_topic(self) -> bool:
        """The vault has nothing on its subject."""
        return not self.answerable and self.type == FOREIGN


def load_questions(path: Path, *, limit: int | None = None) -> list[Question]:
    """The questions of a file, in its order; with ``limit`` so many of them, the same each time.

    Raises UsageError, with the line, for what is no such set.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:  # also a pipe, or a device without an end
            text = file.read(_MAX_CHARS + 1)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{path} can't be read: {reason}.", _FORMAT_HINT) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.", _FORMAT_HINT) from error
    if len(text) > _MAX_CHARS:
        raise UsageError(f"{path} is too large to be a set of questions.", _FORMAT_HINT)
    return parse_questions(text, path.name, limit=limit)


def parse_questions(text: str, name: str, *, limit: int | None = None) -> list[Question]:
    """The same from text; ``name`` is for the messages."""
    found: dict[str, Question] = {}
    # Not splitlines(): U+2028 and the like may stand inside a JSON string.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip():
            continue
        try:
            read = TypeAdapter(Question).validate_json(line)
        except ValidationError as error:
            raise UsageError(f"{name}:{number}: {_mistake(error)}.", _FORMAT_HINT) from error
        question = replace(read, id=read.id or f"line-{number}", line=number)
        first = found.setdefault(question.id, question)
        if first is not question:
            raise UsageError(
                f"{name}:{number}: the id {question.id!r} is that of line {first.line} already.",
                "Give each question an id of its own, or none.",
            )
    if not found:
        raise UsageError(f"{name} holds no question.", _FORMAT_HINT)
    questions = list(found.values())
    if limit is not None and limit < len(questions):
        chosen = sorted(random.Random(0).sample(range(len(questions)), limit))
        questions = [questions[i] for i in chosen]
    return questions


def _mistake(error: ValidationError) -> str:
    """What is wrong with a line, and where in it: "`gold.0.file`: field required"."""
    first = error.errors()[0]
    place, told = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    told = f"{told[0].lower()}{told[1:]}"
    return f"`{place}`: {told}" if place else told
