"""Labelled statements: does the check of answers tell the held ones from the others?

    python -m tests.bench.statements --write     make evals/statements/cases.jsonl of written.txt
    python -m tests.bench.statements [--kept] [--by languages]
                                                 the table: how many are passed as held, by kind

A case is (statement, the passage that it cites, verdict, kind). Of what a person wrote (held
statements, and wrong ones that no rule makes) others follow: a number, a name or a date changed,
to another of the same passage ("near") or to one that isn't there, and the statement on the passage
of another note that shares most words with it ("near-miss"). All were read by a person; what
turned out true is in ``TRUE_AFTER_ALL``. A third of the passages, drawn by their place, is kept
for the final figure. Those of ``others.jsonl`` are another author's, who didn't see the check; a
part was written for the final figure alone.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.answering.check.support import (
    content_words,
    evidence_text,
    is_partly,
    unsupported,
)
from ragvault.answering.check.values import find_dates
from ragvault.config.settings import Settings
from ragvault.formats.markdown import read_markdown
from ragvault.model import Chunk, Hit, Note, NoteInfo, Scores, StoredChunk
from ragvault.text import stem, tokens

if TYPE_CHECKING:
    from ragvault.model import Matrix

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "evals" / "statements"
VAULTS = {
    "english": ROOT / "evals/english/vault",
    "german-english": ROOT / "evals/german-english/vault",
    "lists": ROOT / "evals/lists/vault",
    "journal": ROOT / "evals/journal/vault",
    "sample": ROOT / "tests/sample-vault",
    "statements": ROOT / "evals/statements/vault",
}
HELD = {"+": "plain", "x": "other language"}
_NUMBER = re.compile(r"(?<![\w.,/-])\d[\d.,:]*(?<=\d)(?![\w/-])")
# Where the near miss is none.
TRUE_AFTER_ALL = frozenset(
    {
        "english/Home/Kelham flat.md:1-7",
        "english/Daily/2026-10-13.md:1-3",
        "english/Work/Meetings/2023-11-09 Cutler's Mill kick-off.md:5-11",
        "german-english/Arbeit/Messkoffer.md:1-11",
        "german-english/Personen/Lena Hoffmann.md:4-9",
        "lists/Work/Clients.md:1-15",
        "sample/Projects/Tidepool/Payments decision.md:7-12",
        "sample/Daily/2024-07-23.md:1-5",
    }
)


@dataclass(frozen=True, slots=True)
class Case:
    """``place`` is "VAULT/FILE:FIRST-LAST", the lines of a passage as it is indexed; ``languages``
    those of the statement and the passage, where they are known."""

    statement: str
    place: str
    held: bool
    kind: str
    kept: bool
    languages: str = ""


# --------------------------------------------------------------------------- the passages


@cache
def _note(vault: str, rel_path: str) -> Note:
    return read_markdown(rel_path, (VAULTS[vault] / rel_path).read_bytes(), 0.0)


@cache
def passage(place: str) -> Hit:
    """The lines as a passage of the index: with the headings that all of them stand under."""
    file, _, lines = place.rpartition(":")
    vault, _, rel_path = file.partition("/")
    first, last = map(int, lines.split("-"))
    note = _note(vault, rel_path)
    over = [s.heading_path for s in note.sections if s.start_line <= last and first <= s.end_line]
    headings = tuple(a for a, *more in zip(*over, strict=False) if all(b == a for b in more))
    text = "\n".join(note.lines[first - 1 : last])
    chunk = Chunk(place, vault, rel_path, headings, 0, 0, first, last, text, text, place)
    info = NoteInfo(vault, rel_path, note.title, "", note.tags, note.aliases, note.date, 0.0)
    return Hit(1, StoredChunk(chunk, info), Scores(0.8, 0.8, None, 1.0, 0.8))


@cache
def sections(vault: str) -> tuple[str, ...]:
    """The places of all sections of a vault."""
    paths = (p.relative_to(VAULTS[vault]).as_posix() for p in sorted(VAULTS[vault].rglob("*.md")))
    return tuple(
        f"{vault}/{path}:{s.start_line}-{s.end_line}"
        for path in paths
        for s in _note(vault, path).sections
    )


# --------------------------------------------------------------------------- the making


def make() -> Iterator[Case]:
    """The cases of written.txt, with those that follow."""
    place, names = "", []
    for line in (FOLDER / "written.txt").read_text("utf-8").splitlines():
        kind, _, said = line.partition(" ")
        if kind == "names":
            names.append([name.replace("~", " ") for name in said.split()])
        elif kind == "@":
            place = said
        elif kind in HELD:
            yield _case(said, place, True, HELD[kind])
            yield from _altered(said, place, names, kind == "x")
        elif kind and not kind.startswith("#"):
            yield _case(said, place, False, "other language" if kind == "xwrong" else kind)


def _altered(
    said: str, place: str, names: Sequence[Sequence[str]], foreign: bool
) -> Iterator[Case]:
    text = passage(place).chunk.text
    changes = {
        "number": _other_number(said, text, near=False),
        "number, near": _other_number(said, text, near=True),
        "date": _other_date(said),
        "name": _other_name(said, text, names),
    }
    for kind, changed in changes.items():
        if changed:
            yield _case(changed, place, False, kind)
    miss = None if foreign else _near_miss(said, place)
    if miss and miss not in TRUE_AFTER_ALL:
        yield _case(said, miss, False, "near-miss")


def _case(statement: str, place: str, held: bool, kind: str) -> Case:
    kept = hashlib.sha256(place.encode()).digest()[0] % 3 == 0
    return Case(statement, place, held, kind, kept)


def _numbers(text: str) -> list[re.Match[str]]:
    dated = [span for span, _ in find_dates(text)]
    return [m for m in _NUMBER.finditer(text) if not any(a <= m.start() < b for a, b in dated)]


def _other_number(said: str, text: str, *, near: bool) -> str | None:
    """The statement's last number changed: by a digit, or to another one of the passage."""
    numbers = _numbers(said)
    if not numbers:
        return None
    last = numbers[-1]
    old = last.group()
    if near:
        others = dict.fromkeys(m.group() for m in _numbers(text) if m.group() not in said)
        new = next((n for n in others if (":" in n) == (":" in old)), None)
    else:
        new = next(n for n in _bumped(old) if n not in text)
    return said[: last.start()] + new + said[last.end() :] if new else None


def _bumped(number: str) -> Iterator[str]:
    """With one digit changed, the first one first."""
    for at, digit in enumerate(number):
        for step in range(1, 9):
            if digit.isdigit() and (new := (int(digit) + step) % 10):
                yield f"{number[:at]}{new}{number[at + 1 :]}"
    yield f"1{number}"


def _other_date(said: str) -> str | None:
    """The day, or without one the month or year, changed."""
    for (start, end), _ in find_dates(said):
        old = said[start:end]
        day = re.search(r"(?<!\d)\d{1,2}(?!\d)", old)
        if day:
            new = f"{old[: day.start()]}{int(day.group()) % 27 + 2}{old[day.end() :]}"
        else:
            new = re.sub(r"20\d(\d)", lambda m: f"20{(int(m[1]) + 3) % 10}1", old)
        if new != old:
            return said[:start] + new + said[end:]
    return None


def _other_name(said: str, text: str, names: Sequence[Sequence[str]]) -> str | None:
    """The statement's first name changed: to one of the passage if there is one of its kind."""
    for kin in names:
        for name in kin:
            found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said)
            others = sorted((n for n in kin if n not in said), key=lambda n: n not in text)
            if found and others:
                return said[: found.start()] + others[0] + said[found.end() :]
    return None


def _near_miss(said: str, place: str) -> str | None:
    """The place of the passage of another note that shares most words with the statement, where
    it is a near miss: four in ten."""
    note, vault = place.rpartition(":")[0], place.split("/")[0]
    others = [at for at in sections(vault) if at.rpartition(":")[0] != note]
    wanted = set(map(stem, content_words(said)))
    best = max(others, key=lambda at: len(wanted & _stems(at)))
    return best if len(wanted & _stems(best)) >= 0.4 * len(wanted) else None


@cache
def _stems(place: str) -> frozenset[str]:
    return frozenset(stem(word) for word in tokens(evidence_text(passage(place))))


# --------------------------------------------------------------------------- the figures


def load(name: str = "cases") -> list[Case]:
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [Case(**json.loads(line)) for line in lines]


def table(cases: Sequence[Case], by: str = "kind") -> str:
    """For each kind: how many cases, how many of them the check decides wrongly (what is held is
    left out, what isn't is supported), and how many are held partly."""
    seen: Counter[tuple[bool, str, str]] = Counter()
    for case in cases:
        for kind in (getattr(case, by), "all"):
            seen[case.held, kind, verdict(case)] += 1
    lines = []
    for held, title, wrong in (
        (True, "held, refused", "unsupported"),
        (False, "not held, passed", "supported"),
    ):
        kinds = {kind for of_held, kind, _ in seen if of_held is held}
        for kind in sorted(kinds, key=lambda kind: (kind == "all", kind)):
            of = {one: seen[held, kind, one] for one in VERDICTS}
            n = sum(of.values())
            share = f"{of[wrong]:3} of {n:3}  {of[wrong] / n:6.1%}"
            lines.append(f"{title:17} {kind:16} {share}   partly {of['partly']:3}")
    return "\n".join(lines)


VERDICTS = ("supported", "partly", "unsupported")


def verdict(case: Case) -> str:
    if reasons(case):
        return "unsupported"
    return "partly" if is_partly(case.statement, (passage(case.place),)) else "supported"


@cache
def reasons(case: Case) -> tuple[str, ...]:
    """Why the check refuses it, with the bundled model."""
    return unsupported(case.statement, (passage(case.place),), _embed)


def _embed(texts: Sequence[str]) -> Matrix:
    return np.stack([_vector(text) for text in texts])


@cache
def _vector(text: str) -> Matrix:
    return np.asarray(_embedder().embed_documents([text])[0])


@cache
def _embedder() -> OnnxEmbedder:
    return OnnxEmbedder(Settings())


def main(words: Sequence[str]) -> None:
    if "--write" in words:
        made = ({k: v for k, v in asdict(case).items() if v != ""} for case in make())
        lines = [json.dumps(case, ensure_ascii=False) for case in made]
        (FOLDER / "cases.jsonl").write_text("\n".join(dict.fromkeys(lines)) + "\n", "utf-8")
    kept = "--kept" in words
    for name in ("cases", "others"):
        cases = [case for case in load(name) if case.kept is kept]
        for case in cases if "--list" in words and not kept else ():
            if verdict(case) == ("unsupported" if case.held else "supported"):
                print(f"{case.kind:15} {case.place}\n    {case.statement}\n    {reasons(case)}")
        print(f"{name}\n{table(cases, words[-1] if '--by' in words else 'kind')}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
