"""What one mistyped word costs: python -m tests.bench.typos WORK SET [SET …] [--questions N]

Asks N answerable questions of the sets, as they are and with one typo each, a letter too many, too
few, wrong (its neighbour on the keyboard) or swapped with the next, in a word of four letters or
more. Each SET is a folder with ``vault/`` and ``questions.jsonl``, indexed below WORK. Prints the
refusals and nDCG@10 by note of both, and each question whose outcome or rank changed.
"""

from __future__ import annotations

import argparse
import random
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ragvault.config.settings import Settings
from ragvault.evaluation.dataset import Question, load_questions
from ragvault.evaluation.judging import ranking_of
from ragvault.evaluation.metrics import ndcg
from ragvault.model import Answer, Request
from ragvault.retrieval.question.spelling import NEIGHBOURS
from ragvault.service.ask import answer_of, ask
from ragvault.service.index import IndexRequest, index
from ragvault.wiring import Container

NOW = datetime(2026, 11, 22, 12).astimezone()  # evals/README.md
_WORD = re.compile(r"[^\W\d_]{4,}")


def mistyped(question: str, draw: random.Random) -> str:
    """One of its words with one slip of the fingers; as it is where all are too short."""
    words = list(_WORD.finditer(question))
    if not words:
        return question
    word = draw.choice(words)
    text, at = word.group(), draw.randrange(1, len(word.group()) - 1)
    near = sorted(NEIGHBOURS.get(text[at].lower(), {text[at]}))
    typed = draw.choice(
        (
            text[:at] + text[at + 1 :],
            text[:at] + text[at] + text[at:],
            text[:at] + draw.choice(near) + text[at + 1 :],
            text[:at] + text[at + 1] + text[at] + text[at + 2 :],
        )
    )
    return question[: word.start()] + typed + question[word.end() :]


@dataclass(frozen=True)
class Outcome:
    answered: bool
    ndcg: float
    read_as: str


def asked(container: Container, question: Question, text: str) -> Outcome:
    result = answer_of(ask(container, Request(text, use_model=False), now=NOW))
    found = result.retrieval
    gold = {place.file for place in question.gold}
    gain = ndcg(ranking_of(found).notes, gold, 10) if found else 0.0
    read_as = found.query.text if found else text
    return Outcome(isinstance(result.outcome, Answer), gain, read_as)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("work", type=Path)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    pairs: list[tuple[Outcome, Outcome]] = []
    for folder in given.sets:
        draw = random.Random(f"{folder.name} {given.seed}")
        index_of = {"path": str(given.work / folder.name)}
        settings = Settings.model_validate({"index": index_of, "history": {"enabled": False}})
        questions = [q for q in load_questions(folder / "questions.jsonl") if q.answerable]
        with Container(settings) as container:
            for _ in index(container, IndexRequest(((folder / "vault").resolve(),))):
                pass
            for question in draw.sample(questions, given.questions // len(given.sets)):
                text = mistyped(question.text, draw)
                before, after = (asked(container, question, t) for t in (question.text, text))
                pairs.append((before, after))
                if before.answered != after.answered or before.ndcg != after.ndcg:
                    print(f"{text} -> {after.read_as}\n    {before}\n    {after}")
    for name, some in zip(("as asked", "mistyped"), zip(*pairs, strict=True), strict=True):
        refused = sum(not one.answered for one in some)
        gain = sum(one.ndcg for one in some) / len(some)
        print(f"{name}: {refused} of {len(some)} refused, nDCG@10 {gain:.3f}")


if __name__ == "__main__":
    main()
