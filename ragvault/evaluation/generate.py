"""A question set from one's own vault, without a model (or with one, where there is one).

Half of the questions have an answer with a known place: headings, definitions, dates, names and
quantities that stand in few notes. The other half has none: most are the same questions with the
entity or number swapped for one that is in no note (the hard ones: everything else about them is
there), the rest everyday questions from ``offtopic.txt`` whose words the vault doesn't hold.

The same vault, number and seed give the same set.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import zip_longest
from typing import TYPE_CHECKING

from ragvault.errors import ModelError, ModelServerError
from ragvault.evaluation.dataset import OFF_TOPIC
from ragvault.evaluation.distractors import swapped_key
from ragvault.evaluation.harvest import Find, Harvest, Kind, is_latin
from ragvault.model import ChatOptions, Message, StoredChunk, VaultInfo
from ragvault.text import normalise, tokens

if TYPE_CHECKING:
    from ragvault.wiring import Container

SWAPPED_SHARE = 0.6  # of the questions without an answer; the others are off topic
MOST_PER_NOTE = 3  # so that one long note doesn't fill the set
MOST_NOTES = 3  # in how many notes a name or a quantity may stand and still be asked for

Ask = Callable[[StoredChunk], str | None]  # a model's question about a passage, or None


@dataclass(frozen=True, slots=True)
class Made:
    """One generated question. ``kind`` is a ``Kind``, "model", "off_topic", or a kind with
    "-swapped" behind it; ``places`` are (note, heading of the section)."""

    text: str
    kind: str
    places: tuple[tuple[str, str], ...] = ()
    answers: tuple[str, ...] = ()
    group: str | None = None

    @property
    def answerable(self) -> bool:
        return bool(self.places)


def generate(harvest: Harvest, n: int, *, seed: int = 0, ask: Ask | None = None) -> list[Made]:
    """At most ``n`` questions, half of them without an answer; fewer if the vault gives no more.

    ``ask`` puts a model in the place of the rules for the questions with an answer.
    """
    rng = random.Random(seed)
    finds = _spread(harvest, rng)
    n_good = (n + 1) // 2
    asked = _by_rules(harvest, finds, n_good, rng)
    good = [made for _, made in asked] if ask is None else _by_model(harvest, n_good, rng, ask)
    n_bad = n - n_good
    n_swapped = round(n_bad * SWAPPED_SHARE)
    swapped = _swapped(harvest, asked, finds, n_swapped, rng)
    off_topic = _off_topic(harvest, n_bad - len(swapped), rng)
    return [*good, *swapped, *off_topic]


@dataclass(frozen=True, slots=True)
class MadeSet:
    """``model`` is the one that wrote the questions, None when rules did. ``notice`` says why
    it isn't the one that was wanted, "" otherwise."""

    questions: tuple[Made, ...]
    model: str | None
    notice: str = ""


def make_set(
    container: Container,
    vault: VaultInfo,
    n: int,
    *,
    seed: int,
    with_model: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> MadeSet:
    """At most ``n`` questions about a vault; ``advance`` is called for each note read.

    Linear in the vault's passages. Without a model server the rules make the questions, and the
    notice says so. Raises StoreError.
    """

    def passages() -> Iterator[StoredChunk]:
        for rel_path in sorted(container.catalog.file_states(vault.name)):
            yield from container.catalog.note_chunks(vault.name, rel_path)
            advance()

    found = Harvest.of(passages())
    if not with_model:
        return MadeSet(tuple(generate(found, n, seed=seed)), None)
    model = container.settings.ollama.model
    try:
        container.chat.info(model)
        made = generate(found, n, seed=seed, ask=_asker(container, model))
    except ModelError as error:
        is_away = isinstance(error, ModelServerError)
        why = "Ollama can't be reached" if is_away else error.message.rstrip(".")
        notice = f"{why}: the questions were made by rules."
        return MadeSet(tuple(generate(found, n, seed=seed)), None, notice)
    return MadeSet(tuple(made), model)


def as_lines(made: Sequence[Made]) -> str:
    """JSON Lines in the format of ``dataset``."""
    lines = []
    for i, one in enumerate(made, 1):
        value: dict[str, object] = {
            "id": f"{one.kind}-{i}",
            "question": one.text,
            "answerable": one.answerable,
            "gold": [{"file": file, "heading": heading} for file, heading in one.places],
            "answers": list(one.answers),
            "kind": one.kind,
        }
        if one.group is not None:
            value["group"] = one.group
        lines.append(json.dumps(value, ensure_ascii=False))
    return "\n".join(lines) + "\n"


# --------------------------------------------------------------------------- with an answer


def _spread(harvest: Harvest, rng: random.Random) -> list[Find]:
    """Every kind in turn, shuffled, no note more often than MOST_PER_NOTE."""
    by_kind = harvest.unique()
    loose = harvest.unique(MOST_NOTES)
    by_kind[Kind.NAME], by_kind[Kind.NUMBER] = loose[Kind.NAME], loose[Kind.NUMBER]
    for found in by_kind.values():
        rng.shuffle(found)
    used: dict[str, int] = {}
    chosen = []
    for row in zip_longest(*by_kind.values()):
        for find in row:
            if find is None:
                continue
            note = find.place.chunk.rel_path
            if used.get(note, 0) < MOST_PER_NOTE:
                used[note] = used.get(note, 0) + 1
                chosen.append(find)
    return chosen


def _by_rules(
    harvest: Harvest, finds: Sequence[Find], n: int, rng: random.Random
) -> list[tuple[Find, Made]]:
    places = _places(harvest, finds)
    found = []
    seen: set[str] = set()
    for find in finds:
        text = phrase(find, find.key, rng)
        if text in seen:
            continue
        seen.add(text)
        group = ":".join(find.identity)
        answers = (find.sentence,) if find.sentence else ()
        made = Made(text, str(find.kind), places[find.identity], answers, group)
        found.append((find, made))
        if len(found) == n:
            break
    return found


def _places(
    harvest: Harvest, finds: Sequence[Find]
) -> dict[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Every section that a key was found in: any of them is a right place."""
    wanted = {find.identity for find in finds}
    found: dict[tuple[str, ...], dict[tuple[str, str], None]] = {}
    for find in harvest.finds:
        if find.identity in wanted:
            found.setdefault(find.identity, {})[_place(find.place)] = None
    return {key: tuple(places) for key, places in found.items()}


def _place(stored: StoredChunk) -> tuple[str, str]:
    return stored.chunk.rel_path, " > ".join(stored.chunk.heading_path)


_HOW_TO = re.compile(r"^how to (?=\w)", re.IGNORECASE)
_ASKS = re.compile(r"^(?:what|where|when|why|who|which|how)\b", re.IGNORECASE)
# {0} is the key, {1} a section's heading within the note that the key names.
_SHAPES: dict[str, tuple[str, ...]] = {
    "heading": (
        "What do my notes say about {0}?",
        "Where did I write about {0}?",
        "What did I note on {0}?",
        "Is there anything on {0}?",
        "{0}: what was that again?",
    ),
    "section": (
        "What does {0} say about {1}?",
        "{0}: what did I write under {1}?",
        "What did I note on {1} for {0}?",
    ),
    "date": ("What happened on {0}?", "What did I write down for {0}?", "What is dated {0}?"),
    "month": ("What happened in {0}?", "What did I write down for {0}?"),
    "name": (
        "What did I write about {0}?",
        "Where is {0} mentioned?",
        "What is said about {0}?",
        "Who or what is {0}?",
    ),
    "is": ("What is {0}?", "Tell me what {0} is."),
    "is who": ("Who is {0}?",),
    "are": ("What are {0}?",),
    "was": ("What was {0}?",),
    "was who": ("Who was {0}?",),
    "were": ("What were {0}?",),
    "means": ("What does {0} mean?",),
    "stands for": ("What does {0} stand for?",),
    "refers to": ("What does {0} refer to?",),
    "time": ("What takes {0}?", "Where do {0} come up?"),
    "money": ("What costs {0}?",),
    "weight": ("What do I need {0} for?", "Where do {0} come up?"),
    "distance": ("Where do {0} come up?", "What is {0} away?"),
    "share": ("What makes up {0}?", "Where did I note {0}?"),
    "size": ("What takes {0}?", "Where do {0} come up?"),
    "heat": ("What happens at {0}?",),
}


def phrase(find: Find, key: str, rng: random.Random) -> str:
    """A question about ``key`` in one of the shapes of what was found."""
    if not is_latin(key + find.detail):
        return f"{key} {find.detail}".strip() + "?"
    if key.endswith("?"):
        return key
    if find.kind is Kind.HEADING and not find.detail:
        if _HOW_TO.match(key):
            return f"How do I {_HOW_TO.sub('', key)}?"
        if _ASKS.match(key):
            return f"{key}?"
    return rng.choice(_SHAPES[_shape(find)]).format(key, find.detail)


def _shape(find: Find) -> str:
    if find.kind is Kind.DATE:
        return "date" if re.match(r"\d|\w+ \d{1,2},", find.key) else "month"
    if find.kind is Kind.HEADING:
        return "section" if find.detail else "heading"
    return find.detail or str(find.kind)


def _by_model(harvest: Harvest, n: int, rng: random.Random, ask: Ask) -> list[Made]:
    """One question a passage; a passage about which the model says nothing usable is passed
    over, at most as many as are wanted."""
    passages = [stored for stored in harvest.chunks if len(stored.chunk.text) > 120]
    rng.shuffle(passages)
    found: list[Made] = []
    for stored in passages[: 2 * n]:
        text = ask(stored)
        if text is not None:
            found.append(Made(text, "model", (_place(stored),), (), f"model:{stored.chunk.id}"))
        if len(found) == n:
            break
    return found


# --------------------------------------------------------------------------- without


def _swapped(
    harvest: Harvest,
    asked: Sequence[tuple[Find, Made]],
    finds: Sequence[Find],
    n: int,
    rng: random.Random,
) -> list[Made]:
    """First the questions that were asked, swapped; then such as weren't."""
    sources = [find for find, _ in asked]
    sources += finds[len(asked) :]
    found: list[Made] = []
    seen: set[str] = set()
    for find in sources:
        if len(found) == n:
            break
        key = swapped_key(find, harvest, rng)
        if key is None:
            continue
        text = phrase(find, key, rng)
        if text not in seen:
            seen.add(text)
            kind = f"{find.kind}-swapped"
            found.append(Made(text, kind, group=":".join(find.identity)))
    return found


def _off_topic(harvest: Harvest, n: int, rng: random.Random) -> list[Made]:
    """First the questions of whose words the vault holds none, then those of which it lacks one."""
    questions = list(off_topic_questions())
    rng.shuffle(questions)

    def held(words: Sequence[str]) -> int:
        return sum(word in harvest.vocabulary for word in words)

    foreign = [text for text, words in questions if not held(words)]
    partly = [text for text, words in questions if 0 < held(words) < len(words)]
    return [Made(text, OFF_TOPIC) for text in [*foreign, *partly][:n]]


def off_topic_questions() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The bundled questions, each with the words without which a note isn't about it."""
    text = resources.files(__package__).joinpath("offtopic.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            question, _, words = line.partition("|")
            yield question.strip(), tuple(tokens(words))


# --------------------------------------------------------------------------- a model's questions

_PASSAGE_CHARS = 2000
_CONTEXT_TOKENS = 2048
_REPLY_TOKENS = 80
_PROMPT = (
    "Write one short question that the following note answers. Use the note's own terms, ask "
    "about one fact in it, and do not mention the note or the text. Reply with the question only."
)
_SPEAKS_OF_THE_NOTE = re.compile(
    r"\b(?:the|this) (?:note|text|passage|document|section|author)\b", re.IGNORECASE
)


def usable_question(reply: str, passage: str) -> str | None:
    """A model's reply as a question, or None when it is none about the passage."""
    lines = [line.strip(" *\"'“”-") for line in reply.strip().splitlines() if line.strip()]
    text = re.sub(r"^(?:question|q)\s*:\s*", "", lines[0], flags=re.IGNORECASE) if lines else ""
    has_length = not is_latin(text) or 3 <= len(text.split()) <= 30
    if not text.endswith(("?", "？", "؟")) or not has_length:
        return None
    if _SPEAKS_OF_THE_NOTE.search(text) or len(text) > 300:
        return None
    held = set(tokens(passage))
    shared = {word for word in tokens(normalise(text)) if len(word) > 3 or not word.isascii()}
    return text if shared & held else None


def _asker(container: Container, model: str) -> Ask:
    options = ChatOptions(
        model=model, num_ctx=_CONTEXT_TOKENS, temperature=0.0, max_tokens=_REPLY_TOKENS
    )

    def ask(stored: StoredChunk) -> str | None:
        passage = stored.chunk.text[:_PASSAGE_CHARS]
        messages = [Message("system", _PROMPT), Message("user", passage)]
        return usable_question(container.chat.complete(messages, options), passage)

    return ask
