"""The walk: what becomes a note, what doesn't, and that the user is told."""

from __future__ import annotations

import errno
import os
import socket
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from ragvault.config.settings import IndexSettings
from ragvault.errors import ConfigError, VaultPathError
from ragvault.ingest.paths import check_vault_path
from ragvault.ingest.read import Content, read_note
from ragvault.ingest.walk import WalkResult, walk
from ragvault.model import VaultInfo

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX file types")


def make(root: Path, *paths: str, text: str = "# A note\n") -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def found(root: Path, **settings: Any) -> list[str]:
    return [f.rel_path for f in walk(root, IndexSettings(**settings)).files]


def reasons(result: WalkResult) -> dict[str, str]:
    return {s.path: s.reason for s in result.skipped}


def test_time_stamp_that_the_catalog_can_t_hold_is_cut(tmp_path: Path) -> None:
    """One file of the year 2446 (a broken clock) kept a whole vault from being indexed."""
    make(tmp_path, "far.md")
    os.utime(tmp_path / "far.md", (15_000_000_000, 15_000_000_000))
    [file] = walk(tmp_path, IndexSettings()).files
    content = read_note(file, 1000)
    assert isinstance(content, Content)
    assert file.mtime_ns == content.file.mtime_ns < 2**63


def test_finds_notes_in_order_with_size_and_time(tmp_path: Path) -> None:
    make(tmp_path, "b.md", "a/z.markdown", "a/b/c.MD", "image.png", "notes.txt")
    result = walk(tmp_path, IndexSettings())
    assert [f.rel_path for f in result.files] == ["a/b/c.MD", "a/z.markdown", "b.md"]
    assert result.skipped == ()
    for file in result.files:
        status = Path(file.path).stat()
        assert (file.size, file.mtime_ns) == (status.st_size, status.st_mtime_ns)


def test_hidden_files_and_folders_are_no_part_of_a_vault(tmp_path: Path) -> None:
    make(tmp_path, ".obsidian/x.md", ".git/y.md", ".trash/z.md", "a/.stversions/o.md", "._a.md")
    make(tmp_path, "a.md")
    result = walk(tmp_path, IndexSettings())
    assert [f.rel_path for f in result.files] == ["a.md"]
    assert result.skipped == ()


# ---------------------------------------------------------------- ignore rules


def test_gitignore_leaves_out_and_says_so(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "drafts/x.md", "drafts/deep/y.md", "build/z.md", "sub/build/z.md")
    (tmp_path / ".gitignore").write_text("drafts/\n/build\n# comment\n\n")
    result = walk(tmp_path, IndexSettings())
    assert [f.rel_path for f in result.files] == ["a.md", "sub/build/z.md"]
    assert reasons(result) == {
        "build/": "ignored by .gitignore",
        "drafts/": "ignored by .gitignore",
    }


def test_nested_gitignore_outranks_the_one_above(tmp_path: Path) -> None:
    make(tmp_path, "a.log.md", "sub/b.log.md", "sub/c.tmp.md", "c.tmp.md")
    (tmp_path / ".gitignore").write_text("*.log.md\n")
    (tmp_path / "sub/.gitignore").write_text("!b.log.md\n*.tmp.md\n")
    assert found(tmp_path) == ["c.tmp.md", "sub/b.log.md"]


def test_nothing_below_an_ignored_folder_comes_back(tmp_path: Path) -> None:
    make(tmp_path, "private/keep.md", "a.md")
    (tmp_path / ".gitignore").write_text("private/\n!private/keep.md\n")
    (tmp_path / "private/.gitignore").write_text("!keep.md\n")
    assert found(tmp_path) == ["a.md"]


def test_ragvaultignore_outranks_gitignore_and_holds_without_it(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.md", "c.md")
    (tmp_path / ".gitignore").write_text("a.md\nb.md\n")
    (tmp_path / ".ragvaultignore").write_text("!a.md\nc.md\n")
    assert found(tmp_path) == ["a.md"]
    assert found(tmp_path, respect_gitignore=False) == ["a.md", "b.md"]


def test_exclude_setting_outranks_ignore_files_below(tmp_path: Path) -> None:
    make(tmp_path, "templates/t.md", "a.md", "x/templates/u.md")
    (tmp_path / "templates/.ragvaultignore").write_text("!t.md\n")
    result = walk(tmp_path, IndexSettings(exclude=("templates/**/*.md", "/x/")))
    assert [f.rel_path for f in result.files] == ["a.md"]
    assert reasons(result)["templates/t.md"] == "ignored by index.exclude"


def test_a_bad_exclude_pattern_is_an_error_not_a_silent_miss(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="exclude"):
        walk(tmp_path, IndexSettings(exclude=("!",)))


def test_a_bad_line_in_an_ignore_file_spoils_only_itself(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.md")
    (tmp_path / ".gitignore").write_bytes(b"!\nb.md\n\xff\xfe\n")
    result = walk(tmp_path, IndexSettings())
    assert [f.rel_path for f in result.files] == ["a.md"]
    assert "'!'" in reasons(result)[".gitignore"]


def test_no_ignore_file_means_pathspec_is_never_imported(tmp_path: Path) -> None:
    """Users without ignore rules don't wait for a library they don't use."""
    import subprocess
    import sys

    make(tmp_path, "a.md")
    code = (
        "import sys; from pathlib import Path; from ragvault.config.settings import IndexSettings;"
        "from ragvault.ingest.walk import walk; walk(Path(sys.argv[1]), IndexSettings());"
        "sys.exit('pathspec' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 0


# ---------------------------------------------------------------- what isn't a note


@posix
def test_a_symlink_out_of_the_vault_is_never_followed(tmp_path: Path) -> None:
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    make(vault, "a.md")
    make(outside, "secret.md", "folder/more.md")
    (vault / "link.md").symlink_to(outside / "secret.md")
    (vault / "linked").symlink_to(outside / "folder")
    result = walk(vault, IndexSettings())
    assert [f.rel_path for f in result.files] == ["a.md"]
    assert set(reasons(result)) == {"link.md", "linked"}


@posix
def test_a_link_inside_the_vault_doesnt_index_a_note_twice(tmp_path: Path) -> None:
    make(tmp_path, "notes/a.md")
    (tmp_path / "alias.md").symlink_to("notes/a.md")
    (tmp_path / "all").symlink_to("notes")
    result = walk(tmp_path, IndexSettings())
    assert [f.rel_path for f in result.files] == ["notes/a.md"]
    assert set(reasons(result)) == {"alias.md", "all"}


@posix
def test_loops_and_dangling_links_end_nothing(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "sub/b.md")
    (tmp_path / "sub/up").symlink_to("..")
    (tmp_path / "one.md").symlink_to("two.md")
    (tmp_path / "two.md").symlink_to("one.md")
    (tmp_path / "gone.md").symlink_to("nowhere.md")
    (tmp_path / "picture.png").symlink_to("nowhere.png")
    (tmp_path / "drive").symlink_to("unmounted")
    (tmp_path / "NOTICE").symlink_to("a.md")  # neither a note nor a folder
    result = walk(tmp_path, IndexSettings())
    assert [f.rel_path for f in result.files] == ["a.md", "sub/b.md"]
    assert set(reasons(result)) == {"gone.md", "one.md", "two.md", "sub/up", "drive"}


@posix
def test_a_vault_that_is_itself_a_link_is_walked(tmp_path: Path) -> None:
    make(tmp_path / "real", "a.md")
    (tmp_path / "real/b.md").symlink_to("a.md")
    (tmp_path / "link").symlink_to("real")
    result = walk(tmp_path / "link", IndexSettings())
    assert [f.rel_path for f in result.files] == ["a.md"]
    assert "symlink" in reasons(result)["b.md"]


@posix
def test_pipes_and_sockets_are_named_and_never_opened(tmp_path: Path) -> None:
    """Opening a FIFO would hang the index for ever."""
    make(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "sock.md"))
        result = walk(tmp_path, IndexSettings())
    assert [f.rel_path for f in result.files] == ["a.md"]
    assert set(reasons(result)) == {"pipe.md", "sock.md"}


@posix
def test_a_vaults_own_settings_are_read_from_files_alone(tmp_path: Path) -> None:
    """Opening a FIFO would hang there too; and what nests without end is no setting."""
    make(tmp_path, "a.md", ".obsidian/daily-notes.json")
    for name in (".gitignore", ".ragvaultignore", ".obsidian/app.json"):
        os.mkfifo(tmp_path / name)
    (tmp_path / ".obsidian/daily-notes.json").write_text("[" * 100_000)
    result = walk(tmp_path, IndexSettings())
    assert [f.rel_path for f in result.files] == ["a.md"]
    assert set(reasons(result)) == {".gitignore", ".ragvaultignore"}


def test_too_large_says_how_large_and_which_setting(tmp_path: Path) -> None:
    (tmp_path / "big.md").write_bytes(b"x" * 1_100_000)
    (tmp_path / "fits.md").write_bytes(b"x" * 1_000_000)
    result = walk(tmp_path, IndexSettings(max_file_mb=1.0))
    assert [f.rel_path for f in result.files] == ["fits.md"]
    assert "1.1 MB" in reasons(result)["big.md"]
    assert "max_file_mb" in reasons(result)["big.md"]


def test_a_folder_named_like_a_note_is_a_folder(tmp_path: Path) -> None:
    make(tmp_path, "folder.md/inner.md")
    assert found(tmp_path) == ["folder.md/inner.md"]


# ---------------------------------------------------------------- names


def test_names_with_newlines_quotes_and_emoji(tmp_path: Path) -> None:
    names = ["a\nb.md", 'it\'s "quoted".md', "🗒️ notes.md", " leading.md", "tab\t.md", "%s{}.md"]
    make(tmp_path, *names)
    assert found(tmp_path) == sorted(unicodedata.normalize("NFC", n) for n in names)


def test_a_decomposed_name_gets_the_composed_key(tmp_path: Path) -> None:
    """Else the same vault would have other ids on macOS than on Linux."""
    composed = "Übersicht/Café.md"
    make(tmp_path, unicodedata.normalize("NFD", composed))
    result = walk(tmp_path, IndexSettings())
    assert [f.rel_path for f in result.files] == [composed]
    assert Path(result.files[0].path).read_text() == "# A note\n"


def test_names_that_differ_in_form_alone_are_both_kept(tmp_path: Path) -> None:
    composed, decomposed = "Café.md", unicodedata.normalize("NFD", "Café.md")
    make(tmp_path, composed, decomposed)
    if len(list(tmp_path.iterdir())) == 1:
        pytest.skip("this file system folds the two forms")
    result = walk(tmp_path, IndexSettings())
    assert {f.rel_path for f in result.files} == {composed, decomposed}
    assert {f.rel_path: Path(f.path).name for f in result.files} == {
        composed: composed,
        decomposed: decomposed,
    }


@posix
def test_a_name_that_isnt_utf8_is_indexed_under_a_printable_key(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/caf\xe9.md"
    try:
        with open(raw, "wb") as file:
            file.write(b"text")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    result = walk(tmp_path, IndexSettings())
    assert [f.rel_path for f in result.files] == ["caf\\xe9.md"]
    assert Path(result.files[0].path).read_bytes() == b"text"
    result.files[0].rel_path.encode()  # SQLite takes it


# ---------------------------------------------------------------- failures of the file system


def failing(bad: Path, code: int) -> Any:
    def scandir(path: str) -> Any:
        if Path(path) == bad:
            raise OSError(code, os.strerror(code), path)
        return os.scandir(path)

    return scandir


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ESTALE])
def test_one_unreadable_folder_is_reported_and_the_rest_is_walked(
    tmp_path: Path, code: int
) -> None:
    make(tmp_path, "a.md", "locked/b.md", "z/c.md")
    result = walk(tmp_path, IndexSettings(), scandir=failing(tmp_path / "locked", code))
    assert [f.rel_path for f in result.files] == ["a.md", "z/c.md"]
    assert os.strerror(code) in reasons(result)["locked/"]
    assert result.unreadable == ("locked/",)


def test_a_folder_that_went_away_meanwhile_is_simply_gone(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "gone/b.md")
    result = walk(tmp_path, IndexSettings(), scandir=failing(tmp_path / "gone", errno.ENOENT))
    assert result.skipped == () and result.unreadable == ()


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EACCES, errno.EIO, errno.ENOTCONN])
def test_a_root_that_cant_be_listed_is_an_error_not_an_empty_vault(
    tmp_path: Path, code: int
) -> None:
    """An unplugged drive must not delete the index."""
    make(tmp_path, "a.md")
    with pytest.raises(VaultPathError) as caught:
        walk(tmp_path, IndexSettings(), scandir=failing(tmp_path, code))
    assert "kept" in caught.value.hint


def test_a_root_that_may_not_be_looked_into_is_told_in_one_sentence(tmp_path: Path) -> None:
    """Looking for Obsidian's settings in it ended an answer in a traceback. (A name too long fails
    for root as well, whom no permission keeps out.)"""
    with pytest.raises(VaultPathError, match="can't be read"):
        walk(tmp_path / ("n" * 300), IndexSettings())


def test_an_empty_root_is_told_from_one_without_notes(tmp_path: Path) -> None:
    assert walk(tmp_path, IndexSettings()).is_empty
    (tmp_path / ".obsidian").mkdir()
    assert not walk(tmp_path, IndexSettings()).is_empty


def test_depth_is_no_limit(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(400):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "n.md").write_text("deep")
    assert found(tmp_path) == ["d/" * 400 + "n.md"]


# ---------------------------------------------------------------- paths of vaults


def test_a_good_path_comes_back_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "notes/a.md")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    expected = (tmp_path / "notes").resolve()
    for given in ("notes", "./notes/", "~/notes", str(tmp_path / "notes")):
        assert check_vault_path(given, tmp_path / "index") == expected


@pytest.mark.parametrize("given", ["", "  ", "a\0b", "missing", "a.md", "a.md/x", "~nobody-here/x"])
def test_a_bad_path_is_one_sentence_and_a_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    make(tmp_path, "a.md")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VaultPathError) as caught:
        check_vault_path(given, tmp_path / "index")
    assert caught.value.message.endswith(".") and caught.value.hint
    assert "\0" not in caught.value.message


def test_vault_and_index_folder_must_not_overlap(tmp_path: Path) -> None:
    make(tmp_path, "vault/a.md", "index/chroma/b.md")
    with pytest.raises(VaultPathError, match="never written to"):
        check_vault_path(tmp_path, tmp_path / "index")
    with pytest.raises(VaultPathError, match="never written to"):
        check_vault_path(tmp_path / "vault", tmp_path / "vault" / "not-yet" / "index")
    with pytest.raises(VaultPathError, match="own index folder"):
        check_vault_path(tmp_path / "index/chroma", tmp_path / "index")
    with pytest.raises(VaultPathError):
        check_vault_path(tmp_path / "index", tmp_path / "index")


def test_an_unmounted_known_vault_is_told_that_its_index_is_kept(tmp_path: Path) -> None:
    known = [VaultInfo("notes", tmp_path / "notes", "folder")]
    with pytest.raises(VaultPathError) as caught:
        check_vault_path(tmp_path / "notes", tmp_path / "index", known)
    assert "kept" in caught.value.hint


def test_nested_vaults_are_allowed(tmp_path: Path) -> None:
    make(tmp_path, "notes/work/a.md", "other/b.md")
    known = [VaultInfo("notes", tmp_path / "notes", "folder")]
    inner = tmp_path / "notes/work"
    assert check_vault_path(inner, tmp_path / "index", known) == inner
