"""The plan: no change is missed, nothing unchanged is done again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ragvault.ingest.plan import HOUR_NS, RACY_NS, Plan, make_plan, time_of_copy
from ragvault.model import FileState, NoteFile

LONG_AGO = 10**18
LATER = LONG_AGO + 10 * RACY_NS


def file(path: str, size: int = 10, mtime_ns: int = LONG_AGO) -> NoteFile:
    return NoteFile(path, str(Path("/vault") / path), size, mtime_ns)


def state(
    path: str,
    content: str,
    size: int = 10,
    mtime_ns: int = LONG_AGO,
    seen_ns: int = LATER,
    fingerprint: str = "",
) -> FileState:
    return FileState(path, size, mtime_ns, content, fingerprint, seen_ns)


class Hashes:
    """Contents by path; counts what was opened."""

    def __init__(self, **by_stem: str) -> None:
        self.by_path = {f"{stem}.md": content for stem, content in by_stem.items()}
        self.opened: list[str] = []

    def __call__(self, note: NoteFile) -> str | None:
        self.opened.append(note.rel_path)
        return self.by_path.get(note.rel_path)


def plan(states: list[FileState], files: list[NoteFile], hashes: Hashes, **more: object) -> Plan:
    known = {s.rel_path: s for s in states}
    return make_plan(known, files, hash_of=hashes, **more)  # type: ignore[arg-type]


def paths(files: tuple[NoteFile, ...]) -> list[str]:
    return [f.rel_path for f in files]


def test_nothing_changed_opens_nothing() -> None:
    """A refresh of ten thousand notes must not read them."""
    hashes = Hashes()
    result = plan([state("a.md", "A"), state("b.md", "B")], [file("a.md"), file("b.md")], hashes)
    assert result.is_empty and result.unchanged == 2
    assert hashes.opened == []


def test_another_size_is_changed_without_a_hash() -> None:
    hashes = Hashes()
    result = plan([state("a.md", "A")], [file("a.md", size=11)], hashes)
    assert paths(result.changed) == ["a.md"] and hashes.opened == []


def test_another_time_asks_the_content() -> None:
    states = [state("a.md", "A"), state("b.md", "B")]
    files = [file("a.md", mtime_ns=LATER), file("b.md", mtime_ns=LATER)]
    result = plan(states, files, Hashes(a="A", b="other"))
    assert paths(result.touched) == ["a.md"]
    assert paths(result.changed) == ["b.md"]


def test_an_older_time_is_another_time() -> None:
    """A restored backup brings an older mtime."""
    result = plan([state("a.md", "A")], [file("a.md", mtime_ns=LONG_AGO - 1)], Hashes(a="old"))
    assert paths(result.changed) == ["a.md"]


@pytest.mark.parametrize("gap", [0, 1, RACY_NS - 1, -(RACY_NS - 1)])
def test_a_time_stamp_close_to_the_last_reading_is_not_believed(gap: int) -> None:
    """Saved twice in one tick, with the same size: the second text must not be lost."""
    racy = state("a.md", "A", seen_ns=LONG_AGO + gap)
    assert paths(plan([racy], [file("a.md")], Hashes(a="B")).changed) == ["a.md"]
    assert paths(plan([racy], [file("a.md")], Hashes(a="A")).touched) == ["a.md"]


def test_a_time_stamp_far_in_the_future_is_not_racy_for_ever() -> None:
    ahead = state("a.md", "A", mtime_ns=LATER, seen_ns=LONG_AGO)
    hashes = Hashes()
    assert plan([ahead], [file("a.md", mtime_ns=LATER)], hashes).is_empty
    assert hashes.opened == []


def test_a_file_that_cant_be_hashed_is_tried_and_reported_by_the_run() -> None:
    result = plan([state("a.md", "A")], [file("a.md", mtime_ns=LATER)], Hashes())
    assert paths(result.changed) == ["a.md"]


def test_a_rename_is_one_thing_not_two() -> None:
    result = plan([state("old.md", "A")], [file("new.md")], Hashes(new="A"))
    assert result.renamed == (("old.md", file("new.md")),)
    assert result.added == () and result.removed == ()


def test_only_a_file_as_long_as_a_lost_note_is_read_for_renames() -> None:
    hashes = Hashes()
    files = [file("x.md", size=99), file("y.md", size=98)]
    result = plan([state("old.md", "A")], files, hashes)
    assert hashes.opened == []
    assert paths(result.added) == ["x.md", "y.md"] and result.removed == ("old.md",)


def test_equal_notes_are_paired_in_path_order() -> None:
    """A moved folder of template-made notes keeps who is who."""
    states = [state("a/one.md", "T"), state("a/two.md", "T")]
    hashes = Hashes(**{"b/two": "T", "b/one": "T"})
    result = plan(states, [file("b/two.md"), file("b/one.md")], hashes)
    assert [(old, new.rel_path) for old, new in result.renamed] == [
        ("a/one.md", "b/one.md"),
        ("a/two.md", "b/two.md"),
    ]


def test_a_copy_is_added_not_renamed() -> None:
    result = plan([state("a.md", "A")], [file("a.md"), file("copy.md")], Hashes(copy="A"))
    assert paths(result.added) == ["copy.md"] and result.renamed == ()


def test_full_does_everything_again() -> None:
    result = plan([state("a.md", "A")], [file("a.md"), file("b.md")], Hashes(), full=True)
    assert paths(result.changed) == ["a.md"] and paths(result.added) == ["b.md"]
    assert result.outdated == 0


def test_another_fingerprint_redoes_only_the_notes_that_have_it() -> None:
    """An upgrade that was cut off goes on where it stopped."""
    states = [state("a.md", "A", fingerprint="old"), state("b.md", "B", fingerprint="new")]
    result = plan(states, [file("a.md"), file("b.md")], Hashes(), fingerprint="new")
    assert paths(result.changed) == ["a.md"] and result.unchanged == 1 and result.outdated == 1


def test_what_lies_in_an_unreadable_place_is_kept() -> None:
    """A folder without permission must not lose its notes from the index."""
    states = [state("locked/a.md", "A"), state("locked2/b.md", "B"), state("c.md", "C")]
    result = plan(states, [], Hashes(), unreadable=("c.md", "locked/"))
    assert result.kept == ("c.md", "locked/a.md")
    assert result.removed == ("locked2/b.md",)


NAMES = st.sampled_from([f"{folder}{name}.md" for folder in ("", "x/", "y/") for name in "abcd"])
CONTENTS = st.sampled_from(["", "T", "A", "BB", "CC"])


@given(before=st.dictionaries(NAMES, CONTENTS), after=st.dictionaries(NAMES, CONTENTS))
def test_applying_the_plan_gives_the_new_vault(
    before: dict[str, str], after: dict[str, str]
) -> None:
    """Whatever happened: known notes, minus lost and old, plus what is written, is the vault."""
    states = {p: state(p, c, size=len(c)) for p, c in before.items()}
    files = [file(p, len(c), LONG_AGO if before.get(p) == c else LATER) for p, c in after.items()]
    result = make_plan(states, files, hash_of=lambda f: after[f.rel_path])
    index = dict(before)
    for path in result.removed:
        del index[path]
    for old, new in result.renamed:
        assert index.pop(old) == after[new.rel_path]
        assert new.rel_path not in before
    for written in result.writes:
        index[written.rel_path] = after[written.rel_path]
    assert index == after
    every = [
        *paths(result.added),
        *paths(result.changed),
        *paths(result.touched),
        *(new.rel_path for _, new in result.renamed),
    ]
    assert max(Counter(every).values(), default=1) == 1
    assert len(every) + result.unchanged == len(after)


@given(before=st.dictionaries(NAMES, CONTENTS), after=st.dictionaries(NAMES, CONTENTS))
def test_no_rename_is_overlooked(before: dict[str, str], after: dict[str, str]) -> None:
    """No content is both lost and new in the plan: it would be embedded again for nothing."""
    states = {p: state(p, c, size=len(c)) for p, c in before.items()}
    files = [file(p, len(c), LATER) for p, c in after.items()]
    result = make_plan(states, files, hash_of=lambda f: after[f.rel_path])
    lost = {before[p] for p in result.removed}
    new = {after[f.rel_path] for f in result.added}
    assert not lost & new


def test_half_of_the_notes_in_an_hour_are_a_copy() -> None:
    copied = [file(f"{n}.md", mtime_ns=LONG_AGO + n) for n in range(30)]
    edited = [file(f"e{n}.md", mtime_ns=LONG_AGO + (n + 2) * HOUR_NS) for n in range(30)]
    hour = time_of_copy([*edited, *copied])
    assert all(one.mtime_ns in hour for one in copied)
    assert not any(one.mtime_ns in hour for one in edited)
    assert not time_of_copy([*edited, *copied[:29]])  # less than half
    assert not time_of_copy(copied[:19])  # one may write these
    assert not time_of_copy([])
