"""Bad input through a real process: one sentence, a next step, an exit code, nothing lost."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import Cli, indexed, make_vault

NOTES = {
    "Home.md": "# Home\n\nWelcome. See [[Boats]].\n",
    "sea/Boats.md": "# Boats\n\nThe ferry leaves at nine.\n\n## Repairs\n\nNew sail.\n",
}
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)
FTS = 'NEAR("ferry" AND *, 2) OR title:^-x" --; DROP TABLE chunk'


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A small vault, indexed once; tests that break something work on a copy."""
    folder = tmp_path_factory.mktemp("bad")
    return indexed(folder, make_vault(folder / "notes", NOTES))


@pytest.fixture
def copy(base: Cli, tmp_path: Path) -> Cli:
    shutil.copytree(base.index_path, tmp_path / "index")
    return Cli(tmp_path)


def run_bytes(cli: Cli, *arguments: str | bytes, **env: str) -> tuple[int, bytes, bytes]:
    """As a shell would: words that may be any bytes."""
    done = subprocess.run(
        [sys.executable, "-m", "ragvault", *arguments],
        cwd=cli.folder, env=cli.environment(**env), capture_output=True, timeout=150,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def assert_told(run_err: str) -> None:
    assert run_err.startswith("Error: ") and "→" in run_err and "Traceback" not in run_err
    assert "unexpected" not in run_err


# ------------------------------------------------------------------ what is typed


def test_empty_path_does_not_mean_the_current_folder(cli_with_notes_here: Cli) -> None:
    """`ragvault index "$UNSET"` would otherwise index whatever folder one happens to be in."""
    assert cli_with_notes_here("index", ".").code == 0
    for words in (["index", ""], ["vault", "move", cli_with_notes_here.folder.name, ""]):
        run = cli_with_notes_here(*words)
        assert run.code == 2 and "is empty" in run.err
        assert_told(run.err)


@pytest.fixture
def cli_with_notes_here(tmp_path: Path) -> Cli:
    make_vault(tmp_path, {"private.md": "# Private\n"})
    return Cli(tmp_path, {"RAGVAULT_INDEX_PATH": str(tmp_path.parent / f"{tmp_path.name}-index")})


def test_nothing_to_read_from_and_nowhere_to_stand(base: Cli, tmp_path: Path) -> None:
    """`chat <&-`, and a shell in a folder that was deleted meanwhile."""
    line = f"exec {shlex.join(base.command('chat'))} <&-"
    done = subprocess.run(["sh", "-c", line], env=base.environment(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    here = tmp_path / "gone"
    here.mkdir()
    line = f"rmdir {shlex.quote(str(here))}; exec {shlex.join(base.command('index', '.'))}"
    done = subprocess.run(
        ["sh", "-c", line], cwd=here, env=base.environment(), capture_output=True, text=True
    )
    assert done.returncode == 1 and "current folder" in done.stderr
    assert_told(done.stderr)


def test_query_operators_and_hostile_words_are_only_words(base: Cli) -> None:
    """A quote in a question must neither fail nor search for something else."""
    run = base("search", "--json", "--", FTS)
    assert run.code == 0
    assert run.json["results"][0]["rel_path"] == "sea/Boats.md"


@pytest.mark.skipif(sys.platform != "linux", reason="words of any bytes")
def test_words_that_are_no_utf8(base: Cli) -> None:
    """A terminal in another encoding must not end in a UnicodeEncodeError."""
    code, out, _ = run_bytes(base, "ask", "--no-llm", "--json", b"ferry \xff\xfe leaves")
    assert code in (0, 3) and b'"question"' in out
    code, _, err = run_bytes(base, "search", "ferry", "--vault", b"\xff")
    assert code == 2
    assert_told(err.decode())
    folder = os.fsencode(base.folder) + b"/caf\xe9"
    Path(os.fsdecode(folder)).mkdir()
    code, _, err = run_bytes(base, "index", folder)
    assert code == 2 and b"UTF-8" in err
    assert_told(err.decode())


# ------------------------------------------------------------------ what is in the vault


def test_hostile_vault_is_indexed_as_far_as_it_goes(tmp_path: Path) -> None:
    """One bad note is a line in the summary; the others are found."""
    cli = Cli(tmp_path)
    vault = make_vault(
        tmp_path / "notes",
        {
            "bomb.md": f"---\n{BOMB}---\nThe kingfisher.\n",
            "tag.md": "---\nx: !!python/object/apply:os.system ['touch pwned']\n---\nThe heron.\n",
            "deep.md": "---\nx: " + "[" * 3000 + "\n---\n" + "> " * 2000 + "The pelican.\n",
            "ticks.md": "`" * 50_000 + "\n\nThe stork.\n",
            "new\nline.md": "The egret.\n",
            "-dash.md": "The osprey.\n",
            "[File: a.md, Section: b].md": "The gannet dives.\n",
            "back\\slash.md": "The puffin.\n",
        },
    )
    (vault / "latin.md").write_bytes("The na\xefve petrel.\n".encode("latin-1"))
    (vault / "wide.md").write_bytes("The tern.\n".encode("utf-16"))
    (vault / "binary.md").write_bytes(b"\x00\x01\x02" * 100)
    with (vault / "big.md").open("wb") as big:
        big.truncate(50_000_000)
    (vault / "out.md").symlink_to("/etc/hostname")
    (vault / "loop").symlink_to(".")
    os.mkfifo(vault / "pipe.md")
    run = cli("index", str(vault), "--json")
    assert run.code == 0, run.err
    report = run.json["vaults"][0]
    assert report["added"] == 10
    assert {entry["path"] for entry in report["skipped"]} == {
        "binary.md", "big.md", "out.md", "loop", "pipe.md",
    }  # fmt: skip
    assert all(entry["reason"] for entry in report["skipped"])
    assert not (tmp_path / "pwned").exists()
    birds = "kingfisher heron pelican stork egret osprey gannet puffin petrel tern"
    found = cli("search", birds, "--json", "-n", "50").json["results"]
    assert len({entry["rel_path"] for entry in found}) == 10, "each is found by its word"
    answer = cli("ask", "What does the gannet do?", "--no-llm", "--json").json
    assert [c["status"] for c in answer["citations"]] == ["exact"], "also under a forged name"


# ------------------------------------------------------------------ what became of the index


def cut_catalog(index: Path) -> None:
    file = index / "catalog.sqlite3"
    file.write_bytes(file.read_bytes()[:20_000])


def garbage_catalog(index: Path) -> None:
    (index / "catalog.sqlite3").write_bytes(b"garbage " * 9999)


@pytest.mark.parametrize("damage", [cut_catalog, garbage_catalog])
def test_damaged_catalog_is_mended_by_the_command_that_the_message_names(
    base: Cli, copy: Cli, damage: object
) -> None:
    """A next step that fails in the same way is none. The old file stays: the log is in it."""
    assert callable(damage)
    damage(copy.index_path)
    run = copy("search", "ferry")
    assert run.code == 1 and "ragvault repair" in run.err
    assert_told(run.err)
    run = copy("repair")
    assert run.code == 0, run.err
    assert "catalog.sqlite3.damaged-1" in run.err
    assert (copy.index_path / "catalog.sqlite3.damaged-1").is_file()
    assert copy("search", "ferry", "--json").json["results"][0]["rel_path"] == "sea/Boats.md"


def test_damaged_vector_store_is_mended_by_index(copy: Cli) -> None:
    """Searches go on meanwhile, from the catalog, and say what to do where they need it."""
    (copy.index_path / "chroma" / "chroma.sqlite3").write_bytes(b"garbage " * 9999)
    assert copy("search", "ferry").err == ""
    run = copy("search", "ferry", RAGVAULT_STORE_SEARCH="chroma")
    assert run.code == 0 and "Boats.md" in run.out and "`ragvault index`" in run.err
    mended = copy("index", "--json")  # sees it too; what looks sound from outside it doesn't
    assert mended.code == 0 and mended.json["vaults"][0]["embedded"] == 0
    assert copy("search", "ferry", RAGVAULT_STORE_SEARCH="chroma").err == ""


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_an_index_that_may_not_be_written_is_opened_by_the_command_that_is_named(
    copy: Cli,
) -> None:
    """ "Check its owner and permissions" says no more than that something is wrong."""
    bounded = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]  # else root may
    if os.geteuid() == 0 and not shutil.which(bounded[0]):
        pytest.skip("needs setpriv, or another user than root")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*(bounded if os.geteuid() == 0 else []), *copy.command(*arguments)]
        return subprocess.run(
            command, cwd=copy.folder, env=copy.environment(), capture_output=True, text=True
        )

    subprocess.run(["chmod", "-R", "a-w", str(copy.index_path)], check=True)
    assert "Boats.md" in run("search", "ferry").stdout
    assert run("backup", str(copy.folder / "saved.zip")).returncode == 0, "which only reads"
    denied = [run(command) for command in ("index", "repair", "doctor")]
    assert [done.returncode for done in denied] == [1, 1, 1]
    remedy = f"chmod -R u+rwX {copy.index_path}"
    assert all(f"`{remedy}`" in " ".join((d.stdout + d.stderr).split()) for d in denied)
    subprocess.run(remedy, shell=True, check=True)
    assert run("index").returncode == 0
    copy.index_path.chmod(0)
    assert f"`{remedy}`" in run("search", "ferry").stderr
    copy.index_path.chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs mount")
def test_full_disk_and_read_only_disk(base: Cli, tmp_path: Path) -> None:
    """What is indexed stays searchable; what is not says so, and nothing is lost."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount")
    try:
        shutil.copytree(base.index_path, disk / "index")
        cli = Cli(disk, {"HOME": str(tmp_path)})
        note = base.folder / "notes" / "new.md"
        filler = disk / "filler"
        try:
            with filler.open("wb", buffering=0) as handle:
                while True:
                    handle.write(bytes(4096))
        except OSError:
            pass
        note.write_text("# Crane\n\nA crane.\n")
        assert "ferry" in cli("search", "ferry").out
        full = cli("index")
        assert full.code == 1 and "Free some space" in full.err
        assert_told(full.err)
        filler.unlink()
        assert "1 added" in cli("index").out
        remount = ["mount", "-o", "remount,ro", str(disk)]
        assert subprocess.run(remount, capture_output=True).returncode == 0
        assert "crane" in cli("search", "crane").out
        note.write_text("# Crane\n\nTwo cranes.\n")
        for command in ("index", "repair"):
            denied = cli(command)
            assert denied.code == 1 and "mount it for writing" in denied.err
            assert_told(denied.err)
        denied = cli("index", str(base.folder / "notes"), RAGVAULT_INDEX_PATH=f"{disk}/made/below")
        assert denied.code == 1 and "mount it for writing" in denied.err
        remount = ["mount", "-o", "remount,rw", str(disk)]
        assert subprocess.run(remount, capture_output=True).returncode == 0
        assert "1 changed" in cli("index").out
    finally:
        (base.folder / "notes" / "new.md").unlink(missing_ok=True)
        subprocess.run(["umount", str(disk)], check=True)
