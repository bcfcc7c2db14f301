"""One search: what was asked, what was found, and what each rank is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import Self

from ragvault.model.notes import Chunk, NoteInfo, StoredChunk

NEAR = 10  # passages that are shown where no answer is sure


class Described(StrEnum):
    """Names as the JSON has them, each with the sentence that the documentation says of it."""

    description: str

    def __new__(cls, value: str, description: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member


class DroppedBy(Described):
    """Why a candidate is not among those that are answered from."""

    MIN_VECTOR = "min_vector", "not similar enough, and no word of the question in it"
    TEMPLATE = "template", "a template for notes, and you didn't ask for one"
    UNREADABLE = "unreadable", "nothing but HTML that is drawn, such as badges"
    MAX_CANDIDATES = "max_candidates", "too many were proposed, and others are more similar"
    DUPLICATE = "duplicate", "another note says the same, and ranks higher"
    RANK = "rank", "good enough, as were enough better ones"
    NEIGHBOUR = "neighbour", "not found by the search: it stands beside a passage that was"
    TIME = "time", "not of the time that you asked about"
    CHANGED = "changed", "it isn't in its note any more"


class Strategy(Described):
    """How the candidates were scored."""

    HYBRID = "hybrid", "by meaning and words"
    HYBRID_RECENCY = "hybrid_recency", "by meaning, words and date: the question has a time in it"
    KEYWORD_RECENCY = "keyword_recency", "by words and date: the embedding model can't be used"
    RECENT = "recent", "by date alone: the question asks for recent notes and nothing else"
    TASKS = (
        "tasks",
        "not at all: the question asks for tasks, which are read, and stand by due date",
    )
    NONE = "none", "not at all: a greeting or thanks"


class Timing(Described):
    """What is timed. Parts run side by side: they don't add up to the total."""

    EMBED = "embed", "the question's vector, with loading the model"
    VECTOR = "vector", "opening the vector store and asking it"
    LEXICAL = "lexical", "the word search"
    BLEND = "blend", "scores from both, and what is kept"
    RERANK = "rerank", "reading the best again with a reranker"
    EXPAND = "expand", "the chat model's other wordings, or its guess at the answer"
    RECENT = "recent", "the newest notes, where nothing else was asked for"
    TASKS = "tasks", "the tasks of all notes, where these were asked for"
    TOTAL = "total", "the whole search"


class Intent(StrEnum):
    """What the words ask for. GREETING and THANKS are answered without retrieval."""

    QUESTION = "question"
    GREETING = "greeting"
    THANKS = "thanks"
    AMBIGUOUS = "ambiguous"


class Breadth(StrEnum):
    """How much a question asks for: one fact, the usual or an overview; k goes by it."""

    NARROW = "narrow"
    NORMAL = "normal"
    BROAD = "broad"


class Detail(StrEnum):
    """How much an answer is to say."""

    BRIEF = "brief"
    NORMAL = "normal"
    DETAILED = "detailed"


@dataclass(frozen=True, slots=True)
class TimeHint:
    """A time that the question names. ``phrase`` is the words it came from; ``relative``: they
    count from today ("last week"), so that it is the notes' time, not their subject's."""

    since: float
    until: float
    phrase: str
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was answered before: what was searched for, what was said (on one line,
    without citations), and the note that answered it, as (vault, path), with what it is called:
    its name and headings."""

    question: str
    answer: str = ""
    note: tuple[str, str] | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for, before any analysis. ``k`` None means automatic. The last four are
    for an answer: ``use_model`` False quotes the notes and asks no model, ``use_notes`` False asks
    the model alone, ``session`` names the conversation in the history, ``earlier`` are its turns
    so far, the last one last."""

    question: str
    vaults: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    k: int | None = None
    detail: Detail = Detail.NORMAL
    folder_select: str | None = None  # "llm" | "off"; None: the config's
    expand: bool | None = None  # search other wordings too; None: the config's
    hyde: bool | None = None  # search a guess at the answer too; None: the config's
    rerank: bool | None = None  # read the best passages again; None: the config's
    use_model: bool = True
    use_notes: bool = True
    session: str | None = None
    earlier: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """What a question for tasks asks for: ``done`` ones or open ones; those of a ``period``, first
    and last day, or of any time; ``words``: what they are about. ``by_due``: of the day that they
    say to be due, not of the day of a daily note that they stand in; ``boxes_only``: tasks, not
    whatever is due."""

    done: bool = False
    period: tuple[date, date] | None = None
    words: tuple[str, ...] = ()
    by_due: bool = False
    boxes_only: bool = False

    @property
    def kind(self) -> str:
        """For people: "open tasks"."""
        return f"{'done' if self.done else 'open'} {'tasks' if self.boxes_only else 'items'}"


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """Where a task that was asked for stands: ``first..last`` are lines of the passage, from 0;
    ``above``: the items that it stands below, of a row its table's header."""

    chunk_id: str
    first: int
    last: int
    above: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wording:
    """A question in another ``language`` of the notes, word by word: ``text``, ``terms`` and, for
    each word that could be translated, what it is there (``said``). ``trust`` (0..1): what a cosine
    to the text, and BM25 by the terms, counts for."""

    language: str
    text: str
    terms: tuple[str, ...]
    said: Mapping[str, tuple[str, ...]]
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class Query:
    """An analysed question. ``terms`` are the tokens for the word search, in order: its words
    without stopwords and what only frames them, CJK runs as bigrams.
    ``recent_only`` is true when it asks for recent notes and names nothing else. ``language`` (ISO
    639-1) is its own, or else the one of most notes: in it words are compared.

    ``phrases`` a note has to hold word for word, ``excluded`` it must not hold. ``corrected`` are
    the mistyped words with what they were read as, in ``text`` too; ``typed`` is the question as it
    was asked, "" where that is ``text``."""

    text: str
    terms: tuple[str, ...]
    intent: Intent = Intent.QUESTION
    breadth: Breadth = Breadth.NORMAL
    time_hint: TimeHint | None = None
    recent_only: bool = False
    language: str = "en"
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    corrected: tuple[tuple[str, str], ...] = ()
    typed: str = ""
    tasks: TaskQuery | None = None
    wordings: tuple[Wording, ...] = ()

    def also(self, word: str) -> tuple[str, ...]:
        """What the word is in other languages of the notes."""
        return tuple(other for wording in self.wordings for other in wording.said.get(word, ()))

    @property
    def asked(self) -> str:
        """As it was typed, on one line."""
        return self.typed or self.text


@dataclass(frozen=True, slots=True)
class Scope:
    """Where the vector search looks: one vault, all of it (``folders`` None) or some folders."""

    vault: str
    folders: tuple[str, ...] | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class FolderSelection:
    """``selected`` in order, best first, as ``vault/folder``; ``mode`` is how they were chosen."""

    mode: str
    selected: tuple[str, ...] = ()
    available: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = ()


@dataclass(frozen=True, slots=True)
class Scores:
    """All that a rank is made of. None: that part did not take part.

    ``vector`` is the cosine; ``bm25`` the raw BM25; ``lexical`` BM25 over the best BM25 of this
    query; ``recency`` halves with each half-life; ``rerank`` the reranker's score mapped to 0..1.
    ``final`` is what is sorted by.
    """

    vector: float | None = None
    lexical: float | None = None
    recency: float | None = None
    folder_weight: float = 1.0
    final: float = 0.0
    bm25: float | None = None
    rerank: float | None = None
    terms: tuple[tuple[str, float], ...] = ()  # (name, contribution): they add up to final


@dataclass(frozen=True, slots=True)
class Hit:
    """A candidate with its rank (1-based, over all candidates) and its fate: it is kept where
    nothing dropped it."""

    rank: int
    stored: StoredChunk
    scores: Scores
    dropped_by: DroppedBy | None = None
    # Notes with the same text: "rel_path", of another vault "vault: rel_path".
    duplicates: tuple[str, ...] = ()

    @property
    def chunk(self) -> Chunk:
        return self.stored.chunk

    @property
    def kept(self) -> bool:
        return self.dropped_by is None

    @property
    def is_ranked(self) -> bool:
        """Kept, or dropped only for its rank: what it says of the question counts all the same."""
        return self.dropped_by in (None, DroppedBy.RANK)

    @property
    def note(self) -> NoteInfo:
        return self.stored.note


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One run of the search stages: what was found, and how.

    ``candidates`` are all that was looked at, in rank order; ``neighbours``, for an answer, the
    chunks around the hits that may be answered from, by the hit's chunk id, in the order of the
    note. What the confidence is made from beside the scores: for an answer ``term_weights``, the
    question's terms with their IDF; ``vocabulary_trust`` (0..1), how far the embedding model can
    read the question; ``background``, what unrelated questions reach with the model (None:
    not known, or nothing was searched by meaning). ``tasks``: those that were asked for, in order,
    with the strategy of that name."""

    query: Query
    candidates: tuple[Hit, ...]
    strategy: Strategy
    searched: str = ""  # one phrase: what was looked through
    is_scope_empty: bool = False  # no note is within the limits that the user set
    term_weights: tuple[tuple[str, float], ...] = ()
    vocabulary_trust: float = 1.0
    background: float | None = None
    k: int = 0
    folder_selection: FolderSelection = FolderSelection("off")
    timings_ms: Mapping[Timing, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    expansions: tuple[tuple[str, str], ...] = ()  # ("expand" | "hyde", what the model wrote)
    neighbours: Mapping[str, tuple[Hit, ...]] = field(default_factory=dict)
    tasks: tuple[TaskPlace, ...] = ()

    @property
    def ranked(self) -> tuple[Hit, ...]:
        """What says something about the question, see ``Hit.is_ranked``: what ``search`` lists in
        this order, whatever k is, and an evaluation measures."""
        return tuple(h for h in self.candidates if h.is_ranked)

    @property
    def kept(self) -> tuple[Hit, ...]:
        return tuple(h for h in self.candidates if h.kept)

    @property
    def near(self) -> tuple[Hit, ...]:
        """What is shown where no answer is sure: the best, first those that were kept."""
        return tuple(sorted(self.ranked, key=lambda h: not h.kept))[:NEAR]

    @property
    def is_small_talk(self) -> bool:
        """Nothing was looked for."""
        return self.strategy is Strategy.NONE

    @property
    def by_vector(self) -> bool:
        """An embedding model took part."""
        return self.strategy in (Strategy.HYBRID, Strategy.HYBRID_RECENCY)

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The candidates, and after them the neighbours that the search didn't find itself, so
        that each chunk that can be cited is here."""
        known = {hit.chunk.id for hit in self.candidates}
        beside = (hit for hits in self.neighbours.values() for hit in hits)
        new = [hit for hit in beside if hit.chunk.id not in known]
        ranks = enumerate(new, len(self.candidates) + 1)
        return (*self.candidates, *(replace(hit, rank=rank) for rank, hit in ranks))

    @property
    def total_ms(self) -> float:
        return self.timings_ms.get(Timing.TOTAL, 0.0)
