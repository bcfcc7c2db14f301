"""The same search gives the same list: again, reopened, rebuilt, indexed in another order."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from ragvault.model import Request, collection_of
from ragvault.service import search
from ragvault.wiring import Container
from tests.e2e.test_daily_notes import NOW
from tests.support.cli import make_vault
from tests.support.stack import index_vault, stack

QUESTIONS = (
    "How often is the pump serviced?",
    "green valve pressure",
    "What did we order in March 2024?",
    "lamp",
)
SUBJECTS = ("pump", "valve", "lamp", "filter", "cable", "sensor")
COLOURS = ("green", "red", "white", "black", "yellow")
VERBS = ("serviced", "ordered", "replaced", "painted", "measured")

Row = tuple[str, float, tuple[tuple[str, float], ...], str | None]


def notes(count: int) -> dict[str, str]:
    """Short notes that are much alike: many near-ties, some copies and some exact ties."""
    made = random.Random(7)
    found = {}
    for i in range(count):
        subject, colour = made.choice(SUBJECTS), made.choice(COLOURS)
        day = f"2024-0{made.randint(1, 5)}-{made.randint(1, 28):02}"
        lines = [
            f"The {colour} {subject} was {made.choice(VERBS)} every {made.randint(2, 9)} weeks."
            for _ in range(made.randint(1, 3))
        ]
        text = f"---\ndate: {day}\n---\n# {subject}\n\n" + "\n".join(lines) + "\n"
        found[f"{made.choice(COLOURS)}/n{i:03}.md"] = text
        if i % 25 == 0:
            found[f"copies/n{i:03}.md"] = text
    return found


def lists(container: Container) -> list[list[Row]]:
    """Every candidate of every question: place, score with its terms, and fate, in order."""
    found = []
    for question in QUESTIONS:
        hits = search.search(container, Request(question), 20, now=NOW).retrieval.hits
        assert len(hits) > 20
        found.append([(h.chunk.id, h.scores.final, h.scores.terms, h.dropped_by) for h in hits])
    return found


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_vault(tmp_path_factory.mktemp("many") / "vault", notes(200))


@pytest.fixture(scope="module")
def first(vault: Path) -> list[list[Row]]:
    with stack(vault.parent / "index", vault) as container:
        return lists(container)


def test_again_and_reopened(vault: Path, first: list[list[Row]]) -> None:
    """A source that was first yesterday and third today can't be cited to anyone."""
    with stack(vault.parent / "index") as container:
        assert lists(container) == first
        assert lists(container) == first


def test_a_rebuilt_vector_store_changes_nothing(
    vault: Path, first: list[list[Row]], tmp_path: Path
) -> None:
    """The store is a cache: losing it may not change an answer."""
    index = tmp_path / "index"
    shutil.copytree(vault.parent / "index", index)
    shutil.rmtree(index / "chroma")
    with stack(index, vault) as container:
        collection = collection_of(vault.name, container.embedder.fingerprint)
        assert container.vectors.count(collection) > 200
        assert lists(container) == first


def test_the_order_of_indexing_changes_nothing(
    vault: Path, first: list[list[Row]], tmp_path: Path
) -> None:
    """Two machines whose notes came in another order show the same sources."""
    other = tmp_path / "vault"
    everything = sorted(notes(200).items(), reverse=True)
    random.Random(1).shuffle(everything)
    half = len(everything) // 2
    with stack(tmp_path / "index") as container:
        index_vault(container, make_vault(other, dict(everything[half:])))
        changed = {name: f"{text}\nThis will go.\n" for name, text in everything[: half // 2]}
        index_vault(container, make_vault(other, changed))
        index_vault(container, make_vault(other, dict(everything)))
        assert lists(container) == first
