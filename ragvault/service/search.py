"""A question to its passages; the piece of one that is shown, and which of its words match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from ragvault.answering.quote import show
from ragvault.errors import ModelError, UsageError
from ragvault.formats.inline import are_lines, breaks
from ragvault.model import Chunk, Hit, Query, Request, Retrieval
from ragvault.service.originals import Originals
from ragvault.service.status import VaultLook
from ragvault.text import ENGLISH, normalise, sentence_spans, snippet, stem, tokens
from ragvault.wiring import Container


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A search's hits, best first, and the retrieval that they come from."""

    hits: tuple[Hit, ...]
    retrieval: Retrieval


def search(
    container: Container,
    request: Request,
    n: int,
    *,
    now: datetime,
    one_a_note: bool = False,
    look: bool = False,
) -> SearchResult:
    """The ``n`` best passages that stand in their notes, or the best of each of the ``n`` best
    notes, without the floor that an answer needs. With ``look`` the vaults are walked meanwhile,
    to say what changed. Raises as ``retrieve``."""
    vaults = VaultLook(container, request.vaults) if look else None
    retrieval = retrieve(container, request, now=now, for_answer=False)
    originals = Originals(container)
    best: dict[object, Hit] = {}
    for hit in retrieval.ranked:
        key = (hit.note.vault, hit.note.rel_path) if one_a_note else hit.chunk.id
        if len(best) < n and key not in best and (now_it := originals.today(hit)).is_ranked:
            best[key] = now_it
    looked = vaults.notices(originals.changed) if vaults else ()
    notices = (*retrieval.notices, *originals.notices(), *looked)
    return SearchResult(tuple(best.values()), replace(retrieval, notices=notices))


def check_folders(container: Container, request: Request) -> None:
    """Raises UsageError for a folder that isn't indexed, NoIndexError for a vault."""
    from ragvault.retrieval.question.scope import choose_vaults, named_folders

    vaults = choose_vaults(request, container.catalog.vaults())
    named_folders(request, container.catalog.folders([vault.name for vault in vaults]))


def retrieve(
    container: Container, request: Request, *, now: datetime, for_answer: bool
) -> Retrieval:
    """Every candidate in rank order; nothing is answered or logged.

    ``for_answer``: with what may be answered from beside the hits, and how rare the words are.
    Raises QuestionError for a question that can't be asked, NoIndexError, StoreError, and
    ModelError where the request insists on a model that isn't there.
    """
    from ragvault.retrieval import pipeline
    from ragvault.retrieval.context import EXACT_LIMIT
    from ragvault.service.models import background_of

    store = container.settings.store
    asks_store = store.search == "chroma" or store.mode == "http"  # a server was set up to be asked
    deps = pipeline.Deps(
        catalog=container.catalog,
        embedder=lambda: container.embedder,
        vector_index=lambda: container.vectors,
        chat=lambda: container.assistant,
        reranker=container.reranker(request.rerank),
        background=lambda: background_of(container, container.embedder),
        exact_limit=0 if asks_store else EXACT_LIMIT,
    )
    return pipeline.retrieve(
        request,
        query=_analysed(container, request, now, excludes=not for_answer),
        deps=deps,
        settings=container.settings_in_force,
        now=now,
        for_answer=for_answer,
    )


def _analysed(container: Container, request: Request, now: datetime, *, excludes: bool) -> Query:
    from ragvault.retrieval.question.query import analyse
    from ragvault.retrieval.question.spelling import corrected, corrections
    from ragvault.retrieval.question.translation import worded

    catalog = container.catalog
    notes = catalog.languages(request.vaults)
    languages = tuple(notes)

    def is_known(word: str) -> bool:
        with suppress(ModelError):  # without a model the search goes on by words
            return container.embedder.count_tokens([word]) == [1]
        return False

    query = analyse(request.question, now, languages, excludes=excludes)
    read = corrections(query, catalog, request.vaults, is_known)
    if read:
        again = analyse(corrected(query.asked, read), now, languages, excludes=excludes)
        query = replace(again, corrected=read, typed=query.asked)
    return replace(query, wordings=worded(query, notes))


def period(
    since: str | None, until: str | None, now: datetime
) -> tuple[float | None, float | None]:
    """``--since`` and ``--until`` as seconds. Raises UsageError for what is no time."""
    from ragvault.retrieval.question.timehints import parse_when

    start = None if since is None else parse_when(since, now, False)
    end = None if until is None else parse_when(until, now, True)
    if start is not None and end is not None and start > end:
        raise UsageError(f"--since {since} is after --until {until}.", "Swap the two.")
    return start, end


EXCERPT_CHARS = 220
_MAX_LINES = 5
_LEAST = 20  # characters of a further line
_LONE_MARK = re.compile(r"\s[-*+·]…?$")  # which a cut has left at the end
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Terms:
    """A query's terms as the search compares them: by their stems in its language."""

    stems: frozenset[str] = frozenset()
    language: str = ENGLISH

    @classmethod
    def of(cls, terms: Iterable[str], language: str) -> Terms:
        language = language or ENGLISH
        return cls(frozenset(stem(term, language) for term in terms), language)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each word that matches."""
        for match in _WORD.finditer(text):
            if self.held(match.group()):
                yield match.span()

    def held(self, text: str) -> int:
        """How many of the terms the text holds."""
        found = (normalise(text), *tokens(text))
        return len(self.stems & {stem(token, self.language) for token in found})


def excerpt(chunk: Chunk, terms: Terms) -> str:
    """A piece of a passage, as people read it, from the sentence on that holds most of the terms;
    items, rows and lines of code stay lines. Frontmatter and headings only where there is nothing
    else."""
    blocks = [
        (kind, " ".join(text.split()) if kind == "paragraph" and _is_wrapped(text) else text)
        for kind, _, text in show.blocks(chunk.text, chunk.rel_path)
    ]
    said = [text for kind, text in blocks if kind not in ("heading", "field")]
    text = "\n\n".join(said or [text for _, text in blocks]) or chunk.text
    spans = sentence_spans(text)
    start, _ = max(spans, key=lambda s: (terms.held(text[slice(*s)]), -s[0]), default=(0, 0))
    return _cut([line.rstrip() for line in text[start:].split("\n") if line.strip()])


def _is_wrapped(text: str) -> bool:
    return not are_lines(breaks(text.split("\n")))


def _cut(lines: list[str]) -> str:
    """As many lines as there is room for, the last one cut."""
    room, kept = EXCERPT_CHARS, list[str]()
    for line in lines:
        if room < _LEAST or len(kept) == _MAX_LINES:
            return "\n".join((*kept[:-1], f"{kept[-1].rstrip(' …')} …"))
        piece = snippet(line, room)
        is_whole = len(piece) >= len(" ".join(line.split()))
        indent = line[: len(line) - len(line.lstrip())]
        kept.append(indent + (piece if is_whole else _LONE_MARK.sub(" …", piece)))
        if not is_whole:
            break
        room -= len(piece)
    return "\n".join(kept)
