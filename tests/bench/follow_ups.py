"""How well a follow-up finds what it means: python -m tests.bench.follow_ups WORK [SETS]

Asks each conversation of ``evals/conversations.jsonl`` over its vault (indexed below WORK): the
first question, then the second one alone, behind the first, and as the rule makes it whole. And
counts how many of the questions of ``evals`` and of SETS, folders with a ``questions.jsonl``, the
rule would change behind another one, though they all stand alone.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

from ragvault.config.settings import Settings
from ragvault.model import Request, Turn
from ragvault.retrieval.question.followup import whole
from ragvault.service.ask import answer_of, ask, searched_for, turn_of
from ragvault.service.index import IndexRequest, index
from ragvault.service.json_objects import ask_object
from ragvault.service.originals import Links
from ragvault.service.search import search
from ragvault.wiring import Container

EVALS = Path(__file__).resolve().parents[2] / "evals"
NOW = datetime(2026, 11, 22, 12).astimezone()  # evals/README.md
LANGUAGES = {"german-english": ["de", "en"]}
DEPTH = 10


def rank_of(container: Container, question: str, gold: dict[str, Any]) -> int | None:
    hits = search(container, Request(question), DEPTH, now=NOW).hits
    for rank, hit in enumerate(hits, 1):
        chunk = hit.chunk
        if chunk.rel_path == gold["file"] and chunk.start_line <= gold["line"] <= chunk.end_line:
            return rank
    return None


def measure(work: Path) -> None:
    lines = (EVALS / "conversations.jsonl").read_text("utf-8").splitlines()
    ranks: dict[str, list[int | None]] = defaultdict(list)
    by_set: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        row = json.loads(line)
        by_set[row["set"]].append(row)
    for name, rows in by_set.items():
        settings = Settings.model_validate({"index": {"path": str(work / name)}})
        with Container(settings) as container:
            for _ in index(container, IndexRequest((EVALS / name / "vault",), name=name)):
                pass
            for row in rows:
                first, then = row["first"], row["then"]
                asked = Request(first, use_model=False)
                result = answer_of(ask(container, asked, now=NOW))
                turn = turn_of(ask_object(result, Links.of(container)))
                request = Request(then, use_model=False, earlier=(turn,))
                made = searched_for(container, request, NOW) or then
                print(f"{first} | {then} -> {made}")
                for how, question in (
                    ("alone", then),
                    ("behind", f"{first} {then}"),
                    ("rule", made),
                ):
                    ranks[how].append(rank_of(container, question, row["gold"]))
    for how, found in ranks.items():
        gain = sum(1 / math.log2(rank + 1) for rank in found if rank) / len(found)
        first, three = (sum(1 for r in found if r and r <= n) / len(found) for n in (1, 3))
        print(f"{how:8} nDCG@10 {gain:.3f}  first {first:.3f}  first three {three:.3f}")


def spoilt(folders: list[Path]) -> None:
    before = Turn("mike harris mobile number", title="Mike Harris")
    for folder in folders:
        lines = (folder / "questions.jsonl").read_text("utf-8").splitlines()
        asked = [json.loads(line)["question"] for line in lines]
        likely = LANGUAGES.get(folder.name, ["en"])
        changed = [q for q in asked if whole(q, before, NOW, likely) != q]
        print(f"{folder.name}: {len(changed)} of {len(asked)} would be changed", changed[:20])


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
    spoilt(
        [
            file.parent
            for folder in (EVALS, *map(Path, sys.argv[2:]))
            for file in sorted(folder.glob("**/questions.jsonl"))
        ]
    )
