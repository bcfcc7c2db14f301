"""What is quoted stands in the note now, or isn't quoted."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from ragvault.cli.commands.search import shell_quoted
from ragvault.config.settings import Settings
from ragvault.ingest.plan import make_plan
from ragvault.ingest.walk import walk
from ragvault.model import Abstention, Answer, AskResult, FileState, Request
from ragvault.service.ask import answer_of, ask
from ragvault.service.json_objects import search_object
from ragvault.service.originals import Links, Originals, on_disk, place_of, source_today
from ragvault.service.search import search
from ragvault.service.status import VaultLook
from tests.support.answering import hit
from tests.support.cli import make_vault
from tests.support.samples import note_write
from tests.support.stack import stack

NOW = datetime(2026, 1, 1)
NOTES = {
    "ferry.md": "# Ferry\n\nThe ferry leaves the quay at nine.\n",
    "bread.md": "# Bread\n\nKnead the dough for ten minutes.\n",
}
CHUNK = replace(hit("a.md", "A", "one\ntwo").chunk, start_line=3, end_line=4)


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (["", "", "one", "two"], (3, 4)),
        (["one", "two"], (1, 2)),
        (["one", "two", "", "", "", "", "one", "two"], (1, 2)),
        (["", "", "", "one", "two", "one", "two"], (4, 5)),
        (["one", "", "two"], None),
        ([], None),
    ],
)
def test_a_passage_is_found_where_it_stands_now(
    lines: list[str], place: tuple[int, int] | None
) -> None:
    assert place_of(CHUNK, lines) == place_of(CHUNK, lines, whole=True) == place


@pytest.mark.parametrize(
    ("today", "stands"),
    [
        ("- The ferry leaves at nine", False),
        ("The ferry leaves at nineteen", False),
        ("The ferry leaves at nine thirty.", False),
        ("Nobody said: The ferry leaves at nine", False),
        ("Rain. The ferry leaves at nine", True),
        ("  The ferry leaves at nine  ", True),
    ],
)
def test_a_part_of_what_a_sentence_says_today_is_not_the_passage(today: str, stands: bool) -> None:
    chunk = hit("a.md", "A", "The ferry leaves at nine").chunk
    assert place_of(chunk, ["# A", today])
    assert (place_of(chunk, ["# A", today], whole=True) is not None) is stands
    ended = replace(chunk, text=f"{chunk.text}.")
    assert place_of(ended, [f"{ended.text} Not on Sundays."], whole=True) == (1, 1)


CITED = hit("a.md", "A", "## Boiler\n\nServiced in May.\nBy Anna.")


@pytest.mark.parametrize(
    ("today", "place", "difference"),
    [
        ("x\n## Boiler\n\nServiced in May.\nBy Anna.\ny\n", (2, 5), ()),
        (
            "x\n\n## Boiler\n\nServiced in June.\nBy Anna.\n",
            (3, 6),
            (" ## Boiler", " ", "-Serviced in May.", "+Serviced in June.", " By Anna."),
        ),
        ("x\nServiced in Mai.\ny\n", (1, 3), None),
        ("Quite another thing.\n", (0, 0), None),
        ("", (0, 0), None),
    ],
)
def test_what_has_become_of_a_source(
    tmp_path: Path, today: str, place: tuple[int, int], difference: tuple[str, ...] | None
) -> None:
    (tmp_path / "a.md").write_text(today)
    source = source_today(CITED, tmp_path / "a.md", Settings().index)
    assert (source.first, source.last) == place
    assert difference is None or source.difference == difference


def test_a_source_whose_file_is_gone_has_no_lines(tmp_path: Path) -> None:
    assert source_today(CITED, None, Settings().index).lines is None
    assert source_today(CITED, tmp_path / "gone.md", Settings().index).lines is None
    os.mkfifo(tmp_path / "pipe.md")
    assert source_today(CITED, tmp_path / "pipe.md", Settings().index).lines is None


@pytest.mark.slow
def test_answers_quote_the_note_as_it_stands(tmp_path: Path) -> None:
    """Text that was gone was quoted "word for word", with the line numbers of other text."""
    vault = make_vault(tmp_path / "notes", NOTES)
    ferry = vault / "ferry.md"
    with stack(tmp_path / "index", vault) as container:

        def asked() -> AskResult:
            question = Request("When does the ferry leave the quay?", use_model=False)
            return answer_of(ask(container, question, now=NOW, look=True))

        before = asked()
        assert isinstance(before.outcome, Answer) and before.notices == ()
        ferry.write_text("A line.\n\nAnother.\n\n" + NOTES["ferry.md"])
        moved = asked()
        assert isinstance(moved.outcome, Answer)
        (now,), (then,) = moved.outcome.references, before.outcome.references
        assert now.hit.chunk.start_line == then.hit.chunk.start_line + 4
        ferry.write_text("# Ferry\n\nThe ferry leaves the quay at ten.\n")
        for _ in range(2):
            gone = asked()
            assert not isinstance(gone.outcome, Answer) or "nine" not in gone.outcome.text
            (told,) = gone.notices  # once, though two look
            assert "ferry.md" in told and "ragvault index" in told
            ferry.unlink(missing_ok=True)
        assert isinstance(gone.outcome, Abstention | Answer)
        vault.rename(tmp_path / "away")
        for _ in range(2):
            away = asked()
            assert isinstance(away.outcome, Answer) and "nine" in away.outcome.text
            (told,) = VaultLook(container).notices()  # `index` would refuse: nobody is sent there
            assert "what was indexed" in told and "ragvault index" not in told
            vault.mkdir(exist_ok=True)  # the place that a drive is mounted at


def test_a_note_that_is_out_of_reach_is_taken_as_it_was_indexed(tmp_path: Path) -> None:
    """As `index` keeps it. (No permission keeps root out; a name too long does.)"""
    vault = make_vault(tmp_path / "notes", NOTES)
    with stack(tmp_path / "index", vault) as container:
        originals = Originals(container)
        for name, is_out_of_reach in (("n" * 300, True), ("gone", False)):
            found = hit(f"{name}.md", "A", "The ferry leaves at nine")
            chunk = replace(found.chunk, vault="notes")
            found = replace(found, stored=replace(found.stored, chunk=chunk))
            assert (originals.today(found) == found) is is_out_of_reach
        assert list(originals.changed) == [("notes", "gone.md")]


def test_what_index_cannot_read_is_not_called_new_for_ever(tmp_path: Path) -> None:
    """Each answer would send to `index`, which skips it again."""
    vault = make_vault(tmp_path / "notes", NOTES)
    (vault / "locked.md").write_bytes(b"\0GITCRYPT\0" + bytes(range(256)))
    with stack(tmp_path / "index", vault) as container:
        assert VaultLook(container).notices() == []
        (vault / "new.md").write_text("# New\n")
        assert "1 note has changed" in VaultLook(container).notices()[0]


def test_what_a_broken_off_index_has_not_come_to_is_counted(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "notes", NOTES)
    with stack(tmp_path / "index", vault) as container:
        write = note_write("notes", "fog.md", [((), "The horn sounds twice.")])
        container.catalog.set_vector_watermark("notes", None)  # as a run begins
        container.catalog.commit("notes", [write], ())
        make_vault(vault, {"fog.md": "# Fog\n", "new.md": "# New\n"})
        (said,) = VaultLook(container).notices()
        assert "2 of 3 notes have vectors" in said and "1 more not yet" in said


@pytest.mark.slow
def test_nothing_is_shown_that_does_not_stand(tmp_path: Path) -> None:
    """Neither quoted, nor near, nor listed: whichever passages of a changed note were found."""
    log = "".join(f"## Day {n}\n\nThe ferry crossed, trip {n}, at nine.\n\n" for n in range(40))
    vault = make_vault(tmp_path / "notes", {**NOTES, "log.md": f"# Log\n\n{log}"})
    question = "When did the ferry cross?"
    with stack(tmp_path / "index", vault) as container:

        def shown() -> list[str]:
            result = answer_of(ask(container, Request(question, use_model=False), now=NOW))
            listed = search(container, Request(question), 20, now=NOW)
            one = search(container, Request(question), 20, now=NOW, one_a_note=True)
            assert all("log.md" in " ".join(r.notices) for r in (result, listed.retrieval))
            assert result.retrieval is not None
            hits = (*result.retrieval.near, *result.retrieval.kept, *listed.hits, *one.hits)
            return [f"{h.chunk.rel_path}:{h.chunk.start_line} {h.chunk.text}" for h in hits]

        (vault / "log.md").write_text(f"# Log\n\n{log}".replace("at nine", "at nineteen"))
        (vault / "ferry.md").write_text("\n\n" + NOTES["ferry.md"])
        assert {line.partition(" ")[0] for line in shown()} >= {"ferry.md:3"}
        assert not any("trip" in line for line in shown())
        (vault / "log.md").unlink()
        os.mkfifo(vault / "log.md")  # a reader would wait for ever
        assert not any("trip" in line for line in shown())


@pytest.mark.slow
def test_a_passage_with_more_controls_than_a_note_may_have_is_quoted(tmp_path: Path) -> None:
    """A page of `man` that was pasted with its overstrikes: alone it looks like binary data."""
    bold = "".join(f"{c}\b{c}" for c in "The ferry leaves the quay at nine")
    prose = "".join(f"Rain fell on day {n}, and nothing else was seen.\n\n" for n in range(80))
    vault = make_vault(tmp_path / "notes", {"log.md": f"# Log\n\n{prose}\n## Ferry\n\n{bold}.\n"})
    with stack(tmp_path / "index", vault) as container:
        for asked in ("What is said of the ferry?", "ferry"):
            question = Request(asked, use_model=False)
            assert answer_of(ask(container, question, now=NOW)).outcome
            assert search_object(search(container, question, 5, now=NOW), Links.of(container))


def test_an_edit_with_its_old_time_and_size_is_noticed(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "notes", {"a.md": "# One\n"})
    note = vault / "a.md"
    os.utime(note, ns=(10**18, 10**18))
    seen = note.stat().st_ctime_ns + 3 * 10**9  # indexed three seconds later
    known = {"a.md": FileState("a.md", 6, 10**18, "hash of one", "", seen)}

    def changed() -> list[str]:
        files = walk(vault, Settings().index).files
        plan = make_plan(known, files, hash_of=lambda f: f"hash of {Path(f.path).read_text()}")
        return [file.rel_path for file in plan.changed]

    assert changed() == []
    known["a.md"] = known["a.md"]._replace(seen_ns=note.stat().st_ctime_ns - 1)
    note.write_text("# Two\n")
    os.utime(note, ns=(10**18, 10**18))
    assert changed() == ["a.md"]


def test_a_name_that_is_not_utf8_opens_again(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    with open(folder + b"/caf\xe9.md", "wb"):
        pass
    found = on_disk(tmp_path, "caf\\xe9.md")
    assert found.exists() and os.fsencode(found.name) == b"caf\xe9.md"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/a/b.md", "/a/b.md"),
        ("/a b/c.md", "'/a b/c.md'"),
        ("/a\nb.md", r"$'/a\012b.md'"),
        ("/\x1b]52;c;x\x07.md", r"$'/\033]52;c;x\007.md'"),
        ("/\u202egpj.md", r"$'/\342\200\256gpj.md'"),
        ("/caf\udce9.md", r"$'/caf\351.md'"),
        ("/it's\n.md", r"$'/it\047s\012.md'"),
    ],
)
def test_names_on_a_terminal_are_quoted_for_the_shell(path: str, shown: str) -> None:
    """A name could set the clipboard, turn the line around, or pass for two names."""
    assert shell_quoted(path) == shown
