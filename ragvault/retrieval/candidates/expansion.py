"""Query expansion. The chat model is asked before the search, in one call with a JSON schema, for
the question in other words (multi-query), a guess at its answer (HyDE), the folders that it is
about. All three are off by default. The call has ``ollama.assist_timeout_s``; a model that can't be
reached by then, or writes nothing usable, costs a notice: the search goes on without.

What it wrote is searched for like a question, in whole vaults (or in the folders that limit the
search) with the user's filter; the time that the question names filters nothing here. It proposes
candidates, and says by reciprocal rank how much the lists agree (Cormack et al. 2009):

    rrf(c)   = Σ 1 / (10 + rank of c) over the lists that hold it, the blend's own among them
    final'   = final − w·(1 − rrf(c) / best rrf)·final

The summand is the score's term "expand" or "hyde", so the terms still add up. It is never above
0: a model's invention may change the order, but it can't lift anything over the floors. HyDE's
list is that of the mean of the question's vector and the passage's (Gao et al. 2022).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragvault import text
from ragvault.errors import ModelError
from ragvault.model import ChatOptions, FolderInfo, Message, Scope, Timing, Vector
from ragvault.retrieval.candidates.gather import Meaning, by_meaning, by_words
from ragvault.retrieval.context import Context
from ragvault.retrieval.question.folders import rankable
from ragvault.retrieval.ranking.blend import Candidate, best_first

EXPAND = "expand"
HYDE = "hyde"
FOLDERS = "folders"

VARIANTS = 3  # other wordings
MAX_VARIANT_CHARS = 300
MAX_PASSAGE_CHARS = 1200
MAX_LISTED = 150  # folders: the listing has to leave room in a small context window
# So many names in the order of the listing, from its first on: a copy. Two may be so by chance.
_COPY = 3

SYSTEM = "You help to search somebody's notes. Reply with one JSON object and nothing else."
_ASKED = {
    FOLDERS: "those of the folders below that are DIRECTLY relevant to the question, the most "
    "relevant first, named exactly as listed. Exclude folders that are only tangentially related; "
    "[] if there is none",
    EXPAND: f"{VARIANTS} other ways to ask the same, with other words (synonyms, more general and "
    "more specific terms). Keep names, numbers and the language of the question",
    HYDE: "the passage of a note that answers it: three sentences, in the language of the question",
}
_TOKENS = {FOLDERS: 300, EXPAND: 80 * VARIANTS, HYDE: 240}
_WANTED = {
    FOLDERS: "ranking of the folders",
    EXPAND: "other wordings",
    HYDE: "passage for HyDE",
}  # as the notices call it


@dataclass(frozen=True, slots=True)
class Assistance:
    """``folders``, best first; ``written``: (EXPAND or HYDE, wording)."""

    folders: tuple[FolderInfo, ...] = ()
    written: tuple[tuple[str, str], ...] = ()


def assist(context: Context) -> Assistance:
    """What the request, or else the configuration, wants of the model."""
    request, configured = context.request, context.settings.retrieval
    listed = {folder.qualified: folder for folder in rankable(context)[:MAX_LISTED]}
    kinds = [FOLDERS] if listed else []
    kinds += [EXPAND] if _first_set(request.expand, configured.expand) else []
    kinds += [HYDE] if _first_set(request.hyde, configured.hyde) else []
    if not kinds:
        return Assistance()
    with context.timed(Timing.EXPAND):
        try:
            said = _ask(context, kinds, list(listed))
        except ModelError as error:
            wanted = " and ".join(_WANTED[kind] for kind in kinds)
            context.notices.append(
                f"The model could not write {wanted} ({error.message.rstrip('. ')}); "
                f"searched without. {error.hint}".rstrip()
            )
            return Assistance()
    found: dict[str, Sequence[str] | None] = {
        FOLDERS: ranking(said.get(FOLDERS), list(listed)),
        EXPAND: wordings(said.get(EXPAND), context.query.text) or None,
        HYDE: wordings([said.get(HYDE)], "", MAX_PASSAGE_CHARS) or None,
    }
    for kind in kinds:
        if found[kind] is None:
            context.notices.append(f"The model wrote no {_WANTED[kind]}; searched without.")
    written = [kind for kind in (EXPAND, HYDE) if kind in kinds]
    return Assistance(
        tuple(listed[name] for name in found[FOLDERS] or ()),
        tuple((kind, each) for kind in written for each in found[kind] or ()),
    )


def _first_set(requested: bool | None, configured: bool) -> bool:
    return configured if requested is None else requested


def _ask(context: Context, kinds: Sequence[str], listed: Sequence[str]) -> dict[str, Any]:
    """The object that the model wrote; empty where it is none."""
    fields: dict[str, Any] = {
        FOLDERS: {"type": "array", "items": {"type": "string", "enum": list(listed)}},
        EXPAND: {"type": "array", "items": {"type": "string"}, "maxItems": VARIANTS},
        HYDE: {"type": "string"},
    }
    lines = [f"Question: {context.query.text}", "", "Write a JSON object with:"]
    lines += [f'- "{kind}": {_ASKED[kind]}.' for kind in kinds]
    if FOLDERS in kinds:
        lines += ["", "Folders:", *(f"- {name}" for name in listed)]
    schema = {
        "type": "object",
        "properties": {kind: fields[kind] for kind in kinds},
        "required": list(kinds),
    }
    settings = context.settings.ollama
    options = ChatOptions(
        settings.model, settings.max_context, 0.0, sum(_TOKENS[kind] for kind in kinds), schema
    )
    messages = [Message("system", SYSTEM), Message("user", "\n".join(lines))]
    reply = context.deps.chat().complete(messages, options)
    try:
        said = json.loads(reply)
    except (ValueError, RecursionError):  # cut off, or no JSON at all
        return {}
    return said if isinstance(said, dict) else {}


def ranking(said: object, listed: Sequence[str]) -> list[str] | None:
    """The folders named, each once; None where it is no list, names what isn't there, or is the
    listing as it was given: that ranks nothing."""
    if not isinstance(said, list) or any(name not in listed for name in said):
        return None
    found = list(dict.fromkeys(said))
    is_copy = len(found) >= _COPY and found == list(listed[: len(found)])
    return None if is_copy else found


def wordings(said: object, question: str, most_chars: int = MAX_VARIANT_CHARS) -> tuple[str, ...]:
    """At most ``VARIANTS`` texts that can be searched for: without control characters and halves
    of characters, which neither a tokenizer nor a database takes, without repeats and the question
    itself."""
    found: dict[str, str] = {}
    for each in said if isinstance(said, list) else ():
        if isinstance(each, str):
            clean = text.strip_controls(each.encode("utf-8", "ignore").decode("utf-8"))
            clean = " ".join(clean.split())[:most_chars]
            found.setdefault(" ".join(text.words(clean)), clean)
    for nothing_new in ("", " ".join(text.words(question))):
        found.pop(nothing_new, None)
    return tuple(found.values())[:VARIANTS]


RRF_K = 10  # 60 in the paper, for lists of 1,000; these have 15 to 50
WEIGHT = 0.3  # w: the most that a candidate loses that no list but the blend's holds
BLEND_DEPTH = 50  # of the blend's own list

# Lists of chunk ids, each best first, by the kind of expansion that found them.
Lists = Mapping[str, Sequence[tuple[str, ...]]]


def terms_of(variant: str) -> tuple[str, ...]:
    """A wording's tokens for the word search, each once, without stopwords."""
    tokens = dict.fromkeys(text.tokens(variant))
    return tuple(token for token in tokens if token not in text.stopwords()) or tuple(tokens)


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


def apply(ranked: Sequence[Candidate], lists: Lists) -> Sequence[Candidate]:
    """The candidates with a term for each kind that found any, in their new order."""
    for kind, found in lists.items():
        if any(found):
            ranked = _fused(ranked, kind, found)
    return ranked


def _fused(
    ranked: Sequence[Candidate], kind: str, lists: Sequence[tuple[str, ...]]
) -> list[Candidate]:
    own = tuple(candidate.id for candidate in ranked[:BLEND_DEPTH])
    rrf: dict[str, float] = {}
    for found in (own, *lists):
        for rank, chunk_id in enumerate(dict.fromkeys(found), 1):
            rrf[chunk_id] = rrf.get(chunk_id, 0.0) + 1.0 / (RRF_K + rank)
    best = max((rrf.get(candidate.id, 0.0) for candidate in ranked), default=1.0)

    def with_term(candidate: Candidate) -> Candidate:
        loss = WEIGHT * (1.0 - rrf.get(candidate.id, 0.0) / best) * candidate.scores.final
        return candidate.scored((*candidate.scores.terms, (kind, -loss)))

    return best_first(map(with_term, ranked))
