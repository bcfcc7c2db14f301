"""The benchmark is only worth its figures if its vaults are what they claim and it compares
medians of runs made in turn."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.bench import measure, vaults

SAMPLE = Path(__file__).parents[1] / "sample-vault"


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

    def side(name: str, seconds: list[float]) -> float:
        order.append(name)
        return seconds.pop(0)

    ours, bases = [2.0, 100.0, 3.0], [1.0, 1.0, 50.0]
    mine, [base] = measure.alternate(
        lambda: side("ours", ours), [lambda: side("base", bases)], repeats=3
    )
    assert order == ["ours", "base"] * 3
    assert measure.Ratio("x", "y", mine, base).ratio == 3.0


def test_peak_memory_is_that_of_the_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "b = bytearray(120_000_000); print(len(b))"]
    ran = measure.run_with_peak(command, {}, tmp_path / "log")
    assert ran.stdout.strip() == "120000000"
    assert 120 < ran.peak_mb < 250


def test_a_failing_run_stops_the_benchmark_with_what_it_said() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such vault')"]
    with pytest.raises(RuntimeError, match="no such vault"):
        measure.run(command, {})
