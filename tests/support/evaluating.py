"""Passages and judged questions made by hand, for the tests of the evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ragvault.evaluation.dataset import Gold, Question
from ragvault.evaluation.document import Evaluation, Setting
from ragvault.evaluation.judging import BLEND, Passage, QuestionResult
from ragvault.evaluation.summary import summarise
from ragvault.model import Chunk, NoteInfo, StoredChunk, VaultInfo


def passage(
    rel_path: str,
    heading_path: tuple[str, ...] = (),
    text: str = "text",
    *,
    lines: tuple[int, int] = (1, 1),
    title: str | None = None,
) -> StoredChunk:
    key = f"{rel_path}/{'/'.join(heading_path)}/{lines}/{text}"
    chunk = Chunk(key, "v", rel_path, heading_path, 0, 0, *lines, text, "", key)
    name = rel_path.rsplit("/", 1)[-1].removesuffix(".md") if title is None else title
    return StoredChunk(chunk, NoteInfo("v", rel_path, name, "", (), (), 0.0, 0.0))


def judged(
    key: str,
    confidence: float,
    *,
    answerable: bool = True,
    answered: bool | None = None,
    values: Mapping[str, float] | None = None,
    origin: str = "",
    text: str | None = None,
    features: Mapping[str, float] | None = None,
    lang: str | None = None,
    found: Sequence[Passage] = (),
    gold: Sequence[Gold] = (Gold("a.md", "H"),),
) -> QuestionResult:
    """One result; ``answered`` follows a threshold of 0.4 if it isn't given."""
    yes = confidence >= 0.4 if answered is None else answered
    question = Question(
        key,
        text or f"question {key}?",
        answerable,
        tuple(gold) if answerable else (),
        origin=origin,
        lang=lang,
    )
    rankings = {BLEND: {"ndcg@10": 1.0} if values is None else dict(values)} if answerable else {}
    return QuestionResult(
        question=question,
        rankings=rankings,
        confidence=confidence,
        reason=None if yes else "no_relevant_context",
        features=dict(features or {}),
        found=tuple(found),
    )


def evaluation(results: Sequence[QuestionResult], name: str = "set") -> Evaluation:
    vault = VaultInfo("notes", Path("/notes"), "folder", 10, 20)
    summary = summarise(results, threshold=0.4)
    return Evaluation(Setting(name, vault, "some-model", 0.4, 0), tuple(results), summary, 1.5)
