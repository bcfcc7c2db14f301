"""A question set from one's own vault, without a model (or with one, where there is one).

Half of the questions have an answer with a known place: what ``rules`` found in one note. The
other half has none: most are the same questions with a word or number swapped for one that is in
no note (the hard ones: everything else about them is there), the rest everyday questions from
``offtopic.txt`` whose words the vault doesn't hold.

The same vault, number and seed give the same set.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from ragvault.errors import ModelError, ModelServerError
from ragvault.evaluation.dataset import OFF_TOPIC
from ragvault.evaluation.rules import Find, Finds, find_all, is_latin
from ragvault.model import ChatOptions, Message, StoredChunk, VaultInfo
from ragvault.text import normalise, stopwords, tokens

if TYPE_CHECKING:
    from ragvault.wiring import Container

SWAPPED_SHARE = 0.6  # of the questions without an answer; the others are off topic
MOST_PER_NOTE = 4  # so that one long note doesn't fill the set

Ask = Callable[[StoredChunk], str | None]  # a model's question about a passage, or None


@dataclass(frozen=True, slots=True)
class Made:
    """One generated question. ``kind`` is a rule's, "model", "off_topic", or a rule's with
    "-swapped" behind it; ``places`` are (note, heading of the section)."""

    text: str
    kind: str
    places: tuple[tuple[str, str], ...] = ()
    answers: tuple[str, ...] = ()
    group: str | None = None

    @property
    def answerable(self) -> bool:
        return bool(self.places)


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

    finds = find_all(passages())
    notice = ""
    if with_model:
        try:
            model = container.chat.info(container.settings.ollama.model).name
            made = generate(finds, n, seed=seed, ask=_asker(container, model))
            return MadeSet(tuple(made), model)
        except ModelError as error:
            is_away = isinstance(error, ModelServerError)
            why = "Ollama can't be reached" if is_away else error.message.rstrip(".")
            notice = f"{why}: the questions were made by rules."
    return MadeSet(tuple(generate(finds, n, seed=seed)), None, notice)


def generate(finds: Finds, n: int, *, seed: int = 0, ask: Ask | None = None) -> list[Made]:
    """At most ``n`` questions, half of them without an answer; fewer if the vault gives no more.

    ``ask`` puts a model in the place of the rules for the questions with an answer.
    """
    rng = random.Random(seed)
    n_good = (n + 1) // 2
    sources = _spread(finds, rng)
    if ask is None:
        good = [_made(same, rng) for same in sources[:n_good]]
    else:
        good = _by_model(finds.passages, n_good, rng, ask)
    n_bad = n - n_good
    swapped: dict[str, Made] = {}
    for same in sources:  # first the questions that were asked
        if len(swapped) >= round(n_bad * SWAPPED_SHARE):
            break
        key = swapped_key(same[0].key, finds, rng)
        if key is not None:
            text = rng.choice(same[0].shapes).replace("{}", key)
            kind = f"{same[0].kind}-swapped"
            swapped.setdefault(text, Made(text, kind, group=same[0].identity))
    return [*good, *swapped.values(), *_off_topic(finds, n_bad - len(swapped), rng)]


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


def _spread(finds: Finds, rng: random.Random) -> list[list[Find]]:
    """What can be asked for, with all its sections: every kind in turn, shuffled, no note more
    often than MOST_PER_NOTE."""
    by_kind: dict[str, list[list[Find]]] = {}
    for same in finds.in_one_note().values():
        by_kind.setdefault(same[0].kind, []).append(same)
    for of_kind in by_kind.values():
        rng.shuffle(of_kind)
    used: dict[str, int] = {}
    chosen = []
    for same in filter(None, chain.from_iterable(zip_longest(*by_kind.values()))):
        note = same[0].place.chunk.rel_path
        used[note] = used.get(note, 0) + 1
        if used[note] <= MOST_PER_NOTE:
            chosen.append(same)
    return chosen


def _made(same: Sequence[Find], rng: random.Random) -> Made:
    """Any of the sections that it was found in is a right place."""
    find = same[0]
    places = tuple(dict.fromkeys(_place(one.place) for one in same))
    answers = (find.answer,) if find.answer else ()
    text = rng.choice(find.shapes).replace("{}", find.key)
    return Made(text, find.kind, places, answers, find.identity)


def _place(stored: StoredChunk) -> tuple[str, str]:
    return stored.chunk.rel_path, " > ".join(stored.chunk.heading_path)


# --------------------------------------------------------------------------- without

# Plausible, and rare enough that a vault seldom holds them; each is checked before it is used.
_WORDS = """
    harpsichord trampoline walrus chimney lighthouse periscope accordion marzipan kayak hammock
    telescope glacier parachute windmill cactus gargoyle saxophone igloo origami sundial turnstile
    zeppelin beeswax tapestry catapult dulcimer porcupine aqueduct bagpipe carousel gondola
    hovercraft kaleidoscope mandolin narwhal obelisk rickshaw scarecrow tambourine unicycle
""".split()
_NAMES = """
    Zellberg Quorin Tarvex Ombrella Plinthos Drakonet Veltrane Osterlink Harrowgate Glimmerjack
    Kestrelbase Lumenary Pravexa Sorrelwood Tidewright Umberfold Wolkenstein Nethercott Oyelaran
""".split()


def swapped_key(key: str, finds: Finds, rng: random.Random) -> str | None:
    """The key with its telling part swapped for one that no note holds: the year of a date, the
    number of a quantity, one of several content words; a single word for an invented name. None
    when none was found."""
    if not is_latin(key):
        return None
    number = re.search(r"(?:1[89]|20)\d\d", key) or re.search(r"[\d,.]*\d", key)
    content = [w for w in re.findall(r"[^\W\d_]{4,}", key) if w.lower() not in stopwords()]
    for _ in range(40):
        if number is not None:
            old, value = number.group(), float(number.group().replace(",", ""))
            is_year = len(old) == 4 and "." not in old
            shift = rng.choice((-1, 1)) * rng.randint(1, 20)
            changed = value + shift if is_year else value * rng.uniform(1.3, 4) + rng.randint(1, 9)
            new = f"{round(changed)}"
        elif len(content) > 1:
            old, new = rng.choice(content), rng.choice(_WORDS)
            new = new.capitalize() if old[0].isupper() else new
        else:
            old, new = key, rng.choice(_NAMES)
        if finds.lacks(new):
            swapped = key.replace(old, new, 1)
            return re.sub(r"^an? (?=(\w))", lambda m: f"{_article(m[1])} ", swapped)
    return None


def _article(letter: str) -> str:
    return "an" if letter.lower() in "aeiou" else "a"


def _off_topic(finds: Finds, n: int, rng: random.Random) -> list[Made]:
    """First the questions of whose words the vault holds none, then those of which it lacks one."""
    questions = list(off_topic_questions())
    rng.shuffle(questions)
    held = {text: [word in finds.vocabulary for word in words] for text, words in questions}
    foreign = [text for text, of_it in held.items() if not any(of_it)]
    partly = [text for text, of_it in held.items() if any(of_it) and not all(of_it)]
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
_PROMPT = (
    "Write one short question that the following note answers. Use the note's own terms, ask "
    "about one fact in it, and do not mention the note or the text. Reply with the question only."
)
_SPEAKS_OF_THE_NOTE = re.compile(
    r"\b(?:the|this) (?:note|text|passage|document|section|author)\b", re.IGNORECASE
)


def _by_model(passages: Sequence[StoredChunk], n: int, rng: random.Random, ask: Ask) -> list[Made]:
    """One question a passage; a passage about which the model says nothing usable is passed
    over, at most as many as are wanted."""
    long_enough = [stored for stored in passages if len(stored.chunk.text) > 120]
    rng.shuffle(long_enough)
    found: list[Made] = []
    for stored in long_enough[: 2 * n]:
        text = ask(stored) if len(found) < n else None
        if text is not None:
            found.append(Made(text, "model", (_place(stored),), (), f"model:{stored.chunk.id}"))
    return found


def _asker(container: Container, model: str) -> Ask:
    options = ChatOptions(model=model, num_ctx=2048, temperature=0.0, max_tokens=80)

    def ask(stored: StoredChunk) -> str | None:
        passage = stored.chunk.text[:_PASSAGE_CHARS]
        messages = [Message("system", _PROMPT), Message("user", passage)]
        return usable_question(container.chat.complete(messages, options), passage)

    return ask


def usable_question(reply: str, passage: str) -> str | None:
    """A model's reply as a question, or None when it is none about the passage."""
    lines = [line.strip(" *\"'“”-") for line in reply.strip().splitlines() if line.strip()]
    text = re.sub(r"^(?:question|q)\s*:\s*", "", lines[0], flags=re.IGNORECASE) if lines else ""
    has_length = not is_latin(text) or 3 <= len(text.split()) <= 30
    if not text.endswith(("?", "？", "؟")) or not has_length or len(text) > 300:
        return None
    shared = {word for word in tokens(normalise(text)) if len(word) > 3 or not word.isascii()}
    is_about_it = bool(shared & set(tokens(passage)))
    return text if is_about_it and not _SPEAKS_OF_THE_NOTE.search(text) else None
