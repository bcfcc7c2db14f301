"""``ragvault eval`` as a person runs it, on the sample vault with the real embedding model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import ROOT, SAMPLE_VAULT, Cli, indexed, make_vault

pytestmark = pytest.mark.slow

QUESTIONS = ROOT / "tests" / "sample-questions.jsonl"


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The sample vault, indexed once for all tests here; none of them writes to it."""
    return indexed(tmp_path_factory.mktemp("eval"), SAMPLE_VAULT, "--name", "notes")


@pytest.fixture(scope="module")
def measured(cli: Cli) -> Path:
    """The bundled questions' evaluation, saved as JSON."""
    run = cli("eval", "run", str(QUESTIONS), "--json")
    assert run.code == 0, run.err
    file = cli.folder / "measured.json"
    file.write_text(run.out, encoding="utf-8")
    return file


def test_sample_vault_is_searched_well(measured: Path) -> None:
    """The questions that ragvault ships with: if these go wrong, so does a person's first try."""
    value = json.loads(measured.read_text(encoding="utf-8"))
    assert (value["schema_version"], value["kind"]) == (1, "evaluation")
    ranking = value["ranking"]
    assert ranking["recall@8"]["value"] >= 0.9
    assert ranking["ndcg@10"]["low"] <= ranking["ndcg@10"]["value"] <= ranking["ndcg@10"]["high"]
    assert value["set"]["questions"] == len(value["questions"])
    assert {q["answered"] for q in value["questions"]} == {True, False}
    assert value["abstention"]["auroc"]["value"] > 0.5


def test_extractive_answers_are_held_by_what_they_cite(measured: Path) -> None:
    value = json.loads(measured.read_text(encoding="utf-8"))
    assert value["answer_modes"].keys() == {"extractive"}
    assert value["answers"]["citation_valid"]["value"] == 1.0
    assert value["answers"]["citation_accuracy"]["value"] >= 0.5


def test_nothing_of_it_is_kept_in_the_history(cli: Cli, measured: Path) -> None:
    """These questions are nobody's: they may not show up among one's own."""
    assert not (cli.index_path / "history.sqlite3").exists()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["run"], "QUESTIONS"),
        (["run", "none.jsonl"], "none.jsonl can't be read"),
        (["run", "bad.jsonl"], "bad.jsonl:2: invalid JSON"),
        (
            ["run", "foreign.jsonl"],
            "foreign.jsonl:1: the note 'elsewhere.md' is not in the vault 'notes'",
        ),
        (["run", "foreign.jsonl", "--vault", "other"], "There is no vault 'other'"),
        (["run", "long.jsonl"], "The question of line 1 can't be asked"),
        (["rnu", "foreign.jsonl"], "rnu"),
    ],
)
def test_mistakes_are_one_sentence(cli: Cli, arguments: list[str], what: str) -> None:
    gold = [{"file": "Home.md"}]
    files = {
        "bad.jsonl": json.dumps({"question": "Q?", "gold": gold}) + "\n{oops\n",
        "foreign.jsonl": json.dumps({"question": "Q?", "gold": [{"file": "elsewhere.md"}]}),
        "long.jsonl": json.dumps({"question": "why " * 900, "gold": gold}),
    }
    for name, text in files.items():
        (cli.folder / name).unlink(missing_ok=True)
        (cli.folder / name).write_text(text, encoding="utf-8")
    run = cli("eval", *arguments)
    assert (run.code, run.out) == (2, "")
    assert what in run.err
    assert "Traceback" not in run.err


def test_the_threshold_is_fitted_to_ones_own_questions_after_a_yes(tmp_path: Path) -> None:
    names = [
        first + last for first in ("Ann", "Ber", "Cor", "Dan") for last in "a i o us y".split()
    ]
    notes = {f"{name}.md": f"# {name}\nphone: 0555 {n}\n" for n, name in enumerate(names, 1000)}
    cli = indexed(tmp_path, make_vault(tmp_path / "notes", notes))
    asked = [
        {"question": f"phone number of {name}", "gold": [{"file": f"{name}.md"}], "right": str(n)}
        for n, name in enumerate(names, 1000)
    ]
    asked += [{"question": f"Where did {name} go to school?", "gold": []} for name in names]
    questions, config = tmp_path / "q.jsonl", tmp_path / "config.yaml"
    questions.write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    config.write_text("gate:\n  min_confidence: 0.99  # mine\n", encoding="utf-8")
    calibrate = ("eval", "calibrate", str(questions), "--config", str(config))
    unasked = cli(*calibrate)
    assert unasked.code == 2 and "--yes" in unasked.err
    assert "0.99" in config.read_text(encoding="utf-8")
    run = cli(*calibrate, "--yes")
    assert run.code == 0 and "answered, not there" in run.out, run.err
    chosen = float(config.read_text(encoding="utf-8").split("min_confidence: ")[1].split()[0])
    assert f"gate.min_confidence: {chosen}" in run.out and chosen < 0.99
    elsewhere = cli(*calibrate, "--yes", RAGVAULT_GATE_MIN_CONFIDENCE="0.99")
    assert "RAGVAULT_GATE_MIN_CONFIDENCE is set, and wins over the file" in elsewhere.err
    assert "# mine" in config.read_text(encoding="utf-8")
    again = cli(*calibrate)
    assert again.code == 0 and "it stays" in again.err
    few = cli(*calibrate, "--limit", "10")
    assert few.code == 2 and "takes 20 questions" in few.err
