"""README.md, docs/, Makefile and demo say what is true: who types what they say gets it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from ragvault.config import file as config_file
from ragvault.config.settings import Settings
from ragvault.retrieval.question.scope import K_MAX, K_MIN
from ragvault.retrieval.ranking.blend import HALF_LIFE_DAYS, MEASURED, RECENCY, WEIGHT
from tests.support import docs
from tests.support.cli import Cli

ROOT = Path(__file__).parents[3]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
    if path.name != "CHANGELOG.md"  # what it says was true of its day
}
README = PAGES["README.md"]
DECIDES = PAGES["docs/how-it-decides.md"]
EVERYTHING = "\n".join(PAGES.values())
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FENCE = re.compile(r"(?ms)^```(\w+)\n(.*?)^```$")
# Commands that end only with Ctrl-C, or write a file where they are run.
NOT_RUN = ("--watch", "export")


def commands() -> Iterator[list[str]]:
    """Every `ragvault …` line of the pages' shell blocks, as words, without pipe and comment."""
    for language, body in FENCE.findall(EVERYTHING):
        if language != "sh":
            continue
        for line in body.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["ragvault"] and not set(words) & set(NOT_RUN):
                yield words[: words.index("|")] if "|" in words else words


def test_every_variable_that_is_no_setting_is_told() -> None:
    page = PAGES["docs/configuration.md"]
    assert all(f"`{name}" in page for name in (*config_file.ENV_RESERVED, "NO_COLOR", "EDITOR"))


def test_shows_commands_to_run() -> None:
    assert len(list(commands())) >= 12


@pytest.mark.slow
def test_every_command_of_the_docs_works(tmp_path: Path) -> None:
    """In order, for a user whose notes are in ~/notes and ~/work and who has no Ollama: none is
    misspelt, none fails, and the notes are as they were."""
    home = tmp_path / "home"
    shutil.copytree(ROOT / "tests" / "sample-vault", home / "notes")
    shutil.copytree(ROOT / "tests" / "sample-vault" / "Projects", home / "work")

    def notes() -> dict[Path, bytes]:
        files = chain((home / "notes").rglob("*"), (home / "work").rglob("*"))
        return {file: file.read_bytes() for file in files if file.is_file()}

    before = notes()
    cli = Cli(tmp_path, {"VISUAL": "cat", "EDITOR": "cat"})
    for words in commands():
        if words[1:2] == ["ask"] or words[1:2] == ["doctor"]:
            allowed = {0, 3} if words[1] == "ask" else {0, 1, 5}
        else:
            allowed = {0}
        typed = [word.replace("~", str(home), 1) if word[:1] == "~" else word for word in words[1:]]
        run = cli(*typed, stdin="/help\n")  # for the chat
        assert run.code in allowed, (words, run)
        assert "Traceback" not in run.err, words
        assert run.out.strip(), words
    assert notes() == before


@pytest.mark.slow
def test_sample_output_is_what_the_commands_print() -> None:
    """If it fails after a wanted change: make docs."""
    demo, debug = docs.transcripts()
    assert docs.masked(docs.transcript(README, "output")) == docs.masked(demo)
    old, new = (text.splitlines() for text in (docs.transcript(DECIDES, "debug"), debug))
    assert [line.split()[:1] for line in old] == [line.split()[:1] for line in new]
    assert (
        next(x for x in old if "fate" in x).split() == next(x for x in new if "fate" in x).split()
    )


def test_help_settings_and_fates_are_those_of_the_program() -> None:
    """If it fails after a wanted change: make docs."""
    assert docs.outdated() == []
    for name in docs.QUICK:
        assert sum(f"<!-- {name}:begin -->" in page for page in PAGES.values()) == 1


def test_readme_is_short_enough_to_be_read() -> None:
    assert len(README.splitlines()) <= 200


def test_demo_runs_the_commands_of_the_sample_output() -> None:
    demo = (ROOT / ".ci" / "demo.sh").read_text(encoding="utf-8")
    ran = [
        tuple(shlex.split(line)) for line in re.findall(r'(?m)^"\$rag" (.+?)(?: \|\|.*)?$', demo)
    ]
    assert tuple(ran) == docs.COMMANDS


def test_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):.*## ", MAKEFILE))
    assert {"demo", "test", "test-fast", "check", "lint", "bench", "help"} <= targets
    phony = re.findall(r"(?m)^\.PHONY: (.*)$", MAKEFILE)[0].split()
    assert targets <= set(phony)
    for text in (EVERYTHING, (ROOT / ".ci" / "run").read_text(encoding="utf-8")):
        assert set(re.findall(r"(?m)(?:^|`|exec )make ([a-z][a-z-]*)", text)) <= targets


def test_extras_and_files_that_are_named_exist() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"])
    named = set(re.findall(r"'?\.\[([a-z-]+)\]", EVERYTHING))
    assert named and named <= extras
    for path, page in PAGES.items():
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", FENCE.sub("", page)):
            assert ((ROOT / path).parent / link).exists(), f"{path}: {link}"


def test_files_that_the_architecture_names_exist() -> None:
    """A newcomer who follows it must not end in a place that was tidied away."""
    page = FENCE.sub("", PAGES["ARCHITECTURE.md"])
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", page))
    assert len(named) > 30
    for name in named:
        places = [ROOT / name, ROOT / "ragvault" / name, ROOT / "ragvault" / "retrieval" / name]
        assert any(place.exists() for place in places) or "NAME" in name, name


def anchors(page: str) -> set[str]:
    headings = re.findall(r"(?m)^#+ (.+)$", FENCE.sub("", page))
    return {re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-") for h in headings}


def test_links_to_headings_lead_to_one() -> None:
    for path, page in PAGES.items():
        for target, heading in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", FENCE.sub("", page)):
            other = (ROOT / path).parent / target if target else ROOT / path
            assert heading in anchors(other.read_text(encoding="utf-8")), f"{path}: #{heading}"


def test_configuration_in_the_readme_is_valid(tmp_path: Path) -> None:
    blocks = [body for language, body in FENCE.findall(EVERYTHING) if language == "yaml"]
    assert blocks
    for block in blocks:
        file = tmp_path / "config.yaml"
        file.write_text(block, encoding="utf-8")
        assert config_file.load(file, {}).settings != Settings()


def test_keys_that_the_text_names_exist() -> None:
    sections = "|".join(Settings.model_fields)
    named = re.findall(rf"`({sections})\.([a-z_]+)[:`]", EVERYTHING)
    assert len(named) > 10
    for section, name in named:
        part = Settings.model_fields[section].annotation
        assert part is not None and name in part.model_fields, f"{section}.{name}"  # type: ignore[attr-defined]


def test_formula_has_the_default_weights() -> None:
    weight = MEASURED["embeddinggemma"].weight
    assert f"{weight:g} for EmbeddingGemma, {WEIGHT:g} for any other" in DECIDES
    assert f"`r` is {RECENCY:g} with a time" in DECIDES
    assert f"halves with every {HALF_LIFE_DAYS:g} days" in DECIDES
    assert f"best {K_MIN} to {K_MAX}" in DECIDES


def test_nothing_is_left_to_fill_in() -> None:
    assert "TODO" not in EVERYTHING


def test_top_level_holds_only_what_it_may() -> None:
    """A reader of the repository sees the whole of it at a glance."""
    allowed = {
        "pyproject.toml", "README.md", "ragvault", "tests", "config.example.yaml", "Makefile",
        "LICENSE", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs",
        "evals", ".ci", ".gitignore",
    }  # fmt: skip
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    assert {path.split("/", 1)[0].strip('"') for path in listed.stdout.splitlines()} <= allowed


def test_licence_covers_the_tokenizer_file() -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert licence.startswith("MIT License")
    assert "ragvault/adapters/onnx/data/minilm-tokenizer.json" in licence
    assert "Apache License" in licence and "END OF TERMS AND CONDITIONS" in licence
    assert (ROOT / "ragvault/adapters/onnx/data/minilm-tokenizer.json").is_file()
