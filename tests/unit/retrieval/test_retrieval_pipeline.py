"""The whole search on real SQLite, Chroma and MiniLM; faults on the fakes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ragvault.answering.gate import decide
from ragvault.config.settings import RetrievalSettings, Settings
from ragvault.errors import (
    EmbedderUnavailableError,
    NoIndexError,
    StoreError,
    UsageError,
)
from ragvault.model import Abstention, Evidence, Request, ScoredId, collection_of
from ragvault.ports import Embedder, VectorIndex
from ragvault.retrieval.pipeline import Deps
from tests.support.fakes import FakeEmbedder, FakeVectorIndex
from tests.support.samples import note_write
from tests.support.search_index import NOW, SearchIndex, Source, paths, source

PERSONAL = [
    source(
        "Projects/api.md",
        "We decided to use Cloud Run for the API backend.",
        date=datetime(2024, 5, 10, 12),
        tags=("decision",),
    ),
    source(
        "Projects/old.md",
        "We decided to use Heroku for the API backend.",
        date=datetime(2021, 5, 10, 12),
    ),
    source("Archive/copy.md", "We decided to use  Heroku for the API backend."),
    source("Recipes/bread.md", "Knead the dough for ten minutes, then let it rise overnight."),
    source("Recipes/soup.md", "Chop onions, carrots and celery. Simmer for an hour."),
    Source(
        "Hardware.md",
        (
            (("Printer",), "Error E-4711 means that the drum is worn."),
            (("Router",), "The router's admin page is at 10.0.0.1."),
        ),
    ),
]
WORK = [
    source("meetings/standup.md", "The database migration is late.", date=datetime(2024, 5, 14, 12))
]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchIndex]:
    index = SearchIndex.real(tmp_path_factory.mktemp("index"))
    index.add("personal", PERSONAL)
    index.add("work", WORK)
    yield index
    index.close()


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[SearchIndex]:
    index = SearchIndex.fake(tmp_path)
    index.add("personal", PERSONAL)
    index.add("work", WORK)
    yield index
    index.close()


@pytest.mark.slow
def test_a_question_finds_its_note_by_meaning(real: SearchIndex) -> None:
    found = real.search("how long should pastry be worked before proofing?")
    assert paths(found)[0] == "Recipes/bread.md"
    assert found.strategy == "hybrid"
    assert found.searched == "7 notes in 2 vaults"


def test_a_code_is_found_by_keyword(real: SearchIndex) -> None:
    found = real.search("E-4711")
    assert found.kept[0].chunk.heading_path == ("Printer",)


def test_the_whole_way_to_evidence(real: SearchIndex) -> None:
    found = real.search("What did I decide about the API backend?", for_answer=True)
    decision = decide(found)
    assert isinstance(decision.outcome, Evidence)
    assert decision.outcome.hits[0].note.rel_path in {"Projects/api.md", "Projects/old.md"}


def test_off_topic_is_no_evidence(real: SearchIndex) -> None:
    found = real.search("quantum chromodynamics of gluons", for_answer=True)
    assert found.hits  # still listed
    assert isinstance(decide(found).outcome, Abstention)


def test_each_score_is_exact_whichever_leg_proposed_the_chunk(real: SearchIndex) -> None:
    """A chunk that only the vector leg proposed still gets its BM25, and the other way round."""
    found = real.search("which backend for the API?")
    vector = real.embedder.embed_query("which backend for the API?")
    ids = [hit.chunk.id for hit in found.hits]
    stored = real.catalog.vectors(real.embedder.fingerprint, ids)
    bm25 = real.catalog.lexical_scores(found.query.terms, ids)
    assert 0 < len(bm25) < len(ids), "some are proposed by the meaning alone"
    for hit in found.hits:
        assert hit.scores.vector == pytest.approx(float(stored[hit.chunk.id] @ vector), abs=1e-6)
        assert hit.scores.bm25 == pytest.approx(bm25.get(hit.chunk.id, 0.0))
        assert sum(value for _, value in hit.scores.terms) == hit.scores.final


def test_the_same_search_twice_gives_the_same(real: SearchIndex) -> None:
    first, second = (real.search("What did I decide about the API?") for _ in range(2))
    assert first.hits == second.hits


def test_a_time_in_the_question_lifts_the_note_of_that_time(real: SearchIndex) -> None:
    found = real.search("What did I decide last week about the API backend?")
    assert paths(found)[0] == "Projects/api.md"
    assert found.strategy == "hybrid_recency"
    assert "Projects/old.md" in [h.note.rel_path for h in found.hits]  # lifted, not walled off


def test_a_time_that_no_note_is_dated_in_changes_no_weight(real: SearchIndex) -> None:
    """ "Who won in 2014?" is about 2014, not about a note written then."""
    found = real.search("what was decided about the API in 2014?")
    assert found.strategy == "hybrid"
    assert all(hit.scores.recency is None for hit in found.hits)


def test_since_and_until_wall_off(real: SearchIndex) -> None:
    since = datetime(2024, 5, 1).timestamp()
    found = real.search(Request("API backend decision", since=since))
    assert {h.note.rel_path for h in found.hits} == {"Projects/api.md", "meetings/standup.md"}
    until = datetime(2022, 1, 1).timestamp()
    found = real.search(Request("API backend decision", until=until))
    assert {h.note.rel_path for h in found.hits} == {"Projects/old.md"}
    assert "until 2022-01-01" in found.searched


def test_a_folder_walls_off_and_says_so(real: SearchIndex) -> None:
    found = real.search(Request("API backend", folders=("Recipes",)))
    assert {h.note.folder for h in found.hits} == {"Recipes"}
    assert "only folder Recipes" in found.searched
    with pytest.raises(UsageError):
        real.search(Request("API", folders=("Nowhere",)))


def test_a_tag_walls_off(real: SearchIndex) -> None:
    found = real.search(Request("bread", tags=("#Decision",)))
    assert {h.note.rel_path for h in found.hits} == {"Projects/api.md"}


def test_a_vault_can_be_chosen(real: SearchIndex) -> None:
    found = real.search(Request("migration", vaults=("work",)))
    assert {h.note.vault for h in found.hits} == {"work"}
    assert found.searched == "1 note in work"


def test_an_unknown_vault_names_those_that_are_there(real: SearchIndex) -> None:
    with pytest.raises(UsageError) as caught:
        real.search(Request("bread", vaults=("wrok",)))
    assert caught.value.exit_code == 2
    assert caught.value.hint == "Nearest vaults: work."


@pytest.mark.parametrize(
    ("tag", "hint"),
    [("decisoin", "Nearest tags: decision."), ("#zzz", "Tags: "), ("decision/deep", "decision")],
)
def test_a_tag_that_no_note_has_is_said_to_be_unknown(
    real: SearchIndex, tag: str, hint: str
) -> None:
    """A slip in a tag would read as "your notes don't answer this"."""
    with pytest.raises(UsageError) as caught:
        real.search(Request("bread", tags=(tag,)))
    assert f"No note has the tag “{tag.lstrip('#')}”" in caught.value.message
    assert hint in caught.value.hint


def test_the_same_text_in_two_notes_shows_once(real: SearchIndex) -> None:
    found = real.search("API backend Heroku")
    shown = [h for h in found.kept if "Heroku" in h.chunk.text]
    assert len(shown) == 1
    assert len(shown[0].duplicates) == 1
    assert [h.dropped_by for h in found.hits if "Heroku" in h.chunk.text] == [None, "duplicate"]


def test_recent_notes_come_newest_first(real: SearchIndex) -> None:
    found = real.search("what did I write recently?")
    assert found.strategy == "recent"
    assert paths(found)[:2] == ["meetings/standup.md", "Projects/api.md"]
    assert len(found.kept) == found.k  # the newest, however old they are


def test_recent_notes_of_a_named_time_are_of_that_time(real: SearchIndex) -> None:
    assert paths(real.search("what did I do yesterday?")) == ["meetings/standup.md"]
    found = real.search("what did I write in 2019?")
    assert found.strategy == "recent"
    assert "No note is dated" in found.notices[0]


def test_a_day_of_which_no_note_is_may_be_told_of_in_one(fake: SearchIndex) -> None:
    """ "Broke his collarbone on 8 February 2024" stood there, and was refused."""
    fake.add(
        "more",
        [source("kid.md", "Broke his collarbone on 8 February 2024."), source("a.md", "Rain.")],
    )
    found = fake.search(Request("What happened on 8 February 2024?", vaults=("more",)))
    assert found.strategy != "recent" and paths(found)[0] == "kid.md"


def test_a_diary_in_one_note_is_looked_into_for_the_day(fake: SearchIndex) -> None:
    """Without its year a date is of the note's; that of last year's diary is another day."""
    diary = "2/5 rain\n14/5 shopping, nothing else\n15.5. mixing\n"
    may, year_ago = datetime(2024, 5, 1), datetime(2023, 5, 1)
    fake.add("more", [source("may.md", diary, date=may), source("old.md", diary, date=year_ago)])
    fake.add("old", [source("old.md", diary, date=year_ago)])
    found = fake.search(Request("what did I do yesterday?", vaults=("more",)))
    assert found.strategy != "recent" and paths(found) == ["may.md"]
    older = fake.search(Request("what did I do yesterday?", vaults=("old",)))
    assert "No note is dated" in older.notices[0]


def test_a_note_that_says_its_day_comes_before_one_that_was_only_saved_then(
    fake: SearchIndex,
) -> None:
    yesterday = datetime(2024, 5, 14, 9)
    diary = source("diary.md", "Rain.", date=yesterday)
    saved = Source("bread.md", (((), "Flour."),), datetime(2024, 5, 14, 20), by_file=True)
    fake.add("more", [saved, diary])
    listed = paths(fake.search(Request("what did I do yesterday?", vaults=("more",))))
    assert listed == ["diary.md", "bread.md"]
    fake.add("copy", [source("undated.md", "Rain.", date=datetime.fromtimestamp(0))])
    of_copy = fake.search(Request("what did I write recently?", vaults=("copy",)))
    assert of_copy.strategy != "recent"  # nothing says which is


def test_search_may_list_more_than_an_answer_is_made_from(real: SearchIndex) -> None:
    settings = Settings(retrieval=RetrievalSettings(min_vector=-1.0))
    found = real.search(Request("API backend", k=1), settings=settings)
    assert len(found.kept) == 1
    listed = found.ranked
    assert len(listed) == len(found.hits) - 1  # one duplicate
    assert listed[0] == found.kept[0]


def test_greetings_search_nothing(fake: SearchIndex) -> None:
    found = fake.search("hello!", deps=Deps(fake.catalog, no_embedder, no_store))
    assert (found.strategy, found.hits) == ("none", ())


def test_an_empty_index_says_what_to_run(tmp_path: Path) -> None:
    index = SearchIndex.fake(tmp_path)
    assert index.search("hello!").hits == ()  # which needs nothing indexed
    with pytest.raises(NoIndexError, match="Nothing is indexed"):
        index.search("bread")
    index.add("empty", [])
    with pytest.raises(NoIndexError, match="no notes"):
        index.search("bread")


# ----------------------------------------------------------------------------- faults


def no_embedder() -> Embedder:
    raise EmbedderUnavailableError("The model file is missing.", "Install ragvault[bundled-model].")


def no_store() -> VectorIndex:
    raise StoreError("It is locked.", "Wait for it.")


def test_without_the_model_keywords_and_dates_still_find(fake: SearchIndex) -> None:
    deps = replace(fake.deps, embedder=no_embedder)
    found = fake.search("which API backend did we decide on?", deps=deps)
    assert found.strategy == "keyword_recency"
    assert paths(found)[0] == "Projects/api.md"  # the same words, and newer
    assert "The model file is missing" in found.notices[0]
    assert "bundled-model" in found.notices[0]
    assert all(hit.scores.vector is None for hit in found.hits)


def test_a_small_vault_is_searched_without_the_vector_store(fake: SearchIndex) -> None:
    found = fake.search("API backend", deps=replace(fake.deps, vector_index=no_store))
    assert found.strategy == "hybrid"
    assert found.notices == ()


def test_the_ranking_is_the_same_with_the_vector_store_and_without(real: SearchIndex) -> None:
    asked = ("API backend", "how long is dough kneaded?", "what did we decide last week?", "drum")
    filtered = (Request("backend", tags=("decision",)), Request("soup", folders=("Recipes",)))
    for question in (*asked, *filtered):
        without = real.search(question)
        through = real.search(question, deps=replace(real.deps, exact_limit=0, filtered_limit=0))
        assert [(h.chunk.id, h.scores) for h in through.hits] == [
            (h.chunk.id, h.scores) for h in without.hits
        ]


def test_a_large_vault_whose_store_fails_is_compared_in_full(fake: SearchIndex) -> None:
    healthy = fake.search("API backend", deps=replace(fake.deps, exact_limit=0))
    deps = replace(fake.deps, vector_index=no_store, exact_limit=0)
    found = fake.search("API backend", deps=deps)
    assert found.hits == healthy.hits
    assert "It is locked): searched without. Wait for it." in found.notices[0]
    assert healthy.notices == ()


def test_a_lost_store_is_noticed_and_not_taken_for_no_answer(fake: SearchIndex) -> None:
    """An empty store answers every query with nothing: that must not read as "not in your
    notes"."""
    healthy = fake.search("API backend")
    deps = replace(fake.deps, vector_index=FakeVectorIndex, exact_limit=0)
    found = fake.search("API backend", deps=deps)
    assert found.hits == healthy.hits
    assert len(found.notices) == 2  # one a vault
    assert "ragvault repair" in found.notices[0]


def test_a_store_that_lacks_a_passage_is_not_asked(fake: SearchIndex) -> None:
    """What was lost in it, or was not in it yet when a run was cut off, was never near."""
    healthy = fake.search("API backend", deps=replace(fake.deps, exact_limit=0))
    assert isinstance(fake.vectors, FakeVectorIndex)
    place = {key: dict(held) for key, held in fake.vectors.place.items()}
    key = collection_of("personal", fake.embedder.fingerprint)
    del place[key][next(h.chunk.id for h in healthy.hits if h.note.vault == "personal")]
    lacks = replace(fake.deps, vector_index=lambda: FakeVectorIndex(place), exact_limit=0)
    fake.catalog.set_vector_watermark("work", None)
    found = fake.search("API backend", deps=lacks)
    assert found.hits == healthy.hits
    told = sorted((n.count("vectors for"), n.count("was cut off")) for n in found.notices)
    assert told == [(0, 1), (1, 0)]


class OneBroken(FakeVectorIndex):
    """Fails for one vault, as a damaged collection does."""

    def query(self, key: str, *args: object, **kwargs: object) -> list[ScoredId]:
        if key.startswith("work|"):
            raise StoreError("The collection is damaged.")
        return super().query(key, *args, **kwargs)  # type: ignore[arg-type]


def test_one_broken_vault_does_not_stop_the_others(fake: SearchIndex) -> None:
    assert isinstance(fake.vectors, FakeVectorIndex)
    broken = OneBroken(fake.vectors.place)
    deps = replace(fake.deps, vector_index=lambda: broken, exact_limit=0)
    found = fake.search("API backend", deps=deps)
    assert found.strategy == "hybrid"
    assert paths(found)[0] == "Projects/api.md"
    assert [("work" in notice, "damaged" in notice) for notice in found.notices] == [(True, True)]


def test_another_models_index_is_said_to_be_one(fake: SearchIndex) -> None:
    other = FakeEmbedder("another-model", dimensions=256)
    found = fake.search("API backend", deps=replace(fake.deps, embedder=lambda: other))
    assert found.strategy == "keyword_recency"
    assert any("another embedding model" in notice for notice in found.notices)


def test_a_note_that_is_not_embedded_yet_is_no_other_models(fake: SearchIndex) -> None:
    """Found alone, by its words, while `index` goes on."""
    fake.add("half", [source("Old/ship.md", "A ship.")])
    fake.catalog.commit("half", [note_write("half", "New/zebra.md", [((), "A zebra.")])], ())
    found = fake.search(Request("zebra", vaults=("half",), folders=("New",)))
    assert [hit.note.rel_path for hit in found.hits] == ["New/zebra.md"]
    assert not any("another embedding model" in notice for notice in found.notices)


def test_a_vector_that_outlived_its_chunk_is_not_shown(fake: SearchIndex) -> None:
    """A crash leaves such vectors until the next index; citing one would cite nothing."""
    api = next(h for h in fake.search("API backend").hits if h.note.rel_path == "Projects/api.md")
    fake.catalog.commit("personal", (), ["Projects/api.md"])
    found = fake.search("API backend")
    assert api.chunk.id not in {h.chunk.id for h in found.hits}


def test_few_matches_behind_many_others_are_found(fake: SearchIndex) -> None:
    """A filter that leaves few of many notes must find them, however far down they rank; also
    where they are too many to be scored one by one."""
    noise = [source(f"noise/{i}.md", f"alpha beta gamma number {i}") for i in range(120)]
    needle = source("noise/needle.md", "something else entirely", tags=("rare",))
    fake.add("big", [*noise, needle])
    settings = Settings(retrieval=RetrievalSettings(min_vector=-1.0))
    deps = replace(fake.deps, exact_limit=0, filtered_limit=0)
    request = Request("alpha beta gamma", vaults=("big",), tags=("rare",))
    found = fake.search(request, deps=deps, settings=settings)
    assert paths(found) == ["noise/needle.md"]


def test_a_hint_brings_in_notes_that_many_others_hide(fake: SearchIndex) -> None:
    """ "Last week" among years of the same daily note: the window is searched by itself too."""
    years = [
        source(f"daily/{i}.md", f"standup about the api {i}", date=datetime(2020, 1, 1, 12))
        for i in range(150)
    ]
    week = source("daily/week.md", "talk with a lot of other words, api", date=datetime(2024, 5, 9))
    fake.add("diary", [*years, week])
    found = fake.search(Request("standup about the api last week", vaults=("diary",)))
    assert "daily/week.md" in [h.note.rel_path for h in found.hits]
    assert found.strategy == "hybrid_recency"


def test_legs_run_side_by_side(fake: SearchIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large vault model, store and keywords wait for each other only if one needs the other:
    with a barrier that all three have to reach, a search one after the other would never end."""
    meeting = threading.Barrier(3, timeout=20)

    def embedder() -> Embedder:
        meeting.wait()
        return fake.embedder

    def store() -> VectorIndex:
        meeting.wait()
        return fake.vectors

    lexical = fake.catalog.lexical

    def by_words(*args: Any) -> list[ScoredId]:
        meeting.wait()
        return lexical(*args)

    monkeypatch.setattr(fake.catalog, "lexical", by_words)
    deps = Deps(fake.catalog, embedder, store, exact_limit=0)
    assert paths(fake.search("bread dough", deps=deps))


def test_the_questions_rare_words_are_known(fake: SearchIndex) -> None:
    weights = dict(fake.search("knead the backend zeppelin", for_answer=True).term_weights)
    assert weights["zeppelin"] > weights["knead"] > weights["backend"] >= 0


def test_now_is_not_read_from_the_clock(fake: SearchIndex) -> None:
    """Two runs of one question at one ``now`` agree; NOW is years back."""
    assert NOW.year == 2024
    assert paths(fake.search("what did I do yesterday?")) == ["meetings/standup.md"]
