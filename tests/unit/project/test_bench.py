"""The benchmark is only worth its figures if its vaults are what they claim and it compares
medians of runs made in turn."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.bench import measure, vaults
from tests.bench.measure import Cost

SAMPLE = Path(__file__).parents[2] / "sample-vault"


def test_generated_vault_has_the_wanted_number_of_notes_and_no_two_alike(tmp_path: Path) -> None:
    vaults.notes_like(SAMPLE, tmp_path / "a", 120)
    texts = [p.read_text(encoding="utf-8") for p in sorted((tmp_path / "a").rglob("*.md"))]
    assert len(texts) == len(set(texts)) == 120
    vaults.notes_like(SAMPLE, tmp_path / "b", 120)
    assert [p.read_text(encoding="utf-8") for p in sorted((tmp_path / "b").rglob("*.md"))] == texts


def test_generated_vault_has_a_section_for_each_wanted_chunk(tmp_path: Path) -> None:
    vaults.chunks_like(SAMPLE, tmp_path, 45, per_note=20)
    texts = [p.read_text(encoding="utf-8") for p in sorted(tmp_path.glob("*.md"))]
    assert len(texts) == 3
    assert sum(text.count("## Part ") for text in texts) == 45


def test_a_vault_without_sentences_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("too little", encoding="utf-8")
    with pytest.raises(SystemExit, match="too few sentences"):
        vaults.sentences(tmp_path)


def test_runs_alternate_and_the_ratio_is_that_of_medians() -> None:
    order: list[str] = []

    def side(name: str, seconds: list[float]) -> Cost:
        order.append(name)
        wall = seconds.pop(0)
        return Cost(wall, 2.0 if name == "ours" else 4.0)

    ours, bases = [2.0, 100.0, 3.0], [1.0, 1.0, 50.0]
    mine, [base] = measure.alternate(
        lambda: side("ours", ours), [lambda: side("base", bases)], repeats=3
    )
    assert order == ["ours", "base"] * 3
    ratio = measure.Ratio("x", "y", mine, base)
    assert (ratio.wall, ratio.cpu) == (3.0, 0.5)


def test_peak_memory_and_processor_time_are_those_of_the_process() -> None:
    """No upper bound: Linux counts what the parent held when it started the child."""
    hungry = measure.run([sys.executable, "-c", "print(len(bytearray(120_000_000)))"], {})
    assert hungry.stdout.strip() == "120000000"
    assert hungry.peak_mb > 120
    assert hungry.cost.cpu > 0


def test_a_failing_run_stops_the_benchmark_with_what_it_said() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such vault')"]
    with pytest.raises(RuntimeError, match="no such vault"):
        measure.run(command, {})
