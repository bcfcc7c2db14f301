"""What a caller of the service sees of an index run, whatever it draws the events with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragvault.adapters.onnx.embedder import OnnxEmbedder
from ragvault.errors import IndexBusyError, UsageError, VaultPathError
from ragvault.model import IndexReport
from ragvault.service.index import IndexRequest, OutOfReach, index, move_vault, watch
from ragvault.service.upkeep import verify
from ragvault.service.vaults import find_note, vaults_at
from tests.support.cli import make_vault
from tests.support.stack import stack

NOTES = {"pump.md": "# Pump\n\nServiced in May.\n"}


@pytest.mark.slow
def test_run_that_is_given_up_lets_go_of_the_index(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "notes", NOTES)
    with stack(tmp_path / "index", index={"lock_timeout_s": 0}) as container:
        events = index(container, IndexRequest((vault,)))
        assert isinstance(next(events), IndexReport)
        with pytest.raises(IndexBusyError), container.lock():
            pass
        events.close()
        with container.lock():
            pass


def test_ctrl_c_says_what_the_watch_leaves_and_index_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A note that was saved just before is there by its words, its vector isn't."""
    vault = make_vault(tmp_path / "notes", NOTES)
    said: list[str] = []
    with stack(tmp_path / "index", vault) as container:
        (vault / "fog.md").write_text("# Fog\n\nThe horn sounds twice.\n")
        with monkeypatch.context() as pressed:
            pressed.setattr(OnnxEmbedder, "embed_documents", interrupted)
            watch(container, container.catalog.vaults(), said.append, said.append)
        (line,) = said
        assert "can be searched by their words" in line and "`ragvault index` goes on" in line
        assert next(one.what for one in verify(container)) == "passages without an embedding"
        events = list(index(container, IndexRequest()))
        assert [e.embedded for e in events if isinstance(e, IndexReport)] == [1]
        assert list(verify(container)) == []


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_vault_that_is_moved_nowhere_has_a_next_step_of_its_own(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "notes", NOTES)
    with (
        stack(tmp_path / "index", vault) as container,
        pytest.raises(VaultPathError, match="There is no folder") as refused,
    ):
        move_vault(container, "notes", tmp_path / "nowhere")
    assert "ragvault index" not in refused.value.hint


def test_of_several_vaults_one_that_is_away_keeps_none_of_the_others(tmp_path: Path) -> None:
    here, away = (make_vault(tmp_path / name, NOTES) for name in ("here", "away"))
    with stack(tmp_path / "index") as container:
        list(index(container, IndexRequest((here, away))))
        away.rename(tmp_path / "unmounted")
        (here / "fog.md").write_text("# Fog\n\nThe horn sounds twice.\n")
        events = list(index(container, IndexRequest()))
        assert [e.vault.name for e in events if isinstance(e, OutOfReach)] == ["away"]
        assert [e.added for e in events if isinstance(e, IndexReport)] == [["fog.md"]]
        assert {v.name: v.notes for v in container.catalog.vaults()} == {"here": 2, "away": 1}


def test_a_vault_is_known_by_its_name_however_that_was_typed(tmp_path: Path) -> None:
    """`index --watch` asks for it again once it is indexed."""
    vault = make_vault(tmp_path / "notes", {"a.md": "# A\n"})
    with stack(tmp_path / "index", vault) as container:
        (known,) = container.catalog.vaults()
        assert vaults_at(container, [vault], f" {known.name}\t") == [known]


def test_commands_that_are_named_work_when_typed(tmp_path: Path) -> None:
    """`My Notes` is two words to a shell."""
    vault = make_vault(tmp_path / "My Notes", {"a.md": "# A\n"})
    with stack(tmp_path / "index", vault) as container:
        with pytest.raises(UsageError) as caught:
            vaults_at(container, [vault], "other")
        assert "`ragvault vault remove 'My Notes'`" in caught.value.hint
        copy = make_vault(tmp_path / "copy", {"a.md": "# A\n"})
        list(index(container, IndexRequest((copy,))))
        with pytest.raises(UsageError, match="Several") as caught:
            find_note(container, "a", ())
        first = caught.value.hint.removeprefix("Name one by its path: ").split(",")[0]
        assert find_note(container, first, ()) == ("My Notes", "a.md")
        (vault / "a.md").unlink()
        with pytest.raises(UsageError) as caught:
            list(index(container, IndexRequest((vault,))))
        assert "`ragvault vault remove 'My Notes'`" in caught.value.hint


def test_a_note_that_index_passes_over_is_named_with_the_reason(tmp_path: Path) -> None:
    """Who asks why it isn't found must not be told that there is no such note."""
    files = {"a.md": "# A\n", ".gitignore": "Old/\n", "Old/b.md": "# B\n"}
    vault = make_vault(tmp_path / "notes", files)
    with stack(tmp_path / "index", vault) as container:
        for named in ("Old/b.md", str(vault / "Old" / "b.md")):
            with pytest.raises(UsageError, match=r"isn't in the index\. Old/: .*\.gitignore"):
                find_note(container, named, ())
        with pytest.raises(UsageError, match="There is no note"):
            find_note(container, "Old/c.md", ())
        with pytest.raises(UsageError, match="There is no note"):
            find_note(container, "c" * 300, ())
