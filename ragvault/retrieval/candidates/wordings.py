"""What the model's wordings of a question find: the I/O around ``expand``.

Each wording is searched in whole vaults (or in the folders that limit the search), by words and
by meaning, with the user's filter; the time that the question names filters nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragvault.config.settings import Settings
from ragvault.errors import ModelError
from ragvault.model import Filter, Request, Scope
from ragvault.retrieval.candidates import expand
from ragvault.retrieval.candidates.legs import (
    LEXICAL_CANDIDATES,
    VECTOR_CANDIDATES,
    Deps,
    Store,
    lexical_leg,
    vector_leg,
)

if TYPE_CHECKING:
    from ragvault.model import Vector


def written(question: str, request: Request, deps: Deps, settings: Settings) -> expand.Expansion:
    """What the chat model writes, where the request or else the configuration wants it."""
    wanted = settings.retrieval
    variants = wanted.expand if request.expand is None else request.expand
    return expand.expand(
        question,
        deps.chat,
        settings.ollama,
        variants=wanted.expand_variants if variants else 0,
        hyde=wanted.hyde if request.hyde is None else request.hyde,
    )


class Finder:
    """Searches for the wordings. ``vector`` is the question's; None: only by words."""

    def __init__(
        self,
        deps: Deps,
        where: Filter,
        scopes: Sequence[Scope],
        store: Store,
        fingerprint: str,
        vector: Vector | None,
    ) -> None:
        self.deps = deps
        self.where = where
        self.scopes = [scope for scope in scopes if scope.folders is None] or list(scopes)
        self.store = store
        self.fingerprint = fingerprint
        self.vector = vector

    def boosts(
        self, expansion: expand.Expansion
    ) -> tuple[tuple[expand.Boost, ...], expand.Expansion]:
        """One boost a kind that found anything; the expansion with a notice if the embedding model
        failed over it. Raises StoreError when the catalog fails."""
        if not expansion.texts:
            return (), expansion
        found = [self._by_words(variant) for variant in expansion.variants]
        by_passage: list[tuple[str, ...]] = []
        try:
            if self.vector is not None:
                embedder = self.deps.embedder()
                for variant in expansion.variants:
                    found += self._by_vector(embedder.embed_query(variant))
                if expansion.passage:
                    passage = embedder.embed_documents([expansion.passage])[0]
                    by_passage = self._by_vector(expand.between(self.vector, passage))
        except ModelError as error:
            notice = f"The model's wordings were not searched by meaning: {error.message}"
            expansion = replace(expansion, notices=(*expansion.notices, notice))
        boosts = (
            expand.Boost(expand.EXPAND, tuple(found)),
            expand.Boost(expand.HYDE, tuple(by_passage)),
        )
        return tuple(boost for boost in boosts if boost.ids), expansion

    def _by_words(self, variant: str) -> tuple[str, ...]:
        terms = expand.terms_of(variant)
        return lexical_leg(self.deps.catalog, terms, [self.where], LEXICAL_CANDIDATES)

    def _by_vector(self, vector: Vector) -> list[tuple[str, ...]]:
        """One list for each scope: without the cosines their orders can't be merged."""
        return [
            vector_leg(
                self.deps.catalog,
                self.store,
                self.fingerprint,
                vector,
                [scope],
                [self.where],
                VECTOR_CANDIDATES,
            ).ids
            for scope in self.scopes
        ]
