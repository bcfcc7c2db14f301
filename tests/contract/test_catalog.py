"""What every catalog promises (`ports.Catalog`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ragvault.adapters.sqlite.catalog import SqliteCatalog
from ragvault.errors import NoIndexError
from ragvault.model import FileState, Filter, VaultInfo, kept_ns
from ragvault.text import tokens
from tests.support.samples import DAY, MTIME_NS, note_write, vector_of, vectors_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ragvault.model import NoteWrite

FP = "embedder-1"
EVERYTHING = Filter()


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    made = SqliteCatalog(tmp_path / "catalog.sqlite3")
    made.add_vault(VaultInfo("notes", Path("/vault"), "folder"))
    yield made
    made.close()


def put(catalog: SqliteCatalog, *writes: NoteWrite, removed: Sequence[str] = ()) -> set[str]:
    vault = writes[0].chunks[0].vault if writes and writes[0].chunks else "notes"
    catalog.store_vectors(FP, vectors_of(writes))
    return catalog.commit(vault, writes, removed)


def texts(catalog: SqliteCatalog, words: str, n: int = 10, where: Filter = EVERYTHING) -> list[str]:
    found = catalog.lexical(tokens(words), n, where)
    stored = catalog.chunks([hit.chunk_id for hit in found])
    return [stored[hit.chunk_id].chunk.text for hit in found]


# --------------------------------------------------------------------------- vaults


def test_a_vault_is_remembered_with_its_counts(catalog: SqliteCatalog) -> None:
    put(catalog, note_write("notes", "a.md", [((), "one"), (("H",), "two")]))
    put(catalog, note_write("notes", "b/c.md", [((), "three")]))
    catalog.finish_vault("notes", fingerprint=FP, indexed_at=12.5)
    assert catalog.vaults() == [
        VaultInfo("notes", Path("/vault"), "folder", 2, 3, 12.5, FP, embedded=2)
    ]


def test_a_vault_added_again_moves_and_keeps_its_notes(catalog: SqliteCatalog) -> None:
    put(catalog, note_write("notes", "a.md", [((), "one")]))
    catalog.add_vault(VaultInfo("notes", Path("/elsewhere"), "obsidian"))
    (vault,) = catalog.vaults()
    assert (vault.path, vault.kind, vault.chunks) == (Path("/elsewhere"), "obsidian", 1)


def test_an_unknown_vault_is_empty_to_read_and_refused_to_write(catalog: SqliteCatalog) -> None:
    assert catalog.file_states("nope") == {}
    assert catalog.chunk_ids("nope") == set()
    assert catalog.note_chunks("nope", "a.md") == []
    assert catalog.vector_watermark("nope") is None
    assert catalog.lexical(["one"], 5, Filter(vaults=("nope",))) == []
    with pytest.raises(NoIndexError, match="nope"):
        catalog.commit("nope", [], [])
    with pytest.raises(NoIndexError):
        catalog.remove_vault("nope")
    with pytest.raises(NoIndexError):
        catalog.set_vector_watermark("nope", "x")


def test_a_removed_vault_is_found_no_more_and_the_others_stay(catalog: SqliteCatalog) -> None:
    catalog.add_vault(VaultInfo("work", Path("/work"), "folder"))
    put(catalog, note_write("notes", "a.md", [((), "apple pie")]))
    put(catalog, note_write("work", "a.md", [((), "apple tree")]))
    catalog.remove_vault("notes")
    assert [v.name for v in catalog.vaults()] == ["work"]
    assert texts(catalog, "apple") == ["apple tree"]
    catalog.add_vault(VaultInfo("notes", Path("/vault"), "folder"))
    assert catalog.file_states("notes") == {}


def test_the_vector_watermark_is_kept_and_moves_no_generation(catalog: SqliteCatalog) -> None:
    before = catalog.generation
    catalog.set_vector_watermark("notes", "chroma:1|model")
    assert catalog.vector_watermark("notes") == "chroma:1|model"
    catalog.set_vector_watermark("notes", None)
    assert catalog.vector_watermark("notes") is None
    catalog.checked_vault("notes", indexed_at=99.0)
    assert catalog.vaults()[0].indexed_at == 99.0
    assert catalog.generation == before, "each reader would reopen the vector store for nothing"


# --------------------------------------------------------------------------- indexing


def test_a_commit_moves_the_generation(catalog: SqliteCatalog) -> None:
    seen = [catalog.generation]
    put(catalog, note_write("notes", "a.md", [((), "one")]))
    seen.append(catalog.generation)
    catalog.commit("notes", [], ["a.md"])
    seen.append(catalog.generation)
    catalog.finish_vault("notes", fingerprint=FP, indexed_at=1.0)
    seen.append(catalog.generation)
    assert seen == sorted(set(seen)), "a reader would go on with an old vector index"


AWKWARD = "tab\there  \r\n\"quotes\" 'n' \\ %_ NUL-free \u200f עברית 日本語 🎉 \ufeff trailing  "


def test_chunks_come_back_verbatim_with_their_note(catalog: SqliteCatalog) -> None:
    write = note_write(
        "notes",
        'Ordner/Ünï/näme\'s "x".md',
        [((), AWKWARD), (("A/B", "C > D", ""), "second")],
        title="Ti\ntle",
        aliases=("an alias", "別名"),
        tags=("Work/X", "b"),
        date=123.456,
    )
    put(catalog, write)
    stored = catalog.chunks([chunk.id for chunk in write.chunks] + ["unknown"])
    assert set(stored) == {chunk.id for chunk in write.chunks}
    for chunk in write.chunks:
        got = stored[chunk.id]
        assert replace(got.chunk, embed_text="") == replace(chunk, embed_text="")
        assert got.note.rel_path == write.file.rel_path
        assert got.note.folder == "Ordner/Ünï"
        assert (got.note.title, got.note.aliases) == ("Ti\ntle", ("an alias", "別名"))
        assert (got.note.tags, got.note.date) == (("Work/X", "b"), 123.456)
        assert got.note.mtime == pytest.approx(MTIME_NS / 1e9)


def test_an_edit_shows_the_new_text_only_and_names_what_went(catalog: SqliteCatalog) -> None:
    old = note_write("notes", "a.md", [(("A",), "apple pie"), (("B",), "banana bread")])
    new = note_write("notes", "a.md", [(("A",), "apricot jam"), (("B",), "banana bread")])
    assert put(catalog, old) == set()
    assert put(catalog, new) == {old.chunks[0].id}
    assert catalog.chunk_ids("notes") == {chunk.id for chunk in new.chunks}
    assert texts(catalog, "apple") == []
    assert texts(catalog, "apricot") == ["apricot jam"]
    assert texts(catalog, "banana") == ["banana bread"]


def test_a_kept_chunk_follows_its_lines(catalog: SqliteCatalog) -> None:
    """Otherwise the link of a citation opens the wrong line after an edit further up."""
    put(catalog, note_write("notes", "a.md", [(("B",), "stays")]))
    moved = note_write("notes", "a.md", [(("A",), "new\nlines\nabove"), (("B",), "stays")])
    assert put(catalog, moved) == set()
    stored = catalog.chunks([moved.chunks[1].id])[moved.chunks[1].id].chunk
    assert (stored.start_line, stored.end_line, stored.chunk_index) == (4, 4, 1)


def test_a_kept_chunk_follows_the_text_that_the_model_does_not_read(catalog: SqliteCatalog) -> None:
    """A flag in the frontmatter or a link definition changes no vector; the person would be quoted
    the old one for ever."""
    old = note_write("notes", "a.md", [(("A",), "draft: true")])
    chunk = replace(old.chunks[0], text="published: early")
    put(catalog, old)
    assert put(catalog, replace(old, chunks=(chunk,))) == set()
    assert catalog.chunks([chunk.id])[chunk.id].chunk.text == "published: early"
    assert texts(catalog, "draft") == []
    assert texts(catalog, "early") == ["published: early"]


def test_new_tags_and_aliases_are_found_though_the_text_is_the_same(catalog: SqliteCatalog) -> None:
    sections: list[tuple[tuple[str, ...], str]] = [((), "text")]
    put(catalog, note_write("notes", "a.md", sections, aliases=("zebra",), tags=("old",)))
    put(catalog, note_write("notes", "a.md", sections, aliases=("giraffe",), tags=("new",)))
    assert texts(catalog, "zebra") == []
    assert texts(catalog, "giraffe") == ["text"]
    assert texts(catalog, "giraffe", where=Filter(tags=("old",))) == []
    assert texts(catalog, "giraffe", where=Filter(tags=("new",))) == ["text"]


def test_the_tags_that_notes_have_are_known_the_most_used_first(catalog: SqliteCatalog) -> None:
    """They are what is offered for a tag that doesn't exist; one of a removed note isn't."""
    section: list[tuple[tuple[str, ...], str]] = [((), "text")]
    catalog.add_vault(VaultInfo("work", Path("/work"), "folder"))
    put(
        catalog,
        note_write("notes", "a.md", section, tags=("Work/X", "rare")),
        note_write("notes", "b.md", section, tags=("work/x",)),
    )
    put(catalog, note_write("work", "c.md", section, tags=("else",)))
    assert catalog.tags() == ["work/x", "else", "rare"]
    assert catalog.tags(["notes"]) == ["work/x", "rare"]
    put(catalog, note_write("notes", "b.md", section), removed=["a.md"])
    assert catalog.tags(["notes"]) == []


def test_a_rename_in_one_commit_leaves_one_copy(catalog: SqliteCatalog) -> None:
    old = note_write("notes", "old.md", [((), "wandering text")])
    new = note_write("notes", "dir/new.md", [((), "wandering text")])
    put(catalog, old)
    assert put(catalog, new, removed=["old.md"]) == {old.chunks[0].id}
    assert catalog.chunk_ids("notes") == {new.chunks[0].id}
    assert [f.folder for f in catalog.folders()] == ["dir"]


def test_file_states_say_what_was_indexed(catalog: SqliteCatalog) -> None:
    write = note_write("notes", "a.md", [((), "one")])
    put(catalog, write)
    put(catalog, note_write("notes", "empty.md", []))
    state = FileState("a.md", 100, MTIME_NS, write.content_hash, "index-1", MTIME_NS + 5)
    assert catalog.file_states("notes")["a.md"] == state
    assert "empty.md" in catalog.file_states("notes"), "an empty note would be read each time"


def test_a_touched_file_is_remembered_and_its_date_moves_with_it(catalog: SqliteCatalog) -> None:
    put(
        catalog,
        note_write("notes", "a.md", [((), "dated by mtime")]),
        note_write("notes", "b.md", [((), "dated by hand")], date=5 * DAY),
    )
    before = catalog.generation
    later = MTIME_NS + 10**12
    states = [
        state._replace(mtime_ns=later, seen_ns=later + 1)
        for state in catalog.file_states("notes").values()
    ]
    catalog.touch_files("notes", [*states, FileState("gone.md", 1, 1, "x")])
    after = catalog.file_states("notes")
    assert set(after) == {"a.md", "b.md"}
    assert {(s.mtime_ns, s.seen_ns) for s in after.values()} == {(later, later + 1)}
    dates = {s.note.rel_path: s.note.date for s in catalog.recent(5, EVERYTHING)}
    assert dates == {"a.md": pytest.approx(later / 1e9), "b.md": 5 * DAY}
    assert catalog.generation == before


def test_chunk_ids_of_some_notes(catalog: SqliteCatalog) -> None:
    a = note_write("notes", "a.md", [((), "one")])
    b = note_write("notes", "b.md", [((), "two")])
    put(catalog, a, b)
    assert catalog.chunk_ids("notes", ["b.md", "zzz.md"]) == {b.chunks[0].id}
    assert catalog.chunk_ids("notes", []) == set()


# --------------------------------------------------------------------------- vectors


def test_vectors_come_back_unit_and_the_same_in_any_company(catalog: SqliteCatalog) -> None:
    """A rebuilt vector store must hold the same bits as the first one."""
    write = note_write("notes", "dir/a.md", [((str(i),), f"text {i}") for i in range(50)])
    stored = {chunk.id: vector_of(chunk.text_hash, 384) for chunk in write.chunks}
    catalog.store_vectors(FP, {c.text_hash: stored[c.id] for c in write.chunks})
    assert catalog.vectors(FP, list(stored)) == {}, "none of them is visible"
    catalog.commit("notes", [write], ())
    together = catalog.vectors(FP, [*stored, "absent"])
    assert set(together) == set(stored)
    for key, original in stored.items():
        vector = together[key]
        assert vector.dtype == np.float32
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-6)
        cosine = float(vector @ original / np.linalg.norm(original))
        assert cosine > 0.99999
        alone = catalog.vectors(FP, [key])[key]
        assert alone.tobytes() == vector.tobytes()
    assert catalog.vectors("another model", list(stored)) == {}


def test_vectors_of_visible_chunks_survive_a_prune(catalog: SqliteCatalog) -> None:
    write = note_write("notes", "a.md", [((), "one")])
    put(catalog, write)
    catalog.prune_vectors(FP)
    assert set(catalog.vectors(FP, [write.chunks[0].id])) == {write.chunks[0].id}


# --------------------------------------------------------------------------- whose vectors


def test_notes_that_lack_vectors_are_named_newest_first(catalog: SqliteCatalog) -> None:
    """They are embedded in this order: what was written lately is asked about first."""
    whole = note_write("notes", "whole.md", [((), "whole")])
    put(catalog, whole)
    old = note_write("notes", "old.md", [((), "one"), ((), "two")], date=1 * DAY)
    new = note_write("notes", "new.md", [((), "three"), ((), "whole")], date=9 * DAY)
    catalog.commit("notes", [old, new], [])
    assert catalog.lacking("notes", FP) == [("new.md", 2), ("old.md", 2)]
    assert catalog.lacking("notes", FP, ["old.md", "whole.md"]) == [("old.md", 2)]
    assert catalog.lacking("notes", FP, []) == []
    assert catalog.lacking("notes", "another model")[0][0] in ("whole.md", "new.md")
    catalog.use_embedder(FP, "{}")
    (vault,) = catalog.vaults()
    assert (vault.notes, vault.embedded) == (3, 1)


def test_a_model_is_in_force_until_every_vault_is_whole_under_another(
    catalog: SqliteCatalog,
) -> None:
    """A question is compared with the vectors of one model, in all vaults."""
    catalog.add_vault(VaultInfo("work", Path("/work"), "folder"))
    assert catalog.embedder_in_force() is None
    catalog.use_embedder("old", "how to build it")
    assert catalog.embedder_in_force() == ("old", "how to build it"), "the first needs no waiting"
    for name in ("notes", "work"):
        catalog.finish_vault(name, fingerprint="old", indexed_at=1.0)
    catalog.use_embedder("new", "otherwise")
    catalog.finish_vault("notes", fingerprint="new", indexed_at=2.0)
    assert catalog.embedder_in_force() == ("old", "how to build it"), "work has none of the new"
    catalog.prune_vectors("new")
    assert set(catalog.embedders()) == {"old", "new"}
    catalog.finish_vault("work", fingerprint="new", indexed_at=3.0)
    assert catalog.embedder_in_force() == ("new", "otherwise")
    catalog.prune_vectors("new")
    assert catalog.embedders() == ["new"]


# --------------------------------------------------------------------------- full text


def test_the_more_fitting_chunk_comes_first_and_scores_are_positive(catalog: SqliteCatalog) -> None:
    put(
        catalog,
        note_write("notes", "a.md", [((), "budget budget meeting notes")]),
        note_write("notes", "b.md", [((), "budget notes about a long list of other things")]),
        *(note_write("notes", f"{i}.md", [((), f"filler {i}")]) for i in range(8)),
    )
    hits = catalog.lexical(["budget", "meeting"], 5, EVERYTHING)
    assert texts(catalog, "budget meeting")[0] == "budget budget meeting notes"
    assert len(hits) == 2
    assert hits[0].score > hits[1].score > 0


def test_equal_scores_are_ordered_by_id_whatever_the_order_of_indexing(
    catalog: SqliteCatalog,
) -> None:
    writes = [note_write("notes", f"{i:03}.md", [((), "same words here")]) for i in range(60)]
    for write in reversed(writes):
        put(catalog, write)
    hits = catalog.lexical(["words"], 7, EVERYTHING)
    expected = sorted(write.chunks[0].id for write in writes)[:7]
    assert [hit.chunk_id for hit in hits] == expected


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("We were deciding quickly", "decide"),
        ("don't panic", "don’t"),
        ("L'été à la plage, naïve", "ete naive"),
        ("Straße und Übung", "übung"),
        ("東京都に行きました", "東京"),
        ("한국어 문서입니다", "한국어"),
        ("use C++ and node_modules", "node modules"),
        ("ticket ABC-123 closed", "abc-123"),
        ("ＦＵＬＬ ｗｉｄｔｈ", "full width"),
        ("كتبت المشروع", "مشروع"),
    ],
)
def test_words_are_found_in_other_forms(catalog: SqliteCatalog, text: str, question: str) -> None:
    put(catalog, note_write("notes", "a.md", [((), text)]))
    assert texts(catalog, question) == [text]


def test_titles_headings_aliases_and_tags_are_searched_too(catalog: SqliteCatalog) -> None:
    put(
        catalog,
        note_write(
            "notes",
            "x.md",
            [(("Quarterly Review",), "body")],
            title="Aardvark",
            aliases=("Nickname",),
            tags=("project/zeppelin",),
        ),
    )
    for word in ("quarterly", "aardvark", "nickname", "zeppelin", "body"):
        assert texts(catalog, word) == ["body"], word


@pytest.mark.parametrize(
    "terms",
    [
        [],
        [""],
        ['"'],
        ['zz" OR "qq'],
        ["NEAR(", "AND"],
        ["*"],
        ["title:x"],
        ["🎉"],
        ["\x00"],
        ["-"],
    ],
)
def test_odd_terms_are_words_and_never_syntax(catalog: SqliteCatalog, terms: list[str]) -> None:
    put(catalog, note_write("notes", "a.md", [((), "plain text")]))
    assert catalog.lexical(terms, 5, EVERYTHING) == []
    assert catalog.lexical_scores(terms, catalog.chunk_ids("notes")) == {}
    assert set(catalog.document_frequencies(terms, EVERYTHING).values()) <= {0}


def test_scores_for_given_chunks_are_those_of_the_search(catalog: SqliteCatalog) -> None:
    """--debug shows a vector-only candidate's BM25: it must be the one that ranks."""
    writes = [
        note_write("notes", f"{i}.md", [((), f"alpha {'beta ' * (i % 4)} gamma {i}")])
        for i in range(20)
    ]
    put(catalog, *writes)
    ranked = {h.chunk_id: h.score for h in catalog.lexical(["alpha", "beta"], 100, EVERYTHING)}
    ids = sorted(ranked)[::2]
    assert catalog.lexical_scores(["alpha", "beta"], [*ids, "absent"]) == {
        i: ranked[i] for i in ids
    }
    assert catalog.lexical_scores(["nowhere"], ids) == {}


def test_document_frequencies_count_chunks(catalog: SqliteCatalog) -> None:
    put(
        catalog,
        note_write("notes", "a.md", [((), "running shoes"), (("H",), "she runs")], tags=("t",)),
        note_write("notes", "b.md", [((), "a run")]),
    )
    assert catalog.document_frequencies(["run", "shoes", "absent"], EVERYTHING) == {
        "run": 3,
        "shoes": 1,
        "absent": 0,
    }
    assert catalog.document_frequencies(["run"], Filter(tags=("t",))) == {"run": 2}


# --------------------------------------------------------------------------- filters

FOLDERS = ("", "work", "work/deep", "Work", "workshop")
TAGS = ("work", "work/x", "works", "a/b/c", "Ünï")


def _filtered_vaults(catalog: SqliteCatalog) -> dict[str, NoteWrite]:
    catalog.add_vault(VaultInfo("other", Path("/other"), "folder"))
    by_id: dict[str, NoteWrite] = {}
    for vault in ("notes", "other"):
        writes = [
            note_write(
                vault,
                f"{folder}/{i}.md".lstrip("/"),
                [((), f"common word {i}"), (("H",), "common")],
                tags=TAGS[i : i + 2],
                date=i * DAY,
            )
            for i, folder in enumerate(FOLDERS)
        ]
        put(catalog, *writes)
        by_id |= {chunk.id: write for write in writes for chunk in write.chunks}
    return by_id


def _passes(vault: str, write: NoteWrite, where: Filter) -> bool:
    tags = [tag.casefold() for tag in write.note.tags]
    wanted = [tag.casefold() for tag in where.tags]
    folder = write.file.rel_path.rpartition("/")[0]
    return (
        (not where.vaults or vault in where.vaults)
        and (not where.folders or (vault, folder) in where.folders)
        and (not wanted or any(t == w or t.startswith(w + "/") for t in tags for w in wanted))
        and (where.since is None or 0 != write.note.date >= where.since)
        and (where.until is None or 0 != write.note.date <= where.until)
    )


def _subset(values: Sequence[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(st.sampled_from(values), max_size=2, unique=True).map(tuple)


filters = st.builds(
    Filter,
    vaults=_subset(["notes", "other", "absent"]),
    folders=_subset([(v, f) for v in ("notes", "other") for f in (*FOLDERS, "absent")]),
    tags=_subset(["work", "WORK", "work/x", "a", "a/b", "b", "ünï", "wor"]),
    since=st.none() | st.integers(0, 5).map(lambda d: d * DAY),
    until=st.none() | st.integers(0, 5).map(lambda d: d * DAY),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(where=filters)
def test_every_read_lets_through_the_same_chunks(catalog: SqliteCatalog, where: Filter) -> None:
    """A filter that one leg ignores shows notes that the user excluded."""
    if len(catalog.vaults()) == 1:
        _filtered_vaults(catalog)
    by_id = {
        chunk_id: note
        for vault in ("notes", "other")
        for chunk_id in catalog.chunk_ids(vault)
        for note in [catalog.chunks([chunk_id])[chunk_id].note]
    }
    expected = set()
    for chunk_id, note in by_id.items():
        write = note_write(note.vault, note.rel_path, [], tags=note.tags, date=note.date)
        if _passes(note.vault, write, where):
            expected.add(chunk_id)
    assert catalog.matching(by_id, where) == expected
    (question,) = list(vectors_of([note_write("x", "q.md", [((), "q")])]).values())
    assert {h.chunk_id for h in catalog.nearest(FP, question, 1000, where)[0]} == expected
    assert {hit.chunk_id for hit in catalog.lexical(["common"], 1000, where)} == expected
    assert catalog.document_frequencies(["common"], where) == {"common": len(expected)}
    assert catalog.count_chunks(where) == len(expected)
    assert {s.chunk.id for s in catalog.recent(1000, where)} <= expected


def test_the_nearest_are_those_of_the_highest_cosine(catalog: SqliteCatalog) -> None:
    """None is missed, whatever was read before: a graph of neighbours loses a few."""
    writes = [note_write("notes", f"{i}.md", [((), f"passage {i}")]) for i in range(60)]
    writes.append(note_write("notes", "same.md", [((), "passage 7")]))
    put(catalog, *writes)
    for write in writes:
        (question,) = catalog.vectors(FP, [write.chunks[0].id]).values()
        every = catalog.vectors(FP, [w.chunks[0].id for w in writes])
        ranked = sorted(every, key=lambda i: (-round(float(every[i] @ question), 5), i))
        found, lacking = catalog.nearest(FP, question, 5, EVERYTHING)
        assert lacking == 0
        assert [h.chunk_id for h in found] == ranked[:5]
        assert found[0].score == pytest.approx(1.0, abs=1e-5)
    assert catalog.nearest("another model", question, 5, EVERYTHING) == ([], 61)
    assert catalog.nearest(FP, question, 0, EVERYTHING) == ([], 0)
    gone = writes[-1].chunks[0].id
    put(catalog, removed=["same.md"])
    assert gone not in {h.chunk_id for h in catalog.nearest(FP, question, 99, EVERYTHING)[0]}


def test_a_filter_applies_before_the_best_are_taken(catalog: SqliteCatalog) -> None:
    """Else a filtered search comes back empty when better chunks lie outside of the filter."""
    writes = [note_write("notes", f"{i}.md", [((), "word " * 5)]) for i in range(80)]
    low = note_write("notes", "low/z.md", [((), "a word in many others that dilute it")])
    put(catalog, *writes, low)
    where = Filter(folders=(("notes", "low"),))
    assert [h.chunk_id for h in catalog.lexical(["word"], 3, where)] == [low.chunks[0].id]


# --------------------------------------------------------------------------- places


def test_neighbours_are_of_the_same_section_in_order(catalog: SqliteCatalog) -> None:
    sections = [(("A",), f"a{i}") for i in range(5)] + [(("B",), "b0")]
    write = note_write("notes", "a.md", sections)
    put(catalog, write)
    found = catalog.neighbours(write.chunks[3].id, 1)
    assert [s.chunk.text for s in found] == ["a2", "a3", "a4"]
    assert [s.chunk.text for s in catalog.neighbours(write.chunks[0].id, 2)] == ["a0", "a1", "a2"]
    assert catalog.neighbours("absent", 1) == []
    assert [s.chunk.text for s in catalog.note_chunks("notes", "a.md")] == [
        text for _, text in sections
    ]


def test_recent_notes_newest_first(catalog: SqliteCatalog) -> None:
    put(
        catalog,
        note_write("notes", "old.md", [((), "old")], date=1 * DAY),
        note_write("notes", "undated.md", [((), "of no time")], date=0),
        note_write("notes", "b.md", [((), "b first"), (("H",), "b second")], date=3 * DAY),
        note_write("notes", "a.md", [((), "a first")], date=3 * DAY),
        note_write("notes", "empty.md", [], date=9 * DAY),
    )
    recent = [s.chunk.text for s in catalog.recent(2, EVERYTHING)]
    assert recent == ["a first", "b first"]
    since = catalog.recent(9, Filter(until=2 * DAY))
    assert [s.chunk.text for s in since] == ["old"]
    assert catalog.recent(0, EVERYTHING) == []


def test_chunks_with_tasks_are_told_from_others(catalog: SqliteCatalog) -> None:
    put(
        catalog,
        note_write(
            "notes",
            "a.md",
            [((), "- [ ] open"), ((), "1. [x] done"), ((), "[1] a source")],
            date=1 * DAY,
        ),
        note_write("notes", "b.md", [((), "> - [/] begun"), ((), "- a [link] ")], date=3 * DAY),
    )
    found = [s.chunk.text for s in catalog.with_tasks(EVERYTHING)]
    assert sorted(found) == ["- [ ] open", "1. [x] done", "> - [/] begun"]
    since = catalog.with_tasks(Filter(since=2 * DAY))
    assert [s.chunk.text for s in since] == ["> - [/] begun"]


def test_folders_are_those_that_hold_notes(catalog: SqliteCatalog) -> None:
    paths = ("x/a.md", "y/b.md", "root.md")
    put(catalog, *(note_write("notes", path, [((), path)]) for path in paths))
    assert [f.qualified for f in catalog.folders(["notes"])] == ["notes", "notes/x", "notes/y"]
    assert catalog.folders(["absent"]) == []
    put(catalog, removed=["x/a.md"])
    assert [f.folder for f in catalog.folders()] == ["", "y"]


def test_languages_are_counted_over_vaults(catalog: SqliteCatalog) -> None:
    """Each question asks for them: how its words are stemmed goes by them."""
    catalog.add_vault(VaultInfo("work", Path("/work"), "folder"))
    german = "Die Rechnung ist noch nicht bezahlt, und der Brief liegt auf dem Tisch."
    english = "The invoice has not been paid yet, and the letter is on the table."
    for vault, path, text in (
        ("notes", "a.md", german),
        ("notes", "b.md", english),
        ("work", "c.md", german),
        ("work", "d.md", "1234"),
    ):
        put(catalog, note_write(vault, path, [((), text)]))
    assert list(catalog.languages().items()) == [("de", 2), ("", 1), ("en", 1)]
    assert catalog.languages(["work"]) == {"": 1, "de": 1}
    assert catalog.languages(["absent"]) == {}


def test_a_sound_catalog_has_no_problems(catalog: SqliteCatalog) -> None:
    """Also with a file that was written, its time says, after 2262."""
    put(catalog, note_write("notes", "a.md", [((), "one")]))
    write = note_write("notes", "b.md", [((), "two")])
    put(catalog, replace(write, file=write.file._replace(mtime_ns=kept_ns(2**66))))
    assert catalog.database.problems() == []


# --------------------------------------------------------------------------- common words


def test_words_that_thousands_hold_lose_nothing_that_rarer_ones_leave(
    catalog: SqliteCatalog,
) -> None:
    """The rarer words lead, since scoring thousands takes most of a large vault's search."""
    few = [((), f"lantern {i}") for i in range(60)]
    put(catalog, note_write("notes", "many.md", [((), f"ferry {i}") for i in range(4_100)]))
    put(catalog, note_write("notes", "few.md", few))
    assert all("lantern" in text for text in texts(catalog, "ferry lantern", 50))
    many = replace(EVERYTHING, notes=frozenset({("notes", "many.md")}))
    assert len(catalog.lexical(["ferry", "lantern"], 50, many)) == 50
    assert len(catalog.lexical(["ferry"], 50, EVERYTHING)) == 50


# --------------------------------------------------------------------------- long words


def test_a_long_word_that_is_rare_finds_what_begins_like_it(catalog: SqliteCatalog) -> None:
    """ "hyperinflationary" stems otherwise than "hyperinflation", and is clearly the same."""
    put(catalog, note_write("notes", "a.md", [((), "Hyperinflation in Germany")]))
    put(catalog, note_write("notes", "b.md", [((), "Germany won")]))
    assert texts(catalog, "hyperinflationary") == ["Hyperinflation in Germany"]
    (chunk_id,) = [s.chunk.id for s in catalog.note_chunks("notes", "a.md")]
    assert chunk_id in catalog.lexical_scores(["hyperinflationary"], [chunk_id])
    assert catalog.document_frequencies(["hyperinflationary"], EVERYTHING) == {
        "hyperinflationary": 0  # what a question names and no note does is still told
    }


def test_the_word_itself_counts_more_than_what_begins_like_it(catalog: SqliteCatalog) -> None:
    put(catalog, *(note_write("notes", f"n{i}.md", [((), f"filler{i}")]) for i in range(6)))
    put(catalog, note_write("notes", "a.md", [((), "the hyperinflation years")]))
    put(catalog, note_write("notes", "b.md", [((), "the hyperinflationary years")]))
    assert texts(catalog, "hyperinflationary")[0] == "the hyperinflationary years"
    assert texts(catalog, "hypers") == []
    assert texts(catalog, "hyperinf1ation") == []


def test_a_long_word_that_is_common_enough_finds_nothing_else(catalog: SqliteCatalog) -> None:
    """Widening every long word would bury what holds the word under what merely begins so."""
    both = [((), "hyperinflationary times"), ((), "a hyperinflationary year")]
    put(catalog, note_write("notes", "a.md", both))
    put(catalog, note_write("notes", "b.md", [((), "Hyperinflation in Germany")]))
    assert set(texts(catalog, "hyperinflationary")) == {text for _, text in both}


def test_each_note_is_found_by_stems_of_its_own_language(catalog: SqliteCatalog) -> None:
    """A question's word is looked for as each language of the vault would write it."""
    put(
        catalog,
        note_write("notes", "de.md", [((), "Die Rechnungen für das Haus sind noch nicht da.")]),
        note_write("notes", "en.md", [((), "All of the houses were sold, and it was the end.")]),
        note_write("notes", "list.md", [((), "Rechnungen 2024")]),
    )
    assert catalog.languages() == {"": 1, "de": 1, "en": 1}
    assert texts(catalog, "rechnung") == ["Die Rechnungen für das Haus sind noch nicht da."]
    assert set(texts(catalog, "häuser house")) == {
        "Die Rechnungen für das Haus sind noch nicht da.",
        "All of the houses were sold, and it was the end.",
    }
    assert catalog.document_frequencies(["rechnungen", "haus"], EVERYTHING) == {
        "rechnungen": 2,
        "haus": 1,
    }


def test_a_stem_of_another_language_does_not_score_by_its_rarity(catalog: SqliteCatalog) -> None:
    """A German note names "University of X": few do, but the word isn't rare."""
    english = "All of the universities that were there had a university."
    put(catalog, *(note_write("notes", f"{n}.md", [((), f"{english} {n}")]) for n in range(4)))
    put(catalog, note_write("notes", "de.md", [((), "Das ist die University, und sie ist alt.")]))
    put(catalog, *(note_write("notes", f"x{n}.md", [((), f"it was the {n}")]) for n in range(8)))
    found = texts(catalog, "university")
    assert len(found) == 4 and all(text.startswith(english) for text in found)


def test_a_phrase_is_found_word_for_word_and_across_passages(catalog: SqliteCatalog) -> None:
    put(
        catalog,
        note_write("notes", "a.md", [((), "The heat"), (("H",), "pump hums. Prices rise.")]),
        note_write("notes", "b.md", [((), "A heated pump. A price rises.")], title="Cellar"),
    )
    assert catalog.notes_with("HEAT pump", ()) == {("notes", "a.md")}
    assert catalog.notes_with("price", ()) == {("notes", "b.md")}, "no other form of the word"
    assert catalog.notes_with("cellar", ("notes",)) == {("notes", "b.md")}
    assert catalog.notes_with("pump heat", ()) == frozenset()
    assert catalog.notes_with("heat", ("nope",)) == frozenset()
    assert catalog.notes_with('?!"', ()) == frozenset()


def test_a_filter_holds_notes_and_leaves_out_notes(catalog: SqliteCatalog) -> None:
    put(catalog, *(note_write("notes", f"{name}.md", [((), "apple")]) for name in "abc"))
    found = {
        s.note.rel_path for s in catalog.recent(9, Filter(notes=frozenset({("notes", "a.md")})))
    }
    assert found == {"a.md"}
    without = Filter(not_notes=frozenset({("notes", "a.md"), ("other", "b.md")}))
    assert {s.note.rel_path for s in catalog.recent(9, without)} == {"b.md", "c.md"}
    assert catalog.lexical(["apple"], 9, Filter(notes=frozenset())) == []
    assert catalog.count_chunks(Filter(notes=frozenset())) == 0


def test_the_vocabulary_is_as_it_is_written(catalog: SqliteCatalog) -> None:
    put(
        catalog,
        note_write("notes", "a.md", [((), "Kündigungen und Kisten")], title="Keller"),
        note_write("notes", "b.md", [((), "Kisten, Äpfel")], title="Dach"),
    )
    assert catalog.vocabulary("k", ()) == {"kündigungen": 1, "kisten": 2, "keller": 1}
    assert catalog.vocabulary("äd", ("notes",)) == {"äpfel": 1, "dach": 1}
    assert catalog.vocabulary("k", ("nope",)) == {}


def test_a_note_that_changes_its_language_is_stemmed_anew(catalog: SqliteCatalog) -> None:
    kept = (("A",), "Rechnungen")
    put(catalog, note_write("notes", "a.md", [kept]))
    assert texts(catalog, "rechnung") == []
    put(catalog, note_write("notes", "a.md", [kept, (("B",), "Das ist alles, was noch fehlt.")]))
    assert texts(catalog, "rechnung") == ["Rechnungen"]
    assert catalog.database.problems() == []
