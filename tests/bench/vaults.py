"""Vaults of a wanted size, made from someone's own notes: their words, their line lengths."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

_SENTENCE = re.compile(r"[^.!?\n]{20,240}[.!?]")


def sentences(vault: Path, most: int = 50_000) -> list[str]:
    """The sentences of the vault's notes, in the order of their paths."""
    found: list[str] = []
    for path in sorted(vault.rglob("*.md")):
        found += _SENTENCE.findall(path.read_text(encoding="utf-8", errors="replace"))
        if len(found) > most:
            break
    if len(found) < 20:
        raise SystemExit(f"{vault} holds too few sentences to make a larger vault from.")
    return [sentence.strip() for sentence in found[:most]]


def notes_like(vault: Path, target: Path, count: int) -> None:
    """``count`` short notes of one section each, in 40 folders, no two alike."""
    words = sentences(vault)
    for number, body in enumerate(_bodies(words, count)):
        folder = target / f"folder {number % 40:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        text = f"# Note {number}\n\n{body}\n"
        (folder / f"note {number:05d}.md").write_text(text, encoding="utf-8")


def chunks_like(vault: Path, target: Path, count: int, per_note: int = 20) -> None:
    """Notes of ``per_note`` short sections each: ``count`` chunks in all."""
    bodies = _bodies(sentences(vault), count)
    target.mkdir(parents=True, exist_ok=True)
    for number in range(0, count, per_note):
        wanted = range(number, min(number + per_note, count))
        parts = [f"## Part {section}\n\n{next(bodies)}\n" for section in wanted]
        (target / f"note {number:06d}.md").write_text("\n".join(parts), encoding="utf-8")


def _bodies(words: list[str], count: int) -> Iterator[str]:
    """Three sentences each, chosen by a fixed seed, with a number that makes them differ."""
    dice = random.Random(20_241_121)  # not for secrets: the same vault on every machine
    for number in range(count):
        yield f"{' '.join(dice.choices(words, k=3))} Item {number}."
