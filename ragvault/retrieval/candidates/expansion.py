"""Query expansion: the question in other words (multi-query), a guess at its answer (HyDE).

Both are off by default. What the chat model writes is searched for like a question, in whole
vaults (or in the folders that limit the search) with the user's filter; the time that the
question names filters nothing here. It proposes candidates, and says by reciprocal rank how much
the lists agree (Cormack et al. 2009):

    rrf(c)   = Σ 1 / (10 + rank of c) over the lists that hold it, the blend's own among them
    final'   = final − w·(1 − rrf(c) / best rrf)·final

The summand is the score's term "expand" or "hyde", so the terms still add up. It is never above
0: a model's invention may change the order, but it can't lift anything over the floors. HyDE's
list is that of the mean of the question's vector and the passage's (Gao et al. 2022).

A model that can't be reached, or writes nothing usable, costs a notice: the plain search is made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragvault import text
from ragvault.config.settings import OllamaSettings
from ragvault.errors import ModelError
from ragvault.model import ChatOptions, Message, Scope, Scores
from ragvault.ports import ChatModel
from ragvault.retrieval.candidates.gather import Meaning, by_meaning, by_words
from ragvault.retrieval.context import Context
from ragvault.retrieval.ranking.blend import Scored, best_first

if TYPE_CHECKING:
    from ragvault.model import Vector

EXPAND = "expand"
HYDE = "hyde"

VARIANTS = 3  # other wordings
RRF_K = 10  # 60 in the paper, for lists of 1,000; these have 15 to 50
WEIGHT = 0.3  # w: the most that a candidate loses that no list but the blend's holds
BLEND_DEPTH = 50  # of the blend's own list
MAX_VARIANT_CHARS = 300
MAX_PASSAGE_CHARS = 1200
MAX_REPLY_CHARS = 10_000
_VARIANT_TOKENS = 60  # for each wording
_PASSAGE_TOKENS = 220

EXPAND_SYSTEM = (
    "You rewrite search questions. Reply with the rewritten questions and nothing else, one a line."
)
EXPAND_PROMPT = """Question: {question}

Write {n} other ways to ask the same, with other words (synonyms, more general and more specific \
terms). Keep names, numbers and the language of the question. One a line, no numbering."""

HYDE_SYSTEM = "You write short passages as they would stand in somebody's notes."
HYDE_PROMPT = """Question: {question}

Write the passage of a note that answers it: three sentences, in the language of the question, \
no introduction."""

_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_MARK = re.compile(r"^\s*(?:[-*+•–—>#]+|\(?\d{1,2}[.):]|[a-h][.)]|q\d*:|question\s*\d*:)\s*", re.I)
_PREAMBLE = re.compile(
    r"^(?:sure|certainly|of course|here (?:are|is)|okay|ok|these are|rewritten|the following"
    r"|hier sind|natürlich|voici|aquí)\b.*[:!.]?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Expansion:
    """What the model wrote. ``notices`` say what it failed at."""

    variants: tuple[str, ...] = ()
    passage: str = ""
    notices: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """(kind, text) for ``--debug``."""
        passage = ((HYDE, self.passage),) if self.passage else ()
        return tuple((EXPAND, variant) for variant in self.variants) + passage


@dataclass(frozen=True, slots=True)
class Boost:
    """``lists`` of chunk ids, each best first, that one kind of expansion found."""

    kind: str
    lists: tuple[tuple[str, ...], ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(chunk_id for found in self.lists for chunk_id in found))


# --------------------------------------------------------------------------- the model


def expand(
    question: str,
    chat: ChatModel | None,
    settings: OllamaSettings,
    *,
    variants: int = 0,
    hyde: bool = False,
) -> Expansion:
    """Ask for ``variants`` other wordings (0: none), and for a passage if ``hyde``."""
    if not variants and not hyde:
        return Expansion()
    if chat is None:
        return Expansion(notices=("No chat model: the question was searched as it is.",))
    notices: list[str] = []
    wordings: tuple[str, ...] = ()
    passage = ""
    try:
        if variants:
            prompt = EXPAND_PROMPT.format(question=question, n=variants)
            reply = _complete(chat, settings, EXPAND_SYSTEM, prompt, _VARIANT_TOKENS * variants)
            wordings = parse_variants(reply, question, variants)
            if not wordings:
                notices.append("The model wrote no other wording; searched without.")
        if hyde:
            prompt = HYDE_PROMPT.format(question=question)
            passage = parse_passage(_complete(chat, settings, HYDE_SYSTEM, prompt, _PASSAGE_TOKENS))
            if not passage:
                notices.append("The model wrote no passage for HyDE; searched without.")
    except ModelError as error:
        what = "HyDE's passage" if wordings else "other wordings" if variants else "HyDE's passage"
        notices.append(f"The model could not write {what} ({error.message.rstrip('. ')}); "
                       f"searched without. {error.hint}".rstrip())  # fmt: skip
    return Expansion(wordings, passage, tuple(notices))


def _complete(
    chat: ChatModel, settings: OllamaSettings, system: str, prompt: str, tokens: int
) -> str:
    options = ChatOptions(
        model=settings.model, num_ctx=settings.max_context, temperature=0.0, max_tokens=tokens
    )
    return chat.complete([Message("system", system), Message("user", prompt)], options)


def parse_variants(reply: str, question: str, n: int) -> tuple[str, ...]:
    """At most ``n`` wordings out of a reply: a line each, or a JSON array; numbers, bullets and
    quotes taken off; introductions, repeats and the question itself left out."""
    reply = _printable(_THINKING.sub("", reply[:MAX_REPLY_CHARS]))
    found: dict[str, str] = {}
    seen = {_key(question)}
    for line in _json_texts(reply) or reply.split("\n"):
        cleaned = " ".join(_unmarked(_printable(line)).split())
        key = _key(cleaned)
        if not key or key in seen or len(cleaned) > MAX_VARIANT_CHARS:
            continue
        if cleaned.endswith(":") or _PREAMBLE.match(cleaned) or cleaned.startswith("```"):
            continue
        found.setdefault(key, cleaned)
    return tuple(found.values())[:n]


def parse_passage(reply: str) -> str:
    """The reply as one passage, without an introduction and not longer than an embedder reads."""
    reply = _printable(_THINKING.sub("", reply[:MAX_REPLY_CHARS])).replace("```", "")
    lines = [line.strip() for line in reply.split("\n") if line.strip()]
    if len(lines) > 1 and (_PREAMBLE.match(lines[0]) or lines[0].endswith(":")):
        lines = lines[1:]
    passage = " ".join(lines)
    if len(passage) <= MAX_PASSAGE_CHARS:
        return passage if text.words(passage) else ""
    return passage[:MAX_PASSAGE_CHARS].rsplit(" ", 1)[0]


def terms_of(variant: str) -> tuple[str, ...]:
    """A wording's tokens for the word search, each once, without stopwords."""
    tokens = dict.fromkeys(text.tokens(variant))
    return tuple(token for token in tokens if token not in text.STOPWORDS) or tuple(tokens)


def _printable(value: str) -> str:
    """Without control characters and halves of characters: a reply's JSON can spell both, and
    neither a tokenizer nor a database takes them."""
    return text.strip_controls(value.encode("utf-8", "ignore").decode("utf-8"))


def _key(line: str) -> str:
    return " ".join(text.words(line))


def _unmarked(line: str) -> str:
    before = None
    while before != line:
        before = line
        line = _MARK.sub("", line.strip()).strip().strip("\"'“”„`*_").strip()
    return line


def _json_texts(reply: str) -> list[str]:
    start = reply.find("[")
    if start < 0:
        return []
    try:
        value, _ = json.JSONDecoder().raw_decode(reply, start)
    except (ValueError, RecursionError):
        return []
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


# --------------------------------------------------------------------------- the search


def write_expansion(context: Context) -> Expansion:
    """What the chat model writes, where the request or else the configuration wants it."""
    request, wanted = context.request, context.settings.retrieval
    variants = wanted.expand if request.expand is None else request.expand
    return expand(
        context.query.text,
        context.deps.chat,
        context.settings.ollama,
        variants=VARIANTS if variants else 0,
        hyde=wanted.hyde if request.hyde is None else request.hyde,
    )


def search_expansion(
    context: Context, expansion: Expansion, meaning: Meaning, scopes: Sequence[Scope]
) -> tuple[tuple[Boost, ...], Expansion]:
    """One boost a kind that found anything; the expansion with a notice if the embedding model
    failed over it. Raises StoreError when the catalog fails."""
    if not expansion.texts:
        return (), expansion
    where = [context.where]
    scopes = [scope for scope in scopes if scope.folders is None] or list(scopes)

    def near(vector: Vector) -> list[tuple[str, ...]]:
        """One list for each scope: without the cosines their orders can't be merged."""
        return [by_meaning(context, meaning, vector, [scope], where).ids for scope in scopes]

    found = [by_words(context, terms_of(variant), where) for variant in expansion.variants]
    by_passage: list[tuple[str, ...]] = []
    question = meaning.readable
    try:
        if question is not None:
            embedder = context.deps.embedder()
            for variant in expansion.variants:
                found += near(embedder.embed_query(variant))
            if expansion.passage:
                passage = embedder.embed_documents([expansion.passage])[0]
                by_passage = near(between(question, passage))
    except ModelError as error:
        notice = f"The model's wordings were not searched by meaning: {error.message}"
        expansion = replace(expansion, notices=(*expansion.notices, notice))
    boosts = (Boost(EXPAND, tuple(found)), Boost(HYDE, tuple(by_passage)))
    return tuple(boost for boost in boosts if boost.ids), expansion


def between(question: Vector, passage: Vector) -> Vector:
    """The unit vector in the middle of two; the question's where they are opposite."""
    middle = question + passage
    length = float((middle @ middle) ** 0.5)
    return question if length < 1e-6 else (middle / length).astype(question.dtype)


# --------------------------------------------------------------------------- the fusion


def apply(ranked: Sequence[Scored], boost: Boost) -> list[Scored]:
    """The candidates with the boost's term, in their new order."""
    if not ranked or not boost.ids:
        return list(ranked)
    own = tuple(candidate.id for candidate, _ in ranked[:BLEND_DEPTH])
    fused = reciprocal_rank((own, *boost.lists))
    best = max((fused.get(candidate.id, 0.0) for candidate, _ in ranked), default=0.0)
    if best == 0.0:
        return list(ranked)
    return best_first(
        (candidate, _with_term(scores, boost.kind, fused.get(candidate.id, 0.0) / best))
        for candidate, scores in ranked
    )


def reciprocal_rank(lists: Sequence[Sequence[str]]) -> dict[str, float]:
    """Σ 1 / (10 + rank) by id, rank from 1."""
    fused: dict[str, float] = {}
    for found in lists:
        for rank, chunk_id in enumerate(dict.fromkeys(found), 1):
            fused[chunk_id] = fused.get(chunk_id, 0.0) + 1.0 / (RRF_K + rank)
    return fused


def _with_term(scores: Scores, kind: str, share: float) -> Scores:
    terms = (*scores.terms, (kind, -WEIGHT * (1.0 - share) * scores.final))
    return replace(scores, terms=terms, final=sum(value for _, value in terms))
