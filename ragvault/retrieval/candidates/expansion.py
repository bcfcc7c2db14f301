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

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragvault import text
from ragvault.errors import ModelError
from ragvault.model import ChatOptions, Message, Scope, Scores, Timing
from ragvault.retrieval.candidates.gather import Meaning, by_meaning, by_words
from ragvault.retrieval.context import Context
from ragvault.retrieval.ranking.blend import Candidate, Scored, best_first

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
_TOKENS = {EXPAND: 60 * VARIANTS, HYDE: 220}
_WANTED = {EXPAND: "other wordings", HYDE: "passage for HyDE"}  # as the notices call it

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

_MARK = re.compile(r"^\s*(?:[-*+•–—>#]+|\(?\d{1,2}[.):]|[a-h][.)]|q\d*:|question\s*\d*:)\s*", re.I)
_PREAMBLE = re.compile(
    r"^(?:sure|certainly|of course|here (?:are|is)|okay|ok|these are|rewritten|the following"
    r"|hier sind|natürlich|voici|aquí)\b.*[:!.]?$",
    re.IGNORECASE,
)


# Lists of chunk ids, each best first, by the kind of expansion that found them.
Lists = Mapping[str, Sequence[tuple[str, ...]]]


# --------------------------------------------------------------------------- the model


def write_expansion(context: Context) -> tuple[tuple[str, str], ...]:
    """(kind, text) of what the chat model writes, where the request or else the configuration
    wants it."""
    request, configured = context.request, context.settings.retrieval
    kinds = [EXPAND] if _first_set(request.expand, configured.expand) else []
    kinds += [HYDE] if _first_set(request.hyde, configured.hyde) else []
    written: list[tuple[str, str]] = []
    if not kinds:
        return ()
    with context.timed(Timing.EXPAND):
        for kind in kinds:
            try:
                reply = _ask(context, kind)
            except ModelError as error:
                context.notices.append(
                    f"The model could not write {_WANTED[kind]} ({error.message.rstrip('. ')}); "
                    f"searched without. {error.hint}".rstrip()
                )
                break
            texts = parse_variants(reply, context.query.text) if kind == EXPAND else ()
            if kind == HYDE and (passage := parse_passage(reply)):
                texts = (passage,)
            if not texts:
                context.notices.append(f"The model wrote no {_WANTED[kind]}; searched without.")
            written += [(kind, wording) for wording in texts]
    return tuple(written)


def _first_set(requested: bool | None, configured: bool) -> bool:
    return configured if requested is None else requested


def _ask(context: Context, kind: str) -> str:
    system, prompt = (
        (EXPAND_SYSTEM, EXPAND_PROMPT) if kind == EXPAND else (HYDE_SYSTEM, HYDE_PROMPT)
    )
    settings = context.settings.ollama
    options = ChatOptions(
        model=settings.model,
        num_ctx=settings.max_context,
        temperature=0.0,
        max_tokens=_TOKENS[kind],
    )
    asked = prompt.format(question=context.query.text, n=VARIANTS)
    return context.deps.chat().complete(
        [Message("system", system), Message("user", asked)], options
    )


def parse_variants(reply: str, question: str) -> tuple[str, ...]:
    """At most ``VARIANTS`` wordings out of a reply: a line each, or the strings of a JSON array;
    numbers, bullets and quotes taken off; introductions, repeats and the question itself left
    out."""
    found: dict[str, str] = {}
    for line in re.split(r'\n|"\s*,\s*"', _said(reply)):
        cleaned = " ".join(_unmarked(line).split())
        key = " ".join(text.words(cleaned))
        if not key or len(cleaned) > MAX_VARIANT_CHARS:
            continue
        if cleaned.endswith(":") or _PREAMBLE.match(cleaned) or line.startswith("```"):
            continue
        found.setdefault(key, cleaned)
    found.pop(" ".join(text.words(question)), None)
    return tuple(found.values())[:VARIANTS]


def parse_passage(reply: str) -> str:
    """The reply as one passage, without an introduction and not longer than an embedder reads."""
    lines = [line.strip() for line in _said(reply).replace("```", "").split("\n") if line.strip()]
    if len(lines) > 1 and (_PREAMBLE.match(lines[0]) or lines[0].endswith(":")):
        lines = lines[1:]
    passage = " ".join(lines)
    if len(passage) > MAX_PASSAGE_CHARS:
        passage = passage[:MAX_PASSAGE_CHARS].rsplit(" ", 1)[0]
    return passage if text.words(passage) else ""


def terms_of(variant: str) -> tuple[str, ...]:
    """A wording's tokens for the word search, each once, without stopwords."""
    tokens = dict.fromkeys(text.tokens(variant))
    return tuple(token for token in tokens if token not in text.stopwords()) or tuple(tokens)


def _said(reply: str) -> str:
    """Without control characters and halves of characters: neither a tokenizer nor a database
    takes those."""
    said = reply[:MAX_REPLY_CHARS]
    return text.strip_controls(said.encode("utf-8", "ignore").decode("utf-8"))


def _unmarked(line: str) -> str:
    before = None
    while before != line:
        before = line
        line = _MARK.sub("", line.strip()).strip().strip("\"'“”„`*_[]").strip()
    return line


# --------------------------------------------------------------------------- the search


def search_expansion(
    context: Context,
    written: Sequence[tuple[str, str]],
    meaning: Meaning,
    scopes: Sequence[Scope],
) -> dict[str, list[tuple[str, ...]]]:
    """What each kind found. Raises StoreError when the catalog fails."""
    where = [context.where]
    scopes = [scope for scope in scopes if scope.folders is None] or list(scopes)
    found: dict[str, list[tuple[str, ...]]] = {kind: [] for kind, _ in written}
    for kind, wording in written:
        if kind == EXPAND:
            found[kind].append(by_words(context, terms_of(wording), where))
    question = meaning.readable
    if not written or question is None:
        return found
    try:
        embedder = context.deps.embedder()
        for kind, wording in written:
            if kind == EXPAND:
                vector = embedder.embed_query(wording)
            else:
                vector = between(question, embedder.embed_documents([wording])[0])
            # One list for each scope: without the cosines their orders can't be merged.
            found[kind] += [by_meaning(context, meaning, vector, [s], where) for s in scopes]
    except ModelError as error:
        notice = f"The model's wordings were not searched by meaning: {error.message}"
        context.notices.append(notice)
    return found


def between(question: Vector, passage: Vector) -> Vector:
    """The unit vector in the middle of two; the question's where they are opposite."""
    middle = question + passage
    length = float((middle @ middle) ** 0.5)
    return question if length < 1e-6 else (middle / length).astype(question.dtype)


# --------------------------------------------------------------------------- the fusion


def apply(ranked: Sequence[Scored], lists: Lists) -> Sequence[Scored]:
    """The candidates with a term for each kind that found any, in their new order."""
    for kind, found in lists.items():
        if any(found):
            ranked = _fused(ranked, kind, found)
    return ranked


def _fused(ranked: Sequence[Scored], kind: str, lists: Sequence[tuple[str, ...]]) -> list[Scored]:
    own = tuple(candidate.id for candidate, _ in ranked[:BLEND_DEPTH])
    rrf: dict[str, float] = {}
    for found in (own, *lists):
        for rank, chunk_id in enumerate(dict.fromkeys(found), 1):
            rrf[chunk_id] = rrf.get(chunk_id, 0.0) + 1.0 / (RRF_K + rank)
    best = max((rrf.get(candidate.id, 0.0) for candidate, _ in ranked), default=1.0)

    def with_term(candidate: Candidate, scores: Scores) -> Scores:
        loss = WEIGHT * (1.0 - rrf.get(candidate.id, 0.0) / best) * scores.final
        terms = (*scores.terms, (kind, -loss))
        return replace(scores, terms=terms, final=sum(value for _, value in terms))

    return best_first((candidate, with_term(candidate, scores)) for candidate, scores in ranked)
